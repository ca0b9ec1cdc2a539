"""What to do next, over all checkpoints: the one order of priorities. Pure: it is given what the history says."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.hint import AnyHint, Blank, command
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import goals, views
from checkpoint_git.protocols.skill.drift import merged_work
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Facts, Known, Work

# First to last. "blocked" waits on something else than a decision of the user's; "idle" has no action left to name.
RANKS = ("decision", "failed", "gate", "in_progress", "blocked", "complete", "not_started", "idle")


class Action(NamedTuple):
    """One next action. at: its place in next_actions. done_when: its own check. facts: see merged_work."""

    at: int
    text: str
    done_when: str | None
    facts: Facts = ()
    goals: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        stated = {goals.FIELD: self.goals} if self.goals else {}
        references = merged_work.facts_data(self.facts)
        return {"text": self.text, "done_when": self.done_when, **stated, "references": references}


class Skipped(NamedTuple):
    """An action that is skipped, because all that it waits for is merged."""

    skill: str
    action: str
    facts: Facts

    @property
    def data(self) -> dict[str, Any]:
        return {"skill": self.skill, **shipped_data("action", self.action, self.facts)}


def shipped_data(key: str, text: str, facts: Facts) -> dict[str, Any]:
    """Return what JSON says of an action that is skipped."""
    evidence = "; ".join(merged_work.describe_facts(facts, None))
    return {key: text, "evidence": evidence, "references": merged_work.facts_data(facts)}


class NextAction(NamedTuple):
    """What one skill does next. rank: one of RANKS. reason: a sentence's part.

    done_when: the action's own check. then: the skill's first action, where something else (a decision, a failure)
    comes before it; else "". answer_with: the command that answers the blocker that it is about, "" for none. facts:
    what is true of the references in the skill's first action. proposal: the same of what that blocker proposes.
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
    answer_with: AnyHint = ""
    facts: Facts = ()
    proposal: Facts = ()

    @property
    def data(self) -> dict[str, Any]:
        members = self._asdict()
        facts, proposal = members.pop("facts"), members.pop("proposal")
        return {
            **members,
            "references": merged_work.facts_data(facts),
            "blocker_references": merged_work.facts_data(proposal),
        }


# What JSON has where there is no action.
NO_ACTION = (
    "skill", "rank", "reason", "action", "done_when", "then", "over_budget", "updated_at", "stale", "answer_with",
    "references", "blocker_references",
)  # fmt: skip


class Queue(NamedTuple):
    actions: list[NextAction]
    skipped: list[Skipped]


def plan_queue(documents: Sequence[Document], work: Work = NOTHING, now: int | None = None) -> Queue:
    """Return every skill's next action in order of priority.

    By rank; then who is over budget goes first; then who was updated last. Actions that are finished by merges are
    skipped at every rank. now: seconds since 1970, None where staleness does not matter.
    """
    actions, skipped = list[NextAction](), list[Skipped]()
    for document in documents:
        known = work.get(document.path, {})
        remaining, finished = split_actions(document, known)
        skipped += [Skipped(document.skill, action.text, action.facts) for action in finished]
        found = _find_action(document, remaining, known, now)
        if found:
            actions.append(found)
    return Queue(sort_actions(actions), skipped)


def split_actions(document: Document, known: Known) -> tuple[list[Action], list[Action]]:
    """Return the next actions that remain, and those that are finished by merges."""
    remaining, finished = list[Action](), list[Action]()
    for at, item in enumerate(views.read_list(document.value or {}, "next_actions")):
        text = views.action_text(item)
        if not text.strip():
            continue
        facts = merged_work.find_action_facts(item, known)
        finishing = goals.find_goals(item) if isinstance(item, dict) else []
        action = Action(at, text, views.action_done_when(item), facts, tuple(finishing))
        if merged_work.is_finished(item, known):
            finished.append(action)
        else:
            remaining.append(action)
    return remaining, finished


def sort_actions(actions: Sequence[NextAction]) -> list[NextAction]:
    """The order of priorities; skills that are equal in all of it go by name."""
    by_name = sorted(actions, key=lambda action: action.skill)
    by_age = sorted(by_name, key=lambda action: read_instant(action.updated_at) or (0, ""), reverse=True)
    return sorted(by_age, key=lambda action: (RANKS.index(action.rank), not action.over_budget))


def _find_action(document: Document, remaining: list[Action], known: Known, now: int | None) -> NextAction | None:
    """Return what is to be done about a checkpoint, None for nothing. remaining: its next actions."""
    value = document.value
    rank = None if value is None else find_rank(value, bool(remaining))
    if value is None or rank is None:
        return None

    first = remaining[0] if remaining else Action(-1, "", None, (), ())
    blocker, answer = _find_blocker(document.skill, value, rank)
    shown, answer = _choose_shown(rank, first.text, blocker, document.skill, answer)
    is_first = shown == first.text
    budget = views.describe_budget(value)
    reasons = [_find_reason(rank, value)]
    is_old = now is not None and views.is_stale(value, now)
    if now is not None and is_old:
        reasons.append(f"stale: not updated for {(views.find_age(value, now) or 0) // DAY} days")
    reasons.append(budget)
    if is_first and first.at in views.find_done_actions(value):
        reasons.append("recently_done has this action too")
    return NextAction(
        skill=document.skill,
        rank=rank,
        reason="; ".join(filter(None, reasons)),
        action=shown,
        done_when=first.done_when if is_first else None,
        then="" if is_first else first.text,
        over_budget=bool(budget),
        updated_at=views.text_field(value, "updated_at"),
        stale=is_old,
        answer_with=answer,
        facts=first.facts,
        proposal=merged_work.find_text_facts(views.text_field(blocker, "proposed_resolution"), known),
    )


def _find_blocker(skill: str, value: dict[str, Any], rank: str) -> tuple[dict[str, Any], AnyHint]:
    """Return the blocker that matters first, and the command that answers it; ({}, "") where none does."""
    if rank in ("decision", "blocked"):
        for blocker, argv in views.find_answers(skill, value):
            if rank == "blocked" or views.waits_on_user(blocker):
                return blocker, command(*argv)
    return {}, ""


def _choose_shown(rank: str, first: str, blocker: dict[str, Any], skill: str, answer: AnyHint) -> tuple[str, AnyHint]:
    """Return the action to show, and the command that does or answers it.

    first: the text of the first next action, "" for none. answer: the blocker's.
    """
    if rank == "decision":
        return f"Decide: {views.describe_blocker(blocker)}", answer
    if rank == "idle":
        next_up = command("checkpoint", "add", skill, Blank("the next action"))
        return "Say what comes next", next_up
    if rank == "failed" and not first:
        return "Find out why it failed, then fix it or start again", command("checkpoint", "resume", skill)
    if rank == "blocked" and not first:
        return f"Unblock: {views.describe_blocker(blocker)}", answer
    return first, answer


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
    "blocked": "blocked, but not waiting on you",
    "complete": "complete, with work still queued",
    "not_started": "not started yet",
    "idle": "all actions are merged",
}


def _find_reason(rank: str, value: dict[str, Any]) -> str:
    if rank == "decision":
        count = sum(map(views.waits_on_user, views.open_blockers(value)))
        return "a decision waits on you" if count == 1 else f"{count} decisions wait on you"
    if rank == "failed":
        rows = [row for row in views.read_objects(value, "progress_table") if row.get("status") == "failed"]
        return f"it failed: {', '.join(views.text_field(row, 'label') for row in rows)}" if rows else "it failed"
    return f"in progress, at a gate: {views.find_gate(value)}" if rank == "gate" else _REASONS[rank]
