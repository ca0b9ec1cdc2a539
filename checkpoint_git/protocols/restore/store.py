"""Manifests on the disk: what points there are, what each one holds, and what became of it.

A point is there when its folder is: it is built under another name and renamed once it is whole.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.schema import Schema, explain, is_surely_valid, load_schema
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.atomic import make_folder, sync_folder, write_error, write_file
from checkpoint_git.protocols.restore import layout, rules

SCHEMA_VERSION = 1
_BUILDING = ".new-"
_MAX_MANIFEST = 64 << 20
_MUTABLE = ("state", "history", "digest")


class Manifest(NamedTuple):
    """A point's manifest as data. trouble: why it cannot be relied on, "" where it can."""

    id: str
    value: dict[str, Any]
    trouble: str = ""


def find_digest(value: Mapping[str, Any]) -> str:
    """The hash over all of a manifest that never changes."""
    body = {key: member for key, member in value.items() if key not in _MUTABLE}
    return sha256(json.dumps(body, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def write_text(value: Mapping[str, Any]) -> bytes:
    """A manifest's text: JSON in ASCII, so that names of any bytes survive."""
    return (json.dumps(value, indent=1) + "\n").encode()


def hash_script(data: bytes) -> str:
    """How a manifest knows its restore.sh."""
    return sha256(data).hexdigest()


def begin_folder(root: str, point: str) -> str:
    """A new folder in which a point is built. Raises CheckpointError where none can be made."""
    base = os.path.join(root, layout.FOLDER)
    if os.path.islink(base):
        raise CheckpointError(f"{base} is a symbolic link", "put a real folder in its place")
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{layout.check_id(point)}")
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise write_error(folder, error) from None
    return folder


def finish_folder(root: str, folder: str, point: str) -> None:
    """Gives a whole point its name. Raises CheckpointError where the name is taken."""
    target = layout.point_folder(root, point)
    try:
        if os.path.lexists(target):
            raise CheckpointError(f"there is a restore point {point} already", "run the same command again")
        sync_folder(folder)
        os.rename(folder, target)
        sync_folder(os.path.dirname(target))
    except OSError as error:
        raise write_error(target, error) from None


def remove_folder(root: str, point: str) -> None:
    """Takes a point away: first its name, then what is in it, so that no half of one stays. Raises CheckpointError."""
    folder = layout.point_folder(root, point)
    doomed = os.path.join(root, layout.FOLDER, f"{_BUILDING}{os.getpid()}-{point}-dropped")
    try:
        os.rename(folder, doomed)
        sync_folder(os.path.dirname(folder))
        shutil.rmtree(doomed)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_error(folder, error) from None


def remove_unfinished(root: str) -> list[str]:
    """Clears what killed processes left of points that they were making. Returns the names."""
    base = os.path.join(root, layout.FOLDER)
    try:
        names = os.listdir(base)
    except OSError:
        return []
    gone = [name for name in names if name.startswith(_BUILDING) and _is_abandoned(name)]
    for name in gone:
        shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    return gone


def _is_abandoned(name: str) -> bool:
    process = name.removeprefix(_BUILDING).partition("-")[0]
    if not (process.isascii() and process.isdecimal() and len(process) < 10):
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def load_manifest(root: str, point: str) -> Manifest | None:
    """The manifest of a point, None where there is no such point. Damage is told in `trouble`, never raised."""
    path = layout.manifest_path(root, point)
    if not os.path.lexists(os.path.dirname(path)):
        return None
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            data = stream.read(_MAX_MANIFEST + 1)
    except OSError as error:
        return Manifest(point, {}, f"its manifest cannot be read: {error.strerror}")
    return parse_manifest(point, data)


def parse_manifest(point: str, data: bytes) -> Manifest:
    """A manifest from its bytes, checked against its own digest and for whatever else this module relies on."""
    try:
        value = json.loads(data) if len(data) <= _MAX_MANIFEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Manifest(point, {}, "its manifest is not JSON")
    if value.get("schema_version") != SCHEMA_VERSION:
        return Manifest(point, value, "its manifest is of another version")
    if value.get("id") != point or value.get("digest") != find_digest(value):
        return Manifest(point, value, "its manifest was changed after it was made")
    return Manifest(point, value, _find_trouble(point, value))


@cache
def _load_schema() -> Schema:
    with open(os.path.join(os.path.dirname(__file__), "schema.json"), encoding="utf-8") as stream:
        return load_schema(stream.read())


def _find_trouble(point: str, value: dict[str, Any]) -> str:
    schema = _load_schema()
    if not is_surely_valid(schema, value):
        mismatches = explain(schema, value)
        if mismatches:
            return f"its manifest is wrong at {mismatches[0].where or '/'}: {shorten(mismatches[0].message, 200)}"
    findings = rules.check(value, skill=point, size=0, now=0)
    return f"its manifest is wrong at {findings[0].where}: {findings[0].message}" if findings else ""


def write_state(root: str, manifest: Manifest, state: str, operation: str, now: int) -> Manifest:
    """Notes in the manifest what became of the point. Raises CheckpointError."""
    entry = {"at": write_instant(now), "operation": operation, "state": state}
    value = {**manifest.value, "state": state, "history": [*manifest.value.get("history", []), entry]}
    write_file(layout.manifest_path(root, manifest.id), write_text(value))
    return Manifest(manifest.id, value, manifest.trouble)


def read_manifests(root: str) -> Iterator[Manifest]:
    """Every point that has a folder, oldest first."""
    for point in layout.list_ids(root):
        manifest = load_manifest(root, point)
        if manifest is not None:
            yield manifest
