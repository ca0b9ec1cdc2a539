"""Lock files that a killed git left behind: those on our own refs are removed, the user's are described."""

import os
import time
from contextlib import suppress

from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.terminal_text import plain_path

OWN_REFS = "refs/worktree/checkpoint"
_SURELY_LEFT = 10  # seconds; git holds the lock of a ref for milliseconds


def clear_own_locks(git_dir: str) -> list[str]:
    """Remove old locks on the refs that only a sync of this work tree writes, and return their paths.

    Whoever calls this holds the lock of those syncs, so no process of ours works on them; the age is for a git that a
    killed sync left running.
    """
    removed = []
    for folder, _, names in os.walk(os.path.join(git_dir, OWN_REFS)):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".lock") or _read_age(path) < _SURELY_LEFT:
                continue
            with suppress(OSError):
                os.unlink(path)
                removed.append(path)
    return removed


def describe_lock(path: str) -> AnyHint:
    """Return how old a lock file is and the command that removes it, "" if it is not there."""
    age = _read_age(path)
    if age < 0:
        return ""
    what = f"{path} is {age:.0f} seconds old: if no git runs here, it was left behind"
    return advise(what, "rm", plain_path(path))


def _read_age(path: str) -> float:
    """Return seconds, -1 if there is no such file."""
    try:
        return max(0.0, time.time() - os.lstat(path).st_mtime)
    except OSError:
        return -1
