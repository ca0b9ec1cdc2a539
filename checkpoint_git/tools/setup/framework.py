"""An entry for us in a .pre-commit-config.yaml, as text: the rest of the file keeps every byte. Pure."""

import re

from checkpoint_git.core.managed_block import find_block, insert_block, remove_block, replace_block
from checkpoint_git.tools.setup.manifest import offers, yaml_quoted

FILE = ".pre-commit-config.yaml"

# The interpreter recorded by init first: a program with a window starts hooks with a bare PATH.
_ENTRY = (
    'sh -c \'p=$(git config checkpoint.install.python) && [ -x "$p" ] && exec "$p" -P -m checkpoint_git validate "$@"; '
    'exec checkpoint validate "$@"\' checkpoint'
)
_NEW_FILE = b"repos:\n"
_REPOS = re.compile(rb"^repos:[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ITEM = re.compile(rb"^( *)- ")
_OWN_ID = re.compile(rb"^[ \t]*(?:-[ \t]+)?id:[ \t]*['\"]?checkpoint-validate['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE)


def entry_body(indent: str = "") -> bytes:
    """Our item of the `repos:` list, indented as the file's own items are."""
    offer = offers()[0]
    lines = [
        "- repo: local",
        "  hooks:",
        f"  - id: {offer.id}",
        f"    name: {offer.name}",
        "    language: system",
        f"    entry: {yaml_quoted(_ENTRY)}",
        f"    files: {yaml_quoted(offer.files)}",
    ]
    return "".join(f"{indent}{line}\n" for line in lines).encode()


def has_entry(data: bytes) -> bool:
    """Whether the file runs our hook already, through our block or an entry written by hand."""
    return _OWN_ID.search(data) is not None


def add_entry(data: bytes) -> bytes | None:
    """The file with our entry last in its list of repositories; None where that list is written in no plain way."""
    if find_block(data) is not None:
        indent = _block_indent(data)
        return replace_block(data, entry_body(indent.decode()), indent)
    place = _find_end_of_list(data)
    if place is None:
        return None
    at, indent = place
    return insert_block(data, at, entry_body(indent.decode()), (), indent)


def new_file() -> bytes:
    """A configuration with our entry alone."""
    return insert_block(_NEW_FILE, len(_NEW_FILE), entry_body(), ("new file",))


def remove_entry(data: bytes) -> bytes | None:
    """The file without our block; None when we made the file and nothing was added to it."""
    block, rest = find_block(data), remove_block(data)
    return None if block and "new file" in block.notes and rest == _NEW_FILE else rest


def is_current(data: bytes) -> bool:
    """Whether the block in the file, if there is one, holds what we would write today."""
    block = find_block(data)
    return block is None or block.body == entry_body(_block_indent(data).decode())


def _block_indent(data: bytes) -> bytes:
    block = find_block(data)
    item = _ITEM.match(block.body) if block else None
    return item[1] if item else b""


def _find_end_of_list(data: bytes) -> tuple[int, bytes] | None:
    """(offset behind the list's last line, indentation of its items). One plain `repos:` block list, or nothing."""
    heads = list(_REPOS.finditer(data))
    if len(heads) != 1 or b"\t-" in data or re.search(rb"^(?:---|\.\.\.)", data[heads[0].end() :], re.MULTILINE):
        return None
    at = data.find(b"\n", heads[0].start()) + 1
    end, indent = 0, None
    for line in data[at:].splitlines(keepends=True) if at else []:
        at += len(line)
        bare = line.strip()
        deeper = indent is not None and _depth(line) > len(indent)
        if not bare or (bare.startswith(b"#") and not deeper):
            continue
        item = _ITEM.match(line)
        if indent is None:
            if item is None:
                return None
            indent = item[1]
        elif not deeper and (item is None or item[1] != indent):
            break
        end = at
    return None if indent is None else (end, indent)


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" "))
