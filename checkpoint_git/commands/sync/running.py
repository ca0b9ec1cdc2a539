"""One sync from beginning to end: ask, decide, send, try again where somebody was faster, and take in what came.

The order makes a kill harmless at any instant: what is sent is remembered before it is sent, files are replaced whole
and under the lock, the index goes before the branch, and what this clone has taken in is written down last.
"""

import os
import random
import re
import time

from checkpoint_git.commands.sync import planning
from checkpoint_git.commands.sync.deciding import Rules, Take, merge_contents
from checkpoint_git.commands.sync.files import Arrival, Work, is_wanted, pathspecs, read_work, write_arrivals
from checkpoint_git.commands.sync.pacing import find_pause
from checkpoint_git.commands.sync.planning import Ground, Plan, Shape, Trees
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.light import Callable, Mapping, NamedTuple
from checkpoint_git.core.safetext import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.repo.git import clean_env, run_git
from checkpoint_git.repo.merges.conflicts import read_operation
from checkpoint_git.repo.setup.settings import DRIVER, Choices, read_driver_command
from checkpoint_git.repo.sync import memory as remembering
from checkpoint_git.repo.sync.branch import move_branch, stage_files
from checkpoint_git.repo.sync.commits import Identity, write_commits
from checkpoint_git.repo.sync.memory import Base, Memory, Names
from checkpoint_git.repo.sync.remote import (
    Reply,
    UnreachableError,
    fetch_branch,
    look_at_branch,
    network_env,
    push_commit,
)
from checkpoint_git.repo.sync.settings import Settings, read_sync_settings
from checkpoint_git.repo.sync.trees import (
    Leaf,
    blob_id,
    differs_elsewhere,
    read_contents,
    read_differing,
    read_object_format,
    read_leaves,
)

ATTEMPTS, TIMEOUT = 200, 120.0
LOOK_EVERY = 1.5  # seconds
_LONGEST_QUESTION = 60.0  # seconds
_BAD_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)")
_EMPTY_IDS = {"sha1": "0" * 40, "sha256": "0" * 64}


class Wish(NamedTuple):
    """What was asked for. remote, branch: "" for what the clone's settings say. attempts: pushes at most. timeout: in
    seconds, for everything. hooks: the pre-push hook is asked. keep_branch: the checked-out branch never moves.
    only: a skill whose files alone are meant, "" for all.
    """

    remote: str = ""
    branch: str = ""
    attempts: int = ATTEMPTS
    timeout: float = TIMEOUT
    take: Take = ""
    hooks: bool = True
    keep_branch: bool = False
    dry_run: bool = False
    only: str = ""


class SyncResult(NamedTuple):
    """What a sync came to.

    state: "synced", "current" (nothing to do), "planned" (a dry run), or, with something waiting in the queue,
    "offline", "refused", "contended". commit: what the branch names now, as far as this clone knows. sent, brought,
    merged: paths. attempts: pushes begun. lost: of those, races lost. branch_moved: the checked-out branch went along.
    """

    remote: str
    branch: str
    state: str
    commit: str
    sent: list[str]
    brought: list[str]
    merged: list[str]
    attempts: int
    lost: int
    branch_moved: bool
    findings: list[Finding]


class Target(NamedTuple):
    """The branch to meet. follows: it is what the checked-out branch follows."""

    remote: str
    branch: str
    follows: bool


class _World(NamedTuple):
    """What does not change during one sync."""

    place: Place
    top: str
    target: Target
    names: Names
    settings: Settings
    local: str
    rules: Rules
    wish: Wish
    who: Identity
    env: Mapping[str, str]
    network: Mapping[str, str]
    ends: float
    tell: Callable[[], None]


class _Meeting(NamedTuple):
    """One look at both sides and what it comes to. arrived: what an earlier attempt sent, and now is there."""

    memory: Memory
    tip: str
    trees: Trees
    plan: Plan
    ground: Ground | None
    shape: Shape
    like: str
    arrived: list[str]
    base: Base
    queued: dict[str, bytes | None]


def sync(
    place: Place, wish: Wish, now: int, env: Mapping[str, str], tell: Callable[[], None] = lambda: None
) -> SyncResult:
    """Brings the checkpoints of this work tree and those of a branch together.

    now: seconds since 1970. tell: called once when another process keeps us waiting. Raises CheckpointError where
    there is no repository, no remote, no branch, or another sync of this work tree does not end.
    """
    world = _open_world(place, wish, now, env, tell)
    with hold_lock(os.path.join(place.git_dir or "", "checkpoint-sync.lock"), timeout=wish.timeout, on_wait=tell):
        return _run(world)


def _open_world(place: Place, wish: Wish, now: int, env: Mapping[str, str], tell: Callable[[], None]) -> _World:
    if place.work_tree is None or place.git_dir is None:
        raise CheckpointError(f"{escape_controls(place.root)} is not in a git repository", "git init, or git clone")
    top = place.work_tree
    own = {
        **clean_env(env),
        **{key: value for key, value in env.items() if key.startswith("GIT_CONFIG")},
        "LC_ALL": "C",
    }
    own["GIT_OPTIONAL_LOCKS"] = "0"
    settings = read_sync_settings(top, own)
    local = remembering.read_local(top, own)
    target = find_target(settings, local, wish)
    driver = read_driver_command(settings.values.get(DRIVER, ""))
    choices = driver.choices if driver else Choices()
    rules = Rules(choices.narrative, choices.schema, wish.take, now)
    network = network_env(env, "core.sshcommand" in settings.values)
    names = remembering.name_refs(target.remote, target.branch)
    who = Identity(*settings.identity(env), now)
    ends = time.monotonic() + wish.timeout
    return _World(place, top, target, names, settings, local, rules, wish, who, own, network, ends, tell)


def find_target(settings: Settings, local: str, wish: Wish) -> Target:
    """Which branch of which remote: what was asked for, else the settings, else what the checked-out branch follows."""
    upstream = settings.upstream(local)
    known = settings.remotes
    only = "origin" if "origin" in known else known[0] if len(known) == 1 else ""
    remote = wish.remote or settings.values.get("checkpoint.syncremote", "") or (upstream.remote if upstream else only)
    if remote not in known:
        shown = f"there is no remote {escape_controls(remote)}" if remote else "this clone has no remote to sync with"
        raise CheckpointError(shown, "git remote add origin URL, or name one: --remote NAME")
    branch = wish.branch or settings.values.get("checkpoint.syncbranch", "")
    if not branch and upstream and upstream.remote == remote:
        branch = upstream.branch
    if not branch:
        raise CheckpointError(
            "the checked-out branch follows none, so there is none to sync with",
            "name one: --branch NAME, for good: git config checkpoint.syncBranch NAME, or: git push -u origin BRANCH",
        )
    if _BAD_BRANCH.search(branch) or len(branch) > 200:
        raise CheckpointError(
            f"{escape_controls(branch)} cannot be the name of a branch", "git check-ref-format --branch"
        )
    own = upstream or (remote, local.removeprefix("refs/heads/") if local.startswith("refs/heads/") else "")
    return Target(remote, branch, tuple(own) == (remote, branch))


# the loop


def _run(world: _World) -> SyncResult:
    attempts = lost = 0
    took = 0.0
    reply = Reply("unknown", "")
    meeting: _Meeting | None = None
    while True:
        began = time.monotonic()
        try:
            work = _read_work(world)  # before the remote is asked: what comes after that, others race against
            lost_one = meeting if reply.kind == "lost" else None
            meeting = _meet(world, work, is_there=_fetch(world), lost=lost_one)
        except UnreachableError as error:
            return _queue_offline(world, error, attempts, lost)
        if world.wish.dry_run:
            return _result(world, meeting, "planned", meeting.tip, attempts, lost, False, meeting.plan.findings)
        if meeting.shape.send < 0:
            return _take_in(world, meeting, [], attempts, lost)
        if attempts >= world.wish.attempts or (attempts and time.monotonic() > world.ends):
            return _give_up(world, meeting, reply, attempts, lost)
        ids = _write(world, meeting)
        attempts += 1
        reply = _push(world, meeting, ids[meeting.shape.send])
        if reply.kind == "arrived":
            return _take_in(world, meeting, ids, attempts, lost)
        if reply.kind in ("refused", "hook"):
            return _give_up(world, meeting, reply, attempts, lost)
        lost += 1
        took = time.monotonic() - began
        _wait(world, find_pause(lost, took, random.random()))  # noqa: S311 (no secret)


def _wait(world: _World, pause: float) -> None:
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


def _fetch(world: _World) -> bool:
    """Brings the branch's tip here; False where the remote has none. Raises UnreachableError."""
    remote, branch, _ = world.target
    timeout = max(1.0, min(_LONGEST_QUESTION, world.ends - time.monotonic()))
    return fetch_branch(world.top, remote, branch, world.names.theirs, world.network, timeout)


def _push(world: _World, meeting: _Meeting, commit: str) -> Reply:
    remote, branch, _ = world.target
    timeout = max(1.0, min(_LONGEST_QUESTION, world.ends - time.monotonic()))
    return push_commit(
        world.top, remote, branch, commit, meeting.tip, world.network, timeout, hooks=world.wish.hooks
    )  # fmt: skip


# one meeting


def _read_work(world: _World) -> Work:
    return read_work(world.place, world.top, world.env, with_ignored=not world.target.follows)


def _meet(
    world: _World, work: Work, *, is_there: bool = True, seen: str = "", lost: _Meeting | None = None
) -> _Meeting:
    """One look.

    seen: a tip that is known from elsewhere; then the remote was not asked, and nothing is about to be sent. lost: the
    meeting before, of which the remote said that others were faster: what is known from it is not asked again.
    """
    top, env, names = world.top, world.env, world.names
    memory = remembering.read_memory(top, names, world.local, env)
    tip = seen or (memory.theirs if is_there else "")
    came_before: list[str] = []
    _check_ground(world, memory, tip)
    queue = memory.queue if lost is None else None
    older = remembering.list_older(queue, tip)
    arrived = remembering.find_arrived(top, queue, tip, env)
    if arrived:
        came = run_git(["rev-parse", "--verify", f"{arrived}^1"], top, env=env).out.decode().strip()
        memory, older, queue = memory._replace(partial=arrived, partial_of=came), (), None
        came_before = _read_sent(world, arrived)
    base = remembering.find_base(top, memory, tip, env)
    trees = _read_trees(world, memory, base, tip, lost)
    like = tip or memory.head or _EMPTY_IDS[read_object_format(top, env)]
    queued = lost.queued if lost else _read_queued(world, queue.record if queue else "")
    plan = _decide(world, work, trees, queued, like)
    is_whole = not plan.open and not world.wish.only and not work.sparse - work.contents.keys()
    ground = _find_ground(world, memory, tip, base) if is_whole else None
    common = trees.base
    if ground is not None and ground.head and ground.common != base.commit:
        common = read_differing(top, trees.theirs, tip, ground.common, is_wanted, pathspecs(), env)
    shape = planning.plan_commits(plan, trees, common, ground, tip, like, older, sent=not seen)
    return _Meeting(memory, tip, trees, plan, ground, shape, like, came_before, base, queued)


def _check_ground(world: _World, memory: Memory, tip: str) -> None:
    """Raises CheckpointError where the first push of a branch would be ours: it would have no history but ours."""
    if world.target.follows and memory.head and not tip:
        remote, branch, _ = (escape_controls(str(part)) for part in world.target)
        hint = f"git push -u {remote} {branch}, or sync with a branch of its own: --branch checkpoints"
        raise CheckpointError(f"{remote} has no branch {branch} yet", hint)


def _read_trees(world: _World, memory: Memory, base: Base, tip: str, lost: _Meeting | None) -> Trees:
    top, env = world.top, world.env
    specs = pathspecs()
    is_known = lost is not None and lost.base.commit == base.commit
    leaves = lost.trees.base if lost is not None and is_known else read_leaves(top, base.commit, is_wanted, env)
    theirs = read_differing(top, leaves, base.commit, tip, is_wanted, specs, env) if tip else {}
    head = read_differing(top, leaves, base.commit, memory.head, is_wanted, specs, env) if memory.head else {}
    return Trees(leaves, theirs, head)


def _read_queued(world: _World, record: str) -> dict[str, bytes | None]:
    """What an earlier sync wanted to send and could not, by path."""
    if not record:
        return {}
    paths = set(_read_sent(world, record))
    leaves = read_leaves(world.top, record, lambda path: path in paths, world.env) if paths else {}
    contents = read_contents(world.top, [leaf.blob for leaf in leaves.values()], world.env)
    return {path: contents[leaves[path].blob] for path in paths if path in leaves}


def _read_sent(world: _World, record: str) -> list[str]:
    """The paths that a record says are on their way."""
    body = run_git(["log", "-1", "--format=%b", record], world.top, env=world.env).out
    return [path for path in os.fsdecode(body).split("\n") if path and is_wanted(path)]


def _decide(world: _World, work: Work, trees: Trees, queued: Mapping[str, bytes | None], like: str) -> Plan:
    ours = planning.find_ours(work, trees, queued, like)
    for path, content in ours.items():
        leaf = trees.base.get(path)
        if isinstance(content, bytes) and b"\r\n" in content and leaf and blob_id(content, like) != leaf.blob:
            from checkpoint_git.repo.merges.conflicts import read_as_stored  # git may keep other line ends than we see

            ours[path] = read_as_stored(world.top, path, content)
    contents = read_contents(world.top, planning.list_blobs(trees, ours, like), world.env)
    return planning.decide_all(work, trees, ours, contents.get, world.rules, like, world.wish.only)


def _find_ground(world: _World, memory: Memory, tip: str, base: Base) -> Ground | None:
    """Where the checked-out branch stands, None where it shall not move: it follows another, or git is at work."""
    wish = world.wish
    if wish.keep_branch or not world.target.follows or not memory.local or read_operation(world.place.git_dir or ""):
        return None
    if not memory.head:
        return Ground("", tip, "", False)
    common = base.of_head or remembering.find_common(world.top, tip, memory.head, world.env)
    if not common:
        return None
    is_behind = common == memory.head
    elsewhere = is_behind and differs_elsewhere(world.top, memory.head, tip, is_wanted, world.env)
    return Ground(memory.head, tip, common, elsewhere)


def _write(world: _World, meeting: _Meeting) -> list[str]:
    return write_commits(world.top, meeting.shape.drafts, world.names.queue, world.who, world.env)


# how it ends


def _take_in(world: _World, meeting: _Meeting, ids: list[str], attempts: int, lost: int) -> SyncResult:
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
    moved = False
    if not missed and meeting.ground is not None:
        moved, left = _move(world, meeting, ids)
        findings += left
    _remember(world, meeting, ids, now_there, missed)
    did_anything = bool(arrivals or meeting.arrived) or shape.send >= 0
    state = "synced" if did_anything else "current"
    return _result(world, meeting, state, now_there, attempts, lost, moved, findings)


def _merger(world: _World) -> Callable[[str, "bytes | None", bytes, bytes], "bytes | None"]:
    def merge(path: str, base: bytes | None, now: bytes, comes: bytes) -> bytes | None:
        return merge_contents(path, base, now, comes, world.rules)[0] if is_merged(path) else None

    return merge


def _move(world: _World, meeting: _Meeting, ids: list[str]) -> tuple[bool, list[Finding]]:
    """Lets the checked-out branch go along, its index first: a kill between them leaves changes staged."""
    ground, shape, memory = meeting.ground, meeting.shape, meeting.memory
    assert ground is not None
    goal = ids[shape.local] if shape.local >= 0 else ""
    if not goal and ground.common == ground.head and not ground.elsewhere:
        goal = meeting.tip
    if not goal or goal == ground.head:
        return False, []
    files = _list_moved(meeting)
    if not ground.head and ground.tip:  # a pull into a branch without commits goes over files that the index names so
        stage_files(world.top, files, world.env)
        return False, []
    if stage_files(world.top, files, world.env) and move_branch(world.top, memory.local, goal, memory.head, world.env):
        return True, []
    hint = "run the sync again; until then its files show as changed"
    message = "another git command was at work, so the checked-out branch stays where it was"
    return False, [Finding("sync/branch-left", "note", message, hint=hint)]


def _list_moved(meeting: _Meeting) -> list[tuple[str, Leaf | None]]:
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


def _remember(world: _World, meeting: _Meeting, ids: list[str], there: str, missed: set[str]) -> None:
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
    if (there, partial) == (memory.synced, had_partial) and names.queue not in updates:
        return  # nothing to write down
    remembering.write_memory(world.top, updates, world.env)


def _write_partial(world: _World, meeting: _Meeting, there: str, missed: set[str]) -> str:
    """What this work tree has taken in of a commit: all but what is open, and what could not be written."""
    from checkpoint_git.repo.sync.commits import Change, Draft

    changes: list[Change] = [(path, meeting.trees.base.get(path)) for path in sorted(meeting.plan.open)]
    changes += [(path, meeting.plan.ours[path]) for path in sorted(missed)]
    draft = Draft((there,), changes, "checkpoint sync: taken in")
    return write_commits(world.top, [draft], world.names.partial, world.who, world.env)[0]


def _queue_offline(world: _World, error: UnreachableError, attempts: int, lost: int) -> SyncResult:
    """There was no answer: decide against what was last seen, and let that wait."""
    memory = remembering.read_memory(world.top, world.names, world.local, world.env)
    if world.target.follows and memory.head and not memory.theirs:
        seen = remembering.read_ref(world.top, f"refs/remotes/{world.target.remote}/{world.target.branch}", world.env)
        memory = memory._replace(theirs=seen or memory.head)
    was_sent = attempts > 0 and memory.queue is not None
    meeting = _meet(world, _read_work(world), seen=memory.theirs)
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


def _give_up(world: _World, meeting: _Meeting, reply: Reply, attempts: int, lost: int) -> SyncResult:
    """What was decided stays in the queue; nothing came in."""
    state, code, what, hint = _GIVEN_UP[reply.kind]
    said = f": {reply.said}" if reply.said else ""
    finding = Finding(code, "error", f"{what}; it waits in this clone{said}", hint=hint)
    findings = [*meeting.plan.findings, finding]
    return _result(world, meeting, state, meeting.tip, attempts, lost, False, findings)


def _result(
    world: _World, meeting: _Meeting, state: str, commit: str, attempts: int, lost: int, moved: bool,
    findings: list[Finding],
) -> SyncResult:  # fmt: skip
    plan = meeting.plan
    ways = {path: planning.how_of(plan, meeting.trees, path, meeting.like) for path in plan.decided}
    sent, brought, merged = (
        sorted(p for p, how in ways.items() if how == name) for name in ("sent", "brought", "merged")
    )
    sent = sorted({*sent, *meeting.arrived} - {*merged})
    remote, branch, _ = world.target
    return SyncResult(remote, branch, state, commit, sent, brought, merged, attempts, lost, moved, findings)
