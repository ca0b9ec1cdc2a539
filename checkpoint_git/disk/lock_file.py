"""Hold a lock file as git does: whoever creates it has the lock.

It is for file systems whose own locks keep nobody out.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW, find_host_name
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.process import is_running, read_process
from checkpoint_git.disk.read import read_plain

_NAP = 0.01  # seconds between two tries
_PATIENCE = 1.0  # seconds of waiting before a message
_WRITING = 10.0  # seconds after which a file without a whole line was left by a killed process
_LONGEST = 1000  # bytes


@contextmanager
def hold_lock_file(path: str, timeout: float, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock while the block runs. timeout: seconds.

    The file names its owner by host, process and start, so that what a killed process of this host
    left is cleared. Raises CheckpointError when time is over; OSError.
    """
    owner = f"{find_host_name()}\t{read_process(os.getpid())}\n".encode("utf-8", "surrogateescape")
    began = time.monotonic()
    has_notified = False
    while not _create(path, owner):
        if _is_abandoned(path):
            _clear(path)
            continue
        waited = time.monotonic() - began
        if waited >= timeout:
            raise _say_held(path, timeout)
        if waited >= _PATIENCE and not has_notified:
            on_wait()
            has_notified = True
        time.sleep(_NAP)

    try:
        yield
    finally:
        if _read(path) == owner:  # else somebody removed it, and the file is another's
            os.unlink(path)


def _create(path: str, owner: bytes) -> bool:
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOSE_ON_EXEC | NO_FOLLOW, 0o644
        )
    except FileExistsError:
        return False
    with open(descriptor, "wb") as stream:
        stream.write(owner)
    return True


def _read(path: str) -> bytes:
    """Return the line of a lock file; b"" if there is none, or if it is not a regular file."""
    try:
        return read_plain(path, _LONGEST)
    except OSError:
        return b""


def _is_abandoned(path: str) -> bool:
    """Return whether surely no process holds the lock. One of another host may always run."""
    line = _read(path).decode("utf-8", "surrogateescape")
    if not line.endswith("\n"):
        return _find_age(path) > _WRITING  # its owner is just writing it, or was killed there
    host, _, process = line.rstrip("\n").partition("\t")
    return host == find_host_name() and bool(process) and not is_running(process)


def _find_age(path: str) -> float:
    """Return the seconds between a file's time, which the clock may not have reached, and now."""
    try:
        return abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        return 0.0


def _clear(path: str) -> None:
    """Remove a lock file whose owner has ended.

    Of several processes that try only one moves it; the others find a new one.
    """
    aside = f"{path}.{os.getpid()}"
    try:
        os.rename(path, aside)
    except OSError:
        return

    if _is_abandoned(aside):
        os.unlink(aside)
    else:
        # another process had cleared it and was quicker: this one is that process's
        os.rename(aside, path)


def _say_held(path: str, timeout: float) -> CheckpointError:
    host, _, process = _read(path).decode("utf-8", "replace").strip().partition("\t")
    number = process.partition(" ")[0] or "unknown"
    who = escape_controls(f"process {number} on {host or 'an unknown host'}")
    shown = escape_controls(path)
    message = f"{who} has held {shown} for {timeout:g} seconds"
    return CheckpointError(message, f"wait for it; if that process is gone, remove {shown}")
