"""Read and change the checkpoint's entity through a transport: every write is read back, or
fails.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, Word, advise, command
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.entity import (
    FIELD,
    OWNER,
    Entity,
    Reading,
    Steps,
    canonical_key,
    holds,
    next_stamp,
    plan_update,
    read_entity,
    write_all,
)
from checkpoint_git.protocols.memory.layout import ENTITY, ENTITY_TYPE, Home
from checkpoint_git.protocols.memory.transports import BROKEN_HINT, GraphError, Transport
from checkpoint_git.protocols.memory.triggers import TriggerRequest, plan_fields

MAX_VALUE = 4 * 1024 * 1024  # characters of one field
_TRIES = 5
_SETTLE = 0.05  # seconds in which a writer that read before us would overwrite what we wrote

Fields = Mapping[str, str | None]
Text = TypeVar("Text")  # of a field: str, or str | None
Keep = Callable[[Entity], str]  # makes a backup, returns its folder


class OtherInitiativeError(CheckpointError):
    """A checkpoint is about an initiative, and another one would take its place.

    before, after: the two initiatives. what: the question's verb. question: whether it may.
    """

    def __init__(
        self, name: str, before: str, after: str, what: str = "Keep a copy and start"
    ) -> None:
        shown = escape_controls(shorten(before, 80))
        wanted = escape_controls(shorten(after, 80))
        subject = f"the checkpoint {name} is about"
        self.question = f'{subject} the initiative "{shown}". {what} "{wanted}"?'
        super().__init__(f'{subject} another initiative, "{shown}"', "clear or archive it first")


class Saved(NamedTuple):
    """A write that was read back.

    entity: as it was found in the graph after the write. created: it was not there before.
    changed: the fields that were set or removed. copy: the folder of the backup of what was there,
    "" without. fresh: nothing of that was kept.
    """

    entity: Entity
    created: bool
    changed: Fields
    copy: str = ""
    fresh: bool = False

    @property
    def fields(self) -> dict[str, str]:
        return read_entity(self.entity).fields


# Every repository finds the name of the protocol free, its own, or taken by another one, and then
# has one of its own.
def find_name(transport: Transport, home: Home, initiative: str = "") -> str:
    """Return the name of the repository's checkpoint.

    initiative: what is about to be saved, "" for what is there.
    """
    if home.name:
        return home.name
    if not home.marks:
        return ENTITY

    found = {entity.name: entity for entity in transport.open_nodes([*home.own_names, ENTITY])}
    usual = read_entity(found[ENTITY]) if ENTITY in found else None
    if usual is not None and usual.fields.get(OWNER) in home.marks:
        return ENTITY  # first: a clone of a moved repository may have made one with its name
    for name in home.own_names:
        if name in found:
            return name

    if usual is None or usual.state == "foreign":
        return ENTITY
    if OWNER in usual.fields:
        return _find_name_of_clone(transport, home) or home.own_names[0]

    wanted = initiative.strip()
    is_other = wanted and usual.fields.get("initiative", wanted) != wanted
    return home.own_names[0] if is_other else ENTITY


def _find_name_of_clone(transport: Transport, home: Home) -> str:
    """Return the name of this repository's checkpoint in the whole graph, "" for none.

    A clone's checkpoint has the name of its folder if it was made before there was a remote.
    """
    with suppress(GraphError):  # which others' entities may cause: then there is none for now
        for entity in transport.read_graph():
            is_own = read_entity(entity).fields.get(OWNER) in home.marks
            if is_own and entity.entity_type == ENTITY_TYPE:
                return entity.name
    return ""


def load_entity(transport: Transport, name: str) -> Entity | None:
    # One that is stored twice counts as one, and cannot be changed: a server changes the first and
    # answers with both
    found = [entity for entity in transport.open_nodes([name]) if entity.name == name]
    if not found:
        return None
    observations = tuple(dict.fromkeys(text for entity in found for text in entity.observations))
    return found[0]._replace(observations=observations, copies=len(found))


def save_checkpoint(
    transport: Transport,
    home: Home,
    read_request: Callable[[], TriggerRequest],
    now: int,
    keep_copy: Keep,
    *,
    replace: bool = False,
) -> Saved:
    """Save a checkpoint, and return what was changed.

    read_request: called once no other process of ours writes. A corrupted checkpoint is started
    over, after keep_copy; with replace also one of another initiative. Raises
    OtherInitiativeError or CheckpointError before anything is changed.
    """
    with transport.exclusive():
        request = read_request()
        request = request._replace(given=_name_fields(request.given))
        check_fields(request.given)
        wanted = request.given.get("initiative", "").strip()
        name = find_name(transport, home, wanted)
        before = load_entity(transport, name)
        reading = read_entity(before or Entity(name, ENTITY_TYPE, ()))
        if before is not None:
            _check_changeable(before)
        fields = _find_kept_fields(name, reading, wanted, replace=replace)

        changes = plan_fields(request, fields, next_stamp(fields.get("timestamp", ""), now))
        if home.marks and fields.get(OWNER) != home.marks[0]:
            changes[OWNER] = home.marks[0]
        if before is None:
            return write_fields(transport, name, changes)
        if not fields:
            return _start_over(transport, before, changes, keep_copy(before))

        copy = keep_copy(before) if reading.several else ""
        return write_fields(transport, name, changes)._replace(copy=copy)


def _find_kept_fields(
    name: str,
    reading: Reading,
    wanted: str,
    *,
    replace: bool,
) -> dict[str, str]:
    """Return the fields of the present checkpoint that are kept, {} to start over.

    wanted: the initiative to be saved. Raises OtherInitiativeError, unless it may be replaced.
    """
    if reading.state == "corrupted":
        return {}
    present = reading.fields["initiative"]
    if not wanted or wanted == present:
        return reading.fields
    if not replace:
        raise OtherInitiativeError(name, present, wanted)
    return {}


def _start_over(
    transport: Transport,
    before: Entity,
    changes: Mapping[str, str | None],
    copy: str,
) -> Saved:
    """Replace all observations of a checkpoint. copy: where they were kept."""
    transport.change_observations(before.name, Steps(before.observations, write_all(changes)))
    gone = dict.fromkeys(read_entity(before).fields)
    # once more, in case another client undid it
    saved = write_fields(transport, before.name, {**gone, **changes})
    return saved._replace(changed=changes, copy=copy, fresh=True)


def update_checkpoint(
    transport: Transport,
    home: Home,
    given: Fields,
    now: int,
    keep_copy: Keep,
    *,
    rename: bool = False,
) -> Saved:
    """Change fields of the existing checkpoint; None removes one.

    rename: the initiative may get another name, its other fields stay. Raises
    OtherInitiativeError or CheckpointError before anything is changed.
    """
    given = _name_fields(given)
    check_fields({key: value for key, value in given.items() if value is not None})
    with transport.exclusive():
        name = find_name(transport, home)
        before = load_entity(transport, name)
        if before is None:
            raise _missing(name)
        _check_changeable(before)
        reading = read_entity(before)
        _check_update(name, reading, given, rename=rename)

        copy = keep_copy(before) if reading.several else ""
        stamp = next_stamp(reading.fields.get("timestamp", ""), now)
        return write_fields(transport, name, {**given, "timestamp": stamp})._replace(copy=copy)


def _missing(name: str) -> CheckpointError:
    words = ("checkpoint", "memory", "save", "--initiative", Blank("name", "NAME"))
    return CheckpointError(f'no checkpoint "{name}"', command(*words, more=" creates one"))


def _check_update(name: str, reading: Reading, given: Fields, *, rename: bool) -> None:
    """Raise CheckpointError if the fields cannot be changed so."""
    wanted = given.get("initiative")
    if reading.state == "corrupted" and not wanted:
        initiative = Word(("initiative=", Blank("name", "NAME")))
        hint = advise("name it", "checkpoint", "memory", "update", initiative)
        raise CheckpointError(f'the checkpoint "{name}" names no initiative', hint)

    for key, value in given.items():
        if value is None and key not in reading.fields:
            message = f'the checkpoint "{name}" has no field {escape_controls(key)}'
            raise CheckpointError(message, f"there are: {', '.join(reading.fields)}")

    present = reading.fields.get("initiative")
    if wanted and present and present != wanted.strip() and not rename:
        raise OtherInitiativeError(name, present, wanted, "Rename it to")


def _check_changeable(entity: Entity) -> None:
    """Raise CheckpointError for an entity that is stored twice, or is another client's."""
    if entity.copies > 1:
        message = f'the graph has the entity "{entity.name}" {entity.copies} times'
        raise GraphError(f"{message}, and no server can change that", BROKEN_HINT)
    check_ours(entity)


def _name_fields(given: Mapping[str, Text]) -> dict[str, Text]:
    """Return the fields with known keys in lower case. Raises CheckpointError for one given
    twice.
    """
    named = {canonical_key(key): value for key, value in given.items()}
    if len(named) < len(given):
        keys = ", ".join(
            escape_controls(shorten(key, 60)) for key in given if canonical_key(key) != key
        )
        raise CheckpointError(
            "a field is given twice", f"keep one of each: {keys} in lower case is a field, too"
        )

    return named


def check_fields(fields: Mapping[str, str]) -> None:
    for key, value in fields.items():
        shown = escape_controls(shorten(key, 60))
        if not FIELD.fullmatch(key):
            hint = "letters, digits, _ and -, and no digit first"
            raise CheckpointError(f'invalid field "{shown}"', hint)

        if not value.strip():
            removal = ("checkpoint", "memory", "update", Word((Blank("the field", "KEY"), "=")))
            hint_to_remove = advise("leave it out; to remove a field", *removal)
            raise CheckpointError(f"{shown} is empty", hint_to_remove)

        if len(value) > MAX_VALUE:
            message = f"{shown} has {len(value)} characters; {MAX_VALUE} is the limit"
            raise CheckpointError(message, "shorten it")

        try:
            value.encode()
        except UnicodeEncodeError:
            raise CheckpointError(f"{shown} is not UTF-8 text", "give it in UTF-8") from None


# The reference server (2026.8.31) acknowledges what a second writer then overwrites: of 20
# entities created at once it acknowledged 20 and stored 1. So only what is found in the graph
# afterwards, twice, counts.
def write_fields(transport: Transport, name: str, changes: Fields) -> Saved:
    """Set fields of an entity, or create it; None removes a field.

    Raises CheckpointError if the changes do not stay.
    """
    created = False
    for _ in range(_TRIES):
        before = load_entity(transport, name)
        if before is None:
            entity = Entity(name, ENTITY_TYPE, tuple(write_all(changes)))
            if transport.create_entities([entity]) == [name]:
                created = True
        else:
            check_ours(before)
            steps = plan_update(before, changes)
            if any(steps):
                transport.change_observations(name, steps)

        after = load_entity(transport, name)
        if after is not None and holds(after, changes):
            time.sleep(_SETTLE)
            after = load_entity(transport, name)
            if after is not None and holds(after, changes):
                return Saved(after, created, changes)

    raise _lost(name)


def check_ours(entity: Entity) -> None:
    # Raises CheckpointError for another client's entity: it is neither changed nor deleted
    if read_entity(entity).state == "foreign":
        message = f'the entity "{entity.name}" is another client\'s: its type is not {ENTITY_TYPE}'
        words = ("git", "config", "checkpoint.memoryEntity", Blank("name", "NAME"))
        raise CheckpointError(message, advise("choose another name", *words))


def remove_entity(transport: Transport, name: str) -> None:
    for _ in range(_TRIES):
        transport.delete_entities([name])
        if load_entity(transport, name) is None:
            time.sleep(_SETTLE)
            if load_entity(transport, name) is None:
                return
    raise _lost(name)


def _lost(name: str) -> CheckpointError:
    message = (
        f'the change to "{name}" is not in the graph: another client writes to it at the same time'
    )
    return CheckpointError(message, "nothing else was touched; run the same command again")
