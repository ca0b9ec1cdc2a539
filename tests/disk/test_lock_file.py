"""Locks on file systems that grant every lock to everybody, or have none: the kernel's answer is
replaced there.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.lock import hold_lock

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
    told: list[str] = []
    try:
        with (
            pytest.raises(CheckpointError, match=f"process {holder.pid} on .* has held") as refused,
            hold_lock(str(lock), 1.2, lambda: told.append("waiting")),
        ):
            pass
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    assert f"remove {lock}.held" in str(refused.value.hint)
    assert told == ["waiting"]

    with hold_lock(str(lock), 1):
        assert (tmp_path / "lock.held").exists()
    assert not (tmp_path / "lock.held").exists()


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
    (tmp_path / "lock.held").write_text("")
    os.utime(tmp_path / "lock.held", (1, 1))
    with hold_lock(str(tmp_path / "lock"), 0.05):
        pass


@pytest.mark.usefixtures("grant_all")
def test_a_lock_file_that_became_anothers_is_left_to_it(tmp_path: Path) -> None:
    with hold_lock(str(tmp_path / "lock"), 1):
        of_another_host(tmp_path / "lock.held")
    assert (tmp_path / "lock.held").read_text() == "elsewhere\t1 1\n"
