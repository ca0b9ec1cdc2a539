"""Find what is wrong with restore points: their manifests, refs and content, and the log."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.terminal_text import join_some, plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import find_missing
from checkpoint_git.protocols.restore import audit, layout, points, store
from checkpoint_git.protocols.restore.contents import Location
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms.files import copy_path
from checkpoint_git.protocols.restore.store import Manifest, find_state


class Log(NamedTuple):
    """The points that the log of operations names."""

    made: Mapping[str, str]  # point -> the digest of its manifest
    cleared: frozenset[str]  # points that were deleted
    breaks: list[Finding]


def read_log(root: str) -> Log:
    """Return the points in the log of a workspace."""
    made: dict[str, str] = {}
    cleared: set[str] = set()
    lines = audit.read_records(root)

    for _, line in lines:
        record = audit.parse_record(line) or {}
        if record.get("outcome") != "success":
            continue
        point = str(record.get("checkpoint_id"))
        if record.get("operation") == "create":
            details = record.get("details")
            digest = str(details.get("digest")) if isinstance(details, dict) else ""
            made.setdefault(point, digest)
        elif record.get("operation") in ("drop", "gc"):
            cleared.add(point)

    return Log(made, frozenset(cleared), audit.find_breaks(lines))


def _useless(code: str, message: str, manifest: Manifest) -> Finding:
    drop = ["checkpoint", "restore-point", "drop"]
    if manifest.is_foreign:
        drop.append("--foreign")
    drop.append(manifest.id)
    hint = advise("no rollback is possible: create a new one, then", *drop)
    return Finding(code, "error", message, _path_of(manifest), hint=hint)


def check_point(workspace: Workspace, manifest: Manifest) -> Iterator[Finding]:
    """Yield everything that is wrong with a point; every byte of its content is read."""
    location = store.locate(workspace, manifest.id)
    yield from _check_record(
        workspace, manifest, read_log(workspace.root), has_ref=bool(location.commit)
    )
    if not manifest.trouble:
        yield from _check_content(location, manifest, points.find_damage(location, manifest))


def _check_content(
    location: Location,
    manifest: Manifest,
    damaged: Sequence[str],
) -> Iterator[Finding]:
    if damaged:
        message = f"stored content is lost or damaged: {join_some(damaged)}"
        yield _useless("restore/content", message, manifest)
    yield from _check_script(location, manifest)


def find_unlogged(workspace: Workspace) -> Iterator[Manifest]:
    """Yield the points of this work tree that the log lacks.

    The log was removed, or its newest lines were.
    """
    logged = read_log(workspace.root).made
    for point in layout.list_ids(workspace.base):
        if point in logged:
            continue
        manifest = store.load_manifest(workspace, point)
        if manifest and not manifest.trouble and store.is_of_work_tree(workspace, manifest):
            yield manifest


def find_cut_off(workspace: Workspace) -> Iterator[Finding]:
    """Yield rollbacks that began and did not end; one that runs right now, too."""
    for safety, words in store.read_journals(workspace):
        point = words.split()[0]
        message = f"a rollback to {point} did not end, so what it restores may be half restored"
        rollback = ("checkpoint", "restore-point", "rollback")
        hint = join_hints(
            advise("unless it still runs, finish it", *rollback, *words.split()),
            advise("or undo it", *rollback, *words.replace(point, safety.id).split()),
        )
        yield Finding("restore/cut-off", "warning", message, _path_of(safety), hint=hint)


def explain_unlogged(manifest: Manifest) -> Finding:
    """Return the finding for a point that the log lacks."""
    message = "the operation log has no record of its creation: the log was removed or cut off"
    hint = "in a git repository the next restore point adds one; elsewhere drop the point"
    return Finding("restore/unlogged", "warning", message, _path_of(manifest), hint=hint)


def _check_record(
    workspace: Workspace,
    manifest: Manifest,
    log: Log,
    *,
    has_ref: bool,
) -> Iterator[Finding]:
    """Yield what is wrong with a point apart from its content."""
    if manifest.is_foreign:
        message = f"{manifest.id} was not made in this clone: it is untrusted, "
        message += "and no command uses it"
        drop = ("checkpoint", "restore-point", "drop", "--foreign", manifest.id)
        hint = advise("ignore it, or remove it", *drop)
        yield Finding("restore/foreign", "warning", message, _path_of(manifest), hint=hint)

    if manifest.trouble:
        yield _useless("restore/manifest", f"{manifest.id}: {manifest.trouble}", manifest)
        return

    if manifest.value["type"] == "git_stash" and not has_ref:
        message = f"{layout.ref_name(manifest.id)} is gone, so git may delete its content"
        yield _useless("restore/ref", message, manifest)

    if manifest.is_foreign or not store.is_of_work_tree(workspace, manifest):
        return

    yield from _check_copy(workspace, manifest)
    if manifest.id not in log.made:
        yield explain_unlogged(manifest)
    elif log.made[manifest.id] != manifest.value["digest"]:
        message = "the manifest does not match the operation log"
        yield _useless("restore/manifest", message, manifest)


def _check_copy(workspace: Workspace, manifest: Manifest) -> Iterator[Finding]:
    """Yield a finding if the copy of the manifest below .checkpoints was changed."""
    copies = os.path.join(workspace.root, layout.FOLDER)
    with suppress(OSError):
        copy = store.parse_manifest(manifest.id, layout.read_manifest(copies, manifest.id))
        if copy.trouble:
            path = _path_of(manifest)
            message = "the copy of the manifest below .checkpoints was changed; "
            message += "the point itself is not"
            hint = advise("remove the copy, and it is written again", "rm", path)
            yield Finding("restore/manifest-copy", "error", message, path, hint=hint)


def _check_script(location: Location, manifest: Manifest) -> Iterator[Finding]:
    copies = os.path.join(location.root, layout.FOLDER)
    for folder in dict.fromkeys((location.folder, layout.point_folder(copies, manifest.id))):
        if not os.path.lexists(folder):
            continue
        script = read_if_there(os.path.join(folder, layout.RESTORE_SCRIPT)) or b""
        if sha256(script).hexdigest() != manifest.value["restore_script"]:
            path = f"{layout.FOLDER}/{manifest.id}/restore.sh"
            message = "restore.sh is not the one that was made with the point"
            rollback = ("checkpoint", "restore-point", "rollback", manifest.id)
            hint = advise("do not run it; roll back with", *rollback)
            yield Finding("restore/script", "error", message, path, hint=hint)
            return


def _path_of(manifest: Manifest) -> str:
    return f"{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}"


def read_troubles(
    place: Place,
    env: Mapping[str, str],
    now: int,
    *,
    deep: bool,
) -> list[Finding]:
    """Return what is wrong with all points of a place, and with the log.

    deep: every byte of their content is read; otherwise only missing content is found.
    """
    workspace = open_workspace(place.top, now, env)
    manifests = store.read_manifests(workspace)
    log = read_log(workspace.root)
    refs = {}
    if workspace.git_dir:
        refs = private_objects.read_refs(workspace.root, layout.REF_PREFIX, env)
    lost_blobs = _find_lost_blobs(workspace, manifests)

    findings: list[Finding] = []
    for manifest in manifests:
        findings += _check_record(workspace, manifest, log, has_ref=manifest.id in refs)
        if manifest.trouble or manifest.is_foreign:
            continue
        location = store.locate(workspace, manifest.id)
        if deep:
            damaged = points.find_damage(location, manifest)
            findings += _check_content(location, manifest, damaged)
        else:
            missing = _find_missing_content(location, manifest, lost_blobs)
            found = _check_content(location, manifest, missing)
            findings += [finding for finding in found if finding.code == "restore/content"]

    findings += find_cut_off(workspace)
    findings += _find_expired(manifests, now)
    findings += _find_gone(manifests, log)
    return findings + log.breaks


def _find_lost_blobs(workspace: Workspace, manifests: Sequence[Manifest]) -> frozenset[str]:
    """Return the blobs of all points that git no longer has."""
    if not workspace.git_dir:
        return frozenset()
    blobs: set[str] = set()
    for manifest in manifests:
        if not manifest.trouble:
            blobs.update(entry.blob for entry in store.read_entries(manifest) if entry.blob)
    env = private_objects.quiet_env(workspace.env)
    return frozenset(find_missing(workspace.root, sorted(blobs), env))


def _find_missing_content(
    location: Location,
    manifest: Manifest,
    lost_blobs: frozenset[str],
) -> list[str]:
    """Return the paths of a point whose content is not there; it is not read."""
    missing = []
    for entry in store.read_entries(manifest):
        if entry.kind not in ("file", "link"):
            continue
        if entry.blob:
            is_there = entry.blob not in lost_blobs
        else:
            is_there = os.path.lexists(copy_path(location.folder, entry.path))
        if not is_there:
            missing.append(entry.path)

    return missing


def _find_expired(manifests: Sequence[Manifest], now: int) -> Iterator[Finding]:
    old = []
    for manifest in manifests:
        if find_state(manifest, now) in ("expired", "dropped"):
            old.append(manifest.id)
    if old:
        message = f"{plural(len(old), 'restore point')} expired: {join_some(old)}"
        hint = command("checkpoint", "restore-point", "gc", "--expired", more=" removes them")
        yield Finding("restore/expired", "note", message, layout.FOLDER, hint=hint)


def _find_gone(manifests: Sequence[Manifest], log: Log) -> Iterator[Finding]:
    known = {manifest.id for manifest in manifests}
    gone = sorted(set(log.made) - log.cleared - known)
    if gone:
        count = plural(len(gone), "restore point")
        message = f"the log has {count} that no longer exist: {join_some(gone)}"
        hint = command("checkpoint", "restore-point", "audit", more=" shows the log")
        yield Finding("restore/gone", "note", message, layout.AUDIT_LOG, hint=hint)
