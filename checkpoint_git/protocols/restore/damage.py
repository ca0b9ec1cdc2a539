"""What is wrong with restore points: by their manifests, refs and the log, and with the content that they keep."""

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some, plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import Blobs, find_missing
from checkpoint_git.protocols.restore import audit, layout, points, store
from checkpoint_git.protocols.restore.contents import Location
from checkpoint_git.protocols.restore.file_mechanisms import copy_path
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.store import Manifest, find_state


class Log(NamedTuple):
    """made: point -> the digest of its manifest. cleared: points that are no more."""

    made: Mapping[str, str]
    cleared: frozenset[str]
    breaks: list[Finding]


def read_log(root: str) -> Log:
    made, cleared, lines = dict[str, str](), set[str](), list(audit.read_records(root))
    for _, line in lines:
        record = audit.parse_record(line) or {}
        point, details = str(record.get("checkpoint_id")), record.get("details")
        if record.get("outcome") == "success" and record.get("operation") == "create":
            made.setdefault(point, str(details.get("digest")) if isinstance(details, dict) else "")
        elif record.get("outcome") == "success" and record.get("operation") in ("drop", "gc"):
            cleared.add(point)
    return Log(made, frozenset(cleared), audit.find_breaks(lines))


def _useless(code: str, message: str, manifest: Manifest, where: str = "") -> Finding:
    hint = "it cannot be rolled back to: make a new one of what is there now, then "
    hint += f"`checkpoint restore-point drop {manifest.id}`"
    return Finding(code, "error", message, where or _path_of(manifest), hint=hint)


def check_point(workspace: Workspace, manifest: Manifest) -> Iterator[Finding]:
    location = store.locate(workspace, manifest.id)
    yield from _check_record(manifest, read_log(workspace.root), has_ref=bool(location.commit))
    if manifest.trouble:
        return
    if location.commit:
        with Blobs(location.root, private_objects.quiet_env(location.env)) as blobs:
            kept = blobs.read(f"{location.commit}:{layout.MANIFEST}")
        committed = store.parse_manifest(manifest.id, kept if isinstance(kept, bytes) else b"")
        if committed.value.get("digest") != manifest.value["digest"]:
            message = "the manifest is not the one that was committed with the content"
            yield _useless("restore/manifest", message, manifest)
    for name in points.find_damage(location, manifest):
        yield _useless("restore/content", "its content is lost or damaged", manifest, name)
    yield from _check_script(location, manifest)


def check_log(manifest: Manifest, log: Log) -> Finding | None:
    if manifest.id not in log.made:
        message = "the operation log has no record of its creation"
        hint = "was it made in another clone, or the log removed?"
        return Finding("restore/unlogged", "warning", message, _path_of(manifest), hint=hint)
    if log.made[manifest.id] != manifest.value["digest"]:
        return _useless("restore/manifest", "the manifest does not match the operation log", manifest)
    return None


def _check_record(manifest: Manifest, log: Log, *, has_ref: bool) -> Iterator[Finding]:
    if manifest.trouble:
        yield _useless("restore/manifest", f"{manifest.id}: {manifest.trouble}", manifest)
        return
    if manifest.value["type"] == "git_stash" and not has_ref:
        message = f"{layout.ref_name(manifest.id)} is gone, so git may throw its content away"
        yield _useless("restore/ref", message, manifest)
    unlogged = check_log(manifest, log)
    if unlogged:
        yield unlogged


def _check_script(location: Location, manifest: Manifest) -> Iterator[Finding]:
    script = read_if_there(os.path.join(location.folder, layout.RESTORE_SCRIPT)) or b""
    if sha256(script).hexdigest() != manifest.value["restore_script"]:
        message = "restore.sh is not the one that was made with the point"
        hint = f"do not run it; what goes back without it: checkpoint restore-point rollback {manifest.id}"
        yield Finding("restore/script", "error", message, f"{layout.FOLDER}/{manifest.id}/restore.sh", hint=hint)


def _path_of(manifest: Manifest) -> str:
    return f"{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}"


# all points, for the doctor


def read_troubles(place: Place, env: Mapping[str, str], now: int) -> list[Finding]:
    workspace = open_workspace(place.top, now, env)
    root, manifests = workspace.root, list(store.read_manifests(workspace.root))
    log, in_git = read_log(root), bool(workspace.git_dir)
    refs = private_objects.read_refs(root, layout.REF_PREFIX, env) if in_git else {}
    kept = [one for one in manifests if not one.trouble and one.value["type"] == "git_stash" and one.id in refs]
    blobs = sorted({entry.blob for one in kept for entry in store.read_entries(one) if entry.blob})
    lost_blobs = find_missing(root, blobs, private_objects.quiet_env(env)) if in_git else frozenset[str]()
    findings = list[Finding]()
    for one in manifests:
        findings += _check_record(one, log, has_ref=one.id in refs)
        # what is not there at all: nothing is read
        lost = list[str]()
        for entry in [] if one.trouble else store.read_entries(one):
            if entry.kind not in ("file", "link"):
                continue
            if one.value["type"] == "git_stash":
                is_lost = entry.blob in lost_blobs
            else:
                is_lost = not os.path.lexists(copy_path(layout.point_folder(root, one.id), entry.path))
            lost += [entry.path] if is_lost else []
        if lost:
            findings.append(_useless("restore/content", f"its content is lost: {join_some(lost)}", one))
    old = [one.id for one in manifests if find_state(one, now) in ("expired", "dropped")]
    if old:
        message = f"{plural(len(old), 'restore point')} expired: {join_some(old)}"
        hint = "`checkpoint restore-point gc --expired` clears them away"
        findings.append(Finding("restore/expired", "note", message, layout.FOLDER, hint=hint))
    gone = sorted(set(log.made) - log.cleared - refs.keys() - {one.id for one in manifests})
    if gone:
        message = f"the log has {plural(len(gone), 'restore point')} that no longer exist: {join_some(gone)}"
        hint = "`checkpoint restore-point audit` shows the log"
        findings.append(Finding("restore/gone", "note", message, layout.AUDIT_LOG, hint=hint))
    return findings + log.breaks


def read_content_troubles(place: Place, env: Mapping[str, str], now: int) -> list[Finding]:
    workspace, findings = open_workspace(place.top, now, env), list[Finding]()
    for manifest in store.read_manifests(workspace.root):
        if manifest.trouble:
            continue
        location = store.locate(workspace, manifest.id)
        damaged = points.find_damage(location, manifest)
        if damaged:
            message = f"kept content is lost or damaged: {join_some(damaged)}"
            findings.append(_useless("restore/content", message, manifest))
        findings += _check_script(location, manifest)
    return findings
