"""Make, verify, use and delete restore points, for the command line and for Python.

Everything is done under the lock, and recorded in the log.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, plain_path
from checkpoint_git.disk.discover import path_below
from checkpoint_git.disk.process import is_program_running
from checkpoint_git.git import private_objects
from checkpoint_git.git.stale_locks import clear_own_locks, list_locks, list_work_folders
from checkpoint_git.protocols.restore import (
    audit,
    damage,
    folders,
    layout,
    points,
    rollback,
    store,
)
from checkpoint_git.protocols.restore.automatic import AUTOMATIC, open_snapshot
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.contents import Location, Part
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import parts
from checkpoint_git.protocols.restore.mechanisms.contract import (
    Means,
    MechanismPlan,
    PartRequest,
    WantedState,
)
from checkpoint_git.protocols.restore.points import CreatedPoint
from checkpoint_git.protocols.restore.rules import read_expiry
from checkpoint_git.protocols.restore.store import Manifest

_STATES_HINT = "name states with --state KEY=FILE; "
_STATES_HINT += "files beside them are kept in the same point without --type"
# a kind of point that stores no files -> what to do instead
_PART_TYPES = {
    "state_snapshot": _STATES_HINT,
    "database_savepoint": (
        "a savepoint cannot outlive its process: --database URL copies the database instead"
    ),
}
# what is proven -> the findings that would disprove it
_PROOFS = {
    "manifest as it was made": ("restore/manifest", "restore/manifest-copy"),
    "content compared": ("restore/manifest", "restore/content"),
    "kept by a ref": ("restore/ref",),
    "restore.sh as it was made": ("restore/script",),
    "made in this clone": ("restore/foreign", "restore/unlogged"),
}


@contextmanager
def noted(
    workspace: Workspace,
    operation: str,
    point: str,
    details: dict[str, Any],
) -> Iterator[None]:
    """Record in the log how the block ends. details: may get the "checkpoint_id" in the block."""
    try:
        yield
    except BaseException as error:
        text = type(error).__name__
        if isinstance(error, CheckpointError):
            text = error.message
        failed = {**details, "error": text}
        with suppress(CheckpointError):  # a full disk takes no record: the first error is reported
            audit.append_record(workspace, operation, "failure", point, failed)
        raise

    point = details.pop("checkpoint_id", point)
    audit.append_record(workspace, operation, "success", point, details)


@contextmanager
def _hold(workspace: Workspace) -> Iterator[None]:
    """Hold the lock, and record points that the log lacks.

    A kill lost their record, or the log was removed.
    """
    with layout.lock(workspace):
        _clear_locks(workspace)
        audit.check_writable(workspace.root)
        if workspace.git_dir:  # outside git, anybody's files may be among the points
            for manifest in damage.find_unlogged(workspace):
                reason = "the log had no record of it: cut off, or removed"
                details = {"digest": manifest.value["digest"], "reason": reason}
                audit.append_record(workspace, "create", "success", manifest.id, details)
        yield


def _clear_locks(workspace: Workspace) -> None:
    """Remove what a git that was killed left on the refs of points, which only we write."""
    if not workspace.git_dir:
        return
    git_dir = os.path.dirname(workspace.base)
    locks = list_locks(os.path.join(git_dir, layout.REF_PREFIX))
    work_folders = list_work_folders(git_dir)
    clear_own_locks(locks, lambda: is_program_running("git", work_folders))


def create_point(
    workspace: Workspace,
    request: PointRequest,
    kind: str | None,
    expiry: str | None,
) -> CreatedPoint:
    """Make a point. kind: None for what fits. expiry: 24h, 7d, never. Raises CheckpointError."""
    expires = read_expiry(expiry, workspace.now)
    kind = choose_type(workspace, request.asked, kind, request.parts)
    with _hold(workspace):
        store.exclude_from_git(workspace)
        named = [*request.asked, *(part.name for part in request.parts)]
        details: dict[str, Any] = {"scope": named, "reason": request.reason, "type": kind}
        with noted(workspace, "create", "", details):
            made = points.create(workspace, request._replace(kind=kind, expires=expires))
            details["checkpoint_id"] = made.manifest.id
            details["digest"] = made.manifest.value["digest"]
        return made


def choose_type(
    workspace: Workspace,
    scope: Sequence[str],
    kind: str | None,
    requests: Sequence[PartRequest],
) -> str:
    """Return the type of a point. kind: what the user asks for. Raises CheckpointError."""
    if requests and not scope:
        chosen = parts.choose_type(requests)
        if kind not in (None, chosen):
            hint = f"omit --type, or use --type {chosen}"
            raise CheckpointError(f"{kind} cannot store what was named", hint)
        return chosen

    if kind in _PART_TYPES:
        raise CheckpointError(f"{kind} cannot store files", _PART_TYPES[kind])
    if kind == "git_stash" and not workspace.git_dir:
        message = f"{escape_controls(workspace.root)} is not in a git repository"
        raise CheckpointError(message, "omit --type, or use --type file_backup")

    if kind:
        return kind
    if workspace.git_dir:
        return "git_stash"
    return "file_backup"


class Verified(NamedTuple):
    """The result of a verification."""

    manifest: Manifest
    findings: list[Finding]
    proofs: dict[str, bool]


def verify_point(
    workspace: Workspace,
    word: str,
    reason: str = "",
    *,
    foreign: bool = False,
) -> Verified:
    """Compare a point with what was captured. foreign: also one that this clone did not make."""
    manifest = store.load_point(workspace, word, foreign=foreign)
    findings = list(damage.check_point(workspace, manifest))
    codes = {finding.code for finding in findings}
    is_wrong = any(finding.level == "error" for finding in findings)
    details = {"findings": sorted(codes), "reason": reason}
    outcome = "failure" if is_wrong else "success"
    try:
        audit.append_record(workspace, "verify", outcome, manifest.id, details)
    except CheckpointError as error:
        # such as a read-only file system, on which the check is as good
        message = f"this check is not in the log: {error.message}"
        findings.append(Finding("restore/not-logged", "note", message, hint=error.hint))

    proofs = {proof: not codes.intersection(disproving) for proof, disproving in _PROOFS.items()}
    return Verified(manifest, findings, proofs)


class RolledBackPoint(NamedTuple):
    """A rollback, or the plan of one."""

    manifest: Manifest
    plan: MechanismPlan
    result: rollback.RolledBack | None  # None for a dry run
    moved: Sequence[str]  # sentences on what in git is not as it was
    notes: Sequence[str]  # sentences on what else the user should know
    brought_back: Sequence[str] = ()  # sentences on what in git is as it was, or would be


class Allowed(NamedTuple):
    """The kinds of points that the user allows a rollback to use."""

    expired: bool = False
    foreign: bool = False  # this clone did not make it
    here: bool = False  # another work tree's


def roll_back_point(
    workspace: Workspace,
    word: str,
    wanted: WantedState | None = None,
    allowed: Allowed | None = None,
    *,
    dry_run: bool = False,
    reason: str = "",
) -> RolledBackPoint:
    """Roll back to a point, an automatic one too, or plan it. Raises CheckpointError."""
    wanted = wanted or WantedState()
    allowed = allowed or Allowed()
    if dry_run:
        opened = _open_usable(workspace, word, wanted, allowed, dry_run=True)
        with opened as (manifest, location):
            plan, notes = rollback.plan_rollback(workspace, manifest, wanted, location)
            moved, brought_back = rollback.find_moved(workspace, manifest, wanted, location)
            return RolledBackPoint(manifest, plan, None, moved, notes, brought_back)

    details: dict[str, Any] = {"within": wanted.within, "reason": reason}
    with _hold(workspace), noted(workspace, "rollback", word, details):
        folders.clear_unfinished(workspace)
        opened = _open_usable(workspace, word, wanted, allowed, dry_run=False)
        with opened as (manifest, location):
            details["checkpoint_id"] = manifest.id
            return _roll_back_locked(workspace, manifest, location, wanted, details)


def _roll_back_locked(
    workspace: Workspace,
    manifest: Manifest,
    location: Location,
    wanted: WantedState,
    details: dict[str, Any],
) -> RolledBackPoint:
    """Roll back under the lock. details: of the log, which get what was done."""
    words = rollback.write_words(manifest.id, wanted)
    is_automatic = manifest.id.startswith(AUTOMATIC)
    if is_automatic and not manifest.value["scope"]["asked"]:  # nothing differs
        store.end_journals(workspace, words)  # of one that was killed after its last file
        nothing = MechanismPlan([], [], [])
        result = rollback.RolledBack(nothing, "", resumed=False, proofs={"compared": True})
        return RolledBackPoint(manifest, nothing, result, (), ())

    _, brought_back = rollback.find_moved(workspace, manifest, wanted, location)
    result = rollback.roll_back(workspace, manifest, wanted, location)
    if not is_automatic:
        manifest = store.write_state(workspace, manifest, "restored", "rollback")
    details["safety"] = result.safety
    details["removed"] = result.plan.remove
    details["restored"] = [difference.path for difference in result.plan.restore]
    store.end_journals(workspace, words)
    moved, _ = rollback.find_moved(workspace, manifest, WantedState(), location)
    return RolledBackPoint(manifest, result.plan, result, moved, result.notes, brought_back)


@contextmanager
def _open_usable(
    workspace: Workspace,
    word: str,
    wanted: WantedState,
    allowed: Allowed,
    *,
    dry_run: bool,
) -> Iterator[tuple[Manifest, Location]]:
    """Give the point that a word names, and where it is."""
    if not word.startswith(AUTOMATIC):
        manifest = _load_usable(workspace, word, wanted, allowed)
        yield manifest, store.locate(workspace, manifest.id)
        return

    within = wanted.within
    if within and "" in within:
        within = None
    has_parts = any(parts.is_part_name(name) for name in within or ())
    if has_parts or wanted.means != Means() or allowed != Allowed():
        message = "an automatic restore point has only files of this work tree and git's state"
        hint = "omit --state-to, --force, --foreign, --here, and states and databases"
        raise CheckpointError(message, hint)

    with_git = wanted.staged or wanted.operation
    with open_snapshot(workspace, word, within, with_git=with_git, dry_run=dry_run) as point:
        yield point


def _load_usable(
    workspace: Workspace, word: str, wanted: WantedState, allowed: Allowed
) -> Manifest:
    """Return the point that a word names. Raises CheckpointError if it may not be used."""
    manifest = store.load_point(workspace, word, foreign=allowed.foreign)
    _check_state(workspace, manifest, allowed)
    if manifest.trouble:
        return manifest  # the rollback refuses it

    if not store.is_of_work_tree(workspace, manifest) and not allowed.here:
        place = escape_controls(manifest.value.get("work_tree") or "the first one")
        hint = "run the command there, or add --here to restore its files into this work tree"
        raise CheckpointError(f"{manifest.id} was made in another work tree: {place}", hint)

    kept_parts = parts.read_parts(manifest.value)
    _check_named_parts(manifest, kept_parts, wanted)
    _check_trusted(workspace, manifest, kept_parts)
    return manifest


def _check_state(workspace: Workspace, manifest: Manifest, allowed: Allowed) -> None:
    state = store.find_state(manifest._replace(is_foreign=False), workspace.now)
    if state == "dropped":
        hint = command("checkpoint", "restore-point", "list", more=" shows the others")
        raise CheckpointError(f"{manifest.id} was dropped", hint)
    if state == "expired" and not allowed.expired:
        message = f"{manifest.id} expired at {manifest.value['expires_at']}"
        raise CheckpointError(message, "--force rolls back to it anyway")


def _check_named_parts(manifest: Manifest, kept: Sequence[Part], wanted: WantedState) -> None:
    """Raise CheckpointError if the user names a state or database that the point does not hold."""
    names = [part.name for part in kept]
    asked = [word for word in wanted.within or () if parts.is_part_name(word)]
    asked += [f"state:{key}" for key in wanted.means.state_to]
    for word in asked:
        if word not in names:
            hint = f"it has {', '.join(names) or 'files only'}"
            message = f"{manifest.id} has no {escape_controls(word)}"
            raise CheckpointError(message, escape_controls(hint))


def _check_trusted(workspace: Workspace, manifest: Manifest, kept_parts: Sequence[Part]) -> None:
    """Raise CheckpointError for a dump that this clone did not make.

    Restoring one runs what is in it, on the server that the manifest names.
    """
    if not any(part.kind == "postgresql" for part in kept_parts):
        return
    if workspace.git_dir:
        is_trusted = not manifest.is_foreign
    else:
        logged = damage.read_log(workspace.root).made
        is_trusted = logged.get(manifest.id) == manifest.value["digest"]

    if not is_trusted:
        message = f"{manifest.id} has an untrusted database: "
        message += "it may not have been made in this clone"
        hint = "it is not restored, because its dump may contain untrusted commands"
        raise CheckpointError(message, hint)


def find_below(workspace: Workspace, path: str) -> str:
    """Return a path as the manifest spells it. Raises CheckpointError outside the workspace."""
    if parts.is_part_name(path):
        return path
    full = os.path.normpath(os.path.join(workspace.cwd, path))
    below = path_below(workspace.root, full)
    if below is None:
        message = f"{escape_controls(path)} is outside the workspace"
        raise CheckpointError(message, "name a part of the point's scope")
    return below


def drop_points(
    workspace: Workspace,
    words: Sequence[str],
    reason: str = "",
    *,
    foreign: bool = False,
) -> list[Manifest]:
    """Delete the points that words name, and return them."""
    with _hold(workspace):
        loaded = [store.load_point(workspace, word, foreign=foreign) for word in words]
        manifests = list({manifest.id: manifest for manifest in loaded}.values())
        for manifest in manifests:
            with noted(workspace, "drop", manifest.id, {"reason": reason}):
                _remove(workspace, manifest)
        return manifests


def collect_garbage(
    workspace: Workspace,
    *,
    expired: bool = True,
    keep: int | None = None,
    dry_run: bool = False,
) -> list[Manifest]:
    """Delete points, and return them.

    These are the expired ones; all but the newest `keep` of those that the user asked for, live
    ones being kept first; and what a crash left of dropped ones. Points that are damaged, foreign
    or of other work trees stay.
    """
    with _hold(workspace):
        folders.clear_unfinished(workspace)
        candidates = []
        for manifest in store.list_points(workspace):
            is_usable = not manifest.trouble and not manifest.is_foreign
            if is_usable and store.is_of_work_tree(workspace, manifest):
                candidates.append(manifest)
        doomed = _find_doomed(candidates, workspace.now, expired=expired, keep=keep)
        removed = [manifest for manifest in candidates if manifest.id in doomed]
        if dry_run:
            return removed

        for manifest in removed:
            details = {"expired": manifest.value["expires_at"], "keep": keep}
            with noted(workspace, "gc", manifest.id, details):
                _remove(workspace, manifest)
        return removed


def _find_doomed(
    candidates: Sequence[Manifest],
    now: int,
    *,
    expired: bool,
    keep: int | None,
) -> set[str]:
    """Return the ids of the points that collect_garbage deletes. candidates: oldest first."""
    states = {manifest.id: store.find_state(manifest, now) for manifest in candidates}
    doomed = {point for point, state in states.items() if state == "dropped"}
    if expired:
        doomed.update(point for point, state in states.items() if state == "expired")
    if keep is not None:
        asked = []
        for manifest in candidates:
            if not manifest.value.get("made_for") and states[manifest.id] != "dropped":
                asked.append(manifest.id)
        asked.sort(key=lambda point: states[point] != "expired")
        doomed.update(asked[: max(len(asked) - keep, 0)])

    return doomed


def _remove(workspace: Workspace, manifest: Manifest) -> None:
    # first the state, then the ref, then the folders: a crash leaves a point that is "dropped"
    is_usable = not manifest.trouble and not manifest.is_foreign
    if is_usable and manifest.value["state"] != "dropped":
        store.write_state(workspace, manifest, "dropped", "drop")

    ref = layout.ref_name(manifest.id)
    commit = store.locate(workspace, manifest.id).commit
    if commit and not private_objects.remove_ref(workspace.root, ref, commit, workspace.env):
        hint = join_hints("wait for other git commands, then try again")
        locks = _find_locks(workspace)
        if locks:
            hint = join_hints(hint, advise("if none is running", "rm", *map(plain_path, locks)))
        raise CheckpointError(f"{ref} could not be removed", hint)

    for base in dict.fromkeys((os.path.join(workspace.root, layout.FOLDER), workspace.base)):
        folders.remove_folder(base, manifest.id)


def _find_locks(workspace: Workspace) -> list[str]:
    """Return the user's locks that a killed git left and that keep us from removing a ref."""
    git_dir = os.path.dirname(workspace.base)
    names = ("packed-refs.lock", "reftable/tables.list.lock")
    locks = [os.path.join(git_dir, name) for name in names]
    return [path for path in locks if os.path.lexists(path)]
