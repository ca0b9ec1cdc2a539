"""The self-proof, with drivers that work and drivers that fail in every way we know of."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

import checkpoint_git
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import (
    BASE_DRIVER,
    DRIVER,
    RECURSIVE,
    Choices,
    Narrative,
    plan_settings,
)
from checkpoint_git.tools.doctor.driver_trial import prove_driver
from checkpoint_git.tools.doctor.trial_repository import check_room, open_trial
from tests.support.repos import GitRepo
from tests.support.rows import rows

PACKAGE = str(Path(checkpoint_git.__file__).parent)


@pytest.mark.parametrize("narrative", get_args(Narrative))
def test_our_driver_as_init_configures_it_proves_itself(narrative: Narrative) -> None:
    proof = prove_driver(plan_settings(sys.executable, PACKAGE, Choices(narrative)))
    assert proof.holds, proof


def test_an_interpreter_that_is_gone_is_told_by_the_fallback_that_ran() -> None:
    proof = prove_driver(plan_settings("/nowhere/python", PACKAGE, Choices()))
    assert "did not run" in proof.clean
    assert not proof.conflict
    assert proof.printed


@rows(
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


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config"])
def test_what_the_user_set_for_all_repositories_does_not_count(name: str) -> None:
    settings = Path(os.environ["HOME"]) / name
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[merge]\n\tff = only\n[alias]\n\tbroken")
    assert prove_driver(plan_settings(sys.executable, PACKAGE, Choices())).holds


def test_no_driver_at_all_is_found_out() -> None:
    assert not prove_driver({}).holds


def test_a_driver_that_never_ends_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    command = f"sleep 600 & echo $! > '{mark}'; wait; true %A"
    assert "did not end" in prove_driver({"merge.checkpoint.driver": command}, seconds=1).clean
    with pytest.raises(ProcessLookupError):
        _wait_for_the_end_of(int(mark.read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_who_ends_the_proof_ends_all_of_it(tmp_path: Path, number: signal.Signals) -> None:
    mark, folder = tmp_path / "pid", tmp_path / "temporary"
    folder.mkdir()
    settings = {
        DRIVER: f"sleep 600 & echo $! > '{mark}.new'; mv '{mark}.new' '{mark}'; wait; true %A"
    }
    script = (
        # nohup, or a shell's &, may have run this suite
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"from checkpoint_git.tools.doctor.driver_trial import prove_driver; prove_driver({settings!r}, seconds=60)"
    )
    env = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen([sys.executable, "-c", script], env=env, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=30) != 0
    with pytest.raises(ProcessLookupError):
        _wait_for_the_end_of(int(mark.read_text()))
    assert list(folder.iterdir()) == []


def test_signals_are_as_before_afterwards_and_other_threads_may_try_too() -> None:
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(prove_driver(configured()).holds))
    thread.start()
    thread.join()
    assert answers == [True]
    assert prove_driver(configured()).holds
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def _wait_for_the_end_of(pid: int) -> None:
    for _ in range(100):
        os.kill(pid, 0)
        time.sleep(0.05)


def configured(**changes: str) -> dict[str, str]:
    """What init configures, with some commands replaced: driver, base."""
    keys = {"driver": DRIVER, "base": BASE_DRIVER}
    return plan_settings(sys.executable, PACKAGE, Choices()) | {
        keys[name]: text for name, text in changes.items()
    }


@rows("command", ["false", "true", "cp %B %A", "echo nonsense > %A", "no-such-program %A"])
def test_a_driver_for_bases_that_does_wrong_is_found_in_a_criss_cross_merge(command: str) -> None:
    proof = prove_driver(configured(base=command))
    assert not proof.clean
    assert not proof.conflict
    assert proof.crossed
    assert not proof.holds


def test_without_a_driver_for_bases_nothing_is_said_of_it() -> None:
    settings = {
        key: value for key, value in configured().items() if key not in (RECURSIVE, BASE_DRIVER)
    }
    assert prove_driver(settings).holds


def test_a_temporary_folder_that_cannot_be_used_says_nothing_about_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(CheckpointError) as raised:
        prove_driver(configured())
    assert "TMPDIR" in str(raised.value.hint)


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)
def test_a_full_disk_says_nothing_about_the_driver() -> None:
    with open_trial(os.environ, {}) as trial:
        (Path(trial.folder) / "room").symlink_to("/dev/full")
        with pytest.raises(CheckpointError, match="No space left"):
            check_room(trial)


def test_nothing_is_left_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    prove_driver(configured())
    prove_driver({"merge.checkpoint.driver": "sleep 60"}, seconds=0.3)
    with suppress(CheckpointError):  # only root's git goes on there
        prove_driver({"merge.checkpoint.driver": "chmod -R a-w . ; false"})
    assert list(tmp_path.iterdir()) == []


def test_the_users_own_git_configuration_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = (
        "[commit]\n gpgSign = true\n[merge]\n ff = false\n verifySignatures = true\n conflictStyle = zdiff3\n"
        "[core]\n autocrlf = true\n hooksPath = /nowhere\n[init]\n templateDir = /nowhere\n[diff]\n external = false\n"
    )
    Path(os.environ["HOME"], ".gitconfig").write_text(settings)
    proof = prove_driver(configured())
    assert proof.holds, proof


def test_a_program_that_only_the_users_path_knows_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "my-driver"
    mine.write_text("#!/bin/sh\nexit 0\n")
    mine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "did not run" in prove_driver({"merge.checkpoint.driver": "my-driver %A"}).clean


def test_the_repository_of_a_running_hook_is_left_alone(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
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
