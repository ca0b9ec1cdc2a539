"""The self-proof, with drivers that work and drivers that fail in every way we know of."""

import sys
from pathlib import Path
from typing import get_args

import pytest

import checkpoint_git
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.repo import selfproof
from checkpoint_git.repo.selfproof import prove_driver
from checkpoint_git.repo.settings import Choices, Narrative, plan_settings
from tests.support.repos import GitRepo

PACKAGE = str(Path(checkpoint_git.__file__).parent)


@pytest.mark.parametrize("narrative", get_args(Narrative))
def test_our_driver_as_init_configures_it_proves_itself(narrative: Narrative) -> None:
    proof = prove_driver(plan_settings(sys.executable, PACKAGE, Choices(narrative)))
    assert proof.holds, proof


def test_an_interpreter_that_is_gone_is_told_by_the_fallback_that_ran() -> None:
    proof = prove_driver(plan_settings("/nowhere/python", PACKAGE, Choices()))
    assert "did not run" in proof.clean
    assert not proof.conflict
    assert proof.said


@pytest.mark.parametrize(
    ("command", "clean", "conflict"),
    [
        ("true", "lost", "contradict"),
        ("false", "did not run", "no markers"),
        ("cp %B %A", "lost", "contradict"),
        ("echo nonsense > %A", "not JSON", "contradict"),
        ("git merge-file -L ours -L base -L theirs %A %O %B || exit 1", "did not run", ""),
        ("no-such-program-at-all %O %A %B", "did not run", "no markers"),
    ],
)
def test_a_driver_that_does_wrong_is_found_out(command: str, clean: str, conflict: str) -> None:
    proof = prove_driver({"merge.checkpoint.driver": command})
    assert clean in proof.clean
    assert conflict in proof.conflict
    assert not proof.holds


def test_no_driver_at_all_is_found_out() -> None:
    assert not prove_driver({}).holds


def test_a_driver_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selfproof, "_SECONDS", 1)
    assert "did not end" in prove_driver({"merge.checkpoint.driver": "sleep 3"}).clean


def test_a_program_that_only_the_users_path_knows_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "my-driver"
    mine.write_text("#!/bin/sh\nexit 0\n")
    mine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "did not run" in prove_driver({"merge.checkpoint.driver": "my-driver %A"}).clean


def test_the_repository_of_a_running_hook_is_left_alone(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    head = repo.commit()
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo.path / ".git" / "index"))
    assert prove_driver(plan_settings(sys.executable, PACKAGE, Choices())).holds
    assert repo.git("rev-parse", "HEAD") == head
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_git_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError):
        prove_driver({})
