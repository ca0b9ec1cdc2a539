"""Read one unmerged checkpoint: its merge made again from git's index, and the decisions that the
file in the work tree has already.
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
from checkpoint_git.git.merges.conflicts import FileVersion
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
    """An unmerged file.

    typed: its path as a word of a command. size: of its conflict markers.
    blocked: why it must not be touched, or "".
    merged: the merge made again, None if the file is decided as a whole; reason: why that is.
    raw: the work tree's file. stored: the same, as git would store it.
    chosen: the decisions that the file has already.
    edited: the file has something that neither the merge nor a decision put there.
    explain: lists how a document breaks the user's schema; None for no such schema.
    """

    unmerged: conflicts.Unmerged
    typed: str
    size: int
    blocked: str = ""
    merged: Merged | None = None
    reason: str = ""
    raw: bytes | None = None
    stored: bytes | None = None
    chosen: Mapping[str, Decision] = MappingProxyType({})
    edited: bool = False
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
    """Return a file with its merge made again. choices: how this clone's driver merges."""
    case = Case(unmerged, typed, size, _find_obstacle(work_tree, unmerged))
    if case.blocked:
        return case

    schema = load_merge_schema(unmerged.path, choices.schema, choices.whole_schema)
    judge = None
    if choices.whole_schema:
        judge = make_judge(schema)
        case = case._replace(explain=make_explainer(schema))

    ours, base, theirs = (_content(version) for version in unmerged.sides)
    if (ours is None) != (theirs is None):
        return _read_removed_case(work_tree, case, schema)
    if ours is None or theirs is None:
        return _read_file(work_tree, case)

    try:
        merged = merge_file(
            base,
            ours,
            theirs,
            schema,
            narrative=choices.narrative,
            marker_size=size,
            path=unmerged.path,
            judge=judge,
        )
        case = case._replace(merged=merged)
    except JsonTextError as error:
        case = case._replace(reason=_explain_error(error))

    return _read_file(work_tree, case)


def _content(version: FileVersion | None) -> bytes | None:
    return None if version is None else version.data


def _explain_error(error: JsonTextError) -> str:
    if not error.version:
        return error.message
    trouble = f"{error.version} is not JSON that can be merged"
    return f"{trouble}: line {error.line}: {error.message}"


def _read_file(work_tree: str, case: Case) -> Case:
    raw = read_if_there(os.path.join(work_tree, case.path))
    if raw is None:
        return case
    stored = conflicts.read_as_stored(work_tree, case.path, raw)
    chosen = _find_chosen(work_tree, case, stored)
    return case._replace(raw=raw, stored=stored, chosen=chosen or {}, edited=chosen is None)


def _read_removed_case(work_tree: str, case: Case, schema: dict[str, Any]) -> Case:
    """Return a file that one side does not have by this name.

    If both sides renamed it, git puts one text with conflict markers under both names; that text
    is merged again, and decided for the side that has this name.
    """
    case = _read_file(work_tree, case)
    side = OURS if case.unmerged.sides[OURS] else THEIRS
    version = case.unmerged.sides[side]
    if version is None:
        return case
    text = _as_text(version.data)
    marker = re.search(r"^<{7,}(?= )", text, re.MULTILINE)
    if marker is None:
        return case

    sides = split_sides(text, len(marker[0]))
    try:
        merged = merge_file(
            None, _as_bytes(sides.ours), _as_bytes(sides.theirs), schema, path=case.path
        )
    except JsonTextError:
        return case

    versions = list(case.unmerged.sides)
    versions[side] = version._replace(data=decide_all(merged, side).data)
    ours, base, theirs = versions
    return case._replace(unmerged=case.unmerged._replace(sides=(ours, base, theirs)))


def read_marked_case(work_tree: str, path: str, typed: str, size: int, choices: Choices) -> Case:
    """Return a file with conflict markers for which the index has no stages: the markers were
    added, committed or patched in.

    What a past merge had is merged again if the file is that merge's result; otherwise what is
    between the markers.
    """
    for past in conflicts.read_past_conflicts(work_tree, path):
        case = read_case(work_tree, past, typed, size, choices)
        if case.blocked or (case.merged and not case.edited):
            return case

    raw = read_if_there(os.path.join(work_tree, path)) or b""
    stored = conflicts.read_as_stored(work_tree, path, raw)
    sides = split_sides(_as_text(stored), size)
    ours = _as_bytes(sides.ours)
    theirs = _as_bytes(sides.theirs)
    base = None if sides.whole_base is None else _as_bytes(sides.whole_base)

    schema = load_merge_schema(path, choices.schema)
    merged = None
    reason = ""
    # zdiff3 leaves lines out of the base: it may not be JSON, and is then passed over
    for candidate in dict.fromkeys([base, None]):
        try:
            merged = merge_file(
                candidate,
                ours,
                theirs,
                schema,
                narrative=choices.narrative,
                marker_size=size,
                path=path,
            )
            break
        except JsonTextError as error:
            trouble = f"without its markers, {error.version} is not JSON"
            reason = f"{trouble}: line {error.line}: {error.message}"

    unmerged = conflicts.make_unmerged(path, [ours, base, theirs])
    blocked = _find_obstacle(work_tree, unmerged)
    if not blocked and merged is None:
        blocked = reason
    return Case(unmerged, typed, size, blocked, merged, reason, raw, stored)


def _find_obstacle(work_tree: str, unmerged: conflicts.Unmerged) -> str:
    """Return why a file must not be touched; "" if it may be."""
    versions = [version for version in unmerged.sides if version]
    if not all(version.is_file for version in versions):
        return "one side has a symbolic link or a submodule in its place"
    if any(len(version.data) > MAX_BYTES for version in versions):
        return f"one side has more than {MAX_BYTES >> 20} MB"

    full = os.path.join(work_tree, unmerged.path)
    if link := find_link(os.path.dirname(unmerged.path), work_tree):
        return f"{escape_controls(link)} is a symbolic link"
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return ""

    if not stat.S_ISREG(mode):
        return "in the work tree it is not a regular file"
    return ""


def _find_chosen(work_tree: str, case: Case, stored: bytes) -> dict[str, Decision] | None:
    """Return the decisions that a file has already, by pointer; None if somebody edited it, so
    that it has more than merges and decisions put there.
    """
    if any(version and version.data == stored for version in case.unmerged.sides):
        return {}

    text = _as_text(stored)
    if case.merged is not None:
        chosen = find_choices(case.merged, text, case.size)
        if chosen is not None:
            return chosen

    ours, base, theirs = (_content(version) or b"" for version in case.unmerged.sides)
    favoured = conflicts.read_line_merges(work_tree, base, ours, theirs)
    if favoured is None:
        return None
    with_ours, with_theirs = map(_as_text, favoured)
    if is_text_merge(text, _as_text(base), with_ours, with_theirs, case.size):
        return {}
    return None


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def list_conflicts(case: Case) -> list[Conflict]:
    """Return all conflicts of a file, decided ones too; a single one if the file is decided as a
    whole.
    """
    if case.merged is None:
        ours, base, theirs = (_read_side(version) for version in case.unmerged.sides)
        return [Conflict("", ("",), (ours, base, theirs))]
    decided = decide_each(case.merged, lambda conflict: case.chosen.get(conflict.where), case.size)
    return decided.conflicts


def _read_side(version: FileVersion | None) -> Held | None:
    return None if version is None else Held(_read_value(version))


def find_newest(case: Case) -> int | None:
    """Return the side with the later updated_at (a workflow's last_updated); None if neither is
    later.
    """
    if case.merged is None:
        return None
    ours, theirs = case.merged.context.ours, case.merged.context.theirs
    newer = newer_side(ours, theirs, "/updated_at") or newer_side(ours, theirs, "/last_updated")
    return {1: OURS, -1: THEIRS}.get(newer)


def describe_sides(case: Case) -> str:
    """Return why a file is decided as a whole, or what each side did to it."""
    if case.reason:
        return case.reason
    ours, base, theirs = case.unmerged.sides
    return f"ours {_describe_change(base, ours)}, theirs {_describe_change(base, theirs)}"


def _describe_change(base: FileVersion | None, side: FileVersion | None) -> str:
    if side is None:
        return "removed the file" if base else "has no such file"
    if base is None:
        return "added it"
    if side.data == base.data:
        return "left it as it was"

    known = set(_list_leaves_of(base))
    changed = [line for line in _list_leaves_of(side) if line not in known]
    if not changed:
        return "changed it"
    shown = join_some([shorten(line, _LONGEST_LEAF) for line in changed], _MOST_LEAVES, "; ")
    return f"changed it ({shown})"


def _list_leaves_of(version: FileVersion) -> list[str]:
    """Return a document's values, a line each; [] for a text."""
    value = _read_value(version)
    if isinstance(value, str):
        return []
    return list(list_leaves(value))


def _read_value(version: FileVersion) -> Any:
    """Return a version's document; its text if it is not JSON."""
    try:
        return parse_any(decode(version.data)).value
    except JsonTextError:
        return version.data.decode("utf-8", "replace")
