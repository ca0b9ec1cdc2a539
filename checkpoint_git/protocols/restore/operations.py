"""Restore points as the command line and the Python API use them: under the lock, noted in the log, never half done."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, plural
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import artifacts, audit, damage, layout, points, rollback, store
from checkpoint_git.protocols.restore.contents import TYPES, Means, Request
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.points import CreatedPoint
from checkpoint_git.protocols.restore.rules import read_expiry
from checkpoint_git.protocols.restore.store import Manifest


@contextmanager
def _noted(workspace: Workspace, operation: str, point: str, details: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        text = error.message if isinstance(error, CheckpointError) else type(error).__name__
        with suppress(CheckpointError):  # a full disk takes no record either: what went wrong first is reported
            audit.append_record(workspace, operation, "failure", point, {**details, "error": text})
        raise
    audit.append_record(workspace, operation, "success", details.pop("checkpoint_id", point), details)


# making


def create_point(
    workspace: Workspace,
    scope: Sequence[str],
    reason: str,
    kind: str | None,
    expiry: str | None,
    requests: Sequence[Request] = (),
) -> CreatedPoint:
    expires = read_expiry(expiry, workspace.now)
    chosen = choose_type(workspace, scope, kind, requests)
    with layout.lock(workspace):
        store.exclude_from_git(workspace)
        named = [*scope, *(one.name for one in requests)]
        details: dict[str, Any] = {"scope": named, "reason": reason, "type": chosen}
        with _noted(workspace, "create", "", details):
            made = points.create(workspace, scope, reason, chosen, expires, requests)
            details.update(checkpoint_id=made.manifest.id, digest=made.manifest.value["digest"])
        return made


def choose_type(workspace: Workspace, scope: Sequence[str], kind: str | None, requests: Sequence[Request]) -> str:
    if requests and not scope:
        chosen = artifacts.choose_type(requests)
        if kind not in (None, chosen):
            raise CheckpointError(f"{kind} does not keep what was named", f"leave --type out, or say --type {chosen}")
        return chosen
    if kind in _ARTIFACT_TYPES:
        raise CheckpointError(f"{kind} keeps no files", _ARTIFACT_TYPES[kind])
    if kind == "git_stash" and not workspace.git_dir:
        hint = "leave --type out, or say --type file_backup"
        raise CheckpointError(f"{escape_controls(workspace.root)} is in no git repository", hint)
    return kind or ("git_stash" if workspace.git_dir else "file_backup")


_ARTIFACT_TYPES = {
    "state_snapshot": "name states with --state KEY=FILE; files beside them are kept in the same point without --type",
    "database_savepoint": (
        "a savepoint lives in one connection and cannot outlive its process: "
        "name the database with --database URL, and it is copied"
    ),
}


def verify_point(workspace: Workspace, point: str) -> list[Finding]:
    findings = list(damage.check_point(workspace, store.load_point(workspace, point)))
    codes = {"findings": [finding.code for finding in findings]}
    audit.append_record(workspace, "verify", "failure" if findings else "success", point, codes)
    return findings


# rolling back


class RolledBackPoint(NamedTuple):
    manifest: Manifest
    plan: rollback.Plan
    result: rollback.RolledBack | None


def roll_back_point(
    workspace: Workspace,
    point: str,
    within: Sequence[str] | None = None,
    means: Means | None = None,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> RolledBackPoint:
    """within: paths, `state:KEY` and URLs of databases. force: even where the point has expired."""
    means = means or Means()
    if dry_run:
        manifest = _load_usable(workspace, point, within, means, force=force)
        return RolledBackPoint(manifest, rollback.plan_rollback(workspace, manifest, within, means), None)
    with layout.lock(workspace):
        details: dict[str, Any] = {"within": list(within) if within is not None else None}
        with _noted(workspace, "rollback", point, details):
            manifest = _load_usable(workspace, point, within, means, force=force, locked=True)
            store.remove_unfinished(workspace.root)
            result = rollback.roll_back(workspace, manifest, within, means)
            manifest = store.write_state(workspace.root, manifest, "restored", "rollback", workspace.now)
            details.update(safety=result.safety, removed=len(result.plan.remove), restored=len(result.plan.restore))
        rollback.end_rollback(workspace, manifest)
        return RolledBackPoint(manifest, result.plan, result)


def _load_usable(
    workspace: Workspace, point: str, within: Sequence[str] | None, means: Means, *, force: bool, locked: bool = False
) -> Manifest:
    manifest = store.load_point(workspace, point, locked=locked)
    state = store.find_state(manifest, workspace.now)
    if state == "dropped":
        raise CheckpointError(f"{point} was dropped", "`checkpoint restore-point list` shows the others")
    if state == "expired" and not force:
        message = f"{point} expired at {manifest.value['expires_at']}"
        raise CheckpointError(message, "it is still there: --force goes back to it")
    if manifest.trouble:
        return manifest  # the rollback refuses it
    kept = artifacts.read_artifacts(manifest.value)
    names = [one.name for one in kept]
    asked = [word for word in within or () if artifacts.is_part_name(word)]
    for word in [*asked, *(f"state:{key}" for key in means.state_to)]:
        if word not in names:
            hint = f"it holds {', '.join(names)}" if names else "it holds files only"
            raise CheckpointError(f"{manifest.id} does not hold {escape_controls(word)}", escape_controls(hint))
    unlogged = damage.check_log(manifest, damage.read_log(workspace.root))
    if unlogged and any(one.kind == "postgresql" for one in kept):
        # restoring a dump runs what is in it, on the server that the manifest names
        hint = "it is not put back, since its dump may hold untrusted commands"
        raise CheckpointError(f"{manifest.id} cannot be trusted: {unlogged.message}", hint)
    return manifest


def find_below(workspace: Workspace, path: str) -> str:
    """As the manifest spells it. Raises CheckpointError outside the workspace."""
    if artifacts.is_part_name(path):
        return path
    below = layout.path_below(workspace.root, os.path.normpath(os.path.join(workspace.cwd, path)))
    if below is None:
        message = f"{escape_controls(path)} is outside the workspace"
        raise CheckpointError(message, "name a part of the point's scope")
    return below


# removing


def drop_point(workspace: Workspace, point: str) -> Manifest:
    with layout.lock(workspace), _noted(workspace, "drop", point, {}):
        manifest = store.load_point(workspace, point, locked=True)
        _remove(workspace, manifest)
        return manifest


def collect_expired(workspace: Workspace, *, dry_run: bool = False) -> list[Manifest]:
    # Also what a crash left of points that were being dropped; damaged ones stay
    with layout.lock(workspace):
        store.remove_unfinished(workspace.root)
        listed = store.list_points(workspace, locked=True)
        expired = [one for one in listed if store.find_state(one, workspace.now) in ("expired", "dropped")]
        for manifest in () if dry_run else expired:
            with _noted(workspace, "gc", manifest.id, {"expired": manifest.value["expires_at"]}):
                _remove(workspace, manifest)
        return expired


def _remove(workspace: Workspace, manifest: Manifest) -> None:
    # first the state, then the ref, then the folder: what a crash leaves is a point that says it was dropped
    if not manifest.trouble and manifest.value["state"] != "dropped":
        store.write_state(workspace.root, manifest, "dropped", "drop", workspace.now)
    ref, commit = layout.ref_name(manifest.id), store.locate(workspace, manifest.id).commit
    if commit and not private_objects.remove_ref(workspace.root, ref, commit, workspace.env):
        raise CheckpointError(f"{ref} could not be removed", "does another git command run? try again")
    store.remove_folder(workspace.root, manifest.id)


# the published output contract, computed and never assumed


def describe(made: CreatedPoint) -> dict[str, Any]:
    value, point, folder = made.manifest.value, made.manifest.id, f"{layout.FOLDER}/{made.manifest.id}"
    databases = [one.name for one in made.artifacts if one.kind != "state"]
    states = [one.name for one in made.artifacts if one.kind == "state"]
    parts = [
        {"name": one.name, "type": TYPES[one.kind], "size": one.size, "hash": f"sha256:{one.sha256}"}
        for one in made.artifacts
    ]
    files, commit = value["scope"]["files"], made.location.commit
    copies_stay = f"{layout.FOLDER} stays: databases are copied there alone, and `git clean -x` removes it"
    summary = f"{plural(len(files), 'file')}, {size_text(value['size'])}"
    for names, word in ((states, "state"), (databases, "database")):
        summary += f", {plural(len(names), word)}" if names else ""
    if made.uncommitted and made.entries:
        named = ", ".join(made.uncommitted[:5]) + (" ..." if len(made.uncommitted) > 5 else "")
        summary += f"; {len(made.uncommitted)} with uncommitted changes: {named}"
    elif made.uncommitted is not None and made.entries:
        summary += "; all committed"
    return {
        "checkpoint_created": True,
        "checkpoint_id": point,
        "timestamp": value["created_at"],
        "size": value["size"],
        "checkpoint": {
            "id": point,
            "type": value["type"],
            "created_at": value["created_at"],
            "scope": {"files": files, "state_keys": value["scope"]["state_keys"]},
            "restore_command": f"sh {folder}/{layout.RESTORE_SCRIPT}",
            "expiry": value["expires_at"],
        },
        "pre_mutation_state": {"hash": value["hash"], "summary": summary},
        "parts": parts,
        "restore_order": [*databases, *(["files"] if made.entries else []), *states],
        "prerequisites": artifacts.find_prerequisites(made.artifacts),
        "next_safe_actions": [
            *(f"edit: {path}" for path in value["scope"]["asked"][:10]),
            *(f"change: {one.name}" for one in made.artifacts[:10]),
            f"rollback: checkpoint restore-point rollback {point}",
        ],
        "confidence": round(sum(made.proofs.values()) / len(made.proofs), 2),  # the share of proofs that were given
        "evidence_anchors": [
            f"tool:sha256:{len(files)} files read back and compared, {value['hash']}",
            f"tool:bash:sh -n {folder}/{layout.RESTORE_SCRIPT}",
            *([f"tool:git:update-ref {layout.ref_name(point)} {commit}"] if commit else []),
            *(f"file:{folder}/{one.content}" for one in made.artifacts if one.content),
            f"file:{folder}/{layout.MANIFEST}",
            f"file:{layout.AUDIT_LOG}",
        ],
        "assumptions": [
            "the workspace's folder is the same when the point is restored",
            "nothing else writes in the scope meanwhile",
            *([copies_stay] if databases else []),
            *(["git is available, and its object database is whole"] if commit else []),
        ],
        "warnings": made.warnings,
    }


def size_text(size: int) -> str:
    for name, unit in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def outline(manifest: Manifest, now: int) -> dict[str, Any]:
    state = store.find_state(manifest, now)
    if manifest.trouble:
        return {"id": manifest.id, "state": state, "trouble": manifest.trouble}
    names = ("type", "created_at", "expires_at", "reason", "size", "hash", "scope", "warnings")
    return {"id": manifest.id, "state": state, **{name: manifest.value[name] for name in names}}
