"""Let one writer in at a time, by a lock between processes that a kill releases.

It knows nothing of what it guards.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW
from checkpoint_git.disk.discover import Place

DEFAULT_TIMEOUT = 30.0
_PATIENCE = 1.0  # seconds of waiting before a message
_OPEN = os.O_RDWR | os.O_CREAT | CLOSE_ON_EXEC | NO_FOLLOW
# what a file system without locks answers
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def lock_path(place: Place) -> str:
    """Return the lock file of a place. A checkpoint itself carries no lock, because each write
    replaces it.
    """
    if place.git_dir:
        return os.path.join(place.git_dir, "checkpoint.lock")
    return os.path.join(place.directory, ".lock")


@contextmanager
def hold_lock(
    path: str, timeout: float = DEFAULT_TIMEOUT, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the lock while the block runs. Raises CheckpointError when time is over.

    timeout: seconds. on_wait: called once, after a second of waiting. Where the file system's
    locks keep nobody out, as on some network and container mounts, a lock file does it.
    """
    with ExitStack() as stack:
        while True:
            descriptor = _open_lock(path)
            stack.callback(os.close, descriptor)
            _await_lock(descriptor, path, timeout, on_wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    break
            stack.close()  # the file was removed while we waited for its lock: a new one counts

        if not _keeps_others_out(path):
            stack.enter_context(_hold_beside(path, timeout, on_wait))
        yield


@contextmanager
def _hold_beside(path: str, timeout: float, on_wait: Callable[[], None]) -> Iterator[None]:
    from checkpoint_git.disk.lock_file import hold_lock_file  # late: few file systems need it

    beside = f"{path}.held"
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_lock_file(beside, timeout, on_wait))
        except OSError as error:
            raise _say_not_opened(beside, error) from None
        yield


@contextmanager
def hold_passing_lock(path: str, timeout: float = DEFAULT_TIMEOUT) -> Iterator[None]:
    """Hold a lock whose file is gone afterwards: who waits for it meanwhile locks a new one."""
    with hold_lock(path, timeout):
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


@contextmanager
def hold_turn(
    path: str, timeout: float, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold a lock for work that would only be in vain if others did it at the same time.

    The block runs also where the lock cannot be had in time, or its file cannot be made.
    """
    with ExitStack() as turn:
        with suppress(CheckpointError, OSError):
            os.close(os.open(path, _OPEN, 0o600))
            if _is_private(os.stat(path)):  # else others could hold it
                turn.enter_context(hold_lock(path, timeout, on_wait))
        yield


def _is_private(status: os.stat_result) -> bool:
    is_ours = status.st_uid == platform.find_user_number()
    return is_ours and status.st_nlink == 1 and status.st_mode & 0o77 == 0


def _open_lock(path: str) -> int:
    try:
        descriptor = os.open(path, _OPEN, 0o666)
        mode = os.fstat(descriptor).st_mode & 0o777
        closed = mode & ~((~mode & 0o222) << 1)
        # who may read it could hold it, and keep writers away
        if mode != closed and platform.IS_POSIX:
            with suppress(PermissionError):
                os.fchmod(descriptor, closed)
        return descriptor
    except OSError as error:
        raise _say_not_opened(path, error) from None


def _say_not_opened(path: str, error: OSError) -> CheckpointError:
    hint = "check the folder's owner and permissions"
    if error.errno == errno.EROFS:
        hint = "the file system is mounted read-only"
    return CheckpointError(f"the lock file {path} could not be opened: {error.strerror}", hint)


# The kernel wakes who has waited longest, which no look now and then would do.
def _await_lock(descriptor: int, path: str, timeout: float, on_wait: Callable[[], None]) -> None:
    if _lock(descriptor, path):
        return
    import threading  # late: most locks are free

    def wait() -> None:
        with suppress(OSError):
            platform.flock(descriptor, wait=True)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(min(timeout, _PATIENCE))
    if waiting.is_alive() and timeout > _PATIENCE:
        on_wait()
        waiting.join(timeout - _PATIENCE)

    if waiting.is_alive() or not _lock(descriptor, path):
        hint = "wait for it, or end it; a killed process keeps no lock"
        raise CheckpointError(f"another process has held {path} for {timeout:g} seconds", hint)


def _lock(descriptor: int, path: str) -> bool:
    """Return whether nobody has to wait: the file is locked, or its file system has no locks."""
    try:
        return platform.flock(descriptor, wait=False) is not False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return True
        raise CheckpointError(
            f"{path} cannot be locked: {error.strerror}", "is it on a network file system?"
        ) from None


def _keeps_others_out(path: str) -> bool:
    """Return whether the lock that we hold keeps others out; some mounts grant it to everybody.

    Opening the file once more is as another process does it, and must be refused the lock.
    """
    try:
        again = os.open(path, _OPEN)
    except OSError as error:
        raise _say_not_opened(path, error) from None

    try:
        return platform.flock(again, wait=False) is False
    except OSError:
        return False
    finally:
        os.close(again)
