"""Change the tasks in execution.json as the verbs do, and settle those whose session is gone."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import HOUR, read_instant, read_loose_instant, write_instant
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.workflow.layout import GRACE, MAX_ATTEMPTS

# Token values (jsontext): numbers are bytes, and whatever is not touched stays what it was.
Value = dict[str, Any]
Verdict = Literal["orphan", "done", "failed"]

UNKNOWN_ZONE = 14 * HOUR  # how far a time without an offset may be from what it is taken for
RUNNING = ("running", "in_progress", "wip", "started", "executing")
UNFINISHED = (*RUNNING, "pending", "incomplete", "partial", "not_started", "todo")
_FAILED = (
    "failed fail failing failure false no error errored rejected aborted crashed timeout timed_out"
)
_SYNONYMS = {
    **dict.fromkeys(
        ("complete", "completed", "done", "success", "succeeded", "ok", "passed"), "complete"
    ),
    **dict.fromkeys(_FAILED.split(), "failed"),
    **{word: word for word in (*UNFINISHED, "blocked")},
}
# members of a result that may say how it ended
_ENDINGS = ("status", "verdict", "outcome", "result", "passed", "success", "ok")
RECOVER = advise("if its session is gone", "checkpoint", "workflow", "recover")


def task_name(task: Mapping[str, Any]) -> str:
    name = task.get("id")
    if isinstance(name, bytes):
        return name.decode()
    return str(name)


def max_attempts(task: Mapping[str, Any]) -> int:
    return _read_count(task.get("max_attempts")) or MAX_ATTEMPTS


def _read_count(value: Any) -> int:
    text = ""
    if isinstance(value, bytes):
        text = value.decode()
    elif type(value) is int:
        text = str(value)
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return int(text)
    return 0


def is_open(task: Mapping[str, Any]) -> bool:
    """Return whether something is left to be done; an unknown status says nothing about that."""
    return read_status(task.get("status")) in (*UNFINISHED, "failed", "blocked")


def is_running(task: Mapping[str, Any]) -> bool:
    return read_status(task.get("status")) in RUNNING


def read_status(value: Any) -> str:
    """Return one of our statuses for its synonyms, another word as it is; "" for none."""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    word = text.lower().replace("-", "_").replace(" ", "_")
    return _SYNONYMS.get(word, shorten(text, 60))


def find_task(value: Value, name: str) -> Value | None:
    """Return the first task with a name."""
    for row in value["tasks"]:
        if isinstance(row, dict) and task_name(row) == name:
            return row
    return None


def add_tasks(value: Value, names: Sequence[str]) -> Finding | None:
    """Add pending tasks, or return why that is refused."""
    for name in names:
        if find_task(value, name) is not None:
            message = f"the task {quote(name)} exists already"
            return make_error("workflow/task-id-twice", message, "/tasks")
        value["tasks"].append(
            {
                "id": name,
                "status": "pending",
                "attempts": b"0",
                "max_attempts": b"%d" % MAX_ATTEMPTS,
            }
        )

    return None


def change_task(
    value: Value,
    verb: str,
    name: str,
    output: "OutputFile | None",
    *,
    error: str,
    runner: tuple[str, str],
    now: int,
) -> Finding | None:
    """Change a task, or return why that is refused. verb: one of CHANGES.

    A task that is started and not known is added. output: what is at the place of the result,
    which need not be there yet. runner: the session that runs it, and its process, "" if unknown.
    """
    task = find_task(value, name)
    if task is None:
        if verb != "start":
            return _unknown_task(value, name)
        add_tasks(value, [name])
        task = value["tasks"][-1]

    refused = _find_refusal(task, verb, name)
    if refused is not None:
        return refused

    if output is not None:
        task["output"] = output.path
    CHANGES[verb](task, output, now)
    if error or verb in ("start", "done", "retry"):
        task["error"] = error
    task["session"], task["process"] = runner if verb == "start" else ("", "")

    for key in ("error", "session", "process"):
        if not task.get(key):
            task.pop(key, None)

    return None


def _unknown_task(value: Value, name: str) -> Finding:
    known = [quote(task_name(row)) for row in value["tasks"] if isinstance(row, dict)]
    hint = "no tasks yet"
    if known:
        hint = f"there are: {', '.join(known[:12])}"
    return make_error("workflow/unknown-task", f"no task {quote(name)}", "/tasks", hint)


def _find_refusal(task: Value, verb: str, name: str) -> Finding | None:
    retry = ("checkpoint", "workflow", "task", "retry", name)
    if is_running(task) and verb in ("start", "retry"):
        message = f"{quote(name)} is running already"
        return make_error("workflow/task-running", message, "/tasks", RECOVER)

    if read_status(task.get("status")) == "complete" and verb not in ("done", "retry"):
        message = f"{quote(name)} is complete already"
        hint = advise("to do it once more", *retry)
        return make_error("workflow/task-complete", message, "/tasks", hint)

    most = max_attempts(task)
    if verb == "start" and _read_count(task.get("attempts")) >= most:
        message = f"{quote(name)} has used up its {most} attempts"
        used_up = command(*retry, more=" gives it new ones")
        return make_error("workflow/attempts-used-up", message, "/tasks", used_up)

    return None


def _start(task: Value, output: "OutputFile | None", now: int) -> None:
    task.update(status="running", started_at=write_instant(now))
    task.pop("completed_at", None)
    # what is there already is not the result of this attempt
    task["digest"] = _read_digest(output)


def _finish(task: Value, output: "OutputFile | None", now: int) -> None:
    if task.get("status") != "complete":
        ended = now
        started = read_loose_instant(task.get("started_at"))
        if started is not None:
            ended = max(now, next_second(started))
        task.update(status="complete", completed_at=write_instant(ended))
    task["digest"] = _read_digest(output)


def next_second(instant: tuple[int, str]) -> int:
    """Return the first whole second that is not before an instant."""
    seconds, fraction = instant
    if fraction:
        return seconds + 1
    return seconds


def _read_digest(output: "OutputFile | None") -> str | None:
    if output is None or not output.digest:
        return None
    return output.digest


def _fail(task: Value, output: "OutputFile | None", now: int) -> None:
    """Count an attempt: the task is pending again, and failed after the last one."""
    attempts = _read_count(task.get("attempts")) + 1
    task["attempts"] = b"%d" % attempts
    task["status"] = _status_after(task, attempts)
    if task["status"] == "failed":
        task["completed_at"] = write_instant(now)


def _status_after(task: Mapping[str, Any], attempts: int) -> str:
    """Return the status of a task after failed attempts. attempts: how many."""
    if attempts >= max_attempts(task):
        return "failed"
    return "pending"


def _retry(task: Value, output: "OutputFile | None", now: int) -> None:
    task.update(status="pending", attempts=b"0")
    task.pop("completed_at", None)


def _block(task: Value, output: "OutputFile | None", now: int) -> None:
    task["status"] = "blocked"


CHANGES = {"start": _start, "done": _finish, "fail": _fail, "retry": _retry, "block": _block}


class OutputFile(NamedTuple):
    """A file that a phase or a task leaves behind."""

    path: str = ""  # relative to the project, "" if none is named
    # "outside" the project, "older" than the workflow, "failed" by what it says
    state: Literal["good", "missing", "outside", "unreadable", "older", "failed"] = "missing"
    why: str = ""  # it is in that state
    value: Any = None  # the content of one that is JSON by its name
    written: float = 0  # seconds since 1970; never too early if the file could not be read
    digest: str = ""  # "" if nothing could be read


def judge_result(output: OutputFile) -> OutputFile:
    """Return an output with the state that its content asks for.

    A phase ends with a result that says something, and no failure.
    """
    value = output.value
    if output.state != "good" or value is None:
        return output
    members = value if isinstance(value, dict) else {"status": value}
    is_empty = value in ([], [None], "", False)
    if is_empty or all(member is None for member in members.values()):
        return output._replace(state="unreadable", why="it is empty")

    for key in _ENDINGS:
        status = read_status(members.get(key))
        if members.get(key) is False:
            status = "failed"
        if status in ("failed", "blocked"):
            return output._replace(state="failed", why=f"says {status}")
        if status in UNFINISHED:
            return output._replace(state="unreadable", why=f"it says {status}")

    return output


class TaskStep(NamedTuple):
    """A change that recovery makes to one task."""

    row: int  # its index
    id: str
    verdict: Verdict
    status: str  # the new one
    reason: str
    attempts: int
    error: str = ""
    completed_at: str = ""
    digest: str = ""


def earliest_start(task: Mapping[str, Any]) -> int:
    """Return the earliest time at which a task may have started; 0 if that is unknown."""
    started = read_loose_instant(task.get("started_at"))
    if started is None:
        return 0
    has_no_zone = read_loose_instant(f"{task['started_at']}Z") is not None
    if has_no_zone:
        return started[0] - UNKNOWN_ZONE
    return started[0]


def plan_step(row: int, task: Mapping[str, Any], output: OutputFile, now: int) -> TaskStep:
    """Return what recovery does to a task whose session is gone. row: its index."""
    attempts = _read_count(task.get("attempts"))
    orphaned = _explain_orphan(task, output)
    if orphaned:
        attempts += 1
        status = _status_after(task, attempts)
        error = f"interrupted: {orphaned}"
        return TaskStep(row, task_name(task), "orphan", status, orphaned, attempts, error)

    result = _read_result(output)
    reported = read_status(result.get("status"))
    status = reported or "complete"
    reason = f"{output.path} exists"
    if reported:
        reason += f" and says {status}"

    error = result.get("error", "")
    if not isinstance(error, str):
        error = ""
    started, _ = read_instant(task.get("started_at")) or (0, "")
    return TaskStep(
        row,
        task_name(task),
        verdict="failed" if status == "failed" else "done",
        status=status,
        reason=reason,
        attempts=attempts,
        error=error,
        completed_at=write_instant(max(now, started)),
        digest=output.digest,
    )


def _read_result(output: OutputFile) -> dict[str, Any]:
    """Return the members of a JSON result, {} for any other output."""
    if isinstance(output.value, dict):
        return output.value
    return {}


def _explain_orphan(task: Mapping[str, Any], output: OutputFile) -> str:
    """Return why a task has no result of its last attempt, "" if it has one."""
    path = output.path
    if not path and output.state == "missing":
        return "no output is named"
    if output.state == "missing":
        return f"no output {path}"
    if output.state == "outside":
        return f"{path}: {output.why}"
    if _is_as_before(task, output):
        return f"{path} is as it was before the attempt"
    if output.state == "unreadable":
        return f"{path} cannot be read: {output.why}"
    status = read_status(_read_result(output).get("status"))
    if status in UNFINISHED:
        return f"{path} says {status}: it was not finished"
    return ""


def _is_as_before(task: Mapping[str, Any], output: OutputFile) -> bool:
    """Return whether an output was there before the attempt, by its digest if that was noted."""
    if "digest" in task:
        return bool(output.digest == task["digest"])
    return output.written + GRACE < earliest_start(task)


def apply_recovery(value: Value, steps: Sequence[TaskStep]) -> None:
    for step in steps:
        task = value["tasks"][step.row]
        task.update(status=step.status, attempts=b"%d" % step.attempts)
        for key in ("completed_at", "error", "digest"):
            if getattr(step, key):
                task[key] = getattr(step, key)
        for key in ("session", "process"):
            task.pop(key, None)
