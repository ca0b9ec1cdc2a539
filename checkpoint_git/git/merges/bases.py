"""Merge bases: of one merge with the bases below them, of many merges from one walk through the
history. Ids only.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.git.run import Env, run_git

# merges whose bases git is asked for one by one: a walk through all of a long history costs as much
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
    """Several after a criss-cross, none for unrelated histories."""
    result = run_git(
        ["merge-base", *(["--octopus"] if octopus else []), "--all", *commits],
        cwd,
        env=env,
        check=False,
    )
    if result.code != 0:
        return []
    return result.out.decode().split()


def is_ancestor(cwd: str, commit: str, of: str, env: Env = None) -> bool:
    return (
        commit == of
        or run_git(["merge-base", "--is-ancestor", commit, of], cwd, env=env, check=False).code == 0
    )


def read_bases(cwd: str, parents: Sequence[str], env: Env = None) -> tuple[MergeBase, ...]:
    return _add_below(cwd, read_base_ids(cwd, parents, env, octopus=len(parents) > 2), 0, env)


def _add_below(cwd: str, ids: list[str], depth: int, env: Env) -> tuple[MergeBase, ...]:
    # git merges the bases one after the other: each with the merge of those before it
    bases = []
    for number, one in enumerate(ids):
        below = read_base_ids(cwd, [one, *ids[:number]], env) if number and depth < _DEEPEST else []
        bases.append(MergeBase(one, _add_below(cwd, below, depth + 1, env)))
    return tuple(bases)


def list_ids(bases: Iterable[MergeBase]) -> list[str]:
    return [one for base in bases for one in (base.id, *list_ids(base.below))]


def read_all_bases(
    cwd: str, sides: Sequence[tuple[str, ...]], env: Env = None
) -> list[tuple[MergeBase, ...]]:
    """The merge bases of each merge's parents; where they are several, or more than two parents,
    git is asked again.
    """
    found = read_bases_of_all(cwd, sides, env)
    return [
        (MergeBase(ids[0], ()),)
        if len(ids) == 1 and len(parents) == 2
        else read_bases(cwd, parents, env)
        for parents, ids in zip(sides, found, strict=True)
    ]


def read_bases_of_all(
    cwd: str, sides: Sequence[tuple[str, ...]], env: Env = None
) -> list[list[str]]:
    """Of each pair (full ids) or more, as `git merge-base --all` has them, in no order."""
    pairs = {pair for pair in sides if len(pair) == 2}
    if len(pairs) <= _FEW:
        return [read_base_ids(cwd, each, env) for each in sides]
    graph = read_graph(cwd, sorted({one for pair in pairs for one in pair}), env)
    return [
        find_bases(graph, each[0], each[1]) if len(each) == 2 else read_base_ids(cwd, each, env)
        for each in sides
    ]


def read_graph(cwd: str, tips: Sequence[str], env: Env = None) -> Graph:
    stdin = "".join(f"{tip}\n" for tip in tips).encode()
    result = run_git(
        ["rev-list", "--topo-order", "--parents", "--stdin"], cwd, stdin=stdin, env=env, check=False
    )
    if result.code != 0:
        raise CheckpointError(
            "the history could not be read whole",
            command("git", "fsck", more=" shows what is missing"),
        )

    parents: dict[str, tuple[str, ...]] = {}
    for line in result.out.decode().splitlines():
        one, *above = line.split()
        parents[one] = tuple(above)

    return Graph(parents, {one: place for place, one in enumerate(parents)})


# Commits are visited children first, so that whatever is behind a base is known as such before its
# turn comes.
def find_bases(graph: Graph, first: str, second: str) -> list[str]:
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
