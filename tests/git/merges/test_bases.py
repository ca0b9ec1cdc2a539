"""Merge bases of many merges at once: the same that git names one by one."""

import random
import subprocess
from collections.abc import Sequence

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.merges import bases
from checkpoint_git.git.merges.bases import (
    MergeBase,
    find_bases,
    is_ancestor,
    list_ids,
    read_all_bases,
    read_base_ids,
    read_bases,
    read_bases_of_all,
    read_graph,
)
from checkpoint_git.git.run import Env
from tests.support.repos import GitRepo


def grow(repo: GitRepo, seed: int, count: int = 60) -> list[str]:
    """A history full of merges, criss-cross ones, two roots and clocks that go wrong; its commits,
    oldest first.
    """
    chance = random.Random(seed)  # noqa: S311 (a history, no secret)
    stream, parents = "", list[list[int]]()
    for mark in range(1, count + 1):
        most = 0 if mark == 1 or mark == 30 else chance.choice((1, 1, 2, 2))
        found = chance.sample(range(max(1, mark - 8), mark), min(most, mark - 1)) if most else []
        parents.append(found)
        stream += f"commit refs/heads/b{mark}\nmark :{mark}\n"
        stream += f"committer a <a@b> {chance.randrange(9999)} +0000\ndata 1\nx\n"
        stream += "".join(
            f"{'merge' if at else 'from'} :{parent}\n" for at, parent in enumerate(found)
        )
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=repo.path,
        input=stream.encode(),
        check=True,
    )
    return repo.git("rev-parse", *(f"b{mark}" for mark in range(count - 9, count + 1))).split()


@pytest.mark.parametrize("seed", range(3))
def test_one_walk_names_the_bases_that_git_names(
    seed: int, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def read_some(cwd: str, commits: Sequence[str], env: Env = None) -> list[str]:
        asked.append(commits)
        return read_base_ids(cwd, commits, env)

    monkeypatch.setattr(bases, "read_base_ids", read_some)
    monkeypatch.setattr(bases, "_FEW", 10)
    ids = grow(repo, seed)
    sides: list[tuple[str, ...]] = [(left, right) for left in ids for right in ids[:3]]
    sides.append(tuple(ids[:3]))
    found = read_bases_of_all(str(repo.path), sides)
    assert asked == sides[-1:], "the walk is for pairs"
    for parents, some in zip(sides, found, strict=True):
        assert sorted(some) == sorted(read_with_git(repo, parents))


def read_with_git(repo: GitRepo, parents: tuple[str, ...]) -> list[str]:
    return repo.git("merge-base", "--all", *parents, check=False).split()


def test_few_pairs_and_more_than_two_commits_are_asked_of_git(repo: GitRepo) -> None:
    ids = grow(repo, 7)
    assert len(ids) <= bases._FEW
    asked = [(ids[0], ids[1]), (ids[0], ids[1], ids[2])]
    found = read_bases_of_all(str(repo.path), asked)
    assert [sorted(some) for some in found] == [
        sorted(read_with_git(repo, parents)) for parents in asked
    ]


def test_what_a_graph_lacks_is_an_error_with_the_command_that_names_it(repo: GitRepo) -> None:
    known = repo.commit("root")
    with pytest.raises(CheckpointError, match="the history could not be read whole") as raised:
        read_graph(str(repo.path), [known, "1" * 40])
    assert str(raised.value.hint) == "git fsck shows what is missing"


def test_a_commit_is_an_ancestor_of_what_was_made_on_it(repo: GitRepo) -> None:
    cwd = str(repo.path)
    first, second = repo.commit("first"), repo.commit("second")
    assert is_ancestor(cwd, first, second)
    assert is_ancestor(cwd, second, second)
    assert not is_ancestor(cwd, second, first)
    assert not is_ancestor(cwd, "1" * 40, second), "nobody knows"


def test_a_commit_is_its_own_base(repo: GitRepo) -> None:
    ids = grow(repo, 1)
    graph = read_graph(str(repo.path), ids)
    assert find_bases(graph, ids[3], ids[3]) == [ids[3]]


def test_merge_bases_of_merge_bases_are_followed_so_far_and_no_further(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each level merges the two lines crosswise, so that the next one has two bases
    root = repo.commit("root")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    pair = [repo.git("commit-tree", "-p", root, "-m", name, tree) for name in ("left", "right")]
    levels = [pair]
    for number in range(3):
        words = [("-p", pair[0], "-p", pair[1]), ("-p", pair[1], "-p", pair[0])]
        pair = [repo.git("commit-tree", *each, "-m", f"{number} {each[1]}", tree) for each in words]
        levels.append(pair)

    def depth_of(found: tuple[bases.MergeBase, ...]) -> int:
        return 1 + max(depth_of(base.below) for base in found) if found else 0

    asked: list[Sequence[str]] = []

    def read_some(cwd: str, parents: Sequence[str], env: Env = None) -> tuple[MergeBase, ...]:
        asked.append(parents)
        return read_bases(cwd, parents, env)

    monkeypatch.setattr(bases, "read_bases", read_some)
    sides = [tuple(levels[0]), tuple(pair), (pair[0], root)]
    found = read_all_bases(str(repo.path), sides)[1]
    assert asked == [tuple(pair)], "of one base no more is to be known"
    assert sorted(base.id for base in found) == sorted(levels[2])
    # the second is merged over what both have in common
    assert [len(base.below) for base in found] == [
        0,
        2,
    ]
    assert depth_of(found) == 4  # three crosses, and the root
    for limit in (0, 1, 2):
        monkeypatch.setattr(bases, "_DEEPEST", limit)
        assert depth_of(read_bases(str(repo.path), pair)) == limit + 1


def test_a_merge_of_three_has_what_all_of_them_share(repo: GitRepo) -> None:
    root = repo.commit("root")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    middle = repo.git("commit-tree", "-p", root, "-m", "middle", tree)
    parents = [repo.git("commit-tree", "-p", above, "-m", name, tree) for above, name in
               ((middle, "a"), (middle, "b"), (root, "c"))]  # fmt: skip
    assert [base.id for base in read_bases(str(repo.path), parents)] == [root]
    assert [base.id for base in read_bases(str(repo.path), parents[:2])] == [middle]
    pair = (parents[0], parents[1])
    assert read_all_bases(str(repo.path), [pair, tuple(parents)]) == [
        (MergeBase(middle, ()),),
        (MergeBase(root, ()),),
    ]
    assert read_all_bases(str(repo.path), []) == []
    assert list_ids([MergeBase("a", (MergeBase("b", ()),)), MergeBase("c", ())]) == ["a", "b", "c"]
