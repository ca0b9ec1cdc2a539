"""`checkpoint memory sync`: synchronize the checkpoint and WORKFLOW-STATUS.yaml.

If they differ, the document wins.
"""

import argparse
import codecs
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from checkpoint_git.core import yamledit, yamltext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_repository, folders_upward, relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.layout import STATUS_FILE, Home
from checkpoint_git.protocols.memory.state import read_state, write_state
from checkpoint_git.protocols.memory.store import Keep
from checkpoint_git.protocols.memory.transports import Transport
from checkpoint_git.protocols.memory.triggers import TriggerRequest

Path = tuple[str | int, ...]

FIELDS: dict[str, Path] = {
    "initiative": ("active", "initiative"),
    "milestone": ("active", "milestone"),
    "phase": ("active", "phase"),
    "last_action": ("sessions", -1, "completed"),
    "next_action": ("resume", "next_action"),
    "context_files": ("resume", "context_files"),
}
_OTHER_SHAPE = ("workflow", "current_step", "steps")
# of a list in the document, in the checkpoint's one text
_SEPARATORS = {
    "last_action": "; ",
    "context_files": ",",
}


class GraphDifference(NamedTuple):
    """A field that checkpoint and document do not agree about.

    ours, theirs: checkpoint's and document's value, "" for none. place: in the document, as a
    person writes it. differs: both are set, and the one that goes is not just what both had.
    winner: whose value both will have.
    """

    field: str
    place: str
    ours: str
    theirs: str
    differs: bool
    winner: Literal["document", "checkpoint"]

    def __str__(self) -> str:
        ours = _quote(self.ours)
        theirs = _quote(self.theirs)
        return f"{self.field}: {ours} in the checkpoint, {theirs} at {self.place}; the {self.winner} wins"


def _quote(text: str) -> str:
    if not text:
        return "nothing"
    return f'"{escape_controls(shorten(text, 80))}"'


def sync(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Synchronize checkpoint and document, field by field."""
    path = _find_document(invocation.cwd, args.words[0] if args.words else "")
    data = _read_bytes(path)
    text, value = _parse(path, data)
    document = check_shape(value, escape_controls(path))
    copy = ""
    with graph.open_checkpoint(args, invocation) as (transport, home):
        name = store.find_name(transport, home, _read_text(document, "initiative"))
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
            if entity and _is_lossy(differences):
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


def _is_lossy(differences: Sequence[GraphDifference]) -> bool:
    """Return whether the document replaces something of the checkpoint."""
    return any(found.differs and found.winner == "document" for found in differences)


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
    after = _read_text(document, "initiative")
    if not (before and after) or before == after:
        return False
    error = store.OtherInitiativeError(name, before, after)
    if args.to_document or args.dry_run:
        rename = ("checkpoint", "memory", "update", "--yes", f"initiative={after}")
        hint = advise("name that one's file; if it was renamed", *rename)
        message = f"{error.message}, and the file is about {_quote(after)}"
        raise CheckpointError(message, hint)

    if not graph.is_confirmed(error.question, invocation, yes=args.yes):
        raise error
    return True


def check_shape(document: Any, path: str) -> dict[str, Any]:
    """Return the document's mapping. Raises CheckpointError for a file of another kind.

    document: the value of the file, None if that is blank. path: escaped, for the message.
    """
    if document is None:
        return {}
    if not isinstance(document, dict):
        hint = "its top level has active, sessions and resume"
        raise CheckpointError(f"{path}: it is not a mapping", hint)

    others = ", ".join(key for key in _OTHER_SHAPE if key in document)
    if others and "active" not in document:
        message = f"{path}: a status file of another kind: it has {others}, and no active"
        raise CheckpointError(message, "sync needs active, sessions and resume; name such a file")

    for field in FIELDS:
        try:
            _read_text(document, field)
        except TypeError:
            message = f"{path}: {_place(field)} has an unknown form"
            raise CheckpointError(message, "write a text, or several") from None

    return document


def compare(
    fields: Mapping[str, str],
    document: Mapping[str, Any],
    base: Mapping[str, str],
    *,
    to_document: bool,
) -> list[GraphDifference]:
    """Return how checkpoint and document differ.

    base: what both sides had after the last sync. The side that changed since wins; what one
    removed stays removed.
    """
    found = []
    for field in FIELDS:
        ours = fields.get(field, "").strip()
        theirs = _read_text(document, field)
        before = base.get(field)
        difference = _compare_field(field, ours, theirs, before, to_document=to_document)
        if difference:
            found.append(difference)

    return found


def _compare_field(
    field: str,
    ours: str,
    theirs: str,
    before: str | None,
    *,
    to_document: bool,
) -> GraphDifference | None:
    """Return how a field differs, None if nothing has to be done about it.

    ours: of the checkpoint. theirs: of the document. before: of both after the last sync, None if
    that is unknown.
    """
    is_ours_old = before is not None and _is_same(field, ours, before)
    is_theirs_old = before is not None and _is_same(field, theirs, before)
    is_removed = is_ours_old if ours else is_theirs_old
    if _is_same(field, ours, theirs) or (is_removed and not (ours and theirs)):
        return None

    checkpoint_wins = bool(ours) and (to_document or is_theirs_old)
    if theirs and not checkpoint_wins:
        winner: Literal["document", "checkpoint"] = "document"
        is_lost = bool(ours) and not is_ours_old
    else:
        winner = "checkpoint"
        is_lost = bool(ours and theirs) and not is_theirs_old

    return GraphDifference(field, _place(field), ours, theirs, is_lost, winner)


def _is_same(field: str, text: str, other: str) -> bool:
    return _normal(field, text) == _normal(field, other)


def agree(
    fields: Mapping[str, str], document: Mapping[str, Any], differences: Sequence[GraphDifference]
) -> dict[str, str]:
    """Return the fields that both sides have after the sync: the next one's base."""
    agreed = {}
    for found in differences:
        agreed[found.field] = found.ours if found.winner == "checkpoint" else found.theirs

    for field in FIELDS:
        text = fields.get(field, "").strip()
        if text and _is_same(field, text, _read_text(document, field)):
            agreed[field] = text

    return agreed


def _normal(field: str, text: str) -> list[str]:
    if field != "context_files":
        return [text]
    return [part.strip() for part in text.split(",")]


def _place(field: str) -> str:
    if field == "last_action":
        return "sessions[-1].completed"
    return ".".join(str(step) for step in FIELDS[field])


def _read_text(document: Mapping[str, Any], field: str) -> str:
    """Return the text of a field, "" for none. Raises TypeError for an unknown form."""
    value = _find(document, field)
    if value is None:
        return ""

    items = value if isinstance(value, list) else [value]
    texts = []
    for item in items:
        if isinstance(item, bool):
            texts.append(str(item).lower())
        elif isinstance(item, str | int | float):
            texts.append(str(item))
        else:
            raise TypeError

    return _SEPARATORS.get(field, ", ").join(texts).strip()


def _find(document: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field, None if there is none. Raises TypeError for another shape."""
    value: Any = document
    for step in FIELDS[field]:
        if value is None or (isinstance(step, int) and value == []):
            return None
        if isinstance(value, list) and isinstance(step, int):
            value = value[step]
        elif isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        else:
            raise TypeError
    return value


def plan_document(
    document: Mapping[str, Any], differences: list[GraphDifference]
) -> dict[Path, str | list[str]]:
    """Return the values that the document gets, by their paths. A list stays a list."""
    changes: dict[Path, str | list[str]] = {}
    for found in differences:
        if found.winner != "checkpoint" or not found.ours:
            continue
        path = FIELDS[found.field]
        if found.field == "last_action":
            path = ("sessions", max(len(document.get("sessions") or []) - 1, 0), "completed")
        before = _find(document, found.field)
        if isinstance(before, list) or (before is None and found.field == "context_files"):
            separator = _SEPARATORS.get(found.field, ", ").strip()
            changes[path] = [part.strip() for part in found.ours.split(separator) if part.strip()]
        else:
            changes[path] = found.ours

    return changes


def plan_checkpoint(differences: Sequence[GraphDifference]) -> dict[str, str]:
    return {found.field: found.theirs for found in differences if found.winner == "document"}


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
