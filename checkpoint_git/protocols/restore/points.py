"""Points made and proven: content captured, read back, restored in a rehearsal, and only then given its name."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import find_missing
from checkpoint_git.protocols.restore import artifacts, file_mechanisms, file_writes, layout, store
from checkpoint_git.protocols.restore.contents import (
    Artifact,
    Entry,
    Location,
    Request,
    ScopePath,
    compare_entries,
    hash_contents,
    write_entry,
)
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.scope import Scope, changing_error, list_some, look_at, read_entry_at, read_scope

_MAX_REASON = 500
_TRIES = 3
_TEMPLATE = os.path.join(os.path.dirname(__file__), "restore.sh")
_AT_ONCE = 1000  # names on one command line of restore.sh
_SOURCES = {"git_stash": ("use_git", "take_blob"), "file_backup": ("use_copies", "take_copy")}


class Capture(NamedTuple):
    scope: Scope
    found: list[ScopePath]
    left_out: list[str]  # ignored by git and not named
    warnings: list[str]


class CreatedPoint(NamedTuple):
    manifest: store.Manifest
    entries: list[Entry]
    location: Location
    warnings: list[str]
    proofs: dict[str, bool]  # what was verified -> whether it was so
    uncommitted: list[str] | None  # what in scope differs from HEAD; None outside git
    artifacts: Sequence[Artifact] = ()


# what a point would hold


def plan_capture(
    workspace: Workspace,
    asked: Sequence[str],
    kind: str,
    claimed: frozenset[str] = frozenset(),
    plain: frozenset[str] = frozenset(),
) -> Capture:
    """Raises CheckpointError for a scope that is empty, outside, or all secret. asked: [] for a point without files.
    claimed: files of databases that are kept as such. plain: those of `asked` that are no patterns.
    """
    if not asked:
        return Capture(Scope([], [], [], []), [], [], [])
    scope = read_scope(workspace.root, asked, workspace.cwd, plain)
    found, left_out = [one for one in scope.found if one.path not in claimed], list[str]()
    if kind == "git_stash":
        found, left_out = _without_ignored(workspace, scope.asked, found)
    if scope.secret and all(one.kind == "folder" for one in found):
        hint = f"secrets are never copied into a restore point: {list_some(scope.secret)}"
        raise CheckpointError("all files of this scope hold secrets by their names", hint)
    if not found and not claimed:
        raise CheckpointError("the scope holds nothing", "name files, folders or patterns that are there")
    folders = [one.path for one in found if one.kind == "folder"]
    nested = [path for path in folders if os.path.lexists(os.path.join(workspace.root, path, ".git"))]
    warnings = (
        ("excluded, since secrets are never copied", scope.secret),
        ("excluded, since they are not regular files", scope.special),
        ("excluded, since git ignores them (name them to include them)", left_out),
        ("another repository, of which the files are kept and its own history is not", nested),
    )
    return Capture(scope, found, left_out, [f"{text}: {list_some(paths)}" for text, paths in warnings if paths])


def _without_ignored(
    workspace: Workspace, asked: Sequence[str], found: Sequence[ScopePath]
) -> tuple[list[ScopePath], list[str]]:
    # what git ignores stays out, unless it was named itself or is in an ignored folder that was
    ignored = private_objects.read_ignored(workspace.root, workspace.env)
    folders = tuple(path for path in ignored if path.endswith("/"))
    files = frozenset(ignored).difference(folders)

    def is_ignored(path: str) -> bool:
        return path in files or f"{path}/".startswith(folders)

    named = tuple(f"{path}/" for path in asked if path and is_ignored(path))
    left_out = [one.path for one in found if is_ignored(one.path) and not f"{one.path}/".startswith(named)]
    gone = frozenset(left_out)
    # the folder alone is no loss: files of the user in it are listed themselves
    return [one for one in found if one.path not in gone], [path for path in left_out if path != layout.FOLDER]


# making


def create(
    workspace: Workspace,
    asked: Sequence[str],
    reason: str,
    kind: str,
    expires: int | None,
    requests: Sequence[Request] = (),
    plain: frozenset[str] = frozenset(),
) -> CreatedPoint:
    """Nothing of the user's is touched. Raises CheckpointError; what was begun is removed then."""
    if not asked and not requests:
        raise CheckpointError("the scope holds nothing", "name files, folders, patterns, states or databases")
    captured = plan_capture(workspace, asked, kind, artifacts.find_claimed(requests), plain)
    files = [one.path for one in captured.found if one.kind == "file"]
    captured.warnings.extend(artifacts.find_warnings(workspace.root, requests, files))
    uncommitted = None
    if workspace.git_dir:
        paths = {one.path for one in captured.found}
        uncommitted = [path for path in private_objects.read_changed(workspace.root, workspace.env) if path in paths]
    store.remove_unfinished(workspace.root)
    point = layout.make_id(workspace.root, workspace.now)
    folder = store.begin_folder(workspace.root, point)
    try:
        location = Location(workspace.root, folder, workspace.env, progress=workspace.progress)
        entries = _capture_proven(location, kind, captured.found)
        kept = artifacts.capture(location, requests)
        text = os.fsencode(_write_script(location.root, point, kind, entries, kept))
        value: dict[str, Any] = {
            "schema_version": store.SCHEMA_VERSION,
            "id": point,
            "type": kind,
            "created_at": write_instant(workspace.now),
            "expires_at": None if expires is None else write_instant(expires),
            "reason": shorten(reason, _MAX_REASON),
            "scope": {
                "asked": captured.scope.asked,
                "files": [entry.path for entry in entries if entry.kind in ("file", "link")],
                "state_keys": [one.name.partition(":")[2] for one in kept if one.kind == "state"],
            },
            "entries": [write_entry(entry) for entry in entries],
            "parts": [{**one._asdict(), "details": dict(one.details)} for one in kept],
            "size": sum(one.size for one in entries) + sum(one.size for one in kept),
            "hash": hash_contents(entries, kept),
            "warnings": captured.warnings,
            "restore_script": sha256(text).hexdigest(),
            "work_tree": store.find_work_tree(workspace),
        }
        value = {**value, "digest": store.find_digest(value), "state": "active", "history": []}
        own_files = {layout.MANIFEST: store.write_text(value), layout.RESTORE_SCRIPT: text}
        for name, data in own_files.items():
            create_file(os.path.join(folder, name), data, 0o600)
        commit = _keep_in_git(location, value, entries, kept, own_files) if kind == "git_stash" else ""
        store.finish_folder(workspace.root, folder, point)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    location = location._replace(folder=layout.point_folder(workspace.root, point), commit=commit)
    words = ["/bin/sh", "-n", os.path.join(location.folder, layout.RESTORE_SCRIPT)]
    proofs = {
        "content read back": True,
        "restore rehearsed": True,
        "script parses": subprocess.run(words, capture_output=True, check=False).returncode == 0,
        "kept by a ref": kind != "git_stash" or bool(commit),
        "whole scope kept": not (captured.scope.secret or captured.scope.special or captured.left_out),
    }
    if kept:
        proofs["parts read back"] = not artifacts.find_damage(location, kept)
    manifest = store.Manifest(point, value)
    return CreatedPoint(manifest, entries, location, captured.warnings, proofs, uncommitted, kept)


def _capture_proven(location: Location, kind: str, found: Sequence[ScopePath]) -> list[Entry]:
    kept = {one.path: Entry(one.path, "absent") for one in found}
    waiting = list(found)
    for _ in range(_TRIES):
        entries = file_mechanisms.capture(kind, location, waiting)
        kept.update((entry.path, entry) for entry in entries)
        lost = rehearse(location, kind, entries)
        # what differs was written to in between: it is captured again
        waiting = [_look_again(location.root, kept[one.path]) for one in waiting if one.path in lost]
        if not waiting:
            return list(kept.values())
    raise changing_error(waiting[0].path)


def _look_again(root: str, entry: Entry) -> ScopePath:
    status = None if entry.kind == "absent" else look_at(root, entry.path).status
    return ScopePath(entry.path, entry.kind, status)


def _keep_in_git(
    location: Location, value: dict[str, Any], entries: Sequence[Entry], kept: Sequence[Artifact], own: dict[str, bytes]
) -> str:
    """The commit of all blobs and the point's own files (name -> content). The ref is created and never moved."""
    # states go into git beside the manifest; databases do not
    states = [one.content for one in kept if one.kind == "state" and one.content]
    own = own | {name: Path(location.folder, name).read_bytes() for name in states}
    commit = file_mechanisms.write_commit(location, f"checkpoint:{value['id']}:{value['reason']}\n", entries, own)
    ref = layout.ref_name(value["id"])
    if not private_objects.create_ref(location.root, ref, commit, location.env):
        raise CheckpointError(f"there is a restore point {value['id']} already", "run the same command again")
    # A prune that began before the ref was there may have removed objects that it names.
    blobs = sorted({entry.blob for entry in entries if entry.blob})
    if find_missing(location.root, [commit, *blobs], private_objects.quiet_env(location.env)):
        private_objects.remove_ref(location.root, ref, commit, location.env)
        raise CheckpointError("git threw content away while it was kept", "run it again once no `git gc` runs")
    return commit


# restore.sh: the way back for a machine without this package


def _write_script(root: str, point: str, mechanism: str, entries: Sequence[Entry], kept: Sequence[Artifact]) -> str:
    # plain POSIX sh: every name is quoted, so nothing in one is run; nothing that is not in the point is removed
    with open(_TEMPLATE, encoding="ascii") as stream:
        text = stream.read()
    notes = "".join(f"#  - {ascii(line)[1:-1]}\n" for line in artifacts.find_prerequisites(kept))
    lines = [(one.kind, artifacts.open_mechanism(one.kind).write_lines(one)) for one in kept if one.content]
    databases = [line for kind, line in lines if kind != "state"]
    states = [line for kind, line in lines if kind == "state"]
    files = _write_lines(root, mechanism, entries) if entries else []
    values = {
        "@POINT@": point,
        "@FOLDER@": quote_word(f"./{layout.FOLDER}/{point}"),
        "# @PREREQUISITES@\n": f"# Before you run it:\n{notes}" if notes else "",
        "# @LINES@\n": "".join([*databases, *files, *states]),
    }
    # in one pass: a file may be called @LINES@
    return re.sub("|".join(values), lambda match: values[match[0]], text)


def _write_lines(root: str, mechanism: str, entries: Sequence[Entry]) -> list[str]:
    # first everything is taken to a folder of our own and compared there, then each file is moved to its place
    use, take = _SOURCES[mechanism]
    ordered = [(entry, quote_word(f"./{entry.path}")) for entry in sorted(entries, key=lambda entry: entry.path)]
    folders = [(entry, name) for entry, name in ordered if entry.kind == "folder"]
    files = list(enumerate(((entry, name) for entry, name in ordered if entry.kind == "file"), 1))
    lines = [f"{use}\n", *(f"{take} {number} {entry.blob or name}\n" for number, (entry, name) in files)]
    if files:
        sums = "".join(f"{entry.sha256}  {number}\n" for number, (entry, _) in files)
        lines.append(f"sums <<'SUMS'\n{sums}SUMS\n")
    for mode in sorted({entry.mode for _, (entry, _) in files}):
        numbers = [str(number) for number, (entry, _) in files if entry.mode == mode]
        for at in range(0, len(numbers), _AT_ONCE):
            chosen = " ".join(numbers[at : at + _AT_ONCE])
            lines.append(f'(cd -- "$work" && chmod {mode:04o} {chosen}) 2>/dev/null\n')
    lines += [f"folder {name}\n" for _, name in folders]
    lines += [f"put {number} {name}\n" for number, (_, name) in files]
    for entry, name in ordered:
        if entry.kind == "link":
            lines.append(f"link {quote_word(os.readlink(os.path.join(root, entry.path)))} {name}\n")
    return lines + [f"chmod {entry.mode:04o} -- {name} || fail {name}\n" for entry, name in reversed(folders)]


# proving and restoring files


def find_damage(location: Location, manifest: store.Manifest) -> list[str]:
    holding = [entry for entry in store.read_entries(manifest) if entry.kind in ("file", "link")]
    damaged: list[str] = []
    contents = file_mechanisms.read_contents(manifest.value["type"], location, holding)
    for entry, content in zip(holding, contents, strict=True):
        digest, size = sha256(), 0
        for chunk in content or ():
            digest.update(chunk)
            size += len(chunk)
        if content is None or (size, digest.hexdigest()) != (entry.size, entry.sha256):
            damaged.append(entry.path)
    return damaged + artifacts.find_damage(location, artifacts.read_artifacts(manifest.value))


def rehearse(location: Location, kind: str, entries: Sequence[Entry]) -> set[str]:
    """Restores everything in an empty folder. Returns the paths that did not come back as captured."""
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=location.folder) as folder:
        restore_entries(location, kind, entries, folder, sync=False)
        found = [read_entry_at(folder, _look_again(folder, entry)) for entry in entries]
        for path, names, _ in os.walk(folder):  # a folder that is closed to its owner could not be removed
            for name in names:
                if not os.path.islink(os.path.join(path, name)):
                    os.chmod(os.path.join(path, name), 0o700)
    return {difference.path for difference in compare_entries(entries, found)}


def restore_entries(
    location: Location,
    kind: str,
    entries: Sequence[Entry],
    target: str,
    *,
    sync: bool = True,
    check: file_writes.Check | None = None,
) -> None:
    folders = [entry for entry in entries if entry.kind == "folder"]
    holding = [entry for entry in entries if entry.kind in ("file", "link")]
    with file_writes.workshop(location.folder) as work_folder:
        file_writes.make_folders(target, folders)
        contents = file_mechanisms.read_contents(kind, location, holding)
        for entry, content in zip(holding, contents, strict=True):
            if content is None:
                raise CheckpointError(f"the content of {escape_controls(entry.path)} is lost", "verify the point")
            file_writes.write_path(target, entry, content, work_folder, sync=sync, check=check)
        file_writes.set_modes(target, folders)
