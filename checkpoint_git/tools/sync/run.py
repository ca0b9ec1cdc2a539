"""Run one sync: fetch, decide, push, try again if another clone was faster, and take in news."""

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.disk.atomic import remove_stray_files
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.disk.lock import hold_lock, hold_turn
from checkpoint_git.disk.process import is_program_running
from checkpoint_git.git.leases import FETCHED
from checkpoint_git.git.objects import find_commit
from checkpoint_git.git.remotes import (
    HEADS,
    PushReply,
    UnreachableError,
    fetch,
    push_commit,
    read_remote_ref,
)
from checkpoint_git.git.stale_locks import OWN_REFS, clear_own_locks, list_locks, list_work_folders
from checkpoint_git.tools.sync import state
from checkpoint_git.tools.sync.commits import write_commits
from checkpoint_git.tools.sync.context import SyncContext, Wish, open_context
from checkpoint_git.tools.sync.files import WorkFiles
from checkpoint_git.tools.sync.reconcile import Comparison, compare, read_own
from checkpoint_git.tools.sync.take_in import take_in

LOOK_EVERY = 1.5  # seconds
_LONGEST_QUESTION = 60.0  # seconds
# pushes in a row without an answer: the user may only read, or a setting hinders every push
_MOST_UNHEARD = 3
_LONGEST_PAUSE = 40.0  # seconds
_SHORTEST_TURN = 0.05
_GROWTH, _MOST_GROWN = 3, 6


class SyncResult(NamedTuple):
    """state: "synced", "current" (nothing to do), "planned" (a dry run), or, with something
    waiting in the queue, "offline", "refused", "contended".
    commit: the branch's commit now, as far as this clone knows.
    sent, brought, merged, waiting: paths. attempts: pushes begun. lost: how many of those lost a
    race.
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


def sync(
    place: Place,
    wish: Wish,
    now: int,
    env: Mapping[str, str],
    tell: Callable[[], None] = lambda: None,
) -> SyncResult:
    """Exchange the checkpoints of this work tree with a branch. tell: called once if it has to
    wait.

    The order makes a kill harmless at any instant: what is sent is remembered before it is sent,
    files are replaced whole and under the lock, the index is written before the branch moves, and
    what this clone has taken in is written down last.
    Raises CheckpointError without a repository, remote or branch, or if another sync of this work
    tree does not end.
    """
    context = open_context(place, wish, now, env, tell)
    with (
        hold_lock(os.path.join(place.git_dir or "", "checkpoint-sync.lock"), wish.timeout, tell),
        ExitStack() as turn,
    ):
        if place.git_dir and not wish.dry_run:
            _clear_locks(place.git_dir)
        if not wish.dry_run:
            patience = max(1.0, (context.ends - time.monotonic()) * 0.9)
            turn.enter_context(hold_turn(context.turn, patience, tell))
        return _run(context, turn.close)


def _clear_locks(git_dir: str) -> None:
    """Remove the locks that a killed git left on the refs of this work tree's syncs."""
    folders = list_work_folders(find_common_dir(git_dir))
    locks = list_locks(os.path.join(git_dir, OWN_REFS))
    clear_own_locks(locks, lambda: is_program_running("git", folders))


def _clear_stray_files(top: str, work: WorkFiles) -> None:
    """Remove what a sync that was killed left beside the files that it wrote.

    A write clears its folder itself, but the next sync may find nothing to write.
    """
    folders = {os.path.dirname(path) for path in work.contents}
    for folder in folders:
        remove_stray_files(os.path.join(top, folder))


def _run(context: SyncContext, end_turn: Callable[[], None]) -> SyncResult:
    """Fetch, decide and push until a push arrives or there is nothing to send.

    end_turn: lets the next clone of this user begin.
    """
    attempts = lost = unheard = 0
    reply = PushReply("unknown", "")
    while True:
        began = time.monotonic()
        try:
            # the work tree is read first: other clones race against what comes after the fetch
            work = read_own(context)
            if attempts == 0 and not context.wish.dry_run:
                _clear_stray_files(context.top, work)
            found = _fetch_and_compare(context, work)
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

        ids = _write_all(context, found)
        attempts += 1
        reply = _push(context, ids[found.shape.send], found.tip)
        if reply.kind == "arrived":
            end_turn()  # the rest happens in this clone alone
            result = _take_in(context, found, ids)
            break
        if reply.kind in ("refused", "hook"):
            result = _give_up(context, found, reply)
            break

        if reply.kind == "lost":
            lost += 1
        if reply.kind == "unknown":
            unheard += 1
        else:
            unheard = 0
        jitter = random.random()  # noqa: S311 (no secret)
        _wait(context, backoff(lost + unheard, time.monotonic() - began, jitter))

    return result._replace(attempts=attempts, lost=lost)


def _fetch_and_compare(context: SyncContext, work: WorkFiles) -> Comparison:
    ref = f"{HEADS}{context.target.branch}"
    refspecs = [f"+{ref}:{context.names.theirs}", FETCHED]
    has_branch = fetch(
        context.top, context.target.remote, refspecs, context.env, _seconds_left(context)
    )
    return compare(context, work, is_there=has_branch)


def _write_all(context: SyncContext, found: Comparison) -> list[str]:
    """Write the commits of a sync, and return their ids."""
    refs = [context.names.made, context.names.queue]
    return write_commits(context.top, found.shape.drafts, refs, context.who, context.env)


def _push(context: SyncContext, commit: str, tip: str) -> PushReply:
    """Push a commit if the branch still names the tip."""
    return push_commit(
        context.top,
        context.target.remote,
        f"{HEADS}{context.target.branch}",
        commit,
        tip,
        context.env,
        _seconds_left(context),
        hooks=context.wish.hooks,
    )


def _seconds_left(context: SyncContext) -> float:
    return max(1.0, min(_LONGEST_QUESTION, context.ends - time.monotonic()))


def backoff(attempt: int, last_duration: float, jitter: float) -> float:
    """Return the seconds to wait. attempt: races lost in a row. last_duration: seconds of the last
    one. jitter: 0 to 1.
    """
    turns = float(_GROWTH) ** min(attempt, _MOST_GROWN)
    return min(max(last_duration, _SHORTEST_TURN) * turns, _LONGEST_PAUSE) * jitter


def _wait(context: SyncContext, pause: float) -> None:
    """Wait, at most until the branch has come to rest: then nobody is in the way any more."""
    end = min(time.monotonic() + pause, context.ends)
    last = ""
    remaining = end - time.monotonic()
    while remaining > LOOK_EVERY:
        time.sleep(LOOK_EVERY * (0.75 + random.random() / 2))  # noqa: S311 (no secret)
        tip = ""
        with suppress(UnreachableError):
            tip = _read_tip(context)
        if tip and tip == last:
            return
        last = tip
        remaining = end - time.monotonic()

    time.sleep(max(remaining, 0))


def _read_tip(context: SyncContext) -> str:
    remote, branch, _ = context.target
    return read_remote_ref(context.top, remote, f"{HEADS}{branch}", context.env, _LONGEST_QUESTION)


def _take_in(context: SyncContext, found: Comparison, ids: list[str]) -> SyncResult:
    taken = take_in(context, found, ids)
    result_state = "synced" if taken.is_news else "current"
    result = _result(context, found, result_state, taken.tip, taken.findings)
    brought = [path for path in result.brought if path not in taken.missed]
    return result._replace(brought=brought, branch_moved=bool(taken.moved))


def _queue_offline(context: SyncContext, error: UnreachableError, *, was_sent: bool) -> SyncResult:
    """Keep what would be sent in the queue. was_sent: a push of it was begun."""
    top, env = context.top, context.env
    memory = state.read_memory(top, context.names, context.local, env)
    if context.target.follows and memory.head and not memory.theirs:
        tracked = f"refs/remotes/{context.target.remote}/{context.target.branch}"
        seen = find_commit(top, tracked, env)
        memory = memory._replace(theirs=seen or memory.head)

    found = compare(context, read_own(context), seen=memory.theirs)
    findings = [finding for finding in found.plan.findings if finding.code != "sync/conflict"]
    has_news = found.shape.send >= 0
    is_queued = was_sent and memory.queue is not None
    if has_news and not is_queued and not context.wish.dry_run:
        _write_all(context, found)

    code = "sync/unreachable"
    waiting = "nothing of this clone is waiting"
    hint = "try again later"
    if has_news or memory.queue is not None:
        code = "sync/queued"
        waiting = "local changes wait in this clone"
        hint = "the next sync that reaches the remote sends it"

    message = f"{error.message}; {waiting}"
    findings.append(Finding(code, "error", message, hint=error.hint or hint))
    return _result(context, found, "offline", memory.theirs, findings)


_AGAIN = (
    "run the sync again, with more time: --timeout SECONDS,"
    " or sync with a branch that fewer clones write to;"
    " if it never succeeds, look for a lock (refs/heads/*.lock)"
    " that a killed git left on the server"
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
    result_state, code, trouble, hint = _GIVEN_UP[reply.kind]
    message = f"{trouble}; it waits in this clone"
    if reply.reason:
        message = f"{message}: {reply.reason}"
    finding = Finding(code, "error", message, hint=hint)
    return _result(context, found, result_state, found.tip, [*found.plan.findings, finding])


def _result(
    context: SyncContext, found: Comparison, how: str, commit: str, findings: list[Finding]
) -> SyncResult:
    """Return the result. how: its state. commit: the branch's, as far as this clone knows."""
    sent = found.plan.list_paths("sent")
    brought = found.plan.list_paths("brought")
    merged = found.plan.list_paths("merged")
    waiting: list[str] = []
    if how in ("offline", "refused", "contended"):
        waiting = sorted({*sent, *merged})
        sent, brought, merged = [], [], []

    return SyncResult(
        remote=context.target.remote,
        branch=context.target.branch,
        state=how,
        commit=commit,
        sent=sorted({*sent, *found.arrived} - {*merged, *waiting}),
        brought=brought,
        merged=merged,
        waiting=waiting,
        attempts=0,
        lost=0,
        branch_moved=False,
        findings=findings,
    )
