"""What git's index says of unmerged checkpoints, and the way between the work tree's bytes and
stored ones.
"""

import os
from pathlib import Path

import pytest

from checkpoint_git.git.clone import find_gaps, read_operation
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import (
    FileVersion,
    make_unmerged,
    read_as_checked_out,
    read_as_stored,
    read_choices,
    read_conflicts,
    read_line_merges,
    read_marker_sizes,
    read_stages,
    read_top,
    stage_path,
)
from tests.scenarios.driven import drive
from tests.support.repos import GitRepo
from tests.support.rows import rows

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture(params=["sha1", "sha256"])
def unmerged(tmp_path: Path, request: pytest.FixtureRequest) -> GitRepo:
    """A merge that stopped at a checkpoint and at notes.txt, in a repository of either object
    format.
    """
    repo = GitRepo.create(tmp_path / "repo", f"--object-format={request.param}")
    for branch, text in (("main", "base\n"), ("right", "theirs\n"), ("left", "ours\n")):
        if branch != "main":
            repo.git("checkout", "-q", "-b", branch, "main")
        repo.write(PATH, text)
        repo.write("notes.txt", text)
        repo.commit(branch)
    repo.git("merge", "-q", "right", check=False)
    return repo


def test_every_version_is_read(unmerged: GitRepo) -> None:
    found = read_conflicts(str(unmerged.path))
    assert found.others == ["notes.txt"]
    (file,) = found.files
    assert file.path == PATH
    assert [side and side.data for side in file.sides] == [b"ours\n", b"base\n", b"theirs\n"]
    assert file.stages == read_stages(str(unmerged.path))[PATH]


def test_nothing_is_unmerged_in_a_new_repository(repo: GitRepo) -> None:
    assert read_conflicts(str(repo.path)) == ([], [])


def test_a_link_is_no_file() -> None:
    modes = ("100644", "100755", "120000", "160000")
    assert [mode for mode in modes if FileVersion(mode, "", b"").is_file] == ["100644", "100755"]


@rows("removed", [False, True])
def test_staging_ends_the_conflict_of_one_file(unmerged: GitRepo, removed: bool) -> None:
    stage_path(str(unmerged.path), PATH, removed=removed)
    assert list(read_stages(str(unmerged.path))) == ["notes.txt"]


def test_the_operation_is_the_one_that_waits(unmerged: GitRepo) -> None:
    git_dir = read_top(str(unmerged.path)).git_dir
    assert read_operation(git_dir) == "merge"
    unmerged.git("merge", "--abort")
    assert read_operation(git_dir) == ""
    unmerged.git("rebase", "--apply", "right", check=False)
    assert read_operation(git_dir) == "rebase"
    messages = [
        gap.message
        for gap in find_gaps(str(unmerged.path), git_dir, os.environ)
        if gap.code.startswith("merge")
    ]
    assert messages == ["git is in the middle of a rebase, with 1 checkpoint to resolve"]


def test_a_mailed_patch_is_an_operation_of_its_own(unmerged: GitRepo) -> None:
    unmerged.git("merge", "--abort")
    patch = unmerged.run("git", "format-patch", "--stdout", "main..right").stdout
    unmerged.run("git", "am", "-3", stdin=patch)
    assert read_operation(read_top(str(unmerged.path)).git_dir) == "am"


def test_the_size_of_markers_comes_from_the_attributes(repo: GitRepo) -> None:
    # a branch of anybody may bring attributes: no size stops the merge or fills the memory
    given = {"a": "12", "b": "x", "c": "0", "e": "1", "f": "99999", "g": "100000", "h": "²"}
    lines = [f"{path} conflict-marker-size={size}\n" for path, size in given.items()]
    repo.write(".gitattributes", "".join(lines))
    assert read_marker_sizes(str(repo.path), [*given, "d e"]) == {
        "a": 12,
        "b": 7,
        "c": 7,
        "d e": 7,
        "e": 1,
        "f": 99_999,
        "g": 7,
        "h": 7,
    }
    assert read_marker_sizes(str(repo.path), []) == {}


def test_the_choices_are_those_of_the_configured_driver(repo: GitRepo) -> None:
    assert read_choices(str(repo.path)) == Choices()
    drive(repo, choices=Choices("newest"))
    assert read_choices(str(repo.path)) == Choices("newest")


def test_line_ends_and_filters_are_undone_and_done(unmerged: GitRepo) -> None:
    top = str(unmerged.path)
    unmerged.git("config", "filter.up.clean", "tr A-Z a-z")
    unmerged.git("config", "filter.up.smudge", "tr a-z A-Z")
    unmerged.write(".gitattributes", "crlf text eol=crlf\nup filter=up\n")
    for path, checked_out in (("plain", b"a\nb\n"), ("crlf", b"a\r\nb\r\n"), ("up", b"A\nB\n")):
        assert read_as_checked_out(top, path, b"a\nb\n") == checked_out
        assert read_as_stored(top, path, checked_out) == b"a\nb\n"
    assert read_as_stored(top, "plain", b"a\r\nb\r\n") == b"a\r\nb\r\n"


def test_a_line_merge_is_decided_for_either_side(repo: GitRepo) -> None:
    merged = read_line_merges(str(repo.path), b"a\nb\nc\nd\n", b"x\nb\nc\nd\n", b"y\nb\nc\nz\n")
    assert merged == (b"x\nb\nc\nz\n", b"y\nb\nc\nz\n")
    assert read_line_merges(str(repo.path), b"\0", b"\0a", b"\0b") is None


def test_a_side_without_the_file_has_no_version_of_it() -> None:
    file = make_unmerged(PATH, (b"ours", None, b""))
    assert file.sides == (
        FileVersion("100644", "", b"ours"),
        None,
        FileVersion("100644", "", b""),
    )
    assert (file.path, file.stages) == (PATH, ())
