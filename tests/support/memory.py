"""The real memory server, installed once for all test runs of this user, and servers that
misbehave.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.protocols.memory.entity import Entity, Steps
from checkpoint_git.protocols.memory.graph_file import graph_lock
from checkpoint_git.protocols.memory.layout import SERVER_PACKAGE, SERVER_VERSION, server_script
from checkpoint_git.protocols.memory.transports import (
    BROKEN_HINT,
    TOOLS,
    GraphError,
    entity_json,
    read_entities,
    stdio,
)
from checkpoint_git.protocols.memory.transports.stdio import StdioTransport, open_server
from tests.support.npm import install_packages
from tests.support.repos import GitRepo

OTHERS = (
    '{"type":"entity","name":"Ada","entityType":"person","observations":["likes: tea","phase:adult"]}',
    '{"type":"entity","name":"checkpoint","entityType":"checkpoint","observations":["initiative:another"]}',
    '{"type":"relation","from":"Ada","to":"checkpoint","relationType":"wrote"}',
)


def find_script() -> str:
    """The server's program; installed where it is missing. Skips, saying why, where that cannot
    be.
    """
    script = server_script("")
    return str(
        install_packages("memory-server", script, f"{SERVER_PACKAGE}@{SERVER_VERSION}") / script
    )


def put_graph(path: Path, *lines: str) -> Path:
    """A graph's file with what other clients left, then these lines; written as the server
    writes.
    """
    path.write_text("\n".join([*OTHERS[:2], *lines, OTHERS[2]]), "utf-8")
    return path


def entity_line(*observations: str, name: str = "initiative-checkpoint") -> str:
    """An entity as the server writes it."""
    value = {
        "type": "entity",
        "name": name,
        "entityType": "checkpoint",
        "observations": list(observations),
    }
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def read_observations(path: Path, name: str = "initiative-checkpoint") -> list[str]:
    """The observations of an entity as the graph's file has them; AssertionError where it is not
    there once.
    """
    values = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    found = [value for value in values if value.get("name") == name]
    assert len(found) == 1, found
    return list(found[0]["observations"])


def others_are_whole(path: Path) -> bool:
    """Whether every line of the other clients stands in the graph's file byte for byte."""
    return set(OTHERS) <= set(path.read_text("utf-8").splitlines())


def configure(repo: GitRepo, command: str, graph: Path | None = None) -> None:
    """Sets the server of a repository."""
    repo.git("config", "checkpoint.memoryCommand", command)
    if graph is not None:
        repo.git("config", "checkpoint.memoryFile", str(graph))


@contextmanager
def start_server(script: str, graph: Path) -> Iterator[StdioTransport]:
    """A running server on a graph."""
    env = {"MEMORY_FILE_PATH": str(graph)}
    lock = graph_lock(str(graph), str(graph.parent / "locks"))
    with open_server(("node", script), env, str(graph.parent), lock, 30.0) as transport:
        yield transport


def write_server(path: Path, body: str) -> str:
    """A program that takes a server's place; the command that starts it."""
    path.write_text(f"import json, os, sys, time\n{body}\n", "utf-8")
    return shlex.join([sys.executable, str(path)])


class MemoryTransport:
    """A graph that ends with the process, with the habits of the reference server. entities: by
    name, in order.
    """

    def __init__(self, entities: Sequence[Entity] = ()) -> None:
        self.entities = {entity.name: entity for entity in entities}

    def read_graph(self) -> list[Entity]:
        return list(self.entities.values())

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        return [entity for name, entity in self.entities.items() if name in names]

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        new = [entity for entity in entities if entity.name not in self.entities]
        self.entities.update((entity.name, entity) for entity in new)
        return [entity.name for entity in new]

    def change_observations(self, name: str, steps: Steps) -> None:
        if name not in self.entities:
            raise GraphError(f"no entity named {name}", "")
        before, gone = self.entities[name], {*steps.leftovers, *steps.delete}
        left = [text for text in before.observations if text not in gone]
        self.entities[name] = before._replace(
            observations=tuple(dict.fromkeys([*left, *steps.add]))
        )

    def delete_entities(self, names: Sequence[str]) -> None:
        for name in names:
            self.entities.pop(name, None)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        yield


class FileServer:
    """A reference server's habits on a graph's file, without a process: it reads the file at every
    call, writes all of it, and refuses every call while one line is broken.
    """

    server, tools = "stand-in 1", TOOLS

    def __init__(self, path: Path, lock: Callable[[], AbstractContextManager[None]]) -> None:
        self._path, self.exclusive = path, lock

    def _load(self, kind: str) -> list[dict[str, Any]]:
        text = self._path.read_text("utf-8", "surrogateescape") if self._path.exists() else ""
        try:
            values = [json.loads(line) for line in text.split("\n") if line.strip()]
            return [value for value in values if value["type"] == kind]
        except (ValueError, LookupError, TypeError):
            raise GraphError(
                "the server refused: a line of its graph is broken", BROKEN_HINT
            ) from None

    def _store(
        self, entities: Sequence[Mapping[str, Any]], relations: Sequence[Mapping[str, Any]]
    ) -> None:
        lines = (
            json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            for value in (*entities, *relations)
        )
        self._path.write_text("\n".join(lines), "utf-8")

    def read_graph(self) -> list[Entity]:
        return read_entities(self._load("entity"))

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        return read_entities(
            [row for row in self._load("entity") if row["name"] in names], self._load("relation")
        )

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        rows = self._load("entity")
        taken = {row["name"] for row in rows}
        new = [entity for entity in entities if entity.name not in taken]
        rows += [{"type": "entity", **entity_json(entity)} for entity in new]
        self._store(rows, self._load("relation"))
        return [entity.name for entity in new]

    def change_observations(self, name: str, steps: Steps) -> None:
        rows, gone = self._load("entity"), {*steps.leftovers, *steps.delete}
        row = next((row for row in rows if row["name"] == name), None)
        if row is None:
            raise GraphError(f"no entity named {name}", "")
        kept = [text for text in row["observations"] if text not in gone]
        row["observations"] = list(dict.fromkeys([*kept, *steps.add]))
        self._store(rows, self._load("relation"))

    def delete_entities(self, names: Sequence[str]) -> None:
        entities = [row for row in self._load("entity") if row["name"] not in names]
        relations = [
            row for row in self._load("relation") if not {row["from"], row["to"]} & {*names}
        ]
        self._store(entities, relations)


def serve_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a FileServer answer in place of whatever command is configured, in this process."""

    @contextmanager
    def open_file(
        words: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        lock: Callable[[], AbstractContextManager[None]],
        timeout: float,
    ) -> Iterator[FileServer]:
        yield FileServer(Path(env["MEMORY_FILE_PATH"]), lock)

    monkeypatch.setattr(stdio, "open_server", open_file)
