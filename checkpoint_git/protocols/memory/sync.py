"""`checkpoint memory sync`: synchronize the checkpoint and WORKFLOW-STATUS.yaml.

If they differ, the document wins.
"""

import argparse
import codecs
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from checkpoint_git.core import yamledit, yamltext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_repository, folders_upward, relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.layout import STATUS_FILE, Home
from checkpoint_git.protocols.memory.state import read_state, write_state
from checkpoint_git.protocols.memory.status_document import (
    GraphDifference,
    agree,
    check_shape,
    compare,
    is_lossy,
    plan_checkpoint,
    plan_document,
    quote,
    read_text,
)
from checkpoint_git.protocols.memory.store import Keep
from checkpoint_git.protocols.memory.transports import Transport
from checkpoint_git.protocols.memory.triggers import TriggerRequest


def sync(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Synchronize checkpoint and document, field by field."""
    path = _find_document(invocation.cwd, args.words[0] if args.words else "")
    data = _read_bytes(path)
    text, value = _parse(path, data)
    document = check_shape(value, escape_controls(path))
    copy = ""
    with graph.open_checkpoint(args, invocation) as (transport, home):
        name = store.find_name(transport, home, read_text(document, "initiative"))
        entity = store.load_entity(transport, name)
        fields = _read_fields(entity)
        if _is_other(name, fields, document, args, invocation):
            fields = {}

        base_file = _find_base(invocation.cwd, name, path)
        base = _read_base(base_file) if fields else {}
        differences = compare(fields, document, base, to_document=args.to_document)
        for_document = plan_document(document, differences)
        for_checkpoint = plan_checkpoint(differences)
        changed = text
        if for_document:
            changed = yamledit.set_values(text, for_document)
        store.check_fields(for_checkpoint)

        if for_checkpoint and not args.dry_run:
            keep = graph.make_keep(invocation)
            if entity and is_lossy(differences):
                copy = keep(entity)
            now = invocation.now
            is_new = not fields
            written = _write_checkpoint(transport, home, for_checkpoint, now, keep, is_new=is_new)
            copy = written or copy

        if for_document and not args.dry_run:
            _write_document(path, data, changed)
        if base_file and not args.dry_run:
            graph.remember(invocation.cwd, store.load_entity(transport, name))
            write_state(base_file, {**base, **agree(fields, document, differences)})

    shown = relative_path(path, invocation.cwd)
    return _describe(args, shown, differences, graph.find_copy(copy, name))


def _describe(
    args: argparse.Namespace, path: str, differences: list[GraphDifference], copies: list[Finding]
) -> Outcome:
    data = {
        "document": path,
        "dry_run": args.dry_run,
        "differences": [found._asdict() for found in differences],
    }
    hint = "--to-document makes the checkpoint win"
    if args.to_document:
        hint = "without --to-document the file wins"

    findings = []
    lines: list[Block] = []
    for found in differences:
        if found.differs:
            findings.append(Finding("memory/sync-differs", "warning", str(found), path, hint=hint))
        else:
            lines.append(Line(f"  {found}"))

    if not differences:
        lines = [Line("checkpoint and document are the same", "good")]
    elif args.dry_run:
        lines.append(Line("nothing was changed: this was a dry run", "dim"))

    return Outcome(data, lines, [*findings, *copies], 0)


def _is_other(
    name: str,
    fields: Mapping[str, str],
    document: dict[str, Any],
    args: argparse.Namespace,
    invocation: Invocation,
) -> bool:
    """Return whether the document has another initiative, and may replace the checkpoint.

    Raises CheckpointError if it may not.
    """
    before = fields.get("initiative", "")
    after = read_text(document, "initiative")
    if not (before and after) or before == after:
        return False
    error = store.OtherInitiativeError(name, before, after)
    if args.to_document or args.dry_run:
        rename = ("checkpoint", "memory", "update", "--yes", f"initiative={after}")
        hint = advise("name that one's file; if it was renamed", *rename)
        message = f"{error.message}, and the file is about {quote(after)}"
        raise CheckpointError(message, hint)

    if not graph.is_confirmed(error.question, invocation, yes=args.yes):
        raise error
    return True


def _read_fields(entity: Entity | None) -> dict[str, str]:
    if entity is None:
        return {}
    reading = read_entity(entity)
    if reading.state in ("corrupted", "foreign"):
        found = rules.check_content(entity)[0]
        message = f"the checkpoint cannot be synchronised: {found.message}"
        raise CheckpointError(message, found.hint)
    return reading.fields


def _write_checkpoint(
    transport: Transport, home: Home, fields: dict[str, str], now: int, keep: Keep, *, is_new: bool
) -> str:
    """Write the document's fields; return the folder of the backup of what was there, or ""."""
    if not is_new:
        return store.update_checkpoint(transport, home, fields, now, keep).copy
    if not fields.get("initiative"):
        message = "no checkpoint exists, and the document names no initiative to begin one with"
        words = ("checkpoint", "memory", "save", "--initiative", Blank("name", "NAME"))
        raise CheckpointError(message, advise("set active.initiative, or", *words))

    request = TriggerRequest("manual", fields)
    saved = store.save_checkpoint(transport, home, lambda: request, now, keep, replace=True)
    return saved.copy


def _find_base(cwd: str, name: str, path: str) -> str:
    """Return the file that says what both had after the last sync.

    "" outside git, where none is kept.
    """
    repository = find_repository(cwd)
    if not repository:
        return ""
    pair = f"{name}\n{os.path.realpath(path)}".encode("utf-8", "surrogateescape")
    digest = blake2b(pair, digest_size=12).hexdigest()[:16]
    return os.path.join(repository[1], "checkpoint", f"memory-sync-{digest}")


def _read_base(file: str) -> dict[str, str]:
    found = read_state(file) if file else None
    if not isinstance(found, dict):
        return {}
    return {field: text for field, text in found.items() if isinstance(text, str)}


def find_newer(cwd: str, name: str, fields: Mapping[str, str]) -> list[Finding]:
    """Return what a document near by would replace in the checkpoint, [] if none can be read."""
    with suppress(CheckpointError):
        path = _find_document(cwd, "")
        _, value = _parse(path, _read_bytes(path))
        document = check_shape(value, path)
        base = _read_base(_find_base(cwd, name, path))
        found = compare(fields, document, base, to_document=False)
        newer = [difference for difference in found if difference.winner == "document"]
        newer = [difference for difference in newer if difference.ours]
        # nothing of another initiative is mixed in
        initiatives = [difference for difference in newer if difference.field == "initiative"]

        shown = relative_path(path, cwd)
        hint = advise("to take over the file's values", "checkpoint", "memory", "sync")
        findings = []
        for difference in initiatives or newer:
            message = str(difference)
            findings.append(Finding("memory/sync-differs", "warning", message, shown, hint=hint))
        return findings

    return []


def _find_document(cwd: str, named: str) -> str:
    if named:
        return os.path.join(cwd, named)
    start = os.path.abspath(cwd)
    repository = find_repository(cwd)
    top = repository[0] if repository else start
    for folder in folders_upward(start, top):
        path = os.path.join(folder, STATUS_FILE)
        if os.path.isfile(path):
            return path

    message = f"no {STATUS_FILE} found in {escape_controls(cwd)} or above it"
    words = ("checkpoint", "memory", "sync", Blank("path", "PATH"))
    raise CheckpointError(message, advise("name the file", *words))


def _read_bytes(path: str) -> bytes:
    folder = os.path.dirname(path)
    repository = find_repository(folder)
    content = read_content(path, repository[0] if repository else folder)
    if isinstance(content, OSError):
        message = f"{escape_controls(path)} could not be read: {content.strerror}"
        words = ("checkpoint", "memory", "sync", Blank("path", "PATH"))
        raise CheckpointError(message, advise("name the status file", *words))
    return content


def _parse(path: str, data: bytes) -> tuple[str, Any]:
    """Return the text, its lines ending in a newline alone, and its value, None if it is blank.

    Raises CheckpointError.
    """
    shown = escape_controls(path)
    unix = data.replace(b"\r\n", b"")
    if b"\r" in unix or (b"\n" in unix and b"\r\n" in data):
        message = f"{shown} mixes line ends, so it cannot be changed without changing all of them"
        raise CheckpointError(message, "give it one kind of line ends")
    try:
        text = yamltext.decode(data)
        if yamledit.is_blank(text):
            return text, None
        return text, yamltext.load(text)
    except yamltext.YamlTextError as error:
        message = f"{shown}:{error.line}: {escape_controls(error.message)}"
        raise CheckpointError(message, "fix the file") from None


def _write_document(path: str, before: bytes, text: str) -> None:
    # Keeps the line ends and the byte order mark that the file has
    data = text.encode()
    if b"\r\n" in before:
        data = data.replace(b"\n", b"\r\n")
    if before.startswith(codecs.BOM_UTF8):
        data = codecs.BOM_UTF8 + data
    atomic.replace_known(path, before, data)
