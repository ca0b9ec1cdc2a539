"""Start a save in the background: after a commit, or after an agent's turn, if that is set."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from checkpoint_git.disk.discover import shared_path
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.settings import MEMORY_ON_COMMIT, read_flag
from checkpoint_git.protocols.memory.save_log import LOG


def after_commit(cwd: str, env: Mapping[str, str]) -> None:
    if read_flag(MEMORY_ON_COMMIT, cwd):
        start_save("commit", cwd, env)


def start_save(occasion: str, cwd: str, env: Mapping[str, str]) -> None:
    # In a session of its own: a hook holds nobody up. The log is a new file, which no earlier save
    # writes into
    log = shared_path(cwd, LOG)
    words = [
        sys.executable,
        "-E",
        "-P",
        "-m",
        "checkpoint_git",
        "memory",
        "save",
        "--on",
        occasion,
        "--strict",
    ]
    with suppress(OSError):
        os.makedirs(os.path.dirname(log), exist_ok=True)
        remove_quietly(log)
        with open(log, "xb", buffering=0) as output:
            save = subprocess.Popen(
                words,
                cwd=cwd,
                env=clean_env(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )
            # before what it says itself, since Python starts late
            output.write(f"{save.pid} {occasion}\n".encode())
