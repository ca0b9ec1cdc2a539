"""What is wrong with restore points by their manifests, their refs and the log, and with the content that they keep.

Nothing is changed, restored or noted in the log.
"""

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some, plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import find_missing
from checkpoint_git.protocols.restore import audit, layout, points, store
from checkpoint_git.protocols.restore.contents import Location
from checkpoint_git.protocols.restore.file_mechanisms import copy_path
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.store import find_state

_LOST = "it cannot be rolled back to: make a new one of what is there now, then `checkpoint restore-point drop {}`"
_CLEAR = "`checkpoint restore-point gc --expired` clears them away"
_HISTORY = "`checkpoint restore-point audit` shows the log"


class Log(NamedTuple):
    """What the log of operations tells. made: point -> the digest of its manifest. cleared: points that are no more."""

    made: Mapping[str, str]
    cleared: frozenset[str]
    breaks: list[Finding]


def read_troubles(place: Place, env: Mapping[str, str], now: int) -> list[Finding]:
    """Points that are damaged, expired, or not as the log tells; no kept content is read."""
    workspace = open_workspace(place.top, now, env)
    manifests = list(store.read_manifests(workspace.root))
    log = _read_log(workspace)
    refs = {} if place.work_tree is None else private_objects.read_refs(workspace.root, layout.REF_PREFIX, env)
    lost = _find_lost_blobs(workspace, manifests, refs) if place.work_tree else frozenset[str]()
    findings = [finding for one in manifests for finding in _check_point(workspace, one, log, refs, lost)]
    old = [one.id for one in manifests if find_state(one, now) in ("expired", "dropped")]
    if old:
        message = f"{plural(len(old), 'restore point')} expired: {join_some(old)}"
        findings.append(Finding("restore/expired", "note", message, layout.FOLDER, hint=_CLEAR))
    gone = sorted(set(log.made) - log.cleared - refs.keys() - {one.id for one in manifests})
    if gone:
        message = f"the log has {plural(len(gone), 'restore point')} that nobody has any more: {join_some(gone)}"
        findings.append(Finding("restore/gone", "note", message, layout.AUDIT_LOG, hint=_HISTORY))
    return findings + log.breaks


def read_content_troubles(place: Place, env: Mapping[str, str], now: int) -> list[Finding]:
    """Points whose kept content is not what was kept, every byte read."""
    workspace = open_workspace(place.top, now, env)
    whole = (one for one in store.read_manifests(workspace.root) if not one.trouble)
    return [finding for one in whole for finding in _check_content(workspace, one)]


def _check_content(workspace: Workspace, manifest: store.Manifest) -> Iterator[Finding]:
    folder, hint = f"{layout.FOLDER}/{manifest.id}", _LOST.format(manifest.id)
    location = store.locate(workspace, manifest.id)
    damaged = points.find_damage(location, manifest)
    if damaged:
        message = f"kept content is lost or damaged: {join_some(damaged)}"
        yield Finding("restore/content", "error", message, f"{folder}/{layout.MANIFEST}", hint=hint)
    script = read_if_there(os.path.join(location.folder, layout.RESTORE_SCRIPT)) or b""
    if sha256(script).hexdigest() != manifest.value["restore_script"]:
        message = "restore.sh is not the one that was made with the point"
        hint = "do not run it: `checkpoint restore-point rollback` does not need it"
        yield Finding("restore/script", "error", message, f"{folder}/{layout.RESTORE_SCRIPT}", hint=hint)


def _check_point(
    workspace: Workspace, manifest: store.Manifest, log: Log, refs: Mapping[str, str], lost: frozenset[str]
) -> Iterator[Finding]:
    path, hint = f"{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}", _LOST.format(manifest.id)
    if manifest.trouble:
        yield Finding("restore/manifest", "error", f"{manifest.id}: {manifest.trouble}", path, hint=hint)
        return
    if manifest.value["type"] == "git_stash" and manifest.id not in refs:
        message = f"{layout.ref_name(manifest.id)} is gone, so git may throw its content away"
        yield Finding("restore/ref", "error", message, path, hint=hint)
    gone = _find_lost_files(workspace, manifest, lost)
    if gone:
        yield Finding("restore/content", "error", f"its content is lost: {join_some(gone)}", path, hint=hint)
    if manifest.id not in log.made:
        message = "the log of operations does not tell of its making"
        hint = "was it made in another clone, or the log removed?"
        yield Finding("restore/unlogged", "warning", message, path, hint=hint)
    elif log.made[manifest.id] != manifest.value["digest"]:
        message = "the manifest is not the one that the log of operations tells of"
        yield Finding("restore/manifest", "error", message, path, hint=hint)


def _find_lost_files(workspace: Workspace, manifest: store.Manifest, lost: frozenset[str]) -> list[str]:
    """The files of a point whose content is not there at all."""
    entries = [entry for entry in store.read_entries(manifest) if entry.kind in ("file", "link")]
    if manifest.value["type"] == "git_stash":
        return [entry.path for entry in entries if entry.blob in lost]
    location = Location(workspace.root, layout.point_folder(workspace.root, manifest.id), workspace.env)
    return [entry.path for entry in entries if not os.path.lexists(copy_path(location, entry.path))]


def _find_lost_blobs(workspace: Workspace, manifests: list[store.Manifest], refs: Mapping[str, str]) -> frozenset[str]:
    """What git lacks of all that the points keep in it, asked for at once."""
    kept = [one for one in manifests if not one.trouble and one.value["type"] == "git_stash" and one.id in refs]
    blobs = {entry.blob for one in kept for entry in store.read_entries(one) if entry.blob}
    return find_missing(workspace.root, sorted(blobs), private_objects.quiet_env(workspace.env))


def _read_log(workspace: Workspace) -> Log:
    made: dict[str, str] = {}
    cleared = set[str]()
    lines = list(audit.read_records(workspace.root))
    for _, line in lines:
        record: dict[str, Any] = audit.parse_record(line) or {}
        point, details = str(record.get("checkpoint_id")), record.get("details")
        if record.get("outcome") != "success" or not layout.is_id(point):
            continue
        if record.get("operation") == "create":
            made[point] = str(details.get("digest")) if isinstance(details, dict) else ""
        elif record.get("operation") in ("drop", "gc"):
            cleared.add(point)
    return Log(made, frozenset(cleared), audit.find_breaks(iter(lines)))
