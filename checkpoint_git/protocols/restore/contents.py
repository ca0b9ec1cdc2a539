"""The values of a restore point: entries for paths, parts for states and databases, one hash."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

Kind = Literal["file", "link", "folder", "absent"]
Chunks = Iterator[bytes]

HASH_VERSION = b"checkpoint-restore-point 1\n"
# kind of a part -> type of a point that holds only such parts
TYPES = {
    "state": "state_snapshot",
    "sqlite": "database_savepoint",
    "postgresql": "database_savepoint",
}
SQLITE_SIDES = ("-wal", "-shm", "-journal")  # endings of the files that belong to a database


class Location(NamedTuple):
    """The place of a point."""

    root: str  # the workspace, absolute
    folder: str  # the point's folder, absolute; it has another name while the point is made
    env: Mapping[str, str]
    commit: str = ""  # what keeps the content in git


class ScopePath(NamedTuple):
    """A path of a scope, as it is now."""

    path: str
    kind: Kind
    status: os.stat_result | None  # of a link itself; None if nothing is there


class ContentEntry(NamedTuple):
    """A path as a point holds it."""

    path: str  # relative to the workspace, with "/"; bytes that are not UTF-8: as os.fsdecode does
    kind: Kind
    mode: int = 0  # permission bits
    size: int = 0  # bytes of a file's content, or of a link's target
    sha256: str = ""  # of the same, hexadecimal; "" for folders and absent paths
    blob: str = ""  # the id under which git keeps the content
    # if the file has several names (hard links) and this is not the first: the first
    twin: str = ""


class ContentDifference(NamedTuple):
    """A path that is not as the point holds it."""

    path: str
    how: str  # "missing", "added", "changed", "mode", "kind" or "links"


class Part(NamedTuple):
    """A state or database as it was kept: a member of the manifest's "parts"."""

    kind: str  # a key of TYPES
    name: str  # as a scope names it: "state:run", "sqlite:///app.db"
    content: str  # the file that keeps it, below the point's folder; "" if there was nothing
    size: int  # of that file, as sha256 is
    sha256: str
    details: Mapping[str, Any] = {}  # only its mechanism reads them


def match_twins(entries: Iterable[ContentEntry]) -> list[ContentEntry]:
    """Return entries by path, each twin with the first name of its file that is among them."""
    first_names: dict[str, str] = {}
    matched = []
    for entry in sorted(entries, key=lambda entry: entry.path):
        first = first_names.setdefault(entry.twin or entry.path, entry.path)
        twin = "" if first == entry.path else first
        matched.append(entry._replace(twin=twin))
    return matched


def compare_entries(
    before: Iterable[ContentEntry], now: Iterable[ContentEntry]
) -> list[ContentDifference]:
    """Return how two states of a scope differ, by path."""
    old_entries = {entry.path: entry for entry in match_twins(before) if entry.kind != "absent"}
    new_entries = {entry.path: entry for entry in match_twins(now) if entry.kind != "absent"}

    differences = []
    for path in sorted(old_entries.keys() | new_entries.keys()):
        how = _compare(old_entries.get(path), new_entries.get(path))
        if how:
            differences.append(ContentDifference(path, how))
    return differences


def _compare(old: ContentEntry | None, new: ContentEntry | None) -> str:
    """Return how an entry changed, as in ContentDifference; "" if it did not."""
    if old is None:
        return "added"
    if new is None:
        return "missing"
    if old.kind != new.kind:
        return "kind"
    if old.sha256 != new.sha256:
        return "changed"
    if old.mode != new.mode and old.kind != "link":
        return "mode"
    if old.twin != new.twin:
        return "links"
    return ""


def write_entry(entry: ContentEntry) -> dict[str, Any]:
    """Return an entry as a member of the manifest's "entries"."""
    value: dict[str, Any] = {"path": entry.path, "kind": entry.kind}
    if entry.kind != "absent":
        value["mode"] = f"{entry.mode:04o}"
    if entry.kind in ("file", "link"):
        value["size"] = entry.size
        value["sha256"] = entry.sha256

    if entry.blob:
        value["blob"] = entry.blob
    if entry.twin:
        value["twin"] = entry.twin
    return value


def read_entry(value: Mapping[str, Any]) -> ContentEntry:
    """Return the entry of a member of the manifest's "entries"."""
    return ContentEntry(
        path=str(value["path"]),
        kind=value["kind"],
        mode=int(str(value.get("mode", "0")), 8),
        size=int(value.get("size", 0)),
        sha256=str(value.get("sha256", "")),
        blob=str(value.get("blob", "")),
        twin=str(value.get("twin", "")),
    )


def read_part(value: Mapping[str, Any]) -> Part:
    """Return the part of a member of the manifest's "parts"."""
    return Part(*(value[name] for name in Part._fields))


def hash_contents(entries: Iterable[ContentEntry], parts: Sequence[Part] = ()) -> str:
    """Return "sha256:..." over the sorted (path, kind, mode, hash) of entries, then the parts."""
    digest = sha256(HASH_VERSION)
    for entry in sorted(entries, key=lambda entry: os.fsencode(entry.path)):
        name = os.fsencode(entry.path)
        digest.update(b"%d %b " % (len(name), name))
        digest.update(f"{entry.kind} {entry.mode:o} {entry.sha256}\n".encode())

    text = f"sha256:{digest.hexdigest()}"
    if not parts:
        return text

    digest = sha256(text.encode())
    for part in sorted(parts, key=lambda part: (part.kind, part.name)):
        line = f"\n{part.kind} {len(part.name)} {part.name} {part.sha256}"
        digest.update(line.encode("utf-8", "surrogateescape"))

    return f"sha256:{digest.hexdigest()}"
