"""Reading and changing the checkpoint's entity through a transport: every write is read back, or fails."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.entity import (
    Entity,
    holds,
    is_key,
    next_stamp,
    plan_update,
    read_entity,
    write_all,
)
from checkpoint_git.protocols.memory.layout import ENTITY_TYPE
from checkpoint_git.protocols.memory.transports import Transport
from checkpoint_git.protocols.memory.triggers import Request, plan_fields

MAX_VALUE = 4 * 1024 * 1024  # characters of one field
_TRIES = 5
_SETTLE = 0.05  # seconds in which a writer that read before us would overwrite what we wrote

Fields = Mapping[str, str | None]


class Saved(NamedTuple):
    """entity: as it was found in the graph after the write. created: it was not there before. changed: the fields that
    were set or removed. copy: the folder of the backup of a corrupted checkpoint, "" without.
    """

    entity: Entity
    created: bool
    changed: Fields
    copy: str = ""

    @property
    def fields(self) -> dict[str, str]:
        return read_entity(self.entity).fields


def load_entity(transport: Transport, name: str) -> Entity | None:
    # One that is there twice counts as one
    found = [entity for entity in transport.open_nodes([name]) if entity.name == name]
    if not found:
        return None
    observations = tuple(dict.fromkeys(text for entity in found for text in entity.observations))
    return found[0]._replace(observations=observations)


# the checkpoint


def save_checkpoint(
    transport: Transport, name: str, request: Request, now: int, keep_copy: Callable[[Entity], str]
) -> Saved:
    """A corrupted checkpoint is started anew, after keep_copy. Raises CheckpointError, nothing changed."""
    check_fields(request.given)
    with transport.exclusive():
        before = load_entity(transport, name)
        reading = read_entity(before) if before else None
        is_corrupted = reading is not None and reading.state == "corrupted"
        fields = reading.fields if reading and not is_corrupted else {}
        changes = plan_fields(request, fields, next_stamp(fields.get("timestamp", ""), now))
        if before is None or not is_corrupted:
            return write_fields(transport, name, changes)
        copy = keep_copy(before)
        for _ in range(_TRIES):
            transport.delete_observations(name, before.observations)
            left = load_entity(transport, name)
            if left is None or not set(left.observations).intersection(before.observations):
                return write_fields(transport, name, changes)._replace(copy=copy)
        raise _lost(name)


def update_checkpoint(transport: Transport, name: str, given: Fields, now: int) -> Saved:
    check_fields({key: value for key, value in given.items() if value is not None})
    with transport.exclusive():
        before = load_entity(transport, name)
        if before is None:
            raise CheckpointError(f'no checkpoint "{name}" to update', "`checkpoint memory save` creates one")
        reading = read_entity(before)
        if reading.state == "corrupted":
            raise CheckpointError(f'the checkpoint "{name}" is corrupted', "`checkpoint memory save` starts a new one")
        stamp = next_stamp(reading.fields.get("timestamp", ""), now)
        return write_fields(transport, name, {**given, "timestamp": stamp})


def check_fields(fields: Mapping[str, str]) -> None:
    for key, value in fields.items():
        shown = escape_controls(shorten(key, 60))
        if not is_key(key):
            raise CheckpointError(f'invalid field "{shown}"', "letters, digits, _ and -, and no digit first")
        if not value.strip():
            raise CheckpointError(f"{shown} is empty", f"`checkpoint memory update {shown}=` removes a field")
        if len(value) > MAX_VALUE:
            raise CheckpointError(f"{shown} has {len(value)} characters; {MAX_VALUE} is the limit", "shorten it")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise CheckpointError(f"{shown} is not UTF-8 text", "give it in UTF-8") from None


# the entity


# The reference server (2026.8.31) acknowledges what a second writer then overwrites: of 20 entities created at once it
# acknowledged 20 and stored 1. So only what is found in the graph afterwards, twice, counts.
def write_fields(transport: Transport, name: str, changes: Fields) -> Saved:
    """Sets fields of an entity, or creates it; None removes a field. Raises CheckpointError where they do not stay."""
    created = False
    wanted = {key: None if value is None else value.strip() for key, value in changes.items()}
    for _ in range(_TRIES):
        before = load_entity(transport, name)
        if before is None:
            texts = write_all({key: value for key, value in changes.items() if value is not None})
            created |= transport.create_entities([Entity(name, ENTITY_TYPE, tuple(texts))]) == [name]
        else:
            check_ours(before)
            steps = plan_update(before, changes)
            if steps.leftovers:
                transport.delete_observations(name, steps.leftovers)
            if steps.add:
                transport.add_observations(name, steps.add)
            if steps.delete:
                transport.delete_observations(name, steps.delete)
        after = load_entity(transport, name)
        if after is not None and holds(after, wanted):
            time.sleep(_SETTLE)
            after = load_entity(transport, name)
            if after is not None and holds(after, wanted):
                return Saved(after, created, changes)
    raise _lost(name)


def check_ours(entity: Entity) -> None:
    # Raises CheckpointError for another client's entity: it is neither changed nor deleted
    if read_entity(entity).state == "foreign":
        message = f'the entity "{entity.name}" is another client\'s: its type is not {ENTITY_TYPE}'
        raise CheckpointError(message, "choose another name: git config checkpoint.memoryEntity NAME")


def remove_entity(transport: Transport, name: str) -> None:
    for _ in range(_TRIES):
        transport.delete_entities([name])
        if load_entity(transport, name) is None:
            time.sleep(_SETTLE)
            if load_entity(transport, name) is None:
                return
    raise _lost(name)


def _lost(name: str) -> CheckpointError:
    message = f'the change to "{name}" is not in the graph: another client writes to it at the same time'
    return CheckpointError(message, "nothing else was touched; run the same command again")
