"""Decide one file that the branch and the work tree may both have changed. Pure, except that it
reads schemas.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Blank, advise, command, join_hints
from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.git.objects import TreeEntry
from checkpoint_git.merge.conflicts import Clash, list_clashes, take_side
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.result import OURS, THEIRS
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.mismatch import OWN
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.validate import check_document, check_text, name_skill
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.sync.files import find_path_trouble, kind_of

Take = Literal["", "ours", "theirs"]
_LONGEST_VALUE = 80
_MOST_NOTES = 3  # about one file that is taken and not valid


class MergeOptions(NamedTuple):
    """The settings of this clone's merges. take: the side that decides a conflict, "" for none.
    now: seconds since 1970.
    """

    narrative: str
    schema: str
    take: Take
    now: int


class FileSides(NamedTuple):
    """One file. base, theirs: as git has them, None for no file. ours: as the work tree has it."""

    path: str
    base: TreeEntry | None
    ours: bytes | None
    theirs: TreeEntry | None


class Decision(NamedTuple):
    """content: None for no file. settled: False if each side stays as it is; findings say why."""

    content: bytes | None
    settled: bool
    findings: Sequence[Finding] = ()


Read = Callable[[str], "bytes | None"]  # a blob's content, None for one that is too large


def decide_ours(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    """Decide a file that only the work tree changed: taken, unless it has new errors."""
    if sides.ours is None:
        return Decision(None, True)
    before = None
    if sides.base:
        before = read(sides.base.blob) or b""
    new = find_new_errors(sides.path, sides.ours, [before], rules.now, _check)
    return Decision(sides.ours, not new, new)


def decide_theirs(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    """Decide a file that only the branch changed: taken, with a warning if it is not valid."""
    path = sides.path
    if sides.theirs is None:
        return Decision(None, True)
    data = _open_theirs(path, sides.theirs, read)
    if isinstance(data, Decision):
        return data
    if kind_of(path) == "history":
        return Decision(data, True)

    notes = []
    hint = command("checkpoint", "validate")
    for found in check_document(path, data, now=rules.now).findings:
        if found.level == "error":
            message = f"the branch's version is taken, and not valid: {found.message}"
            notes.append(
                Finding(
                    "sync/theirs-invalid",
                    "warning",
                    message,
                    path,
                    found.where,
                    found.line,
                    hint=hint,
                )
            )
    return Decision(data, True, notes[:_MOST_NOTES])


def decide_both(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    """Decide a file that both sides changed: merged, unless the result would not be valid."""
    path = sides.path
    if sides.ours is None or sides.theirs is None:
        return _decide_removed(sides, read, rules)
    theirs = _open_theirs(path, sides.theirs, read)
    if isinstance(theirs, Decision):
        return theirs

    base = read(sides.base.blob) if sides.base else None
    before: list[bytes | None] = [theirs]
    if base is not None:
        before = [theirs, base]
    new = find_new_errors(path, sides.ours, before, rules.now, _check)
    if new:
        return Decision(None, False, new)
    if not is_merged(path):
        return _decide_final(path, sides.ours, theirs, rules)

    content, findings = merge_contents(path, base, sides.ours, theirs, rules)
    if content is None:
        return Decision(None, False, findings)
    new = find_new_errors(path, content, [sides.ours, theirs], rules.now, _check)
    if new:
        message = f"merged with the branch's version it would not be valid: {new[0].message}"
        return _leave(path, "sync/conflict", message, _DECIDE, new[0].where)

    return Decision(content, True)


def _decide_final(path: str, ours: bytes, theirs: bytes, rules: MergeOptions) -> Decision:
    """Decide a file of which no version ever changes."""
    if rules.take == "ours":
        return Decision(ours, True)
    if rules.take == "theirs":
        return Decision(theirs, True)
    versions = "two versions of a file that is written once and never changed"
    return _leave(path, "sync/conflict", f"{versions}; each side stays as it is", _DECIDE)


def merge_contents(
    path: str, base: bytes | None, ours: bytes, theirs: bytes, rules: MergeOptions
) -> tuple[bytes | None, list[Finding]]:
    """Return the merged content; None if the user has to decide, and findings that say what."""
    schema = load_merge_schema(path, rules.schema, strict=False)
    try:
        merged = merge_file(base, ours, theirs, schema, narrative=rules.narrative)
    except JsonTextError as error:
        message = f"both sides changed it, and one is not JSON: {error.message}"
        return None, [Finding("sync/conflict", "error", message, path, hint=_DECIDE)]

    if merged.conflicts and rules.take == "ours":
        merged = take_side(merged, OURS)
    elif merged.conflicts and rules.take == "theirs":
        merged = take_side(merged, THEIRS)
    if not merged.conflicts:
        return merged.data, []
    return None, [_find_clash(path, clash) for clash in list_clashes(merged, _LONGEST_VALUE)]


def _find_clash(path: str, clash: Clash) -> Finding:
    trouble = f"both sides changed it: ours {clash.ours}, theirs {clash.theirs}"
    hint: AnyHint = _DECIDE
    if clash.question:
        trouble = "each side finished what the other still had to do, and nothing is left"
        hint = _SAY_NEXT
    message = f"{trouble}; each side stays as it is"
    found = Finding("sync/conflict", "error", message, path, clash.where, hint=hint)
    return name_skill(found, path)


def _decide_removed(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    """Decide a file that one side removed and the other changed."""
    if rules.take == "ours":
        return Decision(sides.ours, True)
    if rules.take == "theirs" and sides.theirs is None:
        return Decision(None, True)
    if rules.take == "theirs" and sides.ours is None:
        return decide_theirs(sides, read, rules)

    trouble = "it was changed here and removed there"
    if sides.ours is None:
        trouble = "it was removed here and changed there"
    return _leave(sides.path, "sync/conflict", f"{trouble}; each side stays as it is", _DECIDE)


_DECIDE = advise(
    "change one side so that they agree, or take one",
    "checkpoint",
    "sync",
    "--take",
    "ours",
    more=" (or theirs)",
)
_SAY_NEXT = join_hints(
    advise("add what is next here", "checkpoint", "add", OWN, Blank("the next action")),
    advise("or that nothing is", "checkpoint", "update", OWN, "--status=complete"),
    "then sync again",
)
_FIX_THERE = "fix it on the branch; this work tree keeps its own version"


def _leave(path: str, code: str, message: str, hint: AnyHint, where: str = "") -> Decision:
    return Decision(None, False, [Finding(code, "error", message, path, where, hint=hint)])


def _open_theirs(path: str, entry: TreeEntry, read: Read) -> bytes | Decision:
    """Return the branch's version, or the decision not to take it: a branch is untrusted."""
    if not entry.is_file:
        return _refuse_theirs(path, "it is not a regular file")
    trouble = find_path_trouble(path)
    if trouble:
        return _refuse_theirs(path, trouble)
    data = read(entry.blob)
    if data is None:
        return _refuse_theirs(path, "it is too large")
    if path.endswith(".json"):
        errors = check_text(path, data)
        if errors:
            return _refuse_theirs(path, f"it cannot be read: {errors[0].message}")
    return data


def _refuse_theirs(path: str, reason: str) -> Decision:
    message = f"the branch's version is not taken: {reason}"
    return _leave(path, "sync/theirs-unreadable", message, _FIX_THERE)


def _check(path: str, data: bytes, now: int) -> Document:
    if kind_of(path) != "history":
        return check_document(path, data, now=now)
    return Document(path, "", None, None, len(data), check_text(path, data))
