"""git's hook lines, taken apart."""

from typing import Any

import pytest

from checkpoint_git.git.pushed import (
    Push,
    is_zero,
    parse_pushes,
    read_losses_between,
    read_new_losses,
)
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import Loss
from tests.support.repos import GitRepo
from tests.support.rows import rows

ZERO = "0" * 40


def test_every_line_of_a_push_is_read_but_deletions() -> None:
    text = f"refs/heads/a {'1' * 40} refs/heads/b {ZERO}\n(delete) {ZERO} refs/heads/c {'2' * 40}\n"
    assert parse_pushes(text) == [Push("refs/heads/a", "1" * 40, "refs/heads/b", ZERO)]


@rows("text", ["", "\n", "a b c\n", "a b c d e\n"])
def test_other_lines_are_none(text: str) -> None:
    assert parse_pushes(text) == []


@pytest.mark.parametrize(
    ("text", "zero"), [(ZERO, True), ("0" * 64, True), ("0" * 39 + "1", False)]
)
def test_zero_ids_are_known_in_either_length(text: str, zero: bool) -> None:
    assert is_zero(text) == zero


def test_a_clone_that_knows_no_remote_walks_none_of_its_history(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit()
    asked: list[str] = []
    real = run_git

    def note(words: list[str], *rest: Any, **more: Any) -> Any:
        asked.append(words[0])
        return real(words, *rest, **more)

    monkeypatch.setattr("checkpoint_git.git.pushed.run_git", note)
    assert read_new_losses(str(repo.path), "HEAD", ["--remotes"], "*.yaml") == []
    assert "rev-list" not in asked


def test_a_push_reports_what_it_changed_or_removed_and_not_what_others_did(repo: GitRepo) -> None:
    for name in "abcd":
        repo.write(f"{name}.yaml", "1\n")
    before = repo.commit()
    repo.git("checkout", "-q", "-b", "theirs")
    repo.write("a.yaml", "theirs\n")
    repo.commit()
    repo.git("checkout", "-q", "-b", "ours", before)
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "theirs")
    assert read_losses_between(str(repo.path), (before, "HEAD"), ["theirs"], "*.yaml") == []

    repo.write("b.yaml", "ours\n")
    (repo.path / "c.yaml").unlink()
    repo.write("e.yaml", "new\n")
    repo.write("b.txt", "another kind\n")
    repo.commit()
    found = read_losses_between(str(repo.path), (before, "HEAD"), ["theirs"], "*.yaml")
    assert sorted(found) == [Loss("b.yaml", "changed"), Loss("c.yaml", "removed")]
    every = read_losses_between(str(repo.path), (before, "HEAD"), [before], "*.yaml")
    assert sorted(every) == [
        Loss("a.yaml", "changed"),
        Loss("b.yaml", "changed"),
        Loss("c.yaml", "removed"),
    ]
    assert sorted(read_new_losses(str(repo.path), "HEAD", ["theirs"], "*.yaml")) == sorted(found)
