"""One sync from beginning to end: ask, decide, send, try again where somebody was faster, and take in what came.

The order makes a kill harmless at any instant: what is sent is remembered before it is sent, files are replaced whole
and under the lock, the index goes before the branch, and what this clone has taken in is written down last.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.sync import plan as planning
from checkpoint_git.tools.sync import state as remembering
from checkpoint_git.tools.sync.backoff import find_pause
from checkpoint_git.tools.sync.branch import move_branch, stage_files
from checkpoint_git.tools.sync.commits import write_commits
from checkpoint_git.tools.sync.context import Wish, World, open_world
from checkpoint_git.tools.sync.decide import merge_contents
from checkpoint_git.tools.sync.files import Arrival, write_arrivals
from checkpoint_git.tools.sync.reconcile import Meeting, meet, read_own
from checkpoint_git.tools.sync.remote import Reply, UnreachableError, fetch_branch, look_at_branch, push_commit
from checkpoint_git.tools.sync.trees import Leaf, blob_id

LOOK_EVERY = 1.5  # seconds
_LONGEST_QUESTION = 60.0  # seconds
_MOST_UNHEARD = 3  # pushes in a row without an answer: who may only read, or a setting that hinders every push


class SyncResult(NamedTuple):
    """What a sync came to.

    state: "synced", "current" (nothing to do), "planned" (a dry run), or, with something waiting in the queue,
    "offline", "refused", "contended". commit: what the branch names now, as far as this clone knows. sent, brought,
    merged, waiting: paths. attempts: pushes begun. lost: of those, races lost. branch_moved: the checked-out branch
    went along.
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
    place: Place, wish: Wish, now: int, env: Mapping[str, str], tell: Callable[[], None] = lambda: None
) -> SyncResult:
    """Brings the checkpoints of this work tree and those of a branch together.

    now: seconds since 1970. tell: called once when another process keeps us waiting. Raises CheckpointError where
    there is no repository, no remote, no branch, or another sync of this work tree does not end.
    """
    world = open_world(place, wish, now, env, tell)
    with hold_lock(os.path.join(place.git_dir or "", "checkpoint-sync.lock"), timeout=wish.timeout, on_wait=tell):
        return _run(world)


# the loop


def _run(world: World) -> SyncResult:
    attempts = lost = unheard = 0
    took = 0.0
    reply = Reply("unknown", "")
    meeting: Meeting | None = None
    while True:
        began = time.monotonic()
        try:
            work = read_own(world)  # before the remote is asked: what comes after that, others race against
            lost_one = meeting if reply.kind == "lost" else None
            meeting = meet(world, work, is_there=_fetch(world), lost=lost_one)
        except UnreachableError as error:
            return _queue_offline(world, error, attempts, lost)
        if world.wish.dry_run:
            return _result(world, meeting, "planned", meeting.tip, attempts, lost, False, meeting.plan.findings)
        if meeting.shape.send < 0:
            return _take_in(world, meeting, [], attempts, lost)
        is_over = attempts >= world.wish.attempts or unheard >= _MOST_UNHEARD
        if is_over or (attempts and time.monotonic() > world.ends):
            return _give_up(world, meeting, reply, attempts, lost)
        ids = _write(world, meeting)
        attempts += 1
        reply = _push(world, meeting, ids[meeting.shape.send])
        if reply.kind == "arrived":
            return _take_in(world, meeting, ids, attempts, lost)
        if reply.kind in ("refused", "hook"):
            return _give_up(world, meeting, reply, attempts, lost)
        lost += reply.kind == "lost"
        unheard = unheard + 1 if reply.kind == "unknown" else 0
        took = time.monotonic() - began
        _wait(world, find_pause(lost + unheard, took, random.random()))  # noqa: S311 (no secret)


def _wait(world: World, pause: float) -> None:
    """Waits, and looks now and then whether the branch has come to rest: then there is nobody left to wait for."""
    over = min(time.monotonic() + pause, world.ends)
    last = ""
    while (left := over - time.monotonic()) > 0:
        if left <= LOOK_EVERY:
            time.sleep(left)
            return
        time.sleep(LOOK_EVERY * (0.75 + random.random() / 2))  # noqa: S311 (no secret)
        tip = look_at_branch(world.top, world.target.remote, world.target.branch, world.network, _LONGEST_QUESTION)
        if tip and tip == last:
            return
        last = tip


def _fetch(world: World) -> bool:
    """Brings the branch's tip here; False where the remote has none. Raises UnreachableError."""
    remote, branch, _ = world.target
    timeout = max(1.0, min(_LONGEST_QUESTION, world.ends - time.monotonic()))
    return fetch_branch(world.top, remote, branch, world.names.theirs, world.network, timeout)


def _push(world: World, meeting: Meeting, commit: str) -> Reply:
    remote, branch, _ = world.target
    timeout = max(1.0, min(_LONGEST_QUESTION, world.ends - time.monotonic()))
    return push_commit(
        world.top, remote, branch, commit, meeting.tip, world.network, timeout, hooks=world.wish.hooks
    )  # fmt: skip


def _write(world: World, meeting: Meeting) -> list[str]:
    return write_commits(world.top, meeting.shape.drafts, world.names.queue, world.who, world.env)


# how it ends


def _take_in(world: World, meeting: Meeting, ids: list[str], attempts: int, lost: int) -> SyncResult:
    """Both sides agree on what was decided: write it into the work tree, then remember that."""
    shape, plan = meeting.shape, meeting.plan
    now_there = ids[shape.send] if shape.send >= 0 else meeting.tip
    findings = list(plan.findings)
    arrivals = [
        Arrival(path, plan.ours[path], decision.content)
        for path, decision in plan.decided.items()
        if decision.content != plan.ours[path]
    ]
    missed: set[str] = set()
    if arrivals:
        taken, troubles = write_arrivals(lock_path(world.place), world.top, arrivals, _merger(world), world.tell)
        missed = {arrival.path for arrival in arrivals} - set(taken)
        findings += troubles
    moved = ""
    if not missed and meeting.ground is not None:
        moved, left = _move(world, meeting, ids)
        findings += left
    _remember(world, meeting, ids, now_there, missed, moved or meeting.memory.head)
    did_anything = bool(arrivals or meeting.arrived) or shape.send >= 0
    state = "synced" if did_anything else "current"
    result = _result(world, meeting, state, now_there, attempts, lost, bool(moved), findings)
    return result._replace(brought=[path for path in result.brought if path not in missed])


def _merger(world: World) -> Callable[[str, "bytes | None", bytes, bytes], "bytes | None"]:
    def merge(path: str, base: bytes | None, now: bytes, comes: bytes) -> bytes | None:
        return merge_contents(path, base, now, comes, world.rules)[0] if is_merged(path) else None

    return merge


def _move(world: World, meeting: Meeting, ids: list[str]) -> tuple[str, list[Finding]]:
    """Lets the checked-out branch go along, its index first: a kill between them leaves changes staged. Returns where
    it is now, "" where it stayed.
    """
    ground, shape, memory = meeting.ground, meeting.shape, meeting.memory
    assert ground is not None
    goal = ids[shape.local] if shape.local >= 0 else ""
    if not goal and ground.common == ground.head and not ground.elsewhere:
        goal = meeting.tip
    if not goal or goal == ground.head:
        return "", []
    files = _list_moved(meeting)
    if not ground.head and ground.tip:  # a pull into a branch without commits goes over files that the index names so
        stage_files(world.top, files, world.env)
        return "", []
    if stage_files(world.top, files, world.env) and move_branch(world.top, memory.local, goal, memory.head, world.env):
        return goal, []
    hint = "run the sync again; until then its files show as changed"
    message = "another git command was at work, so the checked-out branch stays where it was"
    return "", [Finding("sync/branch-left", "note", message, hint=hint)]


def _list_moved(meeting: Meeting) -> list[tuple[str, Leaf | None]]:
    """The files that the index must name otherwise than HEAD does, once the branch has moved."""
    trees, plan = meeting.trees, meeting.plan
    files: list[tuple[str, Leaf | None]] = []
    for path in sorted({*trees.head, *trees.theirs, *plan.decided}):
        leaf = trees.theirs.get(path)
        if path in plan.decided:
            content = plan.decided[path].content
            mode = (leaf or trees.head.get(path) or Leaf("100644", "")).mode
            leaf = None if content is None else Leaf(mode, blob_id(content, meeting.like))
        if leaf != trees.head.get(path):
            files.append((path, leaf))
    return files


def _remember(world: World, meeting: Meeting, ids: list[str], there: str, missed: set[str], at: str) -> None:
    names, memory, shape = world.names, meeting.memory, meeting.shape
    if not there:
        return
    partial = ids[shape.partial] if shape.partial >= 0 and ids else ""
    open_paths = meeting.plan.open | missed
    if open_paths and (missed or not partial):
        partial = _write_partial(world, meeting, there, missed)
    updates = {names.synced: there}
    had_partial = remembering.read_ref(world.top, names.partial, world.env) if memory.partial else ""
    if partial or had_partial:
        updates[names.partial] = partial
    if ids or memory.queue is not None:
        updates[names.queue] = ""
    if at:
        updates[names.head] = at
    if (there, partial, at) == (memory.synced, had_partial, memory.was_at) and names.queue not in updates:
        return  # nothing to write down
    remembering.write_memory(world.top, updates, world.env)


def _write_partial(world: World, meeting: Meeting, there: str, missed: set[str]) -> str:
    """What this work tree has taken in of a commit: all but what is open, and what could not be written."""
    from checkpoint_git.tools.sync.commits import Change, Draft

    changes: list[Change] = [(path, meeting.trees.base.get(path)) for path in sorted(meeting.plan.open)]
    changes += [(path, meeting.plan.ours[path]) for path in sorted(missed)]
    draft = Draft((there,), changes, "checkpoint sync: taken in")
    return write_commits(world.top, [draft], world.names.partial, world.who, world.env)[0]


def _queue_offline(world: World, error: UnreachableError, attempts: int, lost: int) -> SyncResult:
    """There was no answer: decide against what was last seen, and let that wait."""
    memory = remembering.read_memory(world.top, world.names, world.local, world.env)
    if world.target.follows and memory.head and not memory.theirs:
        seen = remembering.read_ref(world.top, f"refs/remotes/{world.target.remote}/{world.target.branch}", world.env)
        memory = memory._replace(theirs=seen or memory.head)
    was_sent = attempts > 0 and memory.queue is not None
    meeting = meet(world, read_own(world), seen=memory.theirs)
    findings = [one for one in meeting.plan.findings if one.code != "sync/conflict"]
    waiting = meeting.shape.send >= 0 or memory.queue is not None
    if meeting.shape.send >= 0 and not was_sent and not world.wish.dry_run:
        _write(world, meeting)
    code = "sync/queued" if waiting else "sync/unreachable"
    what = "what is new here waits in this clone" if waiting else "nothing of this clone is waiting"
    hint = "the next `checkpoint sync` that reaches the remote sends it" if waiting else "try again later"
    findings.append(Finding(code, "error", f"{error.message}; {what}", hint=hint))
    return _result(world, meeting, "offline", memory.theirs, attempts, lost, False, findings)


_GIVEN_UP = {
    "refused": ("refused", "sync/refused", "the remote does not take it",
                "a protected branch? sync with one of its own: checkpoint sync --branch checkpoints"),
    "hook": ("refused", "sync/hook", "the pre-push hook of this clone stopped it",
             "mend what it names, or: checkpoint sync --no-verify"),
    "unknown": ("contended", "sync/contended", "the remote did not say whether it has it",
                "run the sync again: it asks first, and sends nothing twice"),
    "lost": ("contended", "sync/contended", "others were faster every time",
             "run the sync again, with more time: --timeout SECONDS, or sync with a branch of fewer writers"),
}  # fmt: skip


def _give_up(world: World, meeting: Meeting, reply: Reply, attempts: int, lost: int) -> SyncResult:
    """What was decided stays in the queue; nothing came in."""
    state, code, what, hint = _GIVEN_UP[reply.kind]
    said = f": {reply.said}" if reply.said else ""
    finding = Finding(code, "error", f"{what}; it waits in this clone{said}", hint=hint)
    findings = [*meeting.plan.findings, finding]
    return _result(world, meeting, state, meeting.tip, attempts, lost, False, findings)


_UNSENT = ("offline", "refused", "contended")


def _result(
    world: World, meeting: Meeting, state: str, commit: str, attempts: int, lost: int, moved: bool,
    findings: list[Finding],
) -> SyncResult:  # fmt: skip
    plan = meeting.plan
    ways = {path: planning.how_of(plan, meeting.trees, path, meeting.like) for path in plan.decided}
    sent, brought, merged = (
        sorted(p for p, how in ways.items() if how == name) for name in ("sent", "brought", "merged")
    )
    waiting: list[str] = []
    if state in _UNSENT:
        waiting, sent, brought, merged = sorted({*sent, *merged}), [], [], []
    sent = sorted({*sent, *meeting.arrived} - {*merged, *waiting})
    remote, branch, _ = world.target
    return SyncResult(remote, branch, state, commit, sent, brought, merged, waiting, attempts, lost, moved, findings)
