"""Files that may only ever be added: which of them an index or a push would change or take away. It judges nothing."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.pushed import Push, is_zero
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import read_commit

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
    return parse_losses(run_git(["diff", *_DIFF, "--no-ext-diff", "HEAD", "--", _pathspec(pattern)], work_tree).out)


def read_staged_losses(work_tree: str, pattern: str, since: str = "HEAD") -> list[Loss]:
    """The files of the commit `since` that the index has changed or left out. pattern: of git's pathspecs."""
    if run_git(["rev-parse", "--verify", "--quiet", f"{since}^{{commit}}"], work_tree, check=False).code != 0:
        return []
    words = ["diff", "--cached", *_DIFF, "--no-ext-diff", since, "--", _pathspec(pattern)]
    return parse_losses(run_git(words, work_tree).out)


def read_pushed_losses(work_tree: str, push: Push, remote: str, pattern: str) -> list[Loss]:
    """The files that the remote has and that the pushed commit has changed or left out, as far as is known here."""
    try:
        commit = read_commit(work_tree, push.local_id)
    except CheckpointError:
        return []
    if is_zero(push.remote_id):
        return read_new_losses(work_tree, commit, [f"--remotes={remote}"], pattern)
    known = run_git(["cat-file", "-e", f"{push.remote_id}^{{commit}}"], work_tree, check=False).code == 0
    return _compare_all(work_tree, [push.remote_id] if known else [], commit, pattern)


def read_new_losses(
    work_tree: str, commit: str, known: Sequence[str], pattern: str, env: Mapping[str, str] | None = None
) -> list[Loss]:
    """The files that a commit on a new ref has changed or left out of where it grew from.

    known: the words by which `git rev-list` names what is there already, such as "--all".
    """
    words = ["rev-list", "--boundary", commit, "--not", *known]
    lines = run_git(words, work_tree, env=env, check=False).out.decode().splitlines()
    ends = [line[1:] for line in lines if line.startswith("-")][:_MOST_ENDS]
    return _compare_all(work_tree, ends, commit, pattern, env)


def _compare_all(
    work_tree: str, ends: Sequence[str], commit: str, pattern: str, env: Mapping[str, str] | None = None
) -> list[Loss]:
    losses: dict[Loss, None] = {}
    for end in ends:
        words = ["diff-tree", "-r", *_DIFF, end, commit, "--", _pathspec(pattern)]
        losses.update(dict.fromkeys(parse_losses(run_git(words, work_tree, env=env).out)))
    return list(losses)


def _pathspec(pattern: str) -> str:
    return f":(top,glob){pattern}"


def parse_losses(out: bytes) -> list[Loss]:
    """What `git diff -z --name-status` printed."""
    fields = out.split(b"\0")
    return [
        Loss(os.fsdecode(path), "removed" if status == b"D" else "changed")
        for status, path in zip(fields[::2], fields[1::2], strict=False)
    ]
