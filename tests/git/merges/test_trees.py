"""What git says of a merge without a work tree, taken apart; trees and blobs written without an
index of anybody's.
"""

import os
import shutil
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.isolated_dir import name_commits, open_sealed, run_sealed
from checkpoint_git.git.merges.conflicts import merge_lines
from checkpoint_git.git.merges.trees import (
    Note,
    RenameLoss,
    TreeMerge,
    Unsettled,
    fetch_missing,
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
    stream.commit("base", [], {"a": "".join(lines), "b": "1\n", "c/kept": "kept\n"})
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
    assert (merged.tree, merged.clean) == ("tree", False)


def test_conflicts_are_sorted_by_path_and_may_concern_none() -> None:
    fields = [
        "tree", "100644 aa 2\tz", "100644 bb 3\tm", "100644 cc 3\ta b\tc", "",
        "0", "CONFLICT (submodule)", "a sentence\n",
        "1", "z", "CONFLICT (modify/delete)", "first\n", "1", "z", "CONFLICT (modify/delete)", "again\n",
        "2", "m", "z", "CONFLICT (binary)", "third\n", "",
    ]  # fmt: skip
    merged = parse_merge("\0".join(fields).encode(), clean=False)
    assert merged.unsettled == [
        Unsettled("a b\tc", (None, None, TreeEntry("100644", "cc")), ()),
        Unsettled("m", (None, None, TreeEntry("100644", "bb")), ("binary",)),
        Unsettled("z", (TreeEntry("100644", "aa"), None, None), ("modify/delete", "binary")),
    ]
    assert [(note.kind, note.paths, note.text) for note in merged.notes] == [
        ("submodule", (), "a sentence"),
        ("modify/delete", ("z",), "first"),
        ("modify/delete", ("z",), "again"),
        ("binary", ("m", "z"), "third"),
    ]
    assert parse_merge(b"tree\0\0", clean=True) == TreeMerge("tree", True, [], [], frozenset())


@NEEDS_MERGE_TREE
def test_git_merges_without_a_work_tree(sides: GitRepo) -> None:
    base, one, two = sides.git("rev-parse", "base", "one", "two").split()
    with open_sealed(str(sides.path)) as sealed:
        merged = merge_trees(sealed, one, two)
        assert merge_trees(sealed, base, one).clean
    assert not merged.clean
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
        assert write_blobs(sealed, []) == []
        assert {one.path: one.after for one in diff_trees(sealed.cwd, tree, made, (), sealed.env)} == {
            "a": None, "b": TreeEntry("100755", first), "c/d": TreeEntry("100644", second),
        }  # fmt: skip
        assert read_versions(sealed, made, ["b", "a", "c"]) == {
            "b": TreeEntry("100755", first), "c/d": TreeEntry("100644", second),
            "c/kept": TreeEntry("100644", sides.git("rev-parse", "base:c/kept")),
        }  # fmt: skip
        assert read_versions(sealed, made, []) == {}
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


def list_missing(clone: GitRepo) -> set[str]:
    listed = clone.git("rev-list", "--objects", "--all", "--missing=print").splitlines()
    return {line[1:] for line in listed if line.startswith("?")}


def test_what_a_partial_clone_lacks_is_fetched_unless_the_user_forbids_it(
    sides: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides.configure({"uploadpack.allowFilter": "true", "uploadpack.allowAnySHA1InWant": "true"})
    url = f"file://{sides.path}"
    clone = GitRepo(tmp_path / "partial")
    partial = str(clone.path)
    sides.git("clone", "-q", "--filter=blob:none", "--bare", url, partial)
    base, one, two = sides.git("rev-parse", "base", "one", "two").split()
    names = [f"{commit}:{path}" for commit in (base, one, two) for path in ("a", "b", "c/kept")]
    blobs = sides.git("rev-parse", *names).split()
    monkeypatch.setenv("GIT_DIR", partial)

    forbidden = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    with pytest.raises(CheckpointError, match="git diff failed"):
        fetch_missing(partial, (one, two), forbidden)
    assert list_missing(clone) == {*blobs}
    fetch_missing(partial, (one, two))
    assert list_missing(clone) == {blobs[2]}, "no side changed it"


MOVED, STAYED = (f".checkpoints/{name}.checkpoint.json" for name in ("build", "other"))


def test_a_rename_loses_no_checkpoint_that_a_side_kept_or_moved_to_another_place(
    repo: GitRepo,
) -> None:
    text = "1\n2\n3\n4\n"
    elsewhere = "sub/.checkpoints/moved.checkpoint.json"
    stream = Stream()
    stream.commit("base", [], {MOVED: text, STAYED: "stayed\n", "code": "code\n"})
    stream.commit("older", [], {MOVED: f"0\n{text}"})
    stream.commit("changed", ["base"], {MOVED: f"{text}5\n", STAYED: "changed\n"})
    stream.commit("moved", ["base"], {MOVED: None, "old.json": text, "code": None})
    stream.commit("proper", ["base"], {MOVED: None, elsewhere: text})
    stream.commit("removed", ["base"], {MOVED: None})
    stream.commit("merged", ["base"], {MOVED: None, STAYED: "merged\n", "code": None})
    stream.write(repo)
    names = ["base", "older", "changed", "moved", "proper", "removed"]
    commits = dict(zip(names, repo.git("rev-parse", *names).split(), strict=True))
    tree = repo.git("rev-parse", "merged^{tree}")
    with open_sealed(str(repo.path)) as sealed:

        def find_losses(ours: str, theirs: str, *bases: str) -> list[RenameLoss]:
            name_commits(sealed, {"ours": commits[ours], "theirs": commits[theirs]})
            return read_rename_losses(sealed, [commits[base] for base in bases], tree)

        assert find_losses("changed", "moved", "base") == [RenameLoss(MOVED, "theirs", "old.json")]
        assert find_losses("moved", "changed", "base") == [RenameLoss(MOVED, "ours", "old.json")]
        assert find_losses("changed", "removed", "base") == [RenameLoss(MOVED, "theirs", "")]
        assert find_losses("changed", "proper", "base") == []
        assert find_losses("changed", "moved") == [], "without a base nothing was moved"
        # of several bases one is enough that has the file, and one that has it as it is now
        lost = [RenameLoss(MOVED, "theirs", "old.json")]
        assert find_losses("changed", "moved", "base", "older") == lost
        assert find_losses("changed", "moved", "base", "removed") == lost
        assert find_losses("changed", "moved", "base", "changed") == []


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
