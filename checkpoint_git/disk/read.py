"""Reading untrusted files: bounded in size, never blocking, no link followed out of a boundary."""

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
    """A regular file's bytes, or the error: ELOOP for a link out of the boundary, EFBIG, EISDIR. It
    never blocks.
    """
    try:
        if not os.path.islink(path):
            return read_plain(path, most)
        if not is_inside(path, boundary):
            return OSError(errno.ELOOP, f"it is a symbolic link that leads out of {boundary}")
        return read_plain(os.path.realpath(path), most)
    except OSError as error:  # of a socket not even that
        return OSError(errno.EISDIR, _IRREGULAR) if error.errno == errno.ENXIO else error


def read_if_there(path: str) -> bytes | None:
    """None if there is none. Raises OSError, also for what read_content refuses."""
    content = read_content(path, os.sep)
    if isinstance(content, OSError) and not isinstance(
        content, FileNotFoundError | NotADirectoryError
    ):
        raise content
    return content if isinstance(content, bytes) else None


def read_plain(path: str, most: int = MAX_BYTES) -> bytes:
    """Raises OSError, also for a link, for what is not a regular file, and for more than `most`
    bytes.
    """
    descriptor = os.open(path, _PLAIN)
    try:
        size = _check_regular(descriptor)
        # what nearly every file is, read with three calls
        data = os.read(descriptor, size + 1) if size <= most else b""
        while size < len(data) <= most and (more := os.read(descriptor, most)):  # somebody appends
            data += more
        if max(size, len(data)) > most:
            raise OSError(
                errno.EFBIG, f"it has {max(size, len(data))} bytes, and {most} is the limit"
            )
        return data
    finally:
        os.close(descriptor)


def read_own(module: str, *names: str) -> str:
    """A file of this package, beside one of its modules. module: that one's __file__."""
    with open(os.path.join(os.path.dirname(module), *names), encoding="utf-8") as stream:
        return stream.read()


def open_plain(path: str) -> BinaryIO:
    """A regular file of any size, for reading. Raises OSError as read_plain does."""
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
