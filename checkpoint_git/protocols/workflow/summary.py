"""What there is of a workflow in a project: one line, read from its two files alone."""

import os
from typing import Any

from checkpoint_git.core.clock import age_text, read_instant
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.document import find_broken

# of layout.py, which most projects have no use for
_FILES = ("phase.json", "execution.json", ".archive")
_TASK_ACTIONS = ("add", "start", "done", "fail", "retry", "block")


def is_present(place: Place) -> bool:
    folders = (os.path.join(place.root, "memory"), os.path.join(place.root, "memory", "state"))
    return not any(map(os.path.islink, folders)) and any(os.path.lexists(f"{folders[1]}/{name}") for name in _FILES)


def summarize(question: Question) -> Summary:
    from checkpoint_git.protocols.workflow import state, store, tasks  # most projects have no workflow
    from checkpoint_git.protocols.workflow.layout import PHASES

    home = store.find_workflow_place(question.place.root)
    if question.reader == "completion":
        listed = state.load_state(home, question.now).tasks if home else []
        names = [str(task.get("id")) for task in listed if isinstance(task, dict)]
        of_task = {f"workflow WORD task {action}": names for action in _TASK_ACTIONS}
        of_phase = {f"workflow WORD {verb}": PHASES for verb in ("approve", "back")}
        return Summary(names={**of_phase, "workflow WORD task": _TASK_ACTIONS, **of_task})
    if lost := home and state.find_archived_work(home, question.now):
        text = f"workflow: {lost.message}; checkpoint workflow status"
        return Summary(findings=[lost], lead=[Line(text, "bad", "failed"), Line("")], lines=[clean(text, 240)])
    if home is None or not store.has_state(home):
        return Summary()
    found = state.load_state(home, question.now)
    findings = find_broken(found.documents) if found.phase else state.find_trouble(found, question.now)[:1]
    rows = [row for row in found.tasks if isinstance(row, dict)]
    counts = {"complete": sum(tasks.read_status(row.get("status")) == "complete" for row in rows), "total": len(rows)}
    data: dict[str, Any] = {**found.data(), "tasks": counts, "valid": not findings}
    text = f"workflow {found.workflow_id or '?'}: "
    if findings:
        text += "its state appears corrupted: checkpoint workflow resume"
        line = Line(text, "bad", "failed")
    else:
        active = read_instant(found.last_activity)
        age = f", {age_text(question.now - active[0])}" if active else ""
        text += f"{found.value['current_phase']} ({found.value['phase_status']}{age})"
        text += f", {len(found.completed)}/{len(PHASES)} phases"
        text += f", {counts['complete']}/{counts['total']} tasks" if rows else ""
        line = Line(f"{text}; checkpoint workflow status", "strong", "in_progress")
    return Summary({"workflow": data}, findings, lead=[line, Line("")], lines=[clean(line.text, 240)])
