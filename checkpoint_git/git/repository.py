"""A repository's folders, found by git, and its own configuration, read and written through
GitPython.
"""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.run import (
    check_git_version,
    clean_env,
    git_error,
    run_git,
    stream_git,
)
from checkpoint_git.git.stale_locks import describe_lock


class Repository(NamedTuple):  # absolute paths
    work_tree: str  # the repository itself where it is bare
    git_dir: str  # this work tree's own
    common_dir: str  # shared by all linked worktrees; holds the configuration
    hooks: str  # the folder in which git looks for hooks, "" if core.hooksPath is set to nothing
    bare: bool


def read_repository(start: str, env: Mapping[str, str]) -> Repository | None:
    """Return the repository around a folder, None outside git.

    Raises CheckpointError inside a .git folder.
    """
    check_git_version(start)
    # A hook runs with GIT_DIR set; in another repository git would then work on the hook's own
    # (measured: a commit on the user's real branch). "not a git repository" is recognised below, so
    # git must not translate it.
    own = {**clean_env(env), "LC_ALL": "C"}
    words = ["rev-parse", "--path-format=absolute"]
    facts = [
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--absolute-git-dir",
        "--git-common-dir",
    ]
    answer = run_git([*words, *facts], start, env=own, check=False)
    if answer.code != 0:
        if b"not a git repository" not in answer.err:
            raise git_error(words, answer, start)
        _refuse_other_git_dir(env, start, "")
        return None

    lines = os.fsdecode(answer.out).removesuffix("\n").split("\n")
    if len(lines) != len(facts):
        message = f"the path of the repository around {escape_controls(start)} has a line break"
        raise CheckpointError(message, "rename that folder")

    bare, inside, git_dir, common_dir = lines
    _refuse_other_git_dir(env, start, git_dir)
    if inside == "true" and bare != "true":
        message = f"{escape_controls(git_dir)} is a git directory or the inside of one: no files are checked out here"
        raise CheckpointError(message, "run it in a clone or a work tree")

    top = git_dir if bare == "true" else _read_path([*words, "--show-toplevel"], start, own)
    return Repository(
        top,
        git_dir,
        common_dir,
        _read_path([*words, "--git-path", "hooks"], top, own),
        bare == "true",
    )


def _read_path(words: list[str], cwd: str, env: Mapping[str, str]) -> str:
    # Empty where git fails, as with a core.hooksPath that is set to nothing
    return os.fsdecode(run_git(words, cwd, env=env, check=False).out).removesuffix("\n")


def may_be_bare(folder: str) -> bool:
    # Saves asking git: a bare repository is not a folder with a .git, and has its HEAD at the top
    while not os.path.exists(os.path.join(folder, ".git")):
        if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(
            os.path.join(folder, "objects")
        ):
            return True
        if os.path.dirname(folder) == folder:
            return False
        folder = os.path.dirname(folder)
    return False


def read_all_settings(folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of every scope; of several values the last. env: a clean one."""
    words = ["config", "--null", "--list"]
    try:
        # subprocess would cost as much as git
        return _parse_settings(b"".join(stream_git(words, folder, env=env)))
    except CheckpointError:  # which does not say why
        return _parse_settings(run_git(words, folder, env=env).out)


def read_settings(place: Repository) -> dict[str, str]:
    """Return a repository's settings, not the user's or the system's; of several the last."""
    return _parse_settings(_config(place, "--null", "--list"))


def write_setting(place: Repository, key: str, value: str) -> None:
    _config(place, "--replace-all", key, value)


def remove_settings(place: Repository, keys: Iterable[str]) -> None:
    # A section that held nothing else goes with its heading, so that no byte of ours stays
    ours, sections = set(keys), dict[str, set[str]]()
    for key in sorted(read_settings(place)):
        sections.setdefault(key.rpartition(".")[0], set()).add(key)
    for section, inside in sections.items():
        if inside <= ours:
            _config(place, "--remove-section", section)
            continue
        for key in sorted(inside & ours):
            _config(place, "--unset-all", key)


def config_path(place: Repository) -> str:
    return os.path.join(place.common_dir, "config")


def _parse_settings(out: bytes) -> dict[str, str]:
    pairs = (os.fsdecode(record).partition("\n") for record in out.split(b"\0") if record)
    return {key: value for key, _, value in pairs}


def _config(place: Repository, *words: str) -> bytes:
    # 0.1 s to load, which the doctor, who only looks, does without
    from git import (
        Git,
        GitCommandError,
    )

    git = Git(place.work_tree)
    git.update_environment(
        GIT_DIR=place.git_dir, GIT_WORK_TREE=place.work_tree, GIT_COMMON_DIR=place.common_dir
    )
    try:
        return bytes(git.config("--local", *words, stdout_as_string=False))
    except GitCommandError as error:
        printed = escape_controls(str(error.stderr).strip().removeprefix("stderr: ").strip("'\n "))
        hint = describe_lock(f"{config_path(place)}.lock") or "is the configuration read-only?"
        raise CheckpointError(f"git config failed: {printed}", hint) from error


def _refuse_other_git_dir(env: Mapping[str, str], start: str, git_dir: str) -> None:
    # where GIT_DIR names another repository than the one around `start`, which one was meant is a
    # guess
    named = env.get("GIT_DIR", "")
    if named and os.path.realpath(os.path.join(start, named)) != os.path.realpath(
        git_dir or os.devnull
    ):
        found = (
            f"this directory belongs to {escape_controls(git_dir)}"
            if git_dir
            else "this directory is in none"
        )
        hint = "unset GIT_DIR, or go into the work tree of the repository that you mean"
        raise CheckpointError(
            f"GIT_DIR names the repository {escape_controls(named)}, but {found}", hint
        )
