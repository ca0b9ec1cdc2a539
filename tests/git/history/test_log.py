"""What git prints, record by record, and what happens where git cannot answer."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import (
    PLAIN_LOG,
    has_commits,
    read_blocks,
    read_boundary,
    read_fields,
    read_words,
    run,
)
from tests.support.repos import GitRepo


def write_blob(repo: GitRepo, data: bytes) -> list[str]:
    """The words after git that print the data."""
    blob = repo.run("git", "hash-object", "-w", "--stdin", stdin=data).stdout.decode().strip()
    return ["cat-file", "blob", blob]


def test_every_record_is_whole_in_its_block(repo: GitRepo) -> None:
    records = [b"record %d" % number for number in range(40_000)]
    data = b"".join(record + b"\0" for record in records)
    words = write_blob(repo, data)
    blocks = list(read_blocks(str(repo.path), words))
    assert b"".join(blocks) == data
    assert len(blocks) > 1
    assert all(block.endswith(b"\0") for block in blocks)
    assert list(read_fields(str(repo.path), words)) == records


def test_a_huge_record_is_cut_the_next_one_is_whole_and_an_unfinished_one_left_out(
    repo: GitRepo,
) -> None:
    words = write_blob(repo, b"x" * 3_000_000 + b"\0next\0unfinished")
    cut, following = read_fields(str(repo.path), words)
    assert following == b"next"
    assert 1_000_000 < len(cut) < 2_000_000


def test_without_commits_there_is_nothing_to_read(repo: GitRepo, tmp_path: Path) -> None:
    assert not has_commits(str(repo.path))
    assert list(read_blocks(str(repo.path), ["log"])) == []
    assert not has_commits(str(tmp_path))
    assert list(read_blocks(str(tmp_path), ["log"])) == []
    repo.commit("begin")
    assert has_commits(str(repo.path))


def test_a_history_that_cannot_be_read_is_an_error_unless_little_is_asked(repo: GitRepo) -> None:
    top = str(repo.path)
    lost = repo.commit("begin")
    repo.commit("more")
    (repo.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(CheckpointError):
        list(read_fields(top, PLAIN_LOG))
    with pytest.raises(CheckpointError):
        run(["rev-list", "HEAD"], top)
    assert run(["rev-list", "HEAD"], top, check=False).code
    assert read_words(top, ["rev-list", "HEAD"]) == []

    repo.write(".git/config", "[broken")
    with pytest.raises(CheckpointError, match=r"rev-parse .*config"):
        has_commits(top)


def test_only_a_shallow_clone_ends_somewhere(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_boundary(str(repo.path)) == frozenset()
    assert read_boundary(str(tmp_path)) == frozenset()
    commit = repo.commit("an end")
    repo.write(".git/shallow", f"{commit}\n")
    assert read_boundary(str(repo.path)) == {commit}

    # GIT_DIR counts only in an environment that is given
    other = GitRepo.create(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    assert read_boundary(str(other.path)) == frozenset()
    assert read_boundary(str(other.path), os.environ) == {commit}
