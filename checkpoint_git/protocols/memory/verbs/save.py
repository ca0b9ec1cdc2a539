"""`checkpoint memory save` and `update`: what was said on the command line becomes fields, and fields a checkpoint."""

import argparse
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory import graph as graphs
from checkpoint_git.protocols.memory import rules, store
from checkpoint_git.protocols.memory.entity import Entity, next_stamp, read_entity
from checkpoint_git.protocols.memory.observations import is_key
from checkpoint_git.protocols.memory.transports.contract import Transport
from checkpoint_git.protocols.memory.triggers import Wish, plan_fields
from checkpoint_git.protocols.memory.verbs.verb import FIELD_OPTIONS

MAX_VALUE = 4 * 1024 * 1024  # characters of one field
_SHOWN = 100


class Saved(NamedTuple):
    """copy: the folder in which what a corrupted checkpoint held was kept, "" without one."""

    written: store.Written
    changes: dict[str, str | None]
    copy: str


class Request(NamedTuple):
    """A checkpoint to save. given: fields by key, as somebody said them."""

    trigger: str
    given: Mapping[str, str]
    wish: Wish = Wish()


class Surroundings(NamedTuple):
    """Where copies go, and the time. env: for the folders. now: seconds since 1970."""

    cwd: str
    env: Mapping[str, str]
    now: int


def save_checkpoint(transport: Transport, name: str, request: Request, around: Surroundings) -> Saved:
    """Makes or changes a checkpoint; a corrupted one is kept as a copy and begun afresh.

    Raises CheckpointError, nothing changed, where fields are missing or the entity is another's.
    """
    with transport.exclusive():
        before = store.load_entity(transport, name)
        reading = read_entity(before) if before else None
        if before is None or reading is None or reading.state != "corrupted":
            fields = reading.fields if reading else {}
            changes = _plan(request, fields, around.now)
            return Saved(store.write_fields(transport, name, changes), changes, "")
        changes = _plan(request, {}, around.now)
        copy = graphs.keep_copy(before, around.cwd, around.env, around.now)
        return Saved(store.begin_afresh(transport, before, changes), changes, copy)


def _plan(request: Request, before: Mapping[str, str], now: int) -> dict[str, str | None]:
    check_fields(request.given)
    stamp = next_stamp(before.get("timestamp", ""), now)
    return plan_fields(request.trigger, request.given, request.wish, before, stamp)


def update_checkpoint(transport: Transport, name: str, given: Mapping[str, str | None], now: int) -> Saved:
    """Changes fields of the checkpoint that is there, and stamps it. Raises CheckpointError where there is none."""
    check_fields({key: value for key, value in given.items() if value is not None})
    with transport.exclusive():
        before = store.load_entity(transport, name)
        if before is None:
            raise CheckpointError(f'there is no checkpoint "{name}" to update', "`checkpoint memory save` makes one")
        reading = read_entity(before)
        if reading.state == "corrupted":
            raise CheckpointError(f'the checkpoint "{name}" is corrupted', "`checkpoint memory save` begins afresh")
        stamp = next_stamp(reading.fields.get("timestamp", ""), now)
        changes: dict[str, str | None] = {**given, "timestamp": stamp}
        return Saved(store.write_fields(transport, name, changes), changes, "")


def check_fields(fields: Mapping[str, str]) -> None:
    """Raises CheckpointError for a key that is none, and for a value that no graph could hold."""
    for key, value in fields.items():
        shown = escape_controls(shorten(key, 60))
        if not is_key(key):
            raise CheckpointError(f'"{shown}" cannot be a field', "letters, digits, _ and -, and no digit first")
        if not value.strip():
            raise CheckpointError(f"{shown} is empty", f"`checkpoint memory update {shown}=` takes a field away")
        if len(value) > MAX_VALUE:
            raise CheckpointError(f"{shown} has {len(value)} characters; {MAX_VALUE} is the limit", "shorten it")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise CheckpointError(f"{shown} is not UTF-8 text", "give it in UTF-8") from None


# the words


def read_given(args: argparse.Namespace, invocation: Invocation) -> dict[str, str]:
    """The fields that the options name, the last one said counts. Raises CheckpointError."""
    given = _read_file(args.fields, invocation) if args.fields else {}
    given.update(_split(word) for word in args.set or [])
    given.update((name, value) for name in FIELD_OPTIONS if (value := getattr(args, name)) is not None)
    return given


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise CheckpointError(f'"{escape_controls(shorten(word, 60))}" is not KEY=VALUE', "write it as phase=review")
    return key.strip(), value


def _read_file(path: str, invocation: Invocation) -> dict[str, str]:
    import os

    try:
        if path == "-":
            text = invocation.stdin.read(8 * MAX_VALUE)
        else:
            with open(os.path.join(invocation.cwd, path), encoding="utf-8") as stream:
                text = stream.read(8 * MAX_VALUE)
        value = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        message = f"--fields {escape_controls(shorten(path, 200))} could not be read: {escape_controls(str(error))}"
        raise CheckpointError(message, 'a JSON object of texts: {"phase": "review"}') from None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise CheckpointError("--fields holds no JSON object of texts", 'for example {"phase": "review"}')
    return value


def _read_update(args: argparse.Namespace, invocation: Invocation) -> dict[str, str | None]:
    pairs = dict(_split(word) for word in args.words)
    given: dict[str, str | None] = {key: value if value.strip() else None for key, value in pairs.items()}
    given.update(read_given(args, invocation))
    if not given:
        raise CheckpointError("update needs something to change", "checkpoint memory update phase=review")
    if {"initiative", "timestamp"}.intersection(key for key, value in given.items() if value is None):
        raise CheckpointError("a checkpoint keeps its initiative and its timestamp", "give them another value")
    return given


# the verbs


def save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb `save`."""
    trigger = args.on or "manual"
    given = {**_find_sources(args, invocation, trigger), **read_given(args, invocation)}
    request = Request(trigger, given, Wish(args.next_milestone or "", args.next_phase or "", args.interrupted or ""))
    settings = graphs.read_settings(invocation.cwd, args.entity)
    around = Surroundings(invocation.cwd, invocation.env, invocation.now)
    with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        saved = save_checkpoint(transport, settings.entity, request, around)
    return describe("save", saved, graphs.find_offline(args.offline), trigger)


def _find_sources(args: argparse.Namespace, invocation: Invocation, trigger: str) -> dict[str, str]:
    """The fields that come from elsewhere: a skill's checkpoint, a commit."""
    given: dict[str, str] = {}
    if args.from_skill:
        from checkpoint_git.protocols.memory.bridge import read_skill

        given.update(read_skill(invocation.cwd, args.from_skill, invocation.now))
    if trigger == "commit":
        from checkpoint_git.protocols.memory.commit import read_commit_fields

        given.update(read_commit_fields(invocation.cwd, args.commit or "HEAD"))
    elif args.commit:
        raise CheckpointError("--commit goes with --on commit", "checkpoint memory save --on commit")
    return given


def update(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb `update`."""
    given = _read_update(args, invocation)
    settings = graphs.read_settings(invocation.cwd, args.entity)
    with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        saved = update_checkpoint(transport, settings.entity, given, invocation.now)
    return describe("update", saved, graphs.find_offline(args.offline))


def describe(action: str, saved: Saved, findings: list[Finding], trigger: str = "") -> Outcome:
    """What a write tells."""
    entity = saved.written.entity
    reading = read_entity(entity)
    data: dict[str, Any] = {
        "action": action,
        "available": True,
        "saved": True,
        "entity": entity.name,
        "created": saved.written.created,
        "fields": reading.fields,
        "changed": sorted(saved.changes),
        "copy": saved.copy or None,
    }
    if trigger:
        data["trigger"] = trigger
    what = "made" if saved.written.created else "begun afresh" if saved.copy else "updated"
    lines: list[Block] = [Line(f"{entity.name}: {what}", "good"), *show_fields(reading.fields, list(saved.changes))]
    if saved.copy:
        message = "the checkpoint was corrupted; what it held is kept, and a fresh one was begun"
        found = Finding("memory/backup", "warning", message, entity.name, hint=saved.copy)
        findings = [found, *findings]
    return Outcome(data, lines, [*findings, *_left(entity, saved)], 0)


def _left(entity: Entity, saved: Saved) -> list[Finding]:
    from checkpoint_git.core.clock import read_instant

    instant = read_instant(saved.changes.get("timestamp")) or (0, "")
    return rules.check(entity, instant[0])


def show_fields(fields: Mapping[str, str], keys: list[str]) -> list[Block]:
    """Fields in lines, those that are there, shortened."""
    return [Line(f"  {key}: {shorten(fields[key], _SHOWN)}") for key in keys if key in fields]
