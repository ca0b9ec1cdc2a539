"""Merge bases of many merges at once: from one walk through the history, where one git process a merge would cost more.

It knows ids only.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import run_git

_FEW = 200  # merges whose bases git is asked for one by one: a walk through all of a long history costs as much
_FIRST, _SECOND, _OLD = 1, 2, 4

Env = Mapping[str, str] | None


class Graph(NamedTuple):
    """A history. parents: of every commit in it. places: a commit's place in an order where none comes before its
    children.
    """

    parents: Mapping[str, tuple[str, ...]]
    places: Mapping[str, int]


def read_bases_of_all(cwd: str, sides: Sequence[tuple[str, ...]], env: Env = None) -> list[list[str]]:
    """The merge bases of each pair of commits (full ids), as `git merge-base --all` has them, in no order; of more
    than two commits too.
    """
    pairs = {pair for pair in sides if len(pair) == 2}
    if len(pairs) <= _FEW:
        return [_ask(cwd, each, env) for each in sides]
    graph = read_graph(cwd, sorted({one for pair in pairs for one in pair}), env)
    return [find_bases(graph, each[0], each[1]) if len(each) == 2 else _ask(cwd, each, env) for each in sides]


def _ask(cwd: str, commits: Sequence[str], env: Env) -> list[str]:
    result = run_git(["merge-base", "--all", *commits], cwd, env=env, check=False)
    return result.out.decode().split() if result.code == 0 else []


def read_graph(cwd: str, tips: Sequence[str], env: Env = None) -> Graph:
    """The history of some commits. Raises CheckpointError where git knows one of them not."""
    stdin = "".join(f"{tip}\n" for tip in tips).encode()
    result = run_git(["rev-list", "--topo-order", "--parents", "--stdin"], cwd, stdin=stdin, env=env, check=False)
    if result.code != 0:
        raise CheckpointError("the history could not be read whole", "git fsck tells what is missing")
    parents: dict[str, tuple[str, ...]] = {}
    for line in result.out.decode().splitlines():
        one, *above = line.split()
        parents[one] = tuple(above)
    return Graph(parents, {one: place for place, one in enumerate(parents)})


def find_bases(graph: Graph, first: str, second: str) -> list[str]:
    """The best common ancestors of two commits of the graph: those that are in no other one's history.

    Commits are visited children first, so that whatever lies behind a base is known as such before its turn comes.
    """
    marks = {first: _FIRST}
    marks[second] = marks.get(second, 0) | _SECOND
    queue: list[tuple[int, str]] = []
    for one in marks:
        heappush(queue, (graph.places[one], one))
    fresh = len(queue)  # of those in the queue that do not lie behind a base
    found = []
    while fresh:
        _, one = heappop(queue)
        mark = marks[one]
        fresh -= not mark & _OLD
        if mark == _FIRST | _SECOND:
            found.append(one)
            mark |= _OLD
        for parent in graph.parents[one]:
            before = marks.get(parent)
            after = (before or 0) | mark
            if before is None:
                heappush(queue, (graph.places[parent], parent))
                fresh += not after & _OLD
            elif not before & _OLD and after & _OLD:
                fresh -= 1
            marks[parent] = after
    return found
