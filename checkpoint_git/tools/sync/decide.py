"""What happens to one file of which the branch and the work tree may both have a new version. Pure,
except schemas.
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


class MergeOptions(NamedTuple):
    """How this clone merges. take: what decides a conflict, "" for nobody. now: seconds since
    1970.
    """

    narrative: str
    schema: str
    take: Take
    now: int


class FileSides(NamedTuple):
    """One file. base and theirs: as git has them, None for no file; ours: what the work tree
    holds.
    """

    path: str
    base: TreeEntry | None
    ours: bytes | None
    theirs: TreeEntry | None


class Decision(NamedTuple):
    """content: None for no file. settled: False if each side stays as it is, and findings say
    why.
    """

    content: bytes | None
    settled: bool
    findings: Sequence[Finding] = ()


Read = Callable[[str], "bytes | None"]  # a blob's content, None for one that is too large


def decide_ours(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    if sides.ours is None:
        return Decision(None, True)
    before = (read(sides.base.blob) or b"") if sides.base else None
    new = find_new_errors(sides.path, sides.ours, [before], rules.now, _check)
    return Decision(sides.ours, not new, new)


def decide_theirs(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    path = sides.path
    if sides.theirs is None:
        return Decision(None, True)
    data = _open_theirs(path, sides.theirs, read)
    if isinstance(data, Decision):
        return data
    found = [] if kind_of(path) == "history" else check_document(path, data, now=rules.now).findings
    notes = [
        Finding("sync/theirs-invalid", "warning", f"the branch's version is taken, and not valid: {one.message}",
                path, one.where, one.line, hint=command("checkpoint", "validate"))
        for one in found if one.level == "error"
    ]  # fmt: skip
    return Decision(data, True, notes[:3])


def decide_both(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    path = sides.path
    if sides.ours is None or sides.theirs is None:
        return _decide_removed(sides, read, rules)
    theirs = _open_theirs(path, sides.theirs, read)
    if isinstance(theirs, Decision):
        return theirs
    base = read(sides.base.blob) if sides.base else None
    before: list[bytes | None] = [theirs] if base is None else [theirs, base]
    new = find_new_errors(path, sides.ours, before, rules.now, _check)
    if new:
        return Decision(None, False, new)
    if not is_merged(path):  # every version of such a file is final
        if rules.take:
            return Decision(sides.ours if rules.take == "ours" else theirs, True)
        message = "two versions of a file that is written once and never changed; each side stays as it is"
        return _leave(path, "sync/conflict", message, _DECIDE)

    content, findings = merge_contents(path, base, sides.ours, theirs, rules)
    if content is None:
        return Decision(None, False, findings)
    new = find_new_errors(path, content, [sides.ours, theirs], rules.now, _check)
    if new:
        message = f"merged with the branch's version it would not be valid: {new[0].message}"
        return _leave(path, "sync/conflict", message, _DECIDE, new[0].where)

    return Decision(content, True)


def merge_contents(
    path: str, base: bytes | None, ours: bytes, theirs: bytes, rules: MergeOptions
) -> tuple[bytes | None, list[Finding]]:
    """None if the user has to decide; then the findings say what."""
    schema = load_merge_schema(path, rules.schema, strict=False)
    try:
        merged = merge_file(base, ours, theirs, schema, narrative=rules.narrative)
    except JsonTextError as error:
        message = f"both sides changed it, and one is not JSON: {error.message}"
        return None, [Finding("sync/conflict", "error", message, path, hint=_DECIDE)]

    if merged.conflicts and rules.take:
        merged = take_side(merged, OURS if rules.take == "ours" else THEIRS)
    if not merged.conflicts:
        return merged.data, []
    return None, [_find_clash(path, clash) for clash in list_clashes(merged, _LONGEST_VALUE)]


def _find_clash(path: str, clash: Clash) -> Finding:
    message = (
        f"both sides changed it: ours {clash.ours}, theirs {clash.theirs}; each side stays as it is"
    )
    hint: AnyHint = _DECIDE
    if clash.question:
        message = "each side finished what the other still had to do, and nothing is left; each side stays as it is"
        hint = _SAY_NEXT
    return name_skill(
        Finding("sync/conflict", "error", message, path, clash.where, hint=hint), path
    )


def _decide_removed(sides: FileSides, read: Read, rules: MergeOptions) -> Decision:
    if sides.ours is None and rules.take == "theirs":
        return decide_theirs(sides, read, rules)
    if rules.take == "ours" or (rules.take and sides.theirs is None):
        return Decision(None if rules.take == "theirs" else sides.ours, True)
    here, there = (
        ("removed here", "changed there")
        if sides.ours is None
        else ("changed here", "removed there")
    )
    return _leave(
        sides.path, "sync/conflict", f"it was {here} and {there}; each side stays as it is", _DECIDE
    )


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
    # What a branch offers is untrusted
    trouble = find_path_trouble(path) if entry.is_file else "it is not a regular file"
    data = None if trouble else read(entry.blob)
    errors = check_text(path, data) if data is not None and path.endswith(".json") else []
    if data is not None and not errors:
        return data
    why = f"it cannot be read: {errors[0].message}" if errors else trouble or "it is too large"
    return _leave(
        path, "sync/theirs-unreadable", f"the branch's version is not taken: {why}", _FIX_THERE
    )


def _check(path: str, data: bytes, now: int) -> Document:
    if kind_of(path) != "history":
        return check_document(path, data, now=now)
    return Document(path, "", None, None, len(data), check_text(path, data))
