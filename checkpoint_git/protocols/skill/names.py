"""List the names and words of a skill checkpoint, and find the one that a word means. Pure."""

from collections.abc import Iterable
from functools import lru_cache

# path of an object without numbers and ids -> its known names; other objects may have any name
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
# path of a list -> the type of its items
LISTS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(["progress_table", "blockers", "pm_refs", "eval_scores"], dict),
    **{f"context_primer.{name}": str for name in CONTEXT_PRIMER}, "next_actions": (str, dict),
}  # fmt: skip
# list of objects -> the member for a text
TEXTS = {
    "progress_table": "label",
    "blockers": "description",
    "pm_refs": "id",
    "eval_scores": "rubric",
}
# name -> its path, of names that people type at the root and that are in an object below it
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
_LONGEST_COMPARED = 60  # letters of a name that is compared for likeness
_LONGEST = 24  # letters of the longest known name, and two more for a misspelt one


def is_misplaced_operator(key: str) -> bool:
    """Whether a key looks like part of an `update` argument: `merged_prs+`, `a:json`."""
    return key.endswith(("+", ":json")) or key.startswith("--") or "=" in key


def bare(key: str) -> str:
    """Return a key without the signs of an `update` argument."""
    return key.strip("-").partition("=")[0].partition("+")[0].partition(":")[0]


@lru_cache(maxsize=4_000)  # as for find_near_miss
def find_meaning(name: str, parent: str = "") -> str:
    """Return the known place that a name certainly means in an object, "" for none.

    parent: a key of KNOWN. The place is a path below it. A name means a place by another spelling,
    by the singular, by its first or last words, by a word of the table, and at the root by the
    name of a place in an object below.
    """
    places = _short_names(parent)
    spelled = ""
    if len(name) < _LONGEST:
        spelled = spell(name)
    for form in (spelled, f"{spelled}s", spelled.removesuffix("s"), name.lower()):
        if form in places:
            return places[form]
    return ""


def find_nearest(name: str, parent: str) -> str:
    """Return the place that a name resembles most, for a message; "" if it resembles none."""
    from difflib import get_close_matches

    places = _short_names(parent)
    near = get_close_matches(spell(name[:_LONGEST_COMPARED]), places, 1, 0.7)
    return places[near[0]] if near else ""


@lru_cache
def _short_names(parent: str) -> dict[str, str]:
    """Return the place of each word that means only one place in an object."""
    places = {name: name for name in KNOWN[parent]}
    if parent == "":
        places |= _BELOW

    parts: dict[str, set[str]] = {}
    for name, place in places.items():
        if not place.startswith(("context_primer.", name)):
            continue
        words = name.split("_")
        for count in range(1, len(words)):
            for part in ("_".join(words[:count]), "_".join(words[count:])):
                parts.setdefault(part, set()).add(place)

    short = {}
    for part, found in parts.items():
        if len(found) == 1 and len(part) >= _SHORTEST and part not in _NO_SHORT_NAME:
            short[part] = min(found)
    return {**short, **_WORDS.get(parent, {}), **places}


def spell(word: str) -> str:
    """Return a word in lower case with underscores between its parts: `nextActions` is
    `next_actions`.
    """
    return _split_humps(word).lower().replace("-", "_").replace(" ", "_").replace(".", "_")


def find_choice(text: str, choices: Iterable[str]) -> str:
    """Return the choice that a text certainly means, "" for none.

    It is another spelling (user-decision), a word of the table (done for complete), or a part that
    only one choice has (external).
    """
    known = list(choices)
    spelled = spell(text)
    for choice in known:
        if choice.replace("_", "") == spelled.replace("_", ""):
            return choice
    if _CHOICES.get(spelled) in known:
        return _CHOICES[spelled]

    near = []
    for choice in known:
        is_start = len(spelled) > 3 and choice.startswith(spelled)
        if is_start or spelled in choice.split("_"):
            near.append(choice)
    return near[0] if len(near) == 1 else ""


@lru_cache(maxsize=4_000)  # the files of a project have many unknown names in common
def find_near_miss(key: str, known: frozenset[str]) -> str | None:
    """Return the known name that an unknown key probably means, None for none."""
    if len(key) >= _LONGEST:
        return None
    from difflib import get_close_matches  # needed for unknown names alone

    spelled = spell(key)
    near = get_close_matches(spelled, known, 1, 0.8)
    if near:
        return near[0]
    for name in sorted(known):
        if sorted(name) == sorted(spelled):  # letters swapped
            return name
    return None


def find_sibling(name: str, siblings: Iterable[str]) -> str:
    """Return the sibling that a new name probably misspells, "" for none.

    So build is one for builds, and run-1 is none for run-2.
    """
    if len(name) >= _LONGEST_COMPARED:
        return ""
    from difflib import get_close_matches

    known = {spell(other): other for other in siblings if _digits(other) == _digits(name)}
    near = get_close_matches(spell(name), known, 1, 0.8)
    return known[near[0]] if near else ""


def _digits(name: str) -> list[str]:
    return [letter for letter in name if letter.isdigit()]


def _split_humps(key: str) -> str:
    """Return a key with an underscore before each capital that follows a small letter or digit."""
    # a regular expression would have to be compiled first
    if key.islower():
        return key
    split = ""
    before = " "
    for letter in key:
        if "A" <= letter <= "Z" and ("a" <= before <= "z" or "0" <= before <= "9"):
            split += "_"
        split += letter
        before = letter
    return split
