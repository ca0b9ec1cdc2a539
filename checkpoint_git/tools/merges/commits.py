"""Two commits merged in memory by our rules: git merges the ordinary files, the merge schemas every checkpoint.

No index, no work tree and no ref is touched, and nothing that either commit holds has a say in how it is merged.
"""

import os
import sys
from typing import Literal

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import Choices, driver_command
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.isolated_dir import Env, open_sealed
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.git.merges.trees import TreeMerge, fetch_missing, merge_trees
from checkpoint_git.git.objects import read_commit
from checkpoint_git.protocols.registry import attribute_patterns, is_merged
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.tree_merge import Joiner, Kind, MergedFile, MergedTree, Only, Remaining

__all__ = [
    "Kind",
    "MergedFile",
    "MergedTree",
    "Remaining",
    "UnrelatedError",
    "merge_commits",
    "merge_plainly",
    "read_checked_bases",
]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class UnrelatedError(CheckpointError):
    """Two commits have no common ancestor, or this clone does not have it."""


def merge_commits(
    cwd: str, ours: str, theirs: str, *, only: Only | None = None, choices: Choices | None = None, env: Env = None
) -> MergedTree:
    """What `git merge` with the installed driver would make of two commits, as a tree.

    cwd: in any repository: bare, a linked work tree, inside a hook (its quarantine is kept). ours, theirs: revisions.
    only: whether a path counts; all others stay as ours has them, and their conflicts are not told: a merge of
    checkpoints alone is `only=is_merged`. choices: narrative and schema; None for those of the driver that this clone
    has installed. env: git's surroundings, None for this process's. Differences from `git merge`: no file's attributes
    count (no merge=union, no driver but ours, no line ends), and a checkpoint is given to our driver wherever both
    sides changed it, whatever attributes say; a pipeline's record that both sides have differently is a conflict.

    New objects are written to the repository; no ref points to them. Raises CheckpointError where a revision is
    unknown, UnrelatedError where the two have nothing in common or a shallow clone lacks it.
    """
    first, second = (read_commit(cwd, rev, env) for rev in (ours, theirs))
    bases = read_checked_bases(cwd, first, second, env)
    decided = read_choices(cwd) if choices is None else choices
    ways: tuple[_How, ...] = ("inner" if len(bases) > 1 else "none", "every")
    for how in ways:
        with open_sealed(cwd, _attributes(how), _drivers(how, decided), env) as sealed:
            if sealed.partial:
                fetch_missing(cwd, [(base, side) for base in bases for side in (first, second)], env)
            merged = merge_trees(sealed, first, second)
            if how == "every" or not _is_entangled(merged):
                joined = Joiner(cwd, sealed, Schemas(decided), env, how == "every").join(merged, bases, only)
                break
    return joined._replace(ours=first, theirs=second, bases=tuple(bases))


def merge_plainly(cwd: str, ours: str, theirs: str, *, env: Env = None) -> TreeMerge:
    """What a forge would make of two commits: git's own text merge of every file, with no attributes.

    Raises as merge_commits does.
    """
    first, second = (read_commit(cwd, rev, env) for rev in (ours, theirs))
    bases = read_checked_bases(cwd, first, second, env)
    with open_sealed(cwd, env=env) as sealed:
        if sealed.partial:
            fetch_missing(cwd, [(base, side) for base in bases for side in (first, second)], env)
        return merge_trees(sealed, first, second)


def read_checked_bases(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """The merge bases of two commits (full ids), at least one. Raises UnrelatedError where there is none."""
    bases = read_base_ids(cwd, (ours, theirs), env)
    if bases:
        return bases
    names = f"{ours[:12]} and {theirs[:12]}"
    if is_shallow(cwd):
        raise UnrelatedError(f"what {names} have in common is not in this clone", UNSHALLOW)
    raise UnrelatedError(f"{names} have no common ancestor", "they are unrelated histories: merge them by hand")


# Which merges git gives to the driver: none, so that every checkpoint that both sides changed is left to us; those of
# the merge bases of a criss-cross; or every one, a process each, where it merges what it has merged already.
_How = Literal["none", "inner", "every"]


def _attributes(how: _How) -> list[str]:
    value = "-merge" if how == "none" else "merge=checkpoint"
    return [f"{pattern} {value}" for pattern in attribute_patterns()]


def _drivers(how: _How, choices: Choices) -> dict[str, str]:
    if how == "none":
        return {}
    command = driver_command(sys.executable, _PACKAGE, choices)
    return {
        "merge.checkpoint.driver": "false" if how == "inner" else command,
        "merge.checkpoint.recursive": "checkpoint-base",
        "merge.checkpoint-base.driver": driver_command(sys.executable, _PACKAGE, choices, base=True),
    }


def _is_entangled(merged: TreeMerge) -> bool:
    """Whether a renamed checkpoint meets another: git then merges the result of one merge with the next file."""
    return any("rename" in note.kind and any(map(is_merged, note.paths)) for note in merged.notes)
