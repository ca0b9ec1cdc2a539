"""Reading and changing the one entity of a checkpoint through a transport: every write is read back, or fails aloud.

It knows neither servers nor files. A server acknowledges what a second writer then overwrites, so an acknowledgement
counts for nothing here: only what is found in the graph afterwards, twice.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity, holds, plan_update, read_entity
from checkpoint_git.protocols.memory.layout import ENTITY_TYPE
from checkpoint_git.protocols.memory.observations import write_all
from checkpoint_git.protocols.memory.transports.contract import Transport

_TRIES = 5
_SETTLE = 0.05  # seconds in which a writer that read before us would overwrite what we wrote

Fields = Mapping[str, str | None]


class Written(NamedTuple):
    """entity: as it was found in the graph after the write. created: it was not there before."""

    entity: Entity
    created: bool


def load_entity(transport: Transport, name: str) -> Entity | None:
    """The entity with a name, None where there is none; one that stands there twice counts as one."""
    found = [entity for entity in transport.open_nodes([name]) if entity.name == name]
    if not found:
        return None
    observations = tuple(dict.fromkeys(text for entity in found for text in entity.observations))
    return found[0]._replace(observations=observations)


def write_fields(transport: Transport, name: str, changes: Fields) -> Written:
    """Sets fields of an entity, which is made where it is missing; None takes a field away. Others stay as they are.

    Raises CheckpointError where the fields are not in the graph after five tries, and for another's entity.
    """
    created = False
    for _ in range(_TRIES):
        before = load_entity(transport, name)
        if before is None:
            created = _create(transport, name, changes) or created
        else:
            _update(transport, before, changes)
        after = _read_settled(transport, name, changes)
        if after is not None:
            return Written(after, created)
    raise _lost(name)


def _create(transport: Transport, name: str, changes: Fields) -> bool:
    fields = {key: value for key, value in changes.items() if value is not None}
    return transport.create_entities([Entity(name, ENTITY_TYPE, tuple(write_all(fields)))]) == [name]


def _update(transport: Transport, before: Entity, changes: Fields) -> None:
    if read_entity(before).state == "foreign":
        message = f'the entity "{before.name}" is another\'s: its type is not {ENTITY_TYPE}'
        raise CheckpointError(message, "choose another name: git config checkpoint.memoryEntity NAME")
    steps = plan_update(before, changes)
    if steps.mend:
        transport.delete_observations(before.name, steps.mend)
    if steps.add:
        transport.add_observations(before.name, steps.add)
    if steps.delete:
        transport.delete_observations(before.name, steps.delete)


def _read_settled(transport: Transport, name: str, changes: Fields) -> Entity | None:
    """The entity where the changes are in it now and a moment later."""
    wanted = {key: None if value is None else value.strip() for key, value in changes.items()}
    for wait in (0.0, _SETTLE):
        time.sleep(wait)
        found = load_entity(transport, name)
        if found is None or not holds(found, wanted):
            return None
    return found


def begin_afresh(transport: Transport, before: Entity, changes: Fields) -> Written:
    """Takes every observation of a corrupted checkpoint away and sets these fields; its relations stay.

    The caller has kept a copy.
    """
    for _ in range(_TRIES):
        transport.delete_observations(before.name, before.observations)
        left = load_entity(transport, before.name)
        if left is None or not set(left.observations).intersection(before.observations):
            return write_fields(transport, before.name, changes)
    raise _lost(before.name)


def remove_entity(transport: Transport, name: str) -> None:
    """Deletes the entity. Raises CheckpointError where it is there afterwards."""
    for _ in range(_TRIES):
        transport.delete_entities([name])
        if load_entity(transport, name) is None:
            time.sleep(_SETTLE)
            if load_entity(transport, name) is None:
                return
    raise _lost(name)


def _lost(name: str) -> CheckpointError:
    message = f'the change to "{name}" is not in the graph: somebody else writes to it at the same time'
    return CheckpointError(message, "nothing else was touched; run the same command again")
