"""Read untrusted files: bounded in size, never blocking, no link followed out of a boundary."""

import errno
import os
import stat
from typing import BinaryIO

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW, NO_TERMINAL, NO_WAIT
from checkpoint_git.disk.discover import is_inside

FileContent = bytes | OSError
_IRREGULAR = "it is not a regular file"
# a link is refused, and nothing else but a plain file can make the opening wait
_PLAIN = os.O_RDONLY | CLOSE_ON_EXEC | NO_FOLLOW | NO_WAIT | NO_TERMINAL


def read_content(path: str, boundary: str, most: int = MAX_BYTES) -> FileContent:
    """Return a regular file's bytes, or the error. It never blocks.

    The error is ELOOP for a link out of the boundary, EFBIG for a file of more than `most` bytes,
    EISDIR for what is not a regular file, or the system's.
    """
    try:
        if not os.path.islink(path):
            return read_plain(path, most)
        if not is_inside(path, boundary):
            return OSError(errno.ELOOP, f"it is a symbolic link that leads out of {boundary}")
        return read_plain(os.path.realpath(path), most)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket cannot even be opened
            return OSError(errno.EISDIR, _IRREGULAR)
        return error


def read_if_there(path: str) -> bytes | None:
    """Return a file's bytes, None if there is none.

    Raises OSError, also for what read_content refuses.
    """
    content = read_content(path, os.sep)
    if isinstance(content, bytes):
        return content
    if isinstance(content, FileNotFoundError | NotADirectoryError):
        return None
    raise content


def read_plain(path: str, most: int = MAX_BYTES) -> bytes:
    """Return a regular file's bytes.

    Raises OSError, also for a link, for what is not a regular file, and for more than `most`
    bytes.
    """
    descriptor = os.open(path, _PLAIN)
    try:
        size = _check_regular(descriptor)
        if size > most:
            raise _say_too_big(size, most)
        data = os.read(descriptor, size + 1)  # nearly every file is read with three calls
        while size < len(data) <= most:  # somebody appends
            appended = os.read(descriptor, most)
            if not appended:
                break
            data += appended
        if len(data) > most:
            raise _say_too_big(len(data), most)
        return data
    finally:
        os.close(descriptor)


def _say_too_big(size: int, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {size} bytes, and {most} is the limit")


def read_own(module: str, *names: str) -> str:
    """Return the text of a file beside a module of this package. module: its __file__."""
    with open(os.path.join(os.path.dirname(module), *names), encoding="utf-8") as stream:
        return stream.read()


def open_plain(path: str) -> BinaryIO:
    """Return a regular file of any size, open for reading. Raises OSError as read_plain does."""
    descriptor = os.open(path, _PLAIN)
    try:
        _check_regular(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")


def _check_regular(descriptor: int, path: str | None = None) -> int:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EISDIR, _IRREGULAR, path)
    return status.st_size
