"""What an agent's hook calls when a turn ends. Every turn loads it, so it imports late what it needs."""

import os
from collections.abc import Callable, Mapping

from checkpoint_git.disk.discover import find_common_dir, find_repository
from checkpoint_git.protocols.memory.summary import NOTE

_ON_IDLE = "checkpoint.memoryOnIdle"


def after_turn(cwd: str, env: Mapping[str, str], has_worked: Callable[[int], bool]) -> None:
    """Nothing later than the end of a turn happens in an idle session: that is when its state is saved."""
    _, git_dir = find_repository(cwd) or ("", "")
    try:
        saved = os.stat(os.path.join(find_common_dir(git_dir), NOTE)).st_mtime_ns
    except OSError:  # no initiative is known
        return
    from checkpoint_git.git.repository import read_flag

    if read_flag(_ON_IDLE, cwd) and has_worked(saved):
        from checkpoint_git.protocols.memory.hooks import start_save

        start_save("idle", cwd, env)
