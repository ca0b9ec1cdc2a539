"""The server's file read and written directly, for when there is no server: line by line, others' lines untouched.

It knows no server. One that runs meanwhile reads the file at every call, but may overwrite what is written here.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk import atomic
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.layout import check_graph_path, lock_name
from checkpoint_git.protocols.memory.transports.contract import GraphError

MAX_BYTES = 256 * 1024 * 1024
BROKEN_HINT = "`checkpoint memory doctor --fix` moves the file aside and keeps every line that can be read"


class GraphLine(NamedTuple):
    """One line of the file. value: None where it is no JSON object."""

    text: str
    value: dict[str, Any] | None


class Salvage(NamedTuple):
    """aside: where the broken file lies now. kept and lost: how many lines."""

    aside: str
    kept: int
    lost: int


class JsonlTransport:
    """path: of the file, absolute; it need not exist. lock_folder: where the lock of our own writers lies."""

    def __init__(self, path: str, lock_folder: str) -> None:
        self.path = check_graph_path(path)
        self._lock = graph_lock(self.path, lock_folder)

    def read_graph(self) -> list[Entity]:
        """All entities."""
        return [_entity(line.value) for line in self._load() if line.value and line.value.get("type") == "entity"]

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """Those with these names, with their relations."""
        edges = [line.value for line in self._load() if line.value and line.value.get("type") == "relation"]
        return [
            entity._replace(
                relations=tuple(edge for edge in edges if entity.name in (edge.get("from"), edge.get("to")))
            )
            for entity in self.read_graph()
            if entity.name in names
        ]

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """Appends those whose names are free."""
        lines = self._load()
        taken = {line.value.get("name") for line in lines if line.value and line.value.get("type") == "entity"}
        new = [entity for entity in entities if entity.name not in taken]
        at = next((at for at, line in enumerate(lines) if (line.value or {}).get("type") == "relation"), len(lines))
        self._write([*lines[:at], *map(_line_of, new), *lines[at:]])
        return [entity.name for entity in new]

    def add_observations(self, name: str, contents: Sequence[str]) -> None:
        """Appends what is new. Raises GraphError where there is no such entity."""
        if not self._change(name, lambda found: [*found, *(text for text in contents if text not in found)]):
            raise GraphError(f"there is no entity {escape_controls(name)}", "")

    def delete_observations(self, name: str, contents: Sequence[str]) -> None:
        """Takes observations away."""
        gone = set(contents)
        self._change(name, lambda found: [text for text in found if text not in gone])

    def delete_entities(self, names: Sequence[str]) -> None:
        """Takes entities and their relations away."""
        self._write([line for line in self._load() if not _belongs(line.value or {}, names)])

    def exclusive(self) -> AbstractContextManager[None]:
        """The lock of all our processes that write to this graph."""
        return self._lock()

    def _change(self, name: str, change: Callable[[list[str]], list[str]]) -> bool:
        lines, found = self._load(), False
        for at, line in enumerate(lines):
            if line.value and line.value.get("type") == "entity" and line.value.get("name") == name:
                observations = change(list(_entity(line.value).observations))
                value = {**line.value, "observations": observations}
                lines[at], found = GraphLine(_dump(value), value), True
                break
        if found:
            self._write(lines)
        return found

    def _load(self) -> list[GraphLine]:
        lines = read_lines(self.path)
        broken = [at for at, line in enumerate(lines, 1) if line.value is None]
        if broken:
            message = f"{escape_controls(self.path)}: line {broken[0]} is not JSON, and so no server reads the graph"
            raise GraphError(message, BROKEN_HINT)
        return lines

    def _write(self, lines: list[GraphLine]) -> None:
        atomic.make_folder(os.path.dirname(self.path))
        atomic.write_file(self.path, "\n".join(line.text for line in lines).encode("utf-8", "surrogateescape"))


def graph_lock(what: str, lock_folder: str) -> Callable[[], AbstractContextManager[None]]:
    """How to hold the lock of a graph. what: its path, else the command of its server."""

    @contextmanager
    def hold() -> Iterator[None]:
        atomic.make_folder(lock_folder)
        name = lock_name(os.path.realpath(what) if os.path.isabs(what) else what)
        with hold_lock(os.path.join(lock_folder, name)):
            yield

    return hold


def read_lines(path: str) -> list[GraphLine]:
    """The lines of a graph's file, empty ones left out; [] where there is no file. Raises CheckpointError."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"{escape_controls(path)} could not be read: {error.strerror}"
        raise CheckpointError(message, "name a file that you may read") from None
    if len(data) > MAX_BYTES:
        raise CheckpointError(f"{escape_controls(path)} has more than {MAX_BYTES} bytes", "use a server for it")
    texts = data.decode("utf-8", "surrogateescape").split("\n")
    return [GraphLine(text, _parse(text)) for text in texts if text.strip()]


def salvage(path: str, aside: str) -> Salvage:
    """Moves a broken file aside, whole, and puts the lines that can be read into its place.

    aside: a path that is free. The order makes sure that a kill leaves the file as it was or the whole of it aside.
    """
    lines = read_lines(path)
    good = [line.text for line in lines if line.value is not None]
    try:
        os.link(path, aside)
    except OSError as error:
        raise atomic.write_error(aside, error) from None
    atomic.write_file(path, "\n".join(good).encode("utf-8", "surrogateescape"))
    return Salvage(aside, len(good), len(lines) - len(good))


def _parse(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entity(value: dict[str, Any]) -> Entity:
    observations = value.get("observations")
    texts = [text for text in observations if isinstance(text, str)] if isinstance(observations, list) else []
    return Entity(str(value.get("name", "")), str(value.get("entityType", "")), tuple(texts))


def _line_of(entity: Entity) -> GraphLine:
    value = {
        "type": "entity",
        "name": entity.name,
        "entityType": entity.entity_type,
        "observations": list(entity.observations),
    }
    return GraphLine(_dump(value), value)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _belongs(value: dict[str, Any], names: Sequence[str]) -> bool:
    """Whether a line is one of these entities, or a relation of one."""
    keys = {"entity": ("name",), "relation": ("from", "to")}.get(str(value.get("type")), ())
    return any(value.get(key) in names for key in keys)
