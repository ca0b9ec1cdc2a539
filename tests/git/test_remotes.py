"""Remotes: names that are none, what git says of a push, and servers that talk or wait without
end.
"""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.remotes import (
    UnreachableError,
    check_branch,
    check_remote,
    fetch,
    network_env,
    read_full_bases,
    read_remote_ref,
    read_reply,
)
from checkpoint_git.git.run import GitResult
from tests.support.repos import GitRepo
from tests.support.rows import rows

TO = b"To git://host/x\n"


@pytest.mark.parametrize("name", ["topic", "refs/heads/topic"])
def test_a_branch_has_one_full_name(repo: GitRepo, name: str) -> None:
    assert check_branch(str(repo.path), name) == "refs/heads/topic"


@pytest.mark.parametrize(
    "name", ["a..b", "refs/tags/x", "\x7f", "a\\b", "/a", "a.", "@{", "é\u202e"]
)
def test_what_git_allows_nowhere_is_no_branch(repo: GitRepo, name: str) -> None:
    with pytest.raises(CheckpointError, match="cannot be a branch"):
        check_branch(str(repo.path), name)


def test_only_the_very_ref_counts_on_a_remote(repo: GitRepo) -> None:
    head = repo.commit("x")
    repo.git("update-ref", "refs/heads/far/refs/heads/topic", head)
    assert read_remote_ref(str(repo.path), ".", "refs/heads/topic") == ""
    assert read_remote_ref(str(repo.path), ".", "refs/heads/main") == head
    with pytest.raises(UnreachableError, match="nowhere"):
        read_remote_ref(str(repo.path), "./nowhere", "refs/heads/main")


def test_a_remote_is_configured_or_an_address(repo: GitRepo) -> None:
    repo.git("remote", "add", "hub", "/nowhere")
    for remote in ("hub", "https://example.org/x.git", "../x", "git@example.org:x"):
        check_remote(str(repo.path), remote)
    with pytest.raises(CheckpointError) as caught:
        check_remote(str(repo.path), "--exec=x")
    assert "known are: hub" in str(caught.value.hint)


@rows(
    ("code", "out", "err", "kind"),
    [
        (0, TO + b" \tabc:refs/heads/main\ta..b\nDone\n", b"", "arrived"),
        (0, TO + b"=\tabc:refs/heads/main\t[up to date]\nDone\n", b"", "arrived"),
        (
            1,
            TO + b"!\tabc:refs/heads/main\t[rejected] (stale info)\nDone\n",
            b"error: failed",
            "lost",
        ),
        (1, TO + b"!\tabc:refs/heads/main\t[rejected] (fetch first)\n", b"", "lost"),
        (
            1,
            TO
            + b"!\tabc:refs/heads/main\t[remote rejected] (cannot lock ref 'refs/heads/main': is at)\n",
            b"",
            "lost",
        ),
        (
            1,
            TO + b"!\tabc:refs/heads/main\t[remote rejected] (failed to update ref)\n",
            b"",
            "lost",
        ),
        (
            1,
            TO + b"!\tabc:x\t[remote rejected] (Unable to create '/x/main.lock': File exists.)\n",
            b"",
            "lost",
        ),
        (
            1,
            TO
            + b"!\tabc:x\t[remote rejected] (unable to create '/x/objects': Permission denied)\n",
            b"",
            "refused",
        ),
        (
            1,
            TO + b"!\tabc:refs/heads/a/b\t[remote rejected] (failed to update ref)\n",
            b"remote: error: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'\n",
            "refused",
        ),
        (
            1,
            TO + b"!\tabc:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n",
            b"remote: no\n",
            "refused",
        ),
        (
            1,
            TO + b"!\tabc:refs/heads/main\t[remote rejected] (branch is currently checked out)\n",
            b"",
            "refused",
        ),
        (1, b"no\n", b"error: failed to push some refs to 'x'\n", "hook"),
        (1, b"", b"error: dst refspec refs/heads/main matches more than one\n", "refused"),
        (
            1,
            TO + b"*\tabc:refs/heads/main\t[new branch]\n",
            b"send-pack: unexpected disconnect\n",
            "unknown",
        ),
        (128, b"", b"fatal: Could not read from remote repository.\n", "unknown"),
        (
            128,
            b"",
            b"fatal: unable to access 'x': The requested URL returned error: 403\n",
            "refused",
        ),
        (-9, b"", b"\nfatal: no answer within 1 seconds", "unknown"),
    ],
)
def test_what_git_says_about_a_push_is_understood(
    code: int, out: bytes, err: bytes, kind: str
) -> None:
    assert read_reply(GitResult(code, out, err)).kind == kind


def test_what_a_remote_says_is_quoted_without_its_control_characters() -> None:
    err = b"remote: \x1b[31mprotected\x1b[0m\nremote: \n" + b"x" * 5_000
    said = read_reply(
        GitResult(1, TO + b"!\tx\t[remote rejected] (pre-receive hook declined)\n", err)
    ).reason
    assert "protected" in said
    assert "\x1b" not in said
    assert len(said) < 700


def test_what_a_remote_prints_is_shown_without_passwords_and_tokens() -> None:
    token = f"{'gh'}p_{'Ab1' * 12}"
    err = f"remote: see https://ada:s3cret@h/x\nremote: {token} is not allowed\n".encode()
    said = read_reply(
        GitResult(1, TO + b"!\tx\t[remote rejected] (pre-receive hook declined)\n", err)
    ).reason
    assert said.endswith("see https://[redacted]@h/x / [redacted] is not allowed")


def test_nobody_is_asked_for_a_password() -> None:
    window = {"SSH_ASKPASS": "/usr/bin/ssh-askpass", "DISPLAY": ":0"}
    env = network_env({"PATH": "/bin", "GIT_DIR": "/elsewhere", **window})
    assert (env["GIT_TERMINAL_PROMPT"], env["SSH_ASKPASS"], env["SSH_ASKPASS_REQUIRE"]) == (
        "0",
        "",
        "never",
    )
    assert "GIT_DIR" not in env


@pytest.mark.parametrize("name", ["GIT_SSH_COMMAND", "GIT_ASKPASS"])
def test_what_a_job_chose_to_answer_with_stays(name: str) -> None:
    assert network_env({name: "mine"})[name] == "mine"


@pytest.mark.parametrize(
    ("answer", "seconds", "reason"),
    [("yes no >&2", 60.0, "more than a megabyte"), ("sleep 60", 0.2, "no answer within 0 seconds")],
)
def test_a_remote_that_talks_or_waits_without_end_is_left(
    answer: str, seconds: float, reason: str, repo: GitRepo
) -> None:
    env = {**os.environ, "GIT_SSH_COMMAND": f"{answer} #", "GIT_SSH_VARIANT": "ssh"}
    with pytest.raises(UnreachableError, match=reason):
        fetch(str(repo.path), "ssh://host.invalid/x", ["refs/heads/main"], env, seconds)


@rows("name", ["HEAD", "refs/heads/HEAD", "@", "-x", "--exec=x", "", "refs/heads/", "x" * 5_000])
def test_a_new_branch_gets_no_name_that_git_takes_for_something_else(
    repo: GitRepo, name: str
) -> None:
    with pytest.raises(CheckpointError, match="cannot be a branch"):
        check_branch(str(repo.path), name, is_new=True)


def test_a_branch_that_is_there_may_have_an_odd_name(repo: GitRepo) -> None:
    assert check_branch(str(repo.path), "HEAD") == "refs/heads/HEAD"
    assert check_branch(str(repo.path), "-x") == "refs/heads/-x"


def test_a_fetch_says_whether_the_remote_has_what_was_wanted(repo: GitRepo) -> None:
    repo.commit("x")
    assert fetch(str(repo.path), ".", ["refs/heads/main"])
    assert not fetch(str(repo.path), ".", ["refs/heads/missing"])
    with pytest.raises(UnreachableError):
        fetch(str(repo.path), "./nowhere", ["refs/heads/main"])


def test_a_shallow_clone_fetches_what_the_two_sides_have_in_common(
    repo: GitRepo, tmp_path: Path
) -> None:
    base = repo.commit("base")
    left = repo.commit("left")
    repo.git("checkout", "-q", "-b", "right", base)
    right = repo.commit("right")
    assert read_full_bases(str(repo.path), "nowhere", left, right) == [base]
    clone = str(tmp_path / "clone")
    repo.git("clone", "-q", "--depth", "1", "--no-single-branch", f"file://{repo.path}", clone)
    with pytest.raises(CheckpointError, match="too shallow to find what"):
        read_full_bases(clone, "nowhere", left, right)
    assert read_full_bases(clone, "origin", left, right) == [base]
