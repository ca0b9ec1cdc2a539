"""The hooks tried by real git: installed ones that work, and ones that look well and do not."""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import driver_settings
from checkpoint_git.git.repository import read_repository
from checkpoint_git.tools.doctor.hook_trial import HookFailure, prove_hooks, read_own_scripts
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.survey import Installation, read_installation
from tests.support.repos import GitRepo

STOPPING = ["pre-commit", "pre-merge-commit", "pre-push"]


@pytest.fixture
def guarded(repo: GitRepo) -> GitRepo:
    """A repository with our hooks."""
    init(str(repo.path), Options(), os.environ)
    return repo


def read(repo: GitRepo) -> Installation:
    repository = read_repository(str(repo.path), os.environ)
    assert repository is not None
    return read_installation(repository, os.environ)


def scripts_of(repo: GitRepo) -> dict[str, bytes]:
    return read_own_scripts(read(repo).hooks)


def prove(repo: GitRepo, seconds: float = 20, only: str = "", **settings: str) -> list[HookFailure]:
    """The failures of a repository's hooks. settings: python or package, in place of what init recorded."""
    found = read(repo)
    wanted = {**{key: found.settings.get(f"checkpoint.install.{key}", "") for key in ("python", "package")}, **settings}
    scripts = {name: script for name, script in scripts_of(repo).items() if only in name}
    return prove_hooks(scripts, {f"checkpoint.install.{key}": wanted[key] for key in wanted}, os.environ, seconds)


def edit(repo: GitRepo, name: str, old: bytes, new: bytes) -> Path:
    path = repo.path / ".git/hooks" / name
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def program(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_hooks_as_init_installs_them_work(guarded: GitRepo) -> None:
    assert list(scripts_of(guarded)) == STOPPING
    assert prove(guarded) == []


def test_without_hooks_of_ours_nothing_is_tried(repo: GitRepo) -> None:
    assert scripts_of(repo) == {}
    assert prove(repo) == []


@pytest.mark.parametrize("name", STOPPING)
def test_line_ends_of_another_system_are_found_although_the_hook_looks_well(guarded: GitRepo, name: str) -> None:
    edit(guarded, name, b"\n", b"\r\n")
    failures = prove(guarded, seconds=3, only=name)
    assert [failure.hook for failure in failures] == [name]
    assert failures[0].said


def test_an_interpreter_that_is_gone_is_found_with_what_the_hook_said(guarded: GitRepo) -> None:
    failures = prove(guarded, python="/gone/python")
    assert [failure.hook for failure in failures] == STOPPING
    assert all("its Python is gone" in failure.said for failure in failures)


def test_a_package_that_is_gone_is_found(guarded: GitRepo, tmp_path: Path) -> None:
    assert [failure.hook for failure in prove(guarded, package=str(tmp_path))] == STOPPING
    bare = program(tmp_path / "python", "#!/bin/sh\nexec /usr/bin/env python3 -I -S -c 'import checkpoint_git'\n")
    assert [failure.hook for failure in prove(guarded, python=bare)] == STOPPING


@pytest.mark.parametrize(
    ("command", "trouble"),
    [
        ("exit 0", "lets an invalid checkpoint through"),
        ("exit 1", "refuses a valid checkpoint"),
    ],
)
def test_an_interpreter_that_does_nothing_is_found(
    guarded: GitRepo, tmp_path: Path, command: str, trouble: str
) -> None:
    failures = prove(guarded, only="pre-commit", python=program(tmp_path / "python", f"#!/bin/sh\n{command}\n"))
    assert [trouble in failure.trouble for failure in failures] == [True]


def test_a_refusal_without_a_reason_is_found(guarded: GitRepo) -> None:
    failures = prove(guarded, only="pre-push", python="/bin/false")
    assert ["without naming" in failure.trouble for failure in failures] == [True]


def test_a_hook_that_hangs_is_ended_with_all_that_it_started(guarded: GitRepo, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    python = program(tmp_path / "python", f'#!/bin/sh\nsleep 600 &\necho $! >"{mark}"\nwait\n')
    failures = prove(guarded, seconds=1, only="pre-push", python=python)
    assert [failure.trouble for failure in failures] == ["it did not end in 1 seconds"]
    with pytest.raises(ProcessLookupError):
        wait_for_the_end_of(int(mark.read_text()))


def wait_for_the_end_of(pid: int) -> None:
    for _ in range(100):
        os.kill(pid, 0)
        time.sleep(0.05)


def test_only_our_part_of_anothers_hook_is_run(repo: GitRepo, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    repo.write(".git/hooks/pre-commit", f'#!/bin/bash -e\n# ours\ntouch "{mark}"\nexit 1\n').chmod(0o755)
    init(str(repo.path), Options(), os.environ)
    script = scripts_of(repo)["pre-commit"]
    assert script.startswith(b"#!/bin/bash -e\n# >>> checkpoint-git")
    assert b"touch" not in script
    assert prove(repo) == []
    assert not mark.exists()


def test_a_hook_that_is_not_word_for_word_ours_is_not_run(guarded: GitRepo, tmp_path: Path) -> None:
    edit(guarded, "pre-commit", b"checkpoint_git_hook() (", f'touch "{tmp_path}/ran"\nhook() ('.encode())
    (guarded.path / ".git/hooks/pre-push").chmod(0o600)
    guarded.write(".git/hooks/pre-merge-commit", "#!/bin/sh\ntrue\n")
    assert scripts_of(guarded) == {}


@pytest.mark.parametrize(
    "first",
    [
        "#!./sh",
        "#!{top}/sh",
        "#!{top}/link",
        "#!/bin/sh -ctouch`echo`pwned",
        "#!/bin/sh -c touch",
        "#!/usr/bin/env ./sh",
        "#!/usr/bin/env -S sh -c touch",
        "#!/usr/bin/env PATH=. sh",
        "#!/usr/bin/python3",
        "#!sh",
        "#!{top}/../bin/sh",
    ],
)
def test_a_first_line_that_starts_something_else_than_a_systems_shell_is_not_followed(
    guarded: GitRepo, first: str
) -> None:
    program(guarded.path / "sh", "#!/bin/sh\ntouch pwned\n")
    (guarded.path / "link").symlink_to("sh")
    program(guarded.path.parent / "bin/sh", "#!/bin/sh\ntouch pwned\n")
    edit(guarded, "pre-commit", b"#!/bin/sh", first.format(top=guarded.path).encode())
    assert list(scripts_of(guarded)) == STOPPING[1:]


@pytest.mark.parametrize("first", ["#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e", "#! /bin/sh -eu", "#!/bin/bash"])
def test_any_shell_of_the_system_may_run_it(guarded: GitRepo, first: str) -> None:
    edit(guarded, "pre-push", b"#!/bin/sh", first.encode())
    assert prove(guarded, only="pre-push") == []


def test_a_hook_that_the_framework_has_put_aside_is_tried_there(guarded: GitRepo) -> None:
    hooks = guarded.path / ".git/hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    guarded.write(
        ".git/hooks/pre-commit", "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\nexit 1\n"
    ).chmod(0o755)
    assert list(scripts_of(guarded)) == STOPPING
    assert prove(guarded, only="pre-commit") == []
    (hooks / "pre-commit.legacy").unlink()
    assert list(scripts_of(guarded)) == STOPPING[1:]


def test_the_command_on_the_users_path_does_not_count(
    guarded: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "checkpoint", "#!/bin/sh\nexit 0\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert "its Python is gone" in prove(guarded, only="pre-push", python="/gone/python")[0].said


def test_what_python_finds_in_the_users_home_counts(guarded: GitRepo, tmp_path: Path) -> None:
    installed = Path(os.environ["HOME"]) / ".local/lib/installed.py"
    installed.parent.mkdir(parents=True)
    installed.touch()
    python = program(
        tmp_path / "python",
        f'#!/bin/sh\n[ -f "$HOME/.local/lib/installed.py" ] || exit 1\nexec "{sys.executable}" "$@"\n',
    )
    assert prove(guarded, only="pre-push", python=python) == []


def test_the_repository_of_a_running_hook_is_left_alone(guarded: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    head = guarded.commit()
    scripts = scripts_of(guarded)
    found = read(guarded)
    settings = {key: found.settings[key] for key in (driver_settings.PYTHON, driver_settings.PACKAGE)}
    monkeypatch.setenv("GIT_DIR", str(guarded.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(guarded.path / ".git/index"))
    assert prove_hooks(scripts, settings, os.environ) == []
    assert guarded.git("rev-parse", "HEAD") == head
    assert guarded.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_nothing_is_left_in_the_temporary_folder(
    guarded: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    prove(guarded, seconds=0.2)
    prove(guarded, python="/bin/false")
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(CheckpointError):
        prove(guarded)
