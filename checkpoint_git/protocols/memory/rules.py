"""Find what is wrong with an initiative checkpoint. Pure: the time is an argument."""

from collections.abc import Iterator

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, Word, advise, command, join_hints
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.memory.entity import Entity, Reading, read_entity, read_stamp

_AHEAD = 5 * 60  # seconds that two machines' clocks may differ by
_SHOWN = 80
_NAME_IT = join_hints(
    command("checkpoint", "memory", "update", Word(("initiative=", Blank("name", "NAME")))),
    advise(
        "or start a new one", "checkpoint", "memory", "save", "--initiative", Blank("name", "NAME")
    ),
)


def check(entity: Entity, now: int, stale_days: int) -> list[Finding]:
    """Return what is wrong with a checkpoint. stale_days: after which it counts as outdated."""
    reading = read_entity(entity)
    found = check_content(entity)
    if reading.state != "foreign":
        found += _check_age(entity.name, reading, now, stale_days)
    return found


def check_content(entity: Entity) -> list[Finding]:
    """Return what is wrong with a checkpoint, whatever its age."""
    reading = read_entity(entity)
    if reading.state == "foreign":
        kind = shorten(entity.entity_type, _SHOWN)
        message = f'the entity "{entity.name}" is another client\'s: its type is "{kind}"'
        words = ("git", "config", "checkpoint.memoryEntity", Blank("name", "NAME"))
        hint = advise("choose another name", *words)
        return [Finding("memory/foreign-entity", "error", message, entity.name, hint=hint)]
    return list(_check_fields(entity.name, reading))


def _check_fields(name: str, reading: Reading) -> Iterator[Finding]:
    if not reading.fields.get("initiative"):
        yield Finding(
            "memory/no-initiative",
            "error",
            "the checkpoint names no initiative",
            name,
            hint=_NAME_IT,
        )

    if reading.spelled:
        keys = ", ".join(shorten(key, _SHOWN) for key in reading.spelled)
        message = f"keys with capitals are read in lower case: {keys}"
        words = ("checkpoint", "memory", "load", "--continue")
        hint = command(*words, more=" writes them so, as every save does")
        yield Finding("memory/key-case", "warning", message, name, hint=hint)

    for key, values in reading.several.items():
        shown = " | ".join(shorten(value, _SHOWN) for value in values)
        counts = shorten(reading.fields[key], _SHOWN)
        if key == "timestamp":
            why = "an update was interrupted, or the client never deletes old values"
            message = f'{why}: the newest timestamp counts, "{counts}"'
            hint = advise(
                "to keep one value of each field", "checkpoint", "memory", "load", "--continue"
            )
            yield Finding("memory/interrupted", "warning", message, name, hint=hint)
        else:
            message = f'{key} has several values: {shown}; "{counts}" was added last and counts'
            why = "a server does not record an older one that was set again; then"
            value = Word((f"{key}=", Blank("the value", "VALUE")))
            hint = advise(why, "checkpoint", "memory", "update", value)
            yield Finding("memory/several-values", "warning", message, name, hint=hint)


def _check_age(name: str, reading: Reading, now: int, stale_days: int) -> Iterator[Finding]:
    instant = read_stamp(reading.fields.get("timestamp"))
    if instant is None:
        message = "the checkpoint has no valid timestamp, so its age is unknown"
        hint = advise("to stamp it", "checkpoint", "memory", "load", "--continue")
        yield Finding("memory/no-timestamp", "warning", message, name, hint=hint)
        return

    age = now - instant[0]
    if age > stale_days * DAY:
        message = f"the checkpoint is {age // DAY} days old"
        hint = advise("a fresh start may be better", "checkpoint", "memory", "load", "--fresh")
        yield Finding("memory/outdated", "warning", message, name, hint=hint)
    elif age < -_AHEAD:
        stamp = reading.fields["timestamp"]
        message = f"the checkpoint's time is ahead of this machine's clock: {stamp}"
        advice = "check the clock of this machine"
        yield Finding("memory/ahead", "warning", message, name, hint=advice)
