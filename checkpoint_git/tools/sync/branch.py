"""The checked-out branch moved to commits that differ from it in named files only; other files stay as they are."""

import os
import time
from collections.abc import Mapping, Sequence

from checkpoint_git.git.run import run_git
from checkpoint_git.tools.sync.trees import Leaf

_TRIES = 20
_NAP = 0.05  # seconds


def stage_files(cwd: str, files: Sequence[tuple[str, Leaf | None]], env: Mapping[str, str]) -> bool:
    """Lets the index name these files, or forget them where they are None. Returns False where it stays locked."""
    zeros = "0" * max((len(leaf.blob) for _, leaf in files if leaf), default=40)
    lines = [
        (f"{leaf.mode} {leaf.blob}\t" if leaf else f"0 {zeros}\t").encode() + os.fsencode(path) + b"\0"
        for path, leaf in files
    ]
    for _ in range(_TRIES):
        if run_git(["update-index", "-z", "--index-info"], cwd, stdin=b"".join(lines), env=env, check=False).code == 0:
            return True
        time.sleep(_NAP)  # git's own commands hold the index for milliseconds
    return False


def move_branch(cwd: str, ref: str, new: str, old: str, env: Mapping[str, str]) -> bool:
    """Lets the branch name the new commit if it still names the old one ("" where it had none)."""
    words = ["update-ref", "-m", "checkpoint sync", ref, new, old or "0" * len(new)]
    return run_git(words, cwd, env=env, check=False).code == 0
