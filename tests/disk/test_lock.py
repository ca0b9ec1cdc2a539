"""One writer at a time, between processes."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import lock
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.lock import hold_lock, hold_passing_lock, hold_turn, lock_path
from tests.support.descriptors import closing_all
from tests.support.rows import rows

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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait is reported after a hundredth of a second."""
    monkeypatch.setattr(lock, "_PATIENCE", 0.01)


@pytest.mark.usefixtures("impatient")
def test_a_second_process_waits_and_then_says_that_another_one_writes(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock")
    reported: list[str] = []
    threads = set(threading.enumerate())
    try:
        for timeout in (0.1, 0):  # where nobody waits, there is nothing to report
            with (
                pytest.raises(
                    CheckpointError, match=f"held .*lock for {timeout} seconds"
                ) as refused,
                hold_lock(str(tmp_path / "lock"), timeout, lambda: reported.append("waiting")),
            ):
                pass
            assert "a killed process keeps no lock" in str(refused.value.hint)
            assert reported == ["waiting"]
        # what waits still lets the program end
        assert all(thread.daemon for thread in set(threading.enumerate()) - threads)
    finally:
        holder.kill()
        holder.communicate()


def test_a_lock_that_is_soon_free_is_had_without_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "lock")
    holder = ExitStack()
    holder.enter_context(hold_lock(path))
    soon = threading.Timer(0.02, holder.close)
    flock = platform.flock

    def start_and_lock(descriptor: int, *, wait: bool) -> bool | None:
        if wait:
            soon.start()
        return flock(descriptor, wait=wait)

    monkeypatch.setattr(platform, "flock", start_and_lock)
    monkeypatch.setattr(lock, "_PATIENCE", 30.0)
    with hold_lock(path, 30, lambda: pytest.fail("it is reported")):
        soon.join()


@pytest.mark.usefixtures("impatient")
def test_who_waits_holds_the_lock_once_it_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    holder = ExitStack()
    holder.enter_context(hold_lock(path))
    with (
        hold_lock(path, 30, holder.close),
        pytest.raises(CheckpointError),
        hold_lock(path, 0),
    ):
        pass


def test_a_passing_lock_keeps_others_out_and_is_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_passing_lock(str(path)):
        with pytest.raises(CheckpointError), hold_passing_lock(str(path), 0):
            pass
        assert path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_passing_lock_is_gone_after_an_error_too_and_may_be_gone_before(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), hold_passing_lock(str(path)):
        raise ZeroDivisionError
    assert not path.exists()
    with hold_passing_lock(str(path)):
        path.unlink()


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


@pytest.mark.usefixtures("impatient")
def test_who_waited_for_a_lock_that_was_removed_holds_the_new_one(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    holder = ExitStack()
    holder.enter_context(hold_passing_lock(path))  # its end removes the file
    with (
        hold_lock(path, 30, holder.close),
        pytest.raises(CheckpointError),
        hold_lock(path, 0),
    ):
        pass


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_whose_file_is_removed_before_it_is_had_is_taken_again(
    is_replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    flock, removed = platform.flock, list[Path]()

    def remove_then_lock(descriptor: int, *, wait: bool) -> bool | None:
        if not removed:
            removed.append(path.rename(tmp_path / "former"))
            if is_replaced:
                path.touch(0o600)
        return flock(descriptor, wait=wait)

    monkeypatch.setattr(platform, "flock", remove_then_lock)
    with closing_all(), hold_lock(str(path), 1):
        assert removed
        with pytest.raises(CheckpointError), hold_lock(str(path), 0):
            pass
        with hold_lock(str(tmp_path / "former"), 0):  # it is no longer held
            pass


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


def test_a_lock_file_whose_mode_cannot_be_changed_is_a_lock_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is another user's, or the system has no modes."""

    def refuse(descriptor: int, mode: int) -> None:
        assert platform.IS_POSIX
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    (tmp_path / "lock").touch()
    (tmp_path / "lock").chmod(0o644)
    for is_posix in (True, False):
        monkeypatch.setattr(platform, "IS_POSIX", is_posix)
        with (
            hold_lock(str(tmp_path / "lock")),
            pytest.raises(CheckpointError),
            hold_lock(str(tmp_path / "lock"), 0),
        ):
            pass


@rows(
    ("number", "hint"),
    [(errno.EROFS, "mounted read-only"), (errno.EACCES, "owner and permissions")],
)
def test_a_lock_file_that_cannot_be_opened_is_an_error_with_a_hint(
    number: int, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with (
            pytest.raises(CheckpointError, match=os.strerror(number)) as refused,
            hold_lock("/r/l"),
        ):
            pass
    assert hint in str(refused.value.hint)


@pytest.mark.parametrize("answer", [True, None, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_the_systems_lock_keeps_nobody_out_a_file_beside_it_does(
    answer: bool | int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is granted to everybody, or there is none on this system or on this file system."""

    def answer_flock(descriptor: int, *, wait: bool) -> bool | None:
        if answer is None or answer is True:
            return answer
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(platform, "flock", answer_flock)
    path = tmp_path / "lock"
    with closing_all(), hold_lock(str(path), 1):
        assert (tmp_path / "lock.held").exists()
        with pytest.raises(CheckpointError, match="has held"), hold_lock(str(path), 0):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_without_a_lock_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int] = []

    def answer(descriptor: int, *, wait: bool) -> bool:
        number = answers.pop(0)
        if number > 1:
            raise OSError(number, os.strerror(number))
        return bool(number)

    monkeypatch.setattr(platform, "flock", answer)
    path = str(tmp_path / ("l" * 251))
    for planned, message in (
        ([errno.EIO], "cannot be locked: "),
        ([0, errno.EINTR, 0], "another process has held "),  # the wait ends, without a lock
        ([1, 1], "l.held could not be opened: File name too long"),
    ):
        answers[:] = planned
        with pytest.raises(CheckpointError, match=message), hold_lock(path, 5):
            pytest.fail("nobody holds the lock")
        assert answers == []


def test_a_lock_that_cannot_be_tried_as_another_process_would_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def open_once(path: str, flags: int, *mode: int) -> int:
        monkeypatch.setattr(os, "open", refuse)
        return open_file(path, flags, *mode)

    def refuse(*_: object) -> None:
        monkeypatch.setattr(os, "open", open_file)
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", open_once)
    with (
        pytest.raises(CheckpointError, match="Permission denied"),
        hold_lock(str(tmp_path / "lock"), 5),
    ):
        pytest.fail("nobody holds the lock")


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


@pytest.mark.usefixtures("impatient")
def test_a_turn_is_waited_for_and_never_in_the_way(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock")
    try:
        waited: list[str] = []
        with hold_turn(str(tmp_path / "lock"), 0.1, lambda: waited.append("waited")):
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


def put_mode(path: Path) -> None:
    path.chmod(0o606)


def put_group_mode(path: Path) -> None:
    path.chmod(0o660)


def put_second_name(path: Path) -> None:
    path.with_name("second").hardlink_to(path)


@pytest.mark.parametrize("share", [put_mode, put_group_mode, put_second_name])
def test_a_turn_is_not_taken_by_a_file_that_others_could_hold(
    share: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    path.touch(0o600)
    share(path)
    with closing_all(), hold_turn(str(path), 5), hold_lock(str(path), 0):
        pass


def test_a_turn_that_another_user_could_hold_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_lock(str(tmp_path / "lock")):
        monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
        waited: list[str] = []
        with hold_turn(str(tmp_path / "lock"), 20, lambda: waited.append("waited")):
            assert waited == []
