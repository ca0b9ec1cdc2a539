"""What to do next, over all checkpoints: the one order of priorities. Pure: it is told what has shipped already."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.views import (
    action_done_when,
    action_text,
    describe_budget,
    find_age,
    find_gate,
    is_over_budget,
    is_stale,
    is_unstarted,
    open_blockers,
    read_list,
    read_objects,
    text_field,
    waits_on_user,
)

# First to last. "blocked" waits on something else than a decision of the user's; "idle" has no action left to name.
RANKS = ("decision", "failed", "gate", "in_progress", "blocked", "complete", "not_started", "idle")

FindShipped = Callable[[str], str | None]


class Skipped(NamedTuple):
    """An action that is not proposed, because the history says it is done. evidence: a sentence."""

    skill: str
    action: str
    evidence: str


class NextAction(NamedTuple):
    """What one skill would have somebody do.

    rank: one of RANKS. reason: a sentence's part. done_when: the action's own proof, None where it has none. then:
    the skill's first action, where something else (a decision, a failure) comes before it; else "". evidence: why the
    blocker that it is about may be out of the way already, "" where nothing says so.
    """

    skill: str
    rank: str
    reason: str
    action: str
    done_when: str | None
    then: str
    over_budget: bool
    updated_at: str
    stale: bool = False
    evidence: str = ""


class Queue(NamedTuple):
    actions: list[NextAction]
    skipped: list[Skipped]


def plan_queue(
    documents: Sequence[Document],
    find_shipped: FindShipped = lambda action: None,
    find_resolved: FindShipped = lambda proposal: None,
    now: int | None = None,
) -> Queue:
    """Every skill's next action in order of priority.

    By rank; then who is over budget goes first; then who was updated last. find_shipped: the evidence that an action's
    text describes work that is done already, None where there is none; such actions are passed over at every rank.
    find_resolved: the same for what a blocker proposes. now: seconds since 1970, None where staleness does not matter.
    """
    actions, skipped = list[NextAction](), list[Skipped]()
    for document in documents:
        left, gone = _split_shipped(document, find_shipped)
        skipped += gone
        found = _find_action(document, left, now)
        if found:
            resolved = find_resolved(text_field(_find_blocker(found.rank, document.value or {}), "proposed_resolution"))
            actions.append(found._replace(evidence=resolved or ""))
    return Queue(sort_actions(actions), skipped)


def sort_actions(actions: Sequence[NextAction]) -> list[NextAction]:
    """The order of priorities; skills that are equal in all of it go by name."""
    by_name = sorted(actions, key=lambda action: action.skill)
    by_age = sorted(by_name, key=lambda action: read_instant(action.updated_at) or (0, ""), reverse=True)
    return sorted(by_age, key=lambda action: (RANKS.index(action.rank), not action.over_budget))


def _split_shipped(document: Document, find_shipped: FindShipped) -> tuple[list[Any], list[Skipped]]:
    left, gone = list[Any](), list[Skipped]()
    for action in read_list(document.value or {}, "next_actions"):
        text = action_text(action)
        evidence = find_shipped(text) if text else None
        if evidence is not None:
            gone.append(Skipped(document.skill, text, evidence))
        elif text.strip():
            left.append(action)
    return left, gone


def _find_blocker(rank: str, value: dict[str, Any]) -> dict[str, Any]:
    """The blocker that an action of this rank is about, {} where it is about none."""
    if rank not in ("decision", "blocked"):
        return {}
    open_ones = [one for one in open_blockers(value) if rank == "blocked" or waits_on_user(one)]
    return open_ones[0] if open_ones else {}


def _find_action(document: Document, left: list[Any], now: int | None) -> NextAction | None:
    value = document.value
    if value is None:
        return None
    rank = find_rank(value, bool(left))
    if rank is None:
        return None
    first = action_text(left[0]) if left else ""
    ahead = _find_headline(rank, document.skill, value)
    shown = ahead if ahead and (rank in _COME_FIRST or not first) else first
    return NextAction(
        skill=document.skill,
        rank=rank,
        reason=find_reason(rank, value, now),
        action=shown,
        done_when=action_done_when(left[0]) if left and shown == first else None,
        then="" if shown == first else first,
        over_budget=is_over_budget(value),
        updated_at=text_field(value, "updated_at"),
        stale=now is not None and is_stale(value, now),
    )


def find_rank(value: dict[str, Any], has_actions: bool) -> str | None:
    """Where a checkpoint stands in RANKS; None when it is complete and nothing is queued.

    has_actions: whether an action is left that has not shipped.
    """
    status, blockers = value.get("status"), open_blockers(value)
    if any(waits_on_user(blocker) for blocker in blockers):
        return "decision"
    if status == "failed":
        return "failed"
    if status == "complete":
        return "complete" if has_actions else None
    if status == "blocked" and (has_actions or blockers):
        return "blocked"
    if not has_actions:
        return "idle"
    if is_unstarted(value):
        return "not_started"
    return "gate" if find_gate(value) else "in_progress"


# what is said

_COME_FIRST = frozenset(["decision", "idle"])  # before the skill's own actions; the others only where it has none


def _find_headline(rank: str, skill: str, value: dict[str, Any]) -> str:
    """What a rank itself asks for, "" where that is to go on."""
    blocker = _find_blocker(rank, value)
    if rank == "decision":
        return f"Decide: {describe_blocker(blocker)}"
    if rank == "blocked" and blocker:
        return f"Unblock: {describe_blocker(blocker)}"
    if rank == "failed":
        return f"Find out why it failed, then fix it or start again: checkpoint resume {quote_word(skill)}"
    return f"Say what comes next: checkpoint update {quote_word(skill)} --next_actions+=..." if rank == "idle" else ""


def describe_blocker(blocker: dict[str, Any]) -> str:
    """A blocker in one line: what it is, which row it blocks, what is proposed."""
    words = [text_field(blocker, "description") or text_field(blocker, "id") or "(no description)"]
    for key, verb in (("blocking", "blocks"), ("proposed_resolution", "proposed:")):
        if isinstance(blocker.get(key), str):
            words.append(f"{verb} {blocker[key]}")
    return words[0] if len(words) == 1 else f"{words[0]} ({'; '.join(words[1:])})"


_REASONS = {
    "decision": "a decision waits on you",
    "failed": "it failed",
    "in_progress": "in progress",
    "blocked": "blocked, though not by a decision of yours",
    "complete": "complete, with work still queued",
    "not_started": "not started yet",
    "idle": "no action is left that has not shipped",
}


def find_reason(rank: str, value: dict[str, Any], now: int | None = None) -> str:
    """Why a checkpoint stands where it stands, and what else is remarkable about it."""
    deciding = sum(map(waits_on_user, open_blockers(value)))
    failed = [
        text_field(row, "label") for row in read_objects(value, "progress_table") if row.get("status") == "failed"
    ]
    said = {
        "failed": f"it failed: {', '.join(failed)}" if failed else "",
        "gate": f"in progress, at a gate: {find_gate(value)}",
        "decision": _REASONS["decision"] if deciding == 1 else f"{deciding} decisions wait on you",
    }
    reasons = [said.get(rank) or _REASONS[rank]]
    if now is not None and is_stale(value, now):
        reasons.append(f"stale: nothing was written for {(find_age(value, now) or 0) // DAY} days")
    return "; ".join(filter(None, [*reasons, describe_budget(value)]))
