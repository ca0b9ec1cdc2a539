"""The folder that the tests work in: in memory where the machine has room there.

Each write of ours is flushed to the disk before it counts, and on a disk the tests would wait for
that tens of thousands of times. No test cuts the power, so that none sees the difference.
"""

import os
import shutil
import tempfile
from pathlib import Path

# a run holds at most 0.1 GB at a time; the rest is for folders of tests that failed
_ROOM = 1_000_000_000


def work_in_memory(shared_memory: Path = Path("/dev/shm")) -> None:  # noqa: S108 # tempfile takes names in it
    """Let this process and those that it starts make their temporary folders in memory.

    Where TMPDIR is set, or the folder in memory is missing, small, not writable or executes no
    programs, as in most containers, the temporary folder stays what it is.
    """
    if "TMPDIR" not in os.environ and _is_fit(shared_memory):
        os.environ["TMPDIR"] = str(shared_memory)
        tempfile.tempdir = None  # or it would stay what it was when somebody first asked for it


def _is_fit(folder: Path) -> bool:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return False
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:  # the hooks of a repository are programs
        return False
    return shutil.disk_usage(folder).free >= _ROOM
