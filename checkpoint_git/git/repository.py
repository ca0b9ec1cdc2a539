"""The repository that init and uninstall work on: where it lies and what its configuration says, through GitPython."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.run import check_git_version

if TYPE_CHECKING:
    from git import Git


class Repository(NamedTuple):
    """Absolute paths. git_dir: this work tree's own. common_dir: shared by all linked worktrees; holds the config.

    hooks: the directory in which git looks for hooks, "" where core.hooksPath is set to nothing.
    """

    work_tree: str
    git_dir: str
    common_dir: str
    hooks: str


def read_repository(start: str, env: Mapping[str, str]) -> Repository | None:
    """The repository around a directory, None outside git. Raises CheckpointError for a bare one.

    A GIT_DIR that names another repository than the one around `start` is refused: which one was meant is a guess.
    """
    check_git_version(start)
    from git import InvalidGitRepositoryError, NoSuchPathError, Repo

    try:
        repo = Repo(start, search_parent_directories=True, expand_vars=False)
    except (InvalidGitRepositoryError, NoSuchPathError):
        _refuse_other_git_dir(env, start, "")
        return None
    with repo:
        git_dir, work_tree = os.path.abspath(repo.git_dir), repo.working_tree_dir
        _refuse_other_git_dir(env, start, git_dir)
        if repo.bare or work_tree is None or _is_inside(start, git_dir):
            raise CheckpointError(
                f"{escape_controls(git_dir)} is a bare repository or the inside of one: no files are checked out here",
                "run it in a clone or a work tree",
            )
        place = Repository(os.path.abspath(work_tree), git_dir, os.path.abspath(repo.common_dir), "")
    return place._replace(hooks=_read_hooks_path(place))


def read_settings(place: Repository) -> dict[str, str]:
    """The repository's own configuration (not the user's or the system's); of several values the last."""
    out = os.fsdecode(_run(_git(place), "--local", "--null", "--list"))
    pairs = (record.partition("\n") for record in out.split("\0") if record)
    return {key: value for key, _, value in pairs}


def write_setting(place: Repository, key: str, value: str) -> None:
    """One setting in the repository's configuration, in place of every earlier value of that key."""
    _run(_git(place), "--local", "--replace-all", key, value)


def remove_settings(place: Repository, keys: Iterable[str]) -> None:
    """Settings taken out; a section that held nothing else goes with its heading, so that no byte of ours stays."""
    ours, present = set(keys), set(read_settings(place))
    git = _git(place)
    for section in sorted({_section(key) for key in ours & present}):
        inside = {key for key in present if _section(key) == section}
        if inside <= ours:
            _run(git, "--local", "--remove-section", section)
            continue
        for key in sorted(inside & ours):
            _run(git, "--local", "--unset-all", key)


def config_path(place: Repository) -> str:
    """The file that holds the repository's configuration."""
    return os.path.join(place.common_dir, "config")


def _section(key: str) -> str:
    return key.rpartition(".")[0]


def _git(place: Repository) -> "Git":
    from git import Git

    git = Git(place.work_tree)
    git.update_environment(GIT_DIR=place.git_dir, GIT_WORK_TREE=place.work_tree, GIT_COMMON_DIR=place.common_dir)
    return git


def _run(git: "Git", *words: str) -> bytes:
    from git import GitCommandError

    try:
        return bytes(git.config(*words, strip_newline_in_stdout=False, stdout_as_string=False))
    except GitCommandError as error:
        said = escape_controls(str(error.stderr).strip().removeprefix("stderr: ").strip("'\n "))
        raise CheckpointError(
            f"git config failed: {said}", "is another git running, or the configuration read-only?"
        ) from error


def _read_hooks_path(place: Repository) -> str:
    from git import GitCommandError

    try:
        return str(_git(place).rev_parse("--path-format=absolute", "--git-path", "hooks"))
    except GitCommandError:
        return ""


def _refuse_other_git_dir(env: Mapping[str, str], start: str, git_dir: str) -> None:
    named = env.get("GIT_DIR", "")
    if named and os.path.realpath(os.path.join(start, named)) != os.path.realpath(git_dir or os.devnull):
        found = f"this directory belongs to {escape_controls(git_dir)}" if git_dir else "this directory is in none"
        raise CheckpointError(
            f"GIT_DIR names the repository {escape_controls(named)}, but {found}",
            "unset GIT_DIR, or go into the work tree of the repository that you mean",
        )


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)
