"""`checkpoint memory save` and `update`: from the options to the fields of the checkpoint."""

import argparse
import os
from collections.abc import Callable, Mapping
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.history.steps import read_branch
from checkpoint_git.git.objects import diff_parents, find_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import open_exchange
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import (
    KEYS,
    OWNER,
    join_files,
    read_entity,
)
from checkpoint_git.protocols.memory.save_log import clear_log
from checkpoint_git.protocols.memory.transports import read_entities
from checkpoint_git.protocols.memory.triggers import TriggerRequest

_LARGEST_FILE = 8 * store.MAX_VALUE  # characters of --fields
_LISTED_FILES = 100
_NO_REMOVAL = ("initiative", "timestamp")


def save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    trigger = args.on or "manual"
    if args.commit and trigger != "commit":
        raise CheckpointError(
            "--commit goes with --on commit",
            command("checkpoint", "memory", "save", "--on", "commit"),
        )

    given: dict[str, str] = {}
    if args.from_skill:
        given.update(_read_skill(args.from_skill, invocation))
    if trigger == "idle":
        position = find_position(invocation.cwd)
        if position:
            given["stopped_on"] = position
    given.update(read_given(args, invocation))

    def read_request() -> TriggerRequest:
        # of saves that wait for one another the last one writes what is the newest commit by then
        fields = given
        if trigger == "commit":
            fields = {**read_commit_fields(invocation.cwd, args.commit or "HEAD"), **given}
        return TriggerRequest(
            trigger,
            fields,
            next_milestone=args.next_milestone or "",
            next_phase=args.next_phase or "",
            interrupted=args.interrupted or "",
        )

    keep = graph.make_keep(invocation)
    with graph.open_checkpoint(args, invocation) as (transport, home):

        def write(is_sure: bool) -> store.Saved:
            now = invocation.now
            return store.save_checkpoint(transport, home, read_request, now, keep, replace=is_sure)

        saved = confirm(write, args, invocation)

    clear_log(invocation.cwd)
    outcome = _describe_saved(saved, invocation)
    return outcome._replace(data={**outcome.data, "trigger": trigger})


def update(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    given: dict[str, str | None] = {}
    for word in args.words:
        key, value = _split(word)
        given[key] = value if value.strip() else None

    given.update(read_given(args, invocation))
    if not given:
        raise CheckpointError(
            "update needs something to change",
            command("checkpoint", "memory", "update", "phase=review"),
        )
    if any(key in _NO_REMOVAL and value is None for key, value in given.items()):
        raise CheckpointError(
            "initiative and timestamp cannot be removed", "give them another value"
        )

    keep = graph.make_keep(invocation)
    with graph.open_checkpoint(args, invocation) as (transport, home):

        def write(is_sure: bool) -> store.Saved:
            now = invocation.now
            return store.update_checkpoint(transport, home, given, now, keep, rename=is_sure)

        saved = confirm(write, args, invocation)

    return _describe_saved(saved, invocation)


def confirm(
    write: Callable[[bool], store.Saved], args: argparse.Namespace, invocation: Invocation
) -> store.Saved:
    """Write, and ask first if the checkpoint is about another initiative.

    write: takes whether that one may be replaced. Raises OtherInitiativeError if the answer is no.
    """
    try:
        return write(args.yes)
    except store.OtherInitiativeError as error:
        if graph.is_confirmed(error.question, invocation, yes=False):
            return write(True)
        raise


def read_given(args: argparse.Namespace, invocation: Invocation) -> dict[str, str]:
    """Return the fields of --fields, --set and the option of each field; the later ones win."""
    given: dict[str, str] = {}
    if args.fields:
        given.update(_read_file(args.fields, invocation))
    given.update(_split(word) for word in args.set or [])
    for name in KEYS:
        value = getattr(args, name, None)
        if value is not None:
            given[name] = value

    return given


def find_position(cwd: str) -> str | None:
    """Return the branch and the commit that are checked out, None without a commit."""
    commit = run_git(["rev-parse", "--short=12", "HEAD"], cwd, check=False)
    if commit.code:
        return None
    branch = read_branch(cwd) or "no branch"
    return f"{branch} {commit.out.decode().strip()}"


def read_commit_fields(cwd: str, commit: str) -> dict[str, str]:
    commit_id = find_commit(cwd, commit)
    if not commit_id:
        shown = escape_controls(shorten(commit, 60))
        message = f'no commit "{shown}" in this repository'
        raise CheckpointError(message, "make a commit first, or name one: --commit")

    printed = run_git(["show", "-s", "--format=%s", commit_id], cwd).out
    subject = printed.decode("utf-8", "replace").strip()
    changed = dict.fromkeys(change.path for change in diff_parents(cwd, [commit_id]))
    paths = [os.fsencode(path).decode("utf-8", "replace") for path in changed]
    fields = {
        "last_commit": commit_id,
        "last_action": f"Committed {commit_id[:12]}: {shorten(subject, 200) or 'no subject'}",
        "files_modified": str(len(paths)),
    }
    if paths:
        fields["files_changed"] = join_files(paths[:_LISTED_FILES])
    return fields


def _read_skill(skill: str, invocation: Invocation) -> dict[str, str]:
    """Return the fields that a skill's checkpoint hands over."""
    exchanged = open_exchange().read_fields(invocation.cwd, skill, invocation.now)
    fields: dict[str, str] = {}
    for key, value in exchanged.items():
        fields[key] = join_files(value) if isinstance(value, list) else value

    return fields


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        shown = escape_controls(shorten(word, 60))
        raise CheckpointError(f'"{shown}" is not KEY=VALUE', "write it as phase=review")
    return key.strip(), value


def _read_file(path: str, invocation: Invocation) -> dict[str, str]:
    """Return the fields in a JSON file, or in a copy of a checkpoint. Raises CheckpointError.

    path: "-" for standard input.
    """
    shown = f"--fields {escape_controls(shorten(path, 200))}"
    hint = 'a JSON object of texts: {"phase": "review"}'
    try:
        value = jsontext.load(_read_text(path, invocation))
        if isinstance(value, dict) and isinstance(value.get("observations"), list):
            value = _read_copy(value)
    except jsontext.JsonTextError as error:
        message = f"{shown}:{error.line}: {escape_controls(error.message)}"
        raise CheckpointError(message, hint) from None
    except OSError as error:
        why = error.strerror or escape_controls(str(error))
        raise CheckpointError(f"{shown} could not be read: {why}", hint) from None
    except ValueError as error:
        why = escape_controls(str(error))
        raise CheckpointError(f"{shown} could not be read: {why}", hint) from None

    if not isinstance(value, dict):
        raise CheckpointError(f"{shown}: it is not an object of texts", hint)
    for key, item in value.items():
        if not isinstance(item, str):
            name = escape_controls(shorten(key, 60))
            raise CheckpointError(f"{shown}: /{name} is not a text", hint)

    check_filled(value)
    return dict(value)


def _read_text(path: str, invocation: Invocation) -> str:
    if path == "-":
        return invocation.stdin.read(_LARGEST_FILE)
    with open(os.path.join(invocation.cwd, path), encoding="utf-8") as stream:
        return stream.read(_LARGEST_FILE)


def _read_copy(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a backup (graph.keep_copy), without those that every save writes."""
    (entity,) = read_entities([value])
    fields = read_entity(entity).fields
    return {key: fields[key] for key in fields if key not in ("timestamp", OWNER)}


def _describe_saved(saved: store.Saved, invocation: Invocation) -> Outcome:
    name = saved.entity.name
    fields = saved.fields
    graph.remember(invocation.cwd, saved.entity)
    data = {
        "saved": True,
        "entity": name,
        "created": saved.created,
        "fields": fields,
        "changed": sorted(saved.changed),
        "copy": saved.copy or None,
    }
    done = "updated"
    if saved.created:
        done = "created"
    elif saved.fresh:
        done = "started over"

    lines: list[Block] = [Line(f"{name}: {done}", "good")]
    for key in saved.changed:
        if key in fields:
            lines.append(Line(f"  {key}: {shorten(fields[key], 100)}"))

    findings = graph.find_copy(saved.copy, name, is_fresh=saved.fresh)
    return Outcome(data, lines, [*findings, *rules.check_content(saved.entity)], 0)
