"""Give files another name in git's index, as `git mv` does. No hook and no filter runs."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.git import objects
from checkpoint_git.git.objects import IndexEntry
from checkpoint_git.git.run import NO_HOOKS, run_git


class Move(NamedTuple):
    """entry: as the index has it. path: its new one. data: what is staged there, None for the
    entry's own content.
    """

    entry: IndexEntry
    path: str
    data: bytes | None = None


def read_entries(
    work_tree: str, paths: Collection[str], env: Mapping[str, str]
) -> dict[str, IndexEntry]:
    """Return what the index has at some paths; those that it does not list are left out."""
    specs = [f":(top,literal){path}" for path in paths]
    found = objects.read_index(work_tree, specs, env) if specs else []
    return {entry.path: entry for entry in found if entry.path in paths}


def stage_moves(work_tree: str, moves: Sequence[Move], env: Mapping[str, str]) -> None:
    """Write all moves to the index in one step. Raises CheckpointError, nothing staged, where git
    cannot.
    """
    lines = list[str]()
    for move in moves:
        blob = move.entry.blob
        if move.data is not None:
            stored = run_git(["hash-object", "-w", "--stdin"], work_tree, stdin=move.data, env=env)
            blob = stored.out.decode().strip()
        lines.append(f"0 {'0' * len(blob)}\t{move.entry.path}\0")
        lines.append(f"{move.entry.mode} {blob}\t{move.path}\0")

    words = [*NO_HOOKS, "update-index", "-z", "--index-info"]
    run_git(words, work_tree, stdin=os.fsencode("".join(lines)), env=env)
