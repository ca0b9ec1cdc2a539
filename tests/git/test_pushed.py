"""git's hook lines, taken apart."""

from typing import Any

import pytest

from checkpoint_git.git.pushed import (
    Push,
    is_zero,
    parse_pushes,
    read_commit_changes,
    read_losses_between,
    read_new_losses,
    read_pushed,
    read_pushed_losses,
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
    head = repo.commit()
    asked: list[str] = []
    real = run_git

    def note(words: list[str], *rest: Any, **more: Any) -> Any:
        asked.append(words[0])
        return real(words, *rest, **more)

    monkeypatch.setattr("checkpoint_git.git.pushed.run_git", note)
    assert read_new_losses(str(repo.path), head, ["--remotes"], "*.yaml") == []
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
    head = repo.commit()
    found = read_losses_between(str(repo.path), (before, "HEAD"), ["theirs"], "*.yaml")
    assert sorted(found) == [Loss("b.yaml", "changed"), Loss("c.yaml", "removed")]
    every = read_losses_between(str(repo.path), (before, "HEAD"), [before], "*.yaml")
    assert sorted(every) == [
        Loss("a.yaml", "changed"),
        Loss("b.yaml", "changed"),
        Loss("c.yaml", "removed"),
    ]
    assert sorted(read_new_losses(str(repo.path), head, ["theirs"], "*.yaml")) == sorted(found)


def test_a_push_is_compared_with_what_this_clone_knows_of_the_remote(repo: GitRepo) -> None:
    kept, changed, removed = (f".checkpoints/{name}.checkpoint.json" for name in "abc")
    for name in (kept, changed, removed):
        repo.write(name, "1\n")
    first = repo.commit()
    repo.write(changed, "2\n")
    repo.write("readme", "no checkpoint\n")
    (repo.path / removed).unlink()
    second = repo.commit()
    blob = repo.git("rev-parse", "HEAD:readme")
    repo.git("update-ref", "refs/remotes/hub/main", first)
    assert read_commit_changes(str(repo.path), [second]) == {changed}

    unknown = "1" * 40  # somebody pushed it, and nobody here has fetched it
    for local_id, remote_id, remote, sent, lost in (
        (second, first, "hub", {changed}, {removed, changed}),
        (second, second, "hub", set(), set()),
        (second, ZERO, "hub", {changed}, {removed, changed}),
        (second, unknown, "hub", {changed}, set()),
        (second, unknown, "https://example.org/x", {kept, changed}, set()),
        (second, ZERO, "other", {kept, changed}, set()),
        (blob, ZERO, "hub", set(), set()),  # a tag on a file
    ):
        push = Push("refs/heads/main", local_id, "refs/heads/main", remote_id)
        files = {path for path, _ in read_pushed(str(repo.path), push, remote).files}
        losses = read_pushed_losses(str(repo.path), push, remote, "**/*.json")
        assert (files, {loss.path for loss in losses}) == (sent, lost), (remote_id, remote)


def test_a_loss_is_found_wherever_a_new_branch_leaves_what_the_remote_has(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkpoint_git.git.pushed._MOST_ENDS", 1)
    first = repo.commit()
    for name in ("a", "b"):
        repo.git("checkout", "-q", "-b", name, first)
        repo.write(f"{name}.yaml", "1\n")
        repo.commit()
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "a")
    merge = repo.git("rev-parse", "HEAD")
    repo.git("update-ref", "refs/heads/b", "HEAD^1")
    top = str(repo.path)
    assert read_new_losses(top, merge, ["a", "b"], "*.yaml") == []
    for name in ("a", "b"):
        repo.git("checkout", "-q", "--detach", merge)
        repo.git("rm", "-q", f"{name}.yaml")
        lost = read_new_losses(top, repo.commit(), ["a", "b"], "*.yaml")
        assert lost == [Loss(f"{name}.yaml", "removed")]
