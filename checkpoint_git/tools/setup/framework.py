"""The pre-commit framework: the files that its hooks check, and our entry in
.pre-commit-config.yaml.
"""

import re

from checkpoint_git.core.managed_block import find_block, put_block, take_block
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.registry import KINDS

FILE = ".pre-commit-config.yaml"


def files_pattern() -> str:
    """Return the regular expression by which the framework finds every protocol's files."""
    endings = []
    for kind in KINDS:
        ending = "[^/]+".join(map(re.escape, kind.parts))
        if kind.folder:
            ending = f"{re.escape(kind.folder)}/{ending}"
        endings.append(ending)
    return f"(^|/)({'|'.join(endings)})$"


_NEW_FILE = b"repos:\n"
_REPOS = re.compile(rb"^repos:[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_EMPTY = re.compile(rb"^repos: \[\](?=[ \t]*(?:#.*)?\r?$)", re.MULTILINE)
_ITEM = re.compile(rb"^( *)- ")
_OWN_ID = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?id:[ \t]*['\"]?checkpoint-validate['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE
)


def entry_body(indent: str = "") -> bytes:
    """Return our entry, indented. It starts the interpreter that init recorded before it looks at
    PATH: a program with a window starts hooks with a bare PATH.
    """
    template = read_own(__file__, "templates", "pre-commit-entry.yaml")
    text = template.replace("@FILES@", files_pattern())
    return "".join(f"{indent}{line}\n" for line in text.splitlines()).encode()


def has_entry(data: bytes) -> bool:
    return _OWN_ID.search(data) is not None


def add_entry(data: bytes) -> bytes | None:
    """Return the file with our entry first in its list of repositories; None if the list is not
    written in a plain way.
    """
    data, emptied = _EMPTY.subn(b"repos:", data)
    if find_block(data):
        indent = _block_indent(data)
        return put_block(data, entry_body(indent.decode()), 0, indent=indent)

    place = _find_start_of_list(data, is_empty=emptied == 1)
    if place is None:
        return None
    offset, indent = place
    return put_block(data, entry_body(indent.decode()), offset, indent=indent)


def new_file() -> bytes:
    return put_block(None, entry_body(), head=_NEW_FILE)


def remove_entry(data: bytes) -> bytes | None:
    """Return the file without our entry; None if nothing is left of it."""
    block = find_block(data)
    after = take_block(data, _NEW_FILE)
    if after is None or block is None or "new file" in block.notes:
        return after
    head = _REPOS.search(after)
    if head is None or _find_first_line(after[head.end() :]).startswith((b" ", b"-")):
        return after
    # the list is empty now: as it was, or as the framework wants it
    return after[: head.start()] + b"repos: []" + after[head.start() + len(b"repos:") :]


def is_current(data: bytes) -> bool:
    block = find_block(data)
    return block is None or block.body == entry_body(_block_indent(data).decode())


def _block_indent(data: bytes) -> bytes:
    block = find_block(data)
    if block is None:
        return b""
    item = _ITEM.match(block.body)
    return item[1] if item else b""


def _find_start_of_list(data: bytes, *, is_empty: bool) -> tuple[int, bytes] | None:
    """Return the offset of the first line of the list of repositories, and the indentation of its
    items; None unless there is exactly one plain `repos:` block list.
    """
    heads = list(_REPOS.finditer(data))
    if len(heads) != 1 or re.search(rb"^(?:---|\.\.\.)", data[heads[0].end() :], re.MULTILINE):
        return None

    offset = data.find(b"\n", heads[0].start()) + 1
    if is_empty:
        return offset or len(data), b""
    if not offset:
        return None
    item = _ITEM.match(_find_first_line(data[offset:]))
    return (offset, item[1]) if item else None


def _find_first_line(data: bytes) -> bytes:
    # the first line that is neither empty nor a comment
    for line in data.splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line
    return b""
