"""Branches of remotes: names that are none, and why a server refused."""

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.remotes import check_branch, check_remote, find_reason, read_remote_branch
from checkpoint_git.git.run import GitResult
from tests.support.repos import GitRepo


@pytest.mark.parametrize(
    ("out", "err", "said"),
    [
        ("!\ta:b\t[rejected] (stale info)\nDone\n", "error: failed to push\n", "stale info"),
        (
            "!\ta:b\t[remote rejected] (hook declined)\nDone\n",
            "remote: ask the owner\nerror: failed\n",
            "hook declined; ask the owner",
        ),
        ("", "fatal: the remote end hung up\n", "fatal: the remote end hung up"),
        ("", "something else\n", "something else"),
        ("", "", "git push ended with 128"),
    ],
)
def test_the_reason_of_a_refusal_is_found(out: str, err: str, said: str) -> None:
    assert find_reason(GitResult(128, out.encode(), err.encode())) == said


def test_a_long_reason_is_cut() -> None:
    assert len(find_reason(GitResult(1, b"", b"remote: " + b"x" * 10_000))) == 300


@pytest.mark.parametrize("name", ["topic", "refs/heads/topic"])
def test_a_branch_has_one_full_name(repo: GitRepo, name: str) -> None:
    assert check_branch(str(repo.path), name) == "refs/heads/topic"


@pytest.mark.parametrize("name", ["a..b", "refs/tags/x", "\x7f", "a\\b", "/a", "a.", "@{", "é\u202e"])
def test_what_git_allows_nowhere_is_no_branch(repo: GitRepo, name: str) -> None:
    with pytest.raises(CheckpointError, match="cannot be a branch"):
        check_branch(str(repo.path), name)


def test_only_the_very_ref_counts_on_a_remote(repo: GitRepo) -> None:
    head = repo.commit("x")
    repo.git("update-ref", "refs/heads/far/refs/heads/topic", head)
    assert read_remote_branch(str(repo.path), ".", "refs/heads/topic") == ""
    assert read_remote_branch(str(repo.path), ".", "refs/heads/main") == head
    assert read_remote_branch(str(repo.path), "./nowhere", "refs/heads/main") is None


def test_a_remote_is_configured_or_an_address(repo: GitRepo) -> None:
    repo.git("remote", "add", "hub", "/nowhere")
    for remote in ("hub", "https://example.org/x.git", "../x", "git@example.org:x"):
        check_remote(str(repo.path), remote)
    with pytest.raises(CheckpointError) as caught:
        check_remote(str(repo.path), "--exec=x")
    assert "known are: hub" in caught.value.hint
