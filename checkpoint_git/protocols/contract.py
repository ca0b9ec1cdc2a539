"""What tools may know of a protocol: its row in the registry, and what its package offers under the
names below.

Always: layout.py (names and places), schema.json (shape, and how versions merge), rules.py (meaning
beyond shape), store.py (reading and writing), README.md. Where the protocol has such a thing:
summary.py (Summarizer), checks.py and fixes.py (the doctor's), validate.py (check_file and
find_files, for files that are not JSON or have no folder of their own). This module knows no
protocol.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block
from checkpoint_git.core.schema import Schema
from checkpoint_git.disk.discover import Place, find_place, plan_place
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.registry import KINDS, PROTOCOLS, ProtocolRow

if TYPE_CHECKING:
    from checkpoint_git.core.page import PageParts
    from checkpoint_git.protocols.drawers import CheckFile, Layout, Rules, SkillLayout

    # for mypy alone: to make a Protocol takes as long as to import a module

    class Summarizer(Protocol):
        """summary.py. It is imported for every `status` and `prime`, so it imports late what it
        needs.
        """

        def is_present(self, place: Place) -> bool:
            """Return whether a project has anything of the protocol: a look that opens no file of
            it.
            """

        def summarize(self, question: "StatusQuestion") -> "Summary":
            """What there is; at least the part for the question's reader."""

    class Exchange(Protocol):
        """exchange.py: what one of its files says, as the fields of an initiative, for a protocol
        that keeps those.
        """

        def read_fields(self, cwd: str, name: str, now: int) -> dict[str, str | list[str]]:
            """Raises CheckpointError if the file with that name cannot be read."""

        def write_fields(
            self, cwd: str, name: str, fields: Mapping[str, str], now: int, env: Mapping[str, str]
        ) -> tuple[str, list[Finding], list[Finding]]:
            """(the file's path, why nothing was written, what is wrong since the write)."""

else:  # for a field's type in quotes `typing` calls compile(), whose first call makes all of `ast`: 3 ms of a start
    CheckFile = Layout = PageParts = Rules = Any


def find_files(folder: str) -> list[str]:
    """Absolute paths of the files of every kind with a folder of its own, by kind and name. Raises
    CheckpointError.
    """
    found = []
    for kind in KINDS:
        inner = os.path.join(folder, kind.folder)
        try:
            names = sorted(os.listdir(inner)) if kind.folder else []
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            hint = "check the folder's owner and permissions"
            raise CheckpointError(f"{inner} cannot be read: {error.strerror}", hint) from None
        found += [os.path.join(inner, name) for name in names if kind.has_name(name)]

    return found


def find_scattered_files(folder: str) -> list[str]:
    """The files of kinds without a folder of their own, as their protocols find them, below a
    folder too.
    """
    parts = [load_part(row, "validate") for row in PROTOCOLS]
    return [path for part in parts if part is not None for path in part.find_files(folder)]


Reader = Literal["status", "prime", "report", "completion"]


class StatusQuestion(NamedTuple):
    """form: the --format; only what it shows is made. The others: asked of `status`; since as
    typed. height: lines of the screen that the answer should fit, 0 for any.
    """

    place: Place
    now: int
    env: Mapping[str, str]
    reader: Reader
    form: str = ""
    skill: str | None = None
    brief: bool = False
    since: str | None = None
    short: bool = False
    worktrees: bool = False
    merged: bool = False
    height: int = 0

    @property
    def is_narrow(self) -> bool:
        return self.skill is not None or (self.since is not None and self.reader == "status")


class Summary(NamedTuple):
    """What there is of one protocol in a project, which a tool puts together with the others'.
    data: members of the JSON document. findings: the first error of each broken file. For `status`:
    lead, what is shown above everything else, and blocks. For `prime`, as clean() returns them:
    lines, and details that are left out first. For completion: names, "KIND" or "VERB KIND WORD..."
    (what a parser calls the next word, and the words before it) -> what it may be; ":files" leaves
    it to the shell. For `report`: page; without it lead and blocks are shown there.
    """

    data: Mapping[str, Any] = {}
    findings: Sequence[Finding] = ()
    lead: Sequence[Block] = ()
    blocks: Sequence[Block] = ()
    lines: Sequence[str] = ()
    details: Sequence[str] = ()
    names: Mapping[str, Sequence[str]] = {}
    page: PageParts | None = None


def open_exchange() -> "Exchange":
    return cast("Exchange", load_part(PROTOCOLS[0], "exchange"))


def read_summaries(question: StatusQuestion) -> Iterator[Summary]:
    # The first protocol is always asked, since that there are no checkpoints yet is worth saying
    # too, and it alone where the question is narrow. For completion all are asked: some names do
    # not depend on the project.
    for row in PROTOCOLS[:1] if question.is_narrow else PROTOCOLS:
        module = cast("Summarizer | None", load_part(row, "summary"))
        if module and (
            row is PROTOCOLS[0]
            or question.reader == "completion"
            or module.is_present(question.place)
        ):
            yield module.summarize(question)


def find_project(cwd: str) -> Place:
    """Where the checkpoints are; if there are none beside what another protocol has, where they
    would be.
    """
    try:
        return find_place(cwd)
    except CheckpointError:
        planned = plan_place(cwd)
        parts = (cast("Summarizer | None", load_part(row, "summary")) for row in PROTOCOLS)
        if os.path.lexists(planned.directory) or not any(
            part and part.is_present(planned) for part in parts
        ):
            raise
        return planned


def load_part(row: ProtocolRow, name: str) -> ModuleType | None:
    """Return the module that offers a part of the contract, None if a protocol has no such part."""
    module = row.parts.get(name, name)
    path = os.path.join(os.path.dirname(__file__), row.name, *module.split("."))
    return import_module(f"{row.package}.{module}") if os.path.isfile(f"{path}.py") else None


# what tools call of a protocol at moments that are not its own

Hook = Literal[
    "after_commit",  # (cwd, env) -> None: git has made a commit, or merged
    "after_turn",  # (cwd, env, has_worked) -> None: of summary.py: an agent's turn ends
    # (files, cwd, now, env) -> list[Finding]: warnings about the (path, content) that a push brings
    "check_push",
    "check_together",  # (documents, *, is_all) -> list[Finding]: of files with fixed names
    # (context) -> (how many the doctor looks at, path -> its JSON text or None, paths of those that
    # are over for long)
    "open_documents",  # raises without any
    "count_untracked",  # (work_tree, env) -> int: what there is of the row's `local` paths
    # (place, now, *, wanted, dry_run) -> list[str]: files that name their schema from now on, or
    # not
    "name_schemas",
]


def find_hooks(name: Hook, part: str = "hooks") -> Iterator[Callable[..., Any]]:
    # In the order of the registry; most protocols have none. part: a module for what must start
    # fast
    for row in PROTOCOLS:
        function = getattr(load_part(row, part), name, None)
        if function is not None:
            yield function


class Room(NamedTuple):
    """check_file: None if files are JSON."""

    layout: Layout
    rules: Rules
    schema: Schema
    check_file: CheckFile | None


def skill_layout() -> "SkillLayout":
    return cast("SkillLayout", import_module(f"{PROTOCOLS[0].package}.layout"))


_opened: dict[str, Room] = {}


def open_room(name: str) -> Room:
    """name: of a kind in the registry. Opened once a process."""
    if name not in _opened:
        row, kind = next(
            (row, kind) for row in PROTOCOLS for kind in row.kinds if kind.name == name
        )
        layout: Any = import_module(f"{row.package}.layout")
        rules: Any = import_module(f"{row.package}.rules")
        own = load_part(row, "validate")
        schema = Schema(lambda: load_document(rules.__file__, kind.schema))
        _opened[name] = Room(layout, rules, schema, own.check_file if own else None)
    return _opened[name]


def fix_clock(now: int | None) -> Callable[[], int]:
    """Seconds since 1970, for the Python API: always these, None for the clock's."""
    return lambda: int(time.time()) if now is None else now


def load_document(module: str, name: str) -> Any:
    """The JSON in a file of ours beside a module; module: its __file__."""
    return jsontext.load(read_own(module, name))
