"""Make a checkpoint's Brief, the one value that every view of it shows. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.hint import Hint, command
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import Limits
from checkpoint_git.protocols.skill import goals, views
from checkpoint_git.protocols.skill.drift import merged_work
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Facts, Known, Work

NO_STATUS = "?"  # of a checkpoint that says nothing of the kind


class Action(NamedTuple):
    """Hold one next action.

    position: its index in next_actions. done_when: its own check. facts: of the references that it
    names. is_repeated: recently_done has it, too.
    """

    position: int
    text: str
    done_when: str | None
    facts: Facts = ()
    goals: tuple[str, ...] = ()
    is_repeated: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """Return the action as JSON has it."""
        data: dict[str, Any] = {"text": self.text, "done_when": self.done_when}
        if self.goals:
            data[goals.FIELD] = self.goals
        data["references"] = merged_work.facts_data(self.facts)
        return data


class OpenBlocker(NamedTuple):
    """Hold one blocker that is not resolved.

    value: as the checkpoint has it. answer: the command that settles it. facts: of the references
    in its proposal.
    """

    value: dict[str, Any]
    answer: Hint
    facts: Facts = ()

    @property
    def waits_on_user(self) -> bool:
        return views.waits_on_user(self.value)

    @property
    def data(self) -> dict[str, Any]:
        """Return the blocker as JSON has it."""
        if not self.facts:
            return self.value
        return {**self.value, "references": merged_work.facts_data(self.facts)}

    def describe(self, now: int) -> str:
        return views.describe_blocker(self.value, merged_work.describe_facts(self.facts, now))


class Brief(NamedTuple):
    """Hold what one checkpoint says, as far as it can be read.

    status: "unreadable" for a file that is not a JSON object, "?" for a missing status. age:
    seconds since updated_at, None if that is not an instant. budget: by how much it is over, or
    "". gate: the phase or step that names a gate, or "". tickets: a line, or "". actions: without
    those that merges finished, which are in shipped. superseded: what merges set aside of the
    head.
    """

    skill: str
    path: str
    project: str
    phase: str
    step: str
    status: str
    summary: str
    updated_at: str
    age: int | None
    stale: bool
    unstarted: bool
    budget: str
    gate: str
    complete_rows: int
    rows: list[dict[str, Any]]
    failed_rows: list[str]
    tickets: str
    actions: list[Action]
    shipped: list[Action]
    blockers: list[OpenBlocker]
    superseded: list[str]

    @property
    def progress(self) -> dict[str, int]:
        """Return the progress as JSON has it."""
        return {"complete": self.complete_rows, "total": len(self.rows)}

    @property
    def decisions(self) -> list[OpenBlocker]:
        return [blocker for blocker in self.blockers if blocker.waits_on_user]


class OpenDecision(NamedTuple):
    """Hold a decision that waits on the user, and whose checkpoint it is in."""

    skill: str
    blocker: dict[str, Any]
    answer_with: Hint
    proposal: Facts = ()


def make_briefs(
    documents: Iterable[Document], now: int, limits: Limits, work: Work = NOTHING
) -> list[Brief]:
    """Return the brief of each document. work: what the history says; now: seconds since 1970."""
    return [
        make_brief(document, now, limits, work.get(document.path, {})) for document in documents
    ]


def make_brief(document: Document, now: int, limits: Limits, known: Known | None = None) -> Brief:
    """Return the brief of one document. known: what the history says of its references."""
    value = document.value or {}
    known = known or {}
    status = views.text_field(value, "status") or NO_STATUS
    if document.value is None:
        status = views.UNREADABLE
    complete, _ = views.count_rows(value)
    actions, shipped = _split_actions(value, known)
    return Brief(
        skill=document.skill,
        path=document.path,
        project=views.text_field(value, "project"),
        phase=views.text_field(value, "phase"),
        step=views.text_field(value, "step"),
        status=status,
        summary=views.text_field(value, "progress_summary"),
        updated_at=views.text_field(value, "updated_at"),
        age=views.find_age(value, now),
        stale=views.is_stale(value, now, limits.in_progress),
        unstarted=views.is_unstarted(value),
        budget=views.describe_budget(value),
        gate=views.find_gate(value),
        complete_rows=complete,
        rows=views.read_objects(value, "progress_table"),
        failed_rows=views.failed_rows(value),
        tickets="",
        actions=actions,
        shipped=shipped,
        blockers=_find_blockers(document.skill, value, known),
        superseded=views.describe_superseded(value),
    )


def _split_actions(value: dict[str, Any], known: Known) -> tuple[list[Action], list[Action]]:
    """Return the next actions that remain, and those that are finished by merges."""
    remaining = list[Action]()
    finished = list[Action]()
    repeated = views.find_done_actions(value)
    for index, item in enumerate(views.read_list(value, "next_actions")):
        text = views.action_text(item)
        if not text.strip():
            continue
        waits_for: tuple[str, ...] = ()
        if isinstance(item, dict):
            waits_for = tuple(goals.find_goals(item))
        action = Action(
            position=index,
            text=text,
            done_when=views.action_done_when(item),
            facts=merged_work.find_action_facts(item, known),
            goals=waits_for,
            is_repeated=index in repeated,
        )
        if merged_work.is_finished(item, known):
            finished.append(action)
        else:
            remaining.append(action)

    return remaining, finished


def _find_blockers(skill: str, value: dict[str, Any], known: Known) -> list[OpenBlocker]:
    """Return the blockers that are not resolved, each with the command that settles it."""
    blockers = list[OpenBlocker]()
    for blocker, argv in views.find_answers(skill, value):
        proposal = views.text_field(blocker, "proposed_resolution")
        facts = merged_work.find_text_facts(proposal, known)
        blockers.append(OpenBlocker(blocker, command(*argv), facts))
    return blockers


def find_decisions(briefs: Sequence[Brief]) -> list[OpenDecision]:
    """Return the decisions that wait on the user, in the order of the briefs."""
    return [
        OpenDecision(brief.skill, blocker.value, blocker.answer, blocker.facts)
        for brief in briefs
        for blocker in brief.decisions
    ]
