"""The last save in the background: a file in the git directory, which exists while it runs or has
failed.
"""

import os
from typing import NamedTuple

from checkpoint_git.core.platform import has_ended
from checkpoint_git.disk.discover import shared_path
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.own_files import read_start

LOG = "checkpoint/memory-save.log"


class SaveLog(NamedTuple):
    """Of a save in the background: process, occasion, and why it failed, "" if it did not or goes
    on.
    """

    process: str = ""
    occasion: str = ""
    why: str = ""


def read_log(cwd: str) -> SaveLog:
    head, _, why = (
        read_start(shared_path(cwd, LOG), 4096).decode("utf-8", "replace").partition("\n")
    )
    process, _, occasion = head.partition(" ")
    return SaveLog(
        process, occasion, why.strip() or ("it was cut off" if has_ended(process) else "")
    )


def clear_log(cwd: str) -> None:
    """After a save that was kept, of what an earlier one said; one that goes on has its own."""
    log = read_log(cwd)
    if log.why or log.process == str(os.getpid()):
        remove_quietly(shared_path(cwd, LOG))
