"""What to do next, over all checkpoints: the one order of priorities. Pure: it is told what has shipped already."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import views

# First to last. "blocked" waits on something else than a decision of the user's; "idle" has no action left to name.
RANKS = ("decision", "failed", "gate", "in_progress", "blocked", "complete", "not_started", "idle")


class Proof(NamedTuple):
    """sure: the history shows it as done; it is passed over. note: such as "#12 is merged". evidence: a sentence."""

    sure: bool
    note: str
    evidence: str


FindProof = Callable[[str, str], Proof | None]  # of an action, by the checkpoint's path and the text
FindResolved = Callable[[str, str], str | None]


def know_nothing(path: str, text: str) -> None:
    return None


def _beside(text: str, proof: Proof | None) -> str:
    return f"{text} ({proof.note})" if proof else text


class Action(NamedTuple):
    """at: its place in next_actions. done_when: its own check. merged: what of it is merged, maybe not all."""

    at: int
    text: str
    done_when: str | None
    merged: Proof | None = None

    @property
    def shown(self) -> str:
        return _beside(self.text, self.merged)

    @property
    def data(self) -> dict[str, Any]:
        merged = {"merged": self.merged._asdict()} if self.merged else {}
        return {"text": self.text, "done_when": self.done_when, **merged}


class Skipped(NamedTuple):
    """An action that is not proposed, because the history says it is done. evidence: a sentence."""

    skill: str
    action: str
    evidence: str


class NextAction(NamedTuple):
    """What one skill would have somebody do. rank: one of RANKS. reason: a sentence's part. done_when: the action's own
    proof, None where it has none. then: the skill's first action, where something else (a decision, a failure) comes
    before it; else "". evidence: why the blocker that it is about may be out of the way already, "" where nothing says
    so. answer_with: the command that answers that blocker, "" for none. merged: what of the skill's first action is
    merged already.
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
    answer_with: str = ""
    merged: Proof | None = None

    @property
    def shown(self) -> str:
        return self.action if self.then else _beside(self.action, self.merged)

    @property
    def shown_then(self) -> str:
        return _beside(self.then, self.merged) if self.then else ""

    @property
    def data(self) -> dict[str, Any]:
        return {**self._asdict(), "merged": self.merged._asdict() if self.merged else None}


class Queue(NamedTuple):
    actions: list[NextAction]
    skipped: list[Skipped]


def plan_queue(
    documents: Sequence[Document],
    find_proof: FindProof = know_nothing,
    find_resolved: FindResolved = know_nothing,
    now: int | None = None,
) -> Queue:
    """Every skill's next action in order of priority. By rank; then who is over budget goes first; then who was updated
    last. Actions that are surely merged are passed over at every rank. find_resolved: the evidence that what a blocker
    proposes is merged. now: seconds since 1970, None where staleness does not matter.
    """
    actions, skipped = list[NextAction](), list[Skipped]()
    for document in documents:
        left, shipped = split_actions(document, find_proof)
        skipped += [Skipped(document.skill, *each) for each in shipped]
        found = _find_action(document, left, find_resolved, now)
        actions += [found] if found else []
    return Queue(sort_actions(actions), skipped)


def split_actions(document: Document, find_proof: FindProof) -> tuple[list[Action], list[tuple[str, str]]]:
    """(next actions that are left, (text, evidence) of those that have shipped), for all who show or count them."""
    left, shipped = list[Action](), list[tuple[str, str]]()
    for at, item in enumerate(views.read_list(document.value or {}, "next_actions")):
        text = views.action_text(item)
        proof = find_proof(document.path, text) if text else None
        if proof and proof.sure:
            shipped.append((text, proof.evidence))
        elif text.strip():
            left.append(Action(at, text, views.action_done_when(item), proof))
    return left, shipped


def sort_actions(actions: Sequence[NextAction]) -> list[NextAction]:
    """The order of priorities; skills that are equal in all of it go by name."""
    by_name = sorted(actions, key=lambda action: action.skill)
    by_age = sorted(by_name, key=lambda action: read_instant(action.updated_at) or (0, ""), reverse=True)
    return sorted(by_age, key=lambda action: (RANKS.index(action.rank), not action.over_budget))


def _find_action(
    document: Document, left: list[Action], find_resolved: FindResolved, now: int | None
) -> NextAction | None:
    value = document.value
    rank = None if value is None else find_rank(value, bool(left))
    if value is None or rank is None:
        return None
    blocker, answer = dict[str, Any](), ""
    if rank in ("decision", "blocked"):
        every = views.find_answers(document.skill, value)
        blocker, answer = next((each for each in every if rank == "blocked" or views.waits_on_user(each[0])), ({}, ""))
    first = shown = left[0].text if left else ""
    if rank == "decision":
        shown = f"Decide: {views.describe_blocker(blocker)}"
    elif rank == "idle":
        shown = f"Say what comes next: checkpoint update {quote_word(document.skill)} --next_actions+=..."
    elif rank == "failed" and not first:
        restart = f"checkpoint resume {quote_word(document.skill)}"
        shown = f"Find out why it failed, then fix it or start again: {restart}"
    elif rank == "blocked" and not first:
        shown = f"Unblock: {views.describe_blocker(blocker)}"
    budget = views.describe_budget(value)
    is_old = now is not None and views.is_stale(value, now)
    reasons = [_find_reason(rank, value), budget]
    if now is not None and is_old:
        reasons.insert(1, f"stale: not updated for {(views.find_age(value, now) or 0) // DAY} days")
    return NextAction(
        skill=document.skill,
        rank=rank,
        reason="; ".join(filter(None, reasons)),
        action=shown,
        done_when=left[0].done_when if left and shown == first else None,
        then="" if shown == first else first,
        over_budget=bool(budget),
        updated_at=views.text_field(value, "updated_at"),
        stale=is_old,
        evidence=find_resolved(document.path, views.text_field(blocker, "proposed_resolution")) or "",
        answer_with=answer,
        merged=left[0].merged if left else None,
    )


def find_rank(value: dict[str, Any], has_actions: bool) -> str | None:
    """One of RANKS; None for what is complete with nothing queued. has_actions: one is left that has not shipped."""
    status, blockers = value.get("status"), views.open_blockers(value)
    if any(views.waits_on_user(blocker) for blocker in blockers):
        return "decision"
    if status == "failed":
        return "failed"
    if status == "complete":
        return "complete" if has_actions else None
    if status == "blocked" and (has_actions or blockers):
        return "blocked"
    if not has_actions:
        return "idle"
    if views.is_unstarted(value):
        return "not_started"
    return "gate" if views.find_gate(value) else "in_progress"


_REASONS = {
    "in_progress": "in progress",
    "blocked": "blocked, though not by a decision of yours",
    "complete": "complete, with work still queued",
    "not_started": "not started yet",
    "idle": "every action left is merged",
}


def _find_reason(rank: str, value: dict[str, Any]) -> str:
    if rank == "decision":
        count = sum(map(views.waits_on_user, views.open_blockers(value)))
        return "a decision waits on you" if count == 1 else f"{count} decisions wait on you"
    if rank == "failed":
        rows = [row for row in views.read_objects(value, "progress_table") if row.get("status") == "failed"]
        return f"it failed: {', '.join(views.text_field(row, 'label') for row in rows)}" if rows else "it failed"
    return f"in progress, at a gate: {views.find_gate(value)}" if rank == "gate" else _REASONS[rank]
