"""One set-up of a repository at a time, and nothing left of one that was killed: no empty folder, no half of a file.

It knows which folders steps write into or empty, and not what the steps are for.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from checkpoint_git.disk.atomic import remove_stray_files, write_file
from checkpoint_git.disk.lock import hold_passing_lock
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.repository import Repository
from checkpoint_git.tools.setup.apply import apply_steps
from checkpoint_git.tools.setup.steps import RemoveFile, Step, WriteFile

_LOCK = "checkpoint-setup.lock"  # in the git directory that all work trees share, as the configuration is
JOURNAL = "checkpoint-setup.journal"  # in a work tree's own git directory
_OURS, _THEIRS = "+", "="  # a folder that goes when it is empty; one that stays


@contextmanager
def take_turn(repository: Repository | None) -> Iterator[None]:
    """Holds a repository for one init or uninstall, after clearing what a killed one left there.

    None, and a repository that nobody can write to, is not held. Raises CheckpointError as hold_lock does.
    """
    if repository is None or not os.access(repository.common_dir, os.W_OK):
        yield
        return
    with hold_passing_lock(os.path.join(repository.common_dir, _LOCK)):
        path = os.path.join(repository.git_dir, JOURNAL)
        clear_folders(_read_journal(path, repository.work_tree))
        remove_quietly(path)
        yield


def apply_in_turn(steps: Sequence[Step], repository: Repository | None) -> None:
    """Makes every change; the folders that it makes or empties are written down for as long as it takes."""
    folders = find_folders(steps)
    path = os.path.join(repository.git_dir, JOURNAL) if repository and folders else ""
    if repository and path:
        relative = (f"{folder[0]}{os.path.relpath(folder[1:], repository.work_tree)}" for folder in folders)
        write_file(path, os.fsencode("\0".join(relative)))
    try:
        apply_steps(steps, repository)
    finally:
        clear_folders(folders)
        if path:
            remove_quietly(path)


def find_folders(steps: Sequence[Step]) -> list[str]:
    """The folders that steps write into, are to make or have made, each behind the mark of whose it is."""
    found = dict[str, str]()
    for step in steps:
        if isinstance(step.change, WriteFile):
            folder = os.path.dirname(step.change.path)
            while not os.path.isdir(folder):
                found[folder] = _OURS
                folder = os.path.dirname(folder)
            found.setdefault(folder, _THEIRS)
        elif isinstance(step.change, RemoveFile):
            folder = os.path.dirname(step.change.path)
            for _ in range(step.change.folder):
                found[folder] = _OURS
                folder = os.path.dirname(folder)
    return [f"{mark}{folder}" for folder, mark in found.items()]


def clear_folders(folders: Sequence[str]) -> None:
    """Takes the temporary files of killed writers out of the folders, and away those of ours that are empty."""
    for folder in sorted(folders, key=len, reverse=True):  # what lies in a folder before the folder
        remove_stray_files(folder[1:])
        if folder.startswith(_OURS):
            try:
                os.rmdir(folder[1:])
            except OSError:
                continue  # not empty, so it is in use; or gone


def _read_journal(path: str, top: str) -> list[str]:
    """The folders as find_folders has them. top: what those in the journal are relative to."""
    try:
        with open(path, "rb") as stream:
            fields = os.fsdecode(stream.read()).split("\0")
    except OSError:
        return []
    return [field[0] + os.path.normpath(os.path.join(top, field[1:])) for field in fields if field]
