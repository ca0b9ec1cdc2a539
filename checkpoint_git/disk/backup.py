"""Copies of files as they were before something changed them, in a folder of their own that nobody
merges.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.disk import atomic
from checkpoint_git.disk.read import read_plain

FOLDER = os.path.join("checkpoint", "backups")
_MOST_OF_ONE_SECOND = 100


class Copy(NamedTuple):
    """name: in the backup, relative, "/" between its parts."""

    name: str
    data: bytes


def write_backup(git_dir: str, stamp: str, copies: Sequence[Copy]) -> str:
    """The path of a folder with the copies, readable by its owner only. One that a killed writer
    began is used.
    """
    above = os.path.join(git_dir, FOLDER)
    atomic.make_folder(above)
    names = (f"{stamp}-{number}" if number else stamp for number in range(_MOST_OF_ONE_SECOND))
    folder = _find_begun(above, copies) or atomic.make_new_folder(above, names, 0o700)
    for name, data in copies:
        path = os.path.join(folder, *name.split("/"))
        atomic.make_folder(os.path.dirname(path))
        atomic.create_file(path, data, 0o600)

    return folder


def _find_begun(above: str, copies: Sequence[Copy]) -> str:
    # the newest, if it is the same backup, whole or in part: its writer was killed
    name, kept = max(os.listdir(above), default=""), set[Copy]()
    folder = os.path.join(above, name)
    with suppress(OSError):
        for path, _, _ in os.walk("" if os.path.islink(folder) else folder):
            atomic.remove_stray_files(path)
            for entry in os.scandir(path):
                if not entry.is_dir(follow_symlinks=False):
                    kept.add(Copy(os.path.relpath(entry.path, folder), read_plain(entry.path)))
        if name and os.path.isdir(folder) and not os.path.islink(folder) and kept <= set(copies):
            return folder
    return ""
