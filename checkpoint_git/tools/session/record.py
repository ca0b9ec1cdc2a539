"""Record when a session started and was last reminded, as the times of two empty files in the git
directory. No clock is asked.
"""

import os
from contextlib import suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW, NO_WAIT
from checkpoint_git.disk.discover import MissingPlaceError, Place, plan_place
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.own_files import read_start
from checkpoint_git.protocols.contract import find_files, find_project
from checkpoint_git.protocols.registry import protocol_of

FOLDER = "checkpoint/sessions"  # in a work tree's own git directory
_REMINDED = ".told"
_UNRECORDED = "unrecorded.txt"
_MOST_KEPT = 64
_KEPT_FOR = 30 * 86_400 * 10**9  # nanoseconds


def find_quietly(cwd: str) -> Place | None:
    """Return the project of a folder, None if there is none. Raises CheckpointError if it cannot
    be used.
    """
    try:
        return find_project(cwd)
    except MissingPlaceError:
        if os.path.lexists(plan_place(cwd).directory):
            raise
        return None


# Times are nanoseconds of the file system's clock, None for never.
def read_started(git_dir: str, name: str) -> int | None:
    return read_time(os.path.join(git_dir, FOLDER, name))


def read_told(git_dir: str, name: str) -> int | None:
    return read_time(os.path.join(git_dir, FOLDER, name + _REMINDED))


def write_start(git_dir: str, name: str, *, anew: bool) -> None:
    """Note that a session starts now. anew: even if it is known already."""
    folder = os.path.join(git_dir, FOLDER)
    path = os.path.join(folder, name)
    if not anew and read_time(path) is not None:
        return
    try:
        now = _touch(path)
        names = os.listdir(folder)
        times = {other: read_time(os.path.join(folder, other)) or 0 for other in names}
    except OSError:
        # a full disk must not stop the session
        return

    youngest_first = sorted(times, key=lambda other: times[other], reverse=True)
    for index, other in enumerate(youngest_first):
        if index >= _MOST_KEPT or now - times[other] > _KEPT_FOR:
            remove_quietly(os.path.join(folder, other))

    remove_quietly(path + _REMINDED)


def write_told(git_dir: str, name: str) -> None:
    """Note that a session was reminded now."""
    with suppress(OSError):
        _touch(os.path.join(git_dir, FOLDER, name + _REMINDED))


def remove_session(git_dir: str, name: str) -> None:
    path = os.path.join(git_dir, FOLDER, name)
    remove_quietly(path)
    remove_quietly(path + _REMINDED)


def write_unrecorded(git_dir: str, text: str) -> None:
    """Note for the next session what this one did that no checkpoint records."""
    path = os.path.join(git_dir, FOLDER, _UNRECORDED)
    with suppress(OSError):
        _touch(path)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)


def read_unrecorded(place: Place) -> str:
    """Return what an earlier session noted; "" if it noted nothing, or if a checkpoint was written
    since.
    """
    path = os.path.join(place.git_dir or "", FOLDER, _UNRECORDED)
    noted = read_time(path) or 0
    if noted <= read_written(place):
        return ""
    return read_start(path, 1_000).decode("utf-8", "replace")


def read_written(place: Place) -> int:
    """Return when a checkpoint was last written, 0 for never."""
    with suppress(CheckpointError):  # the folder cannot be read
        return max((read_time(path) or 0 for path in find_files(place.root)), default=0)
    return 0


def _touch(path: str) -> int:
    """Create a file, or give it the present time; return that time."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | NO_FOLLOW | CLOSE_ON_EXEC | NO_WAIT
    descriptor = os.open(path, flags, 0o600)
    try:
        os.utime(descriptor)
        return os.fstat(descriptor).st_mtime_ns
    finally:
        os.close(descriptor)


def read_time(path: str) -> int | None:
    with suppress(OSError):
        return os.lstat(path).st_mtime_ns
    return None


def name_checkpoint(place: Place) -> str:
    """Return the name of the only checkpoint, for commands; NAME if there are several, or if the
    name is not plain: it comes from an untrusted branch.
    """
    try:
        files = [path for path in find_files(place.root) if protocol_of(path) == "skill"]
    except CheckpointError:  # the folder cannot be read
        return "NAME"
    if len(files) != 1:
        return "NAME"

    name = os.path.basename(files[0]).partition(".")[0]
    if _is_plain(name) and files[0].endswith(f"/{name}.checkpoint.json"):
        return name
    return "NAME"


def _is_plain(name: str) -> bool:
    if not name.isascii() or name != name.lower() or len(name) >= 40:
        return False
    return name.replace("-", "").isalnum() and not name.startswith("-")
