"""Make a restore point and prove it: capture, read back, rehearse; only then it gets its name."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import GITLINK, find_missing
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.restore import contents, folders, layout, scope, store
from checkpoint_git.protocols.restore.capture import Capture, PointRequest, plan_capture
from checkpoint_git.protocols.restore.contents import ContentEntry, Location, Part, ScopePath
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import files, git
from checkpoint_git.protocols.restore.mechanisms import parts as all_parts
from checkpoint_git.protocols.restore.script import (
    compare_stage,
    rehearse_script,
    stage,
    write_script,
)

_MAX_REASON = 500
_TRIES = 4
_PAUSE = 0.5  # seconds, for a prune to continue


class CreatedPoint(NamedTuple):
    """A point that was made, and what is known about it."""

    manifest: store.Manifest
    entries: list[ContentEntry]
    location: Location
    warnings: list[str]
    proofs: dict[str, bool]  # what was verified -> whether it was so
    uncommitted: list[str] | None  # what in scope differs from HEAD; None outside git
    parts: Sequence[Part] = ()


def create(workspace: Workspace, request: PointRequest) -> CreatedPoint:
    """Make a point; nothing of the user's is touched.

    Raises CheckpointError; what was begun is removed then.
    """
    if not request.asked and not request.parts:
        hint = "name files, folders, patterns, states or databases"
        raise CheckpointError("the scope is empty", hint)

    captured = plan_capture(workspace, request, all_parts.find_claimed(request.parts))
    names = [scope_path.path for scope_path in captured.found if scope_path.kind == "file"]
    captured.warnings.extend(all_parts.find_warnings(workspace.root, request.parts, names))
    uncommitted = None
    if workspace.git_dir:
        paths = {scope_path.path for scope_path in captured.found}
        changed = private_objects.read_changed(workspace.root, workspace.env)
        uncommitted = [path for path in changed if path in paths]

    folders.clear_unfinished(workspace)
    made = _build_patiently(workspace, request, captured)
    return made._replace(uncommitted=uncommitted)


def _build_patiently(
    workspace: Workspace, request: PointRequest, captured: Capture
) -> CreatedPoint:
    for remaining_tries in reversed(range(_TRIES)):
        try:
            return _build(workspace, request, captured)
        except (files.LostError, private_objects.CutShortError):  # a prune that ran meanwhile
            if not remaining_tries:
                message = "git pruned content while the point was made"
                hint = "run it again when the garbage collection of git has finished"
                raise files.LostError(message, hint) from None
            time.sleep(_PAUSE)

    raise AssertionError("the last try returns or raises")


class _PointContent(NamedTuple):
    """The content that was captured for a point that is being made."""

    entries: list[ContentEntry]
    parts: list[Part]
    git: git.Captured | None  # None without files, and outside git
    began: int  # nanoseconds, by this machine's clock: what changed later shows in its ctime


def _build(workspace: Workspace, request: PointRequest, captured: Capture) -> CreatedPoint:
    point = layout.make_id(workspace.now)
    began = time.time_ns()
    with folders.build_folder(workspace.base, point) as folder:
        location = Location(workspace.root, folder, workspace.env)
        git_content = None
        if workspace.git_dir and captured.asked:
            git_content = git.capture(workspace, folder, request.branches)
        entries = _capture_proven(location, request.kind, captured.found)
        parts = all_parts.capture(location, request.parts)
        content = _PointContent(entries, parts, git_content, began)

        text = write_script(location.root, point, request.kind, entries, parts)
        script = os.fsencode(text)
        value = _describe(workspace, point, request, captured, content, script)
        manifest = store.write_text(value)
        create_file(os.path.join(folder, layout.MANIFEST), manifest, 0o600)
        works = None
        if request.made_for != "guard":  # what the guard makes at a tool call must be there soon
            works = rehearse_script(location, point, request.kind, entries, parts)
        create_file(os.path.join(folder, layout.RESTORE_SCRIPT), script, 0o600)
        commit = ""
        if git_content:
            own_files = {layout.MANIFEST: manifest, layout.RESTORE_SCRIPT: script}
            commit = _keep_in_git(location, value, entries, own_files, git_content)

    store.write_copy(workspace, point)
    folder = layout.point_folder(workspace.base, point)
    location = location._replace(folder=folder, commit=commit)
    if works is False:
        captured.warnings.append("restore.sh failed its test run: use `rollback` instead")
    proofs = {
        "content read back": True,
        "restore rehearsed": True,
        "restore.sh rehearsed": bool(works),
        "kept by a ref": request.kind != "git_stash" or bool(commit),
        "whole scope kept": not captured.left_out,
    }
    if parts:
        proofs["parts read back"] = not all_parts.find_damage(location, parts)
    made = store.Manifest(point, value)
    return CreatedPoint(made, entries, location, captured.warnings, proofs, None, parts)


def _describe(
    workspace: Workspace,
    point: str,
    request: PointRequest,
    captured: Capture,
    content: _PointContent,
    script: bytes,
) -> dict[str, Any]:
    """Return the manifest of a point."""
    entries = content.entries
    parts = content.parts
    states = [part.name.partition(":")[2] for part in parts if part.kind == "state"]
    value: dict[str, Any] = {
        "schema_version": store.SCHEMA_VERSION,
        "id": point,
        "type": request.kind,
        "created_at": write_instant(workspace.now),
        "began": content.began,
        "expires_at": None if request.expires is None else write_instant(request.expires),
        "reason": shorten(request.reason, _MAX_REASON),
        "made_for": request.made_for,
        "scope": {
            "asked": captured.asked,
            "files": [entry.path for entry in entries if entry.kind in ("file", "link")],
            "state_keys": states,
        },
        "entries": [contents.write_entry(entry) for entry in entries],
        "left_out": [{"path": path, "reason": why} for path, why in captured.left_out],
        "parts": [{**part._asdict(), "details": dict(part.details)} for part in parts],
        "size": sum(entry.size for entry in entries) + sum(part.size for part in parts),
        "hash": contents.hash_contents(entries, parts),
        "git": content.git.state._asdict() if content.git else None,
        "warnings": captured.warnings,
        "restore_script": sha256(script).hexdigest(),
        "work_tree": store.find_work_tree(workspace),
    }
    return {**value, "digest": store.find_digest(value), "state": "active", "history": []}


def _capture_proven(
    location: Location, kind: str, found: Sequence[ScopePath]
) -> list[ContentEntry]:
    """Capture files until each comes back in a rehearsal; some may be written to meanwhile."""
    kept = {scope_path.path: ContentEntry(scope_path.path, "absent") for scope_path in found}
    before = list(found)
    waiting = list(found)

    for _ in range(_TRIES):
        with suppress(scope.ChangedError):
            entries = scope.mark_twins(files.capture(kind, location, waiting), waiting)
            kept.update((entry.path, entry) for entry in entries)
            lost = rehearse(location, kind, entries)
            waiting = [scope_path for scope_path in waiting if scope_path.path in lost]
            if not waiting:
                return scope.mark_twins(kept.values(), found)
        before = waiting
        waiting = [scope.look_at(location.root, scope_path.path) for scope_path in before]

    versions = {scope_path.path: layout.find_version(scope_path.status) for scope_path in before}
    for scope_path in waiting:
        if layout.find_version(scope_path.status) != versions[scope_path.path]:
            raise scope.changing_error(scope_path.path)

    raise scope.changing_error(waiting[0].path)


def _keep_in_git(
    location: Location,
    value: dict[str, Any],
    entries: Sequence[ContentEntry],
    own_files: dict[str, bytes],
    git_content: git.Captured,
) -> str:
    """Commit all blobs, what is staged, and the point's own files, and return the commit.

    The ref is created and never moved.
    """
    point = value["id"]
    commit = files.write_commit(
        location,
        f"checkpoint:{point}:{value['reason']}\n",
        entries,
        own_files,
        git_content.staged,
        git_content.commits,
    )
    ref = layout.ref_name(point)
    if not private_objects.create_ref(location.root, ref, commit, location.env):
        message = f"there is a restore point {point} already"
        raise CheckpointError(message, "run the same command again")

    # A prune that began before the ref was there may have removed objects that it names.
    blobs = {entry.blob for entry in entries if entry.blob}
    blobs.update(entry.blob for entry in git_content.staged.values() if entry.mode != GITLINK)
    env = private_objects.quiet_env(location.env)
    is_whole = not find_missing(location.root, [commit, *sorted(blobs)], env)
    words = ["ls-tree", "-r", commit]
    if not is_whole or run_git(words, location.root, env=env, check=False).code:
        private_objects.remove_ref(location.root, ref, commit, location.env)
        raise private_objects.CutShortError

    return commit


def rehearse(location: Location, kind: str, entries: Sequence[ContentEntry]) -> set[str]:
    """Restore entries in an empty folder, and return the paths that are not as captured."""
    with stage(location) as folder:
        files.restore_entries(location, kind, entries, folder, sync=False)
        return compare_stage(folder, entries)


def find_damage(location: Location, manifest: store.Manifest) -> list[str]:
    """Return the paths and then the parts of a point whose content is lost or changed."""
    damaged = files.find_damage(manifest.value["type"], location, store.read_entries(manifest))
    return damaged + all_parts.find_damage(location, all_parts.read_parts(manifest.value))
