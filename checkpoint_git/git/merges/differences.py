"""How trees differ from one another in checkpoint files, many pairs of them in one git process. It reads no file."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged

_FILE_MODES = ("100644", "100755")
_DIFF_TREE = ("diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-relative", "--full-index")
UNSHALLOW = "fetch the rest of the history: git fetch --unshallow"
RENAMES, NO_RENAMES = "-M", "--no-renames"

Env = Mapping[str, str] | None  # git's surroundings; None for this process's own
Records = dict[tuple[str, str, str], list[tuple[str, ...]]]  # tree, tree, option -> facts, path, path after a rename


class Tree(NamedTuple):
    """How a commit differs from the reference: path -> blob ("" for none), and old path -> new path of renames."""

    blobs: dict[str, str]
    renames: dict[str, str]


def read_trees(cwd: str, ids: Sequence[str], env: Env) -> dict[str, str]:
    """The trees of commits. Raises CheckpointError where one is not here."""
    stdin = "".join(f"{one}^{{tree}}\n" for one in ids).encode()
    lines = run_git(["cat-file", "--batch-check=%(objectname)"], cwd, env=env, stdin=stdin).out.decode().splitlines()
    missing = [one for one, line in zip(ids, lines, strict=True) if line.endswith(" missing")]
    if missing:
        raise CheckpointError(f"commit {missing[0][:12]} is not in this repository", UNSHALLOW)
    return dict(zip(ids, lines, strict=True))


def read_empty_tree(cwd: str, env: Env) -> str:
    """The id of the tree that holds nothing."""
    return run_git(["hash-object", "-t", "tree", "--stdin"], cwd, env=env).out.decode().strip()


def read_records(cwd: str, pairs: Iterable[tuple[str, str]], renames: str, env: Env) -> Records:
    """How trees differ in checkpoints, all pairs in one process. renames: RENAMES or NO_RENAMES."""
    asked = sorted(set(pairs))
    records: Records = {(old, new, renames): [] for old, new in asked}
    stdin = "".join(f"{old} {new}\n" for old, new in asked).encode()
    words = [*_DIFF_TREE, "--stdin", renames, "--", *pathspecs()]
    fields = run_git(words, cwd, env=env, stdin=stdin).out.split(b"\0")
    key, at = ("", "", renames), 0
    while at < len(fields):
        # git ends the header of a pair with a newline, also with -z: what follows it is the first record
        header, _, facts = fields[at].rpartition(b"\n")
        if header:
            old, new = header.rpartition(b"\n")[2].decode().split()
            key = (old, new, renames)
        at += 1
        if facts:
            count = 2 if facts.split()[4][:1] in b"RC" else 1
            records[key].append((facts.decode(), *map(os.fsdecode, fields[at : at + count])))
            at += count
    return records


def make_tree(records: list[tuple[str, ...]], known: dict[str, str]) -> Tree:
    """A tree as it differs from the reference. known: what is learnt of the reference on the way."""
    tree = Tree({}, {})
    for facts, path, *more in records:
        old_mode, new_mode, old_blob, new_blob, _ = facts.lstrip(":").split()
        new_path = more[0] if more else path
        known.setdefault(path, old_blob if old_mode in _FILE_MODES else "")
        if new_path != path:
            known.setdefault(new_path, "")
            tree.blobs[path] = ""
            tree.renames[path] = new_path
        tree.blobs[new_path] = new_blob if new_mode in _FILE_MODES else ""
    for path in [path for path in tree.blobs if not is_merged(path)]:
        del tree.blobs[path]
    return tree


def blob_in(tree: Tree, known: dict[str, str], path: str) -> str:
    """The blob of a path, "" for none. known: the reference's blobs."""
    return tree.blobs.get(path, known.get(path, ""))
