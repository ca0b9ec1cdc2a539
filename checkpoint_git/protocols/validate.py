"""Check a document: text, shape and meaning in turn. Pure: bytes in, findings out."""

import errno
from collections.abc import Iterable, Iterator
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Hint, advise, command, fill_blank, join_hints
from checkpoint_git.core.jsonlines import parse_any
from checkpoint_git.core.schema import Mismatch, explain, is_surely_valid
from checkpoint_git.core.terminal_text import escape_controls, plain_path
from checkpoint_git.core.untrusted_text import may_hold_secret
from checkpoint_git.disk.read import FileContent
from checkpoint_git.protocols.contract import Room, find_hooks, open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import OWN, name_rows
from checkpoint_git.protocols.registry import is_fixed, is_merged, protocol_of


def check_document(path: str, data: bytes, *, now: int) -> Document:
    """Return a file's document with its findings.

    path: relative, with "/"; its file name has the name of the checkpoint. now: seconds since 1970.
    """
    kind = protocol_of(path) or "skill"
    room = open_room(kind)
    if room.check_file is not None:
        return room.check_file(path, data, now=now)
    skill = room.layout.find_skill(path)
    try:
        text = jsontext.decode(data)
        value = jsontext.load(text)
    except jsontext.JsonTextError as error:
        finding = _describe_syntax(error, path)
        return Document(path, skill, None, data.decode("utf-8", "replace"), len(data), [finding])

    findings = _check_value(room, value, skill, len(data), now)
    is_suspect = may_hold_secret(data)
    if not isinstance(value, dict):
        findings = [finding._replace(hint=advise_restore(path)) for finding in findings]
    elif findings and not is_suspect:
        findings = list(name_rows(findings, value))

    if is_suspect:
        findings += _find_secrets(value, "", is_skill=kind == "skill")
    if text.startswith(jsontext.BYTE_ORDER_MARK):
        findings.append(_BYTE_ORDER_MARK)
    located = locate_findings([name_skill(finding, path) for finding in findings], path, text)
    members = value if isinstance(value, dict) else None
    return Document(path, skill, members, text, len(data), located)


def _describe_syntax(error: jsontext.JsonTextError, path: str) -> Finding:
    """Return the finding about a text that is not JSON."""
    hint: AnyHint = error.hint
    if error.code == "json/conflict-markers" and is_merged(path):
        hint = command("checkpoint", "resolve", plain_path(path))
    elif error.code == "json/syntax" and not hint:
        hint = advise_restore(path)
    message = escape_controls(error.message)
    return Finding(error.code, "error", message, path, "", error.line, error.column, hint)


def _find_secrets(value: Any, where: str, *, is_skill: bool) -> Iterator[Finding]:
    """Yield a finding for each key or token, with its place alone: no finding prints it.

    is_skill: an edit of `checkpoint update` can name the place.
    """
    from checkpoint_git.core.redact import holds_secret  # late: it compiles large patterns

    if isinstance(value, dict):
        for key, item in value.items():
            inner = jsontext.join_pointer(where, key)
            if holds_secret(key):
                yield from _find_secrets(key, inner, is_skill=False)
            else:
                can_name = is_skill and not set(key) & set("./~")
                yield from _find_secrets(item, inner, is_skill=can_name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_secrets(item, f"{where}/{index}", is_skill=is_skill)
    elif isinstance(value, str) and holds_secret(value):
        hint: AnyHint = "remove it from the file"
        if is_skill:
            edit = f"--{where[1:].replace('/', '.')}=[removed]"
            hint = command("checkpoint", "update", OWN, edit)
        message = (
            "this looks like a key or token, and git would keep it for good"
            " (revoke it if it was pushed)"
        )
        yield Finding("content/secret", "error", message, where=where, hint=hint)


def check_text(path: str, data: bytes) -> list[Finding]:
    """Return a finding if a file is not JSON. It is compared with no schema."""
    try:
        parse_any(jsontext.decode(data))
    except jsontext.JsonTextError as error:
        message = escape_controls(error.message)
        return [Finding(error.code, "error", message, path, "", error.line, error.column)]
    return []


def name_skill(finding: Finding, path: str) -> Finding:
    """Return the finding with the name of the file's checkpoint in its hint."""
    if not isinstance(finding.hint, Hint):
        return finding
    skill = open_room(protocol_of(path) or "skill").layout.find_skill(path)
    if not skill:
        return finding
    return finding._replace(hint=fill_blank(finding.hint, OWN, skill))


def iterate_checked(files: Iterable[tuple[str, FileContent]], now: int) -> Iterator[Document]:
    """Yield the document of each file. files: relative path, and content or error of reading it."""
    for path, data in files:
        if isinstance(data, OSError):
            yield unreadable_document(path, data)
        else:
            yield check_document(path, data, now=now)


def fold_name(name: str) -> str:
    """Return what is compared of a file's name on macOS and Windows.

    They ignore case, and macOS also whether a letter and its accent are one character or two.
    """
    if name.isascii():
        return name.casefold()
    from unicodedata import normalize  # late: few names need it

    return normalize("NFC", normalize("NFC", name).casefold())


def find_twins(paths: Iterable[str]) -> Iterator[Finding]:
    """Yield findings for files whose names are one on macOS or Windows."""
    first: dict[str, str] = {}
    for path in paths:
        twin = first.setdefault(fold_name(path), path)
        if twin == path:
            continue
        other = escape_controls(twin)
        message = f"its name differs from {other} only in case: macOS and Windows see one file"
        if path.casefold() != twin.casefold():
            message = f"its name differs from {other} only in how accents are written: "
            message += "macOS sees one file"
        name = path.rpartition("/")[2].removesuffix(".checkpoint.json")
        hint = advise("rename one of them, or archive it", "checkpoint", "reset", name)
        yield Finding("file/name-twice", "error", message, path, hint=hint)


def check_together(documents: Iterable[Document], *, is_all: bool = False) -> list[Finding]:
    """Return findings about contradictions between files with fixed names.

    is_all: documents has all of them, so that one can be missing.
    """
    fixed = [document for document in documents if is_fixed(document.path)]
    if not fixed or (len(fixed) == 1 and not is_all):
        return []
    findings = list[Finding]()
    for check in find_hooks("check_together"):
        findings += check(fixed, is_all=is_all)
    return findings


def unreadable_document(path: str, error: OSError) -> Document:
    """Return the document of a file that cannot be read, with the finding about it."""
    unknown = ("file/unreadable", "check the file's permissions")
    code, advice = _READ_ERRORS.get(error.errno or 0, unknown)
    message = f"the file cannot be read: {error.strerror or error}"
    hint = advice or advise("bring it back from git", *RESTORE, path)
    finding = Finding(code, "error", message, path, hint=hint)
    skill = open_room(protocol_of(path) or "skill").layout.find_skill(path)
    return Document(path, skill, None, None, 0, [finding])


# A broken file may be staged, too. `git restore --staged --worktree` would delete one that HEAD
# does not have.
RESTORE = ("git", "checkout", "HEAD", "--")
_UNSTAGE = ("git", "restore", "--staged", "--worktree", "--")


def advise_restore(path: str) -> Hint:
    """Return what to do about a file that cannot be used; the version in git may be good."""
    edit: AnyHint = "edit it"
    skill = ""
    if protocol_of(path) == "skill":
        skill = open_room("skill").layout.find_skill(path)
    if skill:
        edit = advise("edit it, or archive it", "checkpoint", "reset", skill)
    return join_hints(edit, advise("or bring it back from git", *RESTORE, path))


def describe_unmerged(path: str) -> Finding:
    """Return the finding for a file whose merge is not resolved."""
    hint = command("checkpoint", "resolve", plain_path(path))
    if not is_merged(path):
        both = "both records stay, one as another attempt"
        hint = join_hints(
            advise(f"{both}; to see ours", "git", "show", f":2:{path}"),
            advise("theirs", "git", "show", f":3:{path}"),
            advise("then", "git", "add", "--", path),
        )
    return Finding("git/unmerged", "error", "a merge of this file is not resolved", path, hint=hint)


def describe_loss(code: str, path: str, how: str) -> Finding:
    """Return the finding for an append-only record that was lost. how: "changed" or "removed"."""
    message = f"this pipeline record was {how}, and records are only ever added"
    hint = advise("write new content as another attempt; before a commit", *_UNSTAGE, path)
    return Finding(code, "error", message, path, hint=hint)


_READ_ERRORS = {
    errno.EISDIR: ("file/not-a-file", "move it to another place"),
    errno.EFBIG: (
        "json/too-large",
        "a checkpoint is a summary: move old entries to .checkpoints/history",
    ),
    errno.ELOOP: ("file/link-outside", "put a real file in its place"),
    errno.ENOENT: ("file/missing", ""),
}

FOREIGN = "skill/protocol-version"
_BYTE_ORDER_MARK = Finding(
    "json/byte-order-mark",
    "warning",
    "the file starts with a byte order mark",
    hint=advise(
        "other JSON parsers reject it; to remove it",
        "checkpoint",
        "doctor",
        "--fix=json/byte-order-mark",
    ),
)


def _check_value(room: Room, value: Any, skill: str, size: int, now: int) -> list[Finding]:
    """Return the findings about shape and meaning, without their lines."""
    if not isinstance(value, dict):
        names = {list: "a list", type(None): "null", str: "a text", bool: str(value).lower()}
        name = names.get(type(value), "a number")
        message = f"the document is {name}, and a checkpoint is an object {{...}}"
        return [Finding("json/not-an-object", "error", message)]

    findings = room.rules.check(value, skill=skill, size=size, now=now)
    if not is_surely_valid(room.schema, value):
        # a value of the wrong type is also none of the allowed ones: once is enough
        first: dict[str, Mismatch] = {}
        for mismatch in explain(room.schema, value):
            first.setdefault(mismatch.where, mismatch)
        findings += map(room.rules.describe, first.values())

    # our rules do not apply to another version
    return [finding for finding in findings if finding.code == FOREIGN] or findings


def locate_findings(findings: list[Finding], path: str, text: str) -> list[Finding]:
    """Return findings with their path, line and column, sorted."""
    if not findings:
        return []
    from checkpoint_git.core import jsonplace  # late: valid files need none of it

    places = jsonplace.locate_all(text, [finding.where for finding in findings])
    return place_findings(findings, path, places)


def place_findings(
    findings: list[Finding], path: str, places: list[tuple[int, int]]
) -> list[Finding]:
    """Return findings with their path, line and column, sorted. places: of each finding."""
    located = [
        finding._replace(path=path, line=line, column=column)
        for finding, (line, column) in zip(findings, places, strict=True)
    ]
    return sorted(located, key=lambda finding: (finding.line, finding.column))
