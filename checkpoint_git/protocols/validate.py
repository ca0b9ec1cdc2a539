"""Whether one document is a valid checkpoint: text, shape and meaning in turn. Pure: bytes in,
findings out.
"""

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
    """Return a file's document with what is wrong with it.

    path: relative, with "/"; its file name says whose checkpoint it must be. now: seconds since
    1970.
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
    return Document(
        path, skill, value if isinstance(value, dict) else None, text, len(data), located
    )


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
    """What has the shape of a key or token. It is named by its place alone: no finding prints
    it.
    """
    from checkpoint_git.core.redact import holds_secret  # late: it compiles large patterns

    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            is_key = holds_secret(str(key))
            is_typed = is_skill and not (is_key or {*str(key)} & {*"./~"})  # a command can name it
            yield from _find_secrets(
                key if is_key else item, jsontext.join_pointer(where, str(key)), is_skill=is_typed
            )
    elif isinstance(value, str) and holds_secret(value):
        hint: AnyHint = "remove it from the file"
        if is_skill:
            hint = command(
                "checkpoint", "update", OWN, f"--{where[1:].replace('/', '.')}=[removed]"
            )
        message = "this looks like a key or token, and git would keep it for good (revoke it if it was pushed)"
        yield Finding("content/secret", "error", message, where=where, hint=hint)


def check_text(path: str, data: bytes) -> list[Finding]:
    """Is it JSON? No schema is asked."""
    try:
        parse_any(jsontext.decode(data))
    except jsontext.JsonTextError as error:
        return [
            Finding(
                error.code,
                "error",
                escape_controls(error.message),
                path,
                "",
                error.line,
                error.column,
            )
        ]

    return []


def name_skill(finding: Finding, path: str) -> Finding:
    """Return the finding with the name of the file's checkpoint in its hint."""
    if not isinstance(finding.hint, Hint):
        return finding
    skill = open_room(protocol_of(path) or "skill").layout.find_skill(path)
    return finding._replace(hint=fill_blank(finding.hint, OWN, skill)) if skill else finding


def iterate_checked(files: Iterable[tuple[str, FileContent]], now: int) -> Iterator[Document]:
    """files: (relative path, content or the error of reading it)."""
    for path, data in files:
        yield (
            unreadable_document(path, data)
            if isinstance(data, OSError)
            else check_document(path, data, now=now)
        )


def find_twins(paths: Iterable[str]) -> Iterator[Finding]:
    """Files whose names differ by capital letters only."""
    first: dict[str, str] = {}
    for path in paths:
        twin, name = (
            first.setdefault(path.casefold(), path),
            path.rpartition("/")[2].removesuffix(".checkpoint.json"),
        )
        if twin != path:
            message = f"its name differs from {escape_controls(twin)} only in case: macOS and Windows see one file"
            hint = advise("rename one of them, or archive it", "checkpoint", "reset", name)
            yield Finding("file/name-twice", "error", message, path, hint=hint)


def check_together(documents: Iterable[Document], *, is_all: bool = False) -> list[Finding]:
    """What files that have to fit each other say against each other. is_all: one that is not among
    them is missing.
    """
    fixed = [document for document in documents if is_fixed(document.path)]
    checks = find_hooks("check_together") if len(fixed) > 1 - is_all else ()
    return [finding for check in checks for finding in check(fixed, is_all=is_all)]


def unreadable_document(path: str, error: OSError) -> Document:
    code, hint = _READ_ERRORS.get(
        error.errno or 0, ("file/unreadable", "check the file's permissions")
    )
    message = f"the file cannot be read: {error.strerror or error}"
    skill = open_room(protocol_of(path) or "skill").layout.find_skill(path)
    advised = hint or advise("bring it back from git", *RESTORE, path)
    return Document(
        path, skill, None, None, 0, [Finding(code, "error", message, path, hint=advised)]
    )


# A broken file may be staged, too. `git restore --staged --worktree` would delete one that HEAD
# does not have.
RESTORE = ("git", "checkout", "HEAD", "--")
_UNSTAGE = ("git", "restore", "--staged", "--worktree", "--")


def advise_restore(path: str) -> Hint:
    """Return what to do about a file that cannot be used; what git tracks of it may be."""
    skill = open_room("skill").layout.find_skill(path) if protocol_of(path) == "skill" else ""
    edit: AnyHint = "edit it"
    if skill:
        edit = advise("edit it, or archive it", "checkpoint", "reset", skill)
    return join_hints(edit, advise("or bring it back from git", *RESTORE, path))


def describe_unmerged(path: str) -> Finding:
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
    """Of a record that may only be added. how: "changed" or "removed"."""
    hint = advise("write new content as another attempt; before a commit", *_UNSTAGE, path)
    return Finding(
        code,
        "error",
        f"this pipeline record was {how}, and records are only ever added",
        path,
        hint=hint,
    )


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
    if not isinstance(value, dict):
        names = {list: "a list", type(None): "null", str: "a text", bool: str(value).lower()}
        message = f"the document is {names.get(type(value), 'a number')}, and a checkpoint is an object {{...}}"
        return [Finding("json/not-an-object", "error", message)]

    findings = room.rules.check(value, skill=skill, size=size, now=now)
    if not is_surely_valid(room.schema, value):
        # a value of the wrong type is also none of the allowed ones: once is enough
        first: dict[str, Mismatch] = {}
        for mismatch in explain(room.schema, value):
            first.setdefault(mismatch.where, mismatch)
        findings += map(room.rules.describe, first.values())

    # to what another version says, our rules do not apply
    return [finding for finding in findings if finding.code == FOREIGN] or findings


def locate_findings(findings: list[Finding], path: str, text: str) -> list[Finding]:
    if not findings:
        return []
    from checkpoint_git.core import jsonplace  # what is valid is never looked up

    return place_findings(
        findings, path, jsonplace.locate_all(text, [finding.where for finding in findings])
    )


def place_findings(
    findings: list[Finding], path: str, places: list[tuple[int, int]]
) -> list[Finding]:
    located = [
        finding._replace(path=path, line=line, column=column)
        for finding, (line, column) in zip(findings, places, strict=True)
    ]
    return sorted(located, key=lambda finding: (finding.line, finding.column))
