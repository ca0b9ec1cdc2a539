"""Copies of files as they were before something changed them, in a folder of their own that nobody merges."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.disk import atomic

FOLDER = os.path.join("checkpoint", "backups")
_MOST_OF_ONE_SECOND = 100


class Copy(NamedTuple):
    """name: in the backup, relative, "/" between its parts."""

    name: str
    data: bytes


def write_backup(git_dir: str, stamp: str, copies: Sequence[Copy]) -> str:
    """The path of a new folder with the copies. Only its owner may read it: settings hold secrets."""
    above = os.path.join(git_dir, FOLDER)
    atomic.make_folder(above)
    names = (f"{stamp}-{number}" if number else stamp for number in range(_MOST_OF_ONE_SECOND))
    folder = atomic.make_new_folder(above, names, 0o700)
    for name, data in copies:
        path = os.path.join(folder, *name.split("/"))
        atomic.make_folder(os.path.dirname(path))
        atomic.create_file(path, data, 0o600)
    return folder
