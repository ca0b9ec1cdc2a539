"""The one door to git: what it answers, what it refuses, and what it keeps from the environment."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import (
    LOCAL_VARIABLES,
    GitResult,
    check_git_version,
    clean_env,
    git_error,
    quote_path,
    read_bare_top,
    run_git,
    start_git,
    stream_git,
)
from tests.support.command import run_checkpoint, run_here
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


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.39.5", (2, 39, 5)),
        ("2.47.0.windows.1", (2, 47, 0, 1)),
        ("2.39.5 (Apple Git-154)", (2, 39, 5)),
    ],
)
def test_versions_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: tuple[int, ...]
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho 'git version {said}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert check_git_version(str(tmp_path)) == version


def test_the_git_here_is_new_enough(tmp_path: Path) -> None:
    assert check_git_version(str(tmp_path)) >= (2, 31)


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


def test_a_long_answer_can_be_read_as_it_comes(repo: GitRepo) -> None:
    repo.commit("one")
    with start_git(["log", "--format=%s"], str(repo.path), stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.readline() == b"one\n"


@pytest.mark.parametrize(
    "verb",
    ["status", "next", "prime", "show", "log", "validate", "validate --staged", "diff", "resume"],
)
def test_a_verb_that_reads_does_not_start_the_monitor_that_a_repository_names(
    repo: GitRepo, verb: str
) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit()
    script = repo.path.parent / "monitor"
    script.write_text(f"#!/bin/sh\ntouch {repo.path.parent / 'ran'}\n")
    script.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(script))
    words = [*verb.split(), *(["build"] if verb in ("show", "resume", "log") else [])]
    done = run_checkpoint(*words, cwd=repo.path)
    assert done.returncode in (0, 1), done.stderr
    assert not (repo.path.parent / "ran").exists()
