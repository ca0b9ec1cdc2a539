"""The log of the last save in the background.

It is a file in the git directory, which exists while the save runs or if it has failed.
"""

import os
from typing import NamedTuple

from checkpoint_git.core.platform import has_ended
from checkpoint_git.disk.discover import shared_path
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.own_files import read_start

LOG = "checkpoint/memory-save.log"


class SaveLog(NamedTuple):
    """A save in the background. why: the reason if it failed, else ""."""

    process: str = ""
    occasion: str = ""
    why: str = ""


def read_log(cwd: str) -> SaveLog:
    text = read_start(shared_path(cwd, LOG), 4096).decode("utf-8", "replace")
    head, _, printed = text.partition("\n")
    process, _, occasion = head.partition(" ")
    why = printed.strip()
    if not why and has_ended(process):
        why = "it was cut off"
    return SaveLog(process, occasion, why)


def clear_log(cwd: str) -> None:
    """Remove the log after a successful save, except that of another save that still runs."""
    log = read_log(cwd)
    if log.why or log.process == str(os.getpid()):
        remove_quietly(shared_path(cwd, LOG))
