"""One writer at a time: a lock between processes that a kill releases. It knows nothing of what it guards."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place

DEFAULT_TIMEOUT = 30.0
_PATIENCE = 1.0  # seconds of waiting before the caller is told


def lock_path(place: Place) -> str:
    # The lock file of a place. It is never the checkpoint itself: a file that is replaced cannot carry a lock
    if place.git_dir:
        return os.path.join(place.git_dir, "checkpoint.lock")
    return os.path.join(place.directory, ".lock")


@contextmanager
def hold_lock(
    path: str, timeout: float = DEFAULT_TIMEOUT, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """timeout: seconds. on_wait: called once, after a second of waiting. Raises CheckpointError when time is over."""
    with ExitStack() as held:
        while True:
            held.callback(os.close, descriptor := _open_lock(path))
            _wait_for_lock(descriptor, path, timeout, on_wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    break
            held.close()  # the file was removed while we waited for its lock: a new one counts
        yield


@contextmanager
def hold_passing_lock(path: str, timeout: float = DEFAULT_TIMEOUT) -> Iterator[None]:
    """A lock whose file is gone afterwards: who waits for it meanwhile locks a new one."""
    with hold_lock(path, timeout):
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


@contextmanager
def hold_turn(path: str, timeout: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """For what would only be in vain together: where no turn is to be had in time, or no such file, it goes on."""
    with ExitStack() as turn:
        with suppress(CheckpointError, OSError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            own = os.stat(path)
            if (own.st_uid, own.st_nlink, own.st_mode & 0o77) == (os.getuid(), 1, 0):  # else others could hold it
                turn.enter_context(hold_lock(path, timeout, on_wait))
        yield


def _open_lock(path: str) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        mode = os.fstat(descriptor).st_mode & 0o777
        if mode != (closed := mode & ~((~mode & 0o222) << 1)):  # who may read it could hold it, and keep writers away
            with suppress(PermissionError):
                os.fchmod(descriptor, closed)
        return descriptor
    except OSError as error:
        hint = "check the folder's owner and permissions"
        if error.errno == errno.EROFS:
            hint = "the file system is mounted read-only"
        raise CheckpointError(f"the lock file {path} could not be opened: {error.strerror}", hint) from None


# The kernel wakes who has waited longest, which no look now and then would do.
def _wait_for_lock(descriptor: int, path: str, timeout: float, on_wait: Callable[[], None]) -> None:
    if _try_lock(descriptor, path):
        return
    import threading  # late: most locks are free

    def wait() -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(min(timeout, _PATIENCE))
    if waiting.is_alive() and timeout > _PATIENCE:
        on_wait()
        waiting.join(timeout - _PATIENCE)
    if waiting.is_alive() or not _try_lock(descriptor, path):
        hint = "wait for it, or end it; a process that was killed holds no lock"
        raise CheckpointError(f"another process has held {path} for {timeout:g} seconds", hint)


def _try_lock(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise CheckpointError(f"{path} cannot be locked: {error.strerror}", "is it on a network file system?") from None
    return True
