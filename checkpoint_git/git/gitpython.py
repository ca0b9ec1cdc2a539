"""What users of GitPython give to the Python API, and get from it.

GitPython takes 0.1 s to import, so only what needs it does so.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise

if TYPE_CHECKING:
    from git import Commit as Commit
    from git import Repo as Repo

    Folder = str | os.PathLike[str] | Repo

_SHA256_LETTERS = 64  # of an id


def find_folder(path: "Folder") -> str:
    """Return the absolute folder of a path or of a git.Repo.

    That is the work tree of the repository, or itself if it is bare.
    """
    if isinstance(path, str | os.PathLike):
        return os.path.abspath(os.fspath(path))
    folder = getattr(path, "working_tree_dir", None) or getattr(path, "git_dir", None)
    if folder is None:
        raise TypeError(f"a path or a git.Repo is expected, not {type(path).__name__}")
    return os.path.abspath(str(folder))


def open_repo(path: "Folder", work_tree: str) -> "Repo":
    """Return the git.Repo that was given as a path, else a new one of a work tree."""
    from git import Repo

    if isinstance(path, Repo):
        return path
    return Repo(work_tree, expand_vars=False)  # a folder may be called "$HOME"


def make_commits(repo: "Repo", ids: Iterable[str]) -> "list[Commit]":
    """Return a git.Commit for each full id, in order.

    Raises CheckpointError for SHA-256, which GitPython cannot read, and for a missing commit.
    """
    commits = []
    for name in ids:
        if len(name) == _SHA256_LETTERS:
            hint = advise("git itself can read it", "git", "show", name)
            raise CheckpointError("GitPython cannot read a repository with SHA-256", hint)
        try:
            commits.append(repo.commit(name))
        except ValueError as error:
            message = f"{repo.git_dir} has no commit {name}"
            raise CheckpointError(
                message, "give a row that was read from this repository"
            ) from error

    return commits
