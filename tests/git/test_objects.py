"""Blobs, trees and differences, in the real git."""

import os

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.objects import (
    Blobs,
    Header,
    TreeEntry,
    blob_id,
    diff_index,
    diff_parents,
    diff_tree_pairs,
    diff_trees,
    diff_work_tree,
    find_commit,
    is_id,
    read_bounded,
    read_headers,
    read_index,
    read_object_format,
    read_tree,
)
from tests.support.repos import GitRepo

ODD = "päck age/b'\"\t\n\udcff"


@pytest.fixture
def top(repo: GitRepo) -> str:
    return str(repo.path)


def write_blob(repo: GitRepo, data: bytes) -> str:
    return repo.run("git", "hash-object", "-w", "--stdin", stdin=data).stdout.decode().strip()


def test_blobs_come_in_the_order_asked_and_whole(repo: GitRepo, top: str) -> None:
    contents = [
        b"",
        b"\n",
        b"\0" * 300_000,
        b"x" * 70_000,
        *(b"%d\n" % number for number in range(1_000)),
    ]
    blobs = [write_blob(repo, data) for data in contents[:8]]
    for data in contents[8:]:
        repo.write(f"many/{len(data)}-{data.decode().strip()}", data)
    repo.git("add", ".")
    blobs += [entry.blob for entry in read_index(top)]
    assert list(read_bounded(top, blobs))[:8] == contents[:8]
    assert sorted(list(read_bounded(top, blobs))[8:]) == sorted(contents[8:])
    assert list(read_bounded(top, [blobs[2], blobs[2]])) == [contents[2]] * 2
    assert list(read_bounded(top, [])) == []


def test_a_missing_blob_is_an_error(top: str) -> None:
    with pytest.raises(CheckpointError, match="no object"):
        list(read_bounded(top, ["0" * 39 + "1"]))


def test_a_large_blob_is_told_by_its_size_and_what_is_left_unread_is_skipped(
    repo: GitRepo, top: str
) -> None:
    small, large = write_blob(repo, b"small"), write_blob(repo, b"x" * 3_000_000)
    with Blobs(top, limit=100) as reader:
        assert [*reader.read_all([large, small, "0" * 40, small])] == [
            3_000_000,
            b"small",
            None,
            b"small",
        ]
        for content in reader.stream_all([small, large, small]):
            assert content is not None
            if content is not None:
                next(content)
            break
        assert reader.read(small) == b"small"
        pieces = list(reader.stream_all([large]))
        assert pieces[0] is not None
    with Blobs(top, limit=len(b"small")) as reader:
        assert reader.read(small) == b"small"
    with Blobs(top) as reader:
        assert next(reader.read_all([small, large, small])) == b"small"


def test_the_name_of_a_branch_means_the_branch(repo: GitRepo, top: str) -> None:
    first = repo.commit("first")
    repo.git("tag", "main")
    repo.git("tag", "only")
    second = repo.commit("second")
    found = [find_commit(top, rev) for rev in ("main", "main~1", "HEAD^", "only", first, "none")]
    assert found == [second, first, first, first, first, ""]


def test_objects_are_told_by_their_names(repo: GitRepo, top: str) -> None:
    repo.write("a b", "1\n")
    commit = repo.commit()
    blob = repo.git("rev-parse", "HEAD:a b")
    assert read_headers(top, ["HEAD", "HEAD:a b", "HEAD:none b", "0" * 40]) == [
        Header(commit, "commit", len(repo.run("git", "cat-file", "commit", "HEAD").stdout)),
        Header(blob, "blob", 2),
        Header("", "missing", 0),
        Header("", "missing", 0),
    ]
    assert read_headers(top, []) == []


def test_trees_and_the_index_hold_paths_of_any_name(repo: GitRepo, top: str) -> None:
    repo.write(ODD, "1\n")
    repo.write("*", "1\n")
    repo.write("other", "2\n")
    (repo.path / "link").symlink_to("other")
    repo.commit()
    tree = read_tree(top, "HEAD")
    assert set(tree) == {ODD, "*", "other", "link"}
    assert tree["link"].mode == "120000"
    assert not tree["link"].is_file
    assert read_tree(top, "HEAD", None, ["*"]).keys() == {"*"}
    assert {entry.path: TreeEntry(entry.mode, entry.blob) for entry in read_index(top)} == tree
    assert read_index(top, unmerged=True) == []


def test_differences_of_commits_index_and_work_tree(repo: GitRepo, top: str) -> None:
    assert diff_index(top, "HEAD") == []
    repo.write("kept", "1\n" * 30)
    repo.write(ODD, "1\n")
    assert [one.path for one in diff_index(top, "HEAD")] == []
    repo.git("add", ".")
    assert {one.path for one in diff_index(top, "HEAD")} == {"kept", ODD}
    first = repo.commit()
    repo.git("mv", "kept", "moved")
    repo.git("rm", "-q", "--cached", ODD)
    assert {(one.path, bool(one.old), bool(one.after)) for one in diff_index(top, first)} == {
        ("kept", True, False),
        ("moved", False, True),
        (ODD, True, False),
    }
    second = repo.commit()
    (renamed,) = (one for one in diff_trees(top, first, second, renames=True) if one.came_from)
    assert (renamed.came_from, renamed.path) == ("kept", "moved")
    repo.write("moved", "changed")
    (changed,) = diff_work_tree(top, "HEAD")
    assert changed.path == "moved"
    assert changed.old
    assert changed.after
    assert {one.path for one in diff_parents(top, [first, second])} == {"kept", "moved", ODD}
    trees = [repo.git("rev-parse", f"{commit}^{{tree}}") for commit in (first, second)]
    pairs = [(trees[0], trees[1]), (trees[1], trees[0]), (trees[0], trees[0])]
    found = diff_tree_pairs(top, pairs, renames=True)
    assert found[pairs[0]] == diff_trees(top, first, second, renames=True)
    assert [one.path for one in found[pairs[1]] if one.came_from] == ["kept"]
    assert found[pairs[2]] == []


def test_a_merge_changes_what_no_parent_has_so(repo: GitRepo, top: str) -> None:
    repo.write("a", "1\n")
    repo.commit()
    repo.git("checkout", "-q", "-b", "side")
    repo.write("b", "2\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("c", "3\n")
    repo.commit()
    repo.git("merge", "-q", "--no-commit", "side")
    repo.write("b", "4\n")
    merge = repo.commit()
    (own,) = diff_parents(top, [merge], combined=True)
    assert (own.path, [bool(one) for one in own.before]) == ("b", [False, True])
    assert {one.path for one in diff_parents(top, [merge])} == {"b", "c"}


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_ids_are_made_as_git_makes_them(repo: GitRepo, kind: str) -> None:
    other = GitRepo.create(repo.path / "inner", f"--object-format={kind}")
    commit = other.commit("begin")
    assert blob_id(b"1\n", commit) == write_blob(other, b"1\n")
    assert read_object_format(str(other.path), os.environ) == kind


def test_an_id_is_whole_and_in_small_letters() -> None:
    assert [is_id("a" * count) for count in (39, 40, 41, 63, 64, 65)] == [
        False,
        True,
        False,
        False,
        True,
        False,
    ]
    assert is_id("0123456789abcdef" * 4)
    assert not is_id("A" * 40)
    assert not is_id("g" * 40)
