"""Write a file whole or not at all, and onto the disk: every lasting write goes through here."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import CLOSE_ON_EXEC, IS_POSIX, has_ended
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.read import read_plain
from checkpoint_git.disk.replace import TEMPORARY_ENDING, remove_quietly, write_temporary

_TRIES = 5


@contextmanager
def reporting(path: str) -> Iterator[None]:
    """Raise CheckpointError for an OSError: it says what a failed write means for the user."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from None


def write_file(
    path: str,
    data: bytes,
    note: Callable[[], object] = lambda: None,
    *,
    known: bytes | None = None,
) -> None:
    """Replace a file's content at once, and return when the disk has it.

    A file that exists keeps its mode. note: is called as soon as the content is there, before the
    disk has it. known: as in replace_known, None for any content.
    """
    with reporting(path):
        before = None
        with suppress(FileNotFoundError):
            before = os.lstat(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise _say_irregular(path, before)

        _clear_once(os.path.dirname(path) or ".")
        temporary = write_temporary(path, data, before, sync=True)
        try:
            if known is not None:
                _check_unchanged(path, known)
            os.replace(temporary, path)
        except BaseException:
            remove_quietly(temporary)
            raise
        note()
        sync_folder(os.path.dirname(path) or ".")


def _say_irregular(path: str, status: os.stat_result) -> CheckpointError:
    what = "not a regular file"
    if stat.S_ISLNK(status.st_mode):
        what = "a symbolic link, and writing would follow it"
    return CheckpointError(f"{escape_controls(path)} is {what}", "put a real file in its place")


def replace_known(
    path: str, known: bytes | None, data: bytes, note: Callable[[], object] = lambda: None
) -> None:
    """Write a file that is as it was read.

    Raise CheckpointError if another process or an editor wrote it meanwhile. The lock keeps other
    commands out, unless the file system grants it to everybody. known: the content that was read,
    None if there was no file. note: as of write_file.
    """
    if known is not None:
        write_file(path, data, note, known=known)
    elif create_file(path, data):
        note()
    else:
        raise _say_changed(path)


def remove_known(path: str, known: bytes) -> None:
    """Remove a file that is as it was read, else raise CheckpointError."""
    with reporting(path):
        _check_unchanged(path, known)
    remove_file(path)


def _check_unchanged(path: str, known: bytes) -> None:
    try:
        now = read_plain(path)
    except FileNotFoundError:
        now = None
    if now != known:
        raise _say_changed(path)


def _say_changed(path: str) -> CheckpointError:
    message = (
        f"{escape_controls(path)} was changed by another process meanwhile, so nothing was written"
    )
    return CheckpointError(message, "run the same command again")


def create_file(path: str, data: bytes, mode: int = 0o666) -> bool:
    """Write a file that must not exist yet. Return False, nothing changed, where it does.

    mode: the umask lessens it.
    """
    with reporting(path):
        _clear_once(os.path.dirname(path) or ".")
        for rest in reversed(range(_TRIES)):
            temporary = write_temporary(path, data, None, sync=True, mode=mode)
            try:
                _name_new(temporary, path, data, mode)
                break
            except FileExistsError:
                return False
            except FileNotFoundError:
                # A container that shares the folder cannot see our process, and took our file as a
                # dead writer's.
                if not rest:
                    raise
            finally:
                remove_quietly(temporary)
        sync_folder(os.path.dirname(path) or ".")
        return True


def create_beside(path: str, ending: str, data: bytes) -> str:
    """Write a new file PATH with an ending, and a number where that name is taken.

    Return its path.
    """
    for number in range(1, 1000):
        beside = f"{path}{ending}"
        if number > 1:
            beside += f"-{number}"
        if create_file(beside, data):
            return beside
    raise CheckpointError(f"no free name for a copy beside {path}", "remove the old copies")


def _name_new(temporary: str, path: str, data: bytes, mode: int) -> None:
    """Give a temporary file its name. Raises FileExistsError where the name is taken."""
    # os.replace would not raise it
    try:
        os.link(temporary, path)
        return
    except OSError as error:
        import errno

        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise

    # a file system without hard links: the name is claimed first, so a kill may leave a part under
    # a name of its own
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOSE_ON_EXEC, mode))
    write_file(path, data)


def remove_file(path: str) -> None:
    with reporting(path):
        os.unlink(path)
        sync_folder(os.path.dirname(path) or ".")


def make_folder(path: str, mode: int = 0o777) -> None:
    """Make a folder and those above it. mode: of all that are made; the umask lessens it."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path) or "."
    make_folder(above, mode)
    with reporting(path):
        os.makedirs(path, mode, exist_ok=True)
        sync_folder(above)


def make_new_folder(above: str, names: Iterable[str], mode: int = 0o777) -> str:
    """Make a folder by the first of the names that is free. Return its path."""
    for path in (os.path.join(above, name) for name in names):
        with reporting(path), suppress(FileExistsError):
            os.mkdir(path, mode)
            sync_folder(above)  # before anything is moved into it
            return path
    raise CheckpointError(f"{above} has no free name for this second", "try again in a second")


def remove_stray_files(directory: str) -> None:
    """Remove the temporary files of writers that were killed; those of living processes stay."""
    if os.path.islink(directory):
        return
    with suppress(OSError):
        for name in os.listdir(directory):
            if _is_stray(name):
                remove_quietly(os.path.join(directory, name))


def _is_stray(name: str) -> bool:
    """Return whether a name is that of write_temporary, by a process that has ended."""
    temporary = name.removesuffix(".lock")  # git's, where it was working on such a file
    if not (temporary.startswith(".") and temporary.endswith(TEMPORARY_ENDING)):
        return False
    writer = temporary.removesuffix(TEMPORARY_ENDING).rpartition(".")[2]
    process, dash, mark = writer.partition("-")
    return bool(dash) and len(mark) == 8 and has_ended(process)


# whoever writes into a folder; a process that writes much looks once
_clear_once = cache(remove_stray_files)


def sync_folder(folder: str) -> None:
    if not IS_POSIX:
        return  # Windows opens no folders
    descriptor = os.open(folder, os.O_RDONLY | CLOSE_ON_EXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        return  # some file systems cannot sync a folder; the file itself is on disk
    finally:
        os.close(descriptor)


# What cannot be done raises CheckpointError and leaves nothing behind: a full disk, a folder that
# cannot be written, a symbolic link where a file should be.
def write_error(path: str, error: OSError) -> CheckpointError:
    import errno

    hints: dict[int | None, str] = {
        errno.ENOSPC: "the disk is full: make room, then run the same command again",
        errno.EDQUOT: "your quota is used up: make room, then run the same command again",
        errno.EFBIG: "a limit on file sizes is in force (ulimit -f)",
        errno.EROFS: "the file system is mounted read-only",
        errno.EACCES: "check the folder's owner and permissions",
        errno.EPERM: "check the folder's owner and permissions",
        errno.ENOTDIR: "expected a directory, found a file",
        errno.EEXIST: "expected a directory, found a file",
        errno.EISDIR: "move it to another place",
        errno.ENOENT: "its folder does not exist",
    }
    message = f"{escape_controls(path)} could not be written: {error.strerror or error}"
    return CheckpointError(message, hints.get(error.errno, "nothing was changed"))
