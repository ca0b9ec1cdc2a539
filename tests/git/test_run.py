"""The one door to git: what it answers, what it refuses, and what it keeps from the environment."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import (
    LOCAL_VARIABLES,
    GitResult,
    check_git_version,
    clean_env,
    fetching_env,
    git_error,
    offline_env,
    quote_path,
    read_bare_top,
    run_git,
    start_git,
    stream_git,
)
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text


def test_output_and_input_are_bytes(repo: GitRepo) -> None:
    result = run_git(["hash-object", "--stdin"], str(repo.path), stdin=b"\xff\x00")
    assert result.code == 0
    assert len(result.out.strip()) == 40


def test_what_a_stream_is_given_may_be_more_than_a_pipe_holds(repo: GitRepo) -> None:
    data, env = b"x" * 3_000_000, clean_env(os.environ)
    words = ["hash-object", "--stdin"]
    assert (
        b"".join(stream_git(words, str(repo.path), env=env, stdin=data))
        == run_git(words, ".", stdin=data).out
    )
    assert (
        b"".join(stream_git(["rev-parse", "--git-dir"], str(repo.path), env=env, stdin=data))
        == b".git\n"
    )
    assert b"".join(stream_git(words, str(repo.path), env=env)) == run_git(words, ".").out


def test_a_failure_says_what_git_said_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"git status failed.*not a git repository") as caught:
        run_git(["status"], str(tmp_path))
    assert "git init" in str(caught.value.hint)


@rows(
    ("words", "hint"),
    [
        ("detected dubious ownership in repository at '/a b'", "--add safe.directory '/a b'"),
        (
            "detected dubious ownership in repository at '/o'b'",
            "--add safe.directory " + shlex.quote("/o'b"),
        ),
        (
            "unsafe repository ('/a' is owned by someone else)",
            "--add safe.directory /a",
        ),  # git 2.35.2 to 2.37
        (
            "cannot use bare repository '/a' (safe.bareRepository is 'explicit')",
            'export GIT_DIR="$PWD"',
        ),
        ("unable to create temporary file: Read-only file system", "is mounted read-only"),
    ],
)
def test_known_trouble_has_a_hint_in_the_words_of_each_git(words: str, hint: str) -> None:
    assert hint in str(
        git_error(["status"], GitResult(128, b"", f"fatal: {words}\n".encode()), "/a").hint
    )


def test_only_what_git_does_not_know_is_a_matter_of_its_version() -> None:
    def hint(code: int, message: bytes) -> str:
        return str(git_error(["status"], GitResult(code, b"", message), "/a").hint)

    assert hint(129, b"error: unknown option `x'\n").endswith("or newer is needed")
    assert hint(128, b"fatal: something else\n") == ""
    assert hint(129, b"fatal: not a git repository\n").endswith("git init")
    outside = b"error: unknown option `cached'\nusage: git diff --no-index [<options>] <path>\n"
    assert hint(129, outside).endswith("git status")
    gone = b"fatal: not a git repository: /a/.git/worktrees/b\n"
    assert hint(128, gone).endswith("git worktree repair")


@rows(
    ("words", "command"),
    [
        (["mv", "a", "b"], "mv"),
        (["-c", "core.hooksPath=/dev/null", "-c", "a.b=c", "mv", "a"], "mv"),
        (["--literal-pathspecs", "status", "-z"], "status"),
        (["--version"], "--version"),
    ],
)
def test_a_failure_names_the_command_and_not_an_option_of_git(
    words: list[str], command: str
) -> None:
    error = git_error(words, GitResult(128, b"", b""), "/a")
    assert str(error) == f"git {command} failed in /a: exit code 128"


@rows(
    ("path", "written"),
    [
        (b"a b~\xc3\xa9", b"a b~\xc3\xa9"),
        (b"\x1f", b'"\\037"'),
        (b"\x7f ~", b'"\\177 ~"'),
        (b'"\\\x80!', b'"\\042\\134\\200!"'),
        (b'a"\\', b'a"\\'),
    ],
)
def test_a_path_is_quoted_only_where_a_line_cannot_hold_it(path: bytes, written: bytes) -> None:
    assert quote_path(path) == written


@pytest.mark.parametrize("named", [".", "{top}"])
def test_a_bare_repository_that_the_user_named_is_used_where_git_wants_a_name(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    repo.commit()
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bare = GitRepo(tmp_path / "bare.git")
    Path(os.environ["HOME"], ".gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("GIT_DIR", named.format(top=bare.path))
    assert read_bare_top(str(bare.path), clean_env(clean_env(os.environ))) == str(bare.path)
    for words in (["init"], ["doctor"], ["audit"], ["uninstall"]):
        done = run_here(*words, cwd=bare.path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_can_be_looked_at_instead(tmp_path: Path) -> None:
    assert run_git(["status"], str(tmp_path), check=False).code == 128


def test_a_missing_git_and_a_missing_folder_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CheckpointError, match="is not a directory"):
        run_git(["status"], str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError, match="git was not found"):
        run_git(["status"], str(tmp_path))


def test_a_git_that_cannot_be_started_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("no program\n")
    with pytest.raises(CheckpointError, match="could not be started: Not a directory"):
        run_git(["status"], str(tmp_path / "git"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError, match="could not be started: Permission denied"):
        run_git(["status"], str(tmp_path))


def replace_git(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a script in git's place."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


@rows(
    ("printed", "version"),
    [
        ("2.39.5", (2, 39, 5)),
        ("2.47.0.windows.1", (2, 47, 0, 1)),
        ("2.39.5 (Apple Git-154)", (2, 39, 5)),
        ("2.31.0", (2, 31, 0)),
        ("2.31", (2, 31)),
    ],
)
def test_versions_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, version: tuple[int, ...]
) -> None:
    replace_git(tmp_path, monkeypatch, f"echo 'git version {printed}'")
    assert check_git_version(str(tmp_path)) == version


@rows(
    ("printed", "message", "hint"),
    [
        ("git version 2.30.9", "git 2.30.9 is too old", "install git 2.31 or newer"),
        ("git version", "gave no version", "which git is on PATH"),
        ("git version unknown", "gave no version", "which git is on PATH"),
    ],
)
def test_a_git_that_is_too_old_or_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, message: str, hint: str
) -> None:
    replace_git(tmp_path, monkeypatch, f"echo '{printed}'")
    with pytest.raises(CheckpointError, match=message) as caught:
        check_git_version(str(tmp_path))
    assert hint in str(caught.value.hint)


def test_the_git_here_is_new_enough(tmp_path: Path) -> None:
    assert check_git_version(str(tmp_path)) >= (2, 31)


def test_a_command_that_reads_fetches_nothing_unless_the_user_lets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_git(tmp_path, monkeypatch, "echo $GIT_NO_LAZY_FETCH $GIT_ALLOW_PROTOCOL")

    def show(words: Sequence[str], **env: str) -> bytes:
        return run_git(words, str(tmp_path), env={"PATH": os.environ["PATH"], **env}).out

    for words in (["cat-file", "--batch"], ["-c", "diff-tree", "HEAD"]):
        assert show(words) == show(words, GIT_NO_LAZY_FETCH="1") == b"1 none\n"
        assert show(words, GIT_NO_LAZY_FETCH="0") == b"0\n"
    for words in (["fetch", "hub", "diff-tree"], ["log"]):
        assert show(words) == b"\n"
        assert show(words, GIT_NO_LAZY_FETCH="0") == b"0\n"


def test_a_command_that_compares_starts_no_filter_that_a_repository_names(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* filter=odd\n")
    repo.write("a", "1\n")
    repo.commit()
    script = repo.path.parent / "filter"
    script.write_text(f"#!/bin/sh\ntouch {repo.path.parent / 'ran'}\nexit 1\n")
    script.chmod(0o755)
    repo.configure(
        {
            "filter.odd.clean": str(script),
            "filter.odd.process": str(script),
            "filter.odd.required": "true",
        }
    )
    os.utime(repo.path / "a", (1, 1))
    given = {
        **os.environ,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "status.branch",
        "GIT_CONFIG_VALUE_0": "true",
    }
    for words in (["status", "--short"], ["--literal-pathspecs", "status", "--short"]):
        shown = run_git(words, str(repo.path)).out
        assert run_git(words, str(repo.path), env=given).out == b"## main\n" + shown
        assert b"".join(stream_git(words, str(repo.path), env=dict(os.environ))) == shown
    run_git(["diff", "HEAD"], str(repo.path))
    assert not (repo.path.parent / "ran").exists()


def test_a_submodule_is_not_asked_about_its_files(repo: GitRepo) -> None:
    inner = GitRepo.create(repo.path / "inner")
    inner.write("a", "1\n")
    inner.commit()
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    repo.commit()
    inner.write("a", "2\n")
    assert repo.git("status", "--short") == " m inner"
    assert run_git(["status", "--short"], str(repo.path)).out == b""
    assert run_git(["--no-pager", "status", "--short"], str(repo.path)).out == b""
    assert run_git(["diff", "--", "inner"], str(repo.path)).out == b""
    inner.commit()
    assert run_git(["status", "--short"], str(repo.path)).out == b" M inner\n"


def test_a_branch_that_is_called_like_a_command_is_none(repo: GitRepo) -> None:
    repo.commit()
    repo.git("branch", "diff")
    assert run_git(["branch", "--list", "diff"], str(repo.path)).out == b"  diff\n"


def test_the_environments_for_work_elsewhere_leave_fetching_to_the_user() -> None:
    tied = {"PATH": "/bin", "GIT_INDEX_FILE": "x", "GIT_CONFIG_VALUE_3": "y"}
    assert clean_env(tied) == {"PATH": "/bin"}
    assert fetching_env({"A": "b"}) == {"A": "b", "GIT_NO_LAZY_FETCH": "0"}
    assert fetching_env({"GIT_NO_LAZY_FETCH": "1"}) == {"GIT_NO_LAZY_FETCH": "1"}
    assert offline_env(tied) == {
        "PATH": "/bin",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
    allowed = {"GIT_NO_LAZY_FETCH": "0", "GIT_TERMINAL_PROMPT": "0"}
    assert offline_env({"GIT_NO_LAZY_FETCH": "0"}) == allowed


def test_only_a_bare_repository_has_a_bare_top(repo: GitRepo, tmp_path: Path) -> None:
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    env = {**os.environ, "GIT_DIR": str(bare.path)}
    assert read_bare_top(str(bare.path), env) == str(bare.path)
    assert read_bare_top(str(repo.path), clean_env(os.environ)) is None
    assert read_bare_top(str(tmp_path), clean_env(os.environ)) is None


def test_a_stream_leaves_no_file_open_however_it_ends(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = clean_env(os.environ)
    top = str(repo.path)
    before = len(os.listdir("/dev/fd"))
    assert b"".join(stream_git(["rev-parse", "--git-dir"], top, env=env)) == b".git\n"
    with pytest.raises(CheckpointError, match=r"git log failed .* not be read whole") as raised:
        list(stream_git(["log", "nowhere"], top, env=env))
    assert str(raised.value.hint) == "git says why: git log --raw"
    stream = stream_git(["rev-parse", "--git-dir"], top, env=env)
    assert next(stream) == b".git\n"
    stream.close()  # type: ignore[attr-defined]
    monkeypatch.setenv("PATH", str(tmp_path))
    for command in ("rev-parse", "status"):
        with pytest.raises(CheckpointError, match="git was not found"):
            list(stream_git([command], top, env=dict(os.environ)))
    assert len(os.listdir("/dev/fd")) == before


def test_only_a_group_of_its_own_leaves_the_session_of_the_terminal(repo: GitRepo) -> None:
    words = ["cat-file", "--batch"]
    with start_git(words, str(repo.path)) as process:
        assert os.getsid(process.pid) == os.getsid(0)
        process.communicate()
    with start_git(words, str(repo.path), own_group=True) as process:
        assert os.getsid(process.pid) == process.pid
        process.communicate()


def test_our_list_of_local_variables_holds_all_that_git_names(repo: GitRepo) -> None:
    named = set(repo.git("rev-parse", "--local-env-vars").split())
    assert named <= LOCAL_VARIABLES


def test_a_clean_environment_reaches_the_other_repository(repo: GitRepo, tmp_path: Path) -> None:
    other = GitRepo.create(tmp_path / "other")
    tied = {**os.environ, "GIT_DIR": str(repo.path / ".git"), "GIT_CONFIG_KEY_0": "a.b"}
    words = ["rev-parse", "--absolute-git-dir"]
    assert run_git(words, str(other.path), env=tied).out.strip() == os.fsencode(repo.path / ".git")
    assert run_git(words, str(other.path), env=clean_env(tied)).out.strip() == os.fsencode(
        other.path / ".git"
    )
    assert clean_env(tied)["GIT_CONFIG_KEY_0"] == "safe.bareRepository"
    assert "PATH" in clean_env(tied)


def test_reading_the_status_does_not_rewrite_the_index(repo: GitRepo) -> None:
    repo.write("a", "a\n")
    repo.commit()
    os.utime(repo.path / "a", (1, 1))
    before = (repo.path / ".git/index").read_bytes()
    run_git(["status"], str(repo.path))
    assert (repo.path / ".git/index").read_bytes() == before


@rows(
    "words, name",
    [
        (["status", "-s"], "status"),
        (["-c", "a.b=c", "--no-pager", "log", "-1"], "log"),
        (["--version"], "--version"),
    ],
)
def test_an_error_names_the_command(words: list[str], name: str) -> None:
    error = git_error(words, GitResult(1, b"", b"no\n"), "/a")
    assert str(error) == f"git {name} failed in /a: no"


def test_a_long_answer_can_be_read_as_it_comes(repo: GitRepo) -> None:
    repo.commit("one")
    with start_git(["log", "--format=%s"], str(repo.path), stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.readline() == b"one\n"


def test_a_verb_that_reads_does_not_start_the_monitor_that_a_repository_names(
    repo: GitRepo,
) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit()
    script = repo.path.parent / "monitor"
    script.write_text(f"#!/bin/sh\ntouch {repo.path.parent / 'ran'}\n")
    script.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(script))
    for line in (
        "status",
        "next",
        "prime",
        "show build",
        "log build",
        "validate",
        "validate --staged",
        "diff",
        "resume build",
    ):
        done = run_here(*line.split(), cwd=repo.path)
        assert done.returncode in (0, 1), done.stderr
        assert not (repo.path.parent / "ran").exists(), line
    repo.git("status")
    assert (repo.path.parent / "ran").exists()
