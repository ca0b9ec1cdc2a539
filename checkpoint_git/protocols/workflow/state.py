"""What the workflow verbs share: the state read and judged, changes under the lock, the facts of a plan."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document, unreadable_document
from checkpoint_git.protocols.workflow import changes, integrity, layout, store
from checkpoint_git.protocols.workflow.phases import DEFAULT_APPROVALS, PHASES, TABLE
from checkpoint_git.protocols.workflow.recovery import Step, TaskOutput, plan_recovery
from checkpoint_git.protocols.workflow.resume import Facts, Output, Plan, plan_resume

Value = dict[str, Any]
# phase.json's and execution.json's values, changed in place, and the instant to write
Change = Callable[[Value, Value, int], "Finding | None"]

_GRACE = 2  # seconds: file systems round what a clock says


class State(NamedTuple):
    """A workflow as it is on disk. phase is None where there is no phase.json, execution where no execution.json."""

    place: Place
    phase: Document | None
    execution: Document | None

    @property
    def documents(self) -> list[Document]:
        """Those that are there."""
        return [document for document in (self.phase, self.execution) if document is not None]

    @property
    def value(self) -> Value:
        """The content of phase.json, {} where it cannot be read."""
        return (self.phase.value if self.phase else None) or {}

    @property
    def tasks(self) -> list[Any]:
        """The rows of execution.json, [] where it has none."""
        tasks = ((self.execution.value if self.execution else None) or {}).get("tasks")
        return tasks if isinstance(tasks, list) else []


class Changed(NamedTuple):
    """What became of a write. refused: why nothing was written, empty where it was. saved: the files, relative."""

    state: State
    refused: list[Finding]
    saved: list[str]


# reading


def load_state(place: Place, now: int) -> State:
    """The state as it is, whatever it is. now: seconds since 1970."""
    return State(place, *(_load(place, file, now) for file in layout.FILES))


def _load(place: Place, file: str, now: int) -> Document | None:
    content = store.read_state(place, file)
    if content is None:
        return None
    path = relative_path(layout.state_path(place, file), place.top)
    if isinstance(content, OSError):
        return unreadable_document(path, content)
    return check_document(path, content, now=now)


def find_state(cwd: str, now: int) -> State:
    """The workflow around a folder. Raises CheckpointError where there is none."""
    place = store.find_workflow_place(cwd)
    if place is None or not store.has_state(place):
        raise CheckpointError(
            f"there is no workflow here: no {layout.DIRECTORY}/phase.json in {cwd} or above it",
            "checkpoint workflow start ID begins one",
        )
    return load_state(place, now)


def workflow_id(state: State) -> str:
    """The workflow's name as far as either file says it, "" where neither does."""
    for document in state.documents:
        name = (document.value or {}).get("workflow_id")
        if isinstance(name, str) and name:
            return name
    return ""


def find_trouble(state: State, now: int) -> list[Finding]:
    """Everything that speaks against going on: both files, what they refer to, how old they are.

    What makes the state corrupt is an error.
    """
    found = [finding for document in state.documents for finding in document.findings]
    found = [each._replace(level="error") if integrity.is_corrupt(each) else each for each in found]
    execution = state.execution.value if state.execution else None
    references = integrity.list_references(state.value, execution)
    facts = {path: _look_at(state.place, path) for _, _, _, path in references}
    beyond = integrity.check_references(references, facts)
    beyond += [("execution", finding) for finding in integrity.check_together(state.value, execution)]
    beyond += [("phase", finding) for finding in integrity.check_age(state.value, now)]
    return [*found, *(_located(state, file, finding) for file, finding in beyond)]


def _located(state: State, file: str, finding: Finding) -> Finding:
    document = state.phase if file == layout.PHASE else state.execution
    if document is None or document.text is None:
        return finding
    line, column = jsontext.locate(document.text, finding.where)
    return finding._replace(path=document.path, line=line, column=column)


def _look_at(place: Place, path: str) -> integrity.Referenced:
    try:
        found = store.read_output(place, path)
    except ValueError:
        return integrity.Referenced("outside")
    if found is None:
        return integrity.Referenced("missing")
    why = find_fault(path, found[0])
    return integrity.Referenced("unreadable", why) if why else integrity.Referenced("good")


def find_fault(path: str, content: store.FileContent) -> str:
    """Why a file cannot be taken for a result, "" where it can: one that is JSON by its name has to be JSON."""
    if isinstance(content, OSError):
        return content.strerror or str(content)
    if not path.endswith(".json"):
        return "" if content else "it is empty"
    try:
        jsontext.load(jsontext.decode(content))
    except jsontext.JsonTextError as error:
        return f"line {error.line}: {error.message}"
    return ""


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


def parse_approvals(text: str) -> tuple[str, ...]:
    """The phases of a list with commas or blanks; "none" for none. Raises CheckpointError for an unknown one."""
    names = [name.upper() for name in text.replace(",", " ").split() if name.lower() != "none"]
    for name in names:
        check_phase(name)
    return tuple(names)


def check_phase(name: str) -> str:
    """The phase of that name, in capitals. Raises CheckpointError for an unknown one, naming those there are."""
    if name.upper() not in PHASES:
        raise CheckpointError(f"{name!r} is not a phase", f"the phases are {', '.join(PHASES)}")
    return name.upper()


def find_plan(state: State, approvals: tuple[str, ...], steps: list[Step] | None = None) -> Plan:
    """What to do next. state: valid. steps: what recovery will do to the tasks before."""
    phase, since = state.value["current_phase"], find_beginning(state.value)
    tasks = [dict(task) for task in state.tasks if isinstance(task, dict)]
    for step in steps or ():
        tasks[step.row]["status"] = step.status
    facts = Facts(find_output(state.place, phase, since), _find_drafts(state.place, phase, since), tasks, approvals)
    return plan_resume(state.value, facts)


def find_beginning(value: Value) -> int:
    """When the workflow began, in seconds since 1970, a little earlier; 0 where that is not known."""
    started = read_instant(value.get("started_at"))
    return started[0] - _GRACE if started else 0


def find_output(place: Place, phase: str, since: int) -> Output:
    """A phase's result on disk, a good one before any other. since: what was written earlier is from another run."""
    seen = [
        _judge_output(place, path, since)
        for pattern in TABLE[phase].outputs
        for path in store.list_files(place, pattern)
    ]
    order = ("valid", "invalid", "older")
    return min(seen, key=lambda output: order.index(output.condition)) if seen else Output("missing")


def _judge_output(place: Place, path: str, since: int) -> Output:
    try:
        found = store.read_output(place, path)
    except ValueError as error:
        return Output("invalid", path, str(error))
    if found is None:
        return Output("invalid", path, "it is not there any more")
    if found[1] < since and not isinstance(found[0], OSError):
        return Output("older", path)
    why = find_fault(path, found[0])
    return Output("invalid", path, why) if why else Output("valid", path)


def _find_drafts(place: Place, phase: str, since: int) -> tuple[str, ...]:
    folder = TABLE[phase].drafts
    paths = store.list_files(place, f"{folder}/*") if folder else []
    drafts = [path for path in paths if path not in TABLE[phase].outputs]
    return tuple(path for path in drafts if (store.written_at(place, path) or 0) > since)


def find_recovery(state: State) -> list[Step]:
    """What recovery would do to the running tasks."""
    outputs = {
        row: _read_task_output(state.place, task.get("output"))
        for row, task in enumerate(state.tasks)
        if isinstance(task, dict) and task.get("status") == "running"
    }
    return plan_recovery(state.tasks, outputs)


def _read_task_output(place: Place, path: object) -> TaskOutput:
    if not isinstance(path, str) or not path:
        return TaskOutput()
    try:
        found = store.read_output(place, path)
    except ValueError as error:
        return TaskOutput("", why=str(error))
    if found is None:
        return TaskOutput(path)
    content, written = found
    why = find_fault(path, content)
    if why or isinstance(content, OSError):
        return TaskOutput(path, "unreadable", why, None, written)
    if not path.endswith(".json"):
        return TaskOutput(path, "file", "", None, written)
    return TaskOutput(path, "json", "", jsontext.load(jsontext.decode(content)), written)


# writing


def change_state(place: Place, now: int, change: Change, on_wait: store.Tell = lambda: None) -> Changed:
    """Reads, changes and writes the state under the lock. A state that has errors is left alone and told."""
    with store.writing(place, on_wait):
        state = load_state(place, now)
        if state.phase is None:
            raise CheckpointError(
                f"there is no workflow in {place.directory}", "checkpoint workflow start ID begins one"
            )
        return apply_change(state, now, change)


def apply_change(state: State, now: int, change: Change) -> Changed:
    """The same with the lock held and the state read."""
    errors = [finding for document in state.documents for finding in document.findings if finding.level == "error"]
    if errors or state.phase is None:
        return Changed(state, errors, [])
    now = find_now(state, now)
    roots = [None if document is None else _parse(document) for document in (state.phase, state.execution)]
    values = [deepcopy(root.value) if root else None for root in roots]
    phase = values[0] or {}
    execution = values[1] or changes.new_execution(str(phase.get("workflow_id")), now)
    refused = change(phase, execution, now)
    if refused is not None:
        document = state.execution if refused.where.startswith("/tasks") and state.execution else state.phase
        return Changed(state, [refused._replace(path=document.path)], [])
    return _write(state, roots, phase, execution, now)


def find_now(state: State, now: int) -> int:
    """Now, but never before what was written last: a clock that was set back must not undo the order of things."""
    stamps = [read_instant(state.value.get(key)) for key in ("started_at", "last_updated")]
    return max([now, *(stamp[0] + bool(stamp[1]) for stamp in stamps if stamp is not None)])


def _parse(document: Document) -> jsontext.Node | None:
    return None if document.text is None else jsontext.parse(document.text)


def _write(state: State, roots: "list[jsontext.Node | None]", phase: Value, execution: Value, now: int) -> Changed:
    """interruption_safe goes to false first and to true last; in between the files change, each at once."""
    place = state.place
    is_changed = roots[1] is None or roots[1].value != execution
    if is_changed:
        changes.stamp(execution, now)
    changes.stamp(phase, now)
    phase["interruption_safe"] = True
    texts = {
        layout.PHASE: _text(roots[0], phase),
        **({layout.EXECUTION: _text(roots[1], execution)} if is_changed else {}),
    }
    after = {file: _check(place, file, text, now) for file, text in texts.items()}
    refused = [each for document in after.values() for each in document.findings if each.level == "error"]
    if refused:
        return Changed(state, refused, [])
    before = deepcopy(roots[0].value) if roots[0] else dict(phase)
    before["interruption_safe"] = False
    store.write_state(place, layout.PHASE, _text(roots[0], before).encode())
    for file in reversed(list(texts)):
        store.write_state(place, file, texts[file].encode())
    written = State(place, after[layout.PHASE], after.get(layout.EXECUTION, state.execution))
    return Changed(written, [], [layout.relative_state_path(file) for file in texts])


def _text(root: jsontext.Node | None, value: Value) -> str:
    return jsonedit.rewrite(root, value) if root else jsonedit.render(value)


def _check(place: Place, file: str, text: str, now: int) -> Document:
    path = relative_path(layout.state_path(place, file), place.top)
    return check_document(path, text.encode(), now=now)


def begin_workflow(place: Place, name: str, now: int) -> Changed:
    """A new workflow, the lock held and nothing in its way."""
    phase, execution = changes.new_phase(name, now), changes.new_execution(name, now)
    return _write(State(place, None, None), [None, None], phase, execution, now)


def archive_workflow(state: State, now: int) -> str | None:
    """Moves the state into an archive of its own, the lock held; the archive's path, None where there was nothing."""
    return store.archive_state(state.place, workflow_id(state), write_instant(now))


# answering


def state_data(state: State) -> dict[str, Any]:
    """A workflow for programs."""
    value = state.value
    return {
        "workflow_id": workflow_id(state) or None,
        "phase": value.get("current_phase"),
        "phase_status": value.get("phase_status"),
        "started_at": value.get("started_at"),
        "last_activity": last_activity(state),
        "completed": completed_phases(state),
        "approved": _phases_of(value, "user_checkpoints"),
        "directory": state.place.directory,
    }


def completed_phases(state: State) -> list[str]:
    """The names of the completed phases, in order."""
    return _phases_of(state.value, "completed_phases")


def _phases_of(value: Value, key: str) -> list[str]:
    rows = value.get(key)
    return [str(row.get("phase")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def last_activity(state: State) -> str | None:
    """The later of the two files' last_updated; None where neither says an instant."""
    texts = [(document.value or {}).get("last_updated") for document in state.documents]
    known = [(instant, text) for text in texts if (instant := read_instant(text)) is not None]
    return max(known)[1] if known else None


def saved_line(saved: list[str]) -> Block:
    """What every write says."""
    return Line(f"checkpoint saved: {', '.join(saved)}", "good")
