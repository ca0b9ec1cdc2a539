"""The names and words of a skill checkpoint, and which of them another one means or was probably
meant to be. Pure.
"""

from collections.abc import Iterable
from functools import lru_cache

# the objects with names of their own, by their path without numbers and ids; all others are open to
# any name
KNOWN = {
    "": frozenset(
        (
            "protocol_version",
            "skill",
            "project",
            "project_dir",
            "created_at",
            "updated_at",
            "phase",
            "step",
            "status",
            "progress_summary",
            "progress_table",
            "context_primer",
            "blockers",
            "next_actions",
            "recently_done",
            "pm_refs",
            "depends_on",
            "cost",
            "eval_scores",
            "telemetry_handle",
            "handoffs",
            "findings",
            "candidate",
            "verified_at",
            "verified_for_sha",
            "record_updated_at",
            "superseded",
            "skill_state",
        )
    ),
    "context_primer": frozenset(("generated_files", "key_decisions", "user_preferences")),
    "cost": frozenset(("budget_usd", "by_model", "by_phase", "currency", "total_usd")),
    "progress_table": frozenset(("estimate", "id", "label", "notes", "status")),
    "blockers": frozenset(
        (
            "blocking",
            "description",
            "id",
            "needs",
            "options",
            "proposed_resolution",
            "resolved",
            "resolved_at",
        )
    ),
    "next_actions": frozenset(("added_at", "done_when", "done_when_merged", "text")),
    "pm_refs": frozenset(("created_by_skill", "first_seen_at", "id", "provider", "role", "url")),
    "eval_scores": frozenset(("at", "dimensions", "max", "rubric", "score")),
    "telemetry_handle": frozenset(("enabled", "id", "since", "sink")),
}
ROOT = KNOWN[""]
CONTEXT_PRIMER = KNOWN["context_primer"]
SKILL_STATE = frozenset(("last_run", "merged_prs", "run_history", "streak"))
ADDED_IN_1_1 = frozenset(
    (
        "candidate",
        "cost",
        "eval_scores",
        "findings",
        "handoffs",
        "record_updated_at",
        "telemetry_handle",
        "verified_at",
        "verified_for_sha",
    )
)
# lists by what their items are
LISTS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(["progress_table", "blockers", "pm_refs", "eval_scores"], dict),
    **{f"context_primer.{name}": str for name in CONTEXT_PRIMER}, "next_actions": (str, dict),
}  # fmt: skip
# what is said at the root and is below it
# where a text belongs in the objects of a list
TEXTS = {
    "progress_table": "label",
    "blockers": "description",
    "pm_refs": "id",
    "eval_scores": "rubric",
}
_BELOW = {
    name: f"{parent}.{name}"
    for parent, members in (
        ("skill_state", SKILL_STATE),
        ("cost", KNOWN["cost"]),
        ("context_primer", CONTEXT_PRIMER),
    )
    for name in members
}
# object -> words that people type -> the name
_WORDS = {
    "": {
        "next": "next_actions",
        "todo": "next_actions",
        "rows": "progress_table",
        "tickets": "pm_refs",
        "files": "context_primer.generated_files",
        "budget": "cost.budget_usd",
    },
    "progress_table": {"name": "label", "title": "label", "state": "status"},
    "blockers": {"text": "description", "question": "description", "blocks": "blocking"},
}
# parts of names that mean something else, too
_NO_SHORT_NAME = frozenset(["version", "state", "record", "skill"])
# word that people type -> the choice that it means
_CHOICES = {
    "done": "complete",
    "finished": "complete",
    "completed": "complete",
    "closed": "complete",
    "success": "complete",
    "wip": "in_progress",
    "doing": "in_progress",
    "started": "in_progress",
    "active": "in_progress",
    "running": "in_progress",
    "ongoing": "in_progress",
    "todo": "not_started",
    "pending": "not_started",
    "open": "not_started",
    "planned": "not_started",
    "new": "not_started",
    "waiting": "blocked",
    "stuck": "blocked",
    "error": "failed",
    "broken": "failed",
    "failure": "failed",
    "me": "user_decision",
    "human": "user_decision",
    "person": "user_decision",
    "vendor": "external_dep",
    "third_party": "external_dep",
}

_SHORTEST = 5  # letters of a part of a name
_LONGEST = 24  # no known name has more letters, and no misspelt one more than two more


def is_misplaced_operator(key: str) -> bool:
    """Return whether a key looks like part of an `update` argument: `merged_prs+`, `a:json`."""
    return key.endswith(("+", ":json")) or key.startswith("--") or "=" in key


def bare(key: str) -> str:
    """Without what belongs to such an argument."""
    return key.strip("-").partition("=")[0].partition("+")[0].partition(":")[0]


@lru_cache(maxsize=4_000)  # as for find_near_miss
def find_meaning(name: str, parent: str = "") -> str:
    """The known place that a name surely means in one of the KNOWN objects, as a path below it; ""
    for none. In another spelling, in the singular, by the first or last words of the name, at the
    root by the name of what is below, or by a word of the table.
    """
    short, spelled = _short_names(parent), spell(name) if len(name) < _LONGEST else ""
    forms = (spelled, f"{spelled}s", spelled.removesuffix("s"), name.lower())
    return next((short[form] for form in forms if form in short), "")


def find_nearest(name: str, parent: str) -> str:
    """The place that a name resembles most, for a message; "" if it resembles none."""
    from difflib import get_close_matches

    short = _short_names(parent)
    return next((short[each] for each in get_close_matches(spell(name[:60]), short, 1, 0.7)), "")


@lru_cache
def _short_names(parent: str) -> dict[str, str]:
    """Every word that means one place in an object."""
    places = {**{name: name for name in KNOWN[parent]}, **(_BELOW if parent == "" else {})}
    parts: dict[str, set[str]] = {}
    for name, place in places.items():
        words = name.split("_") if place.startswith(("context_primer.", name)) else []
        for at in range(1, len(words)):
            for part in ("_".join(words[:at]), "_".join(words[at:])):
                parts.setdefault(part, set()).add(place)

    short = {
        part: min(found)
        for part, found in parts.items()
        if len(found) == 1 and len(part) >= _SHORTEST
    }
    telling = {name: place for name, place in short.items() if name not in _NO_SHORT_NAME}
    return {**telling, **_WORDS.get(parent, {}), **places}


def spell(word: str) -> str:
    return _split_humps(word).lower().replace("-", "_").replace(" ", "_").replace(".", "_")


def find_choice(text: str, choices: Iterable[str]) -> str:
    """The one of the choices that a text surely means, "" for none: done -> complete,
    user-decision, external.
    """
    known, spelled = list(choices), spell(text)
    same = [each for each in known if spelled.replace("_", "") == each.replace("_", "")]
    if same or _CHOICES.get(spelled) in known:
        return same[0] if same else _CHOICES[spelled]
    near = [
        each
        for each in known
        if spelled in each.split("_") or (len(spelled) > 3 and each.startswith(spelled))
    ]
    return near[0] if len(near) == 1 else ""


@lru_cache(maxsize=4_000)  # what one file calls its own, the next one mostly does too
def find_near_miss(key: str, known: frozenset[str]) -> str | None:
    """The known name that an unknown key probably means, None if it is a name of its own."""
    if len(key) >= _LONGEST:
        return None
    from difflib import get_close_matches  # needed for unknown names alone

    spelled = spell(key)
    swapped = next((name for name in sorted(known) if sorted(name) == sorted(spelled)), None)
    return next(iter(get_close_matches(spelled, known, 1, 0.8)), swapped)


def find_sibling(name: str, there: Iterable[str]) -> str:
    """A name there that a new one may be a slip of, "" for none: build for builds, not run-1 for
    run-2.
    """
    from difflib import get_close_matches

    numbers = [letter for letter in name if letter.isdigit()]
    known = {
        spell(each): each
        for each in there
        if [letter for letter in each if letter.isdigit()] == numbers
    }
    near = get_close_matches(spell(name), known, 1, 0.8) if len(name) < 60 else []
    return known[near[0]] if near else ""


def _split_humps(key: str) -> str:
    # nextActions -> next_Actions; a regular expression would have to be compiled first
    if key.islower():
        return key
    return "".join(
        f"_{letter}"
        if "A" <= letter <= "Z" and ("a" <= before <= "z" or "0" <= before <= "9")
        else letter
        for before, letter in zip(f" {key}", key, strict=False)
    )
