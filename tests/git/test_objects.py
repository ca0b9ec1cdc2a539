"""Blobs, trees and differences, in the real git."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import objects
from checkpoint_git.git.objects import (
    Blobs,
    Change,
    Header,
    TreeEntry,
    blob_id,
    diff_index,
    diff_parents,
    diff_tree_pairs,
    diff_trees,
    diff_work_tree,
    find_commit,
    find_missing,
    has_commit,
    is_id,
    parse_changes,
    read_beginnings,
    read_blob,
    read_bounded,
    read_commit,
    read_headers,
    read_index,
    read_object_format,
    read_tree,
)
from checkpoint_git.git.run import start_git
from tests.support.repos import GitRepo
from tests.support.streams import Entry, Stream

ODD = "päck age/b'\"\t\n\udcff"


@pytest.fixture
def top(repo: GitRepo) -> str:
    return str(repo.path)


def write_blob(repo: GitRepo, data: bytes) -> str:
    return repo.run("git", "hash-object", "-w", "--stdin", stdin=data).stdout.decode().strip()


def test_blobs_come_in_the_order_asked_and_whole(repo: GitRepo, top: str) -> None:
    contents = [b"", b"\n", b"\0" * 300_000, b"x" * 70_000]
    contents += [b"%d\n" % number for number in range(900)]  # more than are asked for at once
    stream = Stream()
    stream.commit("main", [], {str(number): data for number, data in enumerate(contents)})
    stream.write(repo)
    names = [f"main:{number}" for number in range(len(contents))]
    assert list(read_bounded(top, names)) == contents
    assert list(read_bounded(top, [names[2], names[2]])) == [contents[2]] * 2


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


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return the processes of git that the module starts to read objects, as they are added."""
    processes: list[subprocess.Popen[bytes]] = []

    def note(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = start_git(*words, **options)
        processes.append(process)
        return process

    monkeypatch.setattr(objects, "start_git", note)
    return processes


def test_git_is_ended_with_its_reader_whatever_it_would_still_write(
    repo: GitRepo, top: str, started: list[subprocess.Popen[bytes]]
) -> None:
    small, large = write_blob(repo, b"small"), write_blob(repo, b"x" * 3_000_000)

    with Blobs(top) as reader:
        assert list(reader.read_all([small, large])) == [b"small", b"x" * 3_000_000]
    with Blobs(top, limit=10) as reader:
        assert reader.read(large) == 3_000_000
    with Blobs(top) as reader:
        assert next(reader.read_all([small, small])) == b"small"
    with pytest.raises(KeyError), Blobs(top) as reader:
        raise KeyError

    assert [process.returncode for process in started] == [-signal.SIGTERM] * 4


def test_many_long_names_and_a_large_content_block_nobody(repo: GitRepo, top: str) -> None:
    # neither fits into a pipe
    files = dict[str, str]()
    for name in ("a" * 250, "\u6f22" * 80):
        files |= {name: "x" * 200_000, f"{name}b": "y"}
    stream = Stream()
    stream.commit("main", [], files)
    stream.write(repo)
    large, small, wide_large, wide_small = [f"main:{name}" for name in files]
    with Blobs(top, limit=100) as reader:
        assert list(reader.read_all([large, *[small] * 389])) == [200_000, *[b"y"] * 389]
        assert list(reader.read_all([wide_large, *[wide_small] * 350])) == [200_000, *[b"y"] * 350]
        assert reader.read(large) == 200_000
        assert reader.read("main:" + "b" * 70_000) is None


def use_script(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a shell's script answer in place of `git cat-file --batch`."""

    def start(words: list[str], cwd: str, **_: object) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(["sh", "-c", script], cwd=cwd, stdin=pipe, stdout=pipe)

    monkeypatch.setattr(objects, "start_git", start)


def test_where_git_ends_over_a_missing_object_the_rest_is_asked_again(
    repo: GitRepo, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [write_blob(repo, b"%d" % number) for number in range(5)]
    use_script(monkeypatch, "head -n 2 | git cat-file --batch")
    with Blobs(top) as reader:
        assert list(reader.read_all(names)) == [b"0", b"1", None, b"3", b"4"]


def test_a_git_that_ends_all_the_time_is_an_error(
    top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_script(monkeypatch, "true")
    with Blobs(top) as reader:
        assert list(reader.read_all(["0" * 40] * 5)) == [None] * 5
        with pytest.raises(CheckpointError, match="exited repeatedly") as raised:
            list(reader.read_all(["0" * 40] * 100))
    assert "git fsck" in str(raised.value.hint)


def test_a_git_that_ends_within_a_content_is_an_error(
    top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_script(monkeypatch, f"read name; echo {'0' * 40} blob 10; echo abc")
    with pytest.raises(CheckpointError, match="middle of an object"), Blobs(top) as reader:
        reader.read("0" * 40)


def test_a_blob_is_read_alone_unless_it_is_missing_or_larger_than_a_checkpoint(
    repo: GitRepo, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 1_100_000
    monkeypatch.setattr(objects, "MAX_BYTES", most)
    stream = Stream()
    sizes = {"full": "x" * most, "large": "x" * (most + 1), "small": "x", "empty": ""}
    stream.commit("main", [], sizes)
    stream.write(repo)
    found = {name: read_blob(top, f"main:{name}") for name in [*sizes, "gone"]}
    assert {name: content and len(content) for name, content in found.items()} == {
        "full": most,
        "large": None,
        "small": 1,
        "empty": b"",
        "gone": None,
    }
    first, second = read_beginnings(top, ["main:large", "main:empty"])
    assert (len(first), second) == (1 << 20, b"")
    with pytest.raises(CheckpointError, match="no object main:gone") as raised:
        list(read_beginnings(top, ["main:gone"]))
    assert "GIT_NO_LAZY_FETCH=0" in str(raised.value.hint)
    names = ["main:full", "main:gone", "main", "0" * 40]
    assert find_missing(top, names) == {"main:gone", "0" * 40}


def test_a_name_with_a_line_break_is_missing_and_moves_no_other_answer(
    repo: GitRepo, top: str
) -> None:
    repo.write("a\nHEAD:b", "1\n")
    repo.write("a", "22\n")
    repo.write("b", "333\n")
    repo.write("b\r", "4444\n")
    repo.commit()
    names = ["HEAD:a", "HEAD:a\nHEAD:b", "HEAD:b", "HEAD:b\r"]
    assert [header.size for header in read_headers(top, names)] == [3, 0, 4, 0]
    assert find_missing(top, names) == {names[1], names[3]}
    with Blobs(top) as reader:
        assert list(reader.read_all(names)) == [b"22\n", None, b"333\n", None]


def test_where_nothing_is_asked_git_is_not_started(
    top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    assert list(read_bounded(top, [])) == list(read_beginnings(top, [])) == []
    assert read_headers(top, []) == []
    assert diff_parents(top, []) == diff_trees(top, "a", "a") == []
    assert diff_tree_pairs(top, []) == {}


def test_the_name_of_a_branch_means_the_branch(repo: GitRepo, top: str) -> None:
    first = repo.commit("first")
    repo.git("tag", "main")
    repo.git("tag", "only")
    second = repo.commit("second")
    found = [find_commit(top, rev) for rev in ("main", "main~1", "HEAD^", "only", first, "none")]
    assert found == [second, first, first, first, first, ""]


def test_a_ref_of_an_odd_name_takes_the_place_of_no_other(repo: GitRepo, top: str) -> None:
    # anybody may push such names
    first = repo.commit("first")
    second = repo.commit("second")
    refs = {
        "refs/heads/HEAD": first,
        "refs/heads/MERGE_HEAD": second,
        "refs/heads/refs/heads/main": first,
        f"refs/heads/{second}": first,
        "refs/tags/OVERHEAD": first,
        "refs/heads/OVERHEAD": second,
        "refs/tags/a/HEAD": first,
        "refs/heads/a/HEAD": second,
        "refs/tags/origin/dev": first,
        "refs/heads/origin/dev": first,
        "refs/remotes/origin/dev": second,
        "refs/heads/own": second,
        "refs/remotes/origin/own": first,
        "refs/remotes/origin/theirs": second,
    }
    commands = "".join(f"create {ref} {commit}\n" for ref, commit in refs.items())
    repo.run("git", "update-ref", "--stdin", stdin=commands.encode())
    (repo.path / ".git/MERGE_HEAD").write_text(first)

    means_first = ["MERGE_HEAD", "own~1", "HEAD@{1}"]
    means_second = ["HEAD", "@", "refs/heads/main", second, "OVERHEAD", "a/HEAD", "origin/dev"]
    means_second += ["own", "theirs"]
    assert {rev: find_commit(top, rev) for rev in means_first} == dict.fromkeys(means_first, first)
    assert {rev: find_commit(top, rev) for rev in means_second} == dict.fromkeys(
        means_second, second
    )


def test_a_commit_that_is_not_there_is_told_from_a_repository_that_is_not(
    repo: GitRepo, top: str, tmp_path: Path
) -> None:
    commit = repo.commit()
    assert read_commit(top, "main") == commit
    assert has_commit(top, "main")
    assert not has_commit(top, "gone")
    with pytest.raises(CheckpointError, match="'gone' names no commit"):
        read_commit(top, "gone")
    with pytest.raises(CheckpointError, match="not a git repository"):
        read_commit(str(tmp_path), "main")


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


def test_an_executable_is_a_file_and_links_and_submodules_are_none() -> None:
    modes = ["100644", "100755", "120000", "160000", "040000"]
    assert [TreeEntry(mode, "1").is_file for mode in modes] == [True, True, False, False, False]


def test_an_unmerged_file_is_in_the_index_once_for_each_side(repo: GitRepo, top: str) -> None:
    repo.diverge({"a": "0\n", "b": "0\n"}, {"a": "1\n"}, {"a": "2\n"})
    repo.git("merge", "-q", "right", check=False)
    stages = [("a", 1), ("a", 2), ("a", 3)]
    entries = read_index(top)
    assert [(entry.path, entry.stage) for entry in entries] == [*stages, ("b", 0)]
    assert read_index(top, unmerged=True) == entries[:3]
    assert read_index(top, ["b"]) == entries[3:]
    assert read_index(top, resolved=True) == []
    repo.git("add", "a")
    assert read_index(top, unmerged=True) == []
    assert read_index(top, resolved=True) == entries[:3]


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
    assert [one.came_from for one in diff_trees(top, first, second)] == ["", ""]
    assert [one.path for one in diff_trees(top, first, second, ["moved"])] == ["moved"]
    assert [one.came_from for one in diff_index(top, first)] == ["", ""]
    assert [one.came_from for one in diff_index(top, first, renames=True)] == ["kept"]
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
    assert diff_tree_pairs(top, pairs[:1]) == {pairs[0]: diff_trees(top, first, second)}
    assert diff_tree_pairs(top, pairs, ["other"]) == {pair: [] for pair in pairs}


def test_records_of_changes_are_taken_apart() -> None:
    nothing, zero = "000000", "0" * 40
    records = [
        f":100644 100755 {'1' * 40} {'2' * 40} M", "a",
        f":{nothing} 100644 {zero} {zero} A", ":b\nc",
        f":120000 {nothing} {'3' * 40} {zero} D", "d",
        f":100644 100644 {'4' * 40} {'5' * 40} R090", "e", "f",
        f":100644 100644 {'4' * 40} {'5' * 40} C100", "g", "h",
        f"::100644 {nothing} 100644 {'6' * 40} {zero} {'7' * 40} RA", "i",
        "",
    ]  # fmt: skip
    old, new = TreeEntry("100644", "4" * 40), TreeEntry("100644", "5" * 40)
    changes = parse_changes("\0".join(records).encode())
    assert changes == [
        Change("a", (TreeEntry("100644", "1" * 40),), TreeEntry("100755", "2" * 40)),
        Change(":b\nc", (None,), TreeEntry("100644", zero)),
        Change("d", (TreeEntry("120000", "3" * 40),), None),
        Change("f", (old,), new, "e"),
        Change("h", (old,), new, "g"),
        Change("i", (TreeEntry("100644", "6" * 40), None), TreeEntry("100644", "7" * 40)),
    ]
    assert [change.old for change in changes[-2:]] == [old, TreeEntry("100644", "6" * 40)]


def test_a_path_with_line_breaks_is_no_header_of_a_pair(repo: GitRepo, top: str) -> None:
    stream = Stream()
    odd = f"a\n{'1' * 40} {'2' * 40}\n"
    stream.commit("one", [], {odd: "1\n", "z": "1\n"})
    stream.commit("two", ["one"], {odd: Entry("100755", b"1\n"), "z": None})
    stream.write(repo)
    one, two = (repo.git("rev-parse", f"{name}^{{tree}}") for name in ("one", "two"))
    found = diff_tree_pairs(top, [(one, two), (two, one)])
    assert [change.path for change in found[one, two]] == [odd, "z"]
    assert [change.path for change in found[two, one]] == [odd, "z"]
    assert [change.after and change.after.mode for change in found[one, two]] == ["100755", None]


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
