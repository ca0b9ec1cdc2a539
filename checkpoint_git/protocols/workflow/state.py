"""Read a workflow from the disk, and find what is wrong with it. Nothing is written."""

import os
from typing import Any, NamedTuple

from checkpoint_git.core import jsonplace
from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.hint import Blank, advise, chain, command, join_hints
from checkpoint_git.core.terminal_text import plain_path, plural
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.document import Document, read_objects
from checkpoint_git.protocols.validate import check_document, unreadable_document
from checkpoint_git.protocols.workflow import handwritten, layout, progress, rules, store
from checkpoint_git.protocols.workflow.tasks import OutputFile


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


def find_trouble(state: State, now: int, stale_days: int) -> list[Finding]:
    """Return all that speaks against continuing: both files, their outputs, their age.

    A corrupt state is an error. stale_days: after which a workflow counts as old.
    """
    found = find_damage(state)
    for finding in rules.check_age(state.value, now, stale_days):
        found.append(_locate(state, layout.PHASE, finding))
    return found


def find_damage(state: State) -> list[Finding]:
    """Return what is wrong with both files and their outputs. A corrupt state is an error."""
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
