"""Merge bases: of one merge with the bases below them, of many merges from one walk through the
history. Ids only.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.git.run import Env, run_git

# merges whose bases git is asked for one by one: a walk through a long history costs as much
_FEW = 200
_DEEPEST = 8  # how far merge bases of merge bases are followed
_FIRST, _SECOND, _OLD = 1, 2, 4


class MergeBase(NamedTuple):
    id: str
    # the bases between this one and those before it, of which git makes a virtual one
    below: tuple["MergeBase", ...]


class Graph(NamedTuple):
    """places: a commit's place in an order where none comes before its children."""

    parents: Mapping[str, tuple[str, ...]]
    places: Mapping[str, int]


def read_base_ids(
    cwd: str, commits: Sequence[str], env: Env = None, *, octopus: bool = False
) -> list[str]:
    """Return the merge bases: several after a criss-cross, none for unrelated histories."""
    words = ["merge-base", "--all"]
    if octopus:
        words.append("--octopus")
    result = run_git([*words, *commits], cwd, env=env, check=False)
    if result.code != 0:
        return []
    return result.out.decode().split()


def is_ancestor(cwd: str, commit: str, of: str, env: Env = None) -> bool:
    if commit == of:
        return True
    words = ["merge-base", "--is-ancestor", commit, of]
    return run_git(words, cwd, env=env, check=False).code == 0


def read_bases(cwd: str, parents: Sequence[str], env: Env = None) -> tuple[MergeBase, ...]:
    return _add_below(cwd, read_base_ids(cwd, parents, env, octopus=len(parents) > 2), 0, env)


def _add_below(cwd: str, ids: list[str], depth: int, env: Env) -> tuple[MergeBase, ...]:
    # git merges the bases one after the other: each with the merge of those before it
    bases = []
    for number, base in enumerate(ids):
        below = list[str]()
        if number and depth < _DEEPEST:
            below = read_base_ids(cwd, [base, *ids[:number]], env)
        bases.append(MergeBase(base, _add_below(cwd, below, depth + 1, env)))
    return tuple(bases)


def list_ids(bases: Iterable[MergeBase]) -> list[str]:
    """Return the ids of merge bases and of those below them."""
    ids = []
    for base in bases:
        ids += [base.id, *list_ids(base.below)]
    return ids


def read_all_bases(
    cwd: str, sides: Sequence[tuple[str, ...]], env: Env = None
) -> list[tuple[MergeBase, ...]]:
    """Return the merge bases of each merge's parents.

    Where they are several, or more than two parents, git is asked again.
    """
    found: list[tuple[MergeBase, ...]] = []
    for parents, ids in zip(sides, read_bases_of_all(cwd, sides, env), strict=True):
        if len(ids) == 1 and len(parents) == 2:
            found.append((MergeBase(ids[0], ()),))
        else:
            found.append(read_bases(cwd, parents, env))
    return found


def read_bases_of_all(
    cwd: str, sides: Sequence[tuple[str, ...]], env: Env = None
) -> list[list[str]]:
    """Return the merge bases of each pair (full ids) or more, in no order.

    They are those that `git merge-base --all` has.
    """
    pairs = {parents for parents in sides if len(parents) == 2}
    if len(pairs) <= _FEW:
        return [read_base_ids(cwd, parents, env) for parents in sides]
    graph = read_graph(cwd, sorted(set[str]().union(*pairs)), env)
    bases = []
    for parents in sides:
        if len(parents) == 2:
            bases.append(find_bases(graph, parents[0], parents[1]))
        else:
            bases.append(read_base_ids(cwd, parents, env))
    return bases


def read_graph(cwd: str, tips: Sequence[str], env: Env = None) -> Graph:
    stdin = "".join(f"{tip}\n" for tip in tips).encode()
    words = ["rev-list", "--topo-order", "--parents", "--stdin"]
    result = run_git(words, cwd, stdin=stdin, env=env, check=False)
    if result.code != 0:
        raise CheckpointError(
            "the history could not be read whole",
            command("git", "fsck", more=" shows what is missing"),
        )

    parents: dict[str, tuple[str, ...]] = {}
    for line in result.out.decode().splitlines():
        commit, *above = line.split()
        parents[commit] = tuple(above)

    return Graph(parents, {commit: place for place, commit in enumerate(parents)})


# Commits are visited children first, so that whatever is behind a base is known as such before its
# turn comes.
def find_bases(graph: Graph, first: str, second: str) -> list[str]:
    marks = {first: _FIRST}
    marks[second] = marks.get(second, 0) | _SECOND
    queue: list[tuple[int, str]] = []
    for tip in marks:
        heappush(queue, (graph.places[tip], tip))
    fresh = len(queue)  # of those in the queue that do not lie behind a base
    found = []
    while fresh:
        _, commit = heappop(queue)
        mark = marks[commit]
        fresh -= not mark & _OLD
        if mark == _FIRST | _SECOND:
            found.append(commit)
            mark |= _OLD
        for parent in graph.parents[commit]:
            before = marks.get(parent)
            after = (before or 0) | mark
            if before is None:
                heappush(queue, (graph.places[parent], parent))
                fresh += not after & _OLD
            elif not before & _OLD and after & _OLD:
                fresh -= 1
            marks[parent] = after

    return found
