"""Checkpoints that a merge lost by following a rename: one side moved them to where none is, the other changed them.

It knows trees and renames, and no content.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.git.isolated_dir import Sealed, run_sealed
from checkpoint_git.git.merges.trees import read_versions
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged


class Followed(NamedTuple):
    """A checkpoint that one side changed. mover: the side that moved it, "ours" or "theirs". target: "" if unknown."""

    path: str
    mover: str
    target: str


def read_followed(sealed: Sealed, bases: Sequence[str], tree: str) -> list[Followed]:
    """The checkpoints that a merge of "ours" and "theirs" into a tree dropped though a side had changed them.

    bases: the merge bases, full ids. What was moved to another place that a checkpoint may have is not among them.
    """
    found = []
    for mover, other in (("ours", "theirs"), ("theirs", "ours")):
        changed = _read_changed(sealed, bases, other, _read_dropped(sealed, other, tree))
        renames = _read_renames(sealed, bases[0], mover) if changed else {}
        moved = [Followed(path, mover, renames.get(path, "")) for path in changed]
        found += [one for one in moved if not is_merged(one.target)]
    return found


def _read_dropped(sealed: Sealed, side: str, tree: str) -> list[str]:
    words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=D", side, tree, "--", *pathspecs()]
    paths = os.fsdecode(run_sealed(sealed, words).out).split("\0")
    return [path for path in paths if is_merged(path)]


def _read_changed(sealed: Sealed, bases: Sequence[str], side: str, paths: Sequence[str]) -> list[str]:
    """Of these paths, those that some base has, and none of them as the side has them."""
    before = [read_versions(sealed, base, paths) for base in bases] if paths else []
    now = read_versions(sealed, side, paths)
    known = [path for path in paths if any(path in versions for versions in before)]
    return [path for path in known if all(versions.get(path) != now.get(path) for versions in before)]


def _read_renames(sealed: Sealed, base: str, side: str) -> dict[str, str]:
    words = ["diff-tree", "-r", "-z", "-M", "--name-status", "--diff-filter=R", base, side]
    fields = os.fsdecode(run_sealed(sealed, words).out).split("\0")
    return dict(zip(fields[1::3], fields[2::3], strict=False))
