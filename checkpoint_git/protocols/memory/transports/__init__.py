"""What a way to a graph offers; stdio.py is the one to a running server."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.protocols.memory.entity import Entity, Steps

TOOLS = (
    "read_graph",
    "open_nodes",
    "create_entities",
    "add_observations",
    "delete_observations",
    "delete_entities",
)
BROKEN_HINT = command(
    "checkpoint", "memory", "doctor", "--fix", more=" repairs the file, and keeps the broken one"
)


class UnavailableError(CheckpointError):
    """No server answers; work goes on without a checkpoint."""


class GraphError(CheckpointError):
    """The server reports that a call failed, mostly because its graph cannot be read."""


class Transport(Protocol):
    """A graph: one call at a time, each done when it returns. Any may raise UnavailableError or
    GraphError.
    """

    def read_graph(self) -> list[Entity]:
        """All entities, without relations."""

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """The entities with these names, each with its relations."""

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """The names of the entities that were created: one that exists is left as it is and not
        among them.
        """

    def change_observations(self, name: str, steps: Steps) -> None:
        """Does one step after the other, so a kill leaves some of them. Raises GraphError for a
        missing entity.
        """

    def delete_entities(self, names: Sequence[str]) -> None:
        """Deletes entities with their relations; a missing one is not an error."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keeps our own other processes from writing to this graph for the length of a `with`
        block.
        """


def read_entities(values: Iterable[Any], relations: Iterable[Any] = ()) -> list[Entity]:
    """Entities from JSON as the server writes it, each with those of the relations that touch
    it.
    """
    edges = [edge for edge in relations if isinstance(edge, dict)]
    found = []
    for value in values:
        value = value if isinstance(value, dict) else {}
        name, texts = str(value.get("name", "")), value.get("observations")
        observations = (
            tuple(text for text in texts if isinstance(text, str))
            if isinstance(texts, list)
            else ()
        )
        touching = tuple(edge for edge in edges if name in (edge.get("from"), edge.get("to")))
        found.append(Entity(name, str(value.get("entityType", "")), observations, touching))

    return found


def entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "name": entity.name,
        "entityType": entity.entity_type,
        "observations": list(entity.observations),
    }
