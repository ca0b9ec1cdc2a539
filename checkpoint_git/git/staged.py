"""Checkpoint files as git has them, in the index or in a commit, and committed files that do not
stay as they are.
"""

import errno
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git import objects
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.protocols.registry import KINDS, protocol_of, with_siblings


class Files:
    """(path, content), sorted by path, read one by one. EFBIG in place of what is too large for a
    checkpoint.
    """

    def __init__(
        self, work_tree: str, entries: Sequence[objects.IndexEntry] = (), env: Env = None
    ) -> None:
        self._work_tree, self._env = work_tree, env
        self.entries = sorted(entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[str, bytes | OSError]]:
        contents = objects.read_bounded(
            self._work_tree, [entry.blob for entry in self.entries], self._env
        )
        for entry, data in zip(self.entries, contents, strict=True):
            if isinstance(data, int):
                yield (
                    entry.path,
                    OSError(errno.EFBIG, f"it has {data} bytes, and {MAX_BYTES} is the limit"),
                )
            else:
                yield entry.path, data

    def only(self, paths: Collection[str]) -> "Files":
        return Files(
            self._work_tree, [entry for entry in self.entries if entry.path in paths], self._env
        )


class Staged(NamedTuple):
    files: Files
    unmerged: Sequence[str] = ()  # the paths that a merge has left unresolved in the index
    links: Files = Files("")  # (path, target)


class Loss(NamedTuple):
    path: str
    how: Literal["changed", "removed"]


def pathspecs() -> list[str]:
    return [top_glob(kind.pattern) for kind in KINDS]


def top_glob(pattern: str) -> str:
    return f":(top,glob){pattern}"


def read_staged(work_tree: str) -> Staged:
    return sort_out(work_tree, objects.read_index(work_tree, pathspecs()))


def read_staged_changes(work_tree: str, since: str = "HEAD") -> Staged:
    """Return the staged files that differ from the commit `since`; deleted ones are left out."""
    changes = objects.diff_index(work_tree, since, pathspecs())
    changed = with_siblings({change.path for change in changes})
    entries = objects.read_index(work_tree, pathspecs())
    return sort_out(work_tree, [entry for entry in entries if entry.path in changed])


def read_committed(work_tree: str, rev: str, only: Collection[str] | None = None) -> Staged:
    """Return the files of a commit. only: these paths. Raises CheckpointError: an unknown rev."""
    entries = objects.read_tree(work_tree, objects.read_commit(work_tree, rev)).items()
    wanted = (
        objects.IndexEntry(path, *entry, 0)
        for path, entry in entries
        if only is None or path in only
    )
    return sort_out(work_tree, wanted)


def sort_out(work_tree: str, entries: Iterable[objects.IndexEntry], env: Env = None) -> Staged:
    """Divide the entries of checkpoints into files, links and what is unmerged."""
    files = []
    links = []
    unmerged = set[str]()
    for entry in entries:
        if not protocol_of(entry.path):
            continue
        if entry.stage > 0:
            unmerged.add(entry.path)
        elif entry.mode in objects.FILE_MODES:
            files.append(entry)
        elif entry.mode == objects.SYMLINK:
            links.append(entry)

    return Staged(
        files=Files(work_tree, files, env),
        unmerged=sorted(unmerged),
        links=Files(work_tree, links, env),
    )


def read_losses(
    work_tree: str, pattern: str, *, staged: bool = False, env: Env = None
) -> list[Loss]:
    """Return the files of a pattern that HEAD has otherwise.

    staged: as the index has them, not the work tree.
    """
    if not objects.has_commit(work_tree, "HEAD"):
        return []

    specs = [top_glob(pattern)]
    diff = objects.diff_work_tree
    if staged:
        diff = objects.diff_index
    losses = find_losses(diff(work_tree, "HEAD", specs))
    if not losses:
        return []
    for head in _list_merged_heads(work_tree, env):
        # what the other branch has just so was taken over: two records had one name, and one was
        # moved away
        edited = {change.path for change in diff(work_tree, head, specs)}
        losses = [loss for loss in losses if loss.how == "removed" or loss.path in edited]

    return losses


def _list_merged_heads(work_tree: str, env: Env) -> list[str]:
    """Return the commits that a merge in progress brings in.

    git writes MERGE_HEAD only where it stops; when it runs pre-merge-commit, they are in variables
    GITHEAD_<id>. A branch or a tag of that name, which anybody may have pushed, is not asked.
    """
    names = [name.removeprefix("GITHEAD_") for name in env or () if name.startswith("GITHEAD_")]
    heads = [name for name in names if objects.is_id(name)]
    if not heads:
        words = ["rev-parse", "--path-format=absolute", "--git-path", "MERGE_HEAD"]
        path = run_git(words, work_tree).out.removesuffix(b"\n")
        with suppress(OSError), open(path, encoding="ascii", errors="replace") as stream:
            heads = stream.read().split()
    return [head for head in heads if objects.has_commit(work_tree, head)]


def find_losses(changes: Iterable[objects.Change]) -> list[Loss]:
    """Return the files that were there and are changed or removed, each once."""
    losses: dict[Loss, None] = {}
    for change in changes:
        if change.old and change.after:
            losses[Loss(change.path, "changed")] = None
        elif change.old:
            losses[Loss(change.path, "removed")] = None
    return list(losses)
