"""JSON Lines: a record on each line, read as the list of its records."""

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
    """Return the list of a text's records. Raise JsonTextError for a line that is not one object or
    list.

    Empty lines are allowed. The node begins at the first record and ends behind the last one.
    """
    records: list[Node] = []
    at = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    while at < len(text):
        end = text.find("\n", at)
        if end < 0:
            end = len(text)
        start = skip_space(text, at)
        if start < end:
            value = _read_record(text, start, end)
            records.append(node_at(text, start, start, value, end - start < LAZY_BELOW))
        at = end + 1

    values = [record.value for record in records]
    if not records:
        return Node(text, at, at, at, values, records)
    return Node(text, records[0].start, records[0].start, records[-1].end, values, records)


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
    """Return whether the first line that is not empty is a record, so that the text is meant as
    JSON Lines.
    """
    start = skip_space(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
    end = text.find("\n", start)
    try:
        _read_record(text, start, len(text) if end < 0 else end)
    except JsonTextError:
        return False
    return True
