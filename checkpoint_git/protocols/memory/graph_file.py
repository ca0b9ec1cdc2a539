"""Read the file of a memory server's graph, and repair it while no server runs.

Only a server writes to its graph. A repair is the exception, since no server can read a damaged
file.
"""

import codecs
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.process import Command, read_own_commands
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.memory.layout import FILE_VARIABLE, SERVER_FILE, find_default_graph

MAX_BYTES = 256 * 1024 * 1024
_TEXTS = {  # the texts that a server needs of each kind of line
    "entity": ("name", "entityType"),
    "relation": ("from", "to", "relationType"),
}
_DEPTH = 64  # of brackets in brackets; an entity's are two
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[\[\]{}]')  # or a string, whose brackets do not count
# more than the punctuation between objects, or a byte order mark
_WORD = re.compile(r"[^\s,\[\]\ufeff]")
_SERVER_PROGRAM = "mcp-server-memory"  # as npm links it
_NAME_ANOTHER = advise(
    "name another one", "git", "config", "checkpoint.memoryFile", Blank("path", "PATH")
)


class GraphLine(NamedTuple):
    """One line of the file. value: None if it is not a JSON object."""

    text: str
    value: dict[str, Any] | None

    def is_a(self, kind: str) -> bool:
        return self.value is not None and self.value.get("type") == kind


def graph_lock(what: str, lock_folder: str) -> Callable[[], AbstractContextManager[None]]:
    """Return how to hold the lock of a graph. what: its path, else the command of its server."""

    @contextmanager
    def hold() -> Iterator[None]:
        atomic.make_folder(lock_folder)
        named = os.path.realpath(what) if os.path.isabs(what) else what
        digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()
        with hold_lock(os.path.join(lock_folder, f"memory-{digest[:32]}.lock")):
            yield

    return hold


def check_graph_file(path: str) -> None:
    """Make the folder of a missing file.

    Raises CheckpointError if no server could read or write it: a folder, a pipe, no permission.
    """
    why = "it is not a regular file"  # a FIFO would keep its reader waiting
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        atomic.make_folder(os.path.dirname(os.path.realpath(path)))
        return
    except OSError as error:
        why = error.strerror or why

    message = f"the graph's file {escape_controls(path)} cannot be used: {why}"
    raise CheckpointError(message, _NAME_ANOTHER)


def read_lines(path: str) -> list[GraphLine]:
    """Return the lines without the empty ones; [] if there is no file. Raise CheckpointError."""
    check_graph_file(path)
    data = read_content(path, os.sep, MAX_BYTES)
    if isinstance(data, FileNotFoundError):
        return []
    if isinstance(data, OSError):
        message = f"{escape_controls(path)} could not be read: {data.strerror}"
        raise CheckpointError(message, _NAME_ANOTHER)

    return [_read_line(line) for line in _decode(data).split("\n") if line.strip()]


def _decode(data: bytes) -> str:
    # No server reads UTF-16, as PowerShell writes it. The byte order mark stays: line 1 needs
    # repair
    if data.startswith(codecs.BOM_UTF16_LE):
        return data.decode("utf-16-le", "replace")
    if data.startswith(codecs.BOM_UTF16_BE):
        return data.decode("utf-16-be", "replace")
    return data.decode("utf-8", "surrogateescape")


def _read_line(text: str) -> GraphLine:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return GraphLine(text, value if isinstance(value, dict) else None)


class Repair(NamedTuple):
    """The result of a repair, or its plan.

    lines: as a server can read them. faults: (a line's number, what is wrong). lost: the number of
    lines that are dropped.
    """

    lines: list[GraphLine]
    faults: list[tuple[int, str]]
    lost: int


def plan_repair(lines: list[GraphLine]) -> Repair:
    """Return what can be kept of these lines; entities that are there twice become one."""
    builder = _RepairBuilder()
    numbered = list(enumerate(lines, 1))
    for is_broken, group in groupby(numbered, lambda row: row[1].value is None):
        rows = list(group)
        if not is_broken:
            for number, line in rows:
                builder.add(number, line)
            continue
        for number, line in _split_rows(rows):
            builder.add(number, line, was_split=line is not lines[number - 1])

    return builder.finish()


class _RepairBuilder:
    def __init__(self) -> None:
        self._lines: list[GraphLine] = []
        self._faults: list[tuple[int, str]] = []
        self._lost = 0
        self._places: dict[str, int] = {}  # the name of an entity -> where its line is
        # where a line is -> the texts of all entities with its name
        self._texts: dict[int, dict[str, None]] = {}

    def add(self, number: int, line: GraphLine, *, was_split: bool = False) -> None:
        value, fault = _repair_value(line.value)
        if value is None:
            self._faults.append((number, fault))
            if _WORD.search(line.text):  # a bracket does not count as lost
                self._lost += 1
            return

        name = value["name"] if line.is_a("entity") else None
        if name is not None and name in self._places:
            self._join(self._places[name], value["observations"])
            shown = shorten(escape_controls(name), 60)
            self._faults.append((number, f'the entity "{shown}" appears twice'))
            return

        if was_split and not fault:
            fault = "not one JSON object"
        if name is not None:
            self._places[name] = len(self._lines)
        if fault:
            self._faults.append((number, fault))
            line = _write_line(value)

        self._lines.append(line)

    def _join(self, place: int, observations: list[str]) -> None:
        if place not in self._texts:
            first = self._lines[place].value or {}
            self._texts[place] = dict.fromkeys(first["observations"])
        self._texts[place].update(dict.fromkeys(observations))

    def finish(self) -> Repair:
        for place, texts in self._texts.items():
            value = self._lines[place].value or {}
            self._lines[place] = _write_line({**value, "observations": list(texts)})
        return Repair(self._lines, self._faults, self._lost)


def _split_rows(rows: list[tuple[int, GraphLine]]) -> list[tuple[int, GraphLine]]:
    """Return the objects in lines that are not JSON line by line, such as an array over several
    lines.

    All get the first line's number. Text without an object is a line without a value.
    """
    first = rows[0][0]
    text = "\n".join(line.text for _, line in rows)
    found: list[tuple[int, GraphLine]] = []
    end = 0
    while word := _WORD.search(text, end):
        start = word.start()
        value = None
        if word[0] == "{":
            value, end = _read_object(text, start)
        if value is None:
            end = text.find("\n", start)
            if end < 0:
                end = len(text)
        found.append((first, GraphLine(text[start:end], value)))

    return found or rows


def _read_object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return the object that begins there and its end; None for a broken or a too deep one."""
    # The depth is bounded: of objects left open in one another, each would be read to the end of
    # the text
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        if mark[0] in ("{", "["):
            depth += 1
        elif mark[0] in ("}", "]"):
            depth -= 1
        if depth == 0:
            value = _read_line(text[start : mark.end()]).value
            if value is None:
                return None, start
            return value, mark.end()
        if depth > _DEPTH:
            break

    return None, start


def _repair_value(value: dict[str, Any] | None) -> tuple[dict[str, Any] | None, str]:
    """Return the value as a server takes it, or None if it cannot be, and what was wrong with
    it.
    """
    if value is None:
        return None, "not JSON"

    kind = str(value.get("type"))
    for key in _TEXTS.get(kind, ()):
        if not isinstance(value.get(key), str):
            return None, f"{kind}: its {key} is not a text"

    if kind != "entity":
        return value, ""

    observations = value.get("observations")
    if not isinstance(observations, list):
        observations = [observations]
    elif all(isinstance(text, str) for text in observations):
        return value, ""

    texts = []
    for text in observations:
        if isinstance(text, str):
            texts.append(text)
        elif text is not None:
            texts.append(json.dumps(text))

    return {**value, "observations": texts}, "observations that are not texts"


def find_servers(graph: str, command: Sequence[str]) -> list[int]:
    """Return the process ids of this user's memory servers that may use this graph.

    command: of the configured server. A server opens its file at each call only, so it is known by
    its program, and left out where its environment names another graph. Another user's server, or
    one on another machine that shares the folder, is not seen.
    """
    servers = [process for process in read_own_commands() if _is_server(process.words, command)]
    return [process.number for process in servers if _may_use(process, graph)]


def _may_use(process: Command, graph: str) -> bool:
    named = process.env.get(FILE_VARIABLE, "")
    if not named and process.env:
        named = find_default_graph(process.words)
    return not os.path.isabs(named) or os.path.realpath(named) == os.path.realpath(graph)


def _is_server(words: Sequence[str], command: Sequence[str]) -> bool:
    for word in words:
        if word.endswith(SERVER_FILE) or os.path.basename(word) == _SERVER_PROGRAM:
            return True
    if not command or len(words) < len(command):
        return False
    # At the end: an interpreter precedes a script
    program, *arguments = words[-len(command) :]
    is_same_program = os.path.basename(program) == os.path.basename(command[0])
    return is_same_program and arguments == list(command[1:])


def salvage(path: str, aside: str) -> Repair:
    """Replace the file by what can be read of it. aside: a free path, where the file is kept."""
    repair = plan_repair(read_lines(path))
    with atomic.reporting(aside):
        os.link(path, aside)  # first, so that a kill leaves the file as it was, or all of it aside
    content = "\n".join(line.text for line in repair.lines)
    atomic.write_file(path, content.encode("utf-8", "surrogateescape"))
    return repair


def _write_line(value: dict[str, Any]) -> GraphLine:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # halves of pairs: in JSON, but not in UTF-8
    if re.search("[\ud800-\udc7f\udd00-\udfff]", text):
        text = json.dumps(value, separators=(",", ":"))
    return GraphLine(text, value)
