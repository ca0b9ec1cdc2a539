"""The pre-commit framework: what .pre-commit-hooks.yaml offers it, and our entry in a .pre-commit-config.yaml."""

import re

from checkpoint_git.core.managed_block import find_block, put_block, take_block
from checkpoint_git.protocols.registry import KINDS

FILE = ".pre-commit-config.yaml"
MANIFEST = ".pre-commit-hooks.yaml"


# what we offer


def files_pattern() -> str:
    """A regular expression for the paths of every protocol's files, as pre-commit searches for it."""
    endings = [
        (f"{re.escape(kind.folder)}/" if kind.folder else "") + "[^/]+".join(map(re.escape, kind.parts))
        for kind in KINDS
    ]
    return f"(^|/)({'|'.join(endings)})$" if len(endings) > 1 else f"(^|/){endings[0]}$"


def manifest_text() -> str:
    return f"""\
# Made from checkpoint_git/tools/setup/framework.py; a test compares the two.
- id: checkpoint-validate
  name: checkpoints are valid
  description: Checks every changed checkpoint file against its protocol.
  entry: checkpoint validate
  language: python
  files: {yaml_quoted(files_pattern())}
- id: checkpoint-doctor
  name: checkpoints match the repository
  description: Compares all checkpoints with the history and the files, and looks after the merge driver and the hooks.
  entry: checkpoint-doctor
  language: python
  always_run: true
  pass_filenames: false
"""


def yaml_quoted(text: str) -> str:
    """A text as a single-quoted YAML scalar; it must not hold a newline."""
    return "'" + text.replace("'", "''") + "'"


# our entry

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
    lines = [
        "- repo: local",
        "  hooks:",
        "  - id: checkpoint-validate",
        "    name: checkpoints are valid",
        "    language: system",
        f"    entry: {yaml_quoted(_ENTRY)}",
        f"    files: {yaml_quoted(files_pattern())}",
    ]
    return "".join(f"{indent}{line}\n" for line in lines).encode()


def has_entry(data: bytes) -> bool:
    """Whether the file runs our hook already, through our block or an entry written by hand."""
    return _OWN_ID.search(data) is not None


def add_entry(data: bytes) -> bytes | None:
    """The file with our entry last in its list of repositories; None where that list is written in no plain way."""
    place = (0, _block_indent(data)) if find_block(data) else _find_end_of_list(data)
    if place is None:
        return None
    at, indent = place
    return put_block(data, entry_body(indent.decode()), at, indent=indent)


def new_file() -> bytes:
    return put_block(None, entry_body(), head=_NEW_FILE)


def remove_entry(data: bytes) -> bytes | None:
    return take_block(data, _NEW_FILE)


def is_current(data: bytes) -> bool:
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
        deeper = indent is not None and len(line) - len(line.lstrip(b" ")) > len(indent)
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
