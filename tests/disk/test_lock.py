"""One writer at a time, between processes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.lock import hold_lock, hold_passing_lock, hold_turn, lock_path

HOLDER = (
    "import sys, time\n"
    "from checkpoint_git.disk.lock import hold_lock\n"
    "with hold_lock(sys.argv[1], 5):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(60)\n"
)


def start_holder(path: Path) -> "subprocess.Popen[str]":
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_process_waits_and_then_says_who_is_in_the_way(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock")
    told: list[str] = []
    try:
        with (
            pytest.raises(CheckpointError, match="another process"),
            hold_lock(str(tmp_path / "lock"), 1.3, lambda: told.append("waiting")),
        ):
            pass
    finally:
        holder.kill()
        holder.communicate()
    assert told == ["waiting"]


def test_a_passing_lock_keeps_others_out_and_is_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        hold_passing_lock(str(path)),
        pytest.raises(CheckpointError),
        hold_passing_lock(str(path), 0.1),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_kill_releases_the_lock(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock")
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with hold_lock(str(tmp_path / "lock"), 5):
        pass


def test_the_end_of_the_block_releases_the_lock(tmp_path: Path) -> None:
    with hold_lock(str(tmp_path / "lock"), 1):
        pass
    with hold_lock(str(tmp_path / "lock"), 0):
        pass


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(CheckpointError, match="could not be opened"),
        hold_lock(str(tmp_path / "lock"), 1),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_lock_lies_in_the_git_directory_else_beside_the_checkpoints() -> None:
    assert lock_path(Place("/r", "/r/.checkpoints", "/r", "/r/.git")) == "/r/.git/checkpoint.lock"
    assert lock_path(Place("/r", "/r/.checkpoints", None, None)) == "/r/.checkpoints/.lock"


def test_a_lock_file_is_removed_only_when_nobody_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = start_holder(path)
    remove = f"from checkpoint_git.disk.lock import hold_passing_lock as hold\nwith hold({str(path)!r}): pass"
    remover = subprocess.Popen([sys.executable, "-c", remove])
    time.sleep(0.3)
    assert path.exists()
    holder.kill()
    assert remover.wait(10) == 0
    assert not path.exists()
    holder.communicate()


def test_who_waited_for_a_lock_that_was_removed_holds_the_new_one(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with hold_lock(path, 1):
        waiting = start_waiting(path)
        os.unlink(path)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "held\n"
    with pytest.raises(CheckpointError), hold_lock(path, 0):
        pass
    waiting.kill()
    waiting.communicate()
    with hold_passing_lock(path):
        pass
    assert not os.path.exists(path)


def start_waiting(path: str) -> "subprocess.Popen[str]":
    waiting = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    return waiting


@pytest.mark.parametrize(
    ("mask", "mode"), [(0o022, 0o600), (0o002, 0o660), (0o077, 0o600), (0o000, 0o666)]
)
def test_who_may_not_write_cannot_hold_the_lock(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        with hold_lock(str(tmp_path / "lock")):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_lock_file_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "lock").touch(0o644)
    (tmp_path / "lock").chmod(0o644)
    with hold_lock(str(tmp_path / "lock")):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_who_has_waited_longest_is_next(tmp_path: Path) -> None:
    path, order = str(tmp_path / "lock"), list[int]()

    def wait(number: int) -> None:
        with hold_lock(path):
            order.append(number)

    with ThreadPoolExecutor(8) as pool, hold_lock(path):
        for number in range(8):
            pool.submit(wait, number)
            time.sleep(0.05)
    assert order == list(range(8))


def test_a_turn_is_waited_for_and_never_in_the_way(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock")
    try:
        waited: list[str] = []
        with hold_turn(str(tmp_path / "lock"), 1.3, lambda: waited.append("waited")):
            assert waited == ["waited"]
    finally:
        holder.kill()
        holder.communicate()
    with (
        hold_turn(str(tmp_path / "new"), 5),
        pytest.raises(CheckpointError),
        hold_lock(str(tmp_path / "new"), 0),
    ):
        pass
    for nowhere in ("", str(tmp_path / "missing/lock"), "/dev/null/lock"):
        with hold_turn(nowhere, 5):
            pass
    with (
        hold_turn(str(tmp_path / "lock"), 5),
        pytest.raises(CheckpointError),
        hold_lock(str(tmp_path / "lock"), 0),
    ):
        pass


def test_a_turn_that_another_user_could_hold_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_lock(str(tmp_path / "lock")):
        monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
        waited: list[str] = []
        with hold_turn(str(tmp_path / "lock"), 20, lambda: waited.append("waited")):
            assert waited == []
