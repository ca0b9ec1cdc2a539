"""The default branch and the tags of a repository, as refs tell them, without a walk through the history."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.git.run import run_git


class Tag(NamedTuple):
    """A tag. when: seconds since 1970: when it was made, of a lightweight one when its commit was."""

    name: str
    when: int


def read_newest_tag(work_tree: str, env: Mapping[str, str]) -> Tag | None:
    """The tag that was made last, None where there is none that says when."""
    words = ["for-each-ref", "--sort=-creatordate", "--count=1", "--format=%(creatordate:unix) %(refname:lstrip=2)"]
    out = run_git([*words, "refs/tags"], work_tree, env=env, check=False).out
    when, _, name = out.decode("utf-8", "replace").rstrip("\n").partition("\n")[0].partition(" ")
    return Tag(name, int(when)) if when.isdecimal() and name else None


class DefaultBranch(NamedTuple):
    """The branch that others begin from. attributes: its .gitattributes, None where it has none."""

    name: str
    attributes: bytes | None


def read_default_branch(work_tree: str, file: str, env: Mapping[str, str]) -> DefaultBranch | None:
    """The branch that the remote calls its own, else init.defaultBranch, main or master; None where none is there.

    file: which file of it is wanted. One `git cat-file` answers for all of them.
    """
    refs = ["refs/remotes/origin/HEAD", *(f"refs/heads/{name}" for name in _read_names(work_tree, env))]
    asked = "".join(f"{ref}^{{tree}}\n{ref}:{file}\n" for ref in refs)
    out = run_git(["cat-file", "--batch"], work_tree, stdin=asked.encode(), env=env, check=False).out
    answers = _split_batch(out, 2 * len(refs))
    for ref, tree, data in zip(refs, answers[::2], answers[1::2], strict=False):
        if tree is not None:
            return DefaultBranch(ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"), data)
    return None


def _read_names(work_tree: str, env: Mapping[str, str]) -> list[str]:
    out = run_git(["config", "--get", "init.defaultBranch"], work_tree, env=env, check=False).out
    wished = os.fsdecode(out).rstrip("\n")
    named = [wished] if wished and "\n" not in wished and wished.isprintable() else []
    return list(dict.fromkeys([*named, "main", "master"]))


def _split_batch(out: bytes, count: int) -> list[bytes | None]:
    """The contents that `git cat-file --batch` printed, in order; None for what is missing."""
    contents: list[bytes | None] = []
    at = 0
    while at < len(out) and len(contents) < count:
        end = out.find(b"\n", at)
        header = out[at:end].split()
        if len(header) != 3 or not header[2].isdigit():
            contents.append(None)
            at = end + 1
            continue
        size = int(header[2])
        contents.append(out[end + 1 : end + 1 + size])
        at = end + 2 + size
    return contents
