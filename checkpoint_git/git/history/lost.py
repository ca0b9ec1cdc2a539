"""Find the merged commits that left nothing in HEAD, and no commit says that it removed them.

A squash merge from a stale base does that: it brings back the files as they were before the
others' work.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_fields, run
from checkpoint_git.git.objects import Blobs, Change, parse_change, parse_changes, read_headers

_MOST_FILES = 50  # of one commit that are compared
_MOST_BYTES = 1 << 20  # of one version of a file that is compared
_MOST_EXPLAINED = 20  # commits for which the later history is asked
_SAYS_SO = (
    r"(?i)\b(?:revert|remov|delet|drop|undo|back(?:s|ed)? out|roll(?:s|ed|ing)? ?back|retir|"
    r"replac|rewrit|rework|renam|mov(?:e|es|ed|ing)\b)"
)


class _Version(NamedTuple):
    """One file that a commit added or changed: the blobs before ("" for none) and after it."""

    path: str
    before: str
    after: str


def find_lost(work_tree: str, commits: Collection[str]) -> set[str]:
    """Return the commits of HEAD's history whose additions are gone without an explanation.

    No later commit says that it removed them. Where that cannot be found out, as in a partial
    clone or for more than 20 commits, a commit is not among them. Of a large one the first files
    decide.
    """
    lost = set[str]()
    try:
        versions = _read_versions(work_tree, sorted(commits))
        undone = _find_undone(work_tree, versions)
        for commit in undone[:_MOST_EXPLAINED]:
            if not _is_explained(work_tree, versions[commit], commit):
                lost.add(commit)
    except CheckpointError:
        return set()

    return lost


def _read_versions(work_tree: str, commits: Sequence[str]) -> dict[str, list[_Version]]:
    """Return what each commit added or changed, a merge compared with its first parent."""
    words = [*PLAIN_LOG, "--stdin", "--no-walk=unsorted", "--first-parent", "-m", "--root"]
    words += [
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--no-relative",
        "--format=%x01%H",
    ]
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    fields = read_fields(work_tree, words, stdin)
    versions = dict[str, list[_Version]]()
    found = list[_Version]()
    for field in fields:
        text = field.lstrip(b"\n")
        if text.startswith(b"\x01"):
            found = versions.setdefault(text[1:].decode(), [])
        elif text.startswith(b":"):
            version = _to_version(parse_change(text, fields))
            if version and len(found) < _MOST_FILES:
                found.append(version)

    return versions


def _to_version(change: Change) -> _Version | None:
    """Return what a change made of a file; None if there is no file, or the same, afterwards."""
    if change.after is None or not change.after.is_file or "\n" in change.path:
        return None
    before = ""
    if change.old and change.old.is_file:
        before = change.old.blob
    if change.after.blob == before:
        return None
    return _Version(change.path, before, change.after.blob)


def _find_undone(work_tree: str, versions: dict[str, list[_Version]]) -> list[str]:
    """Return the commits of which every file is as if they had never been."""
    names: dict[str, None] = {}
    for found in versions.values():
        names |= dict.fromkeys(f"HEAD:{version.path}" for version in found)
    if not names:
        return []
    headers = read_headers(work_tree, list(names), environment())
    here = {name: header.id for name, header in zip(names, headers, strict=True)}
    undone = list[str]()
    with Blobs(work_tree, environment(), _MOST_BYTES) as blobs:
        for commit, found in versions.items():
            if found and all(
                _is_undone(version, here[f"HEAD:{version.path}"], blobs) for version in found
            ):
                undone.append(commit)

    return undone


def _is_undone(version: _Version, here: str, blobs: Blobs) -> bool:
    """Return whether a file has none of the lines that were added, and again all the removed."""
    if here in (version.before, version.after) or not version.before:
        return here == version.before  # "" if the file was new; what is there of it went on
    before = _read_lines(version.before, blobs)
    after = _read_lines(version.after, blobs)
    present = _read_lines(here, blobs)
    added = after - before
    removed = before - after
    return bool(added) and added.isdisjoint(present) and removed <= present


def _read_lines(blob: str, blobs: Blobs) -> set[bytes]:
    """Return the lines of a file without the spaces around them, none for ""."""
    if not blob:
        return set()
    data = blobs.read(blob)
    if not isinstance(data, bytes):
        raise CheckpointError("a file is too large to compare, or not in this clone")
    return {line.strip() for line in data.splitlines()} - {b""}


def _is_explained(work_tree: str, versions: Sequence[_Version], commit: str) -> bool:
    """Return whether later commits on the files say that they removed or moved something.

    Where the commit added files, only those count that deleted one.
    """
    paths = {version.path for version in versions if not version.before}
    words = [*PLAIN_LOG, "--full-history", "--no-renames", "--format=%H %s"]
    if paths:
        words.append("--diff-filter=D")
        touched = sorted(paths)
    else:
        touched = [version.path for version in versions]
    words += [f"{commit}..HEAD", "--", *(f":(top,literal){path}" for path in touched)]
    out = run(words, work_tree).out.decode("utf-8", "replace")
    later = [record.partition(" ") for record in out.split("\0") if record]
    if any(re.search(_SAYS_SO, subject) or commit[:7] in subject for _, _, subject in later):
        return True

    stdin = "".join(f"{name}\n" for name, _, _ in later).encode()
    words = ["log", "-z", "--stdin", "--no-walk=unsorted", "--first-parent", "-m", "-M"]
    words += ["--diff-filter=R", "--raw", "--no-abbrev", "--no-relative", "--format="]
    renames = parse_changes(run(words, work_tree, stdin=stdin).out)
    return any(change.came_from in paths for change in renames if later)
