"""Compare the work tree with the branch, and plan the sync. No remote is asked and no file is
changed.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.merges.bases import is_ancestor
from checkpoint_git.git.merges.conflicts import read_as_stored
from checkpoint_git.git.objects import (
    blob_id,
    diff_trees,
    find_commit,
    read_bounded,
    read_object_format,
    read_tree,
)
from checkpoint_git.git.run import run_git
from checkpoint_git.tools.sync import plan as planning
from checkpoint_git.tools.sync import state
from checkpoint_git.tools.sync.commits import Change, Draft, write_commits
from checkpoint_git.tools.sync.context import SyncContext
from checkpoint_git.tools.sync.files import (
    WorkFiles,
    is_wanted,
    pathspecs,
    read_journal,
    read_work,
    skill_of,
)
from checkpoint_git.tools.sync.plan import Entries, Ground, Shape, Side, SyncPlan, Trees
from checkpoint_git.tools.sync.state import Memory, SyncBase

_ID_LENGTHS = {"sha1": 40, "sha256": 64}
_MOST_BYTES = 512 * 1024 * 1024  # of all contents that one sync reads


class Comparison(NamedTuple):
    """The work tree compared with the branch."""

    memory: Memory
    tip: str
    trees: Trees
    plan: SyncPlan
    ground: Ground | None
    shape: Shape
    arrived: list[str]  # paths that an earlier attempt sent, and that are on the branch now
    queued: list[Change]  # what only records have, under its name in them


def read_own(context: SyncContext) -> WorkFiles:
    """Return the checkpoint files of the work tree; ignored ones only for a separate branch."""
    wish = context.wish

    def is_asked(path: str) -> bool:
        return wish.ignored or (wish.only != "" and skill_of(path) == wish.only)

    with_ignored = not context.target.follows
    return read_work(
        context.place, context.top, context.env, with_ignored=with_ignored, is_asked=is_asked
    )


def compare(
    context: SyncContext,
    work: WorkFiles,
    *,
    is_there: bool = True,
    seen: str = "",
) -> Comparison:
    """Compare the work tree with the branch, and decide every file.

    is_there: the remote has the branch. seen: a tip that is known from elsewhere; then the remote
    was not asked, and nothing is about to be sent.
    Raises CheckpointError if the followed branch does not exist on the remote.
    """
    top, env = context.top, context.env
    memory = state.read_memory(top, context.names, context.local, env)
    tip = seen
    if not tip and is_there:
        tip = memory.theirs
    if context.target.follows and memory.head and not tip:
        raise _missing_branch(context)

    queue = _read_queue(context, memory, tip)
    memory = _settle(context, work, memory, queue.arrived, tip)
    base = state.find_base(top, memory, tip, env)
    trees = _read_trees(context, memory, base, tip)
    entries = trees.base
    put_back = set[str]()
    if base.commit and base.commit in (memory.partial, memory.synced) and not base.of_head:
        trees = trees._replace(base={**entries, **_find_switched(context, memory, trees)})
        put_back = _find_put_back(context, memory.met, work, trees)

    ours = planning.find_ours(work, trees, queue.waiting, put_back)
    queued = _find_queued(work, ours, queue.waiting)

    _store_line_ends(context.top, trees, ours)
    contents = read_contents(top, planning.list_blobs(trees, ours), env)
    plan = planning.decide_all(work, trees, ours, contents.get, context.rules, context.wish.only)
    is_whole = not plan.open and not context.wish.only and not work.sparse - work.contents.keys()
    ground = None
    if is_whole:
        ground = _find_ground(context, memory, tip, base)
    common = entries
    if ground is not None and ground.head and ground.common != base.commit:
        common = read_differing(top, trees.theirs, tip, ground.common, env)
    sent = not seen
    shape = planning.plan_commits(plan, trees, common, ground, tip, queue.older, queued, sent=sent)
    return Comparison(memory, tip, trees, plan, ground, shape, queue.came_before, queued)


class _Queue(NamedTuple):
    """Files that earlier syncs could not send."""

    arrived: str  # the record of one that did arrive, "" for none
    came_before: list[str]  # the files in that record
    waiting: dict[str, bytes | None]  # the content of the other files
    older: tuple[str, ...]  # records still to be remembered


def _read_queue(context: SyncContext, memory: Memory, tip: str) -> _Queue:
    if memory.queue is None:
        return _Queue("", [], {}, ())
    older = state.list_older(memory.queue, tip)
    waiting = _read_queued(context, memory.queue.record)
    arrived = state.find_arrived(context.top, memory.queue, tip, context.env)
    if not arrived:
        return _Queue("", [], waiting, older)

    came_before = read_sent(context.top, arrived, context.env)
    remaining = {path: data for path, data in waiting.items() if path not in came_before}
    return _Queue(arrived, came_before, remaining, ())


def _missing_branch(context: SyncContext) -> CheckpointError:
    remote = escape_controls(context.target.remote)
    branch = escape_controls(context.target.branch)
    push = command("git", "push", "-u", context.target.remote, context.target.branch)
    hint = f"{push}, or sync with a separate branch: --branch checkpoints"
    return CheckpointError(f"{remote} has no branch {branch} yet", hint)


def _read_trees(context: SyncContext, memory: Memory, base: SyncBase, tip: str) -> Trees:
    """Return the checkpoint files of the base, of the tip and of HEAD."""
    top, env = context.top, context.env
    entries = read_entries(top, base.commit, env)
    theirs = read_differing(top, entries, base.commit, tip, env)
    head = read_differing(top, entries, base.commit, memory.head, env)
    any_id = tip or memory.head or "0" * _ID_LENGTHS[read_object_format(top, env)]
    return Trees(entries, theirs, head, any_id)


def _find_put_back(context: SyncContext, met: str, work: WorkFiles, trees: Trees) -> set[str]:
    """Return files that git put back to an older version of the branch, in a switch or a reset:
    nobody changed them. met: the branch's commit that was last taken in.
    """
    put_back = set[str]()
    for path, blob in planning.find_clean(work, trees).items():
        if _had_blob(context, met, path, blob):
            put_back.add(path)
    return put_back


def _find_queued(
    work: WorkFiles,
    ours: Mapping[str, Side],
    waiting: Mapping[str, bytes | None],
) -> list[Change]:
    """Return what only records have, under its name in them."""
    queued: list[Change] = []
    for path, content in waiting.items():
        if content and ours.get(path) == content != work.contents.get(path):
            queued.append((f"{path}{state.QUEUED}", content))
    return queued


def _settle(
    context: SyncContext, work: WorkFiles, memory: Memory, arrived: str, tip: str
) -> Memory:
    """Return the memory with what earlier syncs reached, and write it. arrived: a record.

    It is written before this sync sends anything: that takes the queue's place.
    """
    top, env = context.top, context.env
    found = memory
    sent = ""
    if arrived:
        sent = find_commit(top, f"{arrived}^1", env)
    if sent and not (memory.partial_of and is_ancestor(top, sent, memory.partial_of, env)):
        found = memory._replace(partial=arrived, partial_of=sent)

    met, taken = read_journal(context.journal)
    is_left = met != "" and is_ancestor(top, met, tip, env)
    if is_left:
        partial = _write_taken(context, work, found, met, taken)
        found = found._replace(partial=partial, partial_of=met)

    is_tried = context.wish.dry_run
    if found != memory:
        commit = found.partial
        if is_tried:
            commit = memory.partial
        state.write_memory(top, {context.names.partial: commit}, env)

    if is_left and not is_tried:
        remove_quietly(context.journal)
    return found


def _write_taken(
    context: SyncContext,
    work: WorkFiles,
    memory: Memory,
    met: str,
    taken: Collection[str],
) -> str:
    """Write what the work tree had taken of a tip when a sync was killed, and return the commit.

    met: the tip. taken: the paths that the journal notes.
    """
    top, env = context.top, context.env
    base = state.find_base(top, memory, met, env).commit
    older = read_entries(top, base, env)
    newer = read_differing(top, older, base, met, env)
    untouched: list[Change] = []
    for path in sorted({*older, *newer}):
        old = older[path].blob if path in older else ""
        new = newer[path].blob if path in newer else ""
        if old != new and not _is_taken(work, path, old, new, met, taken):
            untouched.append((path, older.get(path)))

    draft = Draft((met,), untouched, state.TAKEN_IN)
    (partial,) = write_commits(top, [draft], [context.names.partial], context.who, env)
    return partial


def _is_taken(
    work: WorkFiles,
    path: str,
    old: str,
    new: str,
    met: str,
    taken: Collection[str],
) -> bool:
    """Whether the work tree has taken a new version of a file. old, new: blobs, "" for no file."""
    if path in work.refused:
        # a file that cannot be read is known by its note alone
        return path in taken

    content = work.contents.get(path)
    present = ""
    if content is not None:
        present = blob_id(content, met)
    if path in taken:
        # a note outlives its file if the power fails between the two
        return present != old
    return present == new


def read_entries(top: str, commit: str, env: Mapping[str, str]) -> Entries:
    """Return the checkpoint files of a commit; {} for no commit, ""."""
    if not commit:
        return {}
    tree = read_tree(top, commit, env)
    return {path: entry for path, entry in tree.items() if is_wanted(path)}


def read_differing(
    top: str, entries: Entries, commit: str, other: str, env: Mapping[str, str]
) -> Entries:
    """Return the checkpoint files of another commit. entries: those of `commit`, so that only the
    difference has to be read.
    """
    if not commit or not other:
        return read_entries(top, other, env)
    files = dict(entries)
    for change in diff_trees(top, commit, other, pathspecs(), env):
        if not is_wanted(change.path):
            continue
        if change.after:
            files[change.path] = change.after
        else:
            files.pop(change.path, None)
    return files


def read_contents(
    top: str, blobs: Iterable[str], env: Mapping[str, str]
) -> dict[str, bytes | None]:
    """Return the contents of blobs; None for one that is larger than a checkpoint may be. Raises
    CheckpointError for a missing one, and for more than a sync may read.
    """
    asked = sorted(set(blobs))
    found: dict[str, bytes | None] = {}
    total = 0
    for blob, content in zip(asked, read_bounded(top, asked, env), strict=True):
        if isinstance(content, bytes):
            size = len(content)
            found[blob] = content
        else:
            size = content
            found[blob] = None
        total += size
        if total > _MOST_BYTES or size > 8 * MAX_BYTES:
            message = "the checkpoints of the branch are larger than all that a sync may read"
            raise CheckpointError(message)

    return found


def _had_blob(context: SyncContext, commit: str, path: str, blob: str) -> bool:
    """Whether a file had this content in the history of a commit."""
    words = ["log", "-1", "-m", "--full-history", "--format=%h", "--no-renames", "--no-ext-diff"]
    words += [f"--find-object={blob}", commit, "--", f":(top,literal){path}"]
    return bool(run_git(words, context.top, env=context.env, check=False).out.strip())


def _read_queued(context: SyncContext, record: str) -> dict[str, bytes | None]:
    """Return the contents that wait in a record, by path; None for one that is too large."""
    names = read_waiting(context.top, record, context.env)
    if not names:
        return {}
    tree = read_tree(context.top, record, context.env, list(names.values()))
    found = {path: tree[name].blob for path, name in names.items() if name in tree}
    contents = read_contents(context.top, found.values(), context.env)
    return {path: contents[blob] for path, blob in found.items()}


def read_waiting(top: str, record: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the files that wait in a record, each with its name there."""
    names = {line.removesuffix(state.QUEUED): line for line in _read_body(top, record, env)}
    return {path: name for path, name in names.items() if is_wanted(path)}


def read_sent(top: str, record: str, env: Mapping[str, str]) -> list[str]:
    return [path for path in _read_body(top, record, env) if is_wanted(path)]


def _read_body(top: str, record: str, env: Mapping[str, str]) -> list[str]:
    return os.fsdecode(run_git(["log", "-1", "--format=%b", record], top, env=env).out).split("\n")


def _find_switched(context: SyncContext, memory: Memory, trees: Trees) -> Entries:
    """Return files that a switch of HEAD put back to an older version of the branch: what they
    have was made from that.
    """
    if memory.was_at in ("", memory.head):
        return {}
    before = read_differing(context.top, trees.head, memory.head, memory.was_at, context.env)
    return {
        path: entry
        for path, entry in trees.head.items()
        if entry not in (before.get(path), trees.base.get(path))
        and _had_blob(context, memory.met, path, entry.blob)
    }


def _store_line_ends(top: str, trees: Trees, ours: dict[str, Side]) -> None:
    """Give the files of our side the line ends with which git would store them."""
    for path, content in ours.items():
        entry = trees.base.get(path)
        if entry is None or not isinstance(content, bytes) or b"\r\n" not in content:
            continue
        if trees.find_id(content) != entry.blob:
            ours[path] = read_as_stored(top, path, content)


def _find_ground(context: SyncContext, memory: Memory, tip: str, base: SyncBase) -> Ground | None:
    """Return where the checked-out branch is; None if it must not move: it follows another branch,
    or git is at work.
    """
    top, env = context.top, context.env
    if context.wish.keep_branch or not context.target.follows or not memory.local:
        return None
    if read_operation(context.place.git_dir or ""):
        return None

    if not memory.head:
        return Ground("", tip, "", False)
    common = base.of_head or state.find_common(top, tip, memory.head, env)
    if not common:
        return None
    elsewhere = False
    if common == memory.head:
        changes = diff_trees(top, memory.head, tip, (), env)
        elsewhere = any(not is_wanted(change.path) for change in changes)
    return Ground(memory.head, tip, common, elsewhere)
