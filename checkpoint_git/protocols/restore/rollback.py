"""The way back to a point: prove the point, make a safety point of the present, restore, compare with the proof.

Each path is changed only while it is as it was when the plan was made, and only if the safety point holds it. Whoever
runs a rollback again after a crash finishes it, with the first safety point, unless somebody worked in between.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, join_some
from checkpoint_git.disk.discover import check_way, find_link
from checkpoint_git.protocols.restore import audit, contents, layout, points, store
from checkpoint_git.protocols.restore.contents import Artifact, Difference, Entry, Location, Means, ScopePath
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms import git as git_state
from checkpoint_git.protocols.restore.mechanisms import parts as artifacts
from checkpoint_git.protocols.restore.scope import look_at, match, read_entries

SAFETY_DAYS = 30  # after which gc may clear what a rollback kept


class Plan(NamedTuple):
    remove: list[str]  # what was made since, deep paths first
    restore: list[Difference]  # what is missing or differs
    entries: list[Entry]
    parts: Sequence[Artifact] = ()  # states and databases that differ, in the order in which they are restored
    found: Sequence[ScopePath] = ()  # the scope as it was when the plan was made, as present is
    present: Sequence[Entry] = ()


class Wanted(NamedTuple):
    """within: paths, `state:KEY` and URLs of databases; None for all. staged, operation: of git."""

    within: Sequence[str] | None = None
    means: Means = Means()
    staged: bool = False
    operation: bool = False


class RolledBack(NamedTuple):
    plan: Plan
    safety: str  # the point of what was there before, "" where all of that was handed over
    resumed: bool  # it finished one that was cut off
    told: Sequence[str] = ()  # sentences on what the user should know
    proofs: Mapping[str, bool] = {}  # what was verified -> whether it was so
    hash_before: str = ""  # of what was there


class _Job(NamedTuple):
    workspace: Workspace  # with cwd at its root
    manifest: store.Manifest
    location: Location
    wanted: Wanted
    entries: list[Entry]  # all of the point
    artifacts: list[Artifact]  # those within

    def covers(self, path: str) -> bool:
        return self.wanted.within is None or _is_below(path, self.wanted.within)

    def find_comparable(self, parts: Iterable[Artifact]) -> list[str]:
        return [one.name for one in parts if one.kind != "state" or self.wanted.means.hand_over is None]

    def is_left_out(self, path: str) -> bool:
        """Whether the point left it out when it was made: whatever is there is not the rollback's to change."""
        return any(_is_below(path, [one["path"].rstrip("/")]) for one in self.manifest.value.get("left_out", []))


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(not one or path == one or path.startswith(f"{one.rstrip('/')}/") for one in places)


def _begin(workspace: Workspace, manifest: store.Manifest, wanted: Wanted, location: Location | None) -> _Job:
    if manifest.trouble:
        hint = "`checkpoint restore-point verify` shows the details; nothing was changed"
        raise CheckpointError(f"{manifest.id} cannot be relied on: {manifest.trouble}", hint)
    location = location or store.locate(workspace, manifest.id)
    kept = artifacts.read_artifacts(manifest.value, wanted.within)
    if (wanted.staged or wanted.operation) and not manifest.value.get("git"):
        raise CheckpointError(f"{manifest.id} does not contain git's index and HEAD", "omit --index and --operation")
    entries = store.read_entries(manifest)
    if manifest.is_foreign:  # a stranger's manifest makes no file setuid
        entries = [entry._replace(mode=entry.mode & 0o777) for entry in entries]
    workspace = workspace._replace(cwd=workspace.root)
    return _Job(workspace, manifest, location, wanted, entries, kept)


def plan_rollback(
    workspace: Workspace, manifest: store.Manifest, wanted: Wanted, location: Location | None = None
) -> tuple[Plan, list[str]]:
    """Return a plan, and sentences on what the rollback would leave as it is. location: of the point, if known."""
    job = _begin(workspace, manifest, wanted, location)
    ignored = [path for path, why in _capture(job).left_out if why == "ignored by git" and job.covers(path)]
    stays = join_some([escape_controls(path) for path in ignored if not job.is_left_out(path.rstrip("/"))])
    told = [f"git ignores it now, so what the point lacks of it stays: {stays}"] if stays else []
    plan = _plan(job)
    _check_within(job, plan.found)
    return plan, told + _find_untold(job)


def _check_within(job: _Job, found: Iterable[ScopePath]) -> None:
    for path in job.wanted.within or ():
        if not artifacts.is_part_name(path) and not any(_is_below(one.path, [path]) for one in found):
            is_there = os.path.lexists(os.path.join(job.workspace.root, path))  # git ignores it, say
            why = "it stays as it is" if is_there else "it is not there now"
            message = f"{job.manifest.id} does not hold {escape_controls(path)}, and {why}"
            raise CheckpointError(message, f"`checkpoint restore-point show {job.manifest.id}` lists what it holds")


def roll_back(
    workspace: Workspace, manifest: store.Manifest, wanted: Wanted, location: Location | None = None
) -> RolledBack:
    """Restore a point, and return what was done. The caller holds the lock, and has checked the point's expiry.

    Raises CheckpointError where the point is damaged (nothing was changed then) or where the result is not what was
    captured: then everything is kept, the safety point too.
    """
    job = _begin(workspace, manifest, wanted, location)
    _check_ready(job)
    git = manifest.value.get("git")
    branches = git_state.check_branches_free(workspace, job.location, git["branch"]) if git and wanted.operation else {}
    resumed = _find_resumed(job)
    safety = resumed or _make_safety(job, branches)
    plan = _plan(job)
    changed = [*plan.remove, *(one.path for one in plan.restore)]
    kept = store.load_manifest(workspace, safety) if safety else None
    check_kept(plan.present, changed, store.read_entries(kept) if kept else [])
    check_ways(workspace.root, plan.remove, plan.restore, plan.present)
    if safety and not resumed:
        store.begin_journal(workspace, safety, write_words(manifest.id, wanted))
    told = _restore(job, plan, changed)
    told += [*_check_result(job, safety, {one.path for one in plan.found}), *_find_untold(job)]
    proofs = {"point whole": True, "result compared": True, "current state kept first": bool(kept)}
    return RolledBack(plan, safety, bool(resumed), told, proofs, kept.value["hash"] if kept else "")


def _check_ready(job: _Job) -> None:
    """Raise CheckpointError where the point is damaged, or something that it holds cannot be restored now."""
    damaged = points.find_damage(job.location, job.manifest)
    if damaged:
        lost = f"the content of {escape_controls(join_some(damaged))} is lost or damaged"
        raise CheckpointError(f"{job.manifest.id} cannot be relied on: {lost}", "nothing was changed")
    for artifact in job.artifacts:
        artifacts.open_mechanism(artifact.kind).check_ready(job.location, artifact, job.wanted.means)


def _restore(job: _Job, plan: Plan, changed: Sequence[str]) -> list[str]:
    """Change everything that differs, and return sentences on what the user should know."""
    wanted, root = job.wanted, job.workspace.root
    # first: databases alone may refuse
    told = _restore_parts(job, [part for part in plan.parts if part.kind != "state"])
    _change_files(job, plan)
    file_writes.sync_folders(root, changed)
    told += _restore_parts(job, [part for part in plan.parts if part.kind == "state"])

    git = job.manifest.value.get("git")
    if git and wanted.operation:
        git_state.restore_operation(job.workspace, job.location, git, f"checkpoint: rollback to {job.manifest.id}")
    if wanted.operation or wanted.staged:
        is_whole = wanted.operation or wanted.within is None
        git_state.restore_index(job.workspace, job.location, None if is_whole else job.covers)
    return told


def _restore_parts(job: _Job, parts: Sequence[Artifact]) -> list[str]:
    where, means = job.location, job.wanted.means
    return [text for one in parts for text in artifacts.open_mechanism(one.kind).restore(where, one, means)]


def write_words(point: str, wanted: Wanted) -> str:
    """Of the command line, after `rollback`."""
    options = {" --index": wanted.staged, " --operation": wanted.operation, " --scope PART": wanted.within is not None}
    return point + "".join(option for option, is_given in options.items() if is_given)


def find_moved(
    workspace: Workspace, manifest: store.Manifest, wanted: Wanted, location: Location | None = None
) -> tuple[list[str], list[str]]:
    """Return sentences on what in git is not as it was: what a rollback leaves, and what it brings back if asked."""
    kept = None if manifest.trouble else manifest.value.get("git")
    location = location or store.locate(workspace, manifest.id)
    found = git_state.compare(workspace, location, kept) if kept else []
    options = {"--operation": wanted.operation, "--index": wanted.operation or (wanted.staged and not wanted.within)}
    left = [f"{text} ({option} restores it)" for option, text in found if not options[option]]
    return left, [text for option, text in found if options[option]]


def _find_untold(job: _Job) -> list[str]:
    left = [one["path"] for one in job.manifest.value.get("left_out", []) if job.covers(one["path"].rstrip("/"))]
    shown = join_some([escape_controls(path) for path in left])
    return [f"not in the point, so left as they are and not compared: {shown}"] if left else []


def _plan(job: _Job) -> Plan:
    entries = [entry for entry in job.entries if job.covers(entry.path)]
    found = [one for one in _read_scope(job) if job.covers(one.path)]
    present = read_entries(job.workspace.root, found)
    differences = contents.compare_entries(entries, present)
    added = sorted((one.path for one in differences if one.how == "added"), reverse=True)
    others = artifacts.find_differing(job.location, job.artifacts, job.wanted.means)
    return Plan(added, [one for one in differences if one.how != "added"], entries, others, found, present)


def _capture(job: _Job) -> points.Capture:
    asked, plain = _find_asked(job)
    claimed = artifacts.find_claimed(artifacts.read_artifacts(job.manifest.value))
    own = frozenset(entry.path for entry in job.entries)
    request = points.Request(asked, kind=job.manifest.value["type"], plain=plain, include=own)
    return points.plan_capture(job.workspace, request, claimed)


def _read_scope(job: _Job) -> list[ScopePath]:
    own = {entry.path for entry in job.entries}
    found = [one for one in _capture(job).found if one.path in own or not job.is_left_out(one.path)]
    # with the point's folders, even where git ignores them by now
    there, root = {one.path for one in found}, job.workspace.root
    folders = [entry.path for entry in job.entries if entry.kind == "folder"]
    missed = [path for path in folders if path not in there and layout.is_folder(root, path)]
    return [*found, *(look_at(root, path) for path in missed)]


def _find_asked(job: _Job) -> tuple[list[str], frozenset[str]]:
    """(scopes, absolute; those of them that are names, however much `[id].py` looks like a pattern)"""
    root, scopes = job.workspace.root, job.manifest.value["scope"]["asked"]
    plain = frozenset(os.path.join(root, entry.path) for entry in job.entries)
    there = [full for path in scopes if os.path.lexists(full := os.path.join(root, path))]
    known = plain.union(there)
    patterns = [full for path in scopes if (full := os.path.join(root, path)) not in known and match(root, path)]
    own = {*(entry.path for entry in job.entries), *scopes}
    # what the point holds belongs to its scope even where a pattern no longer finds it
    held = [
        os.path.join(root, entry.path)
        for entry in job.entries
        # a folder that is still one is reached from what was asked for: named here, what git ignores in it would count
        if not (entry.kind == "folder" and layout.is_folder(root, entry.path))
        # a folder of the scope that is a link today will itself be replaced
        and not ((link := find_link(os.path.dirname(entry.path), root)) and _is_below(link, own))
    ]
    return list(dict.fromkeys([*there, *patterns, *held])), plain


def _change_files(job: _Job, plan: Plan) -> None:
    # each path only while it is as it was planned with
    root = job.workspace.root
    watch = Watch(root, plan.found)
    for path in [*plan.remove, *sorted((one.path for one in plan.restore if one.how == "kind"), reverse=True)]:
        file_writes.remove_path(root, path, watch.check)
        watch.forget(path)
    if job.manifest.value.get("lacks_folders"):  # an automatic point, which knows files only
        file_writes.remove_emptied(root, plan.remove)

    wanted = {one.path for one in plan.restore}
    files = {one.twin or one.path for one in plan.entries if one.path in wanted}  # with all their names
    chosen = [
        one
        for one in plan.entries
        if one.kind == "folder" or (one.kind != "absent" and (one.path in wanted or (one.twin or one.path) in files))
    ]
    points.restore_entries(job.location, job.manifest.value["type"], chosen, root, check=watch.check)


def _check_result(job: _Job, safety: str, known: set[str]) -> list[str]:
    """Sentences on what stays although it was made since. Raises CheckpointError where anything is not as captured."""
    left = _plan(job)
    staying = find_staying(job.workspace.root, left.remove)
    ignored = [path for path in left.remove if path not in known]  # by a rule that is undone: no safety point holds it
    wrong = [path for path in left.remove if path not in staying and path not in ignored]
    wrong += [*(one.path for one in left.restore), *job.find_comparable(left.parts)]
    if wrong:
        shown = ", ".join(escape_controls(path) for path in wrong[:5])
        hint = f"nothing is lost: {safety} holds what was there before; run it again once nothing else writes there"
        raise CheckpointError(f"the rollback did not restore these: {shown}", hint)
    told = [f"{escape_controls(path)} stays: git ignored it when the rollback began" for path in ignored]
    return told + [f"{path} stays: it holds files that no restore point keeps" for path in staying if path in known]


def _make_safety(job: _Job, branches: Mapping[str, str]) -> str:
    # A point of what is in the scope now; "" for nothing
    workspace, root = job.workspace, job.workspace.root
    if job.wanted.within is None:
        asked, plain = _find_asked(job)
    else:
        found = [one for one in _read_scope(job) if job.covers(one.path)]
        _check_within(job, found)
        asked = [os.path.join(root, one.path) for one in found]
        plain = frozenset(asked)
    means = job.wanted.means
    there = (artifacts.open_mechanism(one.kind).request_present(job.location, one, means) for one in job.artifacts)
    requests = [request for request in there if request]
    if not asked and not requests and job.wanted.means.hand_over is not None:
        return ""  # states that only their owner knows: there is nothing to keep
    reason = f"before rolling back to {job.manifest.id}"
    kind = job.manifest.value["type"] if asked or not requests else artifacts.choose_type(requests)
    own = frozenset(entry.path for entry in job.entries)
    expires = workspace.now + SAFETY_DAYS * DAY
    everything = points.Request(asked, reason, kind, expires, requests, plain, own, True, "rollback", branches)
    value = points.create(workspace, everything).manifest.value
    scope = [*value["scope"]["asked"], *(one.name for one in requests)]
    details = {"scope": scope, "reason": reason, "type": kind, "digest": value["digest"]}
    audit.append_record(workspace, "create", "success", value["id"], details)
    return str(value["id"])


def _find_resumed(job: _Job) -> str:
    """The safety point of the same rollback, cut off, if nobody has worked in the scope since; else ""."""
    # a second safety point, of a state that nobody made, would only hide the first
    begun = [kept for kept, words in store.read_journals(job.workspace) if words.split()[0] == job.manifest.id]
    if not begun:
        return ""
    kept, plan = begun[0], _plan(job)
    before = artifacts.read_artifacts(kept.value)
    changed = artifacts.find_differing(store.locate(job.workspace, kept.id), before, job.wanted.means)
    held = {one.name for one in before} - {one.name for one in changed}
    is_held = held.issuperset(job.find_comparable(plan.parts))
    return kept.id if is_held and is_half_way(plan.present, plan.entries, store.read_entries(kept)) else ""


def is_half_way(present: Iterable[Entry], wanted: Iterable[Entry], before: Iterable[Entry]) -> bool:
    # in any other state somebody has worked since, so it must be kept first
    known = {_outline(entry) for entry in (*wanted, *before)}
    there = (entry for entry in present if entry.kind != "absent" and not file_writes.is_part(entry.path))
    return all(_outline(entry) in known for entry in there)


def _outline(entry: Entry) -> tuple[str, ...]:
    mode = f"{entry.mode:o}" if entry.kind == "file" else ""  # folders are opened on the way
    return entry.path, entry.kind, mode, entry.sha256


def check_kept(present: Iterable[Entry], changing: Iterable[str], safety: Iterable[Entry]) -> None:
    kept, changed = {_outline(entry) for entry in safety}, frozenset(changing)
    for entry in present:
        is_known = entry.kind == "absent" or _outline(entry) in kept or file_writes.is_part(entry.path)
        if entry.path in changed and not is_known:
            raise _written_error(entry.path)


def _written_error(path: str) -> CheckpointError:
    hint = "stop what writes there, then run the same command again"
    return CheckpointError(f"{escape_controls(path)} was changed during the rollback, which stopped before it", hint)


class Watch:
    """The paths as they were when the rollback was planned. `check` is called right before one is changed."""

    def __init__(self, root: str, found: Sequence[ScopePath]) -> None:
        self._root = root
        self._versions = {one.path: layout.find_version(one.status) for one in found}
        # a file of several names changes its ctime when another one of them is replaced
        self._shared = frozenset(one.path for one in found if one.status and one.status.st_nlink > 1)

    def check(self, path: str) -> None:
        versions = (_read_version(self._root, path) or (), self._versions.get(path) or ())
        if len({version[: 4 if path in self._shared else 5] for version in versions}) > 1:
            raise _written_error(path)

    def forget(self, path: str) -> None:
        self._versions[path] = _read_version(self._root, path)


def _read_version(root: str, path: str) -> layout.Version:
    return layout.find_version(layout.read_status(os.path.join(root, path)))


def check_ways(root: str, remove: Sequence[str], restore: Sequence[Difference], present: Iterable[Entry]) -> None:
    kinds = {entry.path: entry.kind for entry in present}
    gone = frozenset(remove)
    # a link that is itself replaced by a folder is not a blocker for what was below that folder
    going = [*remove, *(one.path for one in restore if one.how == "kind")]
    replaced = tuple(f"{path}/" for path in going if kinds.get(path) == "link")
    for path, how in restore:
        if not path.startswith(replaced):
            check_way(os.path.dirname(path), root)
            if how == "missing" and _read_version(root, path) is not None:
                hint = "no restore point keeps pipes, sockets or devices: move it away, then run the same command again"
                raise CheckpointError(f"what is in the place of {escape_controls(path)} is not a file", hint)
        if how != "kind" or kinds.get(path) != "folder":
            continue
        for folder, folders, files in os.walk(os.path.join(root, path)):
            for below in (os.path.relpath(os.path.join(folder, name), root) for name in (*folders, *files)):
                if below not in gone:
                    hint = f"no restore point keeps {escape_controls(below)}: move it away, then run it again"
                    file_writes.check_not_folder(root, path, hint)


def find_staying(root: str, added: Sequence[str]) -> list[str]:
    """Those added folders that hold only what no restore point keeps (ignored, secret, another's .git): they stay."""
    folders = [path for path in added if layout.is_folder(root, path)]
    files = set(added).difference(folders)
    return [
        path
        for path in folders
        if os.listdir(os.path.join(root, path)) and not any(file.startswith(f"{path}/") for file in files)
    ]
