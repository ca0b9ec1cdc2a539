"""Marked blocks: lines of ours inside a file of somebody else's, put in and taken out to the byte. Pure."""

import re
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError

# The first line may carry notes on what the file was before, so that taking the block out can undo that as well.
Note = Literal["new file", "new folder", "no newline before"]
_NOTES: tuple[Note, ...] = ("new file", "new folder", "no newline before")
_NO_NEWLINE: Note = "no newline before"
# A line of ours is a comment: after "#", or in the marks of Markdown.
_BEGIN = re.compile(
    rb"^[ \t]*(?:#|<!--) >>> checkpoint-git(?: \(([a-z, ]+)\))? >>>(?: -->)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE
)
_END = re.compile(rb"^[ \t]*(?:#|<!--) <<< checkpoint-git <<<(?: -->)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
Comment = tuple[bytes, bytes]
_HASH: Comment = (b"# ", b"")
MARKDOWN: Comment = (b"<!-- ", b" -->")


class Block(NamedTuple):
    """Where a block lies: data[start:end] with both marker lines. body: its lines between them, without any CR."""

    start: int
    end: int
    body: bytes
    notes: tuple[Note, ...]


def find_block(data: bytes) -> Block | None:
    """Our block in a file; None when there is none. A block without its end, or two of them, is a CheckpointError."""
    begins, ends = list(_BEGIN.finditer(data)), list(_END.finditer(data))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0].end() > ends[0].start():
        raise CheckpointError(
            "the lines that mark checkpoint-git's block are damaged",
            "one '# >>> checkpoint-git >>>' belongs above it, one '# <<< checkpoint-git <<<' below; or delete both",
        )
    begin, end = begins[0], ends[0]
    written = (begin[1] or b"").decode().split(", ")
    body = data[begin.end() : end.start()].replace(b"\r\n", b"\n")
    return Block(begin.start(), end.end(), body, tuple(note for note in _NOTES if note in written))


def has_block(data: bytes) -> bool:
    """Whether a file holds a whole block of ours."""
    return not is_damaged(data) and find_block(data) is not None


def is_damaged(data: bytes) -> bool:
    """Whether the marks of our block cannot be read."""
    try:
        find_block(data)
    except CheckpointError:
        return True
    return False


def render_block(body: bytes, notes: tuple[Note, ...] = (), indent: bytes = b"", comment: Comment = _HASH) -> bytes:
    """The block as whole lines; body is whole lines too and keeps its own indentation. comment: what begins and ends
    a comment there.
    """
    said = f" ({', '.join(notes)})".encode() if notes else b""
    before, after = indent + comment[0], comment[1] + b"\n"
    return b"".join(
        (before, b">>> checkpoint-git", said, b" >>>", after, body, before, b"<<< checkpoint-git <<<", after)
    )


def insert_block(
    data: bytes, at: int, body: bytes, notes: tuple[Note, ...] = (), indent: bytes = b"", comment: Comment = _HASH
) -> bytes:
    """The file with a new block at an offset where a line starts, or at the end of a last line that is not ended."""
    joined = at > 0 and data[at - 1 : at] != b"\n"
    text = render_block(body, (*notes, _NO_NEWLINE) if joined else notes, indent, comment)
    text = b"\n" + text if joined else text
    return data[:at] + _in_style_of(data, text) + data[at:]


def replace_block(data: bytes, body: bytes, indent: bytes = b"") -> bytes:
    """The file with the body of its block changed; its notes stay. There must be a block."""
    block = find_block(data)
    assert block is not None
    is_markdown = data[block.start : block.end].lstrip().startswith(MARKDOWN[0])
    text = _in_style_of(data, render_block(body, block.notes, indent, MARKDOWN if is_markdown else _HASH))
    return data[: block.start] + text + data[block.end :]


def remove_block(data: bytes) -> bytes:
    """The file as it would be without the block. What others wrote after it stays on lines of its own."""
    block = find_block(data)
    if block is None:
        return data
    before, after = data[: block.start], data[block.end :]
    if _NO_NEWLINE in block.notes and not after:
        before = before.removesuffix(b"\n").removesuffix(b"\r")
    return before + after


def _in_style_of(data: bytes, text: bytes) -> bytes:
    first, newline, _ = data.partition(b"\n")
    return text.replace(b"\n", b"\r\n") if newline and first.endswith(b"\r") else text
