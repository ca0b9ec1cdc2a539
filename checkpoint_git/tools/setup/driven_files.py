"""Find the other JSON files that the merge driver gets and cannot read, so that git merges them as
text.
"""

import errno
import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsonlines import parse_any
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural, shorten
from checkpoint_git.disk.read import read_content, read_plain
from checkpoint_git.git import attributes
from checkpoint_git.git.merges.conflicts import read_drivers
from checkpoint_git.git.repository import Repository
from checkpoint_git.git.run import read_names
from checkpoint_git.protocols.check import REPOSITORY
from checkpoint_git.protocols.registry import is_merged

MOST_TRIED = 2_000  # files
_MOST_SHOWN = 4  # of each reason
_LONGEST_SHOWN = 100  # characters of a path
_REASONS = {
    "json/duplicate-key": "a repeated key",
    "json/not-utf8": "not UTF-8",
    "json/too-large": f"more than {MAX_BYTES >> 20} MB",
    "json/too-deep": "nested too deeply",
    "json/not-a-number": "NaN or Infinity",
}
_UNFINISHED = "json/conflict-markers"  # which status and resolve report


class Unreadable(NamedTuple):
    """paths: by the reason. untried: how many more files there are than are tried."""

    paths: Mapping[str, list[str]]
    untried: int = 0


def has_other_patterns(place: Repository) -> bool:
    """Whether init was given patterns of files that are not checkpoints."""
    files = [os.path.join(place.common_dir, "info", "attributes")]
    if not place.bare:
        files.append(os.path.join(place.work_tree, attributes.FILE))
    contents = [read_content(path, os.sep) for path in files]
    return any(attributes.find_others(data) for data in contents if isinstance(data, bytes))


def find_unreadable(place: Repository, env: Mapping[str, str]) -> Unreadable:
    """Return the tracked files of the work tree that the driver gets and would leave to git's text
    merge.
    """
    if place.bare or not has_other_patterns(place):
        return Unreadable({})
    tracked = read_names(["ls-files", "-z"], place.work_tree, env=env, check=False)
    others = [path for path in dict.fromkeys(tracked) if not is_merged(path)]
    driven = sorted(read_drivers(place.work_tree, others))

    paths: dict[str, list[str]] = {}
    for path in driven[:MOST_TRIED]:
        reason = _try(os.path.join(place.work_tree, path))
        if reason:
            paths.setdefault(reason, []).append(path)

    return Unreadable(paths, len(driven[MOST_TRIED:]))


def _try(path: str) -> str:
    """Return why the driver cannot read a file; "" if it can, or if there is no such file to
    merge.
    """
    text = ""
    try:
        text = decode(read_plain(path))
        parse_any(text)
    except JsonTextError as error:
        if error.code == _UNFINISHED:
            return ""
        if text.startswith(("//", "/*"), error.offset):
            return "comments"
        return _REASONS.get(error.code, "not JSON")
    except OSError as error:
        return _REASONS["json/too-large"] if error.errno == errno.EFBIG else ""

    return ""


def report_unreadable(found: Unreadable) -> list[Finding]:
    """Return one finding about the files that the driver cannot read, or none."""
    if not found.paths:
        return []
    groups = []
    for reason, paths in found.paths.items():
        names = [escape_controls(shorten(path, _LONGEST_SHOWN)) for path in paths]
        groups.append(f"{reason}: {join_some(names, _MOST_SHOWN)}")

    count = plural(sum(map(len, found.paths.values())), "file")
    reasons = f"because the driver cannot read them ({'; '.join(groups)})"
    message = f"git merges {count} as text, {reasons}"
    if found.untried:
        message += f"; {found.untried} more were not tried"
    hint = "make them plain JSON, or leave them out of the pattern in .gitattributes"
    return [Finding("driver/unreadable", "note", message, REPOSITORY, hint=hint)]
