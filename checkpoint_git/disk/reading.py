"""Reading what a stranger may have put there: bounded in size, never blocking, no link followed out of a boundary."""

import errno
import os
import stat

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.disk.discover import is_inside

FileContent = bytes | OSError


def read_content(path: str, boundary: str) -> FileContent:
    """A regular file's bytes, or the error of reading it.

    boundary: a folder that a symbolic link must not leave (ELOOP). A file over the size limit is EFBIG, anything that
    is not a file EISDIR: nothing is opened that could block.
    """
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
