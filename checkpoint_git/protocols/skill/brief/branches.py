"""Checkpoints that other branches changed, local ones and as last fetched: read with git, and no
remote is asked.
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
    """What commits of one branch did to one checkpoint that HEAD's history lacks. ref: full. path:
    from place.top. who: the last author. since: of the first commit, in seconds since 1970. base:
    the blob before it, blob: now; "": none.
    """

    ref: str
    path: str
    who: str
    since: int
    base: str
    blob: str


def has_others(place: Place) -> bool:
    """Return whether another work tree or branch may be ahead of this one; git's files show it, no
    process is started.
    """
    return bool(find_siblings(place)) or _has_branches(place)


def _has_branches(place: Place) -> bool:
    git_dir = place.git_dir or os.devnull
    common = find_common_dir(git_dir)
    tables = [os.path.join(folder, "reftable", "tables.list") for folder in (common, git_dir)]
    if any(os.path.isfile(path) for path in (os.path.join(common, "packed-refs"), *tables)):
        return True

    folders = [os.path.join(common, "refs", kind) for kind in ("heads", "remotes")]
    return sum(len(names) for folder in folders for _, _, names in os.walk(folder)) > 1


def find_branch_work(place: Place, known: Sequence[str], now: int) -> tuple[list[BranchWork], bool]:
    """Return what other branches did, the newest first, and whether that is not all.

    known: local branches that are read elsewhere.
    """
    if not _has_branches(place):
        return [], False
    folder = relative_path(place.directory, place.top)
    with suppress(CheckpointError):  # a damaged ref: other commands say so
        touches, commits = _read_touches(place, folder, known, now)
        work = _gather(touches)
        if work:
            work = _leave_out_merged(place, folder, work, now)
        return work, commits >= _MOST_COMMITS

    return [], False


def _log_words(now: int) -> list[str]:
    """Return the words of a `git log` that shows what recent commits did to files."""
    from checkpoint_git.git.history.log import PLAIN_LOG

    words = [
        "--literal-pathspecs",
        *PLAIN_LOG,
        "--ignore-missing",
        f"-n{_MOST_COMMITS}",
        "--raw",
        "--no-abbrev",
    ]
    return [*words, "--no-renames", f"--max-age={now - _DAYS * DAY}"]


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
    ref, since, who = "", 0, ""
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
            if (
                layout.find_skill(file.path)
                and os.path.dirname(file.path) == folder
                and "\n" not in file.path
            ):
                base = file.old.blob if file.old else ""
                blob = file.after.blob if file.after else ""
                touches.append(BranchWork(ref, file.path, who, since, base, blob))

    return touches, commits


def _gather(touches: Sequence[BranchWork]) -> list[BranchWork]:
    """Return the touches of each branch and file as one. touches: newest first."""
    found: dict[tuple[str, str], BranchWork] = {}
    for touch in touches:
        own = touch.ref
        if own.startswith("refs/remotes/"):
            own = f"refs/heads/{own.split('/', 3)[-1]}"
        ahead = found.get((own, touch.path))
        # what is pushed of a local branch is the older part of its work
        ref = own if ahead and ahead.base == touch.blob else touch.ref
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

    had = {
        (path, entry.blob)
        for path, entry in read_tree(place.top, "HEAD", environment(), [folder]).items()
    }
    merged = b"".join(read_blocks(place.top, [*_log_words(now), "--format=", "HEAD", "--", folder]))
    had |= {(change.path, change.after.blob) for change in parse_changes(merged) if change.after}
    return [part for part in work if part.blob and (part.path, part.blob) not in had]
