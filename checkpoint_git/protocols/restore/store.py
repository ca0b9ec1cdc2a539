"""Read and write the manifests of restore points, and find points by name."""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, load
from checkpoint_git.core.managed_block import put_block
from checkpoint_git.core.schema import Schema, explain, is_surely_valid, load_schema
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import (
    make_folder,
    remove_file,
    write_file,
)
from checkpoint_git.disk.discover import check_way
from checkpoint_git.disk.read import read_if_there, read_own, read_plain
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.registry import PROTOCOLS
from checkpoint_git.protocols.restore import layout, rules
from checkpoint_git.protocols.restore.contents import ContentEntry, Location, read_entry
from checkpoint_git.protocols.restore.layout import Workspace

SCHEMA_VERSION = 1
CREATE_HINT = command(
    "checkpoint", "restore-point", "create", Blank("what to keep", "SCOPE"), more=" makes one"
)
# in the folder of a safety point while the rollback that it is for is under way
_JOURNAL = "rollback"
_JOURNALED = re.compile("(?:chk_|auto-)[a-z0-9_]+(?: --index| --operation| --scope PART)*")
_MUTABLE = ("state", "history", "digest")


class Manifest(NamedTuple):
    """A point's manifest."""

    id: str
    value: dict[str, Any]
    trouble: str = ""  # why it cannot be relied on
    # this clone did not make it: it came with a branch, or with a copy of the folder
    is_foreign: bool = False


def find_digest(value: Mapping[str, Any]) -> str:
    """Return a hash over the members of a manifest that never change."""
    body = {key: member for key, member in value.items() if key not in _MUTABLE}
    return sha256(json.dumps(body, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def write_text(value: Mapping[str, Any]) -> bytes:
    """Return a manifest as JSON: in ASCII, so that names of any bytes survive."""
    return (json.dumps(value, indent=1) + "\n").encode()


# A point exists if its folder does: it is built under another name and renamed once it is whole.
def load_manifest(workspace: Workspace, point: str) -> Manifest | None:
    """Return a point's manifest, None for no such point.

    Damage is reported in `trouble`, never raised.
    """
    for base in list_bases(workspace):
        folder = layout.point_folder(base, point)
        if not os.path.lexists(folder):
            continue
        is_foreign = base != workspace.base
        largest = MAX_BYTES if is_foreign else layout.MAX_MANIFEST
        try:
            data = read_plain(os.path.join(folder, layout.MANIFEST), largest)
        except OSError as error:
            trouble = f"its manifest cannot be read: {error.strerror}"
            return Manifest(point, {}, trouble, is_foreign)
        return parse_manifest(point, data)._replace(is_foreign=is_foreign)

    return None


def list_bases(workspace: Workspace) -> list[str]:
    """Return the folders in which points are: the store of this clone first."""
    return list(dict.fromkeys((workspace.base, os.path.join(workspace.root, layout.FOLDER))))


def parse_manifest(point: str, data: bytes) -> Manifest:
    """Return the manifest in some bytes, with what is wrong with it in `trouble`."""
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
    if not is_surely_valid(schema, value):
        for mismatch in explain(schema, value):
            shown = shorten(mismatch.message, 200)
            return Manifest(point, value, f"its manifest is wrong at {mismatch.where}: {shown}")

    for finding in rules.check(value, point):
        trouble = f"its manifest is wrong at {finding.where}: {finding.message}"
        return Manifest(point, value, trouble)

    return Manifest(point, value)


@cache
def _load_schema() -> Schema:
    return load_schema(read_own(__file__, "schema.json"))


def write_state(workspace: Workspace, manifest: Manifest, state: str, operation: str) -> Manifest:
    """Write a point's new state, and what changed it."""
    entry = {"at": write_instant(workspace.now), "operation": operation, "state": state}
    history = [*manifest.value.get("history", []), entry]
    value = {**manifest.value, "state": state, "history": history}
    folder = locate(workspace, manifest.id).folder
    write_file(os.path.join(folder, layout.MANIFEST), write_text(value))
    if state != "dropped":
        write_copy(workspace, manifest.id, renew=True)
    return manifest._replace(value=value)


def find_state(manifest: Manifest, now: int) -> str:
    """Return "active", "restored", "expired" or "dropped".

    "foreign" or "damaged" if it is not usable.
    """
    if manifest.is_foreign:
        return "foreign"
    if manifest.trouble:
        return "damaged"
    state = str(manifest.value["state"])
    is_live = state in ("active", "restored")
    if is_live and rules.is_expired(manifest.value["expires_at"], now):
        return "expired"
    return state


def read_entries(manifest: Manifest) -> list[ContentEntry]:
    """Return what a point holds of each path."""
    return [read_entry(value) for value in manifest.value["entries"]]


def locate(workspace: Workspace, point: str) -> Location:
    """Return where a point is."""
    folder = layout.point_folder(workspace.base, point)
    if not os.path.lexists(folder):
        folder = layout.point_folder(os.path.join(workspace.root, layout.FOLDER), point)
    commit = ""
    if workspace.git_dir:
        ref = layout.ref_name(point)
        commit = private_objects.read_ref(workspace.root, ref, workspace.env)
    return Location(workspace.root, folder, workspace.env, commit)


def read_manifests(workspace: Workspace) -> list[Manifest]:
    """Return all points, oldest first: those of every work tree, and the foreign ones."""
    found = []
    for point in _list_ids(workspace):
        manifest = load_manifest(workspace, point)
        if manifest:
            found.append(manifest)
    return sorted(found, key=_find_age)


def _find_age(manifest: Manifest) -> tuple[str, int, str]:
    # the second, then the nanoseconds: the ids of one second are in random order
    second = manifest.id.rpartition("_")[0]
    began = 0
    if not manifest.trouble:
        began = manifest.value.get("began", 0)
    return second, began, manifest.id


def _list_ids(workspace: Workspace) -> set[str]:
    ids: set[str] = set()
    for base in list_bases(workspace):
        ids.update(layout.list_ids(base))
    return ids


def list_points(workspace: Workspace) -> list[Manifest]:
    """Return all points, as read_manifests does, and write missing copies below .checkpoints."""
    points = read_manifests(workspace)
    for manifest in points:
        if is_of_work_tree(workspace, manifest) and not manifest.is_foreign:
            write_copy(workspace, manifest.id)
    return points


def is_covered(workspace: Workspace) -> bool:
    """Return whether a live point of this clone and work tree covers the whole workspace."""
    refs = {}
    if workspace.git_dir is not None:
        refs = private_objects.read_refs(workspace.root, layout.REF_PREFIX, workspace.env)

    for point in reversed(layout.list_ids(workspace.base)):
        manifest = load_manifest(workspace, point)
        if manifest is None or find_state(manifest, workspace.now) not in ("active", "restored"):
            continue
        has_all = "" in manifest.value["scope"]["asked"]
        is_whole = has_all and is_of_work_tree(workspace, manifest)
        if is_whole and (point in refs or manifest.value["type"] != "git_stash"):
            return True

    return False


def load_point(workspace: Workspace, word: str, *, foreign: bool = False) -> Manifest:
    """Return the point that a word names, as in find_id.

    foreign: also one that this clone did not make. Raises CheckpointError for none.
    """
    manifest = load_manifest(workspace, find_id(workspace, word))
    if manifest is None:
        message = f"no such restore point: {escape_controls(shorten(word, 60))}"
        hint = command("checkpoint", "restore-point", "list", more=" shows those that are")
        raise CheckpointError(message, hint)

    if manifest.is_foreign and not foreign:
        message = f"{manifest.id} is not in this clone's store, so it is untrusted"
        show = advise("look at it first", "checkpoint", "restore-point", "show", manifest.id)
        raise CheckpointError(message, join_hints(show, "--foreign uses it"))

    return manifest


def find_id(workspace: Workspace, word: str) -> str:
    """Return the id that a word names: an id, its beginning or end, or "latest".

    Raises CheckpointError for none, and for several.
    """
    if layout.is_id(word):
        return word
    if word == "latest":
        return _find_latest(workspace)

    beginning = f"chk_{word.removeprefix('chk_')}"
    found = []
    for point in sorted(_list_ids(workspace)):
        if word and (point.startswith(beginning) or point.endswith(f"_{word}")):
            found.append(point)

    if len(found) > 1:
        message = f"{len(found)} restore points match: {', '.join(found[:5])}"
        raise CheckpointError(message, "write more of it")

    if not found:
        return layout.check_id(word)
    return found[0]


def _find_latest(workspace: Workspace) -> str:
    """Return the newest live point of this work tree that is not a rollback's."""
    latest = ""
    of_others = ""
    for manifest in read_manifests(workspace):
        if not is_of_work_tree(workspace, manifest):
            if not manifest.is_foreign:
                of_others = manifest.id
            continue
        is_live = find_state(manifest, workspace.now) in ("active", "restored")
        if is_live and manifest.value.get("made_for") != "rollback":
            latest = manifest.id

    if latest:
        return latest

    hint = CREATE_HINT
    if of_others:
        use = ("checkpoint", "restore-point", "rollback", of_others, "--here")
        hint = join_hints(hint, advise(f"another work tree has {of_others}", *use))

    raise CheckpointError("no live restore point yet", hint)


def begin_journal(workspace: Workspace, safety: str, words: str) -> None:
    """Record that a rollback begins. words: what the command line has after `rollback`."""
    write_file(_journal_path(workspace, safety), words.encode())


def _journal_path(workspace: Workspace, safety: str) -> str:
    return os.path.join(layout.point_folder(workspace.base, safety), _JOURNAL)


def read_journals(workspace: Workspace) -> list[tuple[Manifest, str]]:
    """Return (the safety point, the words) of each rollback that did not end, newest first.

    One whose safety point was used does not count.
    """
    found: list[tuple[Manifest, str]] = []
    for point in reversed(layout.list_ids(workspace.base)):
        text = read_if_there(_journal_path(workspace, point)) or b""
        words = text.decode("ascii", "replace")
        if not _JOURNALED.fullmatch(words):
            continue
        safety = load_manifest(workspace, point)
        if not safety or not is_of_work_tree(workspace, safety):
            continue
        if find_state(safety, workspace.now) == "active":
            found.append((safety, words))

    return found


def end_journals(workspace: Workspace, words: str) -> None:
    """Record the end of a rollback, and of interrupted ones to the same point that it finished.

    words: of the rollback, as in begin_journal.
    """
    point = words.split()[0]
    for safety, begun in read_journals(workspace):
        is_finished = begun.split()[0] == point and "--scope" not in words
        if begun == words or is_finished:
            remove_file(_journal_path(workspace, safety.id))


def write_copy(workspace: Workspace, point: str, *, renew: bool = False) -> None:
    """Copy the manifest and restore.sh to .checkpoints.

    `git clean` may remove them there: then they are written again. renew: even if they are there.
    """
    source = layout.point_folder(workspace.base, point)
    folder = layout.point_folder(os.path.join(workspace.root, layout.FOLDER), point)
    if source == folder:
        return
    if os.path.lexists(os.path.join(folder, layout.MANIFEST)) and not renew:
        return

    check_way(folder, workspace.root)
    exclude_from_git(workspace)
    make_folder(folder)

    for name in (layout.RESTORE_SCRIPT, layout.MANIFEST):
        data = read_if_there(os.path.join(source, name))
        if data is not None:
            write_file(os.path.join(folder, name), data)


def is_of_work_tree(workspace: Workspace, manifest: Manifest) -> bool:
    """Return whether a point was made in this work tree."""
    return bool(manifest.value.get("work_tree", "") == find_work_tree(workspace))


def find_work_tree(workspace: Workspace) -> str:
    """Return the name of a linked work tree, which shares its refs; "" for the first."""
    folder = workspace.git_dir or ""
    if not os.path.isfile(os.path.join(folder, "commondir")):
        return ""
    return os.path.basename(folder.rstrip("/"))


def exclude_from_git(workspace: Workspace) -> None:
    """Let git ignore what this package keeps for itself, in .git/info/exclude."""
    if workspace.git_dir is None:
        return
    path = os.path.join(os.path.dirname(workspace.base), "info/exclude")
    before = read_if_there(path) or b""

    patterns = ""
    for row in PROTOCOLS:
        patterns += "".join(f"/{pattern}\n" for pattern in row.local)
    after = put_block(before, patterns.encode())
    if after != before:
        make_folder(os.path.dirname(path))
        write_file(path, after)
