"""Find the next action of each checkpoint, and order all by priority. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.hint import AnyHint, Blank, command
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.brief import Action, Brief, OpenBlocker
from checkpoint_git.protocols.skill.drift import merged_work
from checkpoint_git.protocols.skill.drift.merged_work import Facts
from checkpoint_git.protocols.skill.views import UNREADABLE

# First to last. "blocked" waits on something other than a decision of the user; "idle" has no
# action.
RANKS = ("decision", "failed", "gate", "in_progress", "blocked", "complete", "not_started", "idle")


class SkippedAction(NamedTuple):
    """Hold an action that is skipped, because everything that it waits for is merged."""

    skill: str
    action: str
    facts: Facts

    @property
    def data(self) -> dict[str, Any]:
        return {"skill": self.skill, **shipped_data("action", self.action, self.facts)}


def shipped_data(key: str, text: str, facts: Facts) -> dict[str, Any]:
    """Return a skipped action as JSON has it. key: for its text."""
    evidence = "; ".join(merged_work.describe_facts(facts, None))
    return {key: text, "evidence": evidence, "references": merged_work.facts_data(facts)}


class NextAction(NamedTuple):
    """Hold what one skill does next.

    rank: one of RANKS. reason: a part of a sentence. done_when: the action's own check. then: the
    skill's first action, if something else (a decision, a failure) comes before it, else "".
    answer_with: the command that answers its blocker, "" for none. facts: of the references in the
    skill's first action. proposal: of those in the blocker's proposal.
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
        del members["facts"], members["proposal"]
        return {
            **members,
            "references": merged_work.facts_data(self.facts),
            "blocker_references": merged_work.facts_data(self.proposal),
        }


# the members of an action in JSON, which are null if there is none
NO_ACTION = (
    "skill",
    "rank",
    "reason",
    "action",
    "done_when",
    "then",
    "over_budget",
    "updated_at",
    "stale",
    "answer_with",
    "references",
    "blocker_references",
)


class Queue(NamedTuple):
    """Hold the next actions by priority, and the actions that merges finished."""

    actions: list[NextAction]
    skipped: list[SkippedAction]


def plan_queue(briefs: Sequence[Brief]) -> Queue:
    """Return every checkpoint's next action by priority, and the actions that merges finished."""
    actions = list[NextAction]()
    skipped = list[SkippedAction]()
    for brief in briefs:
        for action in brief.shipped:
            skipped.append(SkippedAction(brief.skill, action.text, action.facts))
        found = find_next(brief)
        if found:
            actions.append(found)

    return Queue(sort_actions(actions), skipped)


def sort_actions(actions: Sequence[NextAction]) -> list[NextAction]:
    """Return actions by rank, then those over budget first, then the newest, then by name."""

    def find_instant(action: NextAction) -> tuple[int, str]:
        return read_instant(action.updated_at) or (0, "")

    by_name = sorted(actions, key=lambda action: action.skill)
    by_age = sorted(by_name, key=find_instant, reverse=True)
    return sorted(by_age, key=lambda action: (RANKS.index(action.rank), not action.over_budget))


def find_next(brief: Brief) -> NextAction | None:
    """Return the next action of a checkpoint, None for none."""
    rank = find_rank(brief)
    if rank is None:
        return None

    first = Action(-1, "", None)
    if brief.actions:
        first = brief.actions[0]
    blocker = _find_blocker(brief, rank)
    shown, answer = _choose_shown(brief, rank, first.text, blocker)

    done_when = first.done_when
    then = ""
    is_repeated = first.is_repeated
    if shown != first.text:  # a decision or a failure comes before it
        done_when = None
        then = first.text
        is_repeated = False

    proposal: Facts = ()
    if blocker:
        proposal = blocker.facts

    return NextAction(
        skill=brief.skill,
        rank=rank,
        reason="; ".join(_find_reasons(brief, rank, is_repeated=is_repeated)),
        action=shown,
        done_when=done_when,
        then=then,
        over_budget=bool(brief.budget),
        updated_at=brief.updated_at,
        stale=brief.stale,
        answer_with=answer,
        facts=first.facts,
        proposal=proposal,
    )


def find_rank(brief: Brief) -> str | None:
    """Return one of RANKS; None if a checkpoint is unreadable, or complete without actions."""
    if brief.status == UNREADABLE:
        return None
    if brief.decisions:
        return "decision"
    if brief.status == "failed":
        return "failed"
    if brief.status == "complete" and not brief.actions:
        return None
    if brief.status == "complete":
        return "complete"
    if brief.status == "blocked" and (brief.actions or brief.blockers):
        return "blocked"
    if not brief.actions:
        return "idle"
    if brief.unstarted:
        return "not_started"
    if brief.gate:
        return "gate"
    return "in_progress"


def _find_blocker(brief: Brief, rank: str) -> OpenBlocker | None:
    """Return the blocker that matters first, None if none does."""
    if rank == "decision":
        return brief.decisions[0]
    if rank == "blocked" and brief.blockers:
        return brief.blockers[0]
    return None


def _choose_shown(
    brief: Brief, rank: str, first: str, blocker: OpenBlocker | None
) -> tuple[str, AnyHint]:
    """Return the action to show, and the command that does or answers it.

    first: the text of the first next action, "" for none.
    """
    answer: AnyHint = ""
    if blocker:
        answer = blocker.answer
    if rank == "decision" and blocker:
        return f"Decide: {views.describe_blocker(blocker.value)}", answer
    if rank == "idle":
        next_up = command("checkpoint", "add", brief.skill, Blank("the next action"))
        return "Say what comes next", next_up

    if rank == "failed" and not first:
        resume = command("checkpoint", "resume", brief.skill)
        return "Find out why it failed, then fix it or start again", resume

    if rank == "blocked" and not first and blocker:
        return f"Unblock: {views.describe_blocker(blocker.value)}", answer
    return first, answer


_REASONS = {
    "in_progress": "in progress",
    "blocked": "blocked, but not waiting on you",
    "complete": "complete, with work still queued",
    "not_started": "not started yet",
    "idle": "all actions are merged",
}


def _find_reasons(brief: Brief, rank: str, *, is_repeated: bool) -> Iterator[str]:
    """Yield the parts of the reason. is_repeated: recently_done has the shown action, too."""
    yield _explain_rank(brief, rank)
    if brief.stale:
        yield f"stale: not updated for {(brief.age or 0) // DAY} days"
    if brief.budget:
        yield brief.budget
    if is_repeated:
        yield "recently_done has this action too"


def _explain_rank(brief: Brief, rank: str) -> str:
    """Return why a checkpoint has its rank."""
    count = len(brief.decisions)
    if rank == "decision" and count == 1:
        return "a decision waits on you"
    if rank == "decision":
        return f"{count} decisions wait on you"
    if rank == "failed" and brief.failed_rows:
        return f"it failed: {', '.join(brief.failed_rows)}"
    if rank == "failed":
        return "it failed"
    if rank == "gate":
        return f"in progress, at a gate: {brief.gate}"
    return _REASONS[rank]
