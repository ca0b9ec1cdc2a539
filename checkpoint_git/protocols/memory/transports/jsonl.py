"""The server's file, read and written without a server: line by line, lines of other clients untouched."""

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
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.memory.entity import Entity, Steps
from checkpoint_git.protocols.memory.layout import check_graph_path
from checkpoint_git.protocols.memory.transports import BROKEN_HINT, GraphError, entity_json, read_entities

MAX_BYTES = 256 * 1024 * 1024
_TEXTS = {"entity": ("name", "entityType"), "relation": ("from", "to", "relationType")}  # what a server needs of each
_DEPTH = 64  # of brackets in brackets; an entity's are two
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[\[\]{}]')  # one in a string is none; a string ends with its line
_WORD = re.compile(r"[^\s,\[\]\ufeff]")  # what is more than the punctuation between objects, or a byte order mark


class GraphLine(NamedTuple):
    """One line of the file. value: None where it is not a JSON object."""

    text: str
    value: dict[str, Any] | None

    def is_a(self, kind: str) -> bool:
        return self.value is not None and self.value.get("type") == kind

    def get(self, key: str) -> Any:
        return (self.value or {}).get(key)


# A server that runs meanwhile reads the file at every call, but may overwrite what is written here.
class JsonlTransport:
    """path: of the file, absolute; it need not exist. lock_folder: where our own processes' lock file goes."""

    def __init__(self, path: str, lock_folder: str) -> None:
        self.path = check_graph_path(path)
        self.exclusive = graph_lock(self.path, lock_folder)

    def read_graph(self) -> list[Entity]:
        return read_entities(line.value for line in self._load() if line.is_a("entity"))

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        lines = self._load()
        named = (line.value for line in lines if line.is_a("entity") and line.get("name") in names)
        return read_entities(named, (line.value for line in lines if line.is_a("relation")))

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        # Behind the last entity, as the server does
        lines = self._load()
        taken = {line.get("name") for line in lines if line.is_a("entity")}
        new = [entity for entity in entities if entity.name not in taken]
        at = next((at for at, line in enumerate(lines) if line.is_a("relation")), len(lines))
        added = [_write_line({"type": "entity", **entity_json(entity)}) for entity in new]
        self._write([*lines[:at], *added, *lines[at:]])
        return [entity.name for entity in new]

    def change_observations(self, name: str, steps: Steps) -> None:
        gone, lines = {*steps.leftovers, *steps.delete}, self._load()
        for at, line in enumerate(lines):
            if line.value is not None and line.is_a("entity") and line.get("name") == name:
                kept = [text for text in read_entities([line.value])[0].observations if text not in gone]
                lines[at] = _write_line({**line.value, "observations": list(dict.fromkeys([*kept, *steps.add]))})
                self._write(lines)
                return
        raise GraphError(f"no entity named {escape_controls(name)}", "")

    def delete_entities(self, names: Sequence[str]) -> None:
        keys = {"entity": ("name",), "relation": ("from", "to")}
        lines = self._load()
        gone = [any(line.get(key) in names for key in keys.get(str(line.get("type")), ())) for line in lines]
        self._write([line for line, is_gone in zip(lines, gone, strict=True) if not is_gone])

    def _load(self) -> list[GraphLine]:
        lines = read_lines(self.path)
        broken = [at for at, line in enumerate(lines, 1) if line.value is None]
        if broken:  # one truncated line makes every tool of the server fail
            message = f"{escape_controls(self.path)}: line {broken[0]} is not JSON, so no server can read the graph"
            raise GraphError(message, BROKEN_HINT)
        return lines

    def _write(self, lines: list[GraphLine]) -> None:
        atomic.make_folder(os.path.dirname(self.path))
        atomic.write_file(self.path, _file_bytes(lines))


def graph_lock(what: str, lock_folder: str) -> Callable[[], AbstractContextManager[None]]:
    """How to hold the lock of a graph. what: its path, else the command of its server."""

    @contextmanager
    def hold() -> Iterator[None]:
        atomic.make_folder(lock_folder)
        named = os.path.realpath(what) if os.path.isabs(what) else what
        digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()
        with hold_lock(os.path.join(lock_folder, f"memory-{digest[:32]}.lock")):
            yield

    return hold


def check_graph_file(path: str) -> None:
    """Makes the folder of a missing one. Raises CheckpointError for what no server could read or write there."""
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
    raise CheckpointError(message, "name another one: git config checkpoint.memoryFile PATH")


def read_lines(path: str) -> list[GraphLine]:
    """Empty ones are left out; [] where there is no file. Raises CheckpointError."""
    check_graph_file(path)
    data = read_content(path, os.sep, MAX_BYTES)
    if isinstance(data, FileNotFoundError):
        return []
    if isinstance(data, OSError):
        message = f"{escape_controls(path)} could not be read: {data.strerror}"
        raise CheckpointError(message, "name a file that you may read, or use a server for a large one")
    # no server reads UTF-16, as PowerShell writes it: its byte order mark stays, and makes line 1 one to repair
    utf_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(data[:2])
    text = data.decode(utf_16, "replace") if utf_16 else data.decode("utf-8", "surrogateescape")
    return [_read_line(line) for line in text.split("\n") if line.strip()]


def _read_line(text: str) -> GraphLine:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return GraphLine(text, value if isinstance(value, dict) else None)


class Repair(NamedTuple):
    """lines: as a server can read them. faults: (number of a line, what is wrong with it). lost: lines left out."""

    lines: list[GraphLine]
    faults: list[tuple[int, str]]
    lost: int


def plan_repair(lines: list[GraphLine]) -> Repair:
    found, places, lost = Repair([], [], 0), dict[str, int](), 0
    joined: dict[int, dict[str, None]] = {}  # the place of an entity that is there again -> its texts, each once
    groups = groupby(enumerate(lines, 1), lambda row: row[1].value is None)
    for at, line in (one for _, rows in groups for one in _split_rows([*rows])):
        value, fault = _repair_value(line.value)
        fault = fault or ("" if line is lines[at - 1] else "not one JSON object")
        twice = places.get(str(value["name"])) if value and line.is_a("entity") else None
        if value and twice is not None:
            first = found.lines[twice].value or {}
            texts = joined.setdefault(twice, dict.fromkeys(first["observations"]))
            texts.update(dict.fromkeys(value["observations"]))
            fault = f'the entity "{shorten(escape_controls(value["name"]), 60)}" is there twice'
        elif value:
            if line.is_a("entity"):
                places[value["name"]] = len(found.lines)
            found.lines.append(_write_line(value) if fault else line)
        lost += value is None and _WORD.search(line.text) is not None  # a bracket is no loss
        if fault:
            found.faults.append((at, fault))
    for place, texts in joined.items():
        found.lines[place] = _write_line({**(found.lines[place].value or {}), "observations": [*texts]})
    return found._replace(lost=lost)


def _split_rows(rows: list[tuple[int, GraphLine]]) -> list[tuple[int, GraphLine]]:
    """What is not JSON line by line, such as an array, in its objects; where none begins, that line without a value."""
    text, end, found = "\n".join(line.text for _, line in rows), 0, list[tuple[int, GraphLine]]()
    while rows[0][1].value is None and (word := _WORD.search(text, end)):
        start = word.start()
        value, end = _read_object(text, start) if word[0] == "{" else (None, start)
        if value is None:
            end = text.find("\n", start) % (len(text) + 1)  # -1: the end
        found.append((rows[0][0], GraphLine(text[start:end], value)))
    return found or rows


def _read_object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """(the object that begins there, its end); None for a broken one, or one deeper than _DEPTH."""
    depth = 0  # bounded, so that objects left open, each in the one before, are not all read to the end of the text
    for mark in _BRACKET.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
        if depth == 0:
            value = _read_line(text[start : mark.end()]).value
            return value, start if value is None else mark.end()
        if depth > _DEPTH:
            break
    return None, start


def _repair_value(value: dict[str, Any] | None) -> tuple[dict[str, Any] | None, str]:
    """(the value as a server takes it, None where it cannot be one; what was wrong with it)."""
    if value is None:
        return None, "not JSON"
    kind = str(value.get("type"))
    if wrong := [key for key in _TEXTS.get(kind, ()) if not isinstance(value.get(key), str)]:
        return None, f"{kind}: its {wrong[0]} is not a text"
    texts = value.get("observations")
    if kind != "entity" or (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        return value, ""
    listed = texts if isinstance(texts, list) else [texts]
    texts = [text if isinstance(text, str) else json.dumps(text) for text in listed if text is not None]
    return {**value, "observations": texts}, "observations that are not texts"


def salvage(path: str, aside: str) -> Repair:
    """Puts what can be read into the file's place, which is moved whole to aside, a free path."""
    repair = plan_repair(read_lines(path))
    with atomic.reporting(aside):
        os.link(path, aside)  # first, so that a kill leaves the file as it was, or all of it aside
    atomic.write_file(path, _file_bytes(repair.lines))
    return repair


def _file_bytes(lines: list[GraphLine]) -> bytes:
    return "\n".join(line.text for line in lines).encode("utf-8", "surrogateescape")


def _write_line(value: dict[str, Any]) -> GraphLine:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if re.search("[\ud800-\udc7f\udd00-\udfff]", text):  # halves of pairs, which JSON can spell and no file can hold
        text = json.dumps(value, separators=(",", ":"))
    return GraphLine(text, value)
