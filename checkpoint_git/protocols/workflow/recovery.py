"""What became of tasks whose session ended while they were running: decided from their outputs. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.workflow.resume import max_attempts, read_count

Verdict = Literal["orphan", "done", "failed"]
Reading = Literal["missing", "unreadable", "json", "file"]

_GRACE = 2  # seconds: file systems round what a clock says
_UNFINISHED = ("pending", "running", "in_progress")


class TaskOutput(NamedTuple):
    """The file that a task was to leave behind. path: relative to the project, "" for none named.

    state: "missing", "unreadable" (why says how), "json" (value is its content), "file" (there, and no JSON by name).
    written: when, seconds since 1970.
    """

    path: str = ""
    state: Reading = "missing"
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


def plan_recovery(tasks: Sequence[Any], outputs: Mapping[int, TaskOutput]) -> list[Step]:
    """One step for every running task. tasks: rows of execution.json. outputs: of the running ones, by their index."""
    return [
        _plan_step(index, task, outputs.get(index, TaskOutput()))
        for index, task in enumerate(tasks)
        if isinstance(task, dict) and task.get("status") == "running"
    ]


def _plan_step(index: int, task: Mapping[str, Any], output: TaskOutput) -> Step:
    if output.state == "missing":
        return _orphan(index, task, f"no output {output.path}" if output.path else "no output is named", "")
    if output.state == "unreadable":
        return _orphan(index, task, f"{output.path} cannot be read: {output.why}", output.path)
    started = read_instant(task.get("started_at"))
    if started is not None and output.written + _GRACE < started[0]:
        return _orphan(index, task, f"{output.path} is older than the attempt", output.path)
    status = read_status(output)
    if status in _UNFINISHED:
        return _orphan(index, task, f"{output.path} says {status}: it was not finished", output.path)
    count = read_count(task.get("attempts")) or 0
    verdict: Verdict = "done" if status == "complete" else "failed"
    reason = f"{output.path} is there and says {status}"
    ended = int(max(output.written, started[0] if started else 0))
    return Step(index, task_name(task), verdict, status, reason, count, read_error(output), "", write_instant(ended))


def _orphan(index: int, task: Mapping[str, Any], reason: str, keep_aside: str) -> Step:
    attempts = (read_count(task.get("attempts")) or 0) + 1
    status = "failed" if attempts >= max_attempts(task) else "pending"
    error = f"interrupted: {reason}"
    return Step(index, task_name(task), "orphan", status, reason, attempts, error, keep_aside)


def task_name(task: Mapping[str, Any]) -> str:
    """A task's id as text."""
    name = task.get("id")
    return name.decode() if isinstance(name, bytes) else str(name)


def read_status(output: TaskOutput) -> str:
    """The status that an output says; "complete" where it says none."""
    said = output.value.get("status") if isinstance(output.value, dict) else None
    if not isinstance(said, str) or not said.strip():
        return "complete"
    return _SYNONYMS.get(said.strip().lower(), shorten(said.strip(), 60))


def read_error(output: TaskOutput) -> str:
    """The error that an output tells, "" for none."""
    said = output.value.get("error") if isinstance(output.value, dict) else None
    return said if isinstance(said, str) else ""


_SYNONYMS = {
    **dict.fromkeys(("complete", "completed", "done", "success", "succeeded", "ok", "passed"), "complete"),
    **dict.fromkeys(("failed", "failure", "error"), "failed"),
    **{word: word for word in (*_UNFINISHED, "blocked")},
}
