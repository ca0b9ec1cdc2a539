"""Manifests on the disk: what points there are, what each one holds, and what state it is in."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, load
from checkpoint_git.core.managed_block import put_block
from checkpoint_git.core.platform import has_ended
from checkpoint_git.core.schema import Schema, explain, is_surely_valid, load_schema
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import (
    make_folder,
    remove_file,
    remove_stray_files,
    reporting,
    sync_folder,
    write_file,
)
from checkpoint_git.disk.discover import check_way
from checkpoint_git.disk.read import read_if_there, read_own, read_plain
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.registry import PROTOCOLS
from checkpoint_git.protocols.restore import layout, rules
from checkpoint_git.protocols.restore.contents import Entry, Location, read_entry
from checkpoint_git.protocols.restore.layout import Workspace

SCHEMA_VERSION = 1
_BUILDING = ".new-"
_JOURNAL = "rollback"  # in the folder of a safety point while the rollback that it is for is under way
_JOURNALED = re.compile("(?:chk_|auto-)[a-z0-9_]+(?: --index| --operation| --scope PART)*")
_MUTABLE = ("state", "history", "digest")


class Manifest(NamedTuple):
    id: str
    value: dict[str, Any]
    trouble: str = ""  # why it cannot be relied on
    is_foreign: bool = False  # this clone did not make it: it came with a branch, or with a copy of the folder


def find_digest(value: Mapping[str, Any]) -> str:
    body = {key: member for key, member in value.items() if key not in _MUTABLE}
    return sha256(json.dumps(body, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def write_text(value: Mapping[str, Any]) -> bytes:
    # ASCII, so that names of any bytes survive
    return (json.dumps(value, indent=1) + "\n").encode()


# A point is there when its folder is: it is built under another name and renamed once it is whole.
def load_manifest(workspace: Workspace, point: str) -> Manifest | None:
    """None where there is no such point. Damage is reported in `trouble`, never raised."""
    for base in dict.fromkeys((workspace.base, os.path.join(workspace.root, layout.FOLDER))):
        folder = layout.point_folder(base, point)
        if not os.path.lexists(folder):
            continue
        try:
            most = layout.MAX_MANIFEST if base == workspace.base else MAX_BYTES
            found = parse_manifest(point, read_plain(os.path.join(folder, layout.MANIFEST), most))
        except OSError as error:
            found = Manifest(point, {}, f"its manifest cannot be read: {error.strerror}")
        return found._replace(is_foreign=base != workspace.base)
    return None


def parse_manifest(point: str, data: bytes) -> Manifest:
    try:
        value = load(data.decode())
    except (ValueError, JsonTextError):
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
    return load_schema(read_own(__file__, "schema.json"))


def write_state(workspace: Workspace, manifest: Manifest, state: str, operation: str) -> Manifest:
    entry = {"at": write_instant(workspace.now), "operation": operation, "state": state}
    value = {**manifest.value, "state": state, "history": [*manifest.value.get("history", []), entry]}
    write_file(os.path.join(locate(workspace, manifest.id).folder, layout.MANIFEST), write_text(value))
    if state != "dropped":
        write_copy(workspace, manifest.id, renew=True)
    return manifest._replace(value=value)


def find_state(manifest: Manifest, now: int) -> str:
    """active, restored, expired or dropped; "foreign", or "damaged" where it is not usable."""
    if manifest.is_foreign or manifest.trouble:
        return "foreign" if manifest.is_foreign else "damaged"
    state = str(manifest.value["state"])
    is_alive = state in ("active", "restored")
    return "expired" if is_alive and rules.is_expired(manifest.value["expires_at"], now) else state


def read_entries(manifest: Manifest) -> list[Entry]:
    return [read_entry(value) for value in manifest.value["entries"]]


def locate(workspace: Workspace, point: str) -> Location:
    root, ref, env = workspace.root, layout.ref_name(point), workspace.env
    commit = private_objects.read_ref(root, ref, env) if workspace.git_dir else ""
    folders = [layout.point_folder(base, point) for base in (workspace.base, os.path.join(root, layout.FOLDER))]
    return Location(root, folders[not os.path.lexists(folders[0])], env, commit)


def read_manifests(workspace: Workspace) -> list[Manifest]:
    """Oldest first; those of every work tree, and the foreign ones."""
    found = [one for point in _list_ids(workspace) if (one := load_manifest(workspace, point))]
    # of one second, their names are in the order of chance
    return sorted(found, key=lambda one: (one.id[:19], 0 if one.trouble else one.value.get("began", 0), one.id))


def _list_ids(workspace: Workspace) -> set[str]:
    return {*layout.list_ids(workspace.base), *layout.list_ids(os.path.join(workspace.root, layout.FOLDER))}


def list_points(workspace: Workspace) -> list[Manifest]:
    points = read_manifests(workspace)
    for manifest in points:
        if is_of_work_tree(workspace, manifest) and not manifest.is_foreign:
            write_copy(workspace, manifest.id)
    return points


def is_covered(workspace: Workspace) -> bool:
    """Whether a live point that this clone made, of this work tree, has the whole workspace as its scope."""
    in_git = workspace.git_dir is not None
    refs = private_objects.read_refs(workspace.root, layout.REF_PREFIX, workspace.env) if in_git else {}
    for point in reversed(layout.list_ids(workspace.base)):
        manifest = load_manifest(workspace, point)
        if manifest is None or find_state(manifest, workspace.now) not in ("active", "restored"):
            continue
        is_whole = "" in manifest.value["scope"]["asked"] and is_of_work_tree(workspace, manifest)
        if is_whole and (point in refs or manifest.value["type"] != "git_stash"):
            return True
    return False


def load_point(workspace: Workspace, word: str, *, foreign: bool = False) -> Manifest:
    """word: an id, its beginning, or "latest". foreign: others' points too. Raises CheckpointError for none."""
    manifest = load_manifest(workspace, find_id(workspace, word))
    if manifest is None:
        hint = "`checkpoint restore-point list` shows those that are"
        raise CheckpointError(f"no such restore point: {escape_controls(shorten(word, 60))}", hint)
    if manifest.is_foreign and not foreign:
        message = f"{manifest.id} is not in this clone's store, so it is untrusted"
        hint = f"look at it first: checkpoint restore-point show {manifest.id}; --foreign uses it"
        raise CheckpointError(message, hint)
    return manifest


def find_id(workspace: Workspace, word: str) -> str:
    if layout.is_id(word):
        return word
    if word == "latest":
        points = [one for one in read_manifests(workspace) if is_of_work_tree(workspace, one)]
        usable = [one for one in points if find_state(one, workspace.now) in ("active", "restored")]
        asked = [one.id for one in usable if one.value.get("made_for") != "rollback"]
        if not asked:
            others = [one.id for one in read_manifests(workspace) if one not in points and not one.is_foreign]
            there = f"; another work tree has {others[-1]}: rollback {others[-1]} --here" if others else ""
            raise CheckpointError("no live restore point yet", f"checkpoint restore-point create SCOPE{there}")
        return asked[-1]
    beginning = word if word.startswith("chk_") else f"chk_{word}"
    ids = _list_ids(workspace) if word else ()
    found = sorted(point for point in ids if point.startswith(beginning) or point.endswith(f"_{word}"))
    if len(found) > 1:
        raise CheckpointError(f"{len(found)} restore points match: {', '.join(found[:5])}", "write more of it")
    return found[0] if found else layout.check_id(word)


def begin_journal(workspace: Workspace, safety: str, words: str) -> None:
    """words: what the command line has after `rollback`."""
    write_file(os.path.join(layout.point_folder(workspace.base, safety), _JOURNAL), words.encode())


def read_journals(workspace: Workspace) -> list[tuple[Manifest, str]]:
    """(the safety point, the words) of each rollback that did not end, newest first, unless that point was used."""
    found = list[tuple[Manifest, str]]()
    for point in reversed(layout.list_ids(workspace.base)):
        text = read_if_there(os.path.join(layout.point_folder(workspace.base, point), _JOURNAL)) or b""
        words = text.decode("ascii", "replace")
        kept = load_manifest(workspace, point) if _JOURNALED.fullmatch(words) else None
        if kept and is_of_work_tree(workspace, kept) and find_state(kept, workspace.now) == "active":
            found.append((kept, words))
    return found


def end_journals(workspace: Workspace, words: str) -> None:
    """Of the rollbacks to the same point, as far as the one of these words did what they had begun."""
    for kept, begun in read_journals(workspace):
        if begun == words or (begun.split()[0] == words.split()[0] and "--scope" not in words):
            remove_file(os.path.join(layout.point_folder(workspace.base, kept.id), _JOURNAL))


def write_copy(workspace: Workspace, point: str, *, renew: bool = False) -> None:
    """The manifest and restore.sh below .checkpoints, where `git clean` may take them: they are written anew then."""
    source = layout.point_folder(workspace.base, point)
    folder = layout.point_folder(os.path.join(workspace.root, layout.FOLDER), point)
    if source == folder or (os.path.lexists(os.path.join(folder, layout.MANIFEST)) and not renew):
        return
    check_way(folder, workspace.root)
    exclude_from_git(workspace)
    make_folder(folder)
    for name in (layout.RESTORE_SCRIPT, layout.MANIFEST):
        if (data := read_if_there(os.path.join(source, name))) is not None:
            write_file(os.path.join(folder, name), data)


def is_of_work_tree(workspace: Workspace, manifest: Manifest) -> bool:
    return bool(manifest.value.get("work_tree", "") == find_work_tree(workspace))


def find_work_tree(workspace: Workspace) -> str:
    # linked work trees share their refs; "" is the first, and outside git
    folder = workspace.git_dir or ""
    return os.path.basename(folder.rstrip("/")) if os.path.isfile(os.path.join(folder, "commondir")) else ""


def exclude_from_git(workspace: Workspace) -> None:
    if workspace.git_dir is None:
        return
    path = os.path.join(os.path.dirname(workspace.base), "info/exclude")
    before = read_if_there(path) or b""
    after = put_block(before, "".join(f"/{pattern}\n" for row in PROTOCOLS for pattern in row.local).encode())
    if after != before:
        make_folder(os.path.dirname(path))
        write_file(path, after)


@contextmanager
def build_folder(base: str, point: str) -> Iterator[str]:
    """A folder that gets the point's name after the block, and is removed when that fails."""
    check_way(os.path.basename(base), os.path.dirname(base))
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{layout.check_id(point)}")
    with reporting(folder):
        os.mkdir(folder, 0o700)
    try:
        yield folder
        target = layout.point_folder(base, point)
        if os.path.lexists(target):
            raise CheckpointError(f"there is a restore point {point} already", "run the same command again")
        with reporting(target):
            sync_folder(folder)
            os.rename(folder, target)
            sync_folder(base)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def scratch_folder(base: str, name: str) -> Iterator[str]:
    """Give a folder that is removed after the block; clear_unfinished removes what a killed process left of it."""
    check_way(os.path.basename(base), os.path.dirname(base))
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{name}")
    shutil.rmtree(folder, ignore_errors=True)
    with reporting(folder):
        os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_folder(base: str, point: str) -> None:
    # first its name, then what is in it, so that no half of one stays
    folder = layout.point_folder(base, point)
    doomed = os.path.join(base, f"{_BUILDING}{os.getpid()}-{point}-dropped")
    with reporting(folder), suppress(FileNotFoundError):
        os.rename(folder, doomed)
        sync_folder(os.path.dirname(folder))
        shutil.rmtree(doomed)


def clear_unfinished(workspace: Workspace) -> None:
    """What killed processes left: half-made points, and files beside those that they were about to replace."""
    for base in dict.fromkeys((workspace.base, os.path.join(workspace.root, layout.FOLDER))):
        if not os.path.islink(base):
            _remove_unfinished(workspace, base)
            for folder in (base, *(layout.point_folder(base, point) for point in layout.list_ids(base))):
                remove_stray_files(folder)
    if workspace.git_dir:
        remove_stray_files(os.path.join(os.path.dirname(workspace.base), "info"))
        lock = os.path.join(workspace.git_dir, "index.lock")
        with suppress(OSError):
            if read_if_there(lock) == layout.LOCKED:
                remove_quietly(lock)  # of a rollback that was killed: we hold the lock of all others
        remove_stray_files(workspace.git_dir)


def _remove_unfinished(workspace: Workspace, base: str) -> None:
    names = list[str]()
    with suppress(OSError):
        names = os.listdir(base)
    for name in names:
        process, _, point = name.removeprefix(_BUILDING).partition("-")
        if name.startswith(_BUILDING) and has_ended(process):
            if workspace.git_dir and base == workspace.base and layout.is_id(point):  # its ref comes before its name
                ref, env = layout.ref_name(point), workspace.env
                remove_quietly(os.path.join(os.path.dirname(base), f"{ref}.lock"))  # of the git that made it
                private_objects.remove_ref(workspace.root, ref, locate(workspace, point).commit, env)
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)
