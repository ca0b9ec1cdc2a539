"""`checkpoint memory sync`: the checkpoint and WORKFLOW-STATUS.yaml brought together, the document first."""

import argparse
import os
from typing import Any

from checkpoint_git.core import yamledit, yamltext
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_repository, relative_path
from checkpoint_git.protocols.memory import graph as graphs
from checkpoint_git.protocols.memory import rules, store, syncmap
from checkpoint_git.protocols.memory.entity import Reading, read_entity
from checkpoint_git.protocols.memory.layout import STATUS_FILE
from checkpoint_git.protocols.memory.transports.contract import Transport
from checkpoint_git.protocols.memory.verbs.save import check_fields, update_checkpoint


def sync(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: what differs is shown; without --dry-run both sides have the same afterwards."""
    path = find_document(invocation.cwd, args.words[0] if args.words else "")
    data = _read(path)
    text = _decode(path, data)
    document = syncmap.check_shape(_load(path, text))
    settings = graphs.read_settings(invocation.cwd, args.entity)
    with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        fields = _read_fields(transport, settings.entity)
        differences = syncmap.compare(fields, document, to_document=args.to_document)
        for_document = syncmap.plan_document(document, differences)
        for_checkpoint = syncmap.plan_checkpoint(differences)
        changed = yamledit.set_values(text, for_document) if for_document else text
        check_fields(for_checkpoint)
        if not args.dry_run:
            if for_checkpoint:
                _write_checkpoint(transport, settings.entity, for_checkpoint, invocation.now, is_new=not fields)
            if for_document:
                _write(path, data, changed)
    shown = relative_path(path, invocation.cwd)
    return _describe(args, shown, differences, graphs.find_offline(args.offline))


def find_document(cwd: str, named: str) -> str:
    """The status file: the one that is named, else the nearest upward, no higher than the repository's root."""
    if named:
        path = os.path.join(cwd, named)
        if os.path.isfile(path):
            return path
        raise CheckpointError(f"there is no file {escape_controls(named)}", "name the status file")
    repository = find_repository(cwd)
    top, folder = (repository[0] if repository else cwd), os.path.abspath(cwd)
    while True:
        path = os.path.join(folder, STATUS_FILE)
        if os.path.isfile(path):
            return path
        if folder in (top, os.path.dirname(folder)):
            message = f"there is no {STATUS_FILE} in {escape_controls(cwd)} or above it"
            raise CheckpointError(message, "name the file: checkpoint memory sync PATH")
        folder = os.path.dirname(folder)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(yamltext.MAX_BYTES + 1)
    except OSError as error:
        raise CheckpointError(f"{escape_controls(path)} could not be read: {error.strerror}", "") from None


def _decode(path: str, data: bytes) -> str:
    if b"\r" in data.replace(b"\r\n", b"") or (b"\r\n" in data and b"\n" in data.replace(b"\r\n", b"")):
        message = f"{escape_controls(path)} mixes line ends, so it cannot be changed without changing all of them"
        raise CheckpointError(message, "give it one kind of line ends")
    try:
        return yamltext.decode(data)
    except yamltext.YamlTextError as error:
        raise _no_yaml(path, error) from None


def _load(path: str, text: str) -> Any:
    try:
        return None if yamledit.is_blank(text) else yamltext.load_by_library(text)
    except yamltext.YamlTextError as error:
        raise _no_yaml(path, error) from None


def _no_yaml(path: str, error: yamltext.YamlTextError) -> CheckpointError:
    return CheckpointError(f"{escape_controls(path)}:{error.line}: {escape_controls(error.message)}", "mend the file")


def _write(path: str, before: bytes, text: str) -> None:
    data = text.encode()
    data = data.replace(b"\n", b"\r\n") if b"\r\n" in before else data
    data = b"\xef\xbb\xbf" + data if before.startswith(b"\xef\xbb\xbf") else data
    if _read(path) != before:
        raise CheckpointError(f"{escape_controls(path)} changed meanwhile", "nothing was written; run it again")
    atomic.write_file(path, data)


def _read_fields(transport: Transport, name: str) -> dict[str, str]:
    entity = store.load_entity(transport, name)
    if entity is None:
        return {}
    reading: Reading = read_entity(entity)
    if reading.state in ("corrupted", "foreign"):
        found = rules.check(entity, 0)[0]
        raise CheckpointError(f"the checkpoint cannot be brought together with anything: {found.message}", found.hint)
    return reading.fields


def _write_checkpoint(transport: Transport, name: str, fields: dict[str, str], now: int, *, is_new: bool) -> None:
    if not is_new:
        update_checkpoint(transport, name, dict(fields), now)
        return
    if not fields.get("initiative"):
        message = "there is no checkpoint, and the document names no initiative to begin one with"
        raise CheckpointError(message, "set active.initiative, or: checkpoint memory save --initiative NAME")
    with transport.exclusive():
        store.write_fields(transport, name, {**fields, "timestamp": write_instant(now)})


def _describe(
    args: argparse.Namespace, path: str, differences: list[syncmap.Difference], findings: list[Finding]
) -> Outcome:
    data = {
        "action": "sync",
        "available": True,
        "document": path,
        "dry_run": args.dry_run,
        "differences": [found._asdict() for found in differences],
    }
    hint = "--to-document makes the checkpoint win" if not args.to_document else "without --to-document the file wins"
    conflicts = [
        Finding("memory/sync-differs", "warning", syncmap.say(found), path, hint=hint)
        for found in differences
        if found.differs
    ]
    lines: list[Block] = [Line(f"  {syncmap.say(found)}") for found in differences if not found.differs]
    if not differences:
        lines = [Line("checkpoint and document say the same", "good")]
    elif args.dry_run:
        lines.append(Line("nothing was changed: this was a dry run", "dim"))
    return Outcome(data, lines, [*findings, *conflicts], 0)
