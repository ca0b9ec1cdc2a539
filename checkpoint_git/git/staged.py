"""Checkpoint files as git holds them, in the index or in a commit; it judges nothing and never opens the work tree."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.registry import path_patterns, protocol_of

SYMLINK = "120000"
GITLINK = "160000"


class Entry(NamedTuple):
    """One file as an index or a tree names it. mode: "100644". stage: 0, or 1 to 3 while a merge is unresolved."""

    path: str
    mode: str
    blob: str
    stage: int = 0


class Staged(NamedTuple):
    """The checkpoint files of an index or of a commit.

    files: (path, content), sorted by path; a symbolic link's content is its target, so it is under links instead.
    unmerged: the paths that a merge has left unresolved in the index. links: (path, target).
    """

    files: list[tuple[str, bytes]]
    unmerged: list[str]
    links: list[tuple[str, bytes]]


def pathspecs() -> list[str]:
    """The words that make git look at checkpoint files only, anywhere in the repository."""
    return [f":(top,glob){pattern}" for pattern in path_patterns()]


def read_staged(work_tree: str) -> list[tuple[str, bytes]]:
    """Every checkpoint file in the index with its content, sorted by path (relative to the work tree, "/")."""
    return read_index(work_tree).files


def read_index(work_tree: str) -> Staged:
    """The same with what is unmerged and what is a symbolic link."""
    return _read_content(work_tree, _read_index_entries(work_tree))


def read_staged_changes(work_tree: str, since: str = "HEAD") -> Staged:
    """The checkpoint files of the index that differ from the commit `since`; deleted ones are left out.

    A repository without commits is compared with nothing, as git does it: every staged file differs.
    """
    words = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=d", "--no-ext-diff"]
    known = run_git(["rev-parse", "--verify", "--quiet", f"{since}^{{commit}}"], work_tree, check=False).code == 0
    changed = _paths(run_git([*words, *([since] if known else []), "--", *pathspecs()], work_tree).out)
    return _read_content(work_tree, [entry for entry in _read_index_entries(work_tree) if entry.path in changed])


def read_revision(work_tree: str, rev: str) -> list[tuple[str, bytes]]:
    """Every checkpoint file of a commit with its content, sorted by path. Raises CheckpointError for an unknown rev."""
    return read_tree(work_tree, rev).files


def read_tree(work_tree: str, rev: str, only: "set[str] | None" = None) -> Staged:
    """The checkpoint files of a commit, with its symbolic links; `only` narrows it to these paths."""
    commit = read_commit(work_tree, rev)
    records = run_git(["ls-tree", "-r", "-z", "--full-tree", commit], work_tree).out.split(b"\0")
    entries = (_tree_entry(record) for record in records if record)
    wanted = [entry for entry in entries if protocol_of(entry.path) and (only is None or entry.path in only)]
    return _read_content(work_tree, wanted)


def read_tree_changes(work_tree: str, old: str, new: str) -> set[str]:
    """The paths of the checkpoint files that differ between two commits and still exist in the second."""
    words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", old, new]
    return _paths(run_git([*words, "--", *pathspecs()], work_tree).out)


def read_commit(work_tree: str, rev: str, env: Mapping[str, str] | None = None) -> str:
    """The full id of the commit that a revision names."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
    result = run_git(words, work_tree, env=env, check=False)
    if result.code != 0:
        raise CheckpointError(f"{rev!r} names no commit", "give a branch, a tag or a commit id")
    return result.out.decode().split()[-1]


def read_blobs(work_tree: str, blobs: Sequence[str], env: Mapping[str, str] | None = None) -> list[bytes]:
    """The contents of objects, in the order asked, through one `git cat-file --batch`."""
    if not blobs:
        return []
    out = run_git(["cat-file", "--batch"], work_tree, stdin=("\n".join(blobs) + "\n").encode(), env=env).out
    contents, at = [], 0
    for blob in blobs:
        end = out.index(b"\n", at)
        header = out[at:end].split()
        if len(header) != 3:
            raise CheckpointError(f"git has no object {blob}", "the repository is damaged: git fsck")
        at = end + 1 + int(header[2])
        contents.append(out[end + 1 : at])
        at += 1
    return contents


def _read_index_entries(work_tree: str) -> list[Entry]:
    out = run_git(["ls-files", "-s", "-z", "--full-name", "--", *pathspecs()], work_tree).out
    entries = (_index_entry(record) for record in out.split(b"\0") if record)
    return [entry for entry in entries if protocol_of(entry.path)]


def _read_content(work_tree: str, entries: list[Entry]) -> Staged:
    whole = sorted(entry for entry in entries if entry.stage == 0 and entry.mode != GITLINK)
    content = list(zip(whole, read_blobs(work_tree, [entry.blob for entry in whole]), strict=True))
    return Staged(
        files=[(entry.path, data) for entry, data in content if entry.mode != SYMLINK],
        unmerged=sorted({entry.path for entry in entries if entry.stage > 0}),
        links=[(entry.path, data) for entry, data in content if entry.mode == SYMLINK],
    )


def _index_entry(record: bytes) -> Entry:
    facts, _, path = record.partition(b"\t")
    mode, blob, stage = facts.decode().split()
    return Entry(os.fsdecode(path), mode, blob, int(stage))


def _tree_entry(record: bytes) -> Entry:
    facts, _, path = record.partition(b"\t")
    mode, _, blob = facts.decode().split()
    return Entry(os.fsdecode(path), mode, blob)


def _paths(out: bytes) -> set[str]:
    return {path for path in map(os.fsdecode, out.split(b"\0")) if path and protocol_of(path)}
