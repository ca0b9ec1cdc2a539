"""The merge that a server makes: by lines alone, whatever attributes, drivers and settings this clone has.

What git writes meanwhile goes to a folder of its own that is taken away: the repository gets no object. It judges
nothing.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from checkpoint_git.git.isolated_dir import OBJECTS, OTHER_OBJECTS, Sealed, list_folders, open_sealed
from checkpoint_git.git.merges.merges import Commit, Env, Touched, read_bases, read_commits, read_contents, read_touched
from checkpoint_git.git.merges.suspects import read_blobs_in_head
from checkpoint_git.git.merges.trees import fetch_missing, merge_trees
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.registry import is_merged


class Plain(NamedTuple):
    """A place to merge in. cwd: the repository; env: surroundings in which git there reads what was made here too."""

    sealed: Sealed
    cwd: str
    env: Env


class Made(NamedTuple):
    """What a merge by lines makes of two commits.

    tree: its id. stopped: the checkpoint paths that it leaves to a person, with git's words for why. others: how many
    paths of other files it leaves.
    """

    tree: str
    stopped: dict[str, tuple[str, ...]]
    others: int


@contextmanager
def open_plain(cwd: str, env: Env = None) -> Iterator[Plain]:
    """For the length of a `with` block. env: of the repository. Raises CheckpointError outside a repository."""
    own = os.environ if env is None else env
    with open_sealed(cwd, env=env) as sealed:
        objects = os.path.join(sealed.env["GIT_DIR"], "objects")
        known = list_folders(sealed.env[OBJECTS], sealed.env.get(OTHER_OBJECTS))
        apart = {**sealed.env, OBJECTS: objects, OTHER_OBJECTS: known}
        more = list_folders(objects, own.get(OTHER_OBJECTS))
        yield Plain(sealed._replace(env=apart), cwd, {**own, OTHER_OBJECTS: more})


def merge_lines(plain: Plain, first: str, second: str) -> Made:
    """The merge of two commits (full ids) by lines. Raises CheckpointError where git cannot merge them."""
    if plain.sealed.partial:
        bases = read_bases(plain.cwd, (first, second), plain.env)
        fetch_missing(plain.cwd, [(base.id, side) for base in bases[:1] for side in (first, second)], plain.env)
    merged = merge_trees(plain.sealed, first, second)
    stopped = {one.path: one.kinds for one in merged.unsettled if is_merged(one.path)}
    for note in merged.notes:
        stopped.update({path: (note.kind,) for path in note.paths if is_merged(path) and path not in stopped})
    return Made(merged.tree, stopped, sum(not is_merged(one.path) for one in merged.unsettled))


def read_foreseen(plain: Plain, made: Made, first: str, second: str) -> Touched:
    """Every version of the checkpoint files that the merge touches; `result` is what it makes."""
    return read_touched(plain.cwd, Commit(made.tree, made.tree, (first, second), ""), plain.env)


def read_made(plain: Plain, made: Made, paths: Sequence[str]) -> dict[str, bytes | None]:
    """What the merge makes of some paths; None where it has no file."""
    blobs = read_blobs_in_head(plain.cwd, paths, plain.env, made.tree)
    contents = read_contents(plain.cwd, filter(None, blobs.values()), plain.env)
    return {path: contents.get(blob) for path, blob in blobs.items()}


def is_dropped(plain: Plain, commit: Commit) -> bool:
    """Whether a merge of two took nothing at all of one of them, as `git merge -s ours` does.

    Only what is seen on other files than checkpoints counts: one side's checkpoints alone may have been thrown away by
    whoever had to resolve them.
    """
    trees = [parent.tree for parent in read_commits(plain.cwd, commit.parents, plain.env)]
    if len(trees) != 2 or trees[0] == trees[1] or commit.tree not in trees:
        return False
    other = commit.parents[0 if commit.tree == trees[1] else 1]
    bases = read_bases(plain.cwd, commit.parents, plain.env)
    if not bases:
        return False
    changed, missing = (_read_names(plain, old, other) for old in (bases[0].id, commit.tree))
    return any(not is_merged(path) for path in changed & missing)


def _read_names(plain: Plain, old: str, new: str) -> set[str]:
    words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new]
    return set(filter(None, os.fsdecode(run_git(words, plain.cwd, env=plain.env).out).split("\0")))
