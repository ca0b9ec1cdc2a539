"""Checkpoints that other branches changed, local ones and as last fetched: read with git, and no remote is asked."""

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
    """What commits of one branch did to one checkpoint that HEAD's history lacks. ref: full. path: from place.top. who:
    the last author. since: of the first commit, in seconds since 1970. base: the blob before it, blob: now; "": none.
    """

    ref: str
    path: str
    who: str
    since: int
    base: str
    blob: str


def has_others(place: Place) -> bool:
    """Return whether another work tree or branch may be ahead of this one; git's files show it, no process is
    started.
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
    """The newest first, and whether that is not all. known: local branches that are read elsewhere."""
    if not _has_branches(place):
        return [], False
    from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_blocks
    from checkpoint_git.git.objects import parse_change, parse_changes, read_tree

    folder = relative_path(place.directory, place.top)
    log = ["--literal-pathspecs", *PLAIN_LOG, "--ignore-missing", f"-n{_MOST_COMMITS}", "--raw", "--no-abbrev"]
    log += ["--no-renames", f"--max-age={now - _DAYS * DAY}"]
    words = [*log, "--format=%S%x00%ct%x00%an"]
    words += ["--glob=refs/heads", "--exclude=refs/remotes/*/HEAD", "--glob=refs/remotes"]
    words += ["--not", "HEAD", *(f"refs/heads/{name}" for name in known), "--", folder]
    found: dict[tuple[str, str], BranchWork] = {}
    ref, since, who, commits = "", 0, "", 0
    with suppress(CheckpointError):  # a damaged ref: other commands say so
        fields = iter(b"".join(read_blocks(place.top, words)).split(b"\0"))
        for field in fields:
            if field.startswith(b"refs/"):
                ref, since, who = os.fsdecode(field), int(next(fields)), next(fields).decode("utf-8", "replace")
                commits += 1
            elif field.lstrip(b"\n").startswith(b":"):
                file = parse_change(field.lstrip(b"\n"), fields)
                if layout.find_skill(file.path) and os.path.dirname(file.path) == folder and "\n" not in file.path:
                    base, blob = (entry.blob if entry else "" for entry in (file.old, file.after))
                    own = f"refs/heads/{ref.split('/', 3)[-1]}" if ref.startswith("refs/remotes/") else ref
                    ahead = found.get((own, file.path))  # of what is pushed of a local branch, the rest
                    name = own if ahead and ahead.base == blob else ref
                    newest = found.setdefault((name, file.path), BranchWork(name, file.path, who, since, base, blob))
                    found[name, file.path] = newest._replace(since=since, base=base)
        ours = read_tree(place.top, "HEAD", environment(), [folder]) if found else {}
        # a squash merge leaves the branch outside HEAD's history, and its state inside
        merged = b"".join(read_blocks(place.top, [*log, "--format=", "HEAD", "--", folder])) if found else b""
        seen = [*ours.items(), *((each.path, each.after) for each in parse_changes(merged))]
        had = {(path, entry.blob) for path, entry in seen if entry}
        work = [one for one in found.values() if one.blob and (one.path, one.blob) not in had]
        return work, commits >= _MOST_COMMITS
    return [], False
