"""Take in what a sync brought: write the files, move the checked-out branch, and remember both."""

from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise, join_hints
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.disk.discover import find_common_dir
from checkpoint_git.disk.lock import lock_path
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.objects import FILE_MODES, TreeEntry
from checkpoint_git.git.stale_locks import find_locks, list_git_dirs
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.sync import state
from checkpoint_git.tools.sync.commits import (
    Change,
    Draft,
    move_branch,
    stage_files,
    write_commits,
)
from checkpoint_git.tools.sync.context import SyncContext
from checkpoint_git.tools.sync.decide import merge_contents
from checkpoint_git.tools.sync.files import FileArrival, write_arrivals
from checkpoint_git.tools.sync.plan import Ground
from checkpoint_git.tools.sync.reconcile import Comparison

_SURELY_IDLE = 10  # seconds; git holds the lock of an index or a branch for milliseconds


class TakenIn(NamedTuple):
    """tip: the branch's commit now. missed: paths that could not be written. moved: the
    checked-out branch's new commit, "" if it stayed. is_news: something was written or sent.
    """

    tip: str
    missed: set[str]
    moved: str
    is_news: bool
    findings: list[Finding]


def take_in(context: SyncContext, found: Comparison, ids: list[str]) -> TakenIn:
    """Write what came into the work tree, move the branch, and remember both. ids: of the commits
    that were sent, [] for none.
    """
    plan = found.plan
    tip = found.tip
    if found.shape.send >= 0:
        tip = ids[found.shape.send]
    findings = list(plan.findings)
    arrivals = [
        FileArrival(path, plan.ours[path], content)
        for path, content in plan.decided.items()
        if content != plan.ours[path]
    ]
    missed: set[str] = set()
    if arrivals:
        taken, troubles = _write_arrivals(context, arrivals, tip)
        missed = {arrival.path for arrival in arrivals} - set(taken)
        findings += troubles

    moved = ""
    if not missed and found.ground is not None:
        moved, notes = _move(context, found, found.ground, ids)
        findings += notes

    _remember(context, found, ids, tip, missed, moved or found.memory.head)
    is_news = bool(arrivals or found.arrived) or found.shape.send >= 0
    return TakenIn(tip, missed, moved, is_news, findings)


def _write_arrivals(
    context: SyncContext, arrivals: list[FileArrival], tip: str
) -> tuple[list[str], list[Finding]]:
    """Write files that came from a tip; return their paths, and findings about the others."""

    def merge(path: str, base: bytes | None, now: bytes, comes: bytes) -> bytes | None:
        if not is_merged(path):
            return None
        content, _ = merge_contents(path, base, now, comes, context.rules)
        return content

    lock = lock_path(context.place)
    return write_arrivals(lock, context.top, arrivals, merge, context.tell, context.journal, tip)


def _move(
    context: SyncContext,
    found: Comparison,
    ground: Ground,
    ids: list[str],
) -> tuple[str, list[Finding]]:
    """Move the checked-out branch, and return its new commit, "" if it stayed."""
    top, env = context.top, context.env
    goal = ""
    if found.shape.local >= 0:
        goal = ids[found.shape.local]
    elif ground.common == ground.head and not ground.elsewhere:
        goal = found.tip
    if not goal or goal == ground.head:
        return "", []

    files = _find_staged(found)
    # in a branch without commits, a pull can replace files that the index has like this
    if not ground.head and ground.tip:
        stage_files(top, files, env)
        return "", []

    memory = found.memory
    if stage_files(top, files, env) and move_branch(top, memory.local, goal, memory.head, env):
        return goal, []
    again = "run the sync again; until then its files show as changed"
    hint = join_hints(again, _advise_locks(context))
    message = "another git command was at work, so the checked-out branch was not moved"
    return "", [Finding("sync/branch-left", "note", message, hint=hint)]


def _advise_locks(context: SyncContext) -> AnyHint:
    """Return the command that removes the locks which a killed git left on the index or the
    branch; "" for none.
    """
    git_dirs = list_git_dirs(find_common_dir(context.place.git_dir or ""))
    paths = [plain_path(lock.path) for lock in find_locks(git_dirs, _SURELY_IDLE)]
    if not paths:
        return ""
    return advise("if no git runs here, a killed one left its lock", "rm", *paths)


def _find_staged(found: Comparison) -> list[tuple[str, TreeEntry | None]]:
    """Return the entries that the index needs for the moved branch, if they differ from HEAD."""
    trees = found.trees
    decided = found.plan.decided
    files: list[tuple[str, TreeEntry | None]] = []
    for path in sorted({*trees.head, *trees.theirs, *decided}):
        entry = trees.theirs.get(path)
        before = trees.head.get(path)
        if path in decided:
            content = decided[path]
            mode = (entry or before or TreeEntry(FILE_MODES[0], "")).mode
            entry = None
            if content is not None:
                entry = TreeEntry(mode, trees.find_id(content))
        if entry != before:
            files.append((path, entry))

    return files


def _remember(
    context: SyncContext,
    found: Comparison,
    ids: list[str],
    tip: str,
    missed: set[str],
    head: str,
) -> None:
    """Write down what this clone has taken in of a tip.

    ids: of the commits that were sent. missed: paths that could not be written. head: HEAD's
    commit now.
    """
    names, memory = context.names, found.memory
    if not tip:
        return
    partial = ""
    if missed or found.plan.open:
        partial = _write_partial(context, found, tip, missed)

    updates = {names.synced: tip, names.partial: partial}
    unsent: list[Change] = []
    for name, content in found.queued:
        if name.removesuffix(state.QUEUED) not in found.plan.decided:
            unsent.append((name, content))
    if unsent:
        # an earlier sync could not send it, and this one leaves it open
        body = "\n".join(name for name, _ in unsent)
        draft = Draft((), unsent, f"{state.WAITING}\n\n{body}")
        write_commits(context.top, [draft], [names.queue], context.who, context.env)
    elif ids or memory.queue is not None or memory.made:
        # a git that was killed may have left `made` without a queue
        updates |= {names.queue: "", names.made: ""}

    if head:
        updates[names.head] = head
    known = (memory.synced, memory.partial, memory.was_at)
    if (tip, partial, head) != known or names.queue in updates:
        state.write_memory(context.top, updates, context.env)

    remove_quietly(context.journal)


def _write_partial(context: SyncContext, found: Comparison, tip: str, missed: set[str]) -> str:
    """Write the versions of a tip's files that were taken in, if some were not, and return the
    commit.
    """
    changes: list[Change] = []
    for path in sorted(found.plan.open):
        changes.append((path, found.trees.base.get(path)))
    for path in sorted(missed):
        changes.append((path, found.plan.ours[path]))
    draft = Draft((tip,), changes, state.TAKEN_IN)
    refs = [context.names.partial]
    (partial,) = write_commits(context.top, [draft], refs, context.who, context.env)
    return partial
