"""A workflow as it is on disk, what is wrong with it, and what to do next. Nothing is written."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsonplace
from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document, unreadable_document
from checkpoint_git.protocols.workflow import layout, rules, store
from checkpoint_git.protocols.workflow.layout import DEFAULT_APPROVALS, TABLE, parse_approvals
from checkpoint_git.protocols.workflow.resume import Facts, Plan, is_finished, phases_in, plan_resume
from checkpoint_git.protocols.workflow.tasks import OutputFile, Step, plan_recovery

_GRACE = 2  # seconds: file systems round what a clock says


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
        return phases_in(self.value, "completed_phases")

    @property
    def last_activity(self) -> str | None:
        """The later of the two files' last_updated; None where neither is valid."""
        texts = [(document.value or {}).get("last_updated") for document in self.documents]
        known = [(instant, text) for text in texts if (instant := read_instant(text)) is not None]
        return max(known)[1] if known else None

    @property
    def is_over(self) -> bool:
        return bool(self.phase and self.phase.is_valid and is_finished(self.value))

    @property
    def is_unfinished(self) -> bool:
        return self.phase is not None and not self.is_over

    def data(self) -> dict[str, Any]:
        value = self.value
        return {
            "workflow_id": self.workflow_id or None,
            "phase": value.get("current_phase"),
            "phase_status": value.get("phase_status"),
            "started_at": value.get("started_at"),
            "last_activity": self.last_activity,
            "completed": self.completed,
            "approved": phases_in(value, "user_checkpoints"),
            "directory": self.place.directory,
        }


# reading


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


def find_state(cwd: str, now: int) -> State:
    return load_state(store.open_place(cwd), now)


def missing_workflow(place: Place) -> CheckpointError:
    return CheckpointError(f"no workflow in {place.directory}", store.START_HINT)


def find_trouble(state: State, now: int) -> list[Finding]:
    """Everything against going on: both files, the outputs that they name, their age. A corrupt state is an error."""
    found = [finding for document in state.documents for finding in document.findings]
    found = [each._replace(level="error") if each.code == "workflow/in-future" else each for each in found]
    execution = (state.execution.value if state.execution else None) or {}
    outputs: dict[str, OutputFile] = {}
    for file, where, what, path in rules.list_outputs(state.value, execution):
        output = outputs[path] = outputs.get(path) or store.read_output(state.place, path)
        finding = rules.check_output(output, what, where, "restore it from git, or do that work again")
        found += [_locate(state, file, finding)] if finding else []
    found += [_locate(state, layout.EXECUTION, each) for each in rules.check_together(state.value, execution)]
    return [*found, *(_locate(state, layout.PHASE, each) for each in rules.check_age(state.value, now))]


def _locate(state: State, file: str, finding: Finding) -> Finding:
    document = state.phase if file == layout.PHASE else state.execution
    if document is None or document.text is None:
        return finding
    line, column = jsonplace.locate(document.text, finding.where)
    return finding._replace(path=document.path, line=line, column=column)


# what to do next


def read_approvals(place: Place, wished: str | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """The phases that need an approval: as wished, else as checkpoint.workflowApprovals says, else the usual two."""
    text = wished
    if text is None and place.work_tree:
        from checkpoint_git.git.run import clean_env, run_git

        words = ["config", "--get", "checkpoint.workflowApprovals"]
        result = run_git(words, place.root, env=clean_env(env), check=False)
        text = result.out.decode("utf-8", "replace") if result.code == 0 else None
    return DEFAULT_APPROVALS if text is None else parse_approvals(text)


def find_plan(state: State, approvals: tuple[str, ...], steps: Sequence[Step] = ()) -> Plan:
    place, phase, since = state.place, state.value["current_phase"], find_beginning(state.value)
    tasks = [dict(task) for task in state.tasks if isinstance(task, dict)]
    for step in steps:
        tasks[step.row]["status"] = step.status
    paths = store.list_files(place, f"{TABLE[phase].drafts}/*") if TABLE[phase].drafts else []
    drafts = [path for path in paths if path not in TABLE[phase].outputs]
    new = tuple(path for path in drafts if (store.written_at(place, path) or 0) > since)
    return plan_resume(state.value, Facts(find_output(place, phase, since), new, tasks, approvals))


def find_beginning(value: Mapping[str, Any]) -> int:
    """When the workflow began, in seconds since 1970, a little earlier; 0 where that is unknown."""
    started = read_instant(value.get("started_at"))
    return started[0] - _GRACE if started else 0


def find_output(place: Place, phase: str, since: int) -> OutputFile:
    """A good one before any other. since: what was written earlier is from another run."""
    seen = []
    for path in (path for pattern in TABLE[phase].outputs for path in store.list_files(place, pattern)):
        found = store.read_output(place, path)
        if found.state == "missing":
            found = found._replace(state="unreadable", why="it is not there any more")
        elif found.state != "outside" and found.written < since:
            found = found._replace(state="older")
        seen.append(found)
    rank = {"good": 0, "older": 2}
    return min(seen, key=lambda output: rank.get(output.state, 1), default=OutputFile())


def find_recovery(state: State) -> list[Step]:
    outputs = {}
    for row, task in enumerate(state.tasks):
        if isinstance(task, dict) and task.get("status") == "running":
            path = task.get("output")
            outputs[row] = store.read_output(state.place, path) if isinstance(path, str) and path else OutputFile()
    return plan_recovery(state.tasks, outputs)


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


def look_ahead(place: Place, approvals: tuple[str, ...], now: int) -> Prospect:
    state = load_state(place, now)
    if state.phase is None:  # another process archived it a moment ago
        raise missing_workflow(place)
    findings = find_trouble(state, now)
    if has_errors(findings):
        question = Question("corrupt", "State appears corrupted. Start fresh? [y/N]", "fresh", "stop", "stop")
        return Prospect(state, findings, question, None)
    age = rules.find_age(state.value, now)
    if age >= rules.STALE_AFTER:
        text = f"The workflow was started {age // DAY} days ago. Archive it and start fresh? [y/N]"
        question = Question("stale", text, "fresh", "resume", "resume")
    else:
        text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
        question = Question("resume", text, "resume", "fresh", "resume")
    return Prospect(state, findings, question, find_plan(state, approvals, find_recovery(state)))
