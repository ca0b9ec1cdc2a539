"""Managed blocks: lines of ours inside somebody else's file, added and removed to the byte.
Pure.
"""

import re
from typing import Literal, NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError

# The first line may carry notes on what the file was before, so that removing the block can undo
# that too.
Note = Literal["new file", "new folder", "no newline before"]
Comment = tuple[bytes, bytes]  # what begins and what ends a comment
HASH: Comment = (b"# ", b"")
MARKDOWN: Comment = (b"<!-- ", b" -->")

_BEGIN = re.compile(
    rb"^[ \t]*(?:#|<!--) >>> checkpoint-git(?: \(([a-z, ]+)\))? >>>(?: -->)?[ \t]*\r?(?:\n|\Z)",
    re.MULTILINE,
)
_END = re.compile(
    rb"^[ \t]*(?:#|<!--) <<< checkpoint-git <<<(?: -->)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE
)


class Block(NamedTuple):
    """A block is data[start:end], both marker lines included. body: the lines between them, without
    any CR.
    """

    start: int
    end: int
    body: bytes
    notes: tuple[Note, ...]


def find_block(data: bytes) -> Block | None:
    """Raises CheckpointError for two blocks, or a block without its beginning or end."""
    begins, ends = list(_BEGIN.finditer(data)), list(_END.finditer(data))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0].end() > ends[0].start():
        hint = (
            "one '# >>> checkpoint-git >>>' belongs above it, one '# <<< checkpoint-git <<<' below; "
            "or delete both"
        )
        raise CheckpointError("the lines that mark checkpoint-git's block are damaged", hint)

    begin, end = begins[0], ends[0]
    written = (begin[1] or b"").decode().split(", ")
    body = data[begin.end() : end.start()].replace(b"\r\n", b"\n")
    return Block(
        begin.start(), end.end(), body, tuple(note for note in get_args(Note) if note in written)
    )


def has_block(data: bytes) -> bool:
    return not is_damaged(data) and find_block(data) is not None


def is_damaged(data: bytes) -> bool:
    try:
        find_block(data)
    except CheckpointError:
        return True
    return False


def put_block(
    data: bytes | None,
    body: bytes,
    start: int | None = None,
    *,
    head: bytes = b"",
    notes: tuple[Note, ...] = (),
    indent: bytes = b"",
    comment: Comment = HASH,
) -> bytes:
    """Return the file with a block of the lines of `body`.

    The block replaces an earlier one, whose notes stay, or is new. start: where a new block goes,
    at the start of a line; default: the end of the file. data: None makes a new file that starts
    with `head`. indent: of the marker lines.
    """
    if data is None:
        data = head
        start = None
        notes = ("new file", *notes)
    block = find_block(data)
    if block is not None:
        text = _render(data, body, block.notes, indent, comment)
        return data[: block.start] + text + data[block.end :]

    if start is None:
        start = len(data)
    before, after = data[:start], data[start:]
    if not before or before.endswith(b"\n"):
        return before + _render(data, body, notes, indent, comment) + after
    text = _render(data, body, (*notes, "no newline before"), indent, comment)
    return before + _line_end(data) + text + after


def remove_block(data: bytes) -> bytes:
    block = find_block(data)
    if block is None:
        return data
    before, after = data[: block.start], data[block.end :]
    if "no newline before" in block.notes and not after:
        if b"\r\n" in data[block.start : block.end]:
            before = before.removesuffix(b"\r\n")
        else:
            before = before.removesuffix(b"\n")
    return before + after


def take_block(data: bytes, head: bytes = b"") -> bytes | None:
    """Return the file without its block; None if it was made for it and only `head` remains."""
    block = find_block(data)
    rest = remove_block(data)
    if block and "new file" in block.notes and rest == head:
        return None
    return rest


def has_new_folder(data: bytes) -> bool:
    block = find_block(data)
    return block is not None and "new folder" in block.notes


def _render(
    data: bytes, body: bytes, notes: tuple[Note, ...], indent: bytes, comment: Comment
) -> bytes:
    written = f" ({', '.join(notes)})".encode() if notes else b""
    before, after = indent + comment[0], comment[1] + b"\n"
    begin, end = b">>> checkpoint-git" + written + b" >>>", b"<<< checkpoint-git <<<"
    text = before + begin + after + body + before + end + after
    return text.replace(b"\n", _line_end(data))


def _line_end(data: bytes) -> bytes:
    """Return the end of the first line, a newline if there is none."""
    first, newline, _ = data.partition(b"\n")
    if newline and first.endswith(b"\r"):
        return b"\r\n"
    return b"\n"
