"""Restore points as the command line and the Python API use them: under the lock, noted in the log, never half done.

It brings together the room of restore points and the workspace that they are of.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import Blobs, read_blobs, read_tree
from checkpoint_git.protocols.restore import artifacts, audit, layout, points, rollback, store
from checkpoint_git.protocols.restore.artifact import FOLDER, Means, Wanted, is_part_name
from checkpoint_git.protocols.restore.expiry import is_expired, read_expiry
from checkpoint_git.protocols.restore.points import Made, World
from checkpoint_git.protocols.restore.workspace import changing, exclude, find_git_dir

_ALIVE = ("active", "restored")


@contextmanager
def _noted(world: World, operation: str, point: str, details: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Writes the operation into the log when it is over, failures too. details may be added to meanwhile."""
    try:
        yield details
    except BaseException as error:
        told = error.message if isinstance(error, CheckpointError) else type(error).__name__
        with suppress(
            CheckpointError
        ):  # what went wrong first is what must be told: a full disk takes no record either
            _append(world, audit.Record(operation, "failure", point, {**details, "error": told}))
        raise
    _append(world, audit.Record(operation, "success", details.pop("checkpoint_id", point), details))


def _append(world: World, record: audit.Record) -> None:
    audit.append_record(world.root, record, world.now)


# making


def create_point(
    world: World,
    scope: Sequence[str],
    reason: str,
    kind: str | None,
    expiry: str | None,
    wanted: Sequence[Wanted] = (),
) -> Made:
    """A new restore point, proven. wanted: states and databases. Raises CheckpointError; the failure is noted too."""
    expires = read_expiry(expiry, world.now)
    chosen = choose_type(world, scope, kind, wanted)
    with changing(world):
        exclude(world)
        named = [*scope, *(one.name for one in wanted)]
        details: dict[str, Any] = {"scope": named, "reason": reason, "type": chosen}
        with _noted(world, "create", "", details):
            made = points.create(world, scope, reason, chosen, expires, wanted)
            details.update(checkpoint_id=made.manifest.id, digest=made.manifest.value["digest"])
        return made


def choose_type(world: World, scope: Sequence[str], kind: str | None, wanted: Sequence[Wanted]) -> str:
    """The mechanism of the files, or of the other parts where there are no files. Raises CheckpointError."""
    if scope or not wanted:
        if kind in _PART_TYPES:
            raise CheckpointError(f"{kind} keeps no files", _PART_TYPES[kind])
        return points.choose_type(world, kind)
    chosen = artifacts.choose_type(wanted)
    if kind not in (None, chosen):
        raise CheckpointError(f"{kind} does not keep what was named", f"leave --type out, or say --type {chosen}")
    return chosen


_PART_TYPES = {
    "state_snapshot": "name states with --state KEY=FILE; files beside them are kept in the same point without --type",
    "database_savepoint": (
        "a savepoint lives in one connection and cannot outlive its process: "
        "name the database with --database URL, and it is copied"
    ),
}


# looking


class Standing(NamedTuple):
    """A point and what became of it. state: active, restored, expired or dropped; "damaged" where it is not usable."""

    manifest: store.Manifest
    state: str


def find_state(manifest: store.Manifest, now: int) -> str:
    """What became of a point, its expiry counted in."""
    if manifest.trouble:
        return "damaged"
    state = str(manifest.value["state"])
    return "expired" if state in _ALIVE and is_expired(find_expiry(manifest), now) else state


def find_expiry(manifest: store.Manifest) -> int | None:
    """When a point expires, seconds since 1970; None for never."""
    instant = read_instant(manifest.value.get("expires_at"))
    return instant[0] if instant else None


def list_points(world: World, *, locked: bool = False) -> list[Standing]:
    """Every point, oldest first; those of which only git has a copy left are brought back first."""
    _bring_back(world, locked=locked)
    return [Standing(manifest, find_state(manifest, world.now)) for manifest in store.read_manifests(world.root)]


def _bring_back(world: World, *, locked: bool = False) -> None:
    """Points whose folder was taken away, as `git clean -xdf` does: their commit holds the manifest and restore.sh.

    Not those of another work tree of the same repository: their files are not this one's. locked: the caller holds the
    lock, without which a point that is just being made would be taken for a lost one.
    """
    if find_git_dir(world.root) is None or not _find_lost(world):
        return None
    if not locked:
        with changing(world):
            return _bring_back(world, locked=True)
    for point, commit in _find_lost(world).items():
        tree = read_tree(world.root, commit, private_objects.quiet_env(world.env), [*_OWN_FILES, FOLDER])
        kept = [name for name in tree if name.count("/") <= 1]
        contents = read_blobs(world.root, [tree[name].blob for name in kept], private_objects.quiet_env(world.env))
        files = dict.fromkeys(_OWN_FILES, b"") | dict(zip(kept, contents, strict=True))
        exclude(world)
        folder = store.begin_folder(world.root, point)
        os.mkdir(os.path.join(folder, FOLDER), 0o700)
        for name, data in files.items():
            write_file(os.path.join(folder, name), data)
        store.finish_folder(world.root, folder, point)
    return None


def _find_lost(world: World) -> dict[str, str]:
    """The points of this work tree of which only git has a copy left: id -> commit."""
    there = set(layout.list_ids(world.root))
    refs = private_objects.read_refs(world.root, layout.REF_PREFIX, world.env)
    lost = {point: commit for point, commit in refs.items() if layout.is_id(point) and point not in there}
    if not lost:
        return lost
    here, found = points.find_work_tree(world.root), dict[str, str]()
    with Blobs(world.root, private_objects.quiet_env(world.env)) as blobs:
        manifests = blobs.read_all([f"{commit}:{layout.MANIFEST}" for commit in lost.values()])
        for (point, commit), content in zip(lost.items(), manifests, strict=True):
            value = store.parse_manifest(point, content if isinstance(content, bytes) else b"").value
            if value and value.get("work_tree", "") == here:
                found[point] = commit
    return found


_OWN_FILES = (layout.MANIFEST, layout.RESTORE_SCRIPT)


def load_point(world: World, point: str, *, locked: bool = False) -> store.Manifest:
    """A point by its id. locked: the caller holds the lock. Raises CheckpointError for one that is unknown."""
    layout.check_id(point)
    manifest = store.load_manifest(world.root, point)
    if manifest is None:
        _bring_back(world, locked=locked)
        manifest = store.load_manifest(world.root, point)
    if manifest is None:
        raise CheckpointError(
            f"there is no restore point {point}", "`checkpoint restore-point list` shows those that are"
        )
    return manifest


def verify_point(world: World, point: str) -> list[Finding]:
    """Everything that is wrong with a point: manifest, content, script, ref, log. Nothing is changed but the log."""
    manifest = load_point(world, point)
    findings = list(_find_troubles(world, manifest))
    outcome = "failure" if findings else "success"
    _append(world, audit.Record("verify", outcome, point, {"findings": [finding.code for finding in findings]}))
    return findings


_LOST = "it cannot be rolled back to; make a new restore point of what is there now"


def _find_troubles(world: World, manifest: store.Manifest) -> Iterator[Finding]:
    path = f"{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}"
    if manifest.trouble:
        yield Finding("restore/manifest", "error", manifest.trouble, path, hint=_LOST)
        return
    value, held = manifest.value, points.find_held(world, manifest.id)
    if value["type"] == "git_stash":
        yield from _find_lost_ref(world, manifest, held.commit, path)
    damaged = points.find_damage(held, value["type"], points.read_held_entries(manifest))
    for name in damaged:
        yield Finding("restore/content", "error", "its content is lost or damaged", name, hint=_LOST)
    for name, trouble in artifacts.find_damage(held, artifacts.read_parts(manifest)).items():
        yield Finding("restore/content", "error", trouble, name, hint=_LOST)
    script = read_if_there(os.path.join(held.folder, layout.RESTORE_SCRIPT)) or b""
    if store.hash_script(script) != value["restore_script"]:
        message = "restore.sh is not the one that was made with the point"
        yield Finding("restore/script", "error", message, f"{layout.FOLDER}/{manifest.id}/{layout.RESTORE_SCRIPT}",
                      hint="do not run it: `checkpoint restore-point rollback` does not need it")  # fmt: skip
    yield from _find_unlogged(world, manifest, path)


def _find_lost_ref(world: World, manifest: store.Manifest, commit: str, path: str) -> Iterator[Finding]:
    if not commit:
        message = f"{layout.ref_name(manifest.id)} is gone, so git may throw its content away"
        yield Finding("restore/ref", "error", message, path, hint=_LOST)
        return
    with Blobs(world.root, private_objects.quiet_env(world.env)) as blobs:
        kept = blobs.read(f"{commit}:{layout.MANIFEST}")
    committed = store.parse_manifest(manifest.id, kept if isinstance(kept, bytes) else b"").value
    if committed.get("digest") != manifest.value["digest"]:
        message = "the manifest is not the one that was committed with the content"
        yield Finding("restore/manifest", "error", message, path, hint=_LOST)


def _find_unlogged(world: World, manifest: store.Manifest, path: str) -> Iterator[Finding]:
    for _, line in audit.read_records(world.root):
        record = audit.parse_record(line)
        if record and record.get("operation") == "create" and record.get("checkpoint_id") == manifest.id:
            details = record.get("details")
            if isinstance(details, dict) and details.get("digest") == manifest.value["digest"]:
                return
            message = "the manifest is not the one that the log of operations tells of"
            yield Finding("restore/manifest", "error", message, path, hint=_LOST)
            return
    message = "the log of operations does not tell of its making"
    yield Finding(
        "restore/unlogged", "warning", message, path, hint="was it made in another clone, or the log removed?"
    )


# going back


class RolledBackPoint(NamedTuple):
    """What a rollback did, or would do. result: None in a dry run."""

    manifest: store.Manifest
    plan: rollback.Plan
    result: rollback.RolledBack | None


def roll_back_point(
    world: World,
    point: str,
    within: Sequence[str] | None = None,
    means: Means | None = None,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> RolledBackPoint:
    """Goes back to a point. force: even to one that has expired, never to a damaged one. Raises CheckpointError.

    within: paths, `state:KEY` and URLs of databases. means: where states go, what databases ask for.
    """
    means = means or Means()
    if dry_run:
        manifest = _load_usable(world, point, force)
        _check_named(manifest, within, means)
        _check_own(world, manifest)
        return RolledBackPoint(manifest, rollback.plan_rollback(world, manifest, within, means), None)
    with changing(world):
        details: dict[str, Any] = {"within": list(within) if within is not None else None}
        with _noted(world, "rollback", point, details):
            manifest = _load_usable(world, point, force, locked=True)
            store.remove_unfinished(world.root)
            _check_named(manifest, within, means)
            _check_own(world, manifest)
            result = rollback.roll_back(world, manifest, within, means)
            manifest = store.write_state(world.root, manifest, "restored", "rollback", world.now)
            details.update(safety=result.safety, removed=len(result.plan.remove), restored=len(result.plan.restore))
        rollback.end_rollback(world, manifest)
        return RolledBackPoint(manifest, result.plan, result)


def _check_own(world: World, manifest: store.Manifest) -> None:
    """Refuses a dump that is not known to be ours: putting it back runs what is in it, on the server it names."""
    if manifest.trouble or all(part.kind != "postgresql" for part in artifacts.read_parts(manifest)):
        return
    unlogged = list(_find_unlogged(world, manifest, ""))
    if unlogged:
        hint = "it is not put back, since that would run what somebody may have written into its dump"
        raise CheckpointError(f"{manifest.id} cannot be trusted: {unlogged[0].message}", hint)


def _check_named(manifest: store.Manifest, within: Sequence[str] | None, means: Means) -> None:
    """Refuses the name of a part that the point does not hold."""
    if manifest.trouble:
        return
    names = [part.name for part in artifacts.read_parts(manifest)]
    asked = [*(word for word in within or () if is_part_name(word)), *(f"state:{key}" for key in means.state_to)]
    strange = next((word for word in asked if word not in names), None)
    if strange is not None:
        hint = f"it holds {', '.join(names)}" if names else "it holds files only"
        raise CheckpointError(f"{manifest.id} does not hold {escape_controls(strange)}", escape_controls(hint))


def find_below(world: World, path: str) -> str:
    """A path of the command line as the manifest spells it. Raises CheckpointError outside the workspace."""
    if is_part_name(path):
        return path
    full = os.path.normpath(os.path.join(world.cwd, path))
    if full != world.root and not full.startswith(world.root.rstrip("/") + "/"):
        raise CheckpointError(f"{escape_controls(path)} lies outside the workspace", "name a part of the point's scope")
    return (
        os.path.relpath(full, world.root).removeprefix(".").removeprefix("/")
        if full == world.root
        else full[len(world.root.rstrip("/")) + 1 :]
    )


def _load_usable(world: World, point: str, force: bool, *, locked: bool = False) -> store.Manifest:
    manifest = load_point(world, point, locked=locked)
    state = find_state(manifest, world.now)
    if state == "dropped":
        raise CheckpointError(f"{point} was dropped", "`checkpoint restore-point list` shows the others")
    if state == "expired" and not force:
        raise CheckpointError(
            f"{point} expired at {manifest.value['expires_at']}", "it is still there: --force goes back to it"
        )
    return manifest


# clearing


def drop_point(world: World, point: str) -> store.Manifest:
    """Removes a point and its ref, since somebody asked for just that. Raises CheckpointError."""
    with changing(world), _noted(world, "drop", point, {}):
        manifest = load_point(world, point, locked=True)
        _remove(world, manifest)
        return manifest


def collect_expired(world: World, *, dry_run: bool = False) -> list[store.Manifest]:
    """Removes the points that have expired, since somebody asked for it; those that are damaged stay.

    What a crash left of points that were being dropped is finished too.
    """
    with changing(world):
        store.remove_unfinished(world.root)
        expired = [one.manifest for one in list_points(world, locked=True) if one.state in ("expired", "dropped")]
        for manifest in () if dry_run else expired:
            with _noted(world, "gc", manifest.id, {"expired": manifest.value["expires_at"]}):
                _remove(world, manifest)
        return expired


def _remove(world: World, manifest: store.Manifest) -> None:
    """First the state, then the ref, then the folder: what a crash leaves is a point that says it was dropped."""
    if not manifest.trouble and manifest.value["state"] != "dropped":
        store.write_state(world.root, manifest, "dropped", "drop", world.now)
    if find_git_dir(world.root) is not None:
        ref = layout.ref_name(manifest.id)
        commit = private_objects.read_ref(world.root, ref, world.env)
        if commit and not private_objects.remove_ref(world.root, ref, commit, world.env):
            raise CheckpointError(f"{ref} could not be removed", "does another git command run? try again")
    store.remove_folder(world.root, manifest.id)
