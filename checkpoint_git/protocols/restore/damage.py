"""What is wrong with restore points: by their manifests, refs and the log, and with the content that they keep."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some, plural, quote_word
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
    """made: point -> the digest of its manifest. cleared: points that are no more."""

    made: Mapping[str, str]
    cleared: frozenset[str]
    breaks: list[Finding]


def read_log(root: str) -> Log:
    made, cleared, lines = dict[str, str](), set[str](), audit.read_records(root)
    for _, line in lines:
        record = audit.parse_record(line) or {}
        point, details = str(record.get("checkpoint_id")), record.get("details")
        if record.get("outcome") == "success" and record.get("operation") == "create":
            made.setdefault(point, str(details.get("digest")) if isinstance(details, dict) else "")
        elif record.get("outcome") == "success" and record.get("operation") in ("drop", "gc"):
            cleared.add(point)
    return Log(made, frozenset(cleared), audit.find_breaks(lines))


def _useless(code: str, message: str, manifest: Manifest) -> Finding:
    drop = f"checkpoint restore-point drop {'--foreign ' if manifest.is_foreign else ''}{manifest.id}"
    hint = f"no rollback is possible: create a new one, then `{drop}`"
    return Finding(code, "error", message, _path_of(manifest), hint=hint)


def check_point(workspace: Workspace, manifest: Manifest) -> Iterator[Finding]:
    location = store.locate(workspace, manifest.id)
    yield from _check_record(workspace, manifest, read_log(workspace.root), has_ref=bool(location.commit))
    if not manifest.trouble:
        yield from _check_content(location, manifest, points.find_damage(location, manifest))


def _check_content(location: Location, manifest: Manifest, damaged: Sequence[str]) -> Iterator[Finding]:
    if damaged:
        yield _useless("restore/content", f"stored content is lost or damaged: {join_some(damaged)}", manifest)
    yield from _check_script(location, manifest)


def find_unlogged(workspace: Workspace) -> Iterator[Manifest]:
    """The points of this work tree that the log lacks: it was removed, or its newest lines were."""
    known = {*layout.list_ids(workspace.base)} - read_log(workspace.root).made.keys()
    for manifest in filter(None, (store.load_manifest(workspace, point) for point in sorted(known))):
        if not manifest.trouble and store.is_of_work_tree(workspace, manifest):
            yield manifest


def find_cut_off(workspace: Workspace) -> Iterator[Finding]:
    """Rollbacks that began and did not end; one that runs right now, too."""
    for safety, words in store.read_journals(workspace):
        point = words.split()[0]
        message = f"a rollback to {point} did not end, so what it restores may be half restored"
        hint = f"unless it still runs, finish it: checkpoint restore-point rollback {words}; or undo it: rollback "
        hint += words.replace(point, safety.id)
        yield Finding("restore/cut-off", "warning", message, _path_of(safety), hint=hint)


def explain_unlogged(manifest: Manifest) -> Finding:
    message = "the operation log has no record of its creation: the log was removed or cut off"
    hint = "in a git repository the next `checkpoint restore-point create` adds one; elsewhere drop the point"
    return Finding("restore/unlogged", "warning", message, _path_of(manifest), hint=hint)


def _check_record(workspace: Workspace, manifest: Manifest, log: Log, *, has_ref: bool) -> Iterator[Finding]:
    if manifest.is_foreign:
        message = f"{manifest.id} was not made in this clone: it is untrusted, and no command uses it"
        hint = f"ignore it, or remove it: checkpoint restore-point drop --foreign {manifest.id}"
        yield Finding("restore/foreign", "warning", message, _path_of(manifest), hint=hint)
    if manifest.trouble:
        yield _useless("restore/manifest", f"{manifest.id}: {manifest.trouble}", manifest)
        return
    if manifest.value["type"] == "git_stash" and not has_ref:
        message = f"{layout.ref_name(manifest.id)} is gone, so git may delete its content"
        yield _useless("restore/ref", message, manifest)
    if manifest.is_foreign or not store.is_of_work_tree(workspace, manifest):
        return
    copy = os.path.join(workspace.root, layout.FOLDER)
    with suppress(OSError):
        if store.parse_manifest(manifest.id, layout.read_manifest(copy, manifest.id)).trouble:
            message = "the copy of the manifest below .checkpoints was changed; the point itself is not"
            hint = f"remove the copy, and it is written again: rm {quote_word(_path_of(manifest))}"
            yield Finding("restore/manifest-copy", "error", message, _path_of(manifest), hint=hint)
    if manifest.id not in log.made:
        yield explain_unlogged(manifest)
    elif log.made[manifest.id] != manifest.value["digest"]:
        yield _useless("restore/manifest", "the manifest does not match the operation log", manifest)


def _check_script(location: Location, manifest: Manifest) -> Iterator[Finding]:
    copy = layout.point_folder(os.path.join(location.root, layout.FOLDER), manifest.id)
    folders = dict.fromkeys(folder for folder in (location.folder, copy) if os.path.lexists(folder))
    scripts = [read_if_there(os.path.join(folder, layout.RESTORE_SCRIPT)) or b"" for folder in folders]
    if any(sha256(script).hexdigest() != manifest.value["restore_script"] for script in scripts):
        message = "restore.sh is not the one that was made with the point"
        hint = f"do not run it; roll back with: checkpoint restore-point rollback {manifest.id}"
        yield Finding("restore/script", "error", message, f"{layout.FOLDER}/{manifest.id}/restore.sh", hint=hint)


def _path_of(manifest: Manifest) -> str:
    return f"{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}"


def read_troubles(place: Place, env: Mapping[str, str], now: int, *, deep: bool) -> list[Finding]:
    """deep: every byte of their content is read; else only what is not there at all is noticed."""
    workspace = open_workspace(place.top, now, env)
    root, manifests = workspace.root, store.read_manifests(workspace)
    log, in_git = read_log(root), bool(workspace.git_dir)
    refs = private_objects.read_refs(root, layout.REF_PREFIX, env) if in_git else {}
    blobs = sorted({entry.blob for one in manifests if not one.trouble for entry in store.read_entries(one)} - {""})
    lost = find_missing(root, blobs, private_objects.quiet_env(env)) if in_git else frozenset[str]()
    findings = list[Finding]()
    for one in manifests:
        findings += _check_record(workspace, one, log, has_ref=one.id in refs)
        if one.trouble or one.is_foreign:
            continue
        location = store.locate(workspace, one.id)
        if deep:
            findings += _check_content(location, one, points.find_damage(location, one))
            continue
        kept = [entry for entry in store.read_entries(one) if entry.kind in ("file", "link")]
        copies = ((entry, copy_path(location.folder, entry.path)) for entry in kept)
        gone = [entry.path for entry, copy in copies if entry.blob in lost or not (entry.blob or os.path.lexists(copy))]
        findings += [one for one in _check_content(location, one, gone) if one.code == "restore/content"]
    findings += find_cut_off(workspace)
    if old := [one.id for one in manifests if find_state(one, now) in ("expired", "dropped")]:
        message = f"{plural(len(old), 'restore point')} expired: {join_some(old)}"
        hint = "`checkpoint restore-point gc --expired` removes them"
        findings.append(Finding("restore/expired", "note", message, layout.FOLDER, hint=hint))
    missing = sorted(set(log.made) - log.cleared - {one.id for one in manifests})
    if missing:
        message = f"the log has {plural(len(missing), 'restore point')} that no longer exist: {join_some(missing)}"
        hint = "`checkpoint restore-point audit` shows the log"
        findings.append(Finding("restore/gone", "note", message, layout.AUDIT_LOG, hint=hint))
    return findings + log.breaks
