"""One look at the work tree and the branch together, and what it comes to. It asks no remote and changes nothing."""

import os
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.git.merges.conflicts import read_operation
from checkpoint_git.git.run import run_git
from checkpoint_git.tools.sync import plan as planning
from checkpoint_git.tools.sync import state as remembering
from checkpoint_git.tools.sync.context import World
from checkpoint_git.tools.sync.files import Work, is_wanted, pathspecs, read_work
from checkpoint_git.tools.sync.plan import Ground, Plan, Shape, Trees
from checkpoint_git.tools.sync.state import Base, Memory
from checkpoint_git.tools.sync.trees import (
    Leaf,
    Leaves,
    blob_id,
    differs_elsewhere,
    had_blob,
    read_contents,
    read_differing,
    read_leaves,
    read_object_format,
)

_EMPTY_IDS = {"sha1": "0" * 40, "sha256": "0" * 64}


class Meeting(NamedTuple):
    """One look at both sides and what it comes to. arrived: what an earlier attempt sent, and now is there. leaves: the
    files of the base's commit, while trees.base has what each file was made from.
    """

    memory: Memory
    tip: str
    trees: Trees
    plan: Plan
    ground: Ground | None
    shape: Shape
    like: str
    arrived: list[str]
    base: Base
    leaves: Leaves
    queued: dict[str, bytes | None]


def read_own(world: World) -> Work:
    return read_work(world.place, world.top, world.env, with_ignored=not world.target.follows)


def meet(world: World, work: Work, *, is_there: bool = True, seen: str = "", lost: Meeting | None = None) -> Meeting:
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
    leaves = trees.base
    trees = trees._replace(base={**leaves, **_find_switched(world, memory, base, trees)})
    like = tip or memory.head or _EMPTY_IDS[read_object_format(top, env)]
    queued = lost.queued if lost else _read_queued(world, queue.record if queue else "")
    put_back = _find_put_back(world, work, memory, base, trees, like)
    plan = _decide(world, work, trees, planning.find_ours(work, trees, queued, like, put_back), like)
    is_whole = not plan.open and not world.wish.only and not work.sparse - work.contents.keys()
    ground = _find_ground(world, memory, tip, base) if is_whole else None
    common = leaves
    if ground is not None and ground.head and ground.common != base.commit:
        common = read_differing(top, trees.theirs, tip, ground.common, is_wanted, pathspecs(), env)
    shape = planning.plan_commits(plan, trees, common, ground, tip, like, older, sent=not seen)
    return Meeting(memory, tip, trees, plan, ground, shape, like, came_before, base, leaves, queued)


def _check_ground(world: World, memory: Memory, tip: str) -> None:
    """Raises CheckpointError where the first push of a branch would be ours: it would have no history but ours."""
    if world.target.follows and memory.head and not tip:
        remote, branch, _ = (escape_controls(str(part)) for part in world.target)
        push = f"git push -u {quote_word(remote)} {quote_word(branch)}"
        hint = f"{push}, or sync with a branch of its own: --branch checkpoints"
        raise CheckpointError(f"{remote} has no branch {branch} yet", hint)


def _read_trees(world: World, memory: Memory, base: Base, tip: str, lost: Meeting | None) -> Trees:
    top, env = world.top, world.env
    specs = pathspecs()
    is_known = lost is not None and lost.base.commit == base.commit
    leaves = lost.leaves if lost is not None and is_known else read_leaves(top, base.commit, is_wanted, env)
    theirs = read_differing(top, leaves, base.commit, tip, is_wanted, specs, env) if tip else {}
    head = read_differing(top, leaves, base.commit, memory.head, is_wanted, specs, env) if memory.head else {}
    return Trees(leaves, theirs, head)


def _read_queued(world: World, record: str) -> dict[str, bytes | None]:
    """What an earlier sync wanted to send and could not, by path."""
    if not record:
        return {}
    paths = set(_read_sent(world, record))
    leaves = read_leaves(world.top, record, lambda path: path in paths, world.env) if paths else {}
    contents = read_contents(world.top, [leaf.blob for leaf in leaves.values()], world.env)
    return {path: contents[leaves[path].blob] for path in paths if path in leaves}


def _read_sent(world: World, record: str) -> list[str]:
    """The paths that a record says are on their way."""
    body = run_git(["log", "-1", "--format=%b", record], world.top, env=world.env).out
    return [path for path in os.fsdecode(body).split("\n") if path and is_wanted(path)]


def _is_met(base: Base, memory: Memory) -> bool:
    """Whether the base is what was last taken in, and nothing that HEAD has."""
    return bool(base.commit) and base.commit in (memory.partial, memory.synced) and not base.of_head


def _find_switched(world: World, memory: Memory, base: Base, trees: Trees) -> Leaves:
    """Files that a switch of HEAD put back to an older version of the branch's: what they hold was made from that."""
    if not _is_met(base, memory) or memory.was_at in ("", memory.head):
        return {}
    before = read_differing(world.top, trees.head, memory.head, memory.was_at, is_wanted, pathspecs(), world.env)
    changed = {path: leaf for path, leaf in trees.head.items() if leaf not in (before.get(path), trees.base.get(path))}
    return {path: leaf for path, leaf in changed.items() if had_blob(world.top, memory.met, path, leaf.blob, world.env)}


def _find_put_back(world: World, work: Work, memory: Memory, base: Base, trees: Trees, like: str) -> set[str]:
    """Files that git put back to a version which the branch has left behind: a switch or a reset, nobody's change."""
    if not _is_met(base, memory):
        return set()
    clean = planning.find_clean(work, trees, like)
    return {path for path, blob in clean.items() if had_blob(world.top, memory.met, path, blob, world.env)}


def _decide(world: World, work: Work, trees: Trees, ours: dict[str, bytes | Leaf | None], like: str) -> Plan:
    for path, content in ours.items():
        leaf = trees.base.get(path)
        if isinstance(content, bytes) and b"\r\n" in content and leaf and blob_id(content, like) != leaf.blob:
            from checkpoint_git.git.merges.conflicts import read_as_stored  # git may keep other line ends than we see

            ours[path] = read_as_stored(world.top, path, content)
    contents = read_contents(world.top, planning.list_blobs(trees, ours, like), world.env)
    return planning.decide_all(work, trees, ours, contents.get, world.rules, like, world.wish.only)


def _find_ground(world: World, memory: Memory, tip: str, base: Base) -> Ground | None:
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
