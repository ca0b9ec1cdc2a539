"""Roll back to a point: prove the point, keep what is there, restore, compare with the proof.

Each path is changed only while it is as it was when the plan was made, and only if the safety
point holds it. Running a rollback again after a crash finishes it, with the first safety point,
unless somebody worked in between.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, join_some
from checkpoint_git.disk.discover import find_link
from checkpoint_git.protocols.restore import audit, contents, layout, points, store
from checkpoint_git.protocols.restore.capture import Capture, PointRequest, plan_capture
from checkpoint_git.protocols.restore.contents import ContentEntry, Location, ScopePath
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import files, git, parts
from checkpoint_git.protocols.restore.mechanisms.contract import (
    Job,
    Mechanism,
    MechanismPlan,
    WantedState,
    is_below,
)
from checkpoint_git.protocols.restore.scope import look_at, match, read_entries

# in the order of restoring: databases first, since they alone may refuse
MECHANISMS: tuple[Mechanism, ...] = (parts.DATABASES, files, parts.STATES, git)
SAFETY_DAYS = 30  # after which gc may clear what a rollback kept


class RolledBack(NamedTuple):
    """The result of a rollback."""

    plan: MechanismPlan
    safety: str  # the point of what was there before, "" if all of that was handed over
    resumed: bool  # it finished one that was interrupted
    notes: Sequence[str] = ()  # sentences on what the user should know
    proofs: Mapping[str, bool] = {}  # what was verified -> whether it was so
    hash_before: str = ""  # of what was there


def _begin(
    workspace: Workspace,
    manifest: store.Manifest,
    wanted: WantedState,
    location: Location | None,
) -> Job:
    if manifest.trouble:
        verify = ("checkpoint", "restore-point", "verify", manifest.id)
        hint = join_hints(command(*verify, more=" shows the details"), "nothing was changed")
        raise CheckpointError(f"{manifest.id} cannot be relied on: {manifest.trouble}", hint)

    if location is None:
        location = store.locate(workspace, manifest.id)
    kept_parts = parts.read_parts(manifest.value, wanted.within)
    if (wanted.staged or wanted.operation) and not manifest.value.get("git"):
        message = f"{manifest.id} does not contain git's index and HEAD"
        raise CheckpointError(message, "omit --index and --operation")

    entries = store.read_entries(manifest)
    if manifest.is_foreign:  # an untrusted manifest makes no file setuid
        entries = [entry._replace(mode=entry.mode & 0o777) for entry in entries]
    workspace = workspace._replace(cwd=workspace.root)
    return Job(workspace, manifest, location, wanted, entries, kept_parts)


def plan_rollback(
    workspace: Workspace,
    manifest: store.Manifest,
    wanted: WantedState,
    location: Location | None = None,
) -> tuple[MechanismPlan, list[str]]:
    """Return a plan, and sentences on what the rollback would leave as it is.

    location: of the point, if known.
    """
    job = _begin(workspace, manifest, wanted, location)
    staying = []
    for path, why in _capture(job).left_out:
        if why == "ignored by git" and job.covers(path) and not job.is_left_out(path.rstrip("/")):
            staying.append(escape_controls(path))

    notes = []
    if staying:
        shown = join_some(staying)
        notes.append(f"git ignores it now, so what the point lacks of it stays: {shown}")

    plan = _plan(job)
    _check_within(job, plan.found)
    return plan, notes + _note_left_out(job)


def _check_within(job: Job, found: Iterable[ScopePath]) -> None:
    """Raise CheckpointError for a path that the user names and the point does not hold."""
    known = [scope_path.path for scope_path in found]
    for path in job.wanted.within or ():
        if parts.is_part_name(path) or any(is_below(known_path, [path]) for known_path in known):
            continue
        why = "it is not there now"
        if os.path.lexists(os.path.join(job.workspace.root, path)):  # git ignores it, say
            why = "it stays as it is"
        message = f"{job.manifest.id} does not contain {escape_controls(path)}, and {why}"
        show = ("checkpoint", "restore-point", "show", job.manifest.id)
        hint = command(*show, more=" lists its content")
        raise CheckpointError(message, hint)


def roll_back(
    workspace: Workspace,
    manifest: store.Manifest,
    wanted: WantedState,
    location: Location | None = None,
) -> RolledBack:
    """Restore a point, and return what was done.

    The caller holds the lock, and has checked the point's expiry. Raises CheckpointError if the
    point is damaged (nothing was changed then) or if the result is not what was captured: then
    everything is kept, the safety point too.
    """
    job = _begin(workspace, manifest, wanted, location)
    _check_whole(job)
    for mechanism in MECHANISMS:
        mechanism.check_ready(job)

    resumed = _find_resumed(job)
    safety = resumed or _make_safety(job)
    plan = _plan(job)
    kept = None
    kept_entries: list[ContentEntry] = []
    hash_before = ""
    if safety:
        kept = store.load_manifest(workspace, safety)
    if kept is not None:
        kept_entries = store.read_entries(kept)
        hash_before = kept.value["hash"]
    files.check_plan(workspace.root, plan, kept_entries)
    if safety and not resumed:
        store.begin_journal(workspace, safety, write_words(manifest.id, wanted))

    notes = []
    for mechanism in MECHANISMS:
        notes += mechanism.restore(job, plan)
    notes += _check_result(job, safety, plan)
    notes += _note_left_out(job)
    proofs = {
        "point whole": True,
        "result compared": True,
        "current state kept first": kept is not None,
    }
    return RolledBack(plan, safety, bool(resumed), notes, proofs, hash_before)


def _check_whole(job: Job) -> None:
    damaged = points.find_damage(job.location, job.manifest)
    if damaged:
        lost = f"the content of {escape_controls(join_some(damaged))} is lost or damaged"
        message = f"{job.manifest.id} cannot be relied on: {lost}"
        raise CheckpointError(message, "nothing was changed")


def write_words(point: str, wanted: WantedState) -> str:
    """Return what the command line has after `rollback`."""
    words = point
    if wanted.staged:
        words += " --index"
    if wanted.operation:
        words += " --operation"
    if wanted.within is not None:
        words += " --scope PART"
    return words


def find_moved(
    workspace: Workspace,
    manifest: store.Manifest,
    wanted: WantedState,
    location: Location | None = None,
) -> tuple[list[str], list[str]]:
    """Return sentences on what in git is not as it was.

    (what a rollback leaves, what it brings back because the user asks for it)
    """
    if manifest.trouble or not manifest.value.get("git"):
        return [], []
    kept = manifest.value["git"]
    if location is None:
        location = store.locate(workspace, manifest.id)

    restored_options: set[str] = set()
    if wanted.operation:
        restored_options = {"--operation", "--index"}
    elif wanted.staged and not wanted.within:
        restored_options = {"--index"}

    staying = []
    restored = []
    for option, sentence in git.compare(workspace, location, kept):
        if option in restored_options:
            restored.append(sentence)
        else:
            staying.append(f"{sentence} ({option} restores it)")

    return staying, restored


def _note_left_out(job: Job) -> list[str]:
    """Return a sentence on what the point left out, if that is within."""
    paths = [row["path"] for row in job.manifest.value.get("left_out", [])]
    covered = [escape_controls(path) for path in paths if job.covers(path.rstrip("/"))]
    if not covered:
        return []
    return [f"not in the point, so left as they are and not compared: {join_some(covered)}"]


def _plan(job: Job) -> MechanismPlan:
    """Return what has to change for everything within to be as the point holds it."""
    entries = [entry for entry in job.entries if job.covers(entry.path)]
    found = [scope_path for scope_path in _read_scope(job) if job.covers(scope_path.path)]
    present = read_entries(job.workspace.root, found)

    added: list[str] = []
    differing: list[contents.ContentDifference] = []
    for difference in contents.compare_entries(entries, present):
        if difference.how == "added":
            added.append(difference.path)
        else:
            differing.append(difference)

    added.sort(reverse=True)
    differing_parts = parts.find_differing(job.location, job.parts, job.wanted.means)
    return MechanismPlan(added, differing, entries, differing_parts, found, present)


def _capture(job: Job) -> Capture:
    """Return what the point would capture now."""
    asked, plain = _find_asked(job)
    point_paths = frozenset(entry.path for entry in job.entries)
    kind = job.manifest.value["type"]
    request = PointRequest(asked, kind=kind, plain=plain, include=point_paths)
    claimed = parts.find_claimed(parts.read_parts(job.manifest.value))
    return plan_capture(job.workspace, request, claimed)


def _read_scope(job: Job) -> list[ScopePath]:
    """Return the paths of the point's scope as they are now."""
    point_paths = {entry.path for entry in job.entries}
    found = []
    for scope_path in _capture(job).found:
        if scope_path.path in point_paths or not job.is_left_out(scope_path.path):
            found.append(scope_path)

    # with the point's folders, even if git ignores them by now
    root = job.workspace.root
    known = {scope_path.path for scope_path in found}

    for entry in job.entries:
        is_missed = entry.kind == "folder" and entry.path not in known
        if is_missed and layout.is_folder(root, entry.path):
            found.append(look_at(root, entry.path))

    return found


def _find_asked(job: Job) -> tuple[list[str], frozenset[str]]:
    """Return (scopes, names that are not patterns), absolute.

    `[id].py` is a name if the point holds it, however much it looks like a pattern.
    """
    root = job.workspace.root
    scopes = job.manifest.value["scope"]["asked"]
    plain = frozenset(os.path.join(root, entry.path) for entry in job.entries)

    present: list[str] = []
    patterns: list[str] = []
    for path in scopes:
        full = os.path.join(root, path)
        if os.path.lexists(full):
            present.append(full)
        elif full not in plain and match(root, path):
            patterns.append(full)

    # what the point holds belongs to its scope even if a pattern no longer finds it
    known = {*(entry.path for entry in job.entries), *scopes}
    in_point: list[str] = []
    for entry in job.entries:
        # a folder that is still one is reached from what was asked for; if it were named here,
        # what git ignores in it would count
        if entry.kind == "folder" and layout.is_folder(root, entry.path):
            continue
        # a folder of the scope that is a link today will itself be replaced
        link = find_link(os.path.dirname(entry.path), root)
        if not (link and is_below(link, known)):
            in_point.append(os.path.join(root, entry.path))

    return list(dict.fromkeys([*present, *patterns, *in_point])), plain


def _check_result(job: Job, safety: str, planned: MechanismPlan) -> list[str]:
    """Return sentences on what stays although it was made since.

    Raises CheckpointError if anything is not as captured.
    """
    remaining = _plan(job)
    known = {scope_path.path for scope_path in planned.found}
    staying = files.find_staying(job.workspace.root, remaining.remove)
    # by a rule that the rollback took back: no safety point holds it
    ignored = [path for path in remaining.remove if path not in known]

    wrong = [path for path in remaining.remove if path not in staying and path not in ignored]
    wrong += [difference.path for difference in remaining.restore]
    wrong += parts.find_comparable(remaining.parts, job.wanted.means)
    if wrong:
        shown = ", ".join(escape_controls(path) for path in wrong[:5])
        hint = f"nothing is lost: {safety} keeps the state from before; "
        hint += "run it again once nothing else writes there"
        raise CheckpointError(f"the rollback did not restore these: {shown}", hint)

    notes = []
    for path in ignored:
        notes.append(f"{escape_controls(path)} stays: git ignored it when the rollback began")

    for path in staying:
        if path in known:
            notes.append(f"{path} stays: it contains files that no restore point keeps")

    return notes


def _make_safety(job: Job) -> str:
    """Make a point of what is in the scope now, and return its id; "" if there is nothing."""
    workspace = job.workspace
    means = job.wanted.means
    asked, plain = _find_present(job)
    requests = parts.request_present(job.location, job.parts, means)
    if not asked and not requests and means.hand_over is not None:
        return ""  # states that only their owner knows: there is nothing to keep

    kind = job.manifest.value["type"]
    if requests and not asked:
        kind = parts.choose_type(requests)
    request = PointRequest(
        asked,
        reason=f"before rolling back to {job.manifest.id}",
        kind=kind,
        expires=workspace.now + SAFETY_DAYS * DAY,
        parts=requests,
        plain=plain,
        include=frozenset(entry.path for entry in job.entries),
        made_for="rollback",
        branches=git.find_branches(job),
    )
    value = points.create(workspace, request).manifest.value
    scope = [*value["scope"]["asked"], *(part.name for part in requests)]
    details = {"scope": scope, "reason": request.reason, "type": kind, "digest": value["digest"]}
    audit.append_record(workspace, "create", "success", value["id"], details)
    return str(value["id"])


def _find_present(job: Job) -> tuple[list[str], frozenset[str]]:
    """Return what the safety point is to hold, as _find_asked does."""
    if job.wanted.within is None:
        return _find_asked(job)
    found = [scope_path for scope_path in _read_scope(job) if job.covers(scope_path.path)]
    _check_within(job, found)
    asked = [os.path.join(job.workspace.root, scope_path.path) for scope_path in found]
    return asked, frozenset(asked)


def _find_resumed(job: Job) -> str:
    """Return the safety point of the same rollback, if that was interrupted.

    "" if there is none, or if somebody has worked in the scope since. A second safety point, of a
    state that nobody made, would only hide the first.
    """
    point = job.manifest.id
    journals = store.read_journals(job.workspace)
    begun = [safety for safety, words in journals if words.split()[0] == point]
    if not begun:
        return ""

    safety = begun[0]
    means = job.wanted.means
    plan = _plan(job)
    before = parts.read_parts(safety.value)
    changed = parts.find_differing(store.locate(job.workspace, safety.id), before, means)
    unchanged = {part.name for part in before} - {part.name for part in changed}
    if not unchanged.issuperset(parts.find_comparable(plan.parts, means)):
        return ""
    if not files.is_half_way(plan.present, plan.entries, store.read_entries(safety)):
        return ""
    return safety.id
