"""What a restore point knows of each path in its scope, and the one hash over all of it. Pure."""

import os
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Literal, NamedTuple

Kind = Literal["file", "link", "folder", "absent"]

HASH_VERSION = b"checkpoint-restore-point 1\n"


class Entry(NamedTuple):
    """One path as it stood.

    path: relative to the workspace, "/" between its parts; bytes that are no UTF-8 are surrogates (os.fsdecode). mode:
    permission bits. size: bytes of a file's content, or of a link's target. sha256: of the same, hexadecimal; "" for
    folders and for a path that was asked for and was not there. blob: the id under which git keeps the content, "".
    """

    path: str
    kind: Kind
    mode: int = 0
    size: int = 0
    sha256: str = ""
    blob: str = ""


def combine_hashes(entries: Iterable[Entry]) -> str:
    """The text sha256:... over the sorted (path, kind, mode, hash of content) of all entries."""
    digest = sha256(HASH_VERSION)
    for entry in sorted(entries, key=lambda one: os.fsencode(one.path)):
        name = os.fsencode(entry.path)
        digest.update(b"%d %b %s %o %s\n" % (len(name), name, entry.kind.encode(), entry.mode, entry.sha256.encode()))
    return f"sha256:{digest.hexdigest()}"


class Difference(NamedTuple):
    """A path that is not as it stood. how: "missing", "added", "changed", "mode" or "kind"."""

    path: str
    how: str


def compare_entries(before: Iterable[Entry], now: Iterable[Entry]) -> list[Difference]:
    """Where two states of one scope differ, by path. A path that is absent in both is no difference."""
    old = {entry.path: entry for entry in before if entry.kind != "absent"}
    new = {entry.path: entry for entry in now if entry.kind != "absent"}
    differences = [
        Difference(path, _tell_how(old.get(path), new.get(path))) for path in sorted(old.keys() | new.keys())
    ]
    return [difference for difference in differences if difference.how]


def _tell_how(old: Entry | None, new: Entry | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "missing"
    if old.kind != new.kind:
        return "kind"
    if old.sha256 != new.sha256:
        return "changed"
    return "mode" if old.mode != new.mode and old.kind != "link" else ""


def write_entry(entry: Entry) -> dict[str, Any]:
    """An entry as the manifest holds it. Surrogates survive, since JSON is written in ASCII."""
    value: dict[str, Any] = {"path": entry.path, "kind": entry.kind}
    if entry.kind != "absent":
        value["mode"] = f"{entry.mode:04o}"
    if entry.kind in ("file", "link"):
        value.update(size=entry.size, sha256=entry.sha256)
    return {**value, "blob": entry.blob} if entry.blob else value


def read_entry(value: dict[str, Any]) -> Entry:
    """An entry from a manifest that its schema accepts."""
    mode = int(str(value.get("mode", "0")), 8)
    size, digest, blob = int(value.get("size", 0)), str(value.get("sha256", "")), str(value.get("blob", ""))
    return Entry(str(value["path"]), value["kind"], mode, size, digest, blob)
