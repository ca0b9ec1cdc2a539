"""Files that may only ever be added: which of them an index or a push would change or take away. It judges nothing."""

import os
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.repo.git import run_git
from checkpoint_git.repo.pushed import Push, is_zero
from checkpoint_git.repo.staged import read_commit

How = Literal["changed", "removed"]

_DIFF = ("-z", "--name-status", "--no-renames", "--diff-filter=MTD")
_MOST_ENDS = 50  # places where a pushed branch leaves what the remote has


class Loss(NamedTuple):
    """A committed file that would not stay as it is."""

    path: str
    how: How


def read_losses(work_tree: str, pattern: str) -> list[Loss]:
    """The files of HEAD that the work tree has changed or lost; what is not checked out counts as there."""
    if run_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], work_tree, check=False).code != 0:
        return []
    return _parse(run_git(["diff", *_DIFF, "--no-ext-diff", "HEAD", "--", _pathspec(pattern)], work_tree).out)


def read_staged_losses(work_tree: str, pattern: str, since: str = "HEAD") -> list[Loss]:
    """The files of the commit `since` that the index has changed or left out. pattern: of git's pathspecs."""
    if run_git(["rev-parse", "--verify", "--quiet", f"{since}^{{commit}}"], work_tree, check=False).code != 0:
        return []
    words = ["diff", "--cached", *_DIFF, "--no-ext-diff", since, "--", _pathspec(pattern)]
    return _parse(run_git(words, work_tree).out)


def read_pushed_losses(work_tree: str, push: Push, remote: str, pattern: str) -> list[Loss]:
    """The files that the remote has and that the pushed commit has changed or left out, as far as is known here."""
    try:
        commit = read_commit(work_tree, push.local_id)
    except CheckpointError:
        return []
    losses: dict[Loss, None] = {}
    for end in _read_ends(work_tree, commit, push.remote_id, remote):
        words = ["diff-tree", "-r", *_DIFF, end, commit, "--", _pathspec(pattern)]
        losses.update(dict.fromkeys(_parse(run_git(words, work_tree).out)))
    return list(losses)


def _read_ends(work_tree: str, commit: str, remote_id: str, remote: str) -> list[str]:
    """The newest commits that the remote has and the pushed one grew from."""
    if not is_zero(remote_id):
        known = run_git(["cat-file", "-e", f"{remote_id}^{{commit}}"], work_tree, check=False).code == 0
        return [remote_id] if known else []
    words = ["rev-list", "--boundary", commit, "--not", f"--remotes={remote}"]
    lines = run_git(words, work_tree, check=False).out.decode().splitlines()
    return [line[1:] for line in lines if line.startswith("-")][:_MOST_ENDS]


def _pathspec(pattern: str) -> str:
    return f":(top,glob){pattern}"


def _parse(out: bytes) -> list[Loss]:
    fields = out.split(b"\0")
    return [
        Loss(os.fsdecode(path), "removed" if status == b"D" else "changed")
        for status, path in zip(fields[::2], fields[1::2], strict=False)
    ]
