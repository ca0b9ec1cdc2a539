"""The names that may stand in a command line and that only the project knows: skills, places, commits, ids.

Each is read when a shell asks for it. Whatever goes wrong, the answer is shorter, never an error.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from checkpoint_git.cli.completion.candidates import Candidate, say_shortly
from checkpoint_git.core import jsontext
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.skill import store

FILES, FOLDERS = ":files", ":folders"  # the shell knows them better


class Asked(NamedTuple):
    """What a shell asks for. verb: of the line; words: its positional words; typed: what is there of the last one."""

    verb: str
    words: list[str]
    typed: str
    cwd: str


_MOST_REFS = 500
_MOST_ITEMS = 200  # of one list


def read_skills(asked: Asked) -> Iterator[Candidate]:
    """The skills of the nearest .checkpoints."""
    return (Candidate(skill) for skill in store.list_skills(find_place(asked.cwd)))


def read_refs(asked: Asked) -> Iterator[Candidate]:
    """Branches and tags, the newest first; in a range the part after its dots."""
    shape = ["--format=%(refname:short)%09%(contents:subject)", "--sort=-creatordate", f"--count={_MOST_REFS}"]
    words = ["for-each-ref", *shape, "refs/heads", "refs/tags", "refs/remotes"]
    listed = run_git(words, asked.cwd, check=False).out
    head = asked.typed[: asked.typed.rfind("..") + 2] if ".." in asked.typed else ""
    yield Candidate(f"{head}HEAD", "what is checked out")
    for line in listed.decode("utf-8", "replace").splitlines():
        name, _, subject = line.partition("\t")
        yield Candidate(head + name, say_shortly(escape_controls(subject)))


def read_checks(asked: Asked) -> Iterator[Candidate]:
    """The codes of what the doctor looks for."""
    from checkpoint_git.tools.doctor.table import CHECKS

    return (Candidate(check.code, say_shortly(check.looks_at)) for check in CHECKS)


def read_points(asked: Asked) -> Iterable[Candidate]:
    """The ids of restore points, where an action is about one; what `create` keeps are files."""
    if asked.words[:1] == ["create"]:
        return [Candidate(FILES)]
    from checkpoint_git.protocols.restore.layout import list_ids
    from checkpoint_git.protocols.restore.workspace import find_workspace

    return (Candidate(point) for point in reversed(list_ids(find_workspace(asked.cwd))))


def read_workflow_words(asked: Asked) -> Iterator[Candidate]:
    """What follows a verb of `checkpoint workflow`: an action on a task and its id, or a phase."""
    from checkpoint_git.protocols.workflow.phases import PHASES

    if asked.words[:1] == ["approve"]:
        yield from (Candidate(phase) for phase in PHASES)
    elif asked.words == ["task"]:
        yield from (Candidate(action) for action in ("add", "start", "done", "fail"))
    elif asked.words[:1] == ["task"]:
        yield from (Candidate(task) for task in _read_tasks(asked.cwd))


def _read_tasks(cwd: str) -> Iterator[str]:
    from checkpoint_git.protocols.workflow.state import find_state

    execution = find_state(cwd, int(time.time())).execution
    tasks = ((execution.value if execution else None) or {}).get("tasks")
    yield from (str(task.get("id")) for task in tasks or () if isinstance(task, dict))


def read_pointers(asked: Asked) -> Iterator[Candidate]:
    """The places that a merge under way could not decide."""
    from checkpoint_git.tools.merges.decisions import Request
    from checkpoint_git.tools.merges.resolve import resolve

    result = resolve(asked.cwd, Request([], None, [], True), int(time.time()), None, lambda: None)
    for file in result.files:
        yield from (Candidate(conflict.where) for conflict in file.conflicts)


def read_edits(asked: Asked) -> Iterator[Candidate]:
    """The fields of a checkpoint as `checkpoint update` writes them: one step of the path at a time."""
    from checkpoint_git.cli.completion import fields
    from checkpoint_git.protocols.contract import open_room

    document = _read_document(asked.cwd, asked.words[0]) if asked.words else {}
    return fields.find_edits(open_room("skill").schema.document, document, asked.typed, _MOST_ITEMS)


def _read_document(cwd: str, skill: str) -> dict[str, Any]:
    data = store.read_skill(find_place(cwd), skill)
    value = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else {}
    return value if isinstance(value, dict) else {}


_FILES = (Candidate(FILES),)
_FOLDERS = (Candidate(FOLDERS),)

# what a parser calls it -> who knows; "verb METAVAR" goes before "METAVAR"
READERS: dict[str, Callable[[Asked], Iterable[Candidate]]] = {
    "SKILL": read_skills,
    "COMMIT": read_refs,
    "REV": read_refs,
    "REF": read_refs,
    "BRANCH": read_refs,
    "RANGE": read_refs,
    "REV..REV": read_refs,
    "CODE": read_checks,
    "POINTER": read_pointers,
    "EDIT": read_edits,
    "PATH": lambda asked: _FILES,
    "FILE": lambda asked: _FILES,
    "DIR": lambda asked: _FOLDERS,
    "FOLDER": lambda asked: _FOLDERS,
    "restore-point OPERAND": read_points,
    "workflow WORD": read_workflow_words,
}


def read_values(kind: str, asked: Asked) -> list[Candidate]:
    """The candidates of one kind; none where nobody knows any, or where they cannot be read."""
    reader = READERS.get(f"{asked.verb} {kind}") or READERS.get(kind)
    if reader is None or not os.path.isdir(asked.cwd):
        return []
    try:
        return list(reader(asked))
    except Exception:  # a prompt is no place for errors: the command itself will tell
        return []
