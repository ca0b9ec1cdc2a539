"""Which parts of a checkpoint are past, and the history document they move to. Pure.

The history document depends on the moved entries alone, not on who moves them or when, so that two branches that
rotate the same entries write the same bytes. Values are token values (jsontext).
"""

from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.skill.views import read_list

KEPT_RUNS = 5
KEPT_DECISIONS = 20

_CLOSED_LISTS = ("merged_prs", "closed_unmerged_prs")  # prefixes of skill_state's keys
_CLOSED_RECORDS = ("reconciliation_",)


class Moved(NamedTuple):
    """Entries of one place that move. items: a list's entries in their order, or the one value that stood there."""

    where: str
    items: list[Any]


class Rotation(NamedTuple):
    """What is left of the document, and what moves."""

    value: dict[str, Any]
    moved: list[Moved]


def plan_rotation(value: dict[str, Any]) -> Rotation:
    """The document without its past. Running it again on the rest moves nothing more."""
    rest = dict(value)
    moved = _take_superseded(rest) + _take_decisions(rest) + _take_state(rest)
    return Rotation(rest, moved)


def history_document(skill: str, moved: list[Moved]) -> str:
    """The text of a history file: JSON with the skill and the moved entries under the places they came from."""
    entries = [{"where": part.where, "items": part.items} for part in moved]
    return jsonedit.render({"skill": skill, "entries": entries})


def _take_superseded(rest: dict[str, Any]) -> list[Moved]:
    past = read_list(rest, "superseded")
    if not past:
        return []
    rest["superseded"] = []
    return [Moved("/superseded", past)]


def _take_decisions(rest: dict[str, Any]) -> list[Moved]:
    primer = rest.get("context_primer")
    decisions = read_list(primer, "key_decisions") if isinstance(primer, dict) else []
    if not isinstance(primer, dict) or len(decisions) <= KEPT_DECISIONS:
        return []
    rest["context_primer"] = {**primer, "key_decisions": decisions[-KEPT_DECISIONS:]}
    return [Moved("/context_primer/key_decisions", decisions[:-KEPT_DECISIONS])]


def _take_state(rest: dict[str, Any]) -> list[Moved]:
    state = rest.get("skill_state")
    if not isinstance(state, dict):
        return []
    left: dict[str, Any] = {}
    moved = []
    for key, member in state.items():
        keeps, past = _split_member(key, member)
        if past:
            moved.append(Moved(jsontext.join_pointer("/skill_state", key), past))
        if keeps is not _GONE:
            left[key] = keeps
    if moved:
        rest["skill_state"] = left
    return moved


_GONE: Any = object()


def _split_member(key: str, member: Any) -> tuple[Any, list[Any]]:
    """What stays of one member of skill_state (_GONE: nothing, not even the key) and what is past."""
    if key.startswith(_CLOSED_RECORDS) and isinstance(member, dict):
        return _GONE, [member]
    if key.startswith(_CLOSED_LISTS + _CLOSED_RECORDS) and isinstance(member, list):
        return [], member
    if key == "run_history" and isinstance(member, list):
        return _split_runs(member)
    return member, []


def _split_runs(runs: list[Any]) -> tuple[list[Any], list[Any]]:
    """The newest runs, and the others, both in the order they stand in."""
    newest = set(sorted(range(len(runs)), key=lambda at: _run_age(runs, at), reverse=True)[:KEPT_RUNS])
    kept = [run for at, run in enumerate(runs) if at in newest]
    return kept, [run for at, run in enumerate(runs) if at not in newest]


def _run_age(runs: list[Any], at: int) -> tuple[tuple[int, str], int]:
    """A number that grows with how recent a run is; one that tells no time counts as old as can be."""
    run = runs[at]
    instant = read_instant(run.get("at")) if isinstance(run, dict) else None
    return instant or (-(10**12), ""), at
