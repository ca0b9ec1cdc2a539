"""What an entity says as a checkpoint, and how it is changed without ever losing a value. Pure.

An update is two calls: new values are added, then the old ones are deleted. A process that is killed between them
leaves both, and every update changes the timestamp: so several timestamps mean an update that was cut off. What was
added last is then what counts, and the next update deletes the rest before it adds anything.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.protocols.memory.layout import ENTITY_TYPE
from checkpoint_git.protocols.memory.observations import KEYS, group, parse, write

_SKEW = 60  # seconds that another machine's clock may be ahead


class Entity(NamedTuple):
    """One node of a graph. relations: how many edges lead to or from it."""

    name: str
    entity_type: str
    observations: tuple[str, ...]
    relations: tuple[Mapping[str, Any], ...] = ()


class Reading(NamedTuple):
    """An entity as a checkpoint.

    fields: one value a key. several: the values of each known key that has more than one. loose: observations that
    are nobody's field. state: "good", "interrupted", "corrupted" or "foreign".
    """

    fields: dict[str, str]
    several: dict[str, list[str]]
    loose: list[str]
    state: str


class Steps(NamedTuple):
    """The calls of an update, in their order; an empty one is left out. wanted: what must be there afterwards."""

    mend: list[str]
    add: list[str]
    delete: list[str]
    wanted: dict[str, str | None]


def read_entity(entity: Entity) -> Reading:
    """What an entity says. Of several values the last counts, of several timestamps the newest."""
    values = group(entity.observations)
    fields = {key: _choose(key, found) for key, found in values.items()}
    several = {key: found for key, found in values.items() if len(found) > 1 and key in KEYS}
    loose = [each.text for each in map(parse, entity.observations) if not each.key]
    return Reading(fields, several, loose, _find_state(entity, fields, several))


def _find_state(entity: Entity, fields: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
    if entity.entity_type != ENTITY_TYPE:
        return "foreign"
    if not fields.get("initiative"):
        return "corrupted"
    if several:
        return "interrupted" if "timestamp" in several else "corrupted"
    return "good"


def _choose(key: str, values: list[str]) -> str:
    if key != "timestamp":
        return values[-1]
    instants = [(read_instant(value), value) for value in values]
    known = [(instant, at, value) for at, (instant, value) in enumerate(instants) if instant]
    return max(known)[2] if known else values[-1]


def plan_update(entity: Entity, changes: Mapping[str, str | None]) -> Steps:
    """How fields come to their new values; None takes a field away. What is no field stays as it is."""
    fields = read_entity(entity).fields
    kept = [*KEYS, *changes]
    mend = [
        each.text for each in map(parse, entity.observations) if each.key in kept and each.value != fields[each.key]
    ]
    left = [text for text in entity.observations if text not in mend]
    wanted = {key: None if value is None else value.strip() for key, value in changes.items()}
    add = [write(key, value) for key, value in wanted.items() if value is not None and fields.get(key) != value]
    delete = [each.text for each in map(parse, left) if each.key in wanted and each.value != wanted[each.key]]
    return Steps(mend, add, delete, wanted)


def next_stamp(before: str, now: int) -> str:
    """The timestamp of an update: later than the one that is there, so that an update that was cut off can be told.

    now: seconds since 1970. Within one second it counts thousandths. One far ahead of the clock is not followed.
    """
    seconds, fraction = read_instant(before) or (0, "")
    if not now <= seconds <= now + _SKEW:
        return write_instant(now)
    thousandths = int(f"{fraction}000"[:3]) + 1
    return f"{write_instant(seconds)[:-1]}.{thousandths:03d}Z" if thousandths < 1000 else write_instant(seconds + 1)


def holds(entity: Entity, wanted: Mapping[str, str | None]) -> bool:
    """Whether every field has its one value, and none where it was taken away."""
    values = group(entity.observations)
    return all(values.get(key, []) == ([] if value is None else [value]) for key, value in wanted.items())
