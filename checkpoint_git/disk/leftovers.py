"""Find what earlier versions left in a git directory: files that nothing reads any more."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# in a git directory; what else is in it is state: backups, undo, sessions, notes
FOLDER = "checkpoint"

# All were caches, so nothing is lost with them.
FILES = (
    "branches.json",
    "gone.json",
    "history.sqlite",
    "history.sqlite.tmp",
    "merges",
    "primed.json",
    "removed.json",
    "sheets.json",
    "trials.json",
    "valid.json",
)
FOLDERS = ("history",)


class Leftover(NamedTuple):
    """Name a file or symbolic link. name: below its git directory, such as checkpoint/merges."""

    path: str
    name: str


def find_leftovers(git_dirs: Sequence[str]) -> list[Leftover]:
    """Return the files of the table in these git directories, following no symbolic link."""
    found = []
    for git_dir in dict.fromkeys(git_dirs):
        if os.path.islink(os.path.join(git_dir, FOLDER)):
            continue

        for name in (*FILES, *FOLDERS):
            path = os.path.join(git_dir, FOLDER, name)
            if os.path.islink(path) or os.path.isfile(path):
                found.append(Leftover(path, f"{FOLDER}/{name}"))

        for name in FOLDERS:
            found += _find_files(git_dir, f"{FOLDER}/{name}")

    return found


def _find_files(git_dir: str, folder: str) -> Iterator[Leftover]:
    path = os.path.join(git_dir, folder)
    if os.path.islink(path) or not os.path.isdir(path):
        return
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if not entry.is_dir(follow_symlinks=False):
            yield Leftover(entry.path, f"{folder}/{entry.name}")
