"""The tasks in execution.json: what the verbs change, and what recovery does with those whose session is gone."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import HOUR, read_instant, read_loose_instant, write_instant
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.terminal_text import quote_word, shorten
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.workflow.layout import GRACE, MAX_ATTEMPTS

# Token values (jsontext): numbers are bytes, and whatever is not touched stays what it was.
Value = dict[str, Any]
Verdict = Literal["orphan", "done", "failed"]

UNKNOWN_ZONE = 14 * HOUR  # how far a time without an offset may be from what it is taken for
RUNNING = ("running", "in_progress", "wip", "started", "executing")
UNFINISHED = (*RUNNING, "pending", "incomplete", "partial", "not_started", "todo")
_FAILED = "failed fail failing failure false no error errored rejected aborted crashed timeout timed_out"
_SYNONYMS = {
    **dict.fromkeys(("complete", "completed", "done", "success", "succeeded", "ok", "passed"), "complete"),
    **dict.fromkeys(_FAILED.split(), "failed"),
    **{word: word for word in (*UNFINISHED, "blocked")},
}
# members of a result that may say how it ended
_SAYING = ("status", "verdict", "outcome", "result", "passed", "success", "ok")
_AGAIN = "checkpoint workflow task retry"
RECOVER = "checkpoint workflow recover, if its session is gone"


def task_name(task: Mapping[str, Any]) -> str:
    name = task.get("id")
    return name.decode() if isinstance(name, bytes) else str(name)


def max_attempts(task: Mapping[str, Any]) -> int:
    return _read_count(task.get("max_attempts")) or MAX_ATTEMPTS


def _read_count(value: Any) -> int:
    text = value.decode() if isinstance(value, bytes) else str(value) if type(value) is int else ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else 0


def is_open(task: Mapping[str, Any]) -> bool:
    """Whether something is left to be done; a status of somebody's own says nothing about that."""
    return read_status(task.get("status")) in (*UNFINISHED, "failed", "blocked")


def is_running(task: Mapping[str, Any]) -> bool:
    return read_status(task.get("status")) in RUNNING


def read_status(said: Any) -> str:
    """One of ours for its synonyms, another word as it is; "" for none."""
    text = said.strip() if isinstance(said, str) else ""
    return _SYNONYMS.get(text.lower().replace("-", "_").replace(" ", "_"), shorten(text, 60))


def find_task(value: Value, name: str) -> Value | None:
    return next((row for row in value["tasks"] if isinstance(row, dict) and task_name(row) == name), None)


def add_tasks(value: Value, names: Sequence[str]) -> Finding | None:
    for name in names:
        if find_task(value, name) is not None:
            return make_error("workflow/task-id-twice", f"the task {quote(name)} is there already", "/tasks")
        value["tasks"].append({"id": name, "status": "pending", "attempts": b"0", "max_attempts": b"%d" % MAX_ATTEMPTS})
    return None


def change_task(
    value: Value, verb: str, name: str, output: "OutputFile | None", *, error: str, runner: tuple[str, str], now: int
) -> Finding | None:
    """verb: one of CHANGES. output: what is at the place of the result, which need not be there yet. runner: the
    session that runs it, and its process, "" where that is unknown. A task that is started and not known is added.
    """
    task = find_task(value, name)
    if task is None:
        if verb != "start":
            known = [task_name(row) for row in value["tasks"] if isinstance(row, dict)]
            hint = f"there are: {', '.join(quote(each) for each in known[:12])}" if known else "no tasks yet"
            return make_error("workflow/unknown-task", f"no task {quote(name)}", "/tasks", hint)
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


def _find_refusal(task: Value, verb: str, name: str) -> Finding | None:
    status, word = task.get("status"), quote_word(name)
    if is_running(task) and verb in ("start", "retry"):
        return make_error("workflow/task-running", f"{quote(name)} is running already", "/tasks", RECOVER)
    if read_status(status) == "complete" and verb not in ("done", "retry"):
        hint = f"to do it once more: {_AGAIN} {word}"
        return make_error("workflow/task-complete", f"{quote(name)} is complete already", "/tasks", hint)
    if verb == "start" and _read_count(task.get("attempts")) >= max_attempts(task):
        message = f"{quote(name)} has used up its {max_attempts(task)} attempts"
        return make_error("workflow/attempts-used-up", message, "/tasks", f"`{_AGAIN} {word}` gives it new ones")
    return None


def _start(task: Value, output: "OutputFile | None", now: int) -> None:
    task.update(status="running", started_at=write_instant(now))
    task.pop("completed_at", None)
    # what is there already is not the result of this attempt
    task["digest"] = output.digest if output and output.digest else None


def _finish(task: Value, output: "OutputFile | None", now: int) -> None:
    if task.get("status") != "complete":
        started = read_loose_instant(task.get("started_at"))
        ended = now if started is None else max(now, started[0] + (1 if started[1] else 0))
        task.update(status="complete", completed_at=write_instant(ended))
    task["digest"] = output.digest if output and output.digest else None


def _fail(task: Value, output: "OutputFile | None", now: int) -> None:
    # Counts an attempt: the task is pending again, and failed after the last one
    attempts = _read_count(task.get("attempts")) + 1
    failed = attempts >= max_attempts(task)
    task.update(status="failed" if failed else "pending", attempts=b"%d" % attempts)
    if failed:
        task["completed_at"] = write_instant(now)


def _retry(task: Value, output: "OutputFile | None", now: int) -> None:
    task.update(status="pending", attempts=b"0")
    task.pop("completed_at", None)


def _block(task: Value, output: "OutputFile | None", now: int) -> None:
    task["status"] = "blocked"


CHANGES = {"start": _start, "done": _finish, "fail": _fail, "retry": _retry, "block": _block}


class OutputFile(NamedTuple):
    """A file that a phase or a task leaves behind. path: relative to the project, "" for none named. state: "good",
    "missing", "outside" the project, "unreadable" (why says how), "older" than the workflow, or "failed" by what it
    says. value: the content of one that is JSON by its name. written: when, seconds since 1970; never too early where
    the file could not be read. digest: "" where nothing could be read.
    """

    path: str = ""
    state: Literal["good", "missing", "outside", "unreadable", "older", "failed"] = "missing"
    why: str = ""
    value: Any = None
    written: float = 0
    digest: str = ""


def judge_result(output: OutputFile) -> OutputFile:
    """With the state that its content asks for: a phase ends with a result that says something, and no failure."""
    said = output.value
    if output.state != "good" or said is None:
        return output
    members = said if isinstance(said, dict) else {"status": said}
    if said in ([], [None], "", False) or all(each is None for each in members.values()):
        return output._replace(state="unreadable", why="it says nothing")
    for key in _SAYING:
        status = "failed" if members.get(key) is False else read_status(members.get(key))
        if status in ("failed", "blocked"):
            return output._replace(state="failed", why=f"says {status}")
        if status in UNFINISHED:
            return output._replace(state="unreadable", why=f"it says {status}")
    return output


class Step(NamedTuple):
    """What recovery does to one task. row: its index. status: the new one."""

    row: int
    id: str
    verdict: Verdict
    status: str
    reason: str
    attempts: int
    error: str = ""
    completed_at: str = ""
    digest: str = ""


def earliest_start(task: Mapping[str, Any]) -> int:
    loose = read_loose_instant(task.get("started_at"))
    return 0 if loose is None else loose[0] - (UNKNOWN_ZONE if read_loose_instant(f"{task['started_at']}Z") else 0)


def plan_step(row: int, task: Mapping[str, Any], output: OutputFile, now: int) -> Step:
    """task: one whose session is gone."""
    path, started = output.path, read_instant(task.get("started_at"))
    said = output.value if isinstance(output.value, dict) else {}
    status, error = read_status(said.get("status")) or "complete", said.get("error")
    if output.state == "missing":
        reason = f"no output {path}" if path else "no output is named"
    elif output.state == "outside":
        reason = f"{path}: {output.why}"
    elif output.digest == task["digest"] if "digest" in task else output.written + GRACE < earliest_start(task):
        reason = f"{path} is as it was before the attempt"
    elif output.state == "unreadable":
        reason = f"{path} cannot be read: {output.why}"
    elif status in UNFINISHED:
        reason = f"{path} says {status}: it was not finished"
    else:
        verdict: Verdict = "failed" if status == "failed" else "done"
        ended = write_instant(max(now, started[0] if started else 0))
        error = error if isinstance(error, str) else ""
        reason = f"{path} is there" + (f" and says {status}" if read_status(said.get("status")) else "")
        attempts = _read_count(task.get("attempts"))
        return Step(row, task_name(task), verdict, status, reason, attempts, error, ended, output.digest)
    attempts = _read_count(task.get("attempts")) + 1
    status = "failed" if attempts >= max_attempts(task) else "pending"
    return Step(row, task_name(task), "orphan", status, reason, attempts, f"interrupted: {reason}")


def apply_recovery(value: Value, steps: Sequence[Step]) -> None:
    for step in steps:
        task = value["tasks"][step.row]
        task.update(status=step.status, attempts=b"%d" % step.attempts)
        for key in ("completed_at", "error", "digest"):
            if getattr(step, key):
                task[key] = getattr(step, key)
        for key in ("session", "process"):
            task.pop(key, None)
