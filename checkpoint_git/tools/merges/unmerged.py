"""One unmerged checkpoint: its merge made again from git's index, what the work tree's file has, and what is decided.

It reads and judges; nothing is changed here.
"""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.terminal_text import say_value, shorten
from checkpoint_git.disk.discover import is_inside
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import Unmerged, Version, read_as_stored, read_line_merges
from checkpoint_git.merge.conflicts import Conflict, Held, decide_each, find_choices, is_about, is_text_merge
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.items import canonical_text
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
    return check_document(path, data, now=now).is_valid


def find_newest(case: Case) -> int | None:
    """The side whose updated_at (a workflow's last_updated) is later; None where neither can be called later."""
    if case.merged is None:
        return None
    ours, theirs = case.merged.context.ours, case.merged.context.theirs
    newer = newer_side(ours, theirs, "/updated_at") or newer_side(ours, theirs, "/last_updated")
    return {1: OURS, -1: THEIRS}.get(newer)


def whole_conflict(case: Case) -> Conflict:
    ours, base, theirs = (None if version is None else Held(_read_value(version)) for version in case.unmerged.sides)
    return Conflict("", ("",), (ours, base, theirs))


def describe_sides(case: Case) -> str:
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
    # the merge of the index's versions, as the driver does it; else why it cannot be made
    ours, base, theirs = (None if version is None else version.data for version in unmerged.sides)
    assert ours is not None
    assert theirs is not None
    schema = load_merge_schema(unmerged.path, choices.schema)
    try:
        return merge_file(base, ours, theirs, schema, narrative=choices.narrative, marker_size=size), ""
    except jsontext.JsonTextError as error:
        return None, f"{error.version} is not JSON that can be merged: line {error.line}: {error.message}"


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


Take = Literal["ours", "theirs", "newest", "base"]
TAKES: tuple[Take, ...] = ("ours", "theirs", "newest", "base")
STAGE, MERGE, LEAVE = "stage", "merge", "leave"
_SIDES = {"ours": OURS, "base": BASE, "theirs": THEIRS}


class Request(NamedTuple):
    """What to decide. paths: as typed, none for every unmerged checkpoint. wheres: JSON Pointers, none for all."""

    paths: Sequence[str] = ()
    take: Take | None = None
    wheres: Sequence[str] = ()
    dry_run: bool = False


class Decider(Protocol):
    """Who is asked about what a request does not decide."""

    def ask_side(self, case: Case, conflict: Conflict) -> int | None:
        """The side to take, None to leave the conflict open."""

    def ask_edited(self, case: Case, valid: bool) -> str:
        """What to do with a file that was edited since the merge: STAGE, MERGE or LEAVE."""


class Resolved(NamedTuple):
    """The result for one file.

    conflicts: all it had. sides: those decided, by `where`. staged: it is clean, valid and in the index. removed: it is
    staged as removed. kept_copy: where an edited file was put, relative to the work tree, or "".
    """

    case: Case
    conflicts: Sequence[Conflict] = ()
    sides: Mapping[str, int] = MappingProxyType({})
    findings: Sequence[Finding] = ()
    data: bytes | None = None
    action: Literal["leave", "write", "stage"] = "leave"
    removed: bool = False
    kept_copy: str = ""

    @property
    def staged(self) -> bool:
        return self.action == "stage"

    @property
    def remaining(self) -> list[Conflict]:
        return [conflict for conflict in self.conflicts if conflict.where not in self.sides]


def plan_file(case: Case, request: Request, now: int, asker: Decider | None) -> Resolved:
    if case.blocked:
        return _leave(case, "resolve/not-a-file", case.blocked, "decide it with git: git add, or git rm")
    if case.edited and not request.take:
        valid = is_valid(case.path, case.stored or b"", now)
        answer = asker.ask_edited(case, valid) if asker else ""
        if answer == STAGE:
            return Resolved(case, data=case.stored, action="stage")
        if answer != MERGE:
            return _leave_edited(case, valid)
    refusal = _find_refusal(case, request)
    if refusal:
        return _leave(case, *refusal)
    return _decide(case, _chooser(case, request, asker), now)


def _leave(case: Case, code: str, message: str, hint: str) -> Resolved:
    found = Finding(code, "error", f"not resolved: {message}", case.path, hint=hint)
    return Resolved(case, [] if case.blocked else list_all(case), findings=[found])


def _leave_edited(case: Case, valid: bool) -> Resolved:
    state = "and is a valid checkpoint now" if valid else "and is not a valid checkpoint yet"
    hint = "stage it with git add" if valid else "go on editing"
    hint += "; or merge anew with --take, which keeps a copy of it"
    return _leave(case, "resolve/edited", f"the file was edited since the merge, {state}", hint)


def _find_refusal(case: Case, request: Request) -> tuple[str, str, str] | None:
    """Why what --take asks for cannot be had: (code, message, hint)."""
    asked = [conflict for conflict in list_all(case) if _is_asked(conflict, request)]
    if request.take == "newest" and asked and find_newest(case) is None:
        message = "no side is the newer: both have the same updated_at, or one has none that can be read"
        return "resolve/no-newest", message, "take ours or theirs"
    if request.take == "base" and any(not conflict.where and conflict.sides[BASE] is None for conflict in asked):
        return "resolve/no-base", "both sides added the file: there is no version before them", "take ours or theirs"
    return None


def _is_asked(conflict: Conflict, request: Request) -> bool:
    return not request.wheres or any(is_about(conflict, where) for where in request.wheres)


def _chooser(case: Case, request: Request, asker: Decider | None) -> Callable[[Conflict], int | None]:
    """How each conflict of the file is decided; decisions that the file holds stay unless a pointer names them."""
    newest = find_newest(case)

    def choose(conflict: Conflict) -> int | None:
        before = case.chosen.get(conflict.where)
        if not _is_asked(conflict, request) or (before is not None and not request.wheres):
            return before
        if request.take:
            return newest if request.take == "newest" else _SIDES[request.take]
        answer = asker.ask_side(case, conflict) if asker else None
        return before if answer is None else answer

    return choose


def _decide(case: Case, choose: Callable[[Conflict], int | None], now: int) -> Resolved:
    if case.merged is None:
        return _decide_whole(case, choose, now)
    decided = decide_each(case.merged, choose, case.size)
    data = decided.merged.text.encode()
    resolved = Resolved(case, decided.conflicts, decided.sides, data=data)
    if not decided.remaining:
        return _checked(resolved, now)
    resolved = resolved._replace(findings=[_undecided(case, conflict) for conflict in decided.remaining])
    return resolved._replace(action="write") if decided.sides != case.chosen else resolved


def _decide_whole(case: Case, choose: Callable[[Conflict], int | None], now: int) -> Resolved:
    conflict = whole_conflict(case)
    side = choose(conflict)
    if side is None:
        return Resolved(case, [conflict], findings=[_undecided(case, conflict)])
    version = case.unmerged.sides[side]
    resolved = Resolved(case, [conflict], {"": side})
    if version is None:
        return resolved._replace(action="stage", removed=True)
    return _checked(resolved._replace(data=version.data), now)


def _checked(resolved: Resolved, now: int) -> Resolved:
    document = check_document(resolved.case.path, resolved.data or b"", now=now)
    if document.is_valid:
        return resolved._replace(action="stage")
    errors = [finding for finding in document.findings if finding.level == "error"]
    message = "decided, but not staged: the result is no valid checkpoint"
    last = Finding("resolve/not-valid", "error", message, resolved.case.path, hint="fix it, then: git add")
    return resolved._replace(action="write", findings=[*errors, last])


def _undecided(case: Case, conflict: Conflict) -> Finding:
    if case.merged is None:
        return Finding("resolve/undecided", "error", f"undecided as a whole: {describe_sides(case)}", case.path)
    ours, base, theirs = (say_held(side) for side in conflict.sides)
    message = f"undecided at {', '.join(conflict.places)}: ours {ours}, theirs {theirs} (base {base})"
    return Finding("resolve/undecided", "error", message, case.path, conflict.where)


def list_all(case: Case) -> list[Conflict]:
    if case.merged is None:
        return [whole_conflict(case)]
    return decide_each(case.merged, lambda conflict: case.chosen.get(conflict.where), case.size).conflicts


def say_held(held: Held | None) -> str:
    """A value in one short line."""
    return say_value(None if held is None else canonical_text(held.value))
