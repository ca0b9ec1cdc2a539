"""The field names of a skill checkpoint, and which known name an unknown one was probably meant to be. Pure."""

from functools import lru_cache

ROOT = frozenset(
    [
        "protocol_version", "skill", "project", "project_dir", "created_at", "updated_at", "phase", "step", "status",
        "progress_summary", "progress_table", "context_primer", "blockers", "next_actions", "recently_done", "pm_refs",
        "depends_on", "cost", "eval_scores", "telemetry_handle", "handoffs", "findings", "candidate", "verified_at",
        "verified_for_sha", "record_updated_at", "superseded", "skill_state",
    ]
)  # fmt: skip
ADDED_IN_1_1 = frozenset(
    [
        "cost", "eval_scores", "telemetry_handle", "handoffs", "findings", "candidate", "verified_at",
        "verified_for_sha", "record_updated_at",
    ]
)  # fmt: skip
ROW = frozenset(["id", "label", "status"])
BLOCKER = frozenset(["id", "description", "blocking", "needs", "proposed_resolution", "resolved", "resolved_at"])
ACTION = frozenset(["text", "done_when"])
PM_REF = frozenset(["provider", "id", "url", "role", "created_by_skill", "first_seen_at"])
CONTEXT_PRIMER = frozenset(["key_decisions", "generated_files", "user_preferences"])
COST = frozenset(["total_usd", "budget_usd", "by_phase", "by_model", "currency"])

_SHORTEST = 5  # letters
_LONG = 8  # from here on, two wrong letters still say which name was meant
_LONGEST = 24  # no known name has more letters, and no misspelt one more than two more


def is_misplaced_operator(key: str) -> bool:
    """Whether a key looks like part of an `update` argument that ended up as a field: `merged_prs+`, `a:json`."""
    return key.endswith(("+", ":json")) or key.startswith("--") or "=" in key


def find_near_miss(
    key: str, known: frozenset[str], present: frozenset[str] = frozenset(), shortest: int = _SHORTEST
) -> str | None:
    """The known name that an unknown key probably means, None where it is a name of its own.

    present: the object's keys; a name that is there was not meant by another key. shortest: names with fewer letters
    are one wrong letter away from too many words.
    """
    near = _find_near(key, known, shortest) if len(key) < _LONGEST else ()
    return next((name for name in near if name not in present), None)


@lru_cache(maxsize=1_000)  # what one file calls its own, the next one mostly does too
def _find_near(key: str, known: frozenset[str], shortest: int) -> tuple[str, ...]:
    spelled = _split_humps(key).lower().replace("-", "_").replace(" ", "_").replace(".", "_")
    return tuple(
        name
        for name in sorted(known)
        if spelled in (name, name + "s") or spelled + "s" == name or _is_misspelt(spelled, name, shortest)
    )


def _split_humps(key: str) -> str:
    # nextActions -> next_Actions; a regular expression would have to be compiled first
    if key.islower():
        return key
    return "".join(
        f"_{letter}" if "A" <= letter <= "Z" and ("a" <= before <= "z" or "0" <= before <= "9") else letter
        for before, letter in zip(f" {key}", key, strict=False)
    )


def _is_misspelt(spelled: str, name: str, shortest: int) -> bool:
    limit = 2 if len(name) >= _LONG else 1
    if len(name) < shortest or abs(len(spelled) - len(name)) > limit or len(set(spelled) ^ set(name)) > 2 * limit:
        return False  # an edit brings one letter and takes another away, at most
    return count_edits(spelled, name, limit) is not None


def count_edits(first: str, second: str, limit: int) -> int | None:
    """How many letters were added, dropped, replaced or swapped with their neighbour; None above the limit."""
    if abs(len(first) - len(second)) > limit:
        return None
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        above, before, row = before, row, [at]
        for to, other in enumerate(second, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == second[to - 2] and first[at - 2] == other:
                cost = min(cost, above[to - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None
