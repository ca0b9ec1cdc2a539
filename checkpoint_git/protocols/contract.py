"""Open the parts of a protocol that tools may use. This module knows no protocol.

Every protocol has layout.py (names and places), schema.json (shape, and how versions merge),
rules.py (meaning beyond shape), store.py (reading and writing) and README.md. Optional are
summary.py (Summarizer), checks.py and fixes.py (for the doctor) and validate.py (check_file and
find_files, for files that are not JSON or have no separate folder).
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
        """summary.py. Every `status` and `prime` imports it, so it imports what it needs late."""

        def is_present(self, place: Place) -> bool:
            """Whether a project has anything of the protocol. It opens no file."""

        def summarize(self, question: "StatusQuestion") -> "Summary":
            """Return at least the part for the question's reader."""

    class Exchange(Protocol):
        """exchange.py: reads and writes a file as the fields of an initiative."""

        def read_fields(self, cwd: str, name: str, now: int) -> dict[str, str | list[str]]:
            """Return the fields. Raises CheckpointError if the file cannot be read."""

        def write_fields(
            self, cwd: str, name: str, fields: Mapping[str, str], now: int, env: Mapping[str, str]
        ) -> tuple[str, list[Finding], list[Finding]]:
            """Return the file's path, the findings that refused the write, and new findings."""

else:
    # for a field's type in quotes `typing` calls compile(), whose first call makes all of `ast`:
    # 3 ms of a start
    CheckFile = Layout = PageParts = Rules = Any


def find_files(folder: str) -> list[str]:
    """Return the absolute paths of the files of every kind with a folder, by kind and name.

    Raises CheckpointError if a folder cannot be read.
    """
    found = []
    for kind in KINDS:
        if not kind.folder:
            continue
        inner = os.path.join(folder, kind.folder)
        try:
            names = sorted(os.listdir(inner))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            hint = "check the folder's owner and permissions"
            raise CheckpointError(f"{inner} cannot be read: {error.strerror}", hint) from None
        found += [os.path.join(inner, name) for name in names if kind.has_name(name)]

    return found


def find_scattered_files(folder: str) -> list[str]:
    """Return the files below a folder of kinds without a folder, as their protocols find them."""
    parts = [load_part(row, "validate") for row in PROTOCOLS]
    return [path for part in parts if part is not None for path in part.find_files(folder)]


Reader = Literal["status", "prime", "report", "completion"]


class StatusQuestion(NamedTuple):
    """What a tool wants to know of a project.

    form: the --format, for which alone the summary is made. The other members are options of
    `status`; since is as it was typed. height: lines of the screen that the summary should fit, 0
    for any.
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
    """The state of one protocol in a project, which a tool shows with that of the others.

    data: members of the JSON document. findings: the first error of each broken file. For `status`:
    lead, shown above everything else, and blocks. For `prime`, as clean() returns them: lines, and
    details, which are left out first. For completion: names, from "KIND" or "VERB KIND WORD..." (a
    parser's name for the next word, and the words before it) to the choices; ":files" leaves it to
    the shell. For `report`: page; without it lead and blocks are shown.
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
    """Yield the summary of each protocol that a project has.

    The first protocol is always asked, as it reports that there are no checkpoints yet. Only that
    one answers a narrow question. For completion all are asked, since some names do not depend on
    the project.
    """
    for row in PROTOCOLS:
        if question.is_narrow and row is not PROTOCOLS[0]:
            return
        module = _load_summarizer(row)
        if module is None:
            continue
        is_asked = row is PROTOCOLS[0] or question.reader == "completion"
        if is_asked or module.is_present(question.place):
            yield module.summarize(question)


def _load_summarizer(row: ProtocolRow) -> "Summarizer | None":
    return cast("Summarizer | None", load_part(row, "summary"))


def find_project(cwd: str) -> Place:
    """Return the place of a project; without checkpoints the planned one, if it has files of
    another protocol.

    Raises CheckpointError if it has neither.
    """
    try:
        return find_place(cwd)
    except CheckpointError:
        planned = plan_place(cwd)
        if os.path.lexists(planned.directory):
            raise
        for row in PROTOCOLS:
            module = _load_summarizer(row)
            if module is not None and module.is_present(planned):
                return planned
        raise


def load_part(row: ProtocolRow, name: str) -> ModuleType | None:
    """Return the module that offers a part of the contract, None if a protocol has no such part."""
    module = row.parts.get(name, name)
    path = os.path.join(os.path.dirname(__file__), row.name, *module.split("."))
    if not os.path.isfile(f"{path}.py"):
        return None
    return import_module(f"{row.package}.{module}")


# the functions of hooks.py, or of another part, that tools call

Hook = Literal[
    # (cwd, env) -> None: git has made a commit, or merged
    "after_commit",
    # (cwd, env, has_worked) -> None: of summary.py: an agent's turn ends
    "after_turn",
    # (files, cwd, now, env) -> list[Finding]: warnings about the (path, content) that a push brings
    "check_push",
    # (documents, *, is_all) -> list[Finding]: of files with fixed names
    "check_together",
    # (context) -> (how many the doctor looks at, path -> its JSON text or None, paths of those that
    # were completed long ago); raises if there are none
    "open_documents",
    # (work_tree, env) -> int: the number of files below the row's `local` paths
    "count_untracked",
    # (place, now, *, wanted, dry_run) -> list[str]: the files whose $schema was set or removed
    "name_schemas",
]


def find_hooks(name: Hook, part: str = "hooks") -> Iterator[Callable[..., Any]]:
    """Yield the functions with this name of the protocols that have one, in their order.

    part: the module, another one for what must start fast.
    """
    for row in PROTOCOLS:
        function = getattr(load_part(row, part), name, None)
        if function is not None:
            yield function


class Room(NamedTuple):
    """The parts of a protocol for one kind of file. check_file: None if files are JSON."""

    layout: Layout
    rules: Rules
    schema: Schema
    check_file: CheckFile | None


def skill_layout() -> "SkillLayout":
    return cast("SkillLayout", import_module(f"{PROTOCOLS[0].package}.layout"))


_opened: dict[str, Room] = {}


def open_room(name: str) -> Room:
    """Return the parts for a kind of the registry. They are opened once a process."""
    if name not in _opened:
        kinds = ((row, kind) for row in PROTOCOLS for kind in row.kinds)
        row, kind = next((row, kind) for row, kind in kinds if kind.name == name)
        layout: Any = import_module(f"{row.package}.layout")
        rules: Any = import_module(f"{row.package}.rules")
        schema = Schema(lambda: load_document(rules.__file__, kind.schema))
        validate = load_part(row, "validate")
        check_file = None
        if validate is not None:
            check_file = validate.check_file
        _opened[name] = Room(layout, rules, schema, check_file)
    return _opened[name]


def fix_clock(now: int | None) -> Callable[[], int]:
    """Return a clock for the Python API, in seconds since 1970. now: that it stands at, or None."""
    if now is None:
        return lambda: int(time.time())
    return lambda: now


def load_document(module: str, name: str) -> Any:
    """Return the JSON in a file of ours beside a module. module: its __file__."""
    return jsontext.load(read_own(module, name))
