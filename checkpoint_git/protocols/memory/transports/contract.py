"""What every way to a graph offers: one call at a time, each done when it returns. It knows no way itself."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity


class UnavailableError(CheckpointError):
    """There is no server to talk to, or it stopped answering; work goes on without a checkpoint."""


class GraphError(CheckpointError):
    """The server is there and says that the call failed; a graph that cannot be read is the usual reason."""


class Transport(Protocol):
    """A graph. Every method may raise UnavailableError or GraphError; nothing is retried here."""

    def read_graph(self) -> list[Entity]:
        """All entities, without relations."""

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """The entities with these names, each with its relations."""

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """Makes entities; the names of those that were made: one that exists is left as it is and not among them."""

    def add_observations(self, name: str, contents: Sequence[str]) -> None:
        """Adds observations to an entity that is there; those that it has already are left out."""

    def delete_observations(self, name: str, contents: Sequence[str]) -> None:
        """Deletes observations; what is missing is no error."""

    def delete_entities(self, names: Sequence[str]) -> None:
        """Deletes entities with their relations; what is missing is no error."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Holds our own other writers off for the length of a `with` block."""
