"""The interface of a way to a graph; stdio.py is the one to a running server."""

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
    """Raised if no server answers; work goes on without a checkpoint."""


class GraphError(CheckpointError):
    """Raised if the server reports that a call failed, mostly because it cannot read its graph."""


class Transport(Protocol):
    """A graph: one call at a time, each done when it returns.

    Every call may raise UnavailableError or GraphError.
    """

    def read_graph(self) -> list[Entity]:
        """Return all entities, without relations."""

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """Return the entities with these names, each with its relations."""

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """Create entities, and return their names; one that exists stays as it is, unnamed."""

    def change_observations(self, name: str, steps: Steps) -> None:
        """Do one step after the other, so a kill leaves some of them.

        Raises GraphError for a missing entity.
        """

    def delete_entities(self, names: Sequence[str]) -> None:
        """Delete entities with their relations; a missing one is not an error."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep our own other processes from writing to this graph during a `with` block."""


def read_entities(values: Iterable[Any], relations: Iterable[Any] = ()) -> list[Entity]:
    """Return entities from JSON as the server writes it, each with the relations that touch it."""
    edges = [edge for edge in relations if isinstance(edge, dict)]
    return [_read_entity(value, edges) for value in values]


def _read_entity(value: Any, edges: Sequence[dict[str, Any]]) -> Entity:
    if not isinstance(value, dict):
        value = {}
    name = str(value.get("name", ""))
    texts = value.get("observations")
    if not isinstance(texts, list):
        texts = []

    observations = tuple(text for text in texts if isinstance(text, str))
    touching = tuple(edge for edge in edges if name in (edge.get("from"), edge.get("to")))
    return Entity(name, str(value.get("entityType", "")), observations, touching)


def entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "name": entity.name,
        "entityType": entity.entity_type,
        "observations": list(entity.observations),
    }
