"""One unmerged checkpoint: its merge made again from git's index, and what the work tree's file
holds of it.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from checkpoint_git.core.jsonlines import parse_any
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, join_some, shorten
from checkpoint_git.core.user_schema import make_explainer, make_judge
from checkpoint_git.disk.discover import find_link
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges import conflicts
from checkpoint_git.merge.conflicts import (
    Conflict,
    Decision,
    Held,
    decide_all,
    decide_each,
    find_choices,
    is_text_merge,
    split_sides,
)
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.result import BASE, OURS, THEIRS, newer_side
from checkpoint_git.protocols.merge_schema import load_merge_schema

NAMES = {OURS: "ours", BASE: "base", THEIRS: "theirs"}

# which of ours, base and theirs are there -> what git status calls that
_KINDS = {
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
    unmerged: conflicts.Unmerged
    typed: str  # its path as a word of a command
    size: int  # of its conflict markers
    blocked: str = ""  # why it must not be touched
    merged: Merged | None = None  # the merge made again; None if the file is decided as a whole
    reason: str = ""  # why it could not be merged
    raw: bytes | None = None  # the work tree's file
    stored: bytes | None = None  # the same as git would store it
    # the decisions that the file holds already
    chosen: Mapping[str, Decision] = MappingProxyType({})
    edited: bool = False  # it holds something that neither the merge nor decisions put there
    # lists how a document breaks the user's schema, if any
    explain: Callable[[Any], list[Mismatch]] | None = None

    @property
    def path(self) -> str:
        return self.unmerged.path

    @property
    def kind(self) -> str:
        ours, base, theirs = (version is not None for version in self.unmerged.sides)
        return _KINDS[ours, base, theirs]


def read_case(
    work_tree: str, unmerged: conflicts.Unmerged, typed: str, size: int, choices: Choices
) -> Case:
    """choices: how this clone's driver merges."""
    case = Case(unmerged, typed, size, _find_obstacle(work_tree, unmerged))
    if case.blocked:
        return case
    ours, base, theirs = (None if version is None else version.data for version in unmerged.sides)
    schema = load_merge_schema(unmerged.path, choices.schema, choices.whole_schema)
    if choices.whole_schema:
        case = case._replace(explain=make_explainer(schema))
    if (ours is None) != (theirs is None):
        return _read_removed_case(work_tree, case, schema)
    if ours is not None and theirs is not None:
        try:
            merged = merge_file(
                base,
                ours,
                theirs,
                schema,
                narrative=choices.narrative,
                marker_size=size,
                path=unmerged.path,
                judge=make_judge(schema) if choices.whole_schema else None,
            )
            case = case._replace(merged=merged)
        except JsonTextError as error:
            reason = error.message
            if error.version:
                reason = f"{error.version} is not JSON that can be merged: line {error.line}: {error.message}"
            case = case._replace(reason=reason)

    return _read_file(work_tree, case)


def _read_file(work_tree: str, case: Case) -> Case:
    raw = read_if_there(os.path.join(work_tree, case.path))
    if raw is None:
        return case
    stored = conflicts.read_as_stored(work_tree, case.path, raw)
    chosen = _find_chosen(work_tree, case, stored)
    return case._replace(raw=raw, stored=stored, chosen=chosen or {}, edited=chosen is None)


def _read_removed_case(work_tree: str, case: Case, schema: dict[str, Any]) -> Case:
    """One side has no such file, by this name: where both renamed it, git puts one text with
    markers under both.
    """
    case = _read_file(work_tree, case)
    at = OURS if case.unmerged.sides[OURS] else THEIRS
    version = case.unmerged.sides[at]
    text = _as_text(version.data) if version else ""
    marker = re.search(r"^<{7,}(?= )", text, re.MULTILINE)
    if not (version and marker):
        return case
    sides = split_sides(text, len(marker[0]))
    try:
        merged = merge_file(
            None, _as_bytes(sides.ours), _as_bytes(sides.theirs), schema, path=case.path
        )
    except JsonTextError:
        return case

    versions = list(case.unmerged.sides)
    versions[at] = version._replace(data=decide_all(merged, at).data)
    ours, base, theirs = versions
    return case._replace(unmerged=case.unmerged._replace(sides=(ours, base, theirs)))


def read_marked_case(work_tree: str, path: str, typed: str, size: int, choices: Choices) -> Case:
    """A file with conflict markers of which the index has no stages: they were added, committed or
    patched in. Merged again is what a past merge had, where the file is that merge's result; else
    what the markers hold.
    """
    for past in conflicts.read_past_conflicts(work_tree, path):
        case = read_case(work_tree, past, typed, size, choices)
        if case.blocked or (case.merged and not case.edited):
            return case

    raw = read_if_there(os.path.join(work_tree, path)) or b""
    stored = conflicts.read_as_stored(work_tree, path, raw)
    sides = split_sides(_as_text(stored), size)
    base = None if sides.whole_base is None else _as_bytes(sides.whole_base)
    schema, merged, reason = load_merge_schema(path, choices.schema), None, ""
    # zdiff3 leaves lines out of the base: it may not be JSON
    for each in dict.fromkeys([base, None]):
        try:
            ours, theirs = _as_bytes(sides.ours), _as_bytes(sides.theirs)
            merged = merge_file(
                each, ours, theirs, schema, narrative=choices.narrative, marker_size=size, path=path
            )
            break
        except JsonTextError as error:
            reason = f"without its markers, {error.version} is not JSON: line {error.line}: {error.message}"

    unmerged = conflicts.make_unmerged(path, [_as_bytes(sides.ours), base, _as_bytes(sides.theirs)])
    blocked = _find_obstacle(work_tree, unmerged) or ("" if merged else reason)
    return Case(unmerged, typed, size, blocked, merged, reason, raw, stored)


def _find_obstacle(work_tree: str, unmerged: conflicts.Unmerged) -> str:
    if any(version and not version.is_file for version in unmerged.sides):
        return "one side has a symbolic link or a submodule in its place"
    if any(version and len(version.data) > MAX_BYTES for version in unmerged.sides):
        return f"one side has more than {MAX_BYTES >> 20} MB: take one whole with git checkout --ours or --theirs"
    full = os.path.join(work_tree, unmerged.path)
    if link := find_link(os.path.dirname(unmerged.path), work_tree):
        return f"{escape_controls(link)} is a symbolic link"
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return ""

    return "" if stat.S_ISREG(mode) else "in the work tree it is not a regular file"


def _find_chosen(work_tree: str, case: Case, stored: bytes) -> dict[str, Decision] | None:
    # None if the file holds more than merges and decisions put there
    ours, base, theirs = (
        b"" if version is None else version.data for version in case.unmerged.sides
    )
    if any(version and version.data == stored for version in case.unmerged.sides):
        return {}
    text = _as_text(stored)
    chosen = None if case.merged is None else find_choices(case.merged, text, case.size)
    if chosen is not None:
        return chosen
    favoured = conflicts.read_line_merges(work_tree, base, ours, theirs)
    if favoured is None:
        return None
    with_ours, with_theirs = map(_as_text, favoured)
    return {} if is_text_merge(text, _as_text(base), with_ours, with_theirs, case.size) else None


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def list_conflicts(case: Case) -> list[Conflict]:
    # A single one where the file is decided as a whole
    if case.merged is not None:
        return decide_each(
            case.merged, lambda conflict: case.chosen.get(conflict.where), case.size
        ).conflicts
    ours, base, theirs = (
        None if version is None else Held(_read_value(version)) for version in case.unmerged.sides
    )
    return [Conflict("", ("",), (ours, base, theirs))]


def find_newest(case: Case) -> int | None:
    """The side with the later updated_at (a workflow's last_updated), None if neither is."""
    if case.merged is None:
        return None
    ours, theirs = case.merged.context.ours, case.merged.context.theirs
    newer = newer_side(ours, theirs, "/updated_at") or newer_side(ours, theirs, "/last_updated")
    return {1: OURS, -1: THEIRS}.get(newer)


def describe_sides(case: Case) -> str:
    ours, base, theirs = case.unmerged.sides
    return (
        case.reason
        or f"ours {_describe_change(base, ours)}, theirs {_describe_change(base, theirs)}"
    )


def _describe_change(base: conflicts.FileVersion | None, side: conflicts.FileVersion | None) -> str:
    if side is None:
        return "removed the file" if base else "has no such file"
    if base is None:
        return "added it"
    if side.data == base.data:
        return "left it as it was"
    before, after = (_read_value(version) for version in (base, side))
    known = set() if isinstance(before, str) else set(list_leaves(before))
    changed = (
        [] if isinstance(after, str) else [line for line in list_leaves(after) if line not in known]
    )
    shown = join_some([shorten(line, _LONGEST_LEAF) for line in changed], _MOST_LEAVES, "; ")
    return f"changed it ({shown})" if changed else "changed it"


def _read_value(version: conflicts.FileVersion) -> Any:
    try:
        return parse_any(decode(version.data)).value
    except JsonTextError:
        return version.data.decode("utf-8", "replace")
