"""Keep copies of files as they were before something changed them, in a folder nobody merges."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.disk import atomic
from checkpoint_git.disk.read import read_plain

FOLDER = os.path.join("checkpoint", "backups")
_MOST_OF_ONE_SECOND = 100


class Copy(NamedTuple):
    """Hold a file's content. name: in the backup, relative, "/" between its parts."""

    name: str
    data: bytes


def write_backup(git_dir: str, stamp: str, copies: Sequence[Copy]) -> str:
    """Write the copies into a folder that only its owner can read. Return its path.

    A folder that a killed writer began is used.
    """
    above = os.path.join(git_dir, FOLDER)
    atomic.make_folder(above)
    names = [stamp, *(f"{stamp}-{number}" for number in range(1, _MOST_OF_ONE_SECOND))]
    folder = _find_begun(above, copies) or atomic.make_new_folder(above, names, 0o700)
    for name, data in copies:
        path = os.path.join(folder, *name.split("/"))
        atomic.make_folder(os.path.dirname(path))
        atomic.create_file(path, data, 0o600)

    return folder


def _find_begun(above: str, copies: Sequence[Copy]) -> str:
    """Return the newest folder if it is the same backup, whole or in part; "" for none.

    Its writer was killed.
    """
    name = max(os.listdir(above), default="")
    folder = os.path.join(above, name)
    if not name or os.path.islink(folder) or not os.path.isdir(folder):
        return ""

    kept = set[Copy]()
    try:
        for path, _, _ in os.walk(folder):
            atomic.remove_stray_files(path)
            with os.scandir(path) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        name = os.path.relpath(entry.path, folder)
                        kept.add(Copy(name, read_plain(entry.path)))
    except OSError:
        return ""

    if kept <= set(copies):
        return folder
    return ""
