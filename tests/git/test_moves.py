"""Files get another name in git's index, in one step or not at all."""

import os

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.moves import Move, read_entries, stage_moves
from checkpoint_git.git.objects import read_index
from tests.support.repos import GitRepo


@pytest.fixture
def files(repo: GitRepo) -> GitRepo:
    for name in ("a*", "ab", "folder/c"):
        repo.write(name, f"{name}\n")
    (repo.path / "ab").chmod(0o755)
    repo.git("add", ".")
    return repo


def list_staged(repo: GitRepo) -> dict[str, tuple[str, str]]:
    """Return path -> mode and content, as the index has them."""
    return {
        entry.path: (entry.mode, repo.git("cat-file", "blob", entry.blob))
        for entry in read_index(str(repo.path))
    }


def test_entries_are_those_of_the_very_paths(files: GitRepo) -> None:
    top = str(files.path)
    assert read_entries(top, ["a*", "folder", "gone"], os.environ).keys() == {"a*"}
    assert read_entries(str(files.path / "folder"), ["ab"], os.environ)["ab"].mode == "100755"
    assert read_entries(top, [], os.environ) == {}


def test_moved_files_keep_their_mode_and_get_the_content_that_is_given(files: GitRepo) -> None:
    entries = read_entries(str(files.path), ["ab", "folder/c"], os.environ)
    moves = [
        Move(entries["ab"], "new/ä\nb"),
        Move(entries["folder/c"], "c", b""),
    ]
    stage_moves(str(files.path), moves, os.environ)
    assert list_staged(files) == {
        "a*": ("100644", "a*"),
        "new/ä\nb": ("100755", "ab"),
        "c": ("100644", ""),
    }


def test_where_git_cannot_write_its_index_nothing_is_staged_and_no_hook_runs(
    files: GitRepo,
) -> None:
    hook = files.write(".git/hooks/post-index-change", "#!/bin/sh\necho > ran\n")
    hook.chmod(0o755)
    entries = read_entries(str(files.path), ["ab"], os.environ)
    before = list_staged(files)
    move = Move(entries["ab"], "x")

    lock = files.write(".git/index.lock", "")
    with pytest.raises(CheckpointError, match="update-index failed"):
        stage_moves(str(files.path), [move], os.environ)
    assert list_staged(files) == before

    lock.unlink()
    stage_moves(str(files.path), [move], os.environ)
    assert list_staged(files).keys() == {"a*", "x", "folder/c"}
    assert not (files.path / "ran").exists()
