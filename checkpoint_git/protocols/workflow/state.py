"""A workflow as it is on disk, what is wrong with it, and what to do next. Nothing is written."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsonplace
from checkpoint_git.core.clock import DAY, read_instant, read_loose_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors, make_error
from checkpoint_git.core.terminal_text import plural, quote_path
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.process import is_running, is_session_running, read_ancestors, read_session_process
from checkpoint_git.git.settings import WORKFLOW_APPROVALS, find_setting
from checkpoint_git.protocols.document import Document, read_objects
from checkpoint_git.protocols.validate import check_document, unreadable_document
from checkpoint_git.protocols.workflow import layout, resume, rules, store, tasks
from checkpoint_git.protocols.workflow.layout import TABLE, parse_approvals
from checkpoint_git.protocols.workflow.resume import Facts, Plan
from checkpoint_git.protocols.workflow.tasks import OutputFile, Step, judge_result, plan_step, read_status, task_name

Value = Mapping[str, Any]  # of phase.json


class State(NamedTuple):
    """The two files' documents, None where a file is missing."""

    place: Place
    phase: Document | None
    execution: Document | None

    @property
    def documents(self) -> list[Document]:
        return [document for document in (self.phase, self.execution) if document is not None]

    @property
    def value(self) -> dict[str, Any]:
        return (self.phase.value if self.phase else None) or {}

    @property
    def tasks(self) -> list[Any]:
        tasks = ((self.execution.value if self.execution else None) or {}).get("tasks")
        return tasks if isinstance(tasks, list) else []

    @property
    def workflow_id(self) -> str:
        names = [(document.value or {}).get("workflow_id") for document in self.documents]
        return next((name for name in names if isinstance(name, str) and name), "")

    @property
    def completed(self) -> list[str]:
        return resume.phases_in(self.value, "completed_phases")

    @property
    def last_activity(self) -> str | None:
        """The later of the two files' last_updated; None where neither is valid."""
        texts = [(document.value or {}).get("last_updated") for document in self.documents]
        known = [(instant, text) for text in texts if (instant := read_loose_instant(text)) is not None]
        return max(known)[1] if known else None

    @property
    def notes(self) -> list[str]:
        """What somebody said last of a save, a failure that still stands, and a way back."""
        rows = {"Saved": self.value.get("saved"), "Sent back": (read_objects(self.value, "went_back") or [{}])[-1]}
        if self.value.get("phase_status") == "failed":
            rows["Failed"] = self.value.get("failure")
        texts = {name: row.get("note", row.get("error")) for name, row in rows.items() if isinstance(row, dict)}
        return [f"{name}: {text}" for name, text in texts.items() if isinstance(text, str)]

    @property
    def is_over(self) -> bool:
        is_done = bool(self.phase and self.phase.is_valid and resume.is_finished(self.value))
        return is_done and not resume.find_behind(self.value, {"tasks": self.tasks})

    @property
    def is_unfinished(self) -> bool:
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
            "approved": resume.phases_in(value, "user_checkpoints"),
            "notes": self.notes,
            "directory": self.place.directory,
        }


def load_state(place: Place, now: int) -> State:
    documents: list[Document | None] = []
    for file in layout.FILES:
        content = store.read_state(place, file)
        path = relative_path(layout.state_path(place, file), place.top)
        if content is None:
            documents.append(None)
        elif isinstance(content, OSError):
            documents.append(unreadable_document(path, content))
        else:
            documents.append(check_document(path, content, now=now))
    return State(place, *documents)


def missing_workflow(state: State) -> CheckpointError:
    hint = "`checkpoint workflow resume` shows what is left of it" if state.execution else store.START_HINT
    return CheckpointError(f"no phase.json in {state.place.directory}", hint)


def find_trouble(state: State, now: int) -> list[Finding]:
    """Everything against going on: both files, the outputs that they name, their age. A corrupt state is an error."""
    found = [finding for document in state.documents for finding in document.findings]
    found = [each._replace(level="error") if each.code == "workflow/in-future" else each for each in found]
    phase, execution = (document and (document.value or {}) for document in (state.phase, state.execution))
    outputs: dict[str, OutputFile] = {}
    for file, where, what, path, verb, digest in rules.list_outputs(state.value, execution or {}):
        output = outputs[path] = outputs.get(path) or store.read_output(state.place, path)
        hint = f"bring it back (git restore {quote_path(path)}), or do it again: checkpoint workflow {verb}"
        finding = rules.check_output(output, what, where, hint, digest)
        found += [_locate(state, file, finding)] if finding else []
    found += [_locate(state, layout.EXECUTION, each) for each in rules.check_together(phase, execution)]
    return [*found, *(_locate(state, layout.PHASE, each) for each in rules.check_age(state.value, now))]


def find_archived_work(place: Place, now: int) -> Finding | None:
    """Open tasks that git, as if it were a rename, merged into a finished workflow's archive; none was begun since."""
    names = store.list_archives(os.path.join(place.directory, layout.ARCHIVE))
    if not names or store.has_state(place):
        return None
    path = f"{layout.DIRECTORY}/{layout.ARCHIVE}/{max(names, key=layout.archive_order)}"
    archived = load_state(place._replace(directory=os.path.join(place.root, path)), now)
    left = resume.find_behind(archived.value, {"tasks": archived.tasks})
    if not (left and resume.is_finished(archived.value)):
        return None
    shown = f"{plural(len(left), 'open task')} into the archive of a finished workflow: {', '.join(left[:5])}"
    message = f"a merge may have put {shown}"
    back = f"mv {quote_path(path)}/*.json {layout.DIRECTORY} && checkpoint workflow back IMPLEMENTATION"
    hint = f"to continue them: {back}; else: checkpoint workflow start ID --fresh"
    return make_error("workflow/archived-tasks", message, "", hint)._replace(path=f"{path}/{layout.EXECUTION_FILE}")


def _locate(state: State, file: str, finding: Finding) -> Finding:
    document = (state.phase if file == layout.PHASE else state.execution) or state.documents[0]
    if document.text is None:
        return finding._replace(path=document.path)
    ((line, column),) = jsonplace.locate_all(document.text, [finding.where])
    return finding._replace(path=document.path, line=line, column=column)


def read_approvals(place: Place, wished: str | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """The phases that need an approval: as wished, else as checkpoint.workflowApprovals says, else the usual two."""
    if wished is not None:
        return parse_approvals(wished)

    found: Mapping[str, str] = {}
    if place.work_tree:
        from checkpoint_git.git.repository import read_all_settings

        found = read_all_settings(place.root, env)
    return parse_approvals(find_setting(found, WORKFLOW_APPROVALS))


def find_plan(state: State, approvals: tuple[str, ...], steps: Sequence[Step] = ()) -> Plan:
    phase = state.value["current_phase"]
    tasks = [dict(task) for task in state.tasks if isinstance(task, dict)]
    for step in steps:
        tasks[step.row]["status"] = step.status
    output, drafts = find_output(state.place, state.value, phase), find_drafts(state.place, state.value, phase)
    results = find_results(state.place, state.value, tasks, phase)
    waits = phase in approvals and not resume.is_approved(phase, state.value, results)
    behind = resume.find_behind(state.value, {"tasks": tasks})
    return resume.plan_resume(state.value, Facts(output, tuple(each.path for each in drafts), tasks, waits, behind))


def find_output(place: Place, value: Value, phase: str) -> OutputFile:
    """The result of a phase; a good one before any other, and what was there before the workflow last."""
    found = [each for pattern in TABLE[phase].outputs for each in store.read_outputs(place, pattern)]
    earlier = _pick_earlier(place, value, found)
    seen = [each._replace(state="older") if each.path in earlier else judge_result(each) for each in found]
    rank = {"good": 0, "older": 2}
    return min(seen, key=lambda output: rank.get(output.state, 1), default=OutputFile())


def find_drafts(place: Place, value: Value, phase: str) -> list[OutputFile]:
    row = TABLE[phase]
    found = store.read_outputs(place, f"{row.drafts}/*") if row.drafts else []
    earlier = _pick_earlier(place, value, found)
    return [each for each in found if each.digest and each.path not in row.outputs and each.path not in earlier]


def _pick_earlier(place: Place, value: Value, found: Sequence[OutputFile]) -> set[str]:
    """The paths of those that were there before the workflow, or were rejected."""
    # By digest where that was noted, else by the file's time; what a clone, a merge or a branch switch brought has
    # a new time, and is as old as its commit.
    noted, started = value.get("earlier_results"), read_instant(value.get("started_at")) or (0, "")
    if isinstance(noted, dict):
        earlier = {each.path for each in found if each.digest and noted.get(each.path) == each.digest}
    else:
        earlier = {each.path for each in found if each.written < started[0] - layout.GRACE and each.state != "outside"}
    rest = [each.path for each in found if place.work_tree and each.digest and each.path not in earlier]
    return earlier | store.find_committed_before(place, rest, started[0]) if rest else earlier


def find_results(place: Place, value: Value, tasks: Sequence[Any], phase: str) -> dict[str, str]:
    """What the user approves or rejects of a phase, path -> digest: its result, else its drafts; {} for nothing."""
    if phase == layout.PHASES[2]:
        known = read_objects({"tasks": tasks}, "tasks")
        rows = [[task_name(task), read_status(task.get("status")), task.get("digest")] for task in known]
        if not rows or any(row[1] != "complete" for row in rows) or resume.is_sent_back(value, known):
            return {}
        return {layout.relative_state_path(layout.EXECUTION): hashlib.sha256(repr(rows).encode()).hexdigest()}
    output = find_output(place, value, phase)
    found = [output] if output.state in ("good", "failed") else find_drafts(place, value, phase)
    return {each.path: each.digest for each in found}


def list_results(place: Place, phases: Sequence[str]) -> list[OutputFile]:
    """All that is there of the phases, whatever run it is from; no state of ours."""
    rows = [TABLE[phase] for phase in phases if phase != layout.PHASES[2]]
    patterns = [path for row in rows for path in (*row.outputs, *([f"{row.drafts}/*"] if row.drafts else []))]
    return [each for pattern in patterns for each in store.read_outputs(place, pattern) if each.digest]


def find_earlier(place: Place, value: Value) -> dict[str, str]:
    """What is there of phases that have not begun, and what _pick_earlier knows by its time: path -> digest."""
    at = layout.PHASES.index(value["current_phase"]) + 1
    begun = list_results(place, layout.PHASES[:at])
    earlier = _pick_earlier(place, value, begun)
    known = [each for each in begun if each.path in earlier]
    return {each.path: each.digest for each in (*known, *list_results(place, layout.PHASES[at:]))}


def find_recovery(state: State, now: int, session: str | None = None) -> list[Step]:
    """session: who asks; None where nothing that runs is left alone."""
    steps = []
    for row, task in enumerate(state.tasks):
        is_running = isinstance(task, dict) and tasks.is_running(task)
        if is_running and (session is None or not _is_under_way(task, session)):
            path = task.get("output")
            output = store.read_output(state.place, path) if isinstance(path, str) and path else OutputFile()
            if state.place.work_tree and output.digest and "digest" not in task:  # a clone gave it a new time
                is_older = store.find_committed_before(state.place, [output.path], tasks.earliest_start(task))
                output = output._replace(written=0) if is_older else output
            steps.append(plan_step(row, task, output, now))
    return steps


def _is_under_way(task: Value, session: str) -> bool:
    own, process = str(task.get("session") or ""), task.get("process")
    is_own = bool(session) and own == session
    if not isinstance(process, str):
        return is_own
    # another session in the same process, or from the same terminal, comes after it, unless both run there
    is_shared = process in (read_session_process(""), *read_ancestors())
    return is_running(process) and (is_own or not is_shared or is_session_running(own))


def find_busy(state: State, session: str) -> list[str]:
    """The tasks that another session runs now."""
    rows = [task for task in state.tasks if isinstance(task, dict) and tasks.is_running(task)]
    return [task_name(task) for task in rows if task.get("session") != session and _is_under_way(task, session)]


class Question(NamedTuple):
    """on_yes, on_no, by_default (an empty line): "resume", "fresh" or "stop"."""

    kind: str
    text: str
    on_yes: str
    on_no: str
    by_default: str


class Prospect(NamedTuple):
    """What a workflow looks like to somebody who takes it up. plan: None where the state is corrupt."""

    state: State
    findings: list[Finding]
    question: Question
    plan: Plan | None


def look_ahead(place: Place, approvals: tuple[str, ...], now: int, session: str | None = None) -> Prospect:
    state = load_state(place, now)
    if not state.documents:  # another process archived it a moment ago
        raise missing_workflow(state)
    findings = find_trouble(state, now)
    if has_errors([each for each in findings if each.code != rules.BEHIND]):  # the plan asks about that
        question = Question("corrupt", "State appears corrupted. Start fresh? [y/N]", "fresh", "stop", "stop")
        return Prospect(state, findings, question, None)
    age = rules.find_age(state.value, now)
    if age >= rules.STALE_AFTER:
        text = f"The workflow was started {age // DAY} days ago. Archive it and start fresh? [y/N]"
        question = Question("stale", text, "fresh", "resume", "resume")
    else:
        text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
        question = Question("resume", text, "resume", "fresh", "resume")
    return Prospect(state, findings, question, find_plan(state, approvals, find_recovery(state, now, session)))
