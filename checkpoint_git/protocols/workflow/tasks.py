"""The tasks in execution.json: what the verbs change, and what recovery does with those whose session is gone."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.workflow.layout import MAX_ATTEMPTS

# Token values (jsontext): numbers are bytes, and whatever is not touched stays what it was.
Value = dict[str, Any]
Verdict = Literal["orphan", "done", "failed"]

_GRACE = 2  # seconds: file systems round what a clock says
_UNFINISHED = ("pending", "running", "in_progress")
_SYNONYMS = {
    **dict.fromkeys(("complete", "completed", "done", "success", "succeeded", "ok", "passed"), "complete"),
    **dict.fromkeys(("failed", "failure", "error"), "failed"),
    **{word: word for word in (*_UNFINISHED, "blocked")},
}
_NOT_STARTED_AGAIN = {
    "running": ("workflow/task-running", "checkpoint workflow recover, if its session is gone"),
    "complete": ("workflow/task-complete", "a complete task is not run again; add another one"),
}


def task_name(task: Mapping[str, Any]) -> str:
    name = task.get("id")
    return name.decode() if isinstance(name, bytes) else str(name)


def max_attempts(task: Mapping[str, Any]) -> int:
    most = _read_count(task.get("max_attempts"))
    return MAX_ATTEMPTS if most is None or most < 1 else most


def _count_attempts(task: Mapping[str, Any]) -> int:
    return _read_count(task.get("attempts")) or 0


def _read_count(value: Any) -> int | None:
    text = value.decode() if isinstance(value, bytes) else str(value) if type(value) is int else ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else None


def _token(number: int) -> bytes:
    return str(number).encode()


# the verbs


def find_task(value: Value, name: str) -> Value | None:
    return next((row for row in value["tasks"] if isinstance(row, dict) and task_name(row) == name), None)


def add_tasks(value: Value, names: Sequence[str]) -> Finding | None:
    for name in names:
        if find_task(value, name) is not None:
            return make_error("workflow/task-id-twice", f"there is a task {quote(name)} already", "/tasks")
        value["tasks"].append({"id": name, "status": "pending", "attempts": b"0", "max_attempts": _token(MAX_ATTEMPTS)})
    return None


def start_task(value: Value, name: str, output: str | None, now: int) -> Finding | None:
    """Runs a task, which is added where it is not known. output: where its result will be. Attempts do not change."""
    task = find_task(value, name)
    if task is None:
        add_tasks(value, [name])
        task = value["tasks"][-1]
    status = task.get("status")
    if status in _NOT_STARTED_AGAIN:
        code, hint = _NOT_STARTED_AGAIN[status]
        return make_error(code, f"{quote(name)} is {status} already", "/tasks", hint)
    if _count_attempts(task) >= max_attempts(task):
        message = f"{quote(name)} has used up its {max_attempts(task)} attempts"
        return make_error(
            "workflow/attempts-used-up", message, "/tasks", "raise its max_attempts in execution.json, or let it be"
        )
    task.update(status="running", started_at=write_instant(now))
    for key in ("completed_at", "error"):
        task.pop(key, None)
    if output is not None:
        task["output"] = output
    return None


def finish_task(value: Value, name: str, output: str | None, now: int) -> Finding | None:
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
        return make_error(
            "workflow/task-complete", f"{quote(name)} is complete already", "/tasks", "a result is not taken back"
        )
    attempts = _count_attempts(task) + 1
    failed = attempts >= max_attempts(task)
    task.update(status="failed" if failed else "pending", attempts=_token(attempts))
    if failed:
        task["completed_at"] = write_instant(now)
    if error:
        task["error"] = error
    return None


def _unknown_task(value: Value, name: str) -> Finding:
    known = [task_name(row) for row in value["tasks"] if isinstance(row, dict)]
    hint = f"there are: {', '.join(quote(each) for each in known[:12])}" if known else "no tasks yet"
    return make_error("workflow/unknown-task", f"unknown task {quote(name)}", "/tasks", hint)


# recovery


class OutputFile(NamedTuple):
    """A file that a phase or a task leaves behind. path: relative to the project, "" for none named. state: "good",
    "missing", "outside" the project, "unreadable" (why says how), or "older" than the workflow. value: the content of
    one that is JSON by its name. written: when, seconds since 1970; never too early where the file could not be read.
    """

    path: str = ""
    state: Literal["good", "missing", "outside", "unreadable", "older"] = "missing"
    why: str = ""
    value: Any = None
    written: float = 0


class Step(NamedTuple):
    """What recovery does to one task. row: its index. status: the new one. keep_aside: a file to move away, or ""."""

    row: int
    id: str
    verdict: Verdict
    status: str
    reason: str
    attempts: int
    error: str = ""
    keep_aside: str = ""
    completed_at: str = ""


def plan_recovery(tasks: Sequence[Any], outputs: Mapping[int, OutputFile]) -> list[Step]:
    """Steps for the tasks that are said to run. outputs: of those tasks, by their rows."""
    return [
        _plan_step(row, task, outputs.get(row, OutputFile()))
        for row, task in enumerate(tasks)
        if isinstance(task, dict) and task.get("status") == "running"
    ]


def _plan_step(row: int, task: Mapping[str, Any], output: OutputFile) -> Step:
    path, started = output.path, read_instant(task.get("started_at"))
    said = output.value if isinstance(output.value, dict) else {}
    status, error = said.get("status"), said.get("error")
    if not isinstance(status, str) or not status.strip():
        status = "complete"
    status = _SYNONYMS.get(status.strip().lower(), shorten(status.strip(), 60))
    keep_aside = path
    if output.state == "missing":
        keep_aside, reason = "", f"no output {path}" if path else "no output is named"
    elif output.state == "outside":
        keep_aside, reason = "", f"{path}: {output.why}"
    elif output.state == "unreadable":
        reason = f"{path} cannot be read: {output.why}"
    elif started is not None and output.written + _GRACE < started[0]:
        reason = f"{path} is older than the attempt"
    elif status in _UNFINISHED:
        reason = f"{path} says {status}: it was not finished"
    else:
        verdict: Verdict = "done" if status == "complete" else "failed"
        ended = write_instant(int(max(output.written, started[0] if started else 0)))
        error = error if isinstance(error, str) else ""
        reason = f"{path} is there and says {status}"
        return Step(row, task_name(task), verdict, status, reason, _count_attempts(task), error, "", ended)
    attempts = _count_attempts(task) + 1
    status = "failed" if attempts >= max_attempts(task) else "pending"
    return Step(row, task_name(task), "orphan", status, reason, attempts, f"interrupted: {reason}", keep_aside)


def apply_recovery(value: Value, steps: Sequence[Step]) -> None:
    for step in steps:
        task = value["tasks"][step.row]
        task.update(status=step.status, attempts=_token(step.attempts))
        if step.completed_at:
            task["completed_at"] = step.completed_at
        if step.error:
            task["error"] = step.error
