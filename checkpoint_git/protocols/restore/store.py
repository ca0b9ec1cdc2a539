"""Manifests on the disk: what points there are, what each one holds, and what state it is in."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import put_block
from checkpoint_git.core.schema import Schema, explain, is_surely_valid, load_schema
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.atomic import make_folder, sync_folder, write_file
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import Blobs, read_blobs, read_tree
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.registry import PROTOCOLS
from checkpoint_git.protocols.restore import layout, rules
from checkpoint_git.protocols.restore.contents import Entry, Location, read_entry
from checkpoint_git.protocols.restore.file_writes import reporting
from checkpoint_git.protocols.restore.layout import Workspace

SCHEMA_VERSION = 1
_BUILDING = ".new-"
_MUTABLE = ("state", "history", "digest")


class Manifest(NamedTuple):
    id: str
    value: dict[str, Any]
    trouble: str = ""  # why it cannot be relied on


# one manifest


def find_digest(value: Mapping[str, Any]) -> str:
    body = {key: member for key, member in value.items() if key not in _MUTABLE}
    return sha256(json.dumps(body, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def write_text(value: Mapping[str, Any]) -> bytes:
    # ASCII, so that names of any bytes survive
    return (json.dumps(value, indent=1) + "\n").encode()


# A point is there when its folder is: it is built under another name and renamed once it is whole.
def load_manifest(root: str, point: str) -> Manifest | None:
    """None where there is no such point. Damage is reported in `trouble`, never raised."""
    if not os.path.lexists(layout.point_folder(root, point)):
        return None
    try:
        return parse_manifest(point, layout.read_manifest(root, point))
    except OSError as error:
        return Manifest(point, {}, f"its manifest cannot be read: {error.strerror}")


def parse_manifest(point: str, data: bytes) -> Manifest:
    try:
        value = json.loads(data) if len(data) <= layout.MAX_MANIFEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Manifest(point, {}, "its manifest is not JSON")
    if value.get("schema_version") != SCHEMA_VERSION:
        return Manifest(point, value, "its manifest is of another version")
    if value.get("id") != point or value.get("digest") != find_digest(value):
        return Manifest(point, value, "its manifest was changed after it was made")
    schema = _load_schema()
    mismatches = [] if is_surely_valid(schema, value) else explain(schema, value)
    wrong = [(one.where or "/", shorten(one.message, 200)) for one in mismatches]
    wrong = wrong or [(one.where, one.message) for one in rules.check(value, point)]
    return Manifest(point, value, f"its manifest is wrong at {wrong[0][0]}: {wrong[0][1]}" if wrong else "")


@cache
def _load_schema() -> Schema:
    with open(os.path.join(os.path.dirname(__file__), "schema.json"), encoding="utf-8") as stream:
        return load_schema(stream.read())


def write_state(root: str, manifest: Manifest, state: str, operation: str, now: int) -> Manifest:
    entry = {"at": write_instant(now), "operation": operation, "state": state}
    value = {**manifest.value, "state": state, "history": [*manifest.value.get("history", []), entry]}
    write_file(layout.manifest_path(root, manifest.id), write_text(value))
    return Manifest(manifest.id, value, manifest.trouble)


def find_state(manifest: Manifest, now: int) -> str:
    """active, restored, expired or dropped; "damaged" where it is not usable."""
    if manifest.trouble:
        return "damaged"
    state = str(manifest.value["state"])
    is_alive = state in ("active", "restored")
    return "expired" if is_alive and rules.is_expired(manifest.value["expires_at"], now) else state


def read_entries(manifest: Manifest) -> list[Entry]:
    return [read_entry(value) for value in manifest.value["entries"]]


def locate(workspace: Workspace, point: str) -> Location:
    ref = layout.ref_name(point)
    commit = private_objects.read_ref(workspace.root, ref, workspace.env) if workspace.git_dir else ""
    return Location(workspace.root, layout.point_folder(workspace.root, point), workspace.env, commit)


# all points


def read_manifests(root: str) -> Iterator[Manifest]:
    found = (load_manifest(root, point) for point in layout.list_ids(root))
    return (manifest for manifest in found if manifest is not None)


def list_points(workspace: Workspace, *, locked: bool = False) -> list[Manifest]:
    bring_back(workspace, locked=locked)
    return list(read_manifests(workspace.root))


def load_point(workspace: Workspace, point: str, *, locked: bool = False) -> Manifest:
    """locked: the caller holds the lock. Raises CheckpointError for an unknown point."""
    layout.check_id(point)
    manifest = load_manifest(workspace.root, point)
    if manifest is None:
        bring_back(workspace, locked=locked)
        manifest = load_manifest(workspace.root, point)
    if manifest is None:
        hint = "`checkpoint restore-point list` shows those that are"
        raise CheckpointError(f"no such restore point: {point}", hint)
    return manifest


def bring_back(workspace: Workspace, *, locked: bool = False) -> None:
    # `git clean -xdf` removes the folders of points; their commit holds the manifest and restore.sh
    if not workspace.git_dir or not _find_lost(workspace):
        return
    root, env = workspace.root, private_objects.quiet_env(workspace.env)
    own_files = (layout.MANIFEST, layout.RESTORE_SCRIPT)
    # without the lock a point that is just being made would be taken for a lost one
    with nullcontext() if locked else layout.lock(workspace):
        for point, commit in _find_lost(workspace).items():
            tree = read_tree(root, commit, env, [*own_files, layout.PARTS])
            names = [name for name in tree if name.count("/") <= 1]
            contents = read_blobs(root, [tree[name].blob for name in names], env)
            exclude_from_git(workspace)
            folder = begin_folder(root, point)
            os.mkdir(os.path.join(folder, layout.PARTS), 0o700)
            for name, data in (dict.fromkeys(own_files, b"") | dict(zip(names, contents, strict=True))).items():
                write_file(os.path.join(folder, name), data)
            finish_folder(root, folder, point)


def _find_lost(workspace: Workspace) -> dict[str, str]:
    """The points of which only git has a copy left: id -> commit."""
    root, there = workspace.root, set(layout.list_ids(workspace.root))
    refs = private_objects.read_refs(root, layout.REF_PREFIX, workspace.env)
    lost = [point for point in refs if layout.is_id(point) and point not in there]
    if not lost:
        return {}
    with Blobs(root, private_objects.quiet_env(workspace.env)) as blobs:
        manifests = blobs.read_all([f"{refs[point]}:{layout.MANIFEST}" for point in lost])
        contents = [content if isinstance(content, bytes) else b"" for content in manifests]
    values = {point: parse_manifest(point, content).value for point, content in zip(lost, contents, strict=True)}
    own = find_work_tree(workspace)
    return {point: refs[point] for point, value in values.items() if value and value.get("work_tree", "") == own}


def find_work_tree(workspace: Workspace) -> str:
    # linked work trees share their refs; "" is the first, and outside git
    folder = workspace.git_dir or ""
    return os.path.basename(folder.rstrip("/")) if os.path.isfile(os.path.join(folder, "commondir")) else ""


def exclude_from_git(workspace: Workspace) -> None:
    if workspace.git_dir is None:
        return
    words = ["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]
    out = run_git(words, workspace.root, env=private_objects.quiet_env(workspace.env)).out
    path = os.fsdecode(out.rstrip(b"\n"))
    before = read_if_there(path) or b""
    patterns = [pattern for row in PROTOCOLS for pattern in row.local]
    after = put_block(before, "".join(f"/{pattern}\n" for pattern in patterns).encode())
    if after != before:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, after)


# folders


def begin_folder(root: str, point: str) -> str:
    base = os.path.join(root, layout.FOLDER)
    if os.path.islink(base):
        raise CheckpointError(f"{base} is a symbolic link", "put a real folder in its place")
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{layout.check_id(point)}")
    with reporting(folder):
        os.mkdir(folder, 0o700)
    return folder


def finish_folder(root: str, folder: str, point: str) -> None:
    target = layout.point_folder(root, point)
    if os.path.lexists(target):
        raise CheckpointError(f"there is a restore point {point} already", "run the same command again")
    with reporting(target):
        sync_folder(folder)
        os.rename(folder, target)
        sync_folder(os.path.dirname(target))


def remove_folder(root: str, point: str) -> None:
    # first its name, then what is in it, so that no half of one stays
    folder = layout.point_folder(root, point)
    doomed = os.path.join(root, layout.FOLDER, f"{_BUILDING}{os.getpid()}-{point}-dropped")
    with reporting(folder), suppress(FileNotFoundError):
        os.rename(folder, doomed)
        sync_folder(os.path.dirname(folder))
        shutil.rmtree(doomed)


def remove_unfinished(root: str) -> None:
    try:
        names = os.listdir(os.path.join(root, layout.FOLDER))
    except OSError:
        return
    for name in names:
        process = re.match(rf"{re.escape(_BUILDING)}([0-9]{{1,9}})(?:-|\Z)", name)
        if process is None:
            continue
        try:
            os.kill(int(process[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(os.path.join(root, layout.FOLDER, name), ignore_errors=True)
        except OSError:
            continue  # it lives, and is another user's
