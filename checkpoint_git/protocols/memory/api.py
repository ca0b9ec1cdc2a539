"""The checkpoint of an initiative for Python, in the graph of a memory server that the caller has opened."""

import os
import time

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.memory import rules as memory_rules
from checkpoint_git.protocols.memory import store as memory_store
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.layout import ENTITY, check_entity_name
from checkpoint_git.protocols.memory.transports.contract import Transport
from checkpoint_git.protocols.memory.triggers import TRIGGERS, Wish
from checkpoint_git.protocols.memory.verbs.save import Request, Surroundings, save_checkpoint, update_checkpoint

Findings = list[Finding]


class MemoryCheckpoint:
    """An initiative's checkpoint in the graph of a memory server.

    transport: a way to the graph, one of protocols/memory/transports; it belongs to the caller, who closes it. entity:
    the checkpoint's name. path: where copies of what was corrupted go. now: as for Checkpoints. Where the server is
    away, every method raises UnavailableError, a CheckpointError.
    """

    def __init__(
        self,
        transport: Transport,
        entity: str = ENTITY,
        path: str | os.PathLike[str] = ".",
        now: int | None = None,
    ) -> None:
        self._transport = transport
        self._name = check_entity_name(entity)
        self._path = os.path.abspath(os.fspath(path))
        self._now = now

    @property
    def now(self) -> int:
        """Seconds since 1970, UTC."""
        return int(time.time()) if self._now is None else self._now

    def load(self) -> dict[str, str] | None:
        """The fields by their keys, None where there is no checkpoint; validate() says whether to believe them."""
        entity = self._entity()
        return None if entity is None else read_entity(entity).fields

    def validate(self) -> Findings:
        """What is wrong with the checkpoint: corrupted, cut off, outdated; [] where nothing is, or none is there."""
        entity = self._entity()
        return [] if entity is None else memory_rules.check(entity, self.now)

    def save(
        self,
        on: str = "manual",
        *,
        next_milestone: str = "",
        next_phase: str = "",
        interrupted: str = "",
        **fields: str,
    ) -> dict[str, str]:
        """Makes or changes the checkpoint; its fields as the graph has them. on: the occasion.

        Raises CheckpointError where a field is missing, and where the graph does not keep what was written.
        """
        if on not in TRIGGERS:
            raise CheckpointError(f"{on!a} is no occasion", ", ".join(TRIGGERS))
        request = Request(on, fields, Wish(next_milestone, next_phase, interrupted))
        around = Surroundings(self._path, os.environ, self.now)
        return read_entity(save_checkpoint(self._transport, self._name, request, around).written.entity).fields

    def update(self, **fields: str | None) -> dict[str, str]:
        """Changes fields of the checkpoint that is there; None takes one away. The fields afterwards."""
        saved = update_checkpoint(self._transport, self._name, fields, self.now)
        return read_entity(saved.written.entity).fields

    def clear(self) -> bool:
        """Deletes the checkpoint; whether there was one. Raises CheckpointError for another's entity."""
        with self._transport.exclusive():
            entity = self._entity()
            if entity is None:
                return False
            if read_entity(entity).state == "foreign":
                raise CheckpointError(f"{self._name} is another's entity", "choose another name")
            memory_store.remove_entity(self._transport, self._name)
        return True

    def _entity(self) -> Entity | None:
        return memory_store.load_entity(self._transport, self._name)
