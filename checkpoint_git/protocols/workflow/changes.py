"""Everything that changes a workflow: read under the lock, change, check, write. It prints nothing and asks nobody."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.terminal_text import quote_path
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.process import read_session_process
from checkpoint_git.protocols.document import Document, read_objects
from checkpoint_git.protocols.workflow import layout, resume, rules, store, tasks
from checkpoint_git.protocols.workflow.layout import LAST, PHASES, next_phase
from checkpoint_git.protocols.workflow.state import (
    State,
    find_earlier,
    find_output,
    find_recovery,
    find_results,
    list_results,
    load_state,
    missing_workflow,
)
from checkpoint_git.protocols.workflow.tasks import OutputFile, Step, judge_result
from checkpoint_git.protocols.write import Tell, hold_place, plan_value

_PHASE = "/current_phase"
Value = dict[str, Any]
# phase.json's and execution.json's token values, changed in place, and the instant to write
Change = Callable[[Value, Value, int], "Finding | None"]


class Changed(NamedTuple):
    """The result of a change. refused: why nothing was written, empty where it was. saved: the files, relative.
    following: the phase after an advance, "" after the last one. archive: where an old state was moved to, None where
    there was none. steps: of a recovery.
    """

    state: State
    refused: list[Finding]
    saved: Sequence[str] = ()
    following: str = ""
    archive: str | None = None
    steps: Sequence[Step] = ()


# interruption_safe is false while the two files change, each at once: a kill in between leaves a state that can be
# resumed, and that says so.
class Writer(NamedTuple):
    """Changes a workflow. now: since 1970. on_wait: called once while another writes. session: "" if unknown."""

    place: Place
    now: int
    on_wait: Tell = lambda: None
    session: str = ""

    def start(self, name: str, *, unasked: bool = False) -> Changed | None:
        """The new workflow; what was there before is archived. name: "" for that of the archived workflow; where that
        cannot be read, nothing is begun or saved. unasked: None, and nothing done, where a workflow is unfinished, such
        as one that another process began a moment ago.
        """
        with self._hold() as before:
            if unasked and before.is_unfinished:
                return None
            name = name or before.workflow_id
            archive = self._archive(before)
            fresh = State(self.place, None, None)
            if not name:
                return Changed(fresh, [], archive=archive)
            instant = write_instant(self.now)
            phase = {
                "workflow_id": name,
                "started_at": instant,
                "last_updated": instant,
                "current_phase": PHASES[0],
                "phase_status": "in_progress",
                "completed_phases": [],
                "user_checkpoints": [],
                "interruption_safe": False,
                "earlier_results": {each.path: each.digest for each in list_results(self.place, PHASES)},
            }
            return _write(fresh, phase, _new_execution(name, self.now), self.now)._replace(archive=archive)

    def approve(self, phase: str, output: str | None = None) -> Changed:
        def change(value: Value, execution: Value, now: int) -> Finding | None:
            current = str(value.get("current_phase"))
            if PHASES.index(phase) > PHASES.index(current):
                return _not_begun(phase, current)
            results = find_results(self.place, value, execution["tasks"], phase)
            if output is not None:  # one that does not count by itself
                found, trouble = _find_result(self.place, value, execution, phase, output)
                if trouble is not None:
                    return trouble
                results = {found.path: found.digest}
            is_done = any(row.get("phase") == phase for row in read_objects(value, "completed_phases"))
            if not results and not is_done:
                message = f"nothing of {phase} to approve yet"
                return make_error("workflow/output-missing", message, _PHASE, "see checkpoint workflow resume")
            if not resume.is_approved(phase, value, results):
                _note_approval(value, phase, results, now)
            return None

        return self._change(change)

    def save(self, note: str) -> Changed:
        def change(value: Value, execution: Value, now: int) -> None:
            if value.get("phase_status") in ("pending", "failed"):
                value["phase_status"] = "in_progress"
            value["saved"] = {"at": write_instant(now), **({"note": note} if note else {})}

        return self._change(change)

    def fail(self, error: str) -> Changed:
        def change(value: Value, execution: Value, now: int) -> None:
            value["phase_status"] = "failed"
            value["failure"] = {"at": write_instant(now), **({"error": error} if error else {})}

        return self._change(change)

    def step_back(self, phase: str, note: str) -> Changed:
        """To a phase that is over, or to the beginning of the current one ("" too): what is there of it and of those
        after it is not their result any more, and no longer approved. Nothing is deleted.
        """

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            current = str(value["current_phase"])
            target = phase or current
            undone = PHASES[PHASES.index(target) :]
            if current not in undone:
                return _not_begun(target, current)
            results = list_results(self.place, undone)
            if not phase and not find_results(self.place, value, execution["tasks"], target):
                message = f"nothing of {target} to reject"
                return make_error("workflow/output-missing", message, _PHASE, "see checkpoint workflow resume")
            rows = [row for row in read_objects(value, "completed_phases") if row.get("phase") in undone]
            noted = {"at": write_instant(now), "from": current, "to": target, "completed": rows}
            value.setdefault("went_back", []).append({**noted, **({"note": note} if note else {})})
            value["earlier_results"] = {**value["earlier_results"], **{each.path: each.digest for each in results}}
            for key in ("completed_phases", "user_checkpoints"):
                value[key] = [row for row in read_objects(value, key) if row.get("phase") not in undone]
            value.update(current_phase=target, phase_status="in_progress")
            return None

        return self._change(change)

    def advance(
        self, approvals: tuple[str, ...], output: str | None = None, *, approved: bool = False, force: bool = False
    ) -> Changed:
        """Completes the current phase. approved: the user says so now. force: the phase's result need not be there."""
        following = ""

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            nonlocal following
            phase, behind = str(value["current_phase"]), resume.find_behind(value, execution)
            if resume.is_finished(value) and not behind:
                return None
            is_done = any(row.get("phase") == phase for row in read_objects(value, "completed_phases"))
            result, trouble = _find_result(self.place, value, execution, phase, output, is_done=is_done)
            if behind:
                trouble = make_error(rules.BEHIND, resume.explain_behind(behind), "/tasks", _FORCE)
            if trouble is not None and not force:
                return trouble
            results = {result.path: result.digest} if result.digest else {}
            if phase == PHASES[2]:
                results = find_results(self.place, value, execution["tasks"], phase)
            if phase in approvals and not resume.is_approved(phase, value, results):
                if not approved:
                    named = f" --output {quote_path(output)}" if output is not None else ""
                    hint = f"ask the user, then: checkpoint workflow approve {phase}{named} (or advance --yes{named})"
                    return make_error("workflow/not-approved", f"{phase} waits for approval", _PHASE, hint)
                _note_approval(value, phase, results, now)
            following = next_phase(phase)
            if not is_done:
                row: Value = {"phase": phase, "completed_at": write_instant(now)}
                row |= {key: text for key, text in (("output", result.path), ("digest", result.digest)) if text}
                value["completed_phases"].append(row)
            if force:
                _leave_open(value, execution, now)
            value["current_phase"] = following or LAST
            value["phase_status"] = "pending" if following else "complete"
            return None

        with self._hold() as before:
            changed = _apply(before, self.now, change)._replace(following=following)
            is_last = not changed.refused and not following
            return changed._replace(archive=self._archive(changed.state)) if is_last else changed

    def archive(self) -> Changed:
        """Open tasks of a finished workflow are noted as left: else they look as if a merge put them there."""
        with self._hold() as before:
            is_known = resume.is_finished(before.value) and not _find_errors(before)
            state = _apply(before, self.now, _leave_open).state if is_known else before
            return Changed(state, [], archive=self._archive(state))

    def change_task(self, verb: str, names: list[str], output: str | None = None, error: str = "") -> Changed:
        """Changes one task, or adds several. verb: add, or one of tasks.CHANGES. What is done has its output."""
        for name in names:
            layout.check_id(name, "task-001")

        def change(phase: Value, execution: Value, now: int) -> Finding | None:
            if verb == "add":
                return tasks.add_tasks(execution, names)
            name, runner = names[0], (self.session, read_session_process(self.session))
            if phase.get("phase_status") == "pending":
                phase["phase_status"] = "in_progress"
            found = None
            if verb in ("start", "done"):
                named = output if output is not None else (tasks.find_task(execution, name) or {}).get("output")
                found = store.read_output(self.place, named) if isinstance(named, str) else None
                trouble = _find_output_trouble(found, "/tasks")
                if trouble is not None and (verb == "done" or trouble.code == "workflow/output-outside"):
                    return trouble  # what is started need not be there yet
            return tasks.change_task(execution, verb, name, found, error=error, runner=runner, now=now)

        return self._change(change, adds_tasks=verb == "add")

    def recover(self, session: str | None = None) -> Changed:
        """session: who goes on: what it runs, and other sessions that still run, is left alone; None for nothing."""
        with self._hold() as before:
            steps = find_recovery(before, self.now, session)
            if not steps:
                return Changed(before, _find_errors(before))
            changed = _apply(before, self.now, lambda phase, execution, now: tasks.apply_recovery(execution, steps))
            return changed._replace(steps=steps)

    @contextmanager
    def _hold(self) -> Iterator[State]:
        atomic.make_folder(self.place.directory)
        with hold_place(self.place, [self.place.directory], self.on_wait):
            yield load_state(self.place, self.now)

    def _change(self, change: Change, *, adds_tasks: bool = False) -> Changed:
        with self._hold() as before:
            return _apply(before, self.now, change, adds_tasks=adds_tasks)

    def _archive(self, state: State) -> str | None:
        apart = all(document.is_valid for document in state.documents)  # else it is kept as evidence
        return store.archive_state(self.place, state.workflow_id, write_instant(self.now), apart=apart)


def _find_errors(state: State, *, adds_tasks: bool = False) -> list[Finding]:
    errors = [finding for document in state.documents for finding in document.findings if finding.level == "error"]
    if state.phase is not None and state.execution is None and not errors and not adds_tasks:
        errors = [each._replace(path=state.phase.path) for each in rules.check_together(state.value, None)]
    return errors


def _apply(state: State, now: int, change: Change, *, adds_tasks: bool = False) -> Changed:
    if state.phase is None:
        raise missing_workflow(state)
    errors = _find_errors(state, adds_tasks=adds_tasks)
    if errors:
        return Changed(state, errors)
    # A clock that was set back must not undo the order of things: now is never before what was written last.
    stamps = [read_instant(state.value.get(key)) for key in ("started_at", "last_updated")]
    now = max([now, *(stamp[0] + bool(stamp[1]) for stamp in stamps if stamp is not None)])
    phase = _token_value(state.phase)
    execution = _token_value(state.execution) or _new_execution(str(phase.get("workflow_id")), now)
    phase.setdefault("earlier_results", find_earlier(state.place, phase))
    refused = change(phase, execution, now)
    if refused is not None:
        document = state.execution if refused.where.startswith("/tasks") and state.execution else state.phase
        return Changed(state, [refused._replace(path=document.path)])
    return _write(state, phase, execution, now)


def _token_value(document: Document | None) -> Value:
    # A value to change: numbers are bytes, so that whatever is not touched stays what it was
    return {} if document is None or document.text is None else deepcopy(jsontext.parse(document.text).value)


def _new_execution(workflow_id: str, now: int) -> Value:
    return {"workflow_id": workflow_id, "last_updated": write_instant(now), "tasks": []}


def _write(state: State, phase: Value, execution: Value, now: int) -> Changed:
    # interruption_safe goes to false first and to true last; in between execution.json changes, where it has to
    before = _token_value(state.phase) or dict(phase)
    values = {layout.PHASE: phase}
    if execution != _token_value(state.execution):
        values[layout.EXECUTION] = execution
    for value in values.values():
        stamp = read_instant(value.get("last_updated"))
        if stamp is None or stamp <= (now, ""):  # never back
            value["last_updated"] = write_instant(now)
    phase["interruption_safe"] = True

    def plan(file: str, value: Value) -> Document:
        path = relative_path(layout.state_path(state.place, file), state.place.top)
        return plan_value(path, state.phase if file == layout.PHASE else state.execution, value, now).document

    planned = {file: plan(file, value) for file, value in values.items()}
    refused = [finding for document in planned.values() for finding in document.findings if finding.level == "error"]
    if refused:
        return Changed(state, refused)
    unsafe = plan(layout.PHASE, {**before, "interruption_safe": False})
    for file, document in ((layout.PHASE, unsafe), *reversed(planned.items())):
        store.write_state(state.place, file, (document.text or "").encode())
    written = State(state.place, planned[layout.PHASE], planned.get(layout.EXECUTION, state.execution))
    return Changed(written, [], [layout.relative_state_path(file) for file in planned])


def _note_approval(value: Value, phase: str, results: Mapping[str, str], now: int) -> None:
    rows = [row for row in value["user_checkpoints"] if not isinstance(row, dict) or row.get("phase") != phase]
    value["user_checkpoints"] = [*rows, {"phase": phase, "approved_at": write_instant(now), "results": dict(results)}]


def _leave_open(value: Value, execution: Value, now: int) -> None:
    left = [tasks.task_name(row) for row in read_objects(execution, "tasks") if tasks.is_open(row)]
    for row in read_objects(value, "completed_phases") if left else ():
        if row.get("phase") == PHASES[2]:
            row["left_open"] = left


def _not_begun(phase: str, current: str) -> Finding:
    message = f"{phase} was not begun: the workflow is in {current}"
    return make_error("workflow/not-begun", message, _PHASE, f"only {current}, or a phase before it")


_FORCE = "to continue without it: checkpoint workflow advance --force"


def _find_result(
    place: Place, value: Value, execution: Value, phase: str, wished: str | None, *, is_done: bool = False
) -> tuple[OutputFile, Finding | None]:
    if wished is not None and phase == PHASES[2]:
        raise CheckpointError(f"the result of {phase} is its tasks", "leave --output out")
    if wished is not None:
        found = judge_result(store.read_output(place, wished))
        return found, _find_output_trouble(found, _PHASE)
    if phase == PHASES[2]:
        rows = read_objects(execution, "tasks")
        left = sum(tasks.read_status(row.get("status")) != "complete" for row in rows)
        why = f"{left} of {len(execution['tasks'])} tasks are not complete" if left else ""
        if not rows and not is_done:
            why = "no tasks are recorded, so none is complete"
        elif not left and not is_done and resume.is_sent_back(value, rows):
            why = resume.NOT_REDONE
        trouble = make_error("workflow/tasks-open", why, "/tasks", _FORCE) if why else None
        return OutputFile(layout.relative_state_path(layout.EXECUTION), "good"), trouble
    found = find_output(place, value, phase)
    if found.state == "good":
        return found, None
    why = f"{found.path} {found.why}" if found.state == "failed" else resume.explain_missing(phase, found)
    return OutputFile(), make_error("workflow/output-missing", f"{phase}: {why}", _PHASE, _FORCE)


def _find_output_trouble(output: OutputFile | None, where: str) -> Finding | None:
    hint = "write it first, or name another file of the project with --output"
    return output and rules.check_output(output, f"the output {output.path}", where, hint)
