"""Read a workflow from the disk, find what is wrong with it, and what to do next.

Nothing is written.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsonplace
from checkpoint_git.core.clock import DAY, read_instant, read_loose_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors, make_error
from checkpoint_git.core.hint import Blank, advise, chain, command, join_hints
from checkpoint_git.core.terminal_text import plain_path, plural
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.process import (
    is_running,
    is_session_running,
    read_ancestors,
    read_session_process,
)
from checkpoint_git.git.settings import WORKFLOW_APPROVALS, find_setting
from checkpoint_git.protocols.document import Document, read_objects
from checkpoint_git.protocols.validate import check_document, unreadable_document
from checkpoint_git.protocols.workflow import handwritten, layout, progress, rules, store, tasks
from checkpoint_git.protocols.workflow.layout import PHASES, TABLE, parse_approvals
from checkpoint_git.protocols.workflow.tasks import (
    OutputFile,
    TaskStep,
    judge_result,
    plan_step,
    read_status,
    task_name,
)
from checkpoint_git.protocols.workflow.transitions import Facts, WorkflowPlan, plan_resume

Value = Mapping[str, Any]  # of phase.json


class State(NamedTuple):
    """The two files' documents, None if a file is missing."""

    place: Place
    phase: Document | None
    execution: Document | None

    @property
    def documents(self) -> list[Document]:
        return [document for document in (self.phase, self.execution) if document is not None]

    @property
    def value(self) -> dict[str, Any]:
        """Return the value of phase.json, {} if it is missing or cannot be read."""
        return _read_value(self.phase)

    @property
    def tasks(self) -> list[Any]:
        """Return the rows of execution.json, as they are."""
        rows = _read_value(self.execution).get("tasks")
        if not isinstance(rows, list):
            return []
        return rows

    @property
    def task_rows(self) -> list[dict[str, Any]]:
        """Return the rows of execution.json that are objects."""
        return [task for task in self.tasks if isinstance(task, dict)]

    @property
    def workflow_id(self) -> str:
        for document in self.documents:
            name = (document.value or {}).get("workflow_id")
            if isinstance(name, str) and name:
                return name
        return ""

    @property
    def completed(self) -> list[str]:
        return progress.phases_in(self.value, "completed_phases")

    @property
    def last_activity(self) -> str | None:
        """Return the later of the two files' last_updated; None if neither is valid."""
        known = []
        for document in self.documents:
            text = (document.value or {}).get("last_updated")
            instant = read_loose_instant(text)
            if instant is not None:
                known.append((instant, text))

        if not known:
            return None
        _, latest = max(known)
        return latest

    @property
    def notes(self) -> list[str]:
        """Return users' notes: of the last save, the last way back, a failure that remains."""
        went_back = read_objects(self.value, "went_back") or [{}]
        rows = {"Saved": self.value.get("saved"), "Sent back": went_back[-1]}
        if self.value.get("phase_status") == "failed":
            rows["Failed"] = self.value.get("failure")

        notes = []
        for name, row in rows.items():
            if not isinstance(row, dict):
                continue
            text = row.get("note", row.get("error"))
            if isinstance(text, str):
                notes.append(f"{name}: {text}")

        return notes

    @property
    def is_over(self) -> bool:
        """Return whether the last phase is complete, and no task is open."""
        is_valid = bool(self.phase and self.phase.is_valid)
        if not is_valid or not progress.is_finished(self.value):
            return False
        return not progress.find_behind(self.value, {"tasks": self.tasks})

    @property
    def is_unfinished(self) -> bool:
        """Return whether a fresh start would end work."""
        if self.phase is None:  # its tasks are somebody's work, too
            return self.execution is not None and bool(self.tasks or not self.execution.is_valid)
        return not self.is_over

    def data(self) -> dict[str, Any]:
        value = self.value
        return {
            "workflow_id": self.workflow_id or None,
            "phase": value.get("current_phase"),
            "phase_status": value.get("phase_status"),
            "started_at": value.get("started_at"),
            "last_activity": self.last_activity,
            "completed": self.completed,
            "approved": progress.phases_in(value, "user_checkpoints"),
            "notes": self.notes,
            "directory": self.place.directory,
        }


def _read_value(document: Document | None) -> dict[str, Any]:
    """Return the value of a document, {} if there is none."""
    if document is None or document.value is None:
        return {}
    return document.value


def load_state(place: Place, now: int) -> State:
    """Return the state of a place, with what is wrong with each file.

    The values are in their usual form, also where the files are not.
    """
    documents: list[Document | None] = []
    for file in layout.FILES:
        content = store.read_state(place, file)
        path = relative_path(layout.state_path(place, file), place.top)
        if content is None:
            documents.append(None)
        elif isinstance(content, OSError):
            documents.append(unreadable_document(path, content))
        else:
            document = check_document(path, content, now=now)
            if document.value is not None:
                document = document._replace(value=handwritten.complete(file, document.value))
            documents.append(document)

    return State(place, *documents)


def missing_workflow(state: State) -> CheckpointError:
    """Return the error for a state without phase.json."""
    hint = store.START_HINT
    if state.execution:
        hint = command("checkpoint", "workflow", "resume", more=" shows what is left of it")
    return CheckpointError(f"no phase.json in {state.place.directory}", hint)


def find_trouble(state: State, now: int) -> list[Finding]:
    """Return all that speaks against continuing: both files, their outputs, their age.

    A corrupt state is an error.
    """
    found = []
    for document in state.documents:
        for finding in document.findings:
            if finding.code == "workflow/in-future":
                finding = finding._replace(level="error")
            found.append(finding)

    found += _check_outputs(state)
    phase = None
    if state.phase is not None:
        phase = _read_value(state.phase)
    execution = None
    if state.execution is not None:
        execution = _read_value(state.execution)

    for finding in rules.check_together(phase, execution):
        found.append(_locate(state, layout.EXECUTION, finding))
    for finding in rules.check_age(state.value, now):
        found.append(_locate(state, layout.PHASE, finding))
    return found


def _check_outputs(state: State) -> list[Finding]:
    """Return what is wrong with the outputs that both files name; each is read once."""
    outputs: dict[str, OutputFile] = {}
    found = []
    for named in rules.list_outputs(state.value, _read_value(state.execution)):
        if named.path not in outputs:
            outputs[named.path] = store.read_output(state.place, named.path)
        bring_back = advise("bring it back", "git", "restore", plain_path(named.path))
        hint = join_hints(bring_back, advise("or do it again", *named.redo))
        output = outputs[named.path]
        finding = rules.check_output(output, named.what, named.where, hint, named.digest)
        if finding:
            found.append(_locate(state, named.file, finding))

    return found


def find_archived_work(place: Place, now: int) -> Finding | None:
    """Return a finding for open tasks in the archive of a finished workflow, if none was begun.

    Git puts them there when it merges them as if into a renamed file.
    """
    names = store.list_archives(os.path.join(place.directory, layout.ARCHIVE))
    if not names or store.has_state(place):
        return None
    newest = max(names, key=layout.archive_order)
    folder = os.path.join(place.directory, layout.ARCHIVE, newest)
    archived = load_state(place._replace(directory=folder), now)
    behind = progress.find_behind(archived.value, {"tasks": archived.tasks})
    if not behind or not progress.is_finished(archived.value):
        return None

    count = plural(len(behind), "open task")
    named = ", ".join(behind[:5])
    message = f"a merge may have put {count} into the archive of a finished workflow: {named}"
    files = [plain_path(document.path) for document in archived.documents]
    move = ("mv", *files, plain_path(relative_path(place.directory, place.top)))
    go_back = ("checkpoint", "workflow", "back", "IMPLEMENTATION")
    fresh = ("checkpoint", "workflow", "start", Blank("the workflow", "ID"), "--fresh")
    hint = join_hints(chain("to continue them", [move, go_back]), advise("else", *fresh))
    finding = make_error("workflow/archived-tasks", message, "", hint)
    return finding._replace(path=archived.documents[-1].path)


def _locate(state: State, file: str, finding: Finding) -> Finding:
    """Return a finding with its place in a file, or in the other one if that is missing."""
    document = state.phase if file == layout.PHASE else state.execution
    if document is None:
        document = state.documents[0]
    if document.text is None:
        return finding._replace(path=document.path)
    ((line, column),) = jsonplace.locate_all(document.text, [finding.where])
    return finding._replace(path=document.path, line=line, column=column)


def read_approvals(place: Place, wished: str | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the phases that need an approval.

    As wished, else as checkpoint.workflowApprovals names them, else the usual two.
    """
    if wished is not None:
        return parse_approvals(wished)

    found: Mapping[str, str] = {}
    if place.work_tree:
        from checkpoint_git.git.repository import read_all_settings

        found = read_all_settings(place.root, env)

    return parse_approvals(find_setting(found, WORKFLOW_APPROVALS))


def find_plan(
    state: State, approvals: tuple[str, ...], steps: Sequence[TaskStep] = ()
) -> WorkflowPlan:
    """Return what to do next. steps: of a recovery that is not written yet."""
    place = state.place
    value = state.value
    phase = value["current_phase"]
    rows = [dict(task) for task in state.tasks if isinstance(task, dict)]

    for step in steps:
        rows[step.row]["status"] = step.status

    results = find_results(place, value, rows, phase)
    facts = Facts(
        output=find_output(place, value, phase),
        drafts=tuple(draft.path for draft in find_drafts(place, value, phase)),
        tasks=rows,
        waits=phase in approvals and not progress.is_approved(phase, value, results),
        behind=progress.find_behind(value, {"tasks": rows}),
    )
    return plan_resume(value, facts)


def find_output(place: Place, value: Value, phase: str) -> OutputFile:
    """Return the result of a phase: a good one before any other, an older one last."""
    found = []
    for pattern in TABLE[phase].outputs:
        found += store.read_outputs(place, pattern)
    earlier = _pick_earlier(place, value, found)

    judged = []
    for output in found:
        if output.path in earlier:
            judged.append(output._replace(state="older"))
        else:
            judged.append(judge_result(output))

    rank = {"good": 0, "older": 2}
    return min(judged, key=lambda output: rank.get(output.state, 1), default=OutputFile())


def find_drafts(place: Place, value: Value, phase: str) -> list[OutputFile]:
    """Return the drafts of a phase that were made in this workflow."""
    row = TABLE[phase]
    if not row.drafts:
        return []
    found = store.read_outputs(place, f"{row.drafts}/*")
    others = {*row.outputs, *_pick_earlier(place, value, found)}
    return [output for output in found if output.digest and output.path not in others]


def _pick_earlier(place: Place, value: Value, found: Sequence[OutputFile]) -> set[str]:
    """Return the paths of the outputs that were there before the workflow, or were rejected.

    By digest if that was noted, else by the file's time. What a clone, a merge or a branch switch
    brought has a new time, and is as old as its commit.
    """
    noted = value.get("earlier_results")
    started, _ = read_instant(value.get("started_at")) or (0, "")
    earlier: set[str] = set()
    for output in found:
        if isinstance(noted, dict):
            is_earlier = bool(output.digest) and noted.get(output.path) == output.digest
        else:
            is_old = output.written < started - layout.GRACE
            is_earlier = is_old and output.state != "outside"
        if is_earlier:
            earlier.add(output.path)

    others = [output.path for output in found if output.digest and output.path not in earlier]
    if not place.work_tree or not others:
        return earlier
    return earlier | store.find_committed_before(place, others, started)


def find_results(place: Place, value: Value, tasks: Sequence[Any], phase: str) -> dict[str, str]:
    """Return what the user approves or rejects of a phase, path -> digest; {} for nothing.

    That is its result, else its drafts.
    """
    if phase == PHASES[2]:
        return _find_task_results(value, read_objects({"tasks": tasks}, "tasks"))
    output = find_output(place, value, phase)
    found = [output]
    if output.state not in ("good", "failed"):
        found = find_drafts(place, value, phase)
    return {output.path: output.digest for output in found}


def _find_task_results(value: Value, tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the result of IMPLEMENTATION: its tasks, if all are complete."""
    rows = []
    for task in tasks:
        rows.append([task_name(task), read_status(task.get("status")), task.get("digest")])
    is_complete = all(status == "complete" for _, status, _ in rows)
    if not rows or not is_complete or progress.is_sent_back(value, tasks):
        return {}
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()
    return {layout.relative_state_path(layout.EXECUTION): digest}


def list_results(place: Place, phases: Sequence[str]) -> list[OutputFile]:
    """Return all results and drafts of phases, of any workflow, except execution.json."""
    found = []
    for phase in phases:
        if phase == PHASES[2]:
            continue
        row = TABLE[phase]
        patterns = [*row.outputs]
        if row.drafts:
            patterns.append(f"{row.drafts}/*")
        for pattern in patterns:
            outputs = store.read_outputs(place, pattern)
            found += [output for output in outputs if output.digest]

    return found


def find_earlier(place: Place, value: Value) -> dict[str, str]:
    """Return results that do not count, path -> digest.

    Those of phases that have not begun, and those of the others that _pick_earlier finds.
    """
    begun = PHASES.index(value["current_phase"]) + 1
    results = list_results(place, PHASES[:begun])
    earlier = _pick_earlier(place, value, results)
    known = [output for output in results if output.path in earlier]
    later = list_results(place, PHASES[begun:])
    return {output.path: output.digest for output in (*known, *later)}


def find_recovery(state: State, now: int, session: str | None = None) -> list[TaskStep]:
    """Return what recovery does to each running task whose session is gone.

    session: who asks; None: all running tasks count.
    """
    steps = []
    for row, task in enumerate(state.tasks):
        if not isinstance(task, dict) or not tasks.is_running(task):
            continue
        if session is None or not _is_under_way(task, session):
            steps.append(plan_step(row, task, _read_task_output(state.place, task), now))
    return steps


def _read_task_output(place: Place, task: Value) -> OutputFile:
    """Return the output of a task; one that is as old as its commit was not written by it."""
    path = task.get("output")
    if not isinstance(path, str) or not path:
        return OutputFile()
    output = store.read_output(place, path)
    if place.work_tree and output.digest and "digest" not in task:  # a clone gave it a new time
        started = tasks.earliest_start(task)
        if store.find_committed_before(place, [output.path], started):
            return output._replace(written=0)
    return output


def _is_under_way(task: Value, session: str) -> bool:
    """Return whether a session still runs a task. session: who asks."""
    task_session = str(task.get("session") or "")
    is_own = bool(session) and task_session == session
    process = task.get("process")
    if not isinstance(process, str):
        return is_own
    if not is_running(process):
        return False
    # another session in the same process, or from the same terminal, comes after it, unless both
    # run there
    is_shared = process in (read_session_process(""), *read_ancestors())
    return is_own or not is_shared or is_session_running(task_session)


def find_busy(state: State, session: str) -> list[str]:
    """Return the tasks that another session runs now."""
    busy = []
    for task in state.task_rows:
        is_own = task.get("session") == session
        if tasks.is_running(task) and not is_own and _is_under_way(task, session):
            busy.append(task_name(task))
    return busy


class StateQuestion(NamedTuple):
    """A question to the user. The answers are "resume", "fresh" or "stop"."""

    kind: str
    text: str
    on_yes: str
    on_no: str
    by_default: str  # for an empty line


class Prospect(NamedTuple):
    """A workflow, and how it can be continued."""

    state: State
    findings: list[Finding]
    question: StateQuestion
    plan: WorkflowPlan | None  # None if the state is corrupt


def look_ahead(
    place: Place,
    approvals: tuple[str, ...],
    now: int,
    session: str | None = None,
) -> Prospect:
    """Return how a workflow can be continued. Raises CheckpointError if there is none."""
    state = load_state(place, now)
    if not state.documents:  # another process archived it a moment ago
        raise missing_workflow(state)
    findings = find_trouble(state, now)
    # the plan asks about tasks that are behind
    if has_errors([finding for finding in findings if finding.code != rules.BEHIND]):
        text = "State appears corrupted. Start fresh? [y/N]"
        question = StateQuestion("corrupt", text, on_yes="fresh", on_no="stop", by_default="stop")
        return Prospect(state, findings, question, None)

    age = rules.find_age(state.value, now)
    if age >= rules.STALE_AFTER:
        text = f"The workflow was started {age // DAY} days ago. "
        text += "Archive it and start fresh? [y/N]"
        on_yes = "fresh"
        on_no = "resume"
        question = StateQuestion("stale", text, on_yes, on_no, by_default="resume")
    else:
        text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
        on_yes = "resume"
        on_no = "fresh"
        question = StateQuestion("resume", text, on_yes, on_no, by_default="resume")

    plan = find_plan(state, approvals, find_recovery(state, now, session))
    return Prospect(state, findings, question, plan)
