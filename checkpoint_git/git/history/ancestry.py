"""Which commits lie in which others' history, whatever their clocks said; it knows no messages."""

from collections.abc import Collection, Iterable

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import environment, read_blocks
from checkpoint_git.git.run import GitMissingError, stream_git

Pair = tuple[str, str]  # ids: the one that may lie in the history of the other, and the other

_SINGLE = 16  # questions that are asked one by one, whatever the history's length
_WORTH = 5_000  # commits that git walks through in the time in which it starts


def read_pairs(work_tree: str, tip: str, pairs: Collection[Pair], count: int) -> frozenset[Pair]:
    """The pairs whose first commit lies in the second's history.

    tip: a commit whose history holds all the second ones. count: about how many commits that is.
    """
    if len(pairs) <= _SINGLE + count // _WORTH:
        return frozenset(pair for pair in pairs if _is_ancestor(work_tree, pair))
    return _walk(work_tree, tip, pairs)


def _is_ancestor(work_tree: str, pair: Pair) -> bool:
    try:
        for _ in stream_git(["merge-base", "--is-ancestor", *pair], work_tree, env=environment()):
            continue
    except GitMissingError:
        raise
    except CheckpointError:  # it says no
        return False
    return True


def _walk(work_tree: str, tip: str, pairs: Iterable[Pair]) -> frozenset[Pair]:
    """All answers from one walk from the tip: every commit hands on to its parents whose history they are in."""
    askers: dict[str, list[str]] = {}
    for older, newer in pairs:
        askers.setdefault(older, []).append(newer)
    bits = {newer: 1 << at for at, newer in enumerate(sorted({newer for _, newer in pairs}))}
    marks: dict[str, int] = {}
    found: set[Pair] = set()
    for block in read_blocks(work_tree, ["log", "-z", "--topo-order", "--format=%H %P", tip, "--"]):
        for line in block.decode().split("\0"):
            commit, _, parents = line.partition(" ")
            mark = marks.pop(commit, 0)
            found.update((commit, newer) for newer in askers.get(commit, ()) if mark & bits[newer])
            mark |= bits.get(commit, 0)
            if mark:
                for parent in parents.split():
                    marks[parent] = marks.get(parent, 0) | mark
    return frozenset(found)
