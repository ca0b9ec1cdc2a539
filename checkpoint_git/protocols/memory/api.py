"""Read and change the checkpoint of an initiative from Python.

It is in the graph of a memory server that the caller has opened.
"""

import os
from functools import partial
from typing import TYPE_CHECKING

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.git.gitpython import find_folder
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.memory import rules, store
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.graph import find_home, keep_copy
from checkpoint_git.protocols.memory.layout import Home, check_entity_name
from checkpoint_git.protocols.memory.transports import Transport
from checkpoint_git.protocols.memory.triggers import TRIGGERS, TriggerRequest

if TYPE_CHECKING:
    from checkpoint_git.git.gitpython import Folder


class MemoryCheckpoint:
    """An initiative's checkpoint in the graph of a memory server.

    transport: a way to the graph, one of protocols/memory/transports; the caller closes it.
    entity: the checkpoint's name, "" for the one of the repository around path. path: a folder or
    a git.Repo, where copies of what is replaced go. now: as for Checkpoints. If no server answers,
    every method raises UnavailableError, a CheckpointError.
    """

    def __init__(
        self, transport: Transport, entity: str = "", path: "Folder" = ".", now: int | None = None
    ) -> None:
        self._transport = transport
        self._path = find_folder(path)
        self._now = fix_clock(now)
        if entity:
            self._home = Home(check_entity_name(entity))
        else:
            self._home = find_home(self._path)
        self._keep = partial(keep_copy, cwd=self._path, env=os.environ, now=self._now())

    def load(self) -> dict[str, str] | None:
        """Return the fields by their keys, None if there is no checkpoint.

        validate() shows whether to trust them.
        """
        entity = self._load()
        if entity is None:
            return None
        return read_entity(entity).fields

    def validate(self) -> list[Finding]:
        """Return what is wrong with the checkpoint: corrupted, cut off, outdated.

        [] also if there is none.
        """
        entity = self._load()
        if entity is None:
            return []
        return rules.check(entity, self._now(), read_stale_days(self._path, os.environ))

    def save(
        self,
        on: str = "manual",
        *,
        next_milestone: str = "",
        next_phase: str = "",
        interrupted: str = "",
        **fields: str,
    ) -> dict[str, str]:
        """Create or change the checkpoint, and return its fields as the graph has them.

        on: the occasion. Raises CheckpointError if a field is missing, or if the graph does not
        keep what was written.
        """
        if on not in TRIGGERS:
            raise CheckpointError(f"unknown occasion {on!a}", f"one of {', '.join(TRIGGERS)}")
        request = TriggerRequest(on, fields, next_milestone, next_phase, interrupted)
        saved = store.save_checkpoint(
            self._transport, self._home, lambda: request, self._now(), self._keep
        )
        return saved.fields

    def update(self, **fields: str | None) -> dict[str, str]:
        """Change fields of an existing checkpoint, and return all of them; None removes one."""
        saved = store.update_checkpoint(
            self._transport, self._home, fields, self._now(), self._keep
        )
        return saved.fields

    def clear(self) -> bool:
        """Delete the checkpoint, and return whether there was one.

        Raises CheckpointError for another client's entity.
        """
        with self._transport.exclusive():
            entity = self._load()
            if entity is None:
                return False
            store.check_ours(entity)
            store.remove_entity(self._transport, entity.name)
        return True

    def _load(self) -> Entity | None:
        return store.load_entity(self._transport, store.find_name(self._transport, self._home))
