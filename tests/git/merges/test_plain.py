"""The merge that a server makes, whatever this clone is set up with."""

from pathlib import Path

import pytest

from checkpoint_git.git.merges.merges import MergeCommit, read_commits, read_files_at, read_touched
from checkpoint_git.git.merges.trees import (
    Note,
    TreeMerge,
    find_stopped,
    is_dropped,
    merge_by_lines,
    open_plain,
)
from tests.scenarios.driven import drive
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo

PATH = ".checkpoints/build.checkpoint.json"
LINES = "".join(f"{number}\n" for number in range(20))


@pytest.fixture
def diverged(repo: GitRepo) -> GitRepo:
    """Left changed the first line and right the last; left is checked out."""
    sides = {"left": {PATH: "left\n" + LINES}, "right": {PATH: LINES + "right\n"}}
    return repo.diverge({PATH: LINES, "code": "base\n"}, **sides)


def commit_of(repo: GitRepo) -> MergeCommit:
    (commit,) = read_commits(str(repo.path), [repo.git("rev-parse", "HEAD")])
    return commit


def ids(repo: GitRepo) -> tuple[str, str]:
    return repo.git("rev-parse", "left"), repo.git("rev-parse", "right")


@NEEDS_MERGE_TREE
def test_lines_are_merged_and_no_object_is_left_behind(diverged: GitRepo) -> None:
    drive(diverged)
    before = diverged.git("count-objects", "-v")
    with open_plain(str(diverged.path)) as plain:
        made = merge_by_lines(plain, *ids(diverged))
        (file,) = read_touched(
            plain.cwd, MergeCommit(made.tree, made.tree, ids(diverged), ""), plain.env
        ).files
        assert file.result == f"left\n{LINES}right\n".encode()
        assert read_files_at(plain.cwd, [PATH, "gone"], plain.env, made.tree) == {
            PATH: file.result,
            "gone": None,
        }
        assert (find_stopped(made), made.unsettled) == ({}, [])
    assert diverged.git("count-objects", "-v") == before


@NEEDS_MERGE_TREE
def test_what_lines_cannot_merge_is_named(diverged: GitRepo) -> None:
    for name in ("right", "left"):
        diverged.git("checkout", "-q", name)
        diverged.write(PATH, f"{name}\n")
        diverged.write("code", f"{name}\n")
        diverged.commit("conflict")
    with open_plain(str(diverged.path)) as plain:
        made = merge_by_lines(plain, *ids(diverged))
    assert find_stopped(made) == {PATH: ("contents",)}
    assert [one.path for one in made.unsettled] == [PATH, "code"]


def test_a_note_counts_for_checkpoints_alone() -> None:
    note = Note("rename/rename", ("code", PATH), "moved twice")
    assert find_stopped(TreeMerge("", False, [], [note], frozenset())) == {PATH: ("rename/rename",)}


@NEEDS_MERGE_TREE
@pytest.mark.parametrize(
    "lines", ["* merge=union", "* merge=ours-always", "* -merge", "* text eol=crlf"]
)
def test_no_attribute_has_a_say(lines: str, diverged: GitRepo, tmp_path: Path) -> None:
    diverged.git("config", "merge.ours-always.driver", "true")
    diverged.git("config", "core.attributesFile", str(tmp_path / "attributes"))
    (tmp_path / "attributes").write_text(lines)
    for name in ("right", "left"):
        diverged.git("checkout", "-q", name)
        diverged.write(".gitattributes", f"{lines}\n")
        diverged.commit("attributes")
    with open_plain(str(diverged.path)) as plain:
        made = merge_by_lines(plain, *ids(diverged))
        assert read_files_at(plain.cwd, [PATH], plain.env, made.tree) == {
            PATH: f"left\n{LINES}right\n".encode()
        }


def test_a_side_that_was_thrown_away_is_known_by_its_other_files(diverged: GitRepo) -> None:
    diverged.git("merge", "-q", "-s", "ours", "-m", "ours", "right")
    top = str(diverged.path)
    assert not is_dropped(top, commit_of(diverged)), "only its checkpoint is gone"
    diverged.git("reset", "-q", "--hard", "HEAD^")
    diverged.git("checkout", "-q", "right")
    diverged.write("code", "right\n")
    diverged.commit("code too")
    diverged.git("checkout", "-q", "left")
    diverged.git("merge", "-q", "-s", "ours", "-m", "ours", "right")
    assert is_dropped(top, commit_of(diverged))
