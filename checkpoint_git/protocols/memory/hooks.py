"""What git's hooks start of the memory server's protocol: a save after each commit, where that is asked for."""

import os
import sys
from collections.abc import Mapping

SETTING = "checkpoint.memoryOnCommit"
_LOG = os.path.join("checkpoint", "memory-on-commit.log")  # in the git directory


def after_commit(cwd: str, env: Mapping[str, str]) -> None:
    # `memory save --on commit` in a session of its own, because a hook must hold nobody up. Never raises
    from checkpoint_git.git.repository import read_flag

    if not read_flag(SETTING, cwd):
        return
    import subprocess

    from checkpoint_git.core.errors import CheckpointError
    from checkpoint_git.disk.discover import find_repository
    from checkpoint_git.git.run import clean_env, run_git

    repository = find_repository(cwd)
    if repository is None:
        return
    try:
        commit = run_git(["rev-parse", "HEAD"], cwd).out.decode().strip()
        log = os.path.join(repository[1], _LOG)
        os.makedirs(os.path.dirname(log), exist_ok=True)
        words = [
            sys.executable,
            "-E",
            "-P",
            "-m",
            "checkpoint_git",
            "memory",
            "save",
            "--on",
            "commit",
            "--commit",
            commit,
        ]
        with open(log, "wb") as output:
            subprocess.Popen(
                [*words, "--strict"],
                cwd=repository[0],
                env=clean_env(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except (CheckpointError, OSError):
        return


def read_log(cwd: str) -> str:
    from checkpoint_git.disk.discover import find_repository

    repository = find_repository(cwd)
    if repository is None:
        return ""
    try:
        with open(os.path.join(repository[1], _LOG), "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 4096))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
