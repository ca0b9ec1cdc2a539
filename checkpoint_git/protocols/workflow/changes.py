"""Change a workflow: read it under the lock, change it, check it, write it.

It never prints or prompts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.process import read_session_process
from checkpoint_git.protocols.document import Document, read_objects
from checkpoint_git.protocols.workflow import handwritten, layout, progress, rules, store, tasks
from checkpoint_git.protocols.workflow.layout import LAST, PHASES, next_phase
from checkpoint_git.protocols.workflow.plan import find_recovery
from checkpoint_git.protocols.workflow.results import (
    find_earlier,
    find_output,
    find_results,
    list_results,
)
from checkpoint_git.protocols.workflow.state import State, load_state, missing_workflow
from checkpoint_git.protocols.workflow.tasks import OutputFile, TaskStep, judge_result
from checkpoint_git.protocols.workflow.transitions import MOVES, move
from checkpoint_git.protocols.write import Tell, hold_place, plan_value

_PHASE = "/current_phase"
_IMPLEMENTATION = PHASES[2]
_SEE_RESUME = command("checkpoint", "workflow", "resume", more=" shows what is next")
_FORCE = advise("to continue without it", "checkpoint", "workflow", "advance", "--force")
Value = dict[str, Any]
# phase.json's and execution.json's token values, changed in place, and the instant to write
Change = Callable[[Value, Value, int], "Finding | None"]


class ChangedWorkflow(NamedTuple):
    """The result of a change."""

    state: State
    refused: list[Finding]  # why nothing was written, empty if it was
    saved: Sequence[str] = ()  # the files, relative
    following: str = ""  # the phase after an advance, "" after the last one
    archive: str | None = None  # where an old state was moved to, None if there was none
    steps: Sequence[TaskStep] = ()  # of a recovery


# interruption_safe is false while the two files change, each at once: a kill in between leaves a
# state that can be resumed, and that says so.
class WorkflowWriter(NamedTuple):
    """The way to change a workflow: one method for each verb that writes."""

    place: Place
    now: int  # seconds since 1970
    on_wait: Tell = lambda: None  # called once while another process writes
    session: str = ""  # "" if unknown

    def start(self, name: str, *, unasked: bool = False) -> ChangedWorkflow | None:
        """Begin a workflow, and archive what was there before.

        name: "" for that of the archived workflow; if that cannot be read, nothing is begun or
        saved. unasked: if a workflow is unfinished, such as one that another process began a
        moment ago, do nothing and return None.
        """
        with self._hold() as before:
            if unasked and before.is_unfinished:
                return None
            name = name or before.workflow_id
            archive = self._archive(before)
            fresh = State(self.place, None, None)
            if not name:
                return ChangedWorkflow(fresh, [], archive=archive)

            instant = write_instant(self.now)
            earlier = {output.path: output.digest for output in list_results(self.place, PHASES)}
            phase = {
                "workflow_id": name,
                "started_at": instant,
                "last_updated": instant,
                "current_phase": MOVES["start"].where,
                "phase_status": MOVES["start"].after,
                "completed_phases": [],
                "user_checkpoints": [],
                "interruption_safe": False,
                "earlier_results": earlier,
            }
            changed = _write(fresh, phase, _new_execution(name, self.now), self.now)
            return changed._replace(archive=archive)

    def approve(self, phase: str, output: str | None = None) -> ChangedWorkflow:
        """Record that the user approved a phase. output: its result, if not the usual one."""

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            current = str(value.get("current_phase"))
            if PHASES.index(phase) > PHASES.index(current):
                return _not_begun(phase, current)

            results = find_results(self.place, value, execution["tasks"], phase)
            if output is not None:
                result, trouble = _find_result(self.place, value, execution, phase, output)
                if trouble is not None:
                    return trouble
                results = {result.path: result.digest}

            if not results and not _is_done(value, phase):
                message = f"nothing of {phase} to approve yet"
                return make_error("workflow/output-missing", message, _PHASE, _SEE_RESUME)

            if not progress.is_approved(phase, value, results):
                _note_approval(value, phase, results, now)
            return None

        return self._change(change)

    def save(self, note: str) -> ChangedWorkflow:
        """Save before an expensive step; a pending or failed phase is in progress then."""

        def change(value: Value, execution: Value, now: int) -> None:
            move(value, "save")
            value["saved"] = _with_note({"at": write_instant(now)}, "note", note)

        return self._change(change)

    def fail(self, error: str) -> ChangedWorkflow:
        """Record that the current phase failed."""

        def change(value: Value, execution: Value, now: int) -> None:
            move(value, "fail")
            value["failure"] = _with_note({"at": write_instant(now)}, "error", error)

        return self._change(change)

    def step_back(self, phase: str, note: str) -> ChangedWorkflow:
        """Return to a phase that is over, or to the beginning of the current one ("" too).

        Its results and those of later phases do not count any more, and are no longer approved.
        Nothing is deleted.
        """

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            current = str(value["current_phase"])
            target = phase or current
            undone = PHASES[PHASES.index(target) :]
            if current not in undone:
                return _not_begun(target, current)
            if not phase and not find_results(self.place, value, execution["tasks"], target):
                message = f"nothing of {target} to reject"
                return make_error("workflow/output-missing", message, _PHASE, _SEE_RESUME)

            completed = read_objects(value, "completed_phases")
            noted: Value = {
                "at": write_instant(now),
                "from": current,
                "to": target,
                "completed": [row for row in completed if row.get("phase") in undone],
            }
            value.setdefault("went_back", []).append(_with_note(noted, "note", note))
            results = list_results(self.place, undone)
            rejected = {output.path: output.digest for output in results}
            value["earlier_results"] = {**value["earlier_results"], **rejected}

            for key in ("completed_phases", "user_checkpoints"):
                rows = read_objects(value, key)
                value[key] = [row for row in rows if row.get("phase") not in undone]

            move(value, "back" if phase else "reject", target)
            return None

        return self._change(change)

    def advance(
        self,
        approvals: tuple[str, ...],
        output: str | None = None,
        *,
        approved: bool = False,
        force: bool = False,
    ) -> ChangedWorkflow:
        """Complete the current phase. approvals: the phases that need one.

        approved: the user approves it now. force: the phase's result may be missing.
        """
        following = ""

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            nonlocal following
            behind = progress.find_behind(value, execution)
            if progress.is_finished(value) and not behind:
                return None

            phase = str(value["current_phase"])
            result, trouble = _find_result(self.place, value, execution, phase, output)
            if behind:
                message = progress.explain_behind(behind)
                hint = join_hints(progress.BEHIND_HINT, _FORCE)
                trouble = make_error(rules.BEHIND, message, "/tasks", hint)

            if trouble is not None and not force:
                return trouble

            if phase in approvals:
                results = _find_approvable(self.place, value, execution, result)
                if not progress.is_approved(phase, value, results):
                    if not approved:
                        return _not_approved(phase, output)
                    _note_approval(value, phase, results, now)

            following = _complete_phase(value, result, now)
            if force:
                _leave_open(value, execution)
            return None

        with self._hold() as before:
            changed = _apply(before, self.now, change)._replace(following=following)
            if changed.refused or following:
                return changed
            return changed._replace(archive=self._archive(changed.state))

    def archive(self) -> ChangedWorkflow:
        """Archive the state. Open tasks of a finished workflow are noted as left open.

        Otherwise they look as if a merge put them there.
        """
        with self._hold() as before:
            state = before
            if progress.is_finished(before.value) and not _find_errors(before):

                def change(value: Value, execution: Value, now: int) -> None:
                    _leave_open(value, execution)

                state = _apply(before, self.now, change).state
            return ChangedWorkflow(state, [], archive=self._archive(state))

    def change_task(
        self,
        verb: str,
        names: list[str],
        output: str | None = None,
        error: str = "",
    ) -> ChangedWorkflow:
        """Change a task, or add several. verb: "add", or one of tasks.CHANGES.

        A task that is done has its output.
        """
        for name in names:
            layout.check_id(name, "task-001")

        def change(phase: Value, execution: Value, now: int) -> Finding | None:
            if verb == "add":
                return tasks.add_tasks(execution, names)
            name = names[0]
            move(phase, "task")
            found = None
            if verb in ("start", "done"):
                found, trouble = self._find_task_output(execution, name, output)
                # what is started need not be there yet
                is_outside = trouble is not None and trouble.code == "workflow/output-outside"
                if trouble is not None and (verb == "done" or is_outside):
                    return trouble

            runner = (self.session, read_session_process(self.session))
            return tasks.change_task(
                execution,
                verb,
                name,
                found,
                error=error,
                runner=runner,
                now=now,
            )

        return self._change(change, adds_tasks=verb == "add")

    def _find_task_output(
        self,
        execution: Value,
        name: str,
        output: str | None,
    ) -> tuple[OutputFile | None, Finding | None]:
        """Return the output of a task, and what is wrong with it. output: as the user names it."""
        path: Any = output
        if path is None:
            path = (tasks.find_task(execution, name) or {}).get("output")
        if not isinstance(path, str):
            return None, None
        found = store.read_output(self.place, path)
        return found, _find_output_trouble(found, "/tasks")

    def recover(self, session: str | None = None) -> ChangedWorkflow:
        """Settle the tasks whose session is gone.

        session: who continues; what it runs, and what other sessions still run, stays as it is.
        None: all running tasks are settled.
        """
        with self._hold() as before:
            steps = find_recovery(before, self.now, session)
            if not steps:
                return ChangedWorkflow(before, _find_errors(before))

            def change(value: Value, execution: Value, now: int) -> None:
                tasks.apply_recovery(execution, steps)

            return _apply(before, self.now, change)._replace(steps=steps)

    @contextmanager
    def _hold(self) -> Iterator[State]:
        atomic.make_folder(self.place.directory)
        with hold_place(self.place, [self.place.directory], self.on_wait):
            yield load_state(self.place, self.now)

    def _change(self, change: Change, *, adds_tasks: bool = False) -> ChangedWorkflow:
        with self._hold() as before:
            return _apply(before, self.now, change, adds_tasks=adds_tasks)

    def _archive(self, state: State) -> str | None:
        is_valid = all(document.is_valid for document in state.documents)  # else it is evidence
        instant = write_instant(self.now)
        return store.archive_state(self.place, state.workflow_id, instant, apart=is_valid)


def _with_note(value: Value, key: str, text: str) -> Value:
    """Return a value with a text that the user gave, if any."""
    if not text:
        return value
    return {**value, key: text}


def _is_done(value: Value, phase: str) -> bool:
    return progress.find_row(value, "completed_phases", phase) is not None


def _find_approvable(
    place: Place,
    value: Value,
    execution: Value,
    result: OutputFile,
) -> dict[str, str]:
    """Return what an approval of the current phase is about, path -> digest."""
    phase = str(value["current_phase"])
    if phase == _IMPLEMENTATION:
        return find_results(place, value, execution["tasks"], phase)
    if not result.digest:
        return {}
    return {result.path: result.digest}


def _complete_phase(value: Value, result: OutputFile, now: int) -> str:
    """Complete the current phase, and return the one that follows; "" after the last."""
    phase = str(value["current_phase"])
    if not _is_done(value, phase):
        row: Value = {"phase": phase, "completed_at": write_instant(now)}
        row = _with_note(row, "output", result.path)
        row = _with_note(row, "digest", result.digest)
        value["completed_phases"].append(row)

    following = next_phase(phase)
    if following:
        move(value, "advance", following)
    else:
        move(value, "advance, after the last phase", LAST)

    return following


def _find_errors(state: State, *, adds_tasks: bool = False) -> list[Finding]:
    """Return why a state cannot be changed. adds_tasks: the change may make execution.json."""
    errors = []
    for document in state.documents:
        errors += [finding for finding in document.findings if finding.level == "error"]
    if errors or adds_tasks or state.phase is None or state.execution is not None:
        return errors
    found = rules.check_together(state.value, None)
    return [finding._replace(path=state.phase.path) for finding in found]


def _apply(state: State, now: int, change: Change, *, adds_tasks: bool = False) -> ChangedWorkflow:
    """Change a state, and write it. Raises CheckpointError if there is no workflow."""
    if state.phase is None:
        raise missing_workflow(state)
    errors = _find_errors(state, adds_tasks=adds_tasks)
    if errors:
        return ChangedWorkflow(state, errors)

    now = _find_now(state, now)
    phase = handwritten.complete(layout.PHASE, _token_value(state.phase))
    execution = handwritten.complete(layout.EXECUTION, _token_value(state.execution))
    workflow_id = str(phase.get("workflow_id"))
    if not execution:
        execution = _new_execution(workflow_id, now)
    execution.setdefault("workflow_id", workflow_id)
    phase.setdefault("earlier_results", find_earlier(state.place, phase))
    refused = change(phase, execution, now)
    if refused is None:
        return _write(state, phase, execution, now)

    document = state.phase
    if refused.where.startswith("/tasks") and state.execution is not None:
        document = state.execution
    return ChangedWorkflow(state, [refused._replace(path=document.path)])


def _find_now(state: State, now: int) -> int:
    """Return the time to write: never before what was written last.

    A clock that was set back must not undo the order of things.
    """
    for key in ("started_at", "last_updated"):
        stamp = read_instant(state.value.get(key))
        if stamp is not None:
            now = max(now, tasks.next_second(stamp))
    return now


def _token_value(document: Document | None) -> Value:
    """Return a value to change: numbers are bytes, so what is not touched stays what it was."""
    if document is None or document.text is None:
        return {}
    return deepcopy(jsontext.parse(document.text).value)


def _new_execution(workflow_id: str, now: int) -> Value:
    return {"workflow_id": workflow_id, "last_updated": write_instant(now), "tasks": []}


def _write(state: State, phase: Value, execution: Value, now: int) -> ChangedWorkflow:
    """Write both files, or return why their new values are wrong.

    interruption_safe becomes false first and true last; in between execution.json changes, if it
    has to.
    """
    before = _token_value(state.phase) or dict(phase)
    values = {layout.PHASE: phase}
    if execution != _token_value(state.execution):
        values[layout.EXECUTION] = execution

    for value in values.values():
        stamp = read_instant(value.get("last_updated"))
        if stamp is None or stamp <= (now, ""):  # never back
            value["last_updated"] = write_instant(now)

    phase["interruption_safe"] = True

    planned = {file: _plan_file(state, file, value, now) for file, value in values.items()}
    refused = []
    for document in planned.values():
        refused += [finding for finding in document.findings if finding.level == "error"]
    if refused:
        return ChangedWorkflow(state, refused)

    unsafe = _plan_file(state, layout.PHASE, {**before, "interruption_safe": False}, now)
    on_disk = {layout.PHASE: state.phase, layout.EXECUTION: state.execution}
    for file, document in ((layout.PHASE, unsafe), *reversed(planned.items())):
        store.write_state(state.place, file, on_disk[file], (document.text or "").encode())
        on_disk[file] = document

    execution_document = planned.get(layout.EXECUTION, state.execution)
    written = State(state.place, planned[layout.PHASE], execution_document)
    return ChangedWorkflow(written, [], [layout.relative_state_path(file) for file in planned])


def _plan_file(state: State, file: str, value: Value, now: int) -> Document:
    """Return the document that a file will be."""
    path = relative_path(layout.state_path(state.place, file), state.place.top)
    before = state.phase if file == layout.PHASE else state.execution
    return plan_value(path, before, value, now).document


def _note_approval(value: Value, phase: str, results: Mapping[str, str], now: int) -> None:
    kept = []
    for row in value["user_checkpoints"]:
        if not isinstance(row, dict) or row.get("phase") != phase:
            kept.append(row)
    approval = {"phase": phase, "approved_at": write_instant(now), "results": dict(results)}
    value["user_checkpoints"] = [*kept, approval]


def _leave_open(value: Value, execution: Value) -> None:
    """Note in the row of IMPLEMENTATION which tasks were left open knowingly."""
    rows = read_objects(execution, "tasks")
    left_open = [tasks.task_name(row) for row in rows if tasks.is_open(row)]
    if not left_open:
        return
    for row in read_objects(value, "completed_phases"):
        if row.get("phase") == _IMPLEMENTATION:
            row["left_open"] = left_open


def _not_begun(phase: str, current: str) -> Finding:
    message = f"{phase} was not begun: the workflow is in {current}"
    hint = f"only {current}, or a phase before it"
    return make_error("workflow/not-begun", message, _PHASE, hint)


def _not_approved(phase: str, output: str | None) -> Finding:
    option = []
    if output is not None:
        option = ["--output", plain_path(output)]
    approve = advise("ask the user, then", "checkpoint", "workflow", "approve", phase, *option)
    both = ("checkpoint", "workflow", "advance", "--yes", *option)
    hint = join_hints(approve, command(*both, more=" approves and advances"))
    return make_error("workflow/not-approved", f"{phase} waits for approval", _PHASE, hint)


def _find_result(
    place: Place,
    value: Value,
    execution: Value,
    phase: str,
    wished: str | None,
) -> tuple[OutputFile, Finding | None]:
    """Return the result of a phase, and why it does not count.

    wished: its path, None for the usual one. Raises CheckpointError for a file as the result of
    IMPLEMENTATION.
    """
    if wished is not None and phase == _IMPLEMENTATION:
        raise CheckpointError(f"the result of {phase} is its tasks", "leave --output out")
    if wished is not None:
        found = judge_result(store.read_output(place, wished))
        return found, _find_output_trouble(found, _PHASE)

    if phase == _IMPLEMENTATION:
        tasks_file = OutputFile(layout.relative_state_path(layout.EXECUTION), "good")
        why = _find_open_tasks(value, execution)
        if why:
            hint = progress.REDO_HINT if why == progress.NOT_REDONE else _FORCE
            return tasks_file, make_error("workflow/tasks-open", why, "/tasks", hint)
        return tasks_file, None

    found = find_output(place, value, phase)
    if found.state == "good":
        return found, None
    why = progress.explain_missing(phase, found)
    if found.state == "failed":
        why = f"{found.path} {found.why}"
    hint = join_hints(progress.find_missing_hint(found), _FORCE)
    return OutputFile(), make_error("workflow/output-missing", f"{phase}: {why}", _PHASE, hint)


def _find_open_tasks(value: Value, execution: Value) -> str:
    """Return why IMPLEMENTATION is not complete by its tasks, "" if it is."""
    rows = read_objects(execution, "tasks")
    incomplete = [row for row in rows if tasks.read_status(row.get("status")) != "complete"]
    is_done = _is_done(value, _IMPLEMENTATION)
    if not rows and not is_done:
        return "no tasks are recorded, so none is complete"
    if incomplete:
        return f"{len(incomplete)} of {len(execution['tasks'])} tasks are not complete"
    if not is_done and progress.is_sent_back(value, rows):
        return progress.NOT_REDONE
    return ""


def _find_output_trouble(output: OutputFile, where: str) -> Finding | None:
    hint = "write it first, or name another file of the project with --output"
    return rules.check_output(output, f"the output {output.path}", where, hint)
