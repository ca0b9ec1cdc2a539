"""What becomes of one file of which the branch and the work tree may both have a new version. Pure but for schemas."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.merge.conflicts import Clash, list_clashes
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.sync.files import find_path_trouble, kind_of
from checkpoint_git.tools.sync.trees import FILE_MODES, Leaf

if TYPE_CHECKING:
    pass

Take = Literal["", "ours", "theirs"]
_LONGEST_VALUE = 80


class Rules(NamedTuple):
    """How this clone merges. take: what decides a conflict, "" for nobody. now: seconds since 1970."""

    narrative: str
    schema: str
    take: Take
    now: int


class Sides(NamedTuple):
    """One file. base and theirs: as git has them, None for no file; ours: what the work tree holds."""

    path: str
    base: Leaf | None
    ours: bytes | None
    theirs: Leaf | None


class Decision(NamedTuple):
    """content: the file as both shall have it, None for no file. settled: False where nothing can be said, and each
    side stays as it is. findings: errors say why.
    """

    path: str
    content: bytes | None
    settled: bool
    findings: tuple[Finding, ...] = ()


Read = Callable[[str], "bytes | None"]  # a blob's content, None for one that is too large


def decide_ours(sides: Sides, read: Read, rules: Rules) -> Decision:
    """Only the work tree changed the file: it is sent, where it brings no error that was not there before."""
    if sides.ours is None:
        return Decision(sides.path, None, True)
    before = (read(sides.base.blob) or b"") if sides.base else None
    new = find_new_errors(sides.path, sides.ours, [before], rules.now, _check)
    return Decision(sides.path, sides.ours, not new, tuple(new))


def decide_theirs(sides: Sides, read: Read, rules: Rules) -> Decision:
    """Only the branch changed the file: it is taken in, where it can be read."""
    if sides.theirs is None:
        return Decision(sides.path, None, True)
    trouble, data = _open_theirs(sides.path, sides.theirs, read)
    if data is None:
        return _leave(
            sides.path, "sync/theirs-unreadable", f"the branch's version is not taken: {trouble}", _MEND_THERE
        )
    document = check_document(sides.path, data, now=rules.now)
    wrong = [one for one in document.findings if one.level == "error" and kind_of(sides.path) != "history"]
    notes = tuple(
        Finding("sync/theirs-invalid", "warning", f"the branch's version is taken, and not valid: {one.message}",
                sides.path, one.where, one.line, hint="checkpoint validate")
        for one in wrong[:3]
    )  # fmt: skip
    return Decision(sides.path, data, True, notes)


def decide_both(sides: Sides, read: Read, rules: Rules) -> Decision:
    """Both changed the file: they are merged as git's merge would merge them."""
    if sides.ours is None or sides.theirs is None:
        return _decide_removed(sides, read, rules)
    trouble, theirs = _open_theirs(sides.path, sides.theirs, read)
    if theirs is None:
        return _leave(
            sides.path, "sync/theirs-unreadable", f"the branch's version is not taken: {trouble}", _MEND_THERE
        )
    base = read(sides.base.blob) if sides.base else None
    before: list[bytes | None] = [theirs] if base is None else [theirs, base]
    new = find_new_errors(sides.path, sides.ours, before, rules.now, _check)
    if new:
        return Decision(sides.path, None, False, tuple(new))
    if not is_merged(sides.path):
        return _decide_whole(sides.path, sides.ours, theirs, rules)
    content, findings = merge_contents(sides.path, base, sides.ours, theirs, rules)
    if content is None:
        return Decision(sides.path, None, False, tuple(findings))
    new = find_new_errors(sides.path, content, [sides.ours, theirs], rules.now, _check)
    if new:
        message = f"merged with the branch's version it would not be valid: {new[0].message}"
        return _leave(sides.path, "sync/conflict", message, _DECIDE, new[0].where)
    return Decision(sides.path, content, True)


def merge_contents(
    path: str, base: bytes | None, ours: bytes, theirs: bytes, rules: Rules
) -> tuple[bytes | None, list[Finding]]:
    """The merge of three versions, None where a person has to decide; then the findings say what."""
    try:
        merged = merge_file(base, ours, theirs, _load_schema(path, rules.schema), narrative=rules.narrative)
    except JsonTextError as error:
        found = Finding("sync/conflict", "error", f"both sides changed it, and one is no JSON: {error.message}", path)
        return None, [found._replace(hint=_DECIDE)]
    if merged.conflicts and rules.take:
        merged = _decide_by_side(merged, rules.take)
    if merged.conflicts:
        return None, [_to_finding(path, one) for one in list_clashes(merged, _LONGEST_VALUE)]
    return merged.data, []


def _decide_by_side(merged: Merged, take: Take) -> Merged:
    from checkpoint_git.core.jsonwrite import OURS, THEIRS
    from checkpoint_git.merge.conflicts import decide_all  # few merges have conflicts, and fewer are decided so

    return decide_all(merged, OURS if take == "ours" else THEIRS)


def _decide_removed(sides: Sides, read: Read, rules: Rules) -> Decision:
    if sides.ours is None and rules.take == "theirs":
        return decide_theirs(sides, read, rules)
    if rules.take == "ours" or (rules.take and sides.theirs is None):
        content = None if rules.take == "theirs" else sides.ours
        return Decision(sides.path, content, True)
    here, there = ("removed here", "changed there") if sides.ours is None else ("changed here", "removed there")
    return _leave(sides.path, "sync/conflict", f"it was {here} and {there}; each side stays as it is", _DECIDE)


def _decide_whole(path: str, ours: bytes, theirs: bytes, rules: Rules) -> Decision:
    """Files of which every version is final."""
    if rules.take:
        return Decision(path, ours if rules.take == "ours" else theirs, True)
    message = "two versions of a file that is written once and never changed; each side stays as it is"
    return _leave(path, "sync/conflict", message, _DECIDE)


_DECIDE = "change one side so that they agree, or: checkpoint sync --take ours|theirs"
_MEND_THERE = "mend it on the branch; this work tree keeps its own version"


def _leave(path: str, code: str, message: str, hint: str, where: str = "") -> Decision:
    return Decision(path, None, False, (Finding(code, "error", message, path, where, hint=hint),))


def _open_theirs(path: str, leaf: Leaf, read: Read) -> tuple[str, bytes | None]:
    """(why it is refused, its content): what a branch offers is a stranger's."""
    if leaf.mode not in FILE_MODES:
        return "it is no regular file", None
    trouble = find_path_trouble(path)
    data = None if trouble else read(leaf.blob)
    if data is None:
        return trouble or "it is too large", None
    if kind_of(path) == "pipeline":
        return "", data
    try:
        _read_json(data)
    except JsonTextError as error:
        return f"it cannot be read: {escape_controls(error.message)}", None
    return "", data


def _read_json(data: bytes) -> str:
    text = decode(data)
    scan_tokens(text)
    return text


def _load_schema(path: str, extension: str) -> dict[str, Any]:
    from checkpoint_git.core.errors import CheckpointError

    try:
        return load_merge_schema(path, extension)
    except CheckpointError:  # the driver merges without it too
        return load_merge_schema(path)


def _check(path: str, data: bytes, now: int) -> Document:
    """A file of the history need only be JSON; every other is what its protocol says."""
    if kind_of(path) != "history":
        return check_document(path, data, now=now)
    try:
        _read_json(data)
    except JsonTextError as error:
        found = Finding(error.code, "error", escape_controls(error.message), path, "", error.line)
        return Document(path, "", None, None, len(data), [found])
    return Document(path, "", None, None, len(data), [])


def _to_finding(path: str, clash: Clash) -> Finding:
    message = f"both sides changed it: ours {clash.ours}, theirs {clash.theirs}; each side stays as it is"
    return Finding("sync/conflict", "error", message, path, clash.where, hint=_DECIDE)
