"""A graph that lives and dies with the process, with the habits of the reference server. For trying logic out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.transports.contract import GraphError


class MemoryTransport:
    """entities: by name, in the order of their making."""

    def __init__(self, entities: Sequence[Entity] = ()) -> None:
        self.entities = {entity.name: entity for entity in entities}

    def read_graph(self) -> list[Entity]:
        """All entities."""
        return list(self.entities.values())

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """Those with these names."""
        return [entity for name, entity in self.entities.items() if name in names]

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """Makes those whose names are free."""
        new = [entity for entity in entities if entity.name not in self.entities]
        self.entities.update((entity.name, entity) for entity in new)
        return [entity.name for entity in new]

    def add_observations(self, name: str, contents: Sequence[str]) -> None:
        """Appends what is new. Raises GraphError where there is no such entity."""
        if name not in self.entities:
            raise GraphError(f"there is no entity {name}", "")
        before = self.entities[name]
        new = [text for text in contents if text not in before.observations]
        self.entities[name] = before._replace(observations=(*before.observations, *new))

    def delete_observations(self, name: str, contents: Sequence[str]) -> None:
        """Takes observations away."""
        if before := self.entities.get(name):
            left = tuple(text for text in before.observations if text not in contents)
            self.entities[name] = before._replace(observations=left)

    def delete_entities(self, names: Sequence[str]) -> None:
        """Takes entities away."""
        for name in names:
            self.entities.pop(name, None)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else can reach it."""
        yield
