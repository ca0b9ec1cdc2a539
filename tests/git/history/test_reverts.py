"""What a real history took back, told from what it never had."""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.merged import read_taken_back
from tests.support.repos import GitRepo


def taken_back(repo: GitRepo, *references: str) -> dict[str, str]:
    return read_taken_back(str(repo.path), set(references))


@pytest.fixture
def reverted(repo: GitRepo) -> GitRepo:
    """A repository that merged #12, took #13 back, and mentions #14 where it reverts something else."""
    repo.commit("search (#12)")
    repo.write("sort.py", "1")
    repo.commit("sort (#13)")
    repo.git("revert", "--no-edit", "HEAD")
    repo.commit("Do not revert anything (see #14)")
    return repo


def test_what_was_taken_back_is_told_from_what_was_never_there(reverted: GitRepo) -> None:
    found = taken_back(reverted, "#12", "#13", "#14", "#99")
    assert set(found) == {"#13"}
    assert 'Revert "sort (#13)"' in found["#13"]


def test_what_was_merged_again_is_not_taken_back(reverted: GitRepo) -> None:
    reverted.write("sort.py", "2")
    reverted.commit("sort, once more (#13)")
    assert taken_back(reverted, "#13") == {}


def test_a_revert_of_the_revert_brings_it_back(reverted: GitRepo) -> None:
    reverted.git("revert", "--no-edit", "HEAD~1")
    assert taken_back(reverted, "#13") == {}


def test_a_commit_that_is_reverted_in_other_words_is_told_by_its_own_subject(repo: GitRepo) -> None:
    merged = repo.commit("Search (#12)")
    repo.commit(f"Undo the search\n\nThis reverts commit {merged}.")
    assert taken_back(repo, "#12") == {"#12": f'{merged[:9]} "Search (#12)", which a later commit reverts'}


def test_a_reverted_merge_took_back_its_pull_request(repo: GitRepo) -> None:
    repo.commit("begin")
    repo.git("checkout", "-qb", "topic")
    repo.write("topic", "1")
    repo.commit("topic")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #12 from ada/topic", "topic")
    repo.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert set(taken_back(repo, "#12")) == {"#12"}


def test_nothing_is_taken_back_where_there_are_no_commits(repo: GitRepo) -> None:
    assert taken_back(repo, "#13") == {}


def test_git_missing_is_said(reverted: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError):
        taken_back(reverted, "#13")
