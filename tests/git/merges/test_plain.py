"""The merge that a server makes, whatever this clone is set up with."""

import os
from pathlib import Path

import pytest

from checkpoint_git.git.merges.merges import MergeCommit, read_commits, read_files_at, read_touched
from checkpoint_git.git.merges.trees import (
    Note,
    TreeMerge,
    Unsettled,
    find_stopped,
    is_dropped,
    merge_by_lines,
    open_plain,
    write_blobs,
)
from checkpoint_git.git.objects import find_missing
from checkpoint_git.git.run import run_git
from tests.scenarios.driven import drive
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo
from tests.support.streams import Stream

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


def test_what_is_written_aside_is_read_beside_the_repository_and_goes_with_the_directory(
    diverged: GitRepo, tmp_path: Path
) -> None:
    """Also where an environment names the repository, as for a hook."""
    top = str(diverged.path)
    known = diverged.git("rev-parse", "HEAD")
    named = {**os.environ, "GIT_DIR": str(diverged.path / ".git")}
    words = ["hash-object", "-w", "--stdin"]
    for cwd, env in ((top, None), (str(tmp_path), named)):
        with open_plain(cwd, env) as plain:
            made = [
                run_git(words, cwd, stdin=b"aside", env=plain.aside).out.decode().strip(),
                *write_blobs(plain.sealed, [b"sealed"]),
            ]
            for seeing in (plain.env, plain.aside):
                assert find_missing(cwd, [known, *made], seeing) == set()
            assert plain.cwd == cwd
            assert find_missing(cwd, [known, *made], env) == {*made}
        assert find_missing(cwd, [known, *made], env) == {*made}


@NEEDS_MERGE_TREE
def test_a_partial_clone_gets_what_the_merge_needs(repo: GitRepo, tmp_path: Path) -> None:
    """Also for the bases of a criss-cross, and the base that these have."""
    stream = Stream()
    stream.commit("base", [], {PATH: LINES})
    stream.commit("left1", ["base"], {PATH: f"left\n{LINES}"})
    stream.commit("right1", ["base"], {PATH: f"{LINES}right\n"})
    stream.commit("left", ["left1", "right1"], {PATH: f"left 2\n{LINES}right\n"})
    stream.commit("right", ["right1", "left1"], {PATH: f"left\n{LINES}right 2\n"})
    stream.write(repo)
    repo.configure({"uploadpack.allowFilter": "true", "uploadpack.allowAnySHA1InWant": "true"})
    clone = str(tmp_path / "partial")
    words = ["--filter=blob:none", "--no-checkout", f"file://{repo.path}"]
    repo.git("clone", "-q", *words, clone)
    with open_plain(clone) as plain:
        made = merge_by_lines(plain, *ids(repo))
        found = read_files_at(plain.cwd, [PATH], plain.env, made.tree)
    assert found == {PATH: f"left 2\n{LINES}right 2\n".encode()}


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
    other = PATH.replace("build", "other")
    notes = [
        Note("rename/rename", ("code", PATH), "moved twice"),
        Note("contents", (PATH, other), "the first word counts"),
    ]
    unsettled = [
        Unsettled(other, (None, None, None), ("binary", "contents")),
        Unsettled("code", (None, None, None), ("contents",)),
    ]
    assert find_stopped(TreeMerge("", False, unsettled, notes, frozenset())) == {
        PATH: ("rename/rename",),
        other: ("binary", "contents"),
    }


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


def test_a_side_that_was_thrown_away_is_known_by_its_other_files(repo: GitRepo) -> None:
    """Each merge has the tree that is named first, then its parents."""
    stream = Stream()
    stream.commit("base", [], {PATH: "base\n", "code": "base\n"})
    stream.commit("left", ["base"], {PATH: "left\n"})
    stream.commit("code", ["base"], {PATH: "code\n", "code": "code\n"})
    stream.commit("twin", ["base"], {PATH: "left\n"})
    stream.commit("same", ["base"], {PATH: "same\n", "code": "code\n"})
    stream.commit("root", [], {"code": "root\n"})
    stream.write(repo)
    expected = {
        ("left", "left", "code"): True,
        ("left", "code", "left"): True,
        # only its checkpoint is gone
        ("code", "left", "code"): False,
        ("code", "code", "left"): False,
        # the other has the same code
        ("code", "code", "same"): False,
        ("left", "left", "twin"): False,
        # something of both, of three, and of what has no beginning in common
        ("same", "left", "code"): False,
        ("left", "left", "code", "same"): False,
        ("left", "left", "root"): False,
        # nothing was changed
        ("left", "left", "base"): False,
    }
    cwd = str(repo.path)
    names = sorted({name for row in expected for name in row})
    ids = repo.git("rev-parse", *names).split()
    known = dict(zip(names, read_commits(cwd, ids), strict=True))
    for (tree, *parents), is_lost in expected.items():
        sides = tuple(known[name].id for name in parents)
        merge = MergeCommit("", known[tree].tree, sides, "")
        assert is_dropped(cwd, merge) == is_lost, (tree, parents)
