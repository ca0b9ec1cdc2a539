"""Read JSON Lines, a record on each line, as the list of its records."""

from checkpoint_git.core.jsontext import (
    BYTE_ORDER_MARK,
    CONTAINERS,
    LAZY_BELOW,
    JsonTextError,
    Node,
    node_at,
    parse,
    refuse_depth,
    scan_tokens,
    skip_space,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse_lines(text: str) -> Node:
    """Return the list of a text's records.

    Raise JsonTextError for a line that is not one object or list. Empty lines are allowed. The
    node begins at the first record and ends behind the last one.
    """
    records: list[Node] = []
    offset = _find_start(text)
    while offset < len(text):
        end = _find_line_end(text, offset)
        start = skip_space(text, offset)
        if start < end:
            value = _read_record(text, start, end)
            records.append(node_at(text, start, start, value, end - start < LAZY_BELOW))
        offset = end + 1

    values = [record.value for record in records]
    if not records:
        return Node(text, offset, offset, offset, values, records)
    return Node(text, records[0].start, records[0].start, records[-1].end, values, records)


def _find_start(text: str) -> int:
    if text.startswith(BYTE_ORDER_MARK):
        return len(BYTE_ORDER_MARK)
    return 0


def _find_line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    if end < 0:
        return len(text)
    return end


def _read_record(text: str, start: int, end: int) -> "Any":
    line = text[start:end]
    if line.startswith(BYTE_ORDER_MARK):  # scan_tokens would pass over it, as at a file's start
        message = "a byte order mark is only allowed at the start of the file"
        raise JsonTextError("json/syntax", message, text, start)

    try:
        value = scan_tokens(line)
        refuse_depth(line, value)
    except JsonTextError as error:
        raise JsonTextError(
            error.code, error.message, text, start + error.offset, error.hint
        ) from None

    if type(value) not in CONTAINERS:
        message = "a line of JSON Lines is an object or a list"
        raise JsonTextError("json/syntax", message, text, start)

    return value


def parse_any(text: str) -> Node:
    """Return a document or, of JSON Lines, the list of its records. Raise JsonTextError."""
    try:
        return parse(text)
    except JsonTextError:
        if begins_with_record(text):
            return parse_lines(text)
        raise


def begins_with_record(text: str) -> bool:
    """Return whether a text is JSON Lines: its first line that is not empty is a record."""
    start = skip_space(text, _find_start(text))
    try:
        _read_record(text, start, _find_line_end(text, start))
    except JsonTextError:
        return False
    return True
