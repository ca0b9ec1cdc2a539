"""Remotes: names that are none, what git says of a push, and servers that talk or wait without
end.
"""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.remotes import (
    PushReply,
    UnreachableError,
    check_branch,
    check_remote,
    fetch,
    network_env,
    push_commit,
    read_full_bases,
    read_remote_ref,
    read_reply,
    run_bounded,
)
from checkpoint_git.git.run import GitResult
from tests.support.repos import GitRepo
from tests.support.rows import rows

TO = b"To git://host/x\n"


@rows(
    ("name", "ref"),
    [
        ("topic", "refs/heads/topic"),
        ("refs/heads/topic", "refs/heads/topic"),
        ("x", "refs/heads/x"),
        ("a/b", "refs/heads/a/b"),
        ("x" * 200, "refs/heads/" + "x" * 200),
    ],
)
def test_a_branch_has_one_full_name(repo: GitRepo, name: str, ref: str) -> None:
    assert check_branch(str(repo.path), name) == ref


@pytest.mark.parametrize(
    "name", ["a..b", "refs/tags/x", "\x7f", "a\\b", "/a", "a.", "@{", "é\u202e", "x" * 201]
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
    for remote in ("--exec=/x", "nowhere", ""):
        with pytest.raises(CheckpointError) as caught:
            check_remote(str(repo.path), remote)
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
        (1, TO + b"!\tabc:refs/tags/x\t[rejected] (needs force)\n", b"", "refused"),
        (1, TO + b"!\tabc:x\t[remote failure] (remote failed to report status)\n", b"", "unknown"),
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
    assert "xxx" not in said


def test_a_reason_is_what_the_remote_or_the_hook_printed_without_what_git_adds() -> None:
    declined = TO + b"!\tx\t[remote rejected] (pre-receive hook declined)\n"
    err = b"remote: no\nremote: \nerror: failed to push some refs to 'x'\n"
    said = read_reply(GitResult(1, declined, err)).reason
    assert said == "[remote rejected] (pre-receive hook declined) / no"

    err = b"two errors\n\nTo x\nhint: look\nerror: failed to push some refs to 'x'\nfix them\n"
    assert read_reply(GitResult(1, b"", err)).reason == "two errors / fix them"
    err = b"ssh: no such host\nfatal: the remote end hung up upon initial contact\n"
    assert read_reply(GitResult(128, b"", err)).reason == "ssh: no such host"
    assert read_reply(GitResult(128, b"", b"")).reason == "git ended with 128"
    assert len(read_reply(GitResult(128, b"", b"x" * 5_000)).reason) <= 600


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


def test_a_remote_that_waits_without_end_is_left(repo: GitRepo) -> None:
    env = {**os.environ, "GIT_SSH_COMMAND": "sleep 60 #", "GIT_SSH_VARIANT": "ssh"}
    with pytest.raises(UnreachableError, match="no answer within 0 seconds"):
        fetch(str(repo.path), "ssh://host.invalid/x", ["refs/heads/main"], env, 0.2)


def test_a_remote_may_print_a_megabyte_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "head -c $OUT /dev/zero; head -c $ERR /dev/zero >&2"
    (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    megabyte = 1 << 20
    for out, err, trouble in (
        (megabyte, megabyte, ""),
        (megabyte + 1, 0, "it printed more than a megabyte"),
        (0, megabyte + 1, "it printed more than a megabyte"),
    ):
        env = {**os.environ, "OUT": str(out), "ERR": str(err)}
        result, found = run_bounded(["log"], str(tmp_path), env, 60.0)
        assert found == trouble
        if trouble:
            assert result.code == -signal.SIGKILL
        else:
            assert (result.code, len(result.out), len(result.err)) == (0, out, err)


def test_who_has_no_access_learns_how_to_log_in_and_no_password_is_shown(repo: GitRepo) -> None:
    def fetch_from(answer: str) -> UnreachableError:
        command = f"echo {answer} >&2; exit 255; #"
        env = {**os.environ, "GIT_SSH_COMMAND": command, "GIT_SSH_VARIANT": "ssh"}
        with pytest.raises(UnreachableError) as caught:
            fetch(str(repo.path), "ssh://ada:s3cret@host.invalid/x", ["refs/heads/main"], env)
        return caught.value

    error = fetch_from("Permission denied")
    assert str(error).startswith("host.invalid/x gave no answer: Permission denied")
    assert str(error.hint).endswith("git ls-remote host.invalid/x")
    assert not fetch_from("no such host").hint


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


def test_a_fetch_waits_for_a_lock_that_a_killed_one_left_and_not_for_long(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repo.commit("x")
    lock = repo.write(".git/refs/remotes/hub/main.lock", "")
    slept = 0

    def sleep(_: float) -> None:
        nonlocal slept
        slept += 1
        if slept == 2:
            lock.unlink()

    clock = SimpleNamespace(monotonic=lambda: 2.0 * slept, sleep=sleep)
    monkeypatch.setattr("checkpoint_git.git.remotes.time", clock)
    wanted = ["refs/heads/main:refs/remotes/hub/main"]
    assert fetch(str(repo.path), ".", wanted)
    assert slept == 2
    assert repo.git("rev-parse", "refs/remotes/hub/main") == head

    repo.commit("y")
    lock.touch()
    with pytest.raises(UnreachableError, match="File exists"):
        fetch(str(repo.path), ".", wanted)
    assert slept == 5


def test_a_fetch_follows_the_remote_and_leaves_the_rest_of_the_clone_alone(
    repo: GitRepo, tmp_path: Path
) -> None:
    head = repo.commit("x")
    repo.git("update-ref", "refs/heads/gone", head)
    clone = GitRepo.create(tmp_path / "clone")
    hook = clone.write(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    for name in ("hub/gone", "hub/main", "other/gone"):
        clone.write(f".git/refs/remotes/{name}", f"{head}\n")

    def fetch_all(*wanted: str) -> list[str]:
        assert fetch(str(clone.path), str(repo.path), wanted)
        refs = clone.git("for-each-ref", "--format=%(refname)").split()
        return [ref.removeprefix("refs/remotes/") for ref in refs]

    every = "refs/heads/*:refs/remotes/hub/*"
    assert fetch_all(every) == ["hub/gone", "hub/main", "other/gone"]
    assert list((clone.path / ".git/objects/pack").glob("*.pack"))  # no loose files
    repo.git("update-ref", "-d", "refs/heads/gone")
    fetch_all("refs/heads/main:refs/remotes/hub/main")
    assert fetch_all(every) == ["hub/main", "other/gone"]


def test_a_push_moves_the_ref_that_was_seen_and_starts_only_the_hook_that_is_wanted(
    repo: GitRepo, tmp_path: Path
) -> None:
    first, second = repo.commit("one"), repo.commit("two")
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    hook = repo.write(".git/hooks/pre-push", "#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)

    def push(commit: str, expected: str, *, hooks: bool = False) -> PushReply:
        return push_commit(
            str(repo.path), str(bare.path), "refs/heads/main", commit, expected, hooks=hooks
        )

    ref = "refs/heads/main"
    assert push_commit(str(repo.path), str(bare.path), ref, first, "") == ("arrived", "")
    assert push(second, "").kind == "lost"
    assert push(second, first, hooks=True) == ("hook", "no")
    assert bare.git("rev-parse", "main") == first
    assert push(second, first) == ("arrived", "")
    assert bare.git("rev-parse", "main") == second


def import_line(repo: GitRepo, count: int) -> list[str]:
    """A line of commits on main, made at once; their ids."""
    commits = (
        f"commit refs/heads/main\ncommitter a <a@b> {number} +0000\ndata 0\n\n"
        for number in range(1, count + 1)
    )
    repo.run("git", "fast-import", "--quiet", stdin="".join(commits).encode())
    return repo.git("rev-list", "--reverse", "main").split()


def test_a_shallow_clone_fetches_what_the_two_sides_have_in_common_and_little_more(
    repo: GitRepo, tmp_path: Path
) -> None:
    line = import_line(repo, 1_200)
    tree = repo.git("rev-parse", "main^{tree}")
    sides = {}
    for name, base in (("near", line[-6]), ("far", line[-300])):
        sides[name] = repo.git("commit-tree", tree, "-p", base, "-m", name)
        repo.git("update-ref", f"refs/heads/{name}", sides[name])
    assert read_full_bases(str(repo.path), "nowhere", line[-1], sides["near"]) == [line[-6]]

    clone = GitRepo(tmp_path / "clone")
    words = ["clone", "-q", "--depth", "1", "--no-single-branch", f"file://{repo.path}"]
    repo.git(*words, str(clone.path))
    with pytest.raises(CheckpointError, match="too shallow to find what"):
        read_full_bases(str(clone.path), "nowhere", line[-1], sides["near"])
    assert read_full_bases(str(clone.path), "origin", line[-1], sides["near"]) == [line[-6]]
    assert len(clone.git("rev-list", "origin/main").split()) < 100
    assert read_full_bases(str(clone.path), "origin", line[-1], sides["far"]) == [line[-300]]
    assert len(clone.git("rev-list", "origin/main").split()) < 1_200

    local = clone.git("commit-tree", tree, "-p", line[-1], "-m", "not pushed")
    clone.git("fetch", "-q", "--depth", "1", "origin")
    clone.git("reflog", "expire", "--expire=all", "--all")
    clone.git("update-ref", "refs/heads/main", local)
    assert read_full_bases(str(clone.path), "origin", local, sides["near"]) == [line[-6]]


def test_a_base_beside_a_cut_may_be_the_wrong_one(repo: GitRepo, tmp_path: Path) -> None:
    root, base = repo.commit("root"), repo.commit("base")
    tree = repo.git("rev-parse", "HEAD^{tree}")

    cut = repo.git("commit-tree", tree, "-p", base, "-m", "cut")
    beside = repo.git("commit-tree", tree, "-p", root, "-m", "beside")
    left = repo.git("commit-tree", tree, "-p", cut, "-p", beside, "-m", "left")
    right = repo.git("commit-tree", tree, "-p", base, "-m", "right")
    for name, tip in (("left", left), ("right", right)):
        repo.git("update-ref", f"refs/heads/{name}", tip)
    clone = GitRepo(tmp_path / "clone")
    repo.git("clone", "-q", ".", str(clone.path))
    clone.write(".git/shallow", f"{cut}\n")
    assert clone.git("merge-base", left, right) == root
    assert read_full_bases(str(clone.path), "origin", left, right) == [base]
