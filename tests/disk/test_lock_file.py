"""Locks on file systems that grant every lock to everybody, or have none: the kernel's answer is
replaced there.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import lock_file
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.lock_file import hold_lock_file
from checkpoint_git.disk.process import read_process
from tests.support.rows import rows

DEAD = 4194305  # above the largest number of a process
GRANTS_ALL = "import fcntl\nfcntl.flock = lambda *_: None\n"
HAS_NONE = (
    "import errno, fcntl\n"
    "def refuse(*_):\n"
    "    raise OSError(errno.ENOLCK, 'No locks available')\n"
    "fcntl.flock = refuse\n"
)  # fmt: skip
COUNT = (
    "import sys, time\n"
    "from checkpoint_git.disk.lock import hold_lock\n"
    "for _ in range(30):\n"
    "    with hold_lock(sys.argv[1]):\n"
    "        number = int(open(sys.argv[2]).read())\n"
    "        time.sleep(0.0005)\n"
    "        open(sys.argv[2], 'w').write(str(number + 1))\n"
)
HOLD = (
    "import sys, time\n"
    "from checkpoint_git.disk.lock import hold_lock\n"
    "with hold_lock(sys.argv[1]):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(60)\n"
)


@pytest.mark.parametrize("locks", [GRANTS_ALL, HAS_NONE])
def test_no_write_of_several_processes_is_lost(locks: str, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    words = [sys.executable, "-c", locks + COUNT, str(tmp_path / "lock"), str(counter)]
    writers = [subprocess.Popen(words) for _ in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert counter.read_text() == "120"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counter", "lock"]


@pytest.fixture
def grant_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def grant(descriptor: int, *, wait: bool) -> bool:
        return True

    monkeypatch.setattr(platform, "flock", grant)


def hold_in_a_process(lock: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", GRANTS_ALL + HOLD, str(lock)]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.mark.usefixtures("grant_all")
def test_a_living_owner_is_waited_for_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = hold_in_a_process(lock)
    try:
        with (
            pytest.raises(CheckpointError, match=f"process {holder.pid} on .* has held") as refused,
            hold_lock(str(lock), 0.05),
        ):
            pass
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    assert f"remove {lock}.held" in str(refused.value.hint)

    with hold_lock(str(lock), 1):
        assert (tmp_path / "lock.held").exists()
    assert not (tmp_path / "lock.held").exists()


class Clock:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    time = time.time


def test_a_wait_is_reported_once_after_a_second_and_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, reports = Clock(), list[float]()
    monkeypatch.setattr(lock_file, "time", clock)
    path = tmp_path / "lock"
    of_another_host(path)
    with (
        pytest.raises(CheckpointError, match=r"process 1 on elsewhere has held .* for 5 seconds"),
        hold_lock_file(str(path), 5, lambda: reports.append(clock.now - 100)),
    ):
        pytest.fail("another one holds the lock")
    assert reports == [pytest.approx(1, abs=0.1)]
    assert clock.now - 100 == pytest.approx(5, abs=0.1)

    clock.now = 100
    with pytest.raises(CheckpointError), hold_lock_file(str(path), 0, lambda: None):
        pytest.fail("another one holds the lock")
    assert clock.now == 100  # who has no time does not wait
    path.write_text(f"{platform.find_host_name()}\t{DEAD} 1\n")
    with hold_lock_file(str(path), 0, lambda: None):
        assert clock.now == 100


def test_a_lock_file_is_readable_to_all_and_gone_after_an_error(tmp_path: Path) -> None:
    """Who waits names its owner."""
    path = tmp_path / "lock"
    before = os.umask(0)
    try:
        with hold_lock_file(str(path), 0, lambda: None):
            assert path.stat().st_mode & 0o777 == 0o644
            assert path.read_text().startswith(f"{platform.find_host_name()}\t{os.getpid()} ")
    finally:
        os.umask(before)
    assert not path.exists()

    with pytest.raises(ZeroDivisionError), hold_lock_file(str(path), 0, lambda: None):
        raise ZeroDivisionError
    assert not path.exists()


def test_only_what_an_ended_process_of_this_host_left_is_taken(tmp_path: Path) -> None:
    host, living = platform.find_host_name(), read_process(os.getpid())
    path = str(tmp_path / "lock")
    now = time.time()
    for line, age, is_left in (
        (f"{host}\t{DEAD} 1\n", 0, True),
        (f"{host}\t{os.getpid()} 1\n", 0, True),  # the number was given again
        (f"{host}\t{living}\n", 1000, False),
        (f"elsewhere\t{DEAD} 1\n", 1000, False),
        (f"{host}\t\n", 1000, False),  # its owner could not know its own start
        (f"{host}\n", 1000, False),
        (f"{host}\t{DEAD} 1", 5, False),  # it is just being written
        (f"{host}\t{DEAD} 1", 20, True),
        ("", 5, False),
        ("", 20, True),
    ):
        Path(path).write_text(line)
        os.utime(path, (now - age, now - age))
        assert lock_file._is_abandoned(path) == is_left, line

        # what another process has taken meanwhile is given back as it was
        lock_file._clear(path)
        assert os.path.exists(path) == (not is_left)
        assert os.path.exists(path) == (os.listdir(tmp_path) == ["lock"])
        if not is_left:
            assert Path(path).read_text() == line

    Path(path).unlink(missing_ok=True)
    assert not lock_file._is_abandoned(path)
    lock_file._clear(path)
    assert os.listdir(tmp_path) == []


def test_a_pipe_or_a_link_in_place_of_a_lock_file_is_neither_waited_for_nor_followed(
    tmp_path: Path,
) -> None:
    """An archive may bring it."""
    target = tmp_path / "target"
    target.write_text(f"{platform.find_host_name()}\t{DEAD} 1\n")
    for kind in ("fifo", "link"):
        path = tmp_path / kind
        if kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(target)
        with (
            pytest.raises(CheckpointError, match="process unknown on an unknown host"),
            hold_lock_file(str(path), 0, lambda: None),
        ):
            pytest.fail("nobody holds the lock")
        assert path.exists()
    assert target.exists()


@rows(
    ("line", "owner"),
    [
        ("elsewhere\t12 345\n", "process 12 on elsewhere"),
        ("", "process unknown on an unknown host"),
        ("else\x1b[31mwhere\t\x1b12 345\n", "process \\x1b12 on else\\x1b[31mwhere"),
    ],
)
def test_who_holds_a_lock_is_named_and_nothing_of_it_is_obeyed_by_a_terminal(
    tmp_path: Path, line: str, owner: str
) -> None:
    path = tmp_path / "lock"
    path.write_text(line)
    with pytest.raises(CheckpointError) as refused, hold_lock_file(str(path), 0, lambda: None):
        pytest.fail("another one holds the lock")
    assert refused.value.message == f"{owner} has held {path} for 0 seconds"
    assert str(refused.value.hint).endswith(f"remove {path}")


def of_another_host(lock_file: Path) -> None:
    lock_file.write_text("elsewhere\t1 1\n")


def just_created(lock_file: Path) -> None:
    lock_file.write_text("")


@pytest.mark.usefixtures("grant_all")
@pytest.mark.parametrize("write", [of_another_host, just_created])
def test_an_owner_that_may_live_is_never_robbed(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path / "lock.held")
    before = (tmp_path / "lock.held").read_bytes()
    with pytest.raises(CheckpointError, match="has held"), hold_lock(str(tmp_path / "lock"), 0.05):
        pass
    assert (tmp_path / "lock.held").read_bytes() == before


@pytest.mark.usefixtures("grant_all")
def test_what_was_killed_while_it_wrote_its_line_holds_nothing(tmp_path: Path) -> None:
    """Whatever the clock says since."""
    for written in (1, time.time() + 3600):
        (tmp_path / "lock.held").write_text("")
        os.utime(tmp_path / "lock.held", (written, written))
        with hold_lock(str(tmp_path / "lock"), 0.05):
            pass


@pytest.mark.usefixtures("grant_all")
def test_a_lock_file_that_became_anothers_is_left_to_it(tmp_path: Path) -> None:
    with hold_lock(str(tmp_path / "lock"), 1):
        of_another_host(tmp_path / "lock.held")
    assert (tmp_path / "lock.held").read_text() == "elsewhere\t1 1\n"
