"""Lock files that a killed git left behind: those on our own refs are removed, the user's are
described.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.git.own_files import read_start

OWN_REFS = "refs/worktree/checkpoint"
# seconds; longer than git holds a lock, except that of the index while it waits for an editor
SURELY_LEFT = 60

_LONGEST_HELD = 10.0  # seconds; git holds the lock of a ref for milliseconds
_NAP = 0.1  # seconds
_LONGEST_PATH = 4096  # bytes
_ENDING = ".lock"

# Files of a git directory that git locks. What it locks in capital letters as well is a ref: HEAD,
# ORIG_HEAD.
_FILES = ("config", "config.worktree", "gc.pid", "index", "packed-refs", "shallow")
# what git writes under the lock of packed-refs: it refuses to write over one
_NEW_REFS = "packed-refs.new"
_FLAT = ("info", "objects/info", "objects/info/commit-graphs", "objects/pack")
_DEEP = ("refs", "logs", "reftable")


class Lock(NamedTuple):
    """path: absolute. age: seconds."""

    path: str
    age: int


def find_locks(git_dirs: Sequence[str], least: int = SURELY_LEFT) -> list[Lock]:
    """Return the locks of git in these git directories that are at least so many seconds old."""
    found = []
    for git_dir in dict.fromkeys(git_dirs):
        for path in _list_locks(git_dir):
            age = int(_read_age(path))
            if age >= least:
                found.append(Lock(path, age))
    return sorted(found)


def _list_locks(git_dir: str) -> Iterator[str]:
    for name in _list_files(git_dir):
        locked = name.removesuffix(_ENDING)
        is_lock = name.endswith(_ENDING) and (locked in _FILES or locked.isupper())
        if is_lock or name == _NEW_REFS:
            yield os.path.join(git_dir, name)

    for folder in _FLAT:
        for name in _list_files(os.path.join(git_dir, folder)):
            if name.endswith(_ENDING):
                yield os.path.join(git_dir, folder, name)

    for folder in _DEEP:
        yield from _walk_locks(os.path.join(git_dir, folder))


def _list_files(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _walk_locks(folder: str) -> Iterator[str]:
    for inside, _, names in os.walk(folder):
        for name in names:
            if name.endswith(_ENDING):
                yield os.path.join(inside, name)


def list_locks(folder: str) -> list[str]:
    """Return every lock below a folder of refs, of whatever age."""
    return list(_walk_locks(folder))


def clear_own_locks(locks: Sequence[str], is_git_running: Callable[[], bool]) -> list[str]:
    """Remove locks on what only we write, and return their paths.

    Whoever calls this holds the lock of those who write there, so no process of ours works on it. A
    git that a killed one left running may, or the user's `git gc`: while one may run, a lock is
    waited for until it is older than git ever holds one.
    """
    removed = []
    if locks and is_git_running():
        _wait_for_locks(locks)
    for path in locks:
        with suppress(OSError):
            os.unlink(path)
            removed.append(path)

    return removed


def _wait_for_locks(locks: Sequence[str]) -> None:
    """Wait until no lock is younger than git ever holds one."""
    while any(0 <= _read_age(path) < _LONGEST_HELD for path in locks):
        time.sleep(_NAP)


def list_git_dirs(common_dir: str) -> list[str]:
    """Return the git directory that all work trees share, and those of the linked ones."""
    folder = os.path.join(common_dir, "worktrees")
    return [common_dir, *(os.path.join(folder, name) for name in sorted(_list_files(folder)))]


def list_work_folders(common_dir: str) -> list[str]:
    """Return the folders in which a git that works on this repository runs."""
    folders = [common_dir]
    if os.path.basename(common_dir) == ".git":
        folders.append(os.path.dirname(common_dir))
    for git_dir in list_git_dirs(common_dir)[1:]:
        named = (
            read_start(os.path.join(git_dir, "gitdir"), _LONGEST_PATH)
            .rstrip(b"\n")
            .replace(b"\0", b"")
        )
        if named:
            folders.append(
                os.path.dirname(os.path.normpath(os.path.join(git_dir, os.fsdecode(named))))
            )

    return folders


def describe_lock(path: str) -> AnyHint:
    """Return how old a lock file is and the command that removes it, "" if it is not there."""
    age = _read_age(path)
    if age < 0:
        return ""
    what = f"{path} is {age:.0f} seconds old: if no git runs here, it was left behind"
    return advise(what, "rm", plain_path(path))


def _read_age(path: str) -> float:
    """Return seconds, -1 if there is no such file.

    A file from the future counts by its distance from now: the clock was set back since, and no git
    that still runs wrote it.
    """
    try:
        return abs(time.time() - os.lstat(path).st_mtime)
    except OSError:
        return -1
