"""What git says of a merge without a work tree, taken apart; trees and blobs written without an
index of anybody's.
"""

import os
import shutil
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.isolated_dir import open_sealed, run_sealed
from checkpoint_git.git.merges.conflicts import merge_lines
from checkpoint_git.git.merges.trees import (
    Note,
    RenameLoss,
    merge_trees,
    parse_merge,
    read_rename_losses,
    read_versions,
    write_blobs,
    write_tree,
)
from checkpoint_git.git.objects import TreeEntry, diff_trees
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo
from tests.support.streams import Stream


@pytest.fixture
def sides(repo: GitRepo) -> GitRepo:
    """Branches one and two that changed a file's ends, and another file differently."""
    lines = [f"{number}\n" for number in range(9)]
    stream = Stream()
    stream.commit("base", [], {"a": "".join(lines), "b": "1\n"})
    stream.commit("one", ["base"], {"a": "".join(["x\n", *lines]), "b": "2\n"})
    stream.commit("two", ["base"], {"a": "".join([*lines, "y\n"]), "b": "3\n"})
    stream.write(repo)
    return repo


def test_an_answer_is_taken_apart() -> None:
    fields = [
        "tree", "100644 aa 1\tx", "100644 bb 2\tx", "100755 cc 3\tx", "",
        "1", "x", "Auto-merging", "Auto-merging x\n", "2", "x", "y", "CONFLICT (rename/delete)", "CONFLICT: x\n", "",
    ]  # fmt: skip
    merged = parse_merge("\0".join(fields).encode(), clean=False)
    (file,) = merged.unsettled
    assert (file.path, file.kinds) == ("x", ("rename/delete",))
    assert file.sides == (
        TreeEntry("100644", "bb"),
        TreeEntry("100644", "aa"),
        TreeEntry("100755", "cc"),
    )
    assert merged.notes == [Note("rename/delete", ("x", "y"), "CONFLICT: x")]
    assert merged.texts == {"x"}


@NEEDS_MERGE_TREE
def test_git_merges_without_a_work_tree(sides: GitRepo) -> None:
    with open_sealed(str(sides.path)) as sealed:
        merged = merge_trees(sealed, *(sides.git("rev-parse", name) for name in ("one", "two")))
    assert [(file.path, file.kinds) for file in merged.unsettled] == [("b", ("contents",))]
    assert sides.git("cat-file", "blob", f"{merged.tree}:a").split() == [
        "x",
        *map(str, range(9)),
        "y",
    ]
    assert merged.texts == {"a", "b"}


@NEEDS_MERGE_TREE
def test_attributes_are_those_that_were_given(sides: GitRepo) -> None:
    with open_sealed(str(sides.path), ["a -merge"]) as sealed:
        merged = merge_trees(sealed, *(sides.git("rev-parse", name) for name in ("one", "two")))
    assert [file.path for file in merged.unsettled] == ["a", "b"]


def test_nothing_of_the_repository_but_its_objects_is_seen(sides: GitRepo) -> None:
    sides.git("config", "alias.seen", "version")
    sides.git("config", "core.bare", "false")
    with open_sealed(str(sides.path), settings={"some.key": "a 'b'\n\"c\""}) as sealed:
        listed = run_sealed(sealed, ["config", "--list", "--show-origin"]).out.decode()
        assert run_sealed(sealed, ["config", "some.key"]).out.decode() == "a 'b'\n\"c\"\n"
        assert run_sealed(sealed, ["for-each-ref"]).out == b""
        assert (
            run_sealed(sealed, ["cat-file", "-t", sides.git("rev-parse", "one")]).out == b"commit\n"
        )
        folder = sealed.folder
    assert "alias.seen" not in listed
    assert not Path(folder).exists()


def test_a_tree_is_written_with_some_files_changed(sides: GitRepo) -> None:
    tree = sides.git("rev-parse", "base^{tree}")
    with open_sealed(str(sides.path)) as sealed:
        first, second = write_blobs(sealed, [b"new\n", b""])
        made = write_tree(
            sealed,
            tree,
            {"a": None, "b": TreeEntry("100755", first), "c/d": TreeEntry("100644", second)},
        )
        assert {one.path: one.after for one in diff_trees(sealed.cwd, tree, made, (), sealed.env)} == {
            "a": None, "b": TreeEntry("100755", first), "c/d": TreeEntry("100644", second),
        }  # fmt: skip
        assert read_versions(sealed, made, ["b", "a", "c"]) == {
            "b": TreeEntry("100755", first), "c/d": TreeEntry("100644", second),
        }  # fmt: skip
        assert write_tree(sealed, tree, {}) == tree


def test_lines_are_merged_and_binary_content_is_refused(sides: GitRepo) -> None:
    with open_sealed(str(sides.path)) as sealed:
        assert merge_lines(sealed.cwd, b"1\n2\n3\n", b"0\n2\n3\n", b"1\n2\n4\n") == (
            b"0\n2\n4\n",
            True,
        )
        conflict = merge_lines(sealed.cwd, b"1\n", b"2\n", b"3\n")
        assert conflict.data is not None
        assert (conflict.data[:13], conflict.is_clean) == (b"<<<<<<< ours\n", False)
        assert merge_lines(sealed.cwd, b"\0001", b"\0002", b"\0003") == (None, False)


def test_a_git_that_cannot_merge_so_is_named_with_the_version_that_can(
    sides: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version) echo git version 2.37.7; exit;; *merge-tree*) exit 129;; esac\n'
        f"exec '{shutil.which('git')}' \"$@\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    commits = [sides.git("rev-parse", name) for name in ("one", "two")]
    with (
        open_sealed(str(sides.path)) as sealed,
        pytest.raises(CheckpointError, match=r"git 2\.37\.7 is too") as raised,
    ):
        merge_trees(sealed, *commits)
    assert str(raised.value.hint) == "install git 2.38 or newer"


@NEEDS_MERGE_TREE
def test_commits_that_are_not_there_are_an_error(sides: GitRepo) -> None:
    with (
        open_sealed(str(sides.path)) as sealed,
        pytest.raises(CheckpointError, match="merge-tree failed"),
    ):
        merge_trees(sealed, "1" * 40, "2" * 40)


def test_a_checkpoint_that_a_merge_moved_away_with_the_others_work_is_named(repo: GitRepo) -> None:
    path, other = (f".checkpoints/{name}.checkpoint.json" for name in ("build", "other"))
    stream = Stream()
    stream.commit("base", [], {path: "1\n2\n3\n4\n", "a": "a\n"})
    stream.commit("ours", ["base"], {path: None, "old.json": "1\n2\n3\n4\n"})
    stream.commit("theirs", ["base"], {path: "1\n2\n3\n5\n", other: "new\n"})
    stream.commit("merged", ["base"], {path: None, "old.json": "1\n2\n3\n5\n"})
    stream.write(repo)
    base = repo.git("rev-parse", "base")
    tree = repo.git("rev-parse", "merged^{tree}")
    untouched = repo.git("rev-parse", "ours^{tree}")
    with open_sealed(str(repo.path)) as sealed:
        for name in ("ours", "theirs"):
            run_sealed(sealed, ["update-ref", f"refs/heads/{name}", repo.git("rev-parse", name)])
        # `other` is in no base: no rename took it away
        assert read_rename_losses(sealed, [base], tree) == [RenameLoss(path, "ours", "old.json")]
        # nothing of theirs is lost where they changed nothing
        run_sealed(sealed, ["update-ref", "refs/heads/theirs", base])
        assert read_rename_losses(sealed, [base], untouched) == []
