"""A commit as fields of an initiative checkpoint, and the save that a hook starts without waiting for it."""

import os
import sys
from collections.abc import Mapping

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git.objects import diff_parents
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.protocols.memory.entity import join_files

LOG = os.path.join("checkpoint", "memory-on-commit.log")
_MOST_FILES = 100
_MOST_SUBJECT = 200  # characters


def read_commit_fields(cwd: str, commit: str) -> dict[str, str]:
    """The hash, the subject and the changed files of a commit. Raises CheckpointError where there is none."""
    named = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    found = run_git(named, cwd, check=False)
    if found.code:
        shown = escape_controls(shorten(commit, 60))
        raise CheckpointError(f'there is no commit "{shown}" here', "make a commit first, or name one: --commit")
    commit_id = found.out.decode().strip()
    subject = run_git(["show", "-s", "--format=%s", commit_id], cwd).out.decode("utf-8", "replace").strip()
    changed = dict.fromkeys(change.path for change in diff_parents(cwd, [commit_id]))
    paths = [os.fsencode(path).decode("utf-8", "replace") for path in changed]
    fields = {
        "last_commit": commit_id,
        "last_action": f"Committed {commit_id[:12]}: {shorten(subject, _MOST_SUBJECT) or 'no subject'}",
        "files_modified": str(len(paths)),
    }
    if paths:
        fields["files_changed"] = join_files(paths[:_MOST_FILES])
    return fields


def start_save(cwd: str, env: Mapping[str, str]) -> None:
    """Starts `memory save --on commit` in a session of its own and returns at once; a hook must hold nobody up.

    What it says goes into a file in the git directory, which `memory doctor` reads. Never raises.
    """
    import subprocess

    repository = find_repository(cwd)
    if repository is None:
        return
    try:
        commit = run_git(["rev-parse", "HEAD"], cwd).out.decode().strip()
        log = os.path.join(repository[1], LOG)
        os.makedirs(os.path.dirname(log), exist_ok=True)
        words = [sys.executable, "-P", "-m", "checkpoint_git", "memory", "save", "--on", "commit", "--commit", commit]
        with open(log, "wb") as said:
            subprocess.Popen(
                [*words, "--strict"],
                cwd=repository[0],
                env=clean_env(env),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
    except (CheckpointError, OSError):
        return


def read_log(cwd: str) -> str:
    """What the last save after a commit said, its end; "" where there is none."""
    repository = find_repository(cwd)
    if repository is None:
        return ""
    try:
        with open(os.path.join(repository[1], LOG), "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 4096))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
