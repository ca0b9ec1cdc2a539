"""What the verbs do to the two documents: start, save, approve, advance, and the tasks. Pure.

Values are token values (jsontext): numbers are bytes, and whatever is not touched stays what it was.
"""

from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.workflow.phases import LAST, MAX_ATTEMPTS, PHASES, next_phase
from checkpoint_git.protocols.workflow.recovery import Step, task_name
from checkpoint_git.protocols.workflow.resume import max_attempts, read_count
from checkpoint_git.protocols.workflow.rules import quote

Value = dict[str, Any]


def new_phase(workflow_id: str, now: int) -> Value:
    """A workflow that begins: its first phase is in progress."""
    instant = write_instant(now)
    return {
        "workflow_id": workflow_id,
        "started_at": instant,
        "last_updated": instant,
        "current_phase": PHASES[0],
        "phase_status": "in_progress",
        "completed_phases": [],
        "user_checkpoints": [],
        "interruption_safe": False,
    }


def new_execution(workflow_id: str, now: int) -> Value:
    """The tasks of a workflow that begins: none."""
    return {"workflow_id": workflow_id, "last_updated": write_instant(now), "tasks": []}


def stamp(value: Value, now: int) -> str:
    """Sets last_updated to now, but never back; the instant that stands there now."""
    before, instant = read_instant(value.get("last_updated")), write_instant(now)
    if before is None or before <= (now, ""):
        value["last_updated"] = instant
    return str(value["last_updated"])


def begin_phase(value: Value) -> None:
    """A phase that was not begun is in progress."""
    if value.get("phase_status") == "pending":
        value["phase_status"] = "in_progress"


def note_save(value: Value, note: str, now: int) -> None:
    """A checkpoint before an expensive step: the phase is begun, or tried again where it failed."""
    if value.get("phase_status") in ("pending", "failed"):
        value["phase_status"] = "in_progress"
    value["saved"] = {"at": write_instant(now), **({"note": note} if note else {})}


def approve_phase(value: Value, phase: str, now: int) -> Finding | None:
    """Notes an approval, once; a Finding where there is nothing to approve yet."""
    current = value.get("current_phase")
    if PHASES.index(phase) > PHASES.index(str(current)):
        message = f"{phase} was not begun: the workflow is in {current}"
        return Finding("workflow/not-begun", "error", message, where="/current_phase", hint=f"approve {current}")
    approvals = value["user_checkpoints"]
    if not any(isinstance(row, dict) and row.get("phase") == phase for row in approvals):
        approvals.append({"phase": phase, "approved_at": write_instant(now)})
    return None


def finish_phase(value: Value, output: str, now: int) -> str:
    """Completes the current phase and goes to the next one, which is pending; its name, "" after the last phase."""
    phase = str(value["current_phase"])
    rows = value["completed_phases"]
    if not any(isinstance(row, dict) and row.get("phase") == phase for row in rows):
        rows.append({"phase": phase, "completed_at": write_instant(now), **({"output": output} if output else {})})
    following = next_phase(phase)
    value["current_phase"] = following or LAST
    value["phase_status"] = "pending" if following else "complete"
    return following


# tasks


def find_task(value: Value, name: str) -> Value | None:
    """The row of a task, None where there is none."""
    return next((row for row in value["tasks"] if isinstance(row, dict) and task_name(row) == name), None)


def add_tasks(value: Value, ids: Sequence[str]) -> Finding | None:
    """Adds pending tasks; a Finding where one is there already."""
    for name in ids:
        if find_task(value, name) is not None:
            return _task_finding("workflow/task-id-twice", f"there is a task {quote(name)} already")
        value["tasks"].append({"id": name, "status": "pending", "attempts": b"0", "max_attempts": _token(MAX_ATTEMPTS)})
    return None


def start_task(value: Value, name: str, output: str | None, now: int) -> Finding | None:
    """Runs a task, which is added where it is not known. output: where its result will lie. Attempts do not change."""
    task = find_task(value, name)
    if task is None:
        add_tasks(value, [name])
        task = value["tasks"][-1]
    status = task.get("status")
    if status in _NOT_STARTED_AGAIN:
        code, hint = _NOT_STARTED_AGAIN[status]
        return _task_finding(code, f"{quote(name)} is {status} already", hint)
    if (read_count(task.get("attempts")) or 0) >= max_attempts(task):
        message = f"{quote(name)} has used up its {max_attempts(task)} attempts"
        return _task_finding(
            "workflow/attempts-used-up", message, "raise its max_attempts in execution.json, or let it be"
        )
    task.update(status="running", started_at=write_instant(now))
    for key in ("completed_at", "error"):
        task.pop(key, None)
    if output is not None:
        task["output"] = output
    return None


_NOT_STARTED_AGAIN = {
    "running": ("workflow/task-running", "checkpoint workflow recover, if its session is gone"),
    "complete": ("workflow/task-complete", "a task that is complete is not run again; add another one"),
}


def finish_task(value: Value, name: str, output: str | None, now: int) -> Finding | None:
    """Completes a task; a Finding where there is none of that name. A task that is complete stays as it is."""
    task = find_task(value, name)
    if task is None:
        return _unknown_task(value, name)
    if task.get("status") != "complete":
        started = read_instant(task.get("started_at"))
        ended = now if started is None else max(now, started[0] + (1 if started[1] else 0))
        task.update(status="complete", completed_at=write_instant(ended))
        task.pop("error", None)
    if output is not None:
        task["output"] = output
    return None


def fail_task(value: Value, name: str, error: str, now: int) -> Finding | None:
    """Counts an attempt: the task is pending again, and failed after the last one."""
    task = find_task(value, name)
    if task is None:
        return _unknown_task(value, name)
    if task.get("status") == "complete":
        return _task_finding(
            "workflow/task-complete", f"{quote(name)} is complete already", "a result is not taken back"
        )
    attempts = (read_count(task.get("attempts")) or 0) + 1
    failed = attempts >= max_attempts(task)
    task.update(status="failed" if failed else "pending", attempts=_token(attempts))
    if failed:
        task["completed_at"] = write_instant(now)
    if error:
        task["error"] = error
    return None


def apply_recovery(value: Value, steps: Sequence[Step]) -> None:
    """Writes what recovery found out into the rows."""
    for step in steps:
        task = value["tasks"][step.row]
        task.update(status=step.status, attempts=_token(step.attempts))
        if step.completed_at:
            task["completed_at"] = step.completed_at
        if step.error:
            task["error"] = step.error


def _unknown_task(value: Value, name: str) -> Finding:
    known = [task_name(row) for row in value["tasks"] if isinstance(row, dict)]
    hint = f"there are: {', '.join(quote(each) for each in known[:12])}" if known else "there are no tasks yet"
    return _task_finding("workflow/unknown-task", f"there is no task {quote(name)}", hint)


def _task_finding(code: str, message: str, hint: str = "") -> Finding:
    return Finding(code, "error", message, where="/tasks", hint=hint)


def _token(number: int) -> bytes:
    return str(number).encode()
