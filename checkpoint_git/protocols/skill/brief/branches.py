"""Find checkpoints that other branches changed, local ones and as last fetched.

They are read with git, and no remote is asked.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place, find_common_dir, find_siblings, relative_path
from checkpoint_git.protocols.skill import layout

_DAYS = 30  # older commits are left aside: the walk through the history ends there
_MOST_COMMITS = 500


class BranchWork(NamedTuple):
    """Hold what commits of one branch, which HEAD's history lacks, did to one checkpoint.

    ref: full. path: from place.top. who: the last author. since: of the first commit, in seconds
    since 1970. base: the blob before it, blob: now; "" for none.
    """

    ref: str
    path: str
    who: str
    since: int
    base: str
    blob: str


def has_others(place: Place) -> bool:
    """Return whether another work tree or branch may be ahead of this one.

    Git's files show it: no process is started.
    """
    return bool(find_siblings(place)) or _has_branches(place)


def _has_branches(place: Place) -> bool:
    """Return whether there may be another branch than the current one."""
    git_dir = place.git_dir or os.devnull
    common = find_common_dir(git_dir)
    tables = [os.path.join(folder, "reftable", "tables.list") for folder in (common, git_dir)]
    if any(os.path.isfile(path) for path in (os.path.join(common, "packed-refs"), *tables)):
        return True

    branches = 0
    for kind in ("heads", "remotes"):
        for _, _, names in os.walk(os.path.join(common, "refs", kind)):
            branches += len(names)
    return branches > 1


def find_branch_work(
    place: Place, known_names: Sequence[str], now: int
) -> tuple[list[BranchWork], bool]:
    """Return what other branches did, the newest first, and whether that is not all.

    known_names: of local branches that are read elsewhere.
    """
    if not _has_branches(place):
        return [], False
    folder = relative_path(place.directory, place.top)
    with suppress(CheckpointError):  # a damaged ref: other commands say so
        touches, commits = _read_touches(place, folder, known_names, now)
        work = _gather(touches)
        if work:
            work = _leave_out_merged(place, folder, work, now)
        return work, commits >= _MOST_COMMITS

    return [], False


def _log_words(now: int) -> list[str]:
    """Return the words of a `git log` that shows what recent commits did to files."""
    from checkpoint_git.git.history.log import PLAIN_LOG

    return [
        "--literal-pathspecs",
        *PLAIN_LOG,
        "--ignore-missing",
        f"-n{_MOST_COMMITS}",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        f"--max-age={now - _DAYS * DAY}",
    ]


def _read_touches(
    place: Place, folder: str, known: Sequence[str], now: int
) -> tuple[list[BranchWork], int]:
    """Return what each commit of another branch did to each checkpoint, newest first, and how many
    commits there are.

    Raises CheckpointError.
    """
    from checkpoint_git.git.history.log import read_blocks
    from checkpoint_git.git.objects import parse_change

    words = [*_log_words(now), "--format=%S%x00%ct%x00%an"]
    words += ["--glob=refs/heads", "--exclude=refs/remotes/*/HEAD", "--glob=refs/remotes"]
    words += ["--not", "HEAD", *(f"refs/heads/{name}" for name in known), "--", folder]

    touches = list[BranchWork]()
    commits = 0
    ref = ""
    since = 0
    who = ""
    fields = iter(b"".join(read_blocks(place.top, words)).split(b"\0"))
    for field in fields:
        change = field.lstrip(b"\n")
        if field.startswith(b"refs/"):
            ref = os.fsdecode(field)
            since = int(next(fields))
            who = next(fields).decode("utf-8", "replace")
            commits += 1
        elif change.startswith(b":"):
            file = parse_change(change, fields)
            if not _is_checkpoint(file.path, folder):
                continue
            touch = BranchWork(ref, file.path, who, since, base="", blob="")
            if file.old:
                touch = touch._replace(base=file.old.blob)
            if file.after:
                touch = touch._replace(blob=file.after.blob)
            touches.append(touch)

    return touches, commits


def _is_checkpoint(path: str, folder: str) -> bool:
    """Return whether a path is a checkpoint's, directly in the folder."""
    if not layout.find_skill(path):
        return False
    return os.path.dirname(path) == folder and "\n" not in path


def _gather(touches: Sequence[BranchWork]) -> list[BranchWork]:
    """Return the touches of each branch and file as one. touches: newest first."""
    found: dict[tuple[str, str], BranchWork] = {}
    for touch in touches:
        ref = touch.ref
        local = ref
        if ref.startswith("refs/remotes/"):
            local = f"refs/heads/{ref.split('/', 3)[-1]}"
        ahead = found.get((local, touch.path))
        if ahead and ahead.base == touch.blob:
            # what is pushed of a local branch is the older part of its work
            ref = local
        newest = found.setdefault((ref, touch.path), touch._replace(ref=ref))
        found[ref, touch.path] = newest._replace(since=touch.since, base=touch.base)

    return list(found.values())


def _leave_out_merged(
    place: Place, folder: str, work: Sequence[BranchWork], now: int
) -> list[BranchWork]:
    """Return the work whose result HEAD has not had. Raises CheckpointError.

    A squash merge leaves the branch outside HEAD's history, and its state inside.
    """
    from checkpoint_git.git.history.log import environment, read_blocks
    from checkpoint_git.git.objects import parse_changes, read_tree

    tree = read_tree(place.top, "HEAD", environment(), [folder])
    had = {(path, entry.blob) for path, entry in tree.items()}

    log = [*_log_words(now), "--format=", "HEAD", "--", folder]
    merged = b"".join(read_blocks(place.top, log))
    had |= {(change.path, change.after.blob) for change in parse_changes(merged) if change.after}

    return [part for part in work if part.blob and (part.path, part.blob) not in had]
