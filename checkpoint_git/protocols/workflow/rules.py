"""What a workflow's two files must mean beyond their shape, alone and together."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from posixpath import normpath
from typing import Any

from checkpoint_git.core.clock import DAY, MINUTE, age_text, read_instant, read_loose_instant, write_instant
from checkpoint_git.core.finding import Finding, make_error, make_warning
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.mismatch import explain_mismatch, find_doubles, list_objects, quote
from checkpoint_git.protocols.workflow import layout
from checkpoint_git.protocols.workflow.resume import explain_behind, find_behind
from checkpoint_git.protocols.workflow.tasks import UNFINISHED, UNKNOWN_ZONE, OutputFile, read_status, task_name

TOLERANCE = 5 * MINUTE  # how far a clock may be ahead
BEHIND = "workflow/tasks-behind"
STALE_AFTER = 7 * DAY
_INSTANT_HINT = "write it as 2026-03-31T14:00:00Z"
# by place, indices as *, whatever keyword failed
# place -> finding code
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
    place = re.sub(r"/[0-9]+(?=/|$)", "/*", mismatch.where)
    code = _KEYWORDS.get(mismatch.keyword, "workflow/shape")
    if mismatch.keyword in ("enum", "type", "minLength"):
        code = _PLACES.get(place, code)
    hint = "correct it there; or start fresh: `checkpoint workflow resume` offers to archive the state"
    return make_error(code, explain_mismatch(mismatch), mismatch.where, hint)


# Values may break the schema: every check looks before it reads, and leaves to the schema what the schema says.
def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """skill: "phase" or "execution", as the file's name says. now: seconds since 1970."""
    found = list(_check_instants(value, now)) if skill else []
    if skill == layout.PHASE:
        found += [*_check_phases(value), *_check_time_order(value)]
        if value.get("interruption_safe") is False:
            message = "interruption_safe is false: a write was interrupted, or is in progress"
            hint = "check the content; the next `checkpoint workflow` command that writes sets it"
            found.append(Finding("workflow/interrupted", "note", message, where="/interruption_safe", hint=hint))
    elif skill == layout.EXECUTION:
        found += _check_tasks(value)
    return found


_INSTANTS_IN_ROWS = {
    "completed_phases": ("completed_at",),
    "user_checkpoints": ("approved_at",),
    "tasks": ("started_at", "completed_at"),
}


def _check_instants(value: dict[str, Any], now: int) -> Iterator[Finding]:
    instants = [(f"/{name}", value.get(name)) for name in ("started_at", "last_updated")]
    for key, names in _INSTANTS_IN_ROWS.items():
        instants += [(f"{where}/{name}", row.get(name)) for where, row in list_objects(value, key) for name in names]
    for where, text in instants:
        if not isinstance(text, str) or not text:
            continue
        instant, name = read_loose_instant(text), where.rpartition("/")[2]
        if instant is None:
            yield make_error("workflow/timestamp", f"{name} is {quote(text)}: invalid timestamp", where, _INSTANT_HINT)
        elif instant[0] > now + (TOLERANCE if read_instant(text) else UNKNOWN_ZONE):
            message = f"{name} is {quote(text)}, and now is {write_instant(now)}: it is in the future"
            yield make_warning("workflow/in-future", message, where, "was a clock wrong?")


def _check_phases(value: dict[str, Any]) -> Iterator[Finding]:
    done: list[Any] = []
    for where, row in list_objects(value, "completed_phases"):
        phase, place = row.get("phase"), f"{where}/phase"
        if phase not in layout.PHASES:
            continue
        if phase in done:
            yield make_error("workflow/phase-twice", f"{phase} is completed twice", place, "remove one of the rows")
        elif phase != layout.PHASES[len(done)]:
            message = f"{phase} is completed where {layout.PHASES[len(done)]} comes first"
            yield make_error("workflow/phase-order", message, place, f"the order is {', '.join(layout.PHASES)}")
            return
        else:
            done.append(phase)
    current = value.get("current_phase")
    if current not in layout.PHASES or not isinstance(value.get("completed_phases"), list):
        return
    at, last = layout.PHASES.index(str(current)), len(done) - 1
    if at > len(done):
        message = f"current_phase is {current}, but {layout.PHASES[len(done)]} is not among the completed phases"
        yield make_error("workflow/phase-skipped", message, "/current_phase", "phases cannot be skipped")
    elif at < last or (at == last and value.get("phase_status") != "complete"):
        message = f"current_phase is {current}, but {layout.PHASES[last]} is completed already"
        hint = "completed phases come before the current one"
        yield make_error("workflow/phase-behind", message, "/current_phase", hint)


def _check_time_order(value: dict[str, Any]) -> Iterator[Finding]:
    steps = [("/started_at", value.get("started_at"))]
    rows = list_objects(value, "completed_phases")
    steps += [(f"{where}/completed_at", row.get("completed_at")) for where, row in rows]
    steps.append(("/last_updated", value.get("last_updated")))
    known = [(where, text) for where, text in steps if read_loose_instant(text) is not None]
    for (before, earlier), (where, later) in pairwise(known):
        if _is_before(later, earlier):
            yield make_error("workflow/time-order", f"{_name(where)} is before {_name(before)}", where, _INSTANT_HINT)


def _is_before(text: Any, other: Any) -> bool:
    """Surely: of times without an offset nobody knows what they mean to the hour."""
    margin = 0 if read_instant(text) and read_instant(other) else UNKNOWN_ZONE
    first, second = read_loose_instant(text), read_loose_instant(other)
    return bool(first and second and (first[0] + margin, first[1]) < second)


def _name(where: str) -> str:
    return where[1:].replace("/", ".")


def _check_tasks(value: dict[str, Any]) -> Iterator[Finding]:
    for where, name, first in find_doubles(value, "tasks"):
        message = f"two tasks have the id {quote(name)}; the first is {_name(first)}"
        yield make_error("workflow/task-id-twice", message, where, "give one of them another id")
    for where, task in list_objects(value, "tasks"):
        status = task.get("status")
        if (said := read_status(status)) and said not in (*layout.TASK_STATUSES, *UNFINISHED):
            message = f"status is {quote(status)}, which is none of {', '.join(layout.TASK_STATUSES)}"
            message += "; it is kept, and waits on you"
            yield make_warning("workflow/unknown-task-status", message, f"{where}/status")
        if status == "complete" and _is_before(task.get("completed_at"), task.get("started_at")):
            message = "completed_at is before started_at"
            yield make_error("workflow/time-order", message, f"{where}/completed_at", _INSTANT_HINT)
        attempts, most = task.get("attempts"), task.get("max_attempts", layout.MAX_ATTEMPTS)
        if type(attempts) is int and type(most) is int and attempts >= most and status in ("pending", "running"):
            message = f"{attempts} of {most} attempts failed, but the status is {status}"
            hint = "`checkpoint workflow task retry ID` gives it new ones"
            yield make_warning("workflow/attempts-used-up", message, f"{where}/attempts", hint)


def list_outputs(phase: dict[str, Any], execution: dict[str, Any]) -> list[tuple[str, str, str, str, str, Any]]:
    """Of every output that the two documents say is there: (file, JSON Pointer, what it is called, path, the verb that
    does it again, digest).
    """
    rows = [(layout.PHASE, *one, str(one[1].get("phase")), "back ") for one in list_objects(phase, "completed_phases")]
    tasks = [one for one in list_objects(execution, "tasks") if read_status(one[1].get("status")) == "complete"]
    rows += [(layout.EXECUTION, *one, task_name(one[1]), "task retry ") for one in tasks]
    own = layout.relative_state_path(layout.EXECUTION)  # of IMPLEMENTATION, checked as what it is
    found = []
    for file, where, row, name, verb in rows:
        path = row.get("output")
        if isinstance(path, str) and (file, normpath(path)) != (layout.PHASE, own):
            what = f"the output {quote(path)} of {'' if file == layout.PHASE else 'task '}{name}"
            found.append((file, f"{where}/output", what, path, verb + quote_word(name), row.get("digest")))
    return found


def check_output(output: OutputFile, what: str, where: str, hint: str, digest: Any = None) -> Finding | None:
    if output.state == "missing":
        return make_error("workflow/output-missing", f"{what} is not there", where, hint)
    if output.state == "outside":
        return make_error("workflow/output-outside", f"{what}: {output.why}", where, hint)
    if output.state in ("failed", "unreadable"):
        why = output.why if output.state == "failed" else f"cannot be read: {output.why}"
        return make_error("workflow/output-invalid", f"{what} {why}", where, hint)
    if isinstance(digest, str) and digest != output.digest:
        message, hint = f"{what} has changed since it was recorded", "see what changed: git diff, git log"
        return make_warning("workflow/output-changed", message, where, hint)
    return None


# A merge brings each of the two files together by itself, and so does everything else that git does.
def check_together(phase: Mapping[str, Any] | None, execution: Mapping[str, Any] | None) -> list[Finding]:
    """What the two files say against each other, placed in execution.json where it is there. None: a missing file."""
    if phase is None:
        message = "no phase.json beside it: the phase of these tasks is not known"
        return [make_error("workflow/phase-missing", message, "", _restore_hint(layout.PHASE))]
    if execution is None:
        at, is_begun = phase.get("current_phase"), phase.get("phase_status") != "pending"
        is_needed = at in layout.PHASES[3:] or (at == layout.PHASES[2] and is_begun) or "earlier_results" in phase
        message = "no execution.json beside it: the tasks are not known"
        hint = f"{_restore_hint(layout.EXECUTION)}; where there were none: checkpoint workflow task add ID"
        return [make_error("workflow/execution-missing", message, "", hint)] if is_needed else []
    found, own, other = [], phase.get("workflow_id"), execution.get("workflow_id")
    if isinstance(own, str) and isinstance(other, str) and own != other:
        message = f"it belongs to the workflow {quote(other)}, and phase.json to {quote(own)}"
        found.append(make_error("workflow/two-workflows", message, "/workflow_id", "restore both from one commit"))
    behind = find_behind(phase, execution)
    if behind:
        found.append(make_error(BEHIND, explain_behind(behind), "/tasks", "checkpoint workflow back IMPLEMENTATION"))
    return found


def _restore_hint(file: str) -> str:
    return f"bring {layout.relative_state_path(file)} back, or start over: checkpoint workflow resume --fresh"


def check_age(phase: Mapping[str, Any], now: int) -> list[Finding]:
    age = find_age(phase, now)
    if age < STALE_AFTER:
        return []
    message = f"the workflow was started {age_text(age)} ago: its state may be out of date"
    hint = "`checkpoint workflow resume --fresh` archives it and starts over; --yes continues"
    return [make_warning("workflow/stale", message, "/started_at", hint)]


def find_age(phase: Mapping[str, Any], now: int) -> int:
    started = read_loose_instant(phase.get("started_at"))
    return 0 if started is None else max(now - started[0], 0)
