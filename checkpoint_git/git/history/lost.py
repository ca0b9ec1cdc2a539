"""Which merged commits left nothing in HEAD, although no commit says that it removed their changes.

A squash merge from a stale base does that: it brings back the files as they were before the others'
work.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_blocks, run
from checkpoint_git.git.objects import Blobs, parse_change, parse_changes, read_headers

_MOST_FILES = 50  # of one commit that are compared
_MOST_BYTES = 1 << 20  # of one version of a file that is compared
_MOST_EXPLAINED = 20  # commits for which the later history is asked
_SAYS_SO = (
    r"(?i)\b(?:revert|remov|delet|drop|undo|back(?:s|ed)? out|roll(?:s|ed|ing)? ?back|retir|replac|rewrit|rework|"
    r"renam|mov(?:e|es|ed|ing)\b)"
)


class _Version(NamedTuple):
    """One file that a commit added or changed: the blobs before ("" for none) and after it."""

    path: str
    before: str
    after: str


def find_lost(work_tree: str, commits: Collection[str]) -> set[str]:
    """Return the commits of HEAD's history whose additions are gone, and no later commit says that
    it removed them.

    Where that cannot be found out, as in a partial clone, a commit is not among them.
    """
    try:
        versions = _read_versions(work_tree, sorted(commits))
        undone = _find_undone(work_tree, versions)
        asked = undone[:_MOST_EXPLAINED]
        explained = [
            commit for commit in asked if _is_explained(work_tree, versions[commit], commit)
        ]
    except CheckpointError:
        return set()

    return set(undone).difference(explained)


def _read_versions(work_tree: str, commits: Sequence[str]) -> dict[str, list[_Version]]:
    """Return what each commit added or changed, a merge compared with its first parent."""
    words = [
        *PLAIN_LOG,
        "--stdin",
        "--no-walk=unsorted",
        "--first-parent",
        "-m",
        "--root",
        "--raw",
        "--no-abbrev",
    ]
    words += ["--no-renames", "--no-ext-diff", "--no-relative", "--format=%x01%H"]
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    fields = (
        field for block in read_blocks(work_tree, words, stdin) for field in block.split(b"\0")[:-1]
    )
    versions = dict[str, list[_Version]]()
    found = list[_Version]()
    for field in fields:
        text = field.lstrip(b"\n")
        if text.startswith(b"\x01"):
            found = versions.setdefault(text[1:].decode(), [])
        elif text.startswith(b":"):
            change = parse_change(text, fields)
            before = change.old.blob if change.old and change.old.is_file else ""
            is_file = (
                change.after is not None and change.after.is_file and change.after.blob != before
            )
            if change.after and is_file and len(found) < _MOST_FILES and "\n" not in change.path:
                found.append(_Version(change.path, before, change.after.blob))

    return versions


def _find_undone(work_tree: str, versions: dict[str, list[_Version]]) -> list[str]:
    """Return the commits of which every file is as if they had never been."""
    names = list(
        dict.fromkeys(f"HEAD:{version.path}" for found in versions.values() for version in found)
    )
    headers = read_headers(work_tree, names, environment()) if names else []
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
    """Return whether a file has none of the lines that were added, and again all that were
    removed.
    """
    if here in (version.before, version.after) or not version.before:
        return here == version.before  # "" if the file was new; what is there of it went on
    before, after, present = (
        _read_lines(blob, blobs) for blob in (version.before, version.after, here)
    )
    added, removed = after - before, before - after
    return bool(added) and added.isdisjoint(present) and removed <= present


def _read_lines(blob: str, blobs: Blobs) -> set[bytes]:
    data = blobs.read(blob) if blob else b""
    if not isinstance(data, bytes):
        raise CheckpointError("a file is too large to compare, or not in this clone")
    return {line.strip() for line in data.splitlines()} - {b""}


def _is_explained(work_tree: str, versions: Sequence[_Version], commit: str) -> bool:
    """Return whether the later commits that touched the files say that they removed or moved
    something.

    Where the commit added files, only those count that deleted one.
    """
    paths = {version.path for version in versions if not version.before}
    words = [
        *PLAIN_LOG,
        "--full-history",
        "--no-renames",
        "--format=%H %s",
        *(["--diff-filter=D"] if paths else []),
    ]
    specs = [
        f":(top,literal){path}" for path in sorted(paths) or [version.path for version in versions]
    ]
    out = run([*words, f"{commit}..HEAD", "--", *specs], work_tree).out.decode("utf-8", "replace")
    later = [record.partition(" ") for record in out.split("\0") if record]
    if any(re.search(_SAYS_SO, subject) or commit[:7] in subject for _, _, subject in later):
        return True

    stdin = "".join(f"{name}\n" for name, _, _ in later).encode()
    words = [
        "log",
        "-z",
        "--stdin",
        "--no-walk=unsorted",
        "--first-parent",
        "-m",
        "-M",
        "--diff-filter=R",
        "--raw",
    ]
    renames = parse_changes(
        run([*words, "--no-abbrev", "--no-relative", "--format="], work_tree, stdin=stdin).out
    )
    return any(change.came_from in paths for change in renames if later)
