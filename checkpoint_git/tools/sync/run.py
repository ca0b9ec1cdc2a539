"""One sync from beginning to end: ask, decide, send, try again where somebody was faster, and take
in what came.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise, join_hints
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.disk.atomic import remove_stray_files
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.disk.lock import hold_lock, hold_turn, lock_path
from checkpoint_git.disk.process import is_program_running
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.leases import FETCHED
from checkpoint_git.git.objects import FILE_MODES, TreeEntry, find_commit
from checkpoint_git.git.remotes import (
    HEADS,
    PushReply,
    UnreachableError,
    fetch,
    push_commit,
    read_remote_ref,
)
from checkpoint_git.git.stale_locks import (
    OWN_REFS,
    clear_own_locks,
    find_locks,
    list_git_dirs,
    list_locks,
    list_work_folders,
)
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.sync import state
from checkpoint_git.tools.sync.commits import Change, Draft, move_branch, stage_files, write_commits
from checkpoint_git.tools.sync.context import SyncContext, Wish, open_context
from checkpoint_git.tools.sync.decide import merge_contents
from checkpoint_git.tools.sync.files import FileArrival, WorkFiles, write_arrivals
from checkpoint_git.tools.sync.plan import Ground
from checkpoint_git.tools.sync.reconcile import Comparison, compare, read_own

LOOK_EVERY = 1.5  # seconds
_SURELY_IDLE = 10  # seconds; git holds the lock of an index or a branch for milliseconds
_LONGEST_QUESTION = 60.0  # seconds
# pushes in a row without an answer: who may only read, or a setting that hinders every push
_MOST_UNHEARD = 3
_LONGEST_PAUSE = 40.0  # seconds
_SHORTEST_TURN = 0.05
_GROWTH, _MOST_GROWN = 3, 6


class SyncResult(NamedTuple):
    """state: "synced", "current" (nothing to do), "planned" (a dry run), or, with something waiting
    in the queue, "offline", "refused", "contended". commit: what the branch names now, as far as
    this clone knows. sent, brought, merged, waiting: paths. attempts: pushes begun. lost: of those,
    races lost.
    """

    remote: str
    branch: str
    state: str
    commit: str
    sent: list[str]
    brought: list[str]
    merged: list[str]
    waiting: list[str]
    attempts: int
    lost: int
    branch_moved: bool
    findings: list[Finding]


# The order makes a kill harmless at any instant: what is sent is remembered before it is sent,
# files are replaced whole and under the lock, the index goes before the branch, and what this clone
# has taken in is written down last.
def sync(
    place: Place,
    wish: Wish,
    now: int,
    env: Mapping[str, str],
    tell: Callable[[], None] = lambda: None,
) -> SyncResult:
    """Brings the checkpoints of this work tree and those of a branch together. tell: called once if
    it has to wait. Raises CheckpointError without a repository, remote or branch, or where another
    sync of this work tree does not end.
    """
    context = open_context(place, wish, now, env, tell)
    with (
        hold_lock(os.path.join(place.git_dir or "", "checkpoint-sync.lock"), wish.timeout, tell),
        ExitStack() as turn,
    ):
        if place.git_dir and not wish.dry_run:
            _clear_locks(place.git_dir)
        patience = max(1.0, (context.ends - time.monotonic()) * 0.9)
        turn.enter_context(hold_turn("" if wish.dry_run else context.turn, patience, tell))
        return _run(context, turn.close)


def _clear_locks(git_dir: str) -> None:
    """Remove what a git that was killed left on the refs of this work tree's syncs."""
    folders = list_work_folders(find_common_dir(git_dir))
    clear_own_locks(
        list_locks(os.path.join(git_dir, OWN_REFS)), lambda: is_program_running("git", folders)
    )


def _clear_stray_files(top: str, work: WorkFiles) -> None:
    """Remove what a sync that was killed left beside the files that it wrote.

    A write clears its folder itself, but the next sync may find nothing to write.
    """
    folders = {os.path.dirname(path) for path in work.contents}
    for folder in folders:
        remove_stray_files(os.path.join(top, folder))


def _run(context: SyncContext, end_turn: Callable[[], None]) -> SyncResult:
    attempts = lost = unheard = 0
    reply = PushReply("unknown", "")
    top, remote, ref = context.top, context.target.remote, f"{HEADS}{context.target.branch}"
    while True:
        began = time.monotonic()
        try:
            # before the remote is asked: what comes after that, others race against
            work = read_own(context)
            if attempts == 0 and not context.wish.dry_run:
                _clear_stray_files(top, work)
            seconds = _seconds_left(context)
            is_there = fetch(
                top, remote, [f"+{ref}:{context.names.theirs}", FETCHED], context.env, seconds
            )
            found = compare(context, work, is_there=is_there)
        except UnreachableError as error:
            result = _queue_offline(context, error, was_sent=attempts > 0)
            break
        if context.wish.dry_run:
            result = _result(context, found, "planned", found.tip, found.plan.findings)
            break
        if found.shape.send < 0:
            end_turn()
            result = _take_in(context, found, [])
            break
        is_over = attempts >= context.wish.attempts or unheard >= _MOST_UNHEARD
        if is_over or (attempts and time.monotonic() > context.ends):
            result = _give_up(context, found, reply)
            break
        refs = [context.names.made, context.names.queue]
        ids = write_commits(top, found.shape.drafts, refs, context.who, context.env)
        attempts += 1
        commit, seconds, hooks = ids[found.shape.send], _seconds_left(context), context.wish.hooks
        reply = push_commit(top, remote, ref, commit, found.tip, context.env, seconds, hooks=hooks)
        if reply.kind == "arrived":
            end_turn()  # what is left to do is this clone's own
            result = _take_in(context, found, ids)
            break
        if reply.kind in ("refused", "hook"):
            result = _give_up(context, found, reply)
            break
        lost += reply.kind == "lost"
        unheard = unheard + 1 if reply.kind == "unknown" else 0
        _wait(context, backoff(lost + unheard, time.monotonic() - began, random.random()))  # noqa: S311 (no secret)

    return result._replace(attempts=attempts, lost=lost)


def _seconds_left(context: SyncContext) -> float:
    return max(1.0, min(_LONGEST_QUESTION, context.ends - time.monotonic()))


def backoff(attempt: int, last_duration: float, jitter: float) -> float:
    """Seconds to wait. attempt: races lost in a row. last_duration: seconds of the last one.
    jitter: 0 to 1.
    """
    turns = float(_GROWTH) ** min(attempt, _MOST_GROWN)
    return min(max(last_duration, _SHORTEST_TURN) * turns, _LONGEST_PAUSE) * jitter


def _wait(context: SyncContext, pause: float) -> None:
    # Waits, and looks now and then whether the branch has come to rest: then there is nobody left
    # to wait for
    over, last = min(time.monotonic() + pause, context.ends), ""
    remote, branch, _ = context.target
    while (left := over - time.monotonic()) > LOOK_EVERY:
        time.sleep(LOOK_EVERY * (0.75 + random.random() / 2))  # noqa: S311 (no secret)
        tip = ""
        with suppress(UnreachableError):
            tip = read_remote_ref(
                context.top, remote, f"{HEADS}{branch}", context.env, _LONGEST_QUESTION
            )
        if tip and tip == last:
            return
        last = tip

    time.sleep(max(left, 0))


def _take_in(context: SyncContext, found: Comparison, ids: list[str]) -> SyncResult:
    shape, plan = found.shape, found.plan
    now_there = ids[shape.send] if shape.send >= 0 else found.tip
    findings = list(plan.findings)
    arrivals = [
        FileArrival(path, plan.ours[path], content)
        for path, content in plan.decided.items()
        if content != plan.ours[path]
    ]
    missed: set[str] = set()
    if arrivals:

        def merge(path: str, base: bytes | None, now: bytes, comes: bytes) -> bytes | None:
            return (
                merge_contents(path, base, now, comes, context.rules)[0]
                if is_merged(path)
                else None
            )

        lock, journal = lock_path(context.place), context.journal
        taken, troubles = write_arrivals(
            lock, context.top, arrivals, merge, context.tell, journal, now_there
        )
        missed = {arrival.path for arrival in arrivals} - set(taken)
        findings += troubles

    moved = ""
    if not missed and found.ground is not None:
        moved, left = _move(context, found, found.ground, ids)
        findings += left

    _remember(context, found, ids, now_there, missed, moved or found.memory.head)
    did_anything = bool(arrivals or found.arrived) or shape.send >= 0
    result = _result(context, found, "synced" if did_anything else "current", now_there, findings)
    return result._replace(
        brought=[path for path in result.brought if path not in missed], branch_moved=bool(moved)
    )


def _move(
    context: SyncContext,
    found: Comparison,
    ground: Ground,
    ids: list[str],
) -> tuple[str, list[Finding]]:
    """Move the checked-out branch, and return where it is now, "" if it stayed."""
    top, env = context.top, context.env
    goal = ids[found.shape.local] if found.shape.local >= 0 else ""
    if not goal and ground.common == ground.head and not ground.elsewhere:
        goal = found.tip
    if not goal or goal == ground.head:
        return "", []

    files = _find_staged(found)
    # a pull into a branch without commits goes over files that the index names so
    if not ground.head and ground.tip:
        stage_files(top, files, env)
        return "", []

    memory = found.memory
    if stage_files(top, files, env) and move_branch(top, memory.local, goal, memory.head, env):
        return goal, []
    hint = join_hints(
        "run the sync again; until then its files show as changed", _describe_locks(context)
    )
    message = "another git command was at work, so the checked-out branch was not moved"
    return "", [Finding("sync/branch-left", "note", message, hint=hint)]


def _describe_locks(context: SyncContext) -> AnyHint:
    """Return the command that removes what a killed git left on the index or the branch, "" if
    nothing is there.
    """
    git_dir = context.place.git_dir or ""
    locks = [
        lock.path for lock in find_locks(list_git_dirs(find_common_dir(git_dir)), _SURELY_IDLE)
    ]
    return (
        advise("if no git runs here, a killed one left its lock", "rm", *map(plain_path, locks))
        if locks
        else ""
    )


def _find_staged(found: Comparison) -> list[tuple[str, TreeEntry | None]]:
    """Return what the index has to name for the moved branch, where it differs from HEAD."""
    trees = found.trees
    decided = found.plan.decided
    files: list[tuple[str, TreeEntry | None]] = []
    for path in sorted({*trees.head, *trees.theirs, *decided}):
        entry = trees.theirs.get(path)
        before = trees.head.get(path)
        if path in decided:
            content = decided[path]
            mode = (entry or before or TreeEntry(FILE_MODES[0], "")).mode
            entry = None if content is None else TreeEntry(mode, trees.find_id(content))
        if entry != before:
            files.append((path, entry))

    return files


def _remember(
    context: SyncContext, found: Comparison, ids: list[str], there: str, missed: set[str], at: str
) -> None:
    names, memory = context.names, found.memory
    if not there:
        return
    partial = ""
    if missed or found.plan.open:
        changes: list[Change] = [
            (path, found.trees.base.get(path)) for path in sorted(found.plan.open)
        ]
        changes += [(path, found.plan.ours[path]) for path in sorted(missed)]
        draft = Draft((there,), changes, state.TAKEN_IN)
        (partial,) = write_commits(context.top, [draft], [names.partial], context.who, context.env)

    updates = {names.synced: there, names.partial: partial}
    left = [
        (name, one)
        for name, one in found.queued
        if name.removesuffix(state.QUEUED) not in found.plan.decided
    ]
    if left:  # an earlier sync could not send it, and this one leaves it open
        body = "\n".join(name for name, _ in left)
        write_commits(
            context.top,
            [Draft((), left, f"{state.WAITING}\n\n{body}")],
            [names.queue],
            context.who,
            context.env,
        )
    elif (
        ids or memory.queue is not None or memory.made
    ):  # of a git that was killed, it may be left alone
        updates |= {names.queue: "", names.made: ""}

    if at:
        updates[names.head] = at
    if (there, partial, at) != (
        memory.synced,
        memory.partial,
        memory.was_at,
    ) or names.queue in updates:
        state.write_memory(context.top, updates, context.env)

    remove_quietly(context.journal)


def _queue_offline(context: SyncContext, error: UnreachableError, *, was_sent: bool) -> SyncResult:
    top, env = context.top, context.env
    memory = state.read_memory(top, context.names, context.local, env)
    if context.target.follows and memory.head and not memory.theirs:
        seen = find_commit(
            top, f"refs/remotes/{context.target.remote}/{context.target.branch}", env
        )
        memory = memory._replace(theirs=seen or memory.head)

    found = compare(context, read_own(context), seen=memory.theirs)
    findings = [one for one in found.plan.findings if one.code != "sync/conflict"]
    if (
        found.shape.send >= 0
        and not (was_sent and memory.queue is not None)
        and not context.wish.dry_run
    ):
        write_commits(
            top, found.shape.drafts, [context.names.made, context.names.queue], context.who, env
        )

    if found.shape.send >= 0 or memory.queue is not None:
        code, what = "sync/queued", "local changes wait in this clone"
        hint = "the next sync that reaches the remote sends it"
    else:
        code, what, hint = "sync/unreachable", "nothing of this clone is waiting", "try again later"

    findings.append(Finding(code, "error", f"{error.message}; {what}", hint=error.hint or hint))
    return _result(context, found, "offline", memory.theirs, findings)


_AGAIN = "run the sync again, with more time: --timeout SECONDS, or sync with a branch that fewer clones write to; "
_AGAIN += (
    "if it never succeeds, look for a lock (refs/heads/*.lock) that a killed git left on the server"
)
# kind of a remote's reply -> state, finding code, message, hint
_GIVEN_UP: dict[str, tuple[str, str, str, AnyHint]] = {
    "refused": (
        "refused",
        "sync/refused",
        "the remote does not take it",
        advise(
            "may you push? if the branch is protected, sync with a separate one",
            "checkpoint",
            "sync",
            "--branch",
            "checkpoints",
        ),
    ),
    "hook": (
        "refused",
        "sync/hook",
        "the pre-push hook of this clone stopped it",
        advise("fix what it names, or", "checkpoint", "sync", "--no-verify"),
    ),
    "unknown": (
        "contended",
        "sync/contended",
        "the remote did not confirm the push",
        "run the sync again: it asks first, and sends nothing twice",
    ),
    "lost": (
        "contended",
        "sync/contended",
        "other clones pushed first every time",
        _AGAIN,
    ),
}


def _give_up(context: SyncContext, found: Comparison, reply: PushReply) -> SyncResult:
    how, code, what, hint = _GIVEN_UP[reply.kind]
    reason = f": {reply.said}" if reply.said else ""
    finding = Finding(code, "error", f"{what}; it waits in this clone{reason}", hint=hint)
    return _result(context, found, how, found.tip, [*found.plan.findings, finding])


def _result(
    context: SyncContext, found: Comparison, how: str, commit: str, findings: list[Finding]
) -> SyncResult:
    sent, brought, merged = (found.plan.list_paths(way) for way in ("sent", "brought", "merged"))
    waiting: list[str] = []
    if how in ("offline", "refused", "contended"):
        waiting, sent, brought, merged = sorted({*sent, *merged}), [], [], []
    sent = sorted({*sent, *found.arrived} - {*merged, *waiting})
    return SyncResult(
        *context.target[:2], how, commit, sent, brought, merged, waiting, 0, 0, False, findings
    )
