"""The pre-commit framework: which files its hooks are for, and our entry in a
.pre-commit-config.yaml.
"""

import re

from checkpoint_git.core.managed_block import find_block, put_block, take_block
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.registry import KINDS

FILE = ".pre-commit-config.yaml"


def files_pattern() -> str:
    """A regular expression for the paths of every protocol's files, as the framework searches for
    it.
    """
    endings = [
        (f"{re.escape(kind.folder)}/" if kind.folder else "")
        + "[^/]+".join(map(re.escape, kind.parts))
        for kind in KINDS
    ]
    return f"(^|/)({'|'.join(endings)})$"


_NEW_FILE = b"repos:\n"
_REPOS = re.compile(rb"^repos:[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_EMPTY = re.compile(rb"^repos: \[\](?=[ \t]*(?:#.*)?\r?$)", re.MULTILINE)
_ITEM = re.compile(rb"^( *)- ")
_OWN_ID = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?id:[ \t]*['\"]?checkpoint-validate['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE
)


def entry_body(indent: str = "") -> bytes:
    # It starts the interpreter recorded by init first: a program with a window starts hooks with a
    # bare PATH.
    text = read_own(__file__, "templates", "pre-commit-entry.yaml").replace(
        "@FILES@", files_pattern()
    )
    return "".join(f"{indent}{line}\n" for line in text.splitlines()).encode()


def has_entry(data: bytes) -> bool:
    return _OWN_ID.search(data) is not None


def add_entry(data: bytes) -> bytes | None:
    """The file with our entry first in its list of repositories; None if that list is written in no
    plain way.
    """
    data, emptied = _EMPTY.subn(b"repos:", data)
    place = (
        (0, _block_indent(data))
        if find_block(data)
        else _find_start_of_list(data, is_empty=emptied == 1)
    )
    if place is None:
        return None
    at, indent = place
    return put_block(data, entry_body(indent.decode()), at, indent=indent)


def new_file() -> bytes:
    return put_block(None, entry_body(), head=_NEW_FILE)


def remove_entry(data: bytes) -> bytes | None:
    block, after = find_block(data), take_block(data, _NEW_FILE)
    if after is None or block is None or "new file" in block.notes:
        return after
    head = _REPOS.search(after)
    if head is None or _find_first(after[head.end() :]).startswith((b" ", b"-")):
        return after
    # as it was, or as it must be
    return after[: head.start()] + b"repos: []" + after[head.start() + len(b"repos:") :]


def is_current(data: bytes) -> bool:
    block = find_block(data)
    return block is None or block.body == entry_body(_block_indent(data).decode())


def _block_indent(data: bytes) -> bytes:
    block = find_block(data)
    item = _ITEM.match(block.body) if block else None
    return item[1] if item else b""


def _find_start_of_list(data: bytes, *, is_empty: bool) -> tuple[int, bytes] | None:
    """(offset of the list's first line, indentation of its items). One plain `repos:` block list,
    or nothing.
    """
    heads = list(_REPOS.finditer(data))
    if len(heads) != 1 or re.search(rb"^(?:---|\.\.\.)", data[heads[0].end() :], re.MULTILINE):
        return None
    at = data.find(b"\n", heads[0].start()) + 1
    if is_empty:
        return at or len(data), b""
    item = _ITEM.match(_find_first(data[at:])) if at else None
    return (at, item[1]) if item else None


def _find_first(data: bytes) -> bytes:
    return next(
        (line for line in data.splitlines() if line.strip() and not line.lstrip().startswith(b"#")),
        b"",
    )
