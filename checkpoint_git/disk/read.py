"""Reading untrusted files: bounded in size, never blocking, no link followed out of a boundary."""

import errno
import os
import stat

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.disk.discover import is_inside

FileContent = bytes | OSError


def read_content(path: str, boundary: str) -> FileContent:
    """A regular file's bytes, or the error of reading it: ELOOP where a link leaves the boundary folder, EFBIG, EISDIR
    for what is not a file. Nothing is opened that could block.
    """
    data = _read_plain_file(path)
    if data is not None:
        return data
    try:
        if os.path.islink(path) and not is_inside(path, boundary):
            return OSError(errno.ELOOP, f"it is a symbolic link that leads out of {boundary}")
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return OSError(errno.EISDIR, "it is not a regular file")
        if status.st_size > MAX_BYTES:
            return OSError(errno.EFBIG, f"it has {status.st_size} bytes, and {MAX_BYTES} is the limit")
        with open(path, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        return error


def read_if_there(path: str) -> bytes | None:
    """None where there is none. Raises OSError, also for what read_content refuses."""
    content = read_content(path, os.sep)
    if isinstance(content, OSError) and not isinstance(content, FileNotFoundError | NotADirectoryError):
        raise content
    return content if isinstance(content, bytes) else None


# of what is no plain file, a link is refused and nothing else can make the opening wait
_PLAIN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def _read_plain_file(path: str) -> bytes | None:
    # what nearly every file is, read with three calls
    try:
        descriptor = os.open(path, _PLAIN)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        data = os.read(descriptor, status.st_size + 1)
        return data if len(data) == status.st_size else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
