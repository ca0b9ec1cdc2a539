"""How a work tree differs from what is committed: unmerged, never added, changed since.

It judges no checkpoint.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from checkpoint_git.git.objects import read_index
from checkpoint_git.git.run import Env, clean_env, read_names
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import KINDS


def list_roots(top: str, env: Mapping[str, str], *, tracked: bool = False) -> list[str]:
    """Return the folders of a work tree that hold a folder of checkpoints.

    What git ignores is left out. tracked: only what git's index lists counts.
    """
    words = ["ls-files", "--cached"]
    if not tracked:
        words += ["--others", "--exclude-standard"]
    words += ["-z", "--", *pathspecs()]
    names = read_names(words, top, env=clean_env(env), check=False)
    folders = {os.path.split(os.path.join(top, os.path.dirname(name))) for name in names}
    return sorted(
        root
        for root, name in folders
        if name == KINDS[0].folder and os.path.isdir(f"{root}/{name}")
    )


def read_unmerged(work_tree: str, env: Mapping[str, str]) -> list[str]:
    return sorted({entry.path for entry in read_index(work_tree, pathspecs(), env, unmerged=True)})


def read_uncommitted(work_tree: str, paths: Iterable[str], env: Mapping[str, str]) -> set[str]:
    """Return the paths, of files or folders, that are here, neither committed nor staged.

    Those that .gitignore covers are left out.
    """
    words = ["ls-files", "--others", "--directory", "--no-empty-directory", "--exclude-standard"]
    words += ["-z", "--full-name"]
    found = set(read_names(words, work_tree, env=env))
    if not found:
        return set()
    return {path for path in paths if _is_among(path.rstrip("/"), found)}


def read_untracked(work_tree: str, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, bool]:
    """Return whether git ignores each file that is here and not in the index. paths: few."""
    words = ["--literal-pathspecs", "ls-files", "--others", "-z", "--full-name", "--", *paths]
    found = read_names(words, work_tree, env=env)
    if not found:
        return {}
    ignored = read_ignored(work_tree, found, env)
    return {path: path in ignored for path in found}


def read_ignored(work_tree: str, paths: Iterable[str], env: Mapping[str, str]) -> list[str]:
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return read_names(
        ["check-ignore", "-z", "--stdin"], work_tree, stdin=stdin, env=env, check=False
    )


def read_ignoring(work_tree: str, path: str, env: Mapping[str, str]) -> tuple[str, str, str]:
    """Return (file, number, text) of the line that makes git ignore a path, else empty texts."""
    words = ["check-ignore", "-v", "-z", "--stdin"]  # with -z git takes paths from there alone
    stdin = os.fsencode(path) + b"\0"
    found = read_names(words, work_tree, stdin=stdin, env=env, check=False)
    if not found:
        return "", "", ""
    return found[0], found[1], found[2]


def _is_among(path: str, found: set[str]) -> bool:
    """Return whether a path or a folder above it was found; folders end in a slash."""
    if path in found or path + "/" in found:
        return True
    for end, letter in enumerate(path, start=1):
        if letter == "/" and path[:end] in found:
            return True
    return False


def read_changed(work_tree: str, paths: Sequence[str], env: Env = None) -> set[str]:
    """Return the paths whose index or work tree differs from HEAD; new files are among them."""
    if not paths:
        return set()
    words = ["--literal-pathspecs", "status", "--porcelain", "-z", "--untracked-files=all"]
    words += ["--no-renames", "--", *paths]
    return {record[3:] for record in read_names(words, work_tree, env=env)}
