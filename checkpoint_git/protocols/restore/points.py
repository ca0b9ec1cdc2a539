"""Restore points of files made, proven and given back. The caller brings the time, the chance and the environment."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import find_missing
from checkpoint_git.protocols.restore import artifacts as parts
from checkpoint_git.protocols.restore import file_writes, layout, script, store
from checkpoint_git.protocols.restore.artifact import Part, Wanted, add_parts, write_part
from checkpoint_git.protocols.restore.entries import (
    Entry,
    combine_hashes,
    compare_entries,
    read_entry,
    write_entry,
)
from checkpoint_git.protocols.restore.mechanism import Chunks, FileMechanism, Held, Tell
from checkpoint_git.protocols.restore.read import changing_error, read_entries
from checkpoint_git.protocols.restore.scope import Named, Scope, read_scope

_MAX_REASON = 500
_TRIES = 3


class World(NamedTuple):
    """What a room may not fetch itself. root: the workspace, absolute. cwd: what relative scopes start from.

    now: seconds since 1970. mark: makes six random letters and digits. tell: called with bytes done, on long work.
    """

    root: str
    cwd: str
    now: int
    mark: Callable[[], str]
    env: Mapping[str, str]
    tell: Tell = lambda size: None


class Captured(NamedTuple):
    """What a scope came to. left_out: ignored by git and not named. warnings: sentences."""

    scope: Scope
    found: list[Named]
    left_out: list[str]
    warnings: list[str]


def open_mechanism(name: str) -> FileMechanism:
    """The module that keeps files in this way."""
    from checkpoint_git.protocols.restore.mechanisms import file_backup, git_stash

    return git_stash if name == "git_stash" else file_backup  # points without files hold no entries


def choose_type(world: World, wanted: str | None) -> str:
    """git_stash inside a repository, else file_backup. Raises CheckpointError where the wanted one cannot be."""
    inside = find_repository(world.root) is not None
    if wanted == "git_stash" and not inside:
        hint = "leave --type out, or say --type file_backup"
        raise CheckpointError(f"{escape_controls(world.root)} is in no git repository", hint)
    return wanted or ("git_stash" if inside else "file_backup")


def read_captured(
    world: World,
    asked: Sequence[str],
    kind: str,
    claimed: frozenset[str] = frozenset(),
    plain: frozenset[str] = frozenset(),
) -> Captured:
    """The paths that a point would hold. Raises CheckpointError for a scope that is empty, outside, or all secret.

    asked: [] for a point that holds no files. claimed: files that belong to a database which is a part of its own.
    plain: those of `asked` that are no patterns.
    """
    if not asked:
        return Captured(Scope([], [], [], []), [], [], [])
    scope = read_scope(world.root, asked, world.cwd, plain)
    scope = scope._replace(found=[named for named in scope.found if named.path not in claimed])
    found, left_out = scope.found, list[str]()
    if kind == "git_stash":
        found, left_out = _without_ignored(world, scope)
    warnings = list(_find_warnings(world, scope, found, left_out))
    if not any(named.kind != "folder" for named in found) and scope.secret:
        raise CheckpointError(
            "all files of this scope hold secrets by their names", _SECRETS.format(_some(scope.secret))
        )
    if not found and not claimed:
        raise CheckpointError("the scope holds nothing", "name files, folders or patterns that are there")
    return Captured(scope, found, left_out, warnings)


_SECRETS = "secrets are never copied into a restore point: {}"


def _find_warnings(world: World, scope: Scope, found: Sequence[Named], left_out: Sequence[str]) -> list[str]:
    nested = [one.path for one in found if one.kind == "folder" and _is_repository(world.root, one.path)]
    told = [
        (scope.secret, "left out, since secrets are never copied: {}"),
        (scope.special, "left out, since they are no files: {}"),
        (left_out, "left out, since git ignores them (name them to have them kept): {}"),
        (nested, "another repository, of which the files are kept and its own history is not: {}"),
    ]
    return [text.format(_some(paths)) for paths, text in told if paths]


def _is_repository(root: str, path: str) -> bool:
    return os.path.lexists(os.path.join(root, path, ".git"))


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(escape_controls(shorten(path, 100)) for path in paths[:10])
    return f"{shown} and {len(paths) - 10} more" if len(paths) > 10 else shown


def _without_ignored(world: World, scope: Scope) -> tuple[list[Named], list[str]]:
    """What is found but for what git ignores, unless it was named itself or lies in an ignored folder that was."""
    ignored = private_objects.read_ignored(world.root, world.env)
    folders = tuple(path for path in ignored if path.endswith("/"))
    files = frozenset(path for path in ignored if not path.endswith("/"))

    def is_ignored(path: str) -> bool:
        return path in files or f"{path}/".startswith(folders)

    named = tuple(f"{path}/" for path in scope.asked if path and is_ignored(path))
    kept, left_out = list[Named](), list[str]()
    for one in scope.found:
        if is_ignored(one.path) and not f"{one.path}/".startswith(named) if named else is_ignored(one.path):
            if one.path != layout.FOLDER:  # of it alone nothing is lost: files of the user in it are told of themselves
                left_out.append(one.path)
        else:
            kept.append(one)
    return kept, left_out


# making


class Made(NamedTuple):
    """A point that was made and proven. entries: what it holds. held: where.

    proofs: what was verified -> whether it held. uncommitted: what in scope is not as HEAD has it; None outside git.
    """

    manifest: store.Manifest
    entries: list[Entry]
    held: Held
    warnings: list[str]
    proofs: dict[str, bool]
    uncommitted: list[str] | None
    parts: Sequence[Part] = ()


def create(
    world: World,
    asked: Sequence[str],
    reason: str,
    kind: str,
    expires: int | None,
    wanted: Sequence[Wanted] = (),
    plain: frozenset[str] = frozenset(),
) -> Made:
    """A point of files and of other parts: captured, read back, rehearsed, and only then given its name.

    Nothing of the user's is touched. Raises CheckpointError; what was begun is cleared away then.
    """
    if not asked and not wanted:
        raise CheckpointError("the scope holds nothing", "name files, folders, patterns, states or databases")
    captured = read_captured(world, asked, kind, parts.find_claimed(wanted), plain)
    captured.warnings.extend(parts.find_warnings(wanted))
    files = [named.path for named in captured.found if named.kind == "file"]
    captured.warnings.extend(parts.find_half_kept(world.root, files))
    uncommitted = _find_uncommitted(world, captured.found)
    store.remove_unfinished(world.root)
    point = _choose_id(world)
    folder = store.begin_folder(world.root, point)
    try:
        held = Held(world.root, folder, world.env)
        entries = _capture_proven(held, kind, captured.found, world.tell)
        kept = parts.capture_parts(held, wanted, world.tell)
        text = _write_script(held, point, kind, entries, kept)
        value = _describe(world, point, kind, captured, entries, kept, reason, expires, store.hash_script(text))
        held = _write_point(held, point, value, entries, text, parts.read_small_contents(held, kept))
        if held.commit and not private_objects.create_ref(world.root, layout.ref_name(point), held.commit, world.env):
            raise CheckpointError(f"there is a restore point {point} already", "run the same command again")
        _check_complete(held, point, entries)
        store.finish_folder(world.root, folder, point)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    held = held._replace(folder=layout.point_folder(world.root, point))
    proofs = _prove(held, kind, captured)
    if kept:
        proofs["parts read back"] = not parts.find_damage(held, kept)
    return Made(store.Manifest(point, value), entries, held, captured.warnings, proofs, uncommitted, kept)


def _check_complete(held: Held, point: str, entries: Sequence[Entry]) -> None:
    """Raises CheckpointError where git threw objects away before the ref could hold them, as a prune may do."""
    blobs = sorted({entry.blob for entry in entries if entry.blob})
    if held.commit and find_missing(held.root, [held.commit, *blobs], private_objects.quiet_env(held.env)):
        private_objects.remove_ref(held.root, layout.ref_name(point), held.commit, held.env)
        raise CheckpointError("git threw content away while it was kept", "run it again once no `git gc` runs")


def _prove(held: Held, kind: str, captured: Captured) -> dict[str, bool]:
    """What is known to hold of a point that has its name: the rehearsal passed, or it would not be there."""
    import subprocess

    script_path = os.path.join(held.folder, layout.RESTORE_SCRIPT)
    parsed = subprocess.run(["/bin/sh", "-n", script_path], capture_output=True, check=False).returncode == 0
    return {
        "content read back": True,
        "restore rehearsed": True,
        "script parses": parsed,
        "kept by a ref": kind != "git_stash" or bool(held.commit),
        "whole scope kept": not (captured.scope.secret or captured.scope.special or captured.left_out),
    }


def _find_uncommitted(world: World, found: Sequence[Named]) -> list[str] | None:
    if find_repository(world.root) is None:
        return None
    paths = {named.path for named in found}
    return [path for path in private_objects.read_changed(world.root, world.env) if path in paths]


def _capture_proven(held: Held, kind: str, found: Sequence[Named], tell: Tell) -> list[Entry]:
    """The scope's content kept, given back in a rehearsal and compared. Raises CheckpointError.

    What differs was written to in between: it is captured again, a few times.
    """
    kept = {named.path: Entry(named.path, "absent") for named in found}
    waiting = list(found)
    for _ in range(_TRIES):
        entries = open_mechanism(kind).capture(held, waiting, tell)
        kept.update((entry.path, entry) for entry in entries)
        lost = rehearse(held, kind, entries)
        waiting = [
            named._replace(status=_status(held.root, kept[named.path])) for named in waiting if named.path in lost
        ]
        if not waiting:
            return list(kept.values())
    raise changing_error(waiting[0].path)


def _choose_id(world: World) -> str:
    while True:
        point = layout.make_id(world.now, world.mark())
        if not os.path.lexists(layout.point_folder(world.root, point)):
            return point


def _describe(
    world: World,
    point: str,
    kind: str,
    captured: Captured,
    entries: list[Entry],
    kept: Sequence[Part],
    reason: str,
    expires: int | None,
    script_hash: str,
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "schema_version": store.SCHEMA_VERSION,
        "id": point,
        "type": kind,
        "created_at": write_instant(world.now),
        "expires_at": None if expires is None else write_instant(expires),
        "reason": shorten(reason, _MAX_REASON),
        "scope": {
            "asked": captured.scope.asked,
            "files": [entry.path for entry in entries if entry.kind in ("file", "link")],
            "state_keys": [part.name.partition(":")[2] for part in kept if part.kind == "state"],
        },
        "entries": [write_entry(entry) for entry in entries],
        "parts": [write_part(part) for part in kept],
        "size": sum(entry.size for entry in entries) + sum(part.size for part in kept),
        "hash": add_parts(combine_hashes(entries), kept),
        "warnings": captured.warnings,
        "restore_script": script_hash,
        "work_tree": find_work_tree(world.root),
    }
    return {**value, "digest": store.find_digest(value), "state": "active", "history": []}


def _write_script(held: Held, point: str, kind: str, entries: list[Entry], kept: Sequence[Part]) -> bytes:
    def read_target(entry: Entry) -> str:
        return os.readlink(os.path.join(held.root, entry.path))

    files = [(kind, entries)] if entries else []
    before, after = parts.write_lines(kept, states=False), parts.write_lines(kept, states=True)
    return os.fsencode(script.write_script(point, files, read_target, before, after, parts.find_prerequisites(kept)))


def _write_point(
    held: Held, point: str, value: dict[str, Any], entries: list[Entry], text: bytes, small: dict[str, bytes]
) -> Held:
    own = {layout.MANIFEST: store.write_text(value), layout.RESTORE_SCRIPT: text}
    for name, data in own.items():
        _write_new(os.path.join(held.folder, name), data)
    if value["type"] != "git_stash":
        return held
    from checkpoint_git.protocols.restore.mechanisms import git_stash

    return held._replace(commit=git_stash.write_commit(held, point, str(value["reason"]), entries, own | small))


def _write_new(path: str, data: bytes) -> None:
    from checkpoint_git.disk.atomic import create_file

    create_file(path, data, 0o600)


# proving


def find_damage(held: Held, kind: str, entries: Sequence[Entry]) -> list[str]:
    """The paths whose kept content is lost or is not what was captured."""
    holding = [entry for entry in entries if entry.kind in ("file", "link")]
    damaged: list[str] = []

    def compare(at: int, content: Chunks | None) -> None:
        digest, size = sha256(), 0
        for chunk in content or ():
            digest.update(chunk)
            size += len(chunk)
        if content is None or size != holding[at].size or digest.hexdigest() != holding[at].sha256:
            damaged.append(holding[at].path)

    open_mechanism(kind).read_contents(held, holding, compare)
    return damaged


def rehearse(held: Held, kind: str, entries: Sequence[Entry]) -> set[str]:
    """Puts everything back in an empty folder. Returns the paths that did not come back as they were captured."""
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=held.folder) as folder:
        apply_entries(held, kind, entries, folder, sync=False)
        found = [Named(entry.path, entry.kind, _status(folder, entry)) for entry in entries]
        differing = compare_entries(entries, read_entries(folder, found))
        _open_folders(folder)
    return {difference.path for difference in differing}


def _status(root: str, entry: Entry) -> os.stat_result | None:
    try:
        return None if entry.kind == "absent" else os.lstat(os.path.join(root, entry.path))
    except OSError:
        return None


def _open_folders(folder: str) -> None:
    """Lets the clearing in: a rehearsed folder may be closed to its owner."""
    for path, names, _ in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if not os.path.islink(full):
                os.chmod(full, 0o700)


def apply_entries(
    held: Held,
    kind: str,
    entries: Sequence[Entry],
    target: str,
    *,
    sync: bool = True,
    check: file_writes.Check = lambda path: None,
) -> None:
    """Puts folders, files and links in a target folder as they stood, and removes nothing there.

    check: called right before a file or link takes its place.
    """
    workshop = os.path.join(held.folder, ".workshop")
    os.makedirs(workshop, exist_ok=True)
    folders = [entry for entry in entries if entry.kind == "folder"]
    holding = [entry for entry in entries if entry.kind in ("file", "link")]
    try:
        file_writes.make_folders(target, folders)

        def put(at: int, content: Chunks | None) -> None:
            if content is None:
                raise CheckpointError(f"the content of {escape_controls(holding[at].path)} is lost", "verify the point")
            file_writes.write_path(target, holding[at], content, workshop, sync=sync, check=check)

        open_mechanism(kind).read_contents(held, holding, put)
        file_writes.set_modes(target, folders)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


# looking


def read_held_entries(manifest: store.Manifest) -> list[Entry]:
    """What a trusted manifest says that the point holds."""
    return [read_entry(value) for value in manifest.value["entries"]]


def find_work_tree(root: str) -> str:
    """Which of a repository's work trees this is: linked ones share their refs. "" for the first, and outside git."""
    repository = find_repository(root)
    if repository is None or not os.path.isfile(os.path.join(repository[1], "commondir")):
        return ""
    return os.path.basename(repository[1].rstrip("/"))


def find_held(world: World, point: str) -> Held:
    """Where a point is kept."""
    commit = ""
    if find_repository(world.root) is not None:
        commit = private_objects.read_ref(world.root, layout.ref_name(point), world.env)
    return Held(world.root, layout.point_folder(world.root, point), world.env, commit)
