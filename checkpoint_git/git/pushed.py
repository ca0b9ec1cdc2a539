"""What a push or a rewrite brings: git's hook lines taken apart, and the checkpoint files that new commits touch."""

import os
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import Staged, pathspecs, read_commit, read_tree, read_tree_changes
from checkpoint_git.protocols.registry import protocol_of


class Push(NamedTuple):
    """One line that git gives to pre-push: what is sent, and what the remote has there now; an id may be all zeros."""

    local_ref: str
    local_id: str
    remote_ref: str
    remote_id: str


def parse_pushes(text: str) -> list[Push]:
    """The lines of pre-push's standard input; a deletion sends nothing and is left out."""
    words = (line.split(" ") for line in text.split("\n"))
    pushes = [Push(*four) for four in words if len(four) == 4]
    return [push for push in pushes if not is_zero(push.local_id)]


def parse_rewritten(text: str) -> list[str]:
    """The new commits from the lines "old new [extra]" of post-rewrite's standard input."""
    lines = (line.split() for line in text.split("\n"))
    return [words[1] for words in lines if len(words) > 1]


def is_zero(object_id: str) -> bool:
    """Whether git means "no object" by it, in SHA-1 and SHA-256 repositories alike."""
    return not object_id.strip("0")


def read_pushed(work_tree: str, push: Push, remote: str) -> Staged:
    """The checkpoint files of the pushed commit that the remote does not have in this form.

    remote: its name, else its address. A ref that names no commit, such as a tag on a file, brings none.
    """
    try:
        commit = read_commit(work_tree, push.local_id)
    except CheckpointError:
        return Staged([], [], [])
    return read_tree(work_tree, commit, _read_paths(work_tree, commit, push.remote_id, remote))


def read_commit_changes(work_tree: str, commits: list[str]) -> set[str]:
    """The paths of checkpoint files that any of these commits (full ids) changed, against any of its parents."""
    words = ["diff-tree", "--stdin", "-r", "-m", "--root", "--no-commit-id", "--name-only", "--diff-filter=d", "-z"]
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    out = run_git([*words, "--", *pathspecs()], work_tree, stdin=stdin).out
    return {path for path in map(os.fsdecode, out.split(b"\0")) if path and protocol_of(path)}


def _read_paths(work_tree: str, commit: str, remote_id: str, remote: str) -> set[str] | None:
    """The paths to look at; None means all, where nothing is known of what the remote has."""
    if not is_zero(remote_id) and _is_known(work_tree, remote_id):
        return read_tree_changes(work_tree, remote_id, commit)
    if not run_git(["for-each-ref", "--count=1", f"refs/remotes/{remote}"], work_tree, check=False).out:
        return None
    words = ["rev-list", commit, "--not", f"--remotes={remote}", "--", *pathspecs()]
    return read_commit_changes(work_tree, run_git(words, work_tree).out.decode().split())


def _is_known(work_tree: str, object_id: str) -> bool:
    return run_git(["cat-file", "-e", f"{object_id}^{{commit}}"], work_tree, check=False).code == 0
