"""Read an entity as a checkpoint, and plan its changes so that no value is ever lost."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.protocols.memory.layout import ENTITY_TYPE

_STANDARD = (
    "initiative",
    "milestone",
    "phase",
    "last_action",
    "next_action",
    "context_files",
    "timestamp",
)
KEYS = (*_STANDARD, "session_duration", "files_modified")
OWNER = "repository"  # the field that says whose checkpoint it is
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SKEW = 60  # seconds that another machine's clock may be ahead


class Observation(NamedTuple):
    """A text of an entity.

    text: as the graph has it. key: "" if the text is not a field. value: without blanks around it.
    spelled: the key as the text has it, where that has capitals and the field has none; else "".
    """

    text: str
    key: str
    value: str
    spelled: str = ""


def canonical_key(key: str) -> str:
    """Return a known key in lower case, as the protocol writes it; any other key as it is."""
    lower = key.lower()
    return lower if lower in KEYS else key


def parse(text: str) -> Observation:
    """Split a text at its first colon. A blank after it does not count; an address has no key."""
    key, colon, value = text.partition(":")
    is_field = bool(colon) and FIELD.fullmatch(key) and not value.startswith("//")
    if not is_field:
        return Observation(text, "", text)
    known = canonical_key(key)
    return Observation(text, known, value.strip(), spelled="" if known == key else key)


def read_stamp(text: str | None) -> tuple[int, str] | None:
    """Read an instant as read_instant does, also one without the colon of its offset.

    A text without an offset or a time, as agents write it, is in UTC.
    """
    plain = re.sub(r"(?<=\d[+-]\d\d)(?=\d\d$)", ":", (text or "").strip().replace(" ", "T", 1))
    return read_instant(plain) or read_instant(f"{plain}Z") or read_instant(f"{plain}T00:00:00Z")


def write(key: str, value: str) -> str:
    blank = " " if value.strip().startswith("//") else ""  # or it would be read as an address
    return f"{key}:{blank}{value.strip()}"


def write_all(fields: Mapping[str, str | None]) -> list[str]:
    """Return the texts of fields, known keys first; a field that is None has none."""
    known = [key for key in KEYS if key in fields]
    others = [key for key in fields if key not in KEYS]
    texts = []
    for key in [*known, *others]:
        value = fields[key]
        if value is not None:
            texts.append(write(key, value))

    return texts


def group(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the different values of each key, in their order."""
    values: dict[str, list[str]] = {}
    for text in texts:
        observation = parse(text)
        if not observation.key:
            continue
        known = values.setdefault(observation.key, [])
        if observation.value not in known:
            known.append(observation.value)

    return values


def join_files(paths: Iterable[str]) -> str:
    # Paths in one value, with commas; a comma or line end in a path is percent-encoded
    return ",".join(
        re.sub(r"[%,\r\n]", lambda found: f"%{ord(found[0]):02X}", path) for path in paths
    )


class Entity(NamedTuple):
    name: str
    entity_type: str
    observations: tuple[str, ...]
    relations: tuple[Mapping[str, Any], ...] = ()
    copies: int = 1


class Reading(NamedTuple):
    """An entity as a checkpoint.

    fields: one value a key. several: the values of each known key that has more than one. loose:
    texts that are not fields. state: "good", "interrupted" (several), "corrupted" (without an
    initiative) or "foreign". spelled: the known keys that have capitals, as they are written.
    """

    fields: dict[str, str]
    several: dict[str, list[str]]
    loose: list[str]
    state: str
    spelled: Sequence[str] = ()


def read_entity(entity: Entity) -> Reading:
    """Return what an entity says: the last of several values, the newest of several timestamps."""
    values = group(entity.observations)
    fields = {key: found[-1] for key, found in values.items()}
    newest = _find_newest(values.get("timestamp", []))
    if newest:
        fields["timestamp"] = newest

    several = {key: found for key, found in values.items() if len(found) > 1 and key in KEYS}
    state = "good"
    if entity.entity_type != ENTITY_TYPE:
        state = "foreign"
    elif not fields.get("initiative"):
        state = "corrupted"
    elif several:
        state = "interrupted"

    observations = [parse(text) for text in entity.observations]
    loose = [observation.text for observation in observations if not observation.key]
    spelled = dict.fromkeys(
        observation.spelled for observation in observations if observation.spelled
    )
    return Reading(fields, several, loose, state, list(spelled))


def _find_newest(stamps: Sequence[str]) -> str:
    """Return the newest timestamp, the last of several equal ones; "" if none is valid."""
    newest = ""
    newest_instant = None
    for stamp in stamps:
        instant = read_stamp(stamp)
        if instant is not None and (newest_instant is None or instant >= newest_instant):
            newest = stamp
            newest_instant = instant

    return newest


class Steps(NamedTuple):
    """The calls of an update: leftovers are deleted, texts added, the old ones deleted.

    leftovers: what an update that was cut off did not delete.
    """

    leftovers: Sequence[str] = ()
    add: Sequence[str] = ()
    delete: Sequence[str] = ()


# An observation is a text `key:value`. An update is two calls: new values are added, then the old
# ones deleted. A process that is killed between them leaves both, and an agent that only adds
# observations leaves all. What was added last then counts, and the next update deletes the rest
# before it adds anything.
def plan_update(entity: Entity, changes: Mapping[str, str | None]) -> Steps:
    """Return how fields get their new values; None removes a field.

    Observations that are not fields stay. A field whose key has capitals is written anew, also if
    its value stays.
    """
    fields = read_entity(entity).fields
    wanted = _strip(changes)
    observations = [parse(text) for text in entity.observations]
    leftovers = []
    old = []
    for observation in observations:
        key = observation.key
        if key in (*KEYS, *changes) and observation.value != fields[key]:
            leftovers.append(observation)
        if key in wanted and observation.value != wanted[key]:
            old.append(observation)

    # The server ignores an observation that is there already: after A, B, A the last one would be
    # B. So what counts is that the others are deleted, not the order.
    add = []
    for key, value in wanted.items():
        if value is not None and fields.get(key) != value:
            add.append(write(key, value))

    rewritten, respelled = _plan_spelling(observations, (*old, *leftovers))
    delete = [observation.text for observation in old if observation not in leftovers]
    left_behind = [observation.text for observation in leftovers]
    return Steps(left_behind, [*add, *rewritten], [*delete, *respelled])


def _strip(changes: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return changes with values as the graph has them, without blanks around them."""
    wanted: dict[str, str | None] = {}
    for key, value in changes.items():
        wanted[key] = value if value is None else value.strip()
    return wanted


def _plan_spelling(
    observations: Sequence[Observation], gone: Sequence[Observation]
) -> tuple[list[str], list[str]]:
    """Return what puts keys with capitals in lower case: the texts to add, and those to delete.

    gone: what the update deletes anyway.
    """
    usual = {(found.key, found.value) for found in observations if not found.spelled}
    respelled = [found for found in observations if found.spelled and found not in gone]
    add = {
        write(found.key, found.value): None
        for found in respelled
        if (found.key, found.value) not in usual
    }
    return list(add), [found.text for found in respelled]


def next_stamp(before: str, now: int) -> str:
    # Later than the timestamp before, by thousandths within one second, so that a cut-off update
    # shows
    seconds, fraction = read_stamp(before) or (0, "")
    if not now <= seconds <= now + _SKEW:  # one far ahead is a wrong clock, and not followed
        return write_instant(now)
    thousandths = int(f"{fraction}000"[:3]) + 1
    if thousandths == 1000:
        return write_instant(seconds + 1)
    return f"{write_instant(seconds)[:-1]}.{thousandths:03d}Z"


def holds(entity: Entity, changes: Mapping[str, str | None]) -> bool:
    """Return whether an entity has exactly these values of these fields; None means no value."""
    values = group(entity.observations)
    for key, value in _strip(changes).items():
        expected = [] if value is None else [value]
        if values.get(key, []) != expected:
            return False
    return True
