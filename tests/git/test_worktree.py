"""What only a work tree has, and what a repository's refs say, of real repositories."""

import os
from pathlib import Path

import pytest

from checkpoint_git.git.refs import read_default_branch
from checkpoint_git.git.worktree import (
    list_roots,
    read_changed,
    read_ignored,
    read_ignoring,
    read_uncommitted,
    read_unmerged,
    read_untracked,
)
from tests.support.repos import GitRepo


@pytest.fixture
def env() -> dict[str, str]:
    return dict(os.environ)


def test_only_what_git_was_never_given_is_uncommitted(repo: GitRepo, env: dict[str, str]) -> None:
    for name in (
        "kept.py",
        "staged.py",
        "new.py",
        "dir/a.py",
        "dir/sub/b.py",
        "part/old.py",
        "dist/x.js",
        "-x",
        "ü\n.py",
    ):
        repo.write(name, "x")
    repo.write(".gitignore", "dist/\n")
    repo.git("add", "kept.py", "part/old.py", ".gitignore")
    repo.git("commit", "-qm", "begin")
    repo.git("add", "staged.py")
    repo.write("part/new.py", "x")
    asked = [
        "kept.py",
        "staged.py",
        "new.py",
        "dir",
        "dir/",
        "dir/sub",
        "dir/sub/b.py",
        "part",
        "part/new.py",
        "dist/x.js",
    ]
    found = read_uncommitted(str(repo.path), [*asked, "-x", "ü\n.py", "gone.py"], env)
    assert found == {
        "new.py",
        "dir",
        "dir/",
        "dir/sub",
        "dir/sub/b.py",
        "part/new.py",
        "-x",
        "ü\n.py",
    }
    assert read_uncommitted(str(repo.path), [], env) == set()


def test_folders_of_checkpoints_are_found_and_outside_git_none(
    repo: GitRepo, env: dict[str, str], tmp_path: Path
) -> None:
    repo.write(".checkpoints/a.checkpoint.json", "{}")
    repo.write("deep/er/.checkpoints/b.checkpoint.json", "{}")
    assert list_roots(str(repo.path), env) == [str(repo.path), str(repo.path / "deep/er")]
    assert list_roots(str(repo.path), env, tracked=True) == []
    # a workflow needs no folder of checkpoints, and what git ignores is nobody's work
    repo.write("flow/memory/state/phase.json", "{}")
    repo.write("built/.checkpoints/c.checkpoint.json", "{}")
    repo.write(".gitignore", "built\n")
    assert list_roots(str(repo.path), env) == [str(repo.path), str(repo.path / "deep/er")]
    repo.git("add", ".")
    (repo.path / ".checkpoints/a.checkpoint.json").unlink()
    (repo.path / ".checkpoints").rmdir()
    repo.write("new/.checkpoints/d.checkpoint.json", "{}")
    assert list_roots(str(repo.path), env, tracked=True) == [str(repo.path / "deep/er")]
    assert list_roots(str(tmp_path), env) == []


def test_of_files_that_are_not_added_it_is_known_which_git_ignores(
    repo: GitRepo, env: dict[str, str]
) -> None:
    top = str(repo.path)
    names = ["added", "new*", "newer", "dist/x", "ü\n"]
    for name in names:
        repo.write(name, "x")
    repo.write(".gitignore", "# what is built\ndist/\n")
    repo.git("add", "added")

    asked = ["added", "new*", "dist/x", "ü\n", "gone"]
    found = read_untracked(top, asked, env)
    assert found == {"new*": False, "dist/x": True, "ü\n": False}
    assert read_untracked(top, ["added"], env) == {}
    # a file that is not there can be ignored, too
    assert read_ignored(top, ["dist/y", "new*", "dist/ü\n"], env) == ["dist/y", "dist/ü\n"]

    assert read_ignored(top, ["new*"], env) == []

    assert read_ignoring(top, "dist/x", env) == (".gitignore", "2", "dist/")
    assert read_ignoring(top, "newer", env) == ("", "", "")


def test_changed_is_what_differs_from_head(repo: GitRepo, env: dict[str, str]) -> None:
    repo.write("a", "1")
    repo.write("b*", "1")
    repo.write("c", "1")
    repo.write(".gitignore", "")
    repo.commit()
    repo.write("a", "2")
    repo.write("b*", "2")
    repo.git("add", "b*")
    repo.write("new", "1")
    repo.write("folder/new", "1")
    repo.git("mv", "c", "moved")
    asked = ["a", "b*", "c", "new", "folder/new", "moved", ".gitignore"]
    assert read_changed(str(repo.path), asked, env) == {*asked} - {".gitignore"}
    assert read_changed(str(repo.path), ["folder"], env) == {"folder/new"}
    assert read_changed(str(repo.path), [], env) == set()


def test_unmerged_are_checkpoints_alone(repo: GitRepo, env: dict[str, str]) -> None:
    path = ".checkpoints/x.checkpoint.json"
    for branch, content in (("main", "1"), ("side", "2")):
        if branch == "side":
            repo.commit("base")
            repo.git("checkout", "-q", "-b", "side")
        repo.write(path, content)
        repo.write("other", content)
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    repo.write(path, "3")
    repo.write("other", "3")
    repo.commit("main")
    assert read_unmerged(str(repo.path), env) == []
    repo.exit_code("merge", "side")
    assert read_unmerged(str(repo.path), env) == [path]


def test_the_default_branch_is_the_remotes_own_else_one_of_the_usual_names(
    repo: GitRepo, env: dict[str, str]
) -> None:
    assert read_default_branch(str(repo.path), "file", env) is None
    repo.write("file", "main\n")
    repo.commit("begin")
    assert read_default_branch(str(repo.path), "file", env) == ("main", b"main\n")
    repo.git("branch", "-m", "trunk")
    assert read_default_branch(str(repo.path), "file", env) is None
    repo.git("config", "init.defaultBranch", "trunk")
    assert read_default_branch(str(repo.path), "gone", env) == ("trunk", None)
    repo.git("config", "init.defaultBranch", "\x1b[2J\nrefs/heads/x")
    assert read_default_branch(str(repo.path), "file", env) is None
    repo.git("update-ref", "refs/remotes/origin/dev", "HEAD")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev")
    assert read_default_branch(str(repo.path), "file", env) == ("origin/HEAD", b"main\n")
