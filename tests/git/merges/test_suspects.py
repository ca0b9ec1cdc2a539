"""Which merges are worth a look, in real repositories."""

from collections.abc import Iterator

import pytest

from checkpoint_git.git.merges.merges import read_files_at
from checkpoint_git.git.merges.suspects import (
    read_later_versions,
    read_outside,
    read_recent_merges,
    read_suspects,
)
from tests.support.repos import GitRepo

PATH = ".checkpoints/build.checkpoint.json"
OTHER = "sub/.checkpoints/audit.checkpoint.json"
DAY = 86_400
NOW = 1_772_452_800


@pytest.fixture
def diverged(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitRepo]:
    """Left changed one checkpoint, right another; left is checked out. All is a day old."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{NOW - DAY} +0000")
    repo.diverge({PATH: "base\n", OTHER: "base\n"}, left={PATH: "left\n"}, right={OTHER: "right\n"})
    return (yield repo)


def merge(repo: GitRepo, other: str = "right", **files: str) -> str:
    repo.run("git", "merge", "-q", "--no-commit", "--no-ff", other)
    for name, text in files.items():
        repo.write({"build": PATH, "audit": OTHER}[name], text)
    return repo.commit("a merge")


def suspects(repo: GitRepo) -> list[str]:
    cwd = str(repo.path)
    return [commit.id for commit in read_suspects(cwd, read_recent_merges(cwd, NOW))]


# the window


def test_merges_are_found_newest_first(diverged: GitRepo) -> None:
    one = merge(diverged)
    diverged.git("checkout", "-q", "right")
    diverged.write("readme", "x")
    diverged.commit("more")
    diverged.git("checkout", "-q", "left")
    two = merge(diverged)
    assert read_recent_merges(str(diverged.path), NOW) == [two, one]


def test_old_merges_are_left_alone(diverged: GitRepo) -> None:
    merge(diverged)
    assert read_recent_merges(str(diverged.path), NOW + 90 * DAY) == []


def test_a_repository_without_commits_or_merges_has_none(repo: GitRepo) -> None:
    assert read_recent_merges(str(repo.path), NOW) == []
    repo.commit("one")
    assert read_recent_merges(str(repo.path), NOW) == []
    assert read_suspects(str(repo.path), []) == []


# suspects


def test_a_merge_that_took_each_file_from_its_only_writer_is_no_suspect(diverged: GitRepo) -> None:
    merge(diverged)
    assert suspects(diverged) == []


@pytest.mark.parametrize(
    "files", [{"audit": "base\n"}, {"build": "base\n"}, {"build": "neither\n"}, {"audit": "left\n"}]
)
def test_a_merge_that_took_something_else_is_one(diverged: GitRepo, files: dict[str, str]) -> None:
    commit = merge(diverged, **files)
    assert suspects(diverged) == [commit]


def test_a_side_that_was_thrown_away_makes_a_suspect(diverged: GitRepo) -> None:
    diverged.git("merge", "-q", "-s", "ours", "--no-edit", "right")
    assert suspects(diverged) == [diverged.git("rev-parse", "HEAD")]


def test_a_file_that_both_sides_changed_makes_a_suspect(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "right")
    diverged.write(PATH, "right\n")
    diverged.commit("right too")
    diverged.git("checkout", "-q", "left")
    assert suspects(diverged) == []
    commit = merge(diverged, build="both\n")
    assert suspects(diverged) == [commit]


def test_what_both_parents_have_and_the_merge_has_not_makes_a_suspect(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "-b", "twin", "left")
    diverged.write("readme", "x")
    diverged.commit("twin")
    diverged.git("checkout", "-q", "left")
    diverged.write("more", "y")
    diverged.commit("more")
    commit = merge(diverged, "twin", build="base\n")
    assert commit in suspects(diverged)


def test_merges_that_touch_no_checkpoint_are_none(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "-b", "docs", "left")
    diverged.write("readme", "x")
    diverged.commit("docs")
    diverged.git("checkout", "-q", "left")
    diverged.write("more", "y")
    diverged.commit("more")
    merge(diverged, "docs")
    assert suspects(diverged) == []


def test_a_name_with_a_line_end_in_it_is_looked_at(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "right")
    diverged.write(".checkpoints/a\nb.checkpoint.json", "x")
    diverged.commit("odd")
    diverged.git("checkout", "-q", "left")
    commit = merge(diverged)
    assert commit in suspects(diverged)


def test_a_criss_cross_is_looked_at(diverged: GitRepo) -> None:
    left, right = diverged.git("rev-parse", "left"), diverged.git("rev-parse", "right")
    for branch, other in (("left", right), ("right", left)):
        diverged.git("checkout", "-q", branch)
        diverged.git("merge", "-q", "--no-edit", other)
        diverged.write(PATH if branch == "left" else OTHER, f"{branch} again\n")
        diverged.commit("again")
    commit = merge(diverged, "left")
    assert commit in suspects(diverged)


# what came later


def test_the_versions_after_a_merge_are_those_of_its_descendants(diverged: GitRepo) -> None:
    commit = merge(diverged, build="merged\n")
    diverged.git("checkout", "-q", "-b", "aside", "left~1")
    diverged.write(PATH, "aside\n")
    diverged.commit("aside")
    diverged.git("checkout", "-q", "left")
    for text in ("one\n", "two\n"):
        diverged.write(PATH, text)
        diverged.commit(text)
    diverged.run("git", "merge", "-q", "--no-commit", "aside")
    diverged.write(PATH, "three\n")
    diverged.commit("three")
    assert read_later_versions(str(diverged.path), commit, PATH) == [b"three\n", b"two\n", b"one\n"]
    assert read_later_versions(str(diverged.path), commit, OTHER) == []


def test_commits_outside_of_heads_history_are_told(diverged: GitRepo) -> None:
    main, right = diverged.git("rev-parse", "main", "right").split()
    assert read_outside(str(diverged.path), []) == set()
    assert read_outside(str(diverged.path), [main, right]) == {right}
    assert read_outside(str(diverged.path), [main, "0" * 40]) == {main, "0" * 40}, "nothing is known then"


def test_heads_files_are_read_and_links_are_none(diverged: GitRepo) -> None:
    (diverged.path / ".checkpoints/link.checkpoint.json").symlink_to("build.checkpoint.json")
    diverged.commit("link")
    found = read_files_at(str(diverged.path), [PATH, ".checkpoints/link.checkpoint.json", "nothing"])
    assert found == {PATH: b"left\n", ".checkpoints/link.checkpoint.json": None, "nothing": None}


def test_a_path_that_looks_like_magic_is_looked_up_as_it_stands(repo: GitRepo) -> None:
    odd = [":x/.checkpoints/build.checkpoint.json", ":(top)/.checkpoints/build.checkpoint.json"]
    for path in odd:
        repo.write(path, "odd\n")
    repo.commit("odd names")
    assert read_files_at(str(repo.path), odd) == dict.fromkeys(odd, b"odd\n")
