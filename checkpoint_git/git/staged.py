"""Checkpoint files as git has them, in the index or in a commit, and committed files that do not stay as they are."""

from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from checkpoint_git.git import objects
from checkpoint_git.protocols.registry import KINDS, protocol_of, with_siblings


class Staged(NamedTuple):
    files: list[tuple[str, bytes]]  # (path, content), sorted by path
    unmerged: list[str]  # the paths that a merge has left unresolved in the index
    links: list[tuple[str, bytes]]  # (path, target)


class Loss(NamedTuple):
    path: str
    how: Literal["changed", "removed"]


def pathspecs() -> list[str]:
    return [top_glob(kind.pattern) for kind in KINDS]


def top_glob(pattern: str) -> str:
    return f":(top,glob){pattern}"


def read_staged(work_tree: str) -> Staged:
    return _read_content(work_tree, objects.read_index(work_tree, pathspecs()))


def read_staged_changes(work_tree: str, since: str = "HEAD") -> Staged:
    """Those that differ from the commit `since`; deleted ones are left out."""
    changes = objects.diff_index(work_tree, since, pathspecs())
    changed = with_siblings({one.path for one in changes})
    return _read_content(work_tree, [one for one in objects.read_index(work_tree, pathspecs()) if one.path in changed])


def read_committed(work_tree: str, rev: str, only: Collection[str] | None = None) -> Staged:
    """only: these paths. Raises CheckpointError: an unknown rev."""
    entries = objects.read_tree(work_tree, objects.read_commit(work_tree, rev)).items()
    wanted = (objects.IndexEntry(path, *entry, 0) for path, entry in entries if only is None or path in only)
    return _read_content(work_tree, wanted)


def _read_content(work_tree: str, entries: Iterable[objects.IndexEntry]) -> Staged:
    own = [entry for entry in entries if protocol_of(entry.path)]
    whole = sorted(entry for entry in own if entry.stage == 0 and entry.mode != objects.GITLINK)
    content = list(zip(whole, objects.read_blobs(work_tree, [entry.blob for entry in whole]), strict=True))
    return Staged(
        files=[(entry.path, data) for entry, data in content if entry.mode != objects.SYMLINK],
        unmerged=sorted({entry.path for entry in own if entry.stage > 0}),
        links=[(entry.path, data) for entry, data in content if entry.mode == objects.SYMLINK],
    )


def read_losses(work_tree: str, pattern: str) -> list[Loss]:
    return _read_losses(objects.diff_work_tree, work_tree, pattern) if objects.has_commit(work_tree, "HEAD") else []


def read_staged_losses(work_tree: str, pattern: str) -> list[Loss]:
    return _read_losses(objects.diff_index, work_tree, pattern)


def _read_losses(
    diff: Callable[[str, str, list[str]], list[objects.Change]], work_tree: str, pattern: str
) -> list[Loss]:
    specs = [top_glob(pattern)]
    losses = find_losses(diff(work_tree, "HEAD", specs))
    if losses and objects.has_commit(work_tree, "MERGE_HEAD"):
        # what the other branch has just so was taken over: two records had one name, and one was moved away
        edited = {one.path for one in diff(work_tree, "MERGE_HEAD", specs)}
        losses = [loss for loss in losses if loss.how == "removed" or loss.path in edited]
    return losses


def find_losses(changes: Iterable[objects.Change]) -> list[Loss]:
    losses = (Loss(one.path, "changed" if one.after else "removed") for one in changes if one.old)
    return list(dict.fromkeys(losses))
