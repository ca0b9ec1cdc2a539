"""Restore points as the command line and the Python API use them: under the lock, noted in the log, never half done."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, plural, quote_word
from checkpoint_git.disk.discover import path_below
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import audit, damage, layout, points, rollback, store
from checkpoint_git.protocols.restore.automatic import AUTOMATIC, open_snapshot
from checkpoint_git.protocols.restore.contents import TYPES, Location, Means, Request
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import parts as artifacts
from checkpoint_git.protocols.restore.points import CreatedPoint
from checkpoint_git.protocols.restore.rules import read_expiry
from checkpoint_git.protocols.restore.store import Manifest

# a kind of point that stores no files -> what to do instead
_ARTIFACT_TYPES = {
    "state_snapshot": "name states with --state KEY=FILE; files beside them are kept in the same point without --type",
    "database_savepoint": "a savepoint cannot outlive its process: --database URL copies the database instead",
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
def noted(workspace: Workspace, operation: str, point: str, details: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        text = error.message if isinstance(error, CheckpointError) else type(error).__name__
        with suppress(CheckpointError):  # a full disk takes no record either: what went wrong first is reported
            audit.append_record(workspace, operation, "failure", point, {**details, "error": text})
        raise
    audit.append_record(workspace, operation, "success", details.pop("checkpoint_id", point), details)


@contextmanager
def _hold(workspace: Workspace) -> Iterator[None]:
    """The lock. A point that the log lacks gets its line now: a kill cut it off, or the log was removed."""
    with layout.lock(workspace):
        audit.check_writable(workspace.root)
        # none outside git, where anybody's files may be among the points
        for manifest in damage.find_unlogged(workspace) if workspace.git_dir else ():
            details = {"digest": manifest.value["digest"], "reason": "the log had no record of it: cut off, or removed"}
            audit.append_record(workspace, "create", "success", manifest.id, details)
        yield


def create_point(workspace: Workspace, request: points.Request, kind: str | None, expiry: str | None) -> CreatedPoint:
    """kind: as the user says it, None for what fits. expiry: 24h, 7d, never."""
    expires, scope = read_expiry(expiry, workspace.now), request.asked
    chosen = choose_type(workspace, scope, kind, request.parts)
    with _hold(workspace):
        store.exclude_from_git(workspace)
        named = [*scope, *(one.name for one in request.parts)]
        details: dict[str, Any] = {"scope": named, "reason": request.reason, "type": chosen}
        with noted(workspace, "create", "", details):
            made = points.create(workspace, request._replace(kind=chosen, expires=expires))
            details.update(checkpoint_id=made.manifest.id, digest=made.manifest.value["digest"])
        return made


def choose_type(workspace: Workspace, scope: Sequence[str], kind: str | None, requests: Sequence[Request]) -> str:
    if requests and not scope:
        chosen = artifacts.choose_type(requests)
        if kind not in (None, chosen):
            raise CheckpointError(f"{kind} cannot store what was named", f"omit --type, or use --type {chosen}")
        return chosen
    if kind in _ARTIFACT_TYPES:
        raise CheckpointError(f"{kind} cannot store files", _ARTIFACT_TYPES[kind])
    if kind == "git_stash" and not workspace.git_dir:
        hint = "omit --type, or use --type file_backup"
        raise CheckpointError(f"{escape_controls(workspace.root)} is not in a git repository", hint)
    return kind or ("git_stash" if workspace.git_dir else "file_backup")


class Verified(NamedTuple):
    manifest: Manifest
    findings: list[Finding]
    proofs: dict[str, bool]


def verify_point(workspace: Workspace, word: str, reason: str = "", *, foreign: bool = False) -> Verified:
    manifest = store.load_point(workspace, word, foreign=foreign)
    findings = list(damage.check_point(workspace, manifest))
    codes = {finding.code for finding in findings}
    details = {"findings": sorted(codes), "reason": reason}
    wrong = any(finding.level == "error" for finding in findings)
    audit.append_record(workspace, "verify", "failure" if wrong else "success", manifest.id, details)
    proofs = {what: not codes.intersection(told) for what, told in _PROOFS.items()}
    return Verified(manifest, findings, proofs)


class RolledBackPoint(NamedTuple):
    manifest: Manifest
    plan: rollback.Plan
    result: rollback.RolledBack | None
    moved: Sequence[str]  # sentences on what in git is not as it was
    told: Sequence[str]  # sentences on what else the user should know
    brought_back: Sequence[str] = ()  # sentences on what in git is as it was again, or would be


class Leave(NamedTuple):
    """What the user says about a point that is not simply theirs to use."""

    expired: bool = False
    foreign: bool = False  # this clone did not make it
    here: bool = False  # another work tree's


def roll_back_point(
    workspace: Workspace,
    word: str,
    wanted: rollback.Wanted | None = None,
    leave: Leave | None = None,
    *,
    dry_run: bool = False,
    reason: str = "",
) -> RolledBackPoint:
    """Roll back to a point, an automatic one too, or plan it. Raises CheckpointError."""
    wanted, leave = wanted or rollback.Wanted(), leave or Leave()
    if dry_run:
        with _open_usable(workspace, word, wanted, leave, dry_run=True) as (manifest, location):
            plan, told = rollback.plan_rollback(workspace, manifest, wanted, location)
            moved, brought_back = rollback.find_moved(workspace, manifest, wanted, location)
            return RolledBackPoint(manifest, plan, None, moved, told, brought_back)

    details: dict[str, Any] = {"within": wanted.within, "reason": reason}
    with _hold(workspace), noted(workspace, "rollback", word, details):
        store.clear_unfinished(workspace)
        with _open_usable(workspace, word, wanted, leave, dry_run=False) as (manifest, location):
            details["checkpoint_id"] = manifest.id
            return _roll_back_locked(workspace, manifest, location, wanted, details)


def _roll_back_locked(
    workspace: Workspace, manifest: Manifest, location: Location, wanted: rollback.Wanted, details: dict[str, Any]
) -> RolledBackPoint:
    """Roll back under the lock. details: of the log, which get what was done."""
    words = rollback.write_words(manifest.id, wanted)
    is_automatic = manifest.id.startswith(AUTOMATIC)
    if is_automatic and not manifest.value["scope"]["asked"]:  # nothing differs
        store.end_journals(workspace, words)  # of one that was killed after its last file
        result = rollback.RolledBack(rollback.Plan([], [], []), "", resumed=False, proofs={"compared": True})
        return RolledBackPoint(manifest, result.plan, result, (), ())

    _, brought_back = rollback.find_moved(workspace, manifest, wanted, location)
    result = rollback.roll_back(workspace, manifest, wanted, location)
    if not is_automatic:
        manifest = store.write_state(workspace, manifest, "restored", "rollback")
    details["safety"] = result.safety
    details["removed"] = result.plan.remove
    details["restored"] = [difference.path for difference in result.plan.restore]
    store.end_journals(workspace, words)
    moved, _ = rollback.find_moved(workspace, manifest, rollback.Wanted(), location)
    return RolledBackPoint(manifest, result.plan, result, moved, result.told, brought_back)


@contextmanager
def _open_usable(
    workspace: Workspace, word: str, wanted: rollback.Wanted, leave: Leave, *, dry_run: bool
) -> Iterator[tuple[Manifest, Location]]:
    """Give the point that a word names, and where it is."""
    if not word.startswith(AUTOMATIC):
        manifest = _load_usable(workspace, word, wanted, leave)
        yield manifest, store.locate(workspace, manifest.id)
        return

    within = None if wanted.within and "" in wanted.within else wanted.within
    has_parts = any(artifacts.is_part_name(name) for name in within or ())
    if has_parts or wanted.means != Means() or leave != Leave():
        message = "an automatic restore point holds files of this work tree and git's own state only"
        raise CheckpointError(message, "omit --state-to, --force, --foreign, --here, and states and databases")
    with_git = wanted.staged or wanted.operation
    with open_snapshot(workspace, word, within, with_git=with_git, dry_run=dry_run) as point:
        yield point


def _load_usable(workspace: Workspace, word: str, wanted: rollback.Wanted, leave: Leave) -> Manifest:
    manifest = store.load_point(workspace, word, foreign=leave.foreign)
    point, value = manifest.id, manifest.value
    state = store.find_state(manifest._replace(is_foreign=False), workspace.now)
    if state == "dropped":
        raise CheckpointError(f"{point} was dropped", "`checkpoint restore-point list` shows the others")
    if state == "expired" and not leave.expired:
        raise CheckpointError(f"{point} expired at {value['expires_at']}", "--force rolls back to it anyway")
    if manifest.trouble:
        return manifest  # the rollback refuses it
    if not store.is_of_work_tree(workspace, manifest) and not leave.here:
        place = escape_controls(value.get("work_tree") or "the first one")
        hint = "run the command there, or add --here to restore its files into this work tree"
        raise CheckpointError(f"{point} was made in another work tree: {place}", hint)
    kept = artifacts.read_artifacts(value)
    names = [one.name for one in kept]
    asked = [word for word in wanted.within or () if artifacts.is_part_name(word)]
    for word in [*asked, *(f"state:{key}" for key in wanted.means.state_to)]:
        if word not in names:
            hint = f"it holds {', '.join(names)}" if names else "it holds files only"
            raise CheckpointError(f"{point} does not hold {escape_controls(word)}", escape_controls(hint))
    logged = damage.read_log(workspace.root).made if not workspace.git_dir else {}
    is_ours = not manifest.is_foreign if workspace.git_dir else logged.get(point) == value["digest"]
    if any(one.kind == "postgresql" for one in kept) and not is_ours:
        # restoring a dump runs what is in it, on the server that the manifest names
        hint = "it is not restored, because its dump may contain untrusted commands"
        raise CheckpointError(f"{point} has an untrusted database: it may not have been made in this clone", hint)
    return manifest


def find_below(workspace: Workspace, path: str) -> str:
    """As the manifest spells it. Raises CheckpointError outside the workspace."""
    if artifacts.is_part_name(path):
        return path
    below = path_below(workspace.root, os.path.normpath(os.path.join(workspace.cwd, path)))
    if below is None:
        raise CheckpointError(f"{escape_controls(path)} is outside the workspace", "name a part of the point's scope")
    return below


def drop_points(
    workspace: Workspace, words: Sequence[str], reason: str = "", *, foreign: bool = False
) -> list[Manifest]:
    with _hold(workspace):
        loaded = [store.load_point(workspace, word, foreign=foreign) for word in words]
        manifests = list({one.id: one for one in loaded}.values())
        for manifest in manifests:
            with noted(workspace, "drop", manifest.id, {"reason": reason}):
                _remove(workspace, manifest)
        return manifests


def collect_garbage(
    workspace: Workspace, *, expired: bool = True, keep: int | None = None, dry_run: bool = False
) -> list[Manifest]:
    """The points that have expired; of those that the user asked for all but the newest `keep`, live ones first; also
    what a crash left of points that were being dropped. Damaged ones, foreign ones and those of other work trees stay.
    """
    with _hold(workspace):
        store.clear_unfinished(workspace)
        own = [one for one in store.list_points(workspace) if store.is_of_work_tree(workspace, one)]
        own = [one for one in own if not one.trouble and not one.is_foreign]
        states = {one.id: store.find_state(one, workspace.now) for one in own}
        doomed = {point for point, state in states.items() if state == "dropped" or (expired and state == "expired")}
        asked = [one.id for one in own if not one.value.get("made_for") and states[one.id] != "dropped"]
        asked.sort(key=lambda point: states[point] != "expired")
        doomed.update(() if keep is None else asked[: max(len(asked) - keep, 0)])
        gone = [one for one in own if one.id in doomed]
        for manifest in () if dry_run else gone:
            with noted(workspace, "gc", manifest.id, {"expired": manifest.value["expires_at"], "keep": keep}):
                _remove(workspace, manifest)
        return gone


def _remove(workspace: Workspace, manifest: Manifest) -> None:
    # first the state, then the ref, then the folders: what a crash leaves is a point that says it was dropped
    if not manifest.trouble and not manifest.is_foreign and manifest.value["state"] != "dropped":
        store.write_state(workspace, manifest, "dropped", "drop")
    ref, commit = layout.ref_name(manifest.id), store.locate(workspace, manifest.id).commit
    if commit and not private_objects.remove_ref(workspace.root, ref, commit, workspace.env):
        git = os.path.dirname(workspace.base)  # a git that was killed leaves its locks
        names = ("packed-refs", "reftable/tables.list", *map(layout.ref_name, layout.list_ids(workspace.base)))
        locks = [path for name in names if os.path.lexists(path := os.path.join(git, f"{name}.lock"))]
        rm = f"; where none runs: rm {' '.join(map(quote_word, locks))}" if locks else ""
        raise CheckpointError(f"{ref} could not be removed", f"wait for other git commands, then try again{rm}")
    for base in dict.fromkeys((os.path.join(workspace.root, layout.FOLDER), workspace.base)):
        store.remove_folder(base, manifest.id)


def describe(made: CreatedPoint) -> dict[str, Any]:
    value, point, folder = made.manifest.value, made.manifest.id, f"{layout.FOLDER}/{made.manifest.id}"
    databases = [one.name for one in made.artifacts if one.kind != "state"]
    states = [one.name for one in made.artifacts if one.kind == "state"]
    parts = [
        {"name": one.name, "type": TYPES[one.kind], "size": one.size, "hash": f"sha256:{one.sha256}"}
        for one in made.artifacts
    ]
    files, commit = value["scope"]["files"], made.location.commit
    base = os.path.relpath(made.location.folder, made.location.root)
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
        "git": value["git"],
        "left_out": value["left_out"],
        "next_safe_actions": [
            *(f"edit: {path or '.'}" for path in value["scope"]["asked"][:10]),
            *(f"change: {one.name}" for one in made.artifacts[:10]),
            f"rollback: checkpoint restore-point rollback {point}",
        ],
        "confidence": find_confidence(made.proofs),
        "evidence_anchors": [
            *find_anchors(made.manifest, f"{len(files)} files read back and compared"),
            f"tool:bash:CHECKPOINT_WORKSPACE=<empty folder> sh {folder}/{layout.RESTORE_SCRIPT}",
            *([f"tool:git:update-ref {layout.ref_name(point)} {commit}"] if commit else []),
            *(f"file:{base}/{one.content}" for one in made.artifacts if one.content),
        ],
        "assumptions": [
            "the workspace's folder is the same when the point is restored",
            "nothing else writes in the scope meanwhile",
            *(["git is available, and its object database is whole"] if commit else []),
        ],
        "warnings": made.warnings,
    }


def find_anchors(manifest: Manifest, what: str) -> list[str]:
    if not layout.is_id(manifest.id):  # an automatic one, whose digits are a commit's
        return [f"tool:git:{what}, git diff {manifest.id.rpartition('-')[2]}", f"file:{layout.AUDIT_LOG}"]
    return [
        f"tool:sha256:{what}, {manifest.value.get('hash')}",
        f"tool:checkpoint:restore-point verify {manifest.id}",
        f"file:{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}",
        f"file:{layout.AUDIT_LOG}",
    ]


def find_confidence(proofs: Mapping[str, bool]) -> float:
    """The share of proofs that were given."""
    return round(sum(proofs.values()) / len(proofs), 2)


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
    more = {name: manifest.value.get(name) for name in ("work_tree", "made_for", "left_out", "git")}
    return {"id": manifest.id, "state": state, **{name: manifest.value[name] for name in names}, **more}
