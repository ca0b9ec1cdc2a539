"""A save in the background: git's hook starts one after a commit, an agent's after a turn, where that is set."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from checkpoint_git.disk.discover import find_common_dir, find_repository
from checkpoint_git.git.repository import read_flag
from checkpoint_git.git.run import clean_env

ON_COMMIT = "checkpoint.memoryOnCommit"
LOG = "checkpoint/memory-save.log"  # in the git directory: why the last save failed


def after_commit(cwd: str, env: Mapping[str, str]) -> None:
    if read_flag(ON_COMMIT, cwd):
        start_save("commit", cwd, env)


def start_save(occasion: str, cwd: str, env: Mapping[str, str]) -> None:
    # In a session of its own: a hook holds nobody up. The log is a new file, which no earlier save writes into
    repository = find_repository(cwd)
    if repository is None:
        return
    log = os.path.join(find_common_dir(repository[1]), LOG)
    words = [sys.executable, "-E", "-P", "-m", "checkpoint_git", "memory", "save", "--on", occasion, "--strict"]
    with suppress(OSError):
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with suppress(FileNotFoundError):
            os.unlink(log)
        with open(log, "xb") as output:
            subprocess.Popen(
                words,
                cwd=repository[0],
                env=clean_env(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )


def read_log(cwd: str) -> str:
    """Why the last save failed, "" where it did not."""
    repository = find_repository(cwd)
    try:
        with open(os.path.join(find_common_dir(repository[1] if repository else ""), LOG), "rb") as stream:
            return stream.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""
