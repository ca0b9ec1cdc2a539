"""What a restore point holds: entries for the paths of its scope, parts for states and databases, one hash over all."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["file", "link", "folder", "absent"]
Chunks = Iterator[bytes]

HASH_VERSION = b"checkpoint-restore-point 1\n"
TYPES = {"state": "state_snapshot", "sqlite": "database_savepoint", "postgresql": "database_savepoint"}
SQLITE_SIDES = ("-wal", "-shm", "-journal")  # endings of the files that belong to a database


class Location(NamedTuple):
    root: str  # the workspace, absolute
    folder: str  # the point's own, absolute; while a point is made it has another name
    env: Mapping[str, str]
    commit: str = ""  # what keeps the content in git


class ScopePath(NamedTuple):
    path: str
    kind: Kind
    status: os.stat_result | None  # of a link itself; None where nothing is there


class Entry(NamedTuple):
    path: str  # relative to the workspace, with "/"; bytes that are not UTF-8 are surrogates (os.fsdecode)
    kind: Kind
    mode: int = 0  # permission bits
    size: int = 0  # bytes of a file's content, or of a link's target
    sha256: str = ""  # of the same, hexadecimal; "" for folders and what was not there
    blob: str = ""  # the id under which git keeps the content
    twin: str = ""  # the first of several names of this file (hard links), where this is not it


class Difference(NamedTuple):
    path: str
    how: str  # "missing", "added", "changed", "mode", "kind" or "links"


def match_twins(entries: Iterable[Entry]) -> list[Entry]:
    """By path, the twins of each by the first name that is among them."""
    first = dict[str, str]()
    ordered = sorted(entries, key=lambda entry: entry.path)
    pairs = zip(ordered, [first.setdefault(entry.twin or entry.path, entry.path) for entry in ordered], strict=True)
    return [entry._replace(twin="" if lead == entry.path else lead) for entry, lead in pairs]


def compare_entries(before: Iterable[Entry], now: Iterable[Entry]) -> list[Difference]:
    old = {entry.path: entry for entry in match_twins(before) if entry.kind != "absent"}
    new = {entry.path: entry for entry in match_twins(now) if entry.kind != "absent"}
    differences = []
    for path in sorted(old.keys() | new.keys()):
        one, other = old.get(path), new.get(path)
        if one is None or other is None:
            differences.append(Difference(path, "added" if one is None else "missing"))
        elif one.kind != other.kind:
            differences.append(Difference(path, "kind"))
        elif one.sha256 != other.sha256:
            differences.append(Difference(path, "changed"))
        elif one.mode != other.mode and one.kind != "link":
            differences.append(Difference(path, "mode"))
        elif one.twin != other.twin:
            differences.append(Difference(path, "links"))
    return differences


def write_entry(entry: Entry) -> dict[str, Any]:
    value: dict[str, Any] = {"path": entry.path, "kind": entry.kind}
    if entry.kind != "absent":
        value["mode"] = f"{entry.mode:04o}"
    if entry.kind in ("file", "link"):
        value.update(size=entry.size, sha256=entry.sha256)
    return {**value, **{key: text for key, text in {"blob": entry.blob, "twin": entry.twin}.items() if text}}


def read_entry(value: Mapping[str, Any]) -> Entry:
    mode = int(str(value.get("mode", "0")), 8)
    size, digest, blob = int(value.get("size", 0)), str(value.get("sha256", "")), str(value.get("blob", ""))
    return Entry(str(value["path"]), value["kind"], mode, size, digest, blob, str(value.get("twin", "")))


class Artifact(NamedTuple):
    """One state or database as it was kept: a member of the manifest's "parts"."""

    kind: str  # a key of TYPES
    name: str  # as a scope names it: "state:run", "sqlite:///app.db"
    content: str  # the file that keeps it, below the point's folder; "" where nothing was there
    size: int  # of that file, as sha256 is
    sha256: str
    details: Mapping[str, Any] = {}  # the mechanism's own


class Request(NamedTuple):
    kind: str
    name: str
    details: Mapping[str, Any] = {}  # the mechanism's own; never written down
    may_lack: bool = False  # before a rollback: it may be gone, and what cannot be understood is kept as it is


class Means(NamedTuple):
    state_to: Mapping[str, str] = {}  # key -> absolute path of the file that takes the state
    hand_over: Callable[[str, Any], object] | None = None  # takes (key, value) instead of files
    passwords: Mapping[str, str] = {}  # name of a database -> its password


class ArtifactMechanism(Protocol):
    """capture keeps it and proves that it can be restored; content is the file's path below the point's folder.
    request_present says how to keep what is there now, None where that cannot be known. restore returns sentences on
    what the user should know. write_lines is for restore.sh.
    """

    def capture(self, location: Location, request: Request, content: str) -> Artifact: ...
    def check_ready(self, location: Location, artifact: Artifact, means: Means) -> None: ...
    def is_as_kept(self, location: Location, artifact: Artifact, means: Means) -> bool: ...
    def request_present(self, location: Location, artifact: Artifact, means: Means) -> Request | None: ...
    def restore(self, location: Location, artifact: Artifact, means: Means) -> list[str]: ...
    def write_lines(self, artifact: Artifact) -> str: ...
    def find_prerequisites(self, artifact: Artifact) -> list[str]: ...


def read_artifact(value: Mapping[str, Any]) -> Artifact:
    return Artifact(*(value[name] for name in Artifact._fields))


def hash_contents(entries: Iterable[Entry], artifacts: Sequence[Artifact] = ()) -> str:
    """sha256:... over the sorted (path, kind, mode, hash of content) of the entries, then the artifacts, if any."""
    digest = sha256(HASH_VERSION)
    for entry in sorted(entries, key=lambda one: os.fsencode(one.path)):
        name = os.fsencode(entry.path)
        digest.update(b"%d %b %s %o %s\n" % (len(name), name, entry.kind.encode(), entry.mode, entry.sha256.encode()))
    text = f"sha256:{digest.hexdigest()}"
    if not artifacts:
        return text
    digest = sha256(text.encode())
    for one in sorted(artifacts, key=lambda each: (each.kind, each.name)):
        digest.update(f"\n{one.kind} {len(one.name)} {one.name} {one.sha256}".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"
