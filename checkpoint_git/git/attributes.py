"""The gitattributes lines that give checkpoint files their merge driver, as text. Pure: it reads and writes no file."""

import re
from typing import NamedTuple

from checkpoint_git.core.managed_block import Note, find_block, insert_block, remove_block, replace_block
from checkpoint_git.protocols.registry import attribute_patterns

DRIVER = "checkpoint"
OTHER_DRIVER = "opchain-checkpoint"
FILE = ".gitattributes"

_ADOPTED = b"# checkpoint-git adopted: "
_OTHER_MERGE = re.compile(rb"(?<=[ \t])merge=" + re.escape(OTHER_DRIVER.encode()) + rb"(?=[ \t\r\n]|\Z)")


class Line(NamedTuple):
    """One line of a gitattributes file that names the other driver; number counts from 1."""

    number: int
    text: str


def attribute_lines() -> list[str]:
    """What our block holds, made from the table of protocols."""
    return [f"{pattern} merge={DRIVER} diff={DRIVER}" for pattern in attribute_patterns()]


def attribute_body() -> bytes:
    """The same as the body of a block."""
    return "".join(f"{line}\n" for line in attribute_lines()).encode()


def has_attributes(data: bytes) -> bool:
    """Whether a gitattributes file holds all our lines, in our block or written by hand."""
    written = {b" ".join(line.split()) for line in data.splitlines()}
    return all(line.encode() in written for line in attribute_lines())


def find_other_driver(data: bytes) -> list[Line]:
    """The lines that give files to the other driver; comments are none."""
    lines = enumerate(data.splitlines(), 1)
    return [
        Line(number, line.decode("utf-8", "replace"))
        for number, line in lines
        if not line.lstrip().startswith(b"#") and _OTHER_MERGE.search(line)
    ]


def add_attributes(data: bytes | None, notes: tuple[Note, ...] = ()) -> bytes:
    """The file with our block at its end, where it wins over earlier lines; data None: there was no file."""
    if data is None:
        return insert_block(b"", 0, attribute_body(), ("new file", *notes))
    if find_block(data) is not None:
        return replace_block(data, attribute_body())
    return insert_block(data, len(data), attribute_body())


def remove_attributes(data: bytes) -> bytes | None:
    """The file without our block and with adopted lines given back; None when nothing but ours was in it."""
    block = find_block(data)
    rest = give_back_lines(remove_block(data))
    return None if block and "new file" in block.notes and not rest else rest


def adopt_lines(data: bytes) -> bytes:
    """The other driver's lines made ours; each keeps its other attributes, and its first form in a comment above it."""
    return b"".join(_adopted(line) for line in data.splitlines(keepends=True))


def give_back_lines(data: bytes) -> bytes:
    """The opposite of adopt_lines, to the byte. A line that was edited since stays as it is."""
    lines = data.splitlines(keepends=True)
    pairs = zip([b"", *lines], lines, strict=False)
    return b"".join(_given_back(above, line) for above, line in pairs if not line.startswith(_ADOPTED))


def _given_back(above: bytes, line: bytes) -> bytes:
    original = above.removeprefix(_ADOPTED).rstrip(b"\r\n")
    replaced = above.startswith(_ADOPTED) and _ours(original) == line.rstrip(b"\r\n")
    return original + line[len(line.rstrip(b"\r\n")) :] if replaced else line


def _adopted(line: bytes) -> bytes:
    if line.lstrip().startswith(b"#") or not _OTHER_MERGE.search(line):
        return line
    end = b"" if line.endswith((b"\n", b"\r")) else b"\n"
    return _ADOPTED + line + end + _ours(line)


def _ours(line: bytes) -> bytes:
    return _OTHER_MERGE.sub(b"merge=" + DRIVER.encode(), line)
