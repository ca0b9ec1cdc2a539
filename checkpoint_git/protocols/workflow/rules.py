"""Check what a workflow's two files mean beyond their shape, alone and together."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from posixpath import normpath
from typing import Any, NamedTuple

from checkpoint_git.core.clock import (
    DAY,
    MINUTE,
    age_text,
    read_instant,
    read_loose_instant,
    write_instant,
)
from checkpoint_git.core.finding import Finding, make_error, make_warning
from checkpoint_git.core.hint import AnyHint, Argv, Blank, Hint, advise, command, join_hints
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import explain_mismatch, find_doubles, list_objects, quote
from checkpoint_git.protocols.workflow import handwritten, layout
from checkpoint_git.protocols.workflow.progress import BEHIND_HINT, explain_behind, find_behind
from checkpoint_git.protocols.workflow.tasks import (
    UNFINISHED,
    UNKNOWN_ZONE,
    OutputFile,
    read_status,
    task_name,
)

TOLERANCE = 5 * MINUTE  # how far a clock may be ahead
BEHIND = "workflow/tasks-behind"
_INSTANT_HINT = "write it as 2026-03-31T14:00:00Z"
# place, with * for an index -> finding code, whatever keyword failed
_PLACES = {
    "/current_phase": "workflow/unknown-phase",
    "/completed_phases/*/phase": "workflow/unknown-phase",
    "/user_checkpoints/*/phase": "workflow/unknown-phase",
    "/phase_status": "workflow/unknown-status",
}
# keyword of the schema -> finding code
_KEYWORDS = {
    "required": "workflow/missing-field",
    "type": "workflow/wrong-type",
    "minLength": "workflow/empty-field",
    "minimum": "workflow/negative-amount",
}


def describe(mismatch: Mismatch) -> Finding:
    """Return the finding for a place where a file does not fit its schema."""
    place = re.sub(r"/[0-9]+(?=/|$)", "/*", mismatch.where)
    code = _KEYWORDS.get(mismatch.keyword, "workflow/shape")
    if mismatch.keyword in ("enum", "type", "minLength"):
        code = _PLACES.get(place, code)
    if handwritten.is_readable(mismatch):
        return _warn_of_form(explain_mismatch(mismatch), mismatch.where)
    fresh = command("checkpoint", "workflow", "resume", more=" offers to archive the state")
    hint = join_hints("correct it there, or start fresh", fresh)
    return make_error(code, explain_mismatch(mismatch), mismatch.where, hint)


def _warn_of_form(message: str, where: str) -> Finding:
    """Return a warning about what is read, and corrected by the next write."""
    save = command("checkpoint", "workflow", "save", more=" writes it in the usual form")
    return make_warning("workflow/handwritten", message, where, save)


# Values may break the schema: every check looks before it reads, and leaves to the schema what the
# schema says.
def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Return what is wrong with one file beyond its shape.

    skill: "phase" or "execution", as the file's name says. now: seconds since 1970.
    """
    if not skill:
        return []
    written = value
    value = handwritten.complete(skill, written)
    found = list(_check_instants(value, now))
    if skill == layout.PHASE:
        found += _check_phases(value)
        found += _check_time_order(value)
        if value.get("interruption_safe") is False:
            where = "/interruption_safe"
            message = "interruption_safe is false: a write was interrupted, or is in progress"
            hint = "check the content; the next workflow command that writes sets it"
            found.append(Finding("workflow/interrupted", "note", message, where=where, hint=hint))
    elif skill == layout.EXECUTION:
        found += _check_tasks(value)
        if "workflow_id" not in value:
            found.append(_warn_of_form("workflow_id is missing", "/workflow_id"))

    places = [handwritten.find_place(written, finding.where) for finding in found]
    return [finding._replace(where=where) for finding, where in zip(found, places, strict=True)]


_INSTANTS_IN_ROWS = {
    "completed_phases": ("completed_at",),
    "user_checkpoints": ("approved_at",),
    "tasks": ("started_at", "completed_at"),
}


def _check_instants(value: dict[str, Any], now: int) -> Iterator[Finding]:
    instants = [(f"/{name}", value.get(name)) for name in ("started_at", "last_updated")]
    for key, names in _INSTANTS_IN_ROWS.items():
        for where, row in list_objects(value, key):
            instants += [(f"{where}/{name}", row.get(name)) for name in names]

    for where, text in instants:
        if not isinstance(text, str) or not text:
            continue
        name = where.rpartition("/")[2]
        instant = read_loose_instant(text)
        if instant is None:
            message = f"{name} is {quote(text)}: invalid timestamp"
            yield make_error("workflow/timestamp", message, where, _INSTANT_HINT)
            continue
        tolerance = TOLERANCE if read_instant(text) else UNKNOWN_ZONE
        if instant[0] > now + tolerance:
            message = f"{name} is {quote(text)}, and now is {write_instant(now)}: "
            message += "it is in the future"
            yield make_warning("workflow/in-future", message, where, "was a clock wrong?")


def _check_phases(value: dict[str, Any]) -> Iterator[Finding]:
    done: list[Any] = []
    for where, row in list_objects(value, "completed_phases"):
        phase = row.get("phase")
        place = f"{where}/phase"
        if phase not in layout.PHASES:
            continue
        if phase in done:
            message = f"{phase} is completed twice"
            yield make_error("workflow/phase-twice", message, place, "remove one of the rows")
        elif phase != layout.PHASES[len(done)]:
            message = f"{phase} is completed where {layout.PHASES[len(done)]} comes first"
            hint = f"the order is {', '.join(layout.PHASES)}"
            yield make_error("workflow/phase-order", message, place, hint)
            return
        else:
            done.append(phase)

    current = value.get("current_phase")
    if current in layout.PHASES and isinstance(value.get("completed_phases"), list):
        is_complete = value.get("phase_status") == "complete"
        yield from _check_current_phase(str(current), len(done), is_complete=is_complete)


def _check_current_phase(current: str, done: int, *, is_complete: bool) -> Iterator[Finding]:
    """Yield a finding if the current phase does not follow the completed ones.

    done: how many are completed. is_complete: the current one is, by its status.
    """
    index = layout.PHASES.index(current)
    last = done - 1
    if index > done:
        missing = layout.PHASES[done]
        message = f"current_phase is {current}, but {missing} is not among the completed phases"
        hint = "phases cannot be skipped"
        yield make_error("workflow/phase-skipped", message, "/current_phase", hint)
    elif index < last or (index == last and not is_complete):
        message = f"current_phase is {current}, but {layout.PHASES[last]} is completed already"
        hint = "completed phases come before the current one"
        yield make_error("workflow/phase-behind", message, "/current_phase", hint)


def _check_time_order(value: dict[str, Any]) -> Iterator[Finding]:
    steps = [("/started_at", value.get("started_at"))]
    for where, row in list_objects(value, "completed_phases"):
        steps.append((f"{where}/completed_at", row.get("completed_at")))
    steps.append(("/last_updated", value.get("last_updated")))

    known = [(where, text) for where, text in steps if read_loose_instant(text) is not None]
    for (before, earlier), (where, later) in pairwise(known):
        if _is_before(later, earlier):
            message = f"{_name(where)} is before {_name(before)}"
            yield make_error("workflow/time-order", message, where, _INSTANT_HINT)


def _is_before(text: Any, other: Any) -> bool:
    """Return whether a time is surely before another.

    What a time without an offset means is not known to the hour.
    """
    first = read_loose_instant(text)
    second = read_loose_instant(other)
    if not first or not second:
        return False
    margin = 0 if read_instant(text) and read_instant(other) else UNKNOWN_ZONE
    return (first[0] + margin, first[1]) < second


def _name(where: str) -> str:
    return where[1:].replace("/", ".")


def _check_tasks(value: dict[str, Any]) -> Iterator[Finding]:
    for where, name, first in find_doubles(value, "tasks"):
        message = f"two tasks have the id {quote(name)}; the first is {_name(first)}"
        hint = "give one of them another id"
        yield make_error("workflow/task-id-twice", message, where, hint)
    for where, task in list_objects(value, "tasks"):
        yield from _check_task(where, task)


def _check_task(where: str, task: Mapping[str, Any]) -> Iterator[Finding]:
    status = task.get("status")
    read = read_status(status)
    if read and read not in (*layout.TASK_STATUSES, *UNFINISHED):
        known = ", ".join(layout.TASK_STATUSES)
        message = f"status is {quote(status)}, which is none of {known}"
        message += "; it is kept, and waits on you"
        yield make_warning("workflow/unknown-task-status", message, f"{where}/status")

    is_reversed = _is_before(task.get("completed_at"), task.get("started_at"))
    if status == "complete" and is_reversed:
        message = "completed_at is before started_at"
        yield make_error("workflow/time-order", message, f"{where}/completed_at", _INSTANT_HINT)

    attempts = task.get("attempts")
    most = task.get("max_attempts", layout.MAX_ATTEMPTS)
    are_counts = type(attempts) is int and type(most) is int
    if are_counts and attempts >= most and status in ("pending", "running"):
        message = f"{attempts} of {most} attempts failed, but the status is {status}"
        retry = ("checkpoint", "workflow", "task", "retry", Blank("the task", "ID"))
        hint = command(*retry, more=" gives it new ones")
        yield make_warning("workflow/attempts-used-up", message, f"{where}/attempts", hint)


class NamedOutput(NamedTuple):
    """An output that one of the two files names."""

    file: str  # layout.PHASE or layout.EXECUTION
    where: str  # a JSON Pointer
    what: str  # what it is called
    path: str
    redo: Argv  # the command that does it again
    digest: Any  # as the file has it


def list_outputs(phase: dict[str, Any], execution: dict[str, Any]) -> list[NamedOutput]:
    """Return every output that should be there by the two files."""
    # the tasks, as the result of IMPLEMENTATION, are checked as what they are
    tasks_path = layout.relative_state_path(layout.EXECUTION)
    found = []
    for where, row in list_objects(phase, "completed_phases"):
        path = row.get("output")
        name = str(row.get("phase"))
        if isinstance(path, str) and normpath(path) != tasks_path:
            what = f"the output {quote(path)} of {name}"
            redo: Argv = ("checkpoint", "workflow", "back", name)
            place = f"{where}/output"
            found.append(NamedOutput(layout.PHASE, place, what, path, redo, row.get("digest")))

    for where, row in list_objects(execution, "tasks"):
        path = row.get("output")
        name = task_name(row)
        if isinstance(path, str) and read_status(row.get("status")) == "complete":
            what = f"the output {quote(path)} of task {name}"
            redo = ("checkpoint", "workflow", "task", "retry", name)
            place = f"{where}/output"
            found.append(NamedOutput(layout.EXECUTION, place, what, path, redo, row.get("digest")))

    return found


def check_output(
    output: OutputFile,
    what: str,
    where: str,
    hint: AnyHint,
    digest: Any = None,
) -> Finding | None:
    """Return what is wrong with an output. what: how it is called. digest: as it was recorded."""
    if output.state == "missing":
        return make_error("workflow/output-missing", f"{what} is not there", where, hint)
    if output.state == "outside":
        return make_error("workflow/output-outside", f"{what}: {output.why}", where, hint)
    if output.state == "failed":
        return make_error("workflow/output-invalid", f"{what} {output.why}", where, hint)
    if output.state == "unreadable":
        message = f"{what} cannot be read: {output.why}"
        return make_error("workflow/output-invalid", message, where, hint)

    if isinstance(digest, str) and digest != output.digest:
        message = f"{what} has changed since it was recorded"
        look = join_hints(advise("see what changed", "git", "diff"), command("git", "log"))
        return make_warning("workflow/output-changed", message, where, look)

    return None


# A merge brings each of the two files together by itself, as everything else that git does.
def check_together(
    phase: Mapping[str, Any] | None,
    execution: Mapping[str, Any] | None,
) -> list[Finding]:
    """Return how the two files contradict each other. None: a missing file.

    The place is in execution.json, if that is there.
    """
    if phase is None:
        message = "no phase.json beside it: the phase of these tasks is not known"
        return [make_error("workflow/phase-missing", message, "", _restore_hint(layout.PHASE))]

    if execution is None:
        return _check_missing_tasks(phase)

    execution = handwritten.complete(layout.EXECUTION, execution)
    found = []
    name = phase.get("workflow_id")
    other = execution.get("workflow_id")
    if isinstance(name, str) and isinstance(other, str) and name != other:
        message = f"it belongs to the workflow {quote(other)}, and phase.json to {quote(name)}"
        both = "restore both from one commit"
        found.append(make_error("workflow/two-workflows", message, "/workflow_id", both))

    behind = find_behind(phase, execution)
    if behind:
        found.append(make_error(BEHIND, explain_behind(behind), "/tasks", BEHIND_HINT))

    return found


def _check_missing_tasks(phase: Mapping[str, Any]) -> list[Finding]:
    """Return a finding if execution.json is missing and should be there."""
    current = phase.get("current_phase")
    is_begun = phase.get("phase_status") != "pending"
    is_in_tasks = current == layout.PHASES[2] and is_begun
    is_needed = current in layout.PHASES[3:] or is_in_tasks or "earlier_results" in phase
    if not is_needed:
        return []
    message = "no execution.json beside it: the tasks are not known"
    add = ("checkpoint", "workflow", "task", "add", Blank("the task", "ID"))
    hint = join_hints(_restore_hint(layout.EXECUTION), advise("if there were none", *add))
    return [make_error("workflow/execution-missing", message, "", hint)]


def _restore_hint(file: str) -> Hint:
    path = layout.relative_state_path(file)
    fresh = ("checkpoint", "workflow", "resume", "--fresh")
    return advise(f"bring {path} back, or start over", *fresh)


def check_age(phase: Mapping[str, Any], now: int, stale_days: int) -> list[Finding]:
    """Return a warning about a workflow that was started so many days ago, or earlier."""
    age = find_age(phase, now)
    if age < stale_days * DAY:
        return []
    message = f"the workflow was started {age_text(age)} ago: its state may be out of date"
    fresh = ("checkpoint", "workflow", "resume", "--fresh")
    hint = join_hints(command(*fresh, more=" archives it and starts over"), "--yes continues")
    return [make_warning("workflow/stale", message, "/started_at", hint)]


def find_age(phase: Mapping[str, Any], now: int) -> int:
    """Return how many seconds ago a workflow was started, 0 if that is unknown."""
    started = read_loose_instant(phase.get("started_at"))
    return 0 if started is None else max(now - started[0], 0)
