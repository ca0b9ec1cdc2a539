"""Show a workflow in one line, read from its two files alone."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.clock import age_text, read_instant
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.outcome import Block, Line
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.document import find_broken

if TYPE_CHECKING:
    from checkpoint_git.protocols.workflow.state import State

# of layout.py, which most projects have no use for
_FILES = ("phase.json", "execution.json", ".archive")
_SEE_STATUS = advise("for more", "checkpoint", "workflow", "status")
_TASK_ACTIONS = ("add", "start", "done", "fail", "retry", "block")


def is_present(place: Place) -> bool:
    """Return whether a project has a workflow, by its files alone."""
    memory = os.path.join(place.root, "memory")
    folder = os.path.join(memory, "state")
    if os.path.islink(memory) or os.path.islink(folder):
        return False
    return any(os.path.lexists(f"{folder}/{name}") for name in _FILES)


def summarize(question: StatusQuestion) -> Summary:
    """Return what there is of a workflow, for a reader."""
    from checkpoint_git.protocols.workflow import state, store  # most projects have no workflow

    home = store.find_workflow_place(question.place.root)
    if question.reader == "completion":
        if home is None:
            return _complete([])
        rows = state.load_state(home, question.now).task_rows
        return _complete([str(row.get("id")) for row in rows])

    if home is None:
        return Summary()
    lost = state.find_archived_work(home, question.now)
    if lost:
        line = Line(f"workflow: {lost.message}", "bad", "failed", hint=_SEE_STATUS)
        lead: list[Block] = [line, Line("")]
        return Summary(findings=[lost], lead=lead, lines=[clean(line.whole, 240)])

    if not store.has_state(home):
        return Summary()

    found = state.load_state(home, question.now)
    if found.phase:
        findings = find_broken(found.documents)
    else:
        findings = state.find_damage(found)[:1]

    counts = _count_tasks(found)
    line = _describe(found, counts, question.now, is_broken=bool(findings))
    data: dict[str, Any] = {**found.data(), "tasks": counts, "valid": not findings}
    lines = [clean(line.whole, 240)]
    return Summary({"workflow": data}, findings, lead=[line, Line("")], lines=lines)


def _complete(task_names: list[str]) -> Summary:
    """Return what shell completion offers."""
    from checkpoint_git.protocols.workflow.layout import PHASES

    names: dict[str, Sequence[str]] = {}
    for verb in ("approve", "back"):
        names[f"workflow WORD {verb}"] = PHASES
    names["workflow WORD task"] = _TASK_ACTIONS

    for action in _TASK_ACTIONS:
        names[f"workflow WORD task {action}"] = task_names
    return Summary(names=names)


def _count_tasks(found: "State") -> dict[str, int]:
    from checkpoint_git.protocols.workflow.tasks import read_status

    statuses = [read_status(row.get("status")) for row in found.task_rows]
    return {"complete": statuses.count("complete"), "total": len(statuses)}


def _describe(found: "State", counts: dict[str, int], now: int, *, is_broken: bool) -> Line:
    """Return the line about a workflow. counts: of its tasks."""
    from checkpoint_git.protocols.workflow.layout import PHASES

    text = f"workflow {found.workflow_id or '?'}: "
    if is_broken:
        text += "its state appears corrupted"
        return Line(text, "bad", "failed", hint=command("checkpoint", "workflow", "resume"))

    active = read_instant(found.last_activity)
    age = f", {age_text(now - active[0])}" if active else ""
    text += f"{found.value['current_phase']} ({found.value['phase_status']}{age})"
    text += f", {len(found.completed)}/{len(PHASES)} phases"
    if counts["total"]:
        text += f", {counts['complete']}/{counts['total']} tasks"
    return Line(text, "strong", "in_progress", hint=_SEE_STATUS)
