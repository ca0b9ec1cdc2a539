"""One unmerged checkpoint as it stands: its merge made again from git's index, and what the work tree's file holds.

It reads and judges; nothing is changed here and nobody is asked.
"""

import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import is_inside
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import Unmerged, Version, read_as_stored, read_line_merges
from checkpoint_git.merge.conflicts import Conflict, Held, find_choices, is_text_merge
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.places import newer_side
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.validate import check_document

NAMES = {OURS: "ours", BASE: "base", THEIRS: "theirs"}

# which of ours, base and theirs are there -> what git status calls that
KINDS = {
    (True, True, True): "both-modified",
    (True, False, True): "both-added",
    (False, True, True): "deleted-by-ours",
    (True, True, False): "deleted-by-theirs",
    (False, True, False): "both-deleted",
    (True, False, False): "added-by-ours",
    (False, False, True): "added-by-theirs",
}
_MOST_LEAVES = 3
_LONGEST_LEAF = 60


class Case(NamedTuple):
    """One unmerged file.

    kind: a name of KINDS. size: of its conflict markers. merged: the merge made again; None where the file is decided
    as a whole, `reason` then says why it could not be merged. raw: the work tree's file, stored: the same as git would
    store it; None where there is none. chosen: the decisions that this file holds already. edited: it holds something
    that neither the merge nor decisions put there. blocked: why it must not be touched, or "".
    """

    unmerged: Unmerged
    kind: str
    size: int
    merged: Merged | None = None
    reason: str = ""
    raw: bytes | None = None
    stored: bytes | None = None
    chosen: Mapping[str, int] = MappingProxyType({})
    edited: bool = False
    blocked: str = ""

    @property
    def path(self) -> str:
        """Relative to the work tree, "/" between its parts."""
        return self.unmerged.path


def read_case(work_tree: str, unmerged: Unmerged, size: int, choices: Choices) -> Case:
    """Everything about one unmerged file. choices: how this clone's driver merges."""
    ours, base, theirs = (version is not None for version in unmerged.sides)
    case = Case(unmerged, KINDS[ours, base, theirs], size)
    blocked = _find_obstacle(work_tree, unmerged)
    if blocked:
        return case._replace(blocked=blocked)
    if ours and theirs:
        merged, reason = _merge_again(unmerged, size, choices)
        case = case._replace(merged=merged, reason=reason)
    raw = read_raw(work_tree, unmerged.path)
    if raw is None:
        return case
    case = case._replace(raw=raw, stored=read_as_stored(work_tree, unmerged.path, raw))
    chosen = _find_standing(work_tree, case)
    return case._replace(chosen=chosen or {}, edited=chosen is None)


def read_raw(work_tree: str, path: str) -> bytes | None:
    """The work tree's file, None where there is none."""
    try:
        with open(os.path.join(work_tree, path), "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_valid(path: str, data: bytes, now: int) -> bool:
    """Whether the bytes are a checkpoint without errors."""
    return check_document(path, data, now=now).is_valid


def find_newest(case: Case) -> int | None:
    """The side whose updated_at (a workflow's last_updated) is later; None where nobody can tell."""
    if case.merged is None:
        return None
    ours, theirs = case.merged.context.ours, case.merged.context.theirs
    newer = newer_side(ours, theirs, "/updated_at") or newer_side(ours, theirs, "/last_updated")
    return {1: OURS, -1: THEIRS}.get(newer)


def whole_conflict(case: Case) -> Conflict:
    """The one conflict of a file that is decided as a whole."""
    ours, base, theirs = (None if version is None else Held(_read_value(version)) for version in case.unmerged.sides)
    return Conflict("", ("",), (ours, base, theirs))


def describe_sides(case: Case) -> str:
    """What each side did to a file that is decided as a whole."""
    if case.reason:
        return case.reason
    ours, base, theirs = case.unmerged.sides
    return f"ours {_describe_deed(base, ours)}, theirs {_describe_deed(base, theirs)}"


def _describe_deed(base: Version | None, side: Version | None) -> str:
    if side is None:
        return "removed the file" if base else "has no such file"
    if base is None:
        return "added it"
    if side.data == base.data:
        return "left it as it was"
    before = set(_list_lines(base))
    changed = [line for line in _list_lines(side) if line not in before]
    shown = "; ".join(shorten(line, _LONGEST_LEAF) for line in changed[:_MOST_LEAVES])
    more = f"; and {len(changed) - _MOST_LEAVES} more" if len(changed) > _MOST_LEAVES else ""
    return f"changed it ({shown}{more})" if changed else "changed it"


def _list_lines(version: Version) -> list[str]:
    try:
        return list_leaves(jsontext.scan_tokens(jsontext.decode(version.data)))
    except jsontext.JsonTextError:
        return []


def _read_value(version: Version) -> Any:
    try:
        return jsontext.scan_tokens(jsontext.decode(version.data))
    except jsontext.JsonTextError:
        return version.data.decode("utf-8", "replace")


def _find_obstacle(work_tree: str, unmerged: Unmerged) -> str:
    if any(version and not version.is_file for version in unmerged.sides):
        return "one side has a symbolic link or a submodule in its place"
    full = os.path.join(work_tree, unmerged.path)
    if not is_inside(os.path.dirname(full), work_tree):
        return "its folder is a symbolic link that leads out of the repository"
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) else "in the work tree it is no ordinary file"


# the merge, made again


def _merge_again(unmerged: Unmerged, size: int, choices: Choices) -> tuple[Merged | None, str]:
    """The merge of the index's versions, as the driver does it; else why it cannot be made."""
    ours, base, theirs = (None if version is None else version.data for version in unmerged.sides)
    assert ours is not None
    assert theirs is not None
    schema = load_merge_schema(unmerged.path, choices.schema)
    try:
        return merge_file(base, ours, theirs, schema, narrative=choices.narrative, marker_size=size), ""
    except jsontext.JsonTextError as error:
        return None, f"{error.version} is no JSON that can be merged: line {error.line}: {error.message}"


# what the work tree's file holds


def _find_standing(work_tree: str, case: Case) -> dict[str, int] | None:
    """The decisions in the work tree's file; None where it holds more than merges and decisions put there."""
    stored = case.stored or b""
    versions = case.unmerged.sides
    if any(version and version.data == stored for version in versions):
        return {}
    text = _as_text(stored)
    if case.merged is not None:
        chosen = find_choices(case.merged, text, case.size)
        if chosen is not None:
            return chosen
    ours, base, theirs = (b"" if version is None else version.data for version in versions)
    favoured = read_line_merges(work_tree, base, ours, theirs)
    if favoured is None:
        return None
    with_ours, with_theirs = (_as_text(data) for data in favoured)
    return {} if is_text_merge(text, _as_text(base), with_ours, with_theirs, case.size) else None


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
