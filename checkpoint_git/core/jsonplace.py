"""Find where a value is in a JSON text that jsontext has accepted."""

from typing import Any

from checkpoint_git.core.jsontext import (
    BYTE_ORDER_MARK,
    read_string,
    scan_span,
    skip_space,
    split_pointer,
)


def locate_all(text: str, places: list[str]) -> list[tuple[int, int]]:
    """Return line and column (from 1) of each pointer's value, or of its nearest parent."""
    wanted: dict[str, Any] = {}
    for where in places:
        branch = wanted
        for key in split_pointer(where):
            branch = branch.setdefault(key, {})

    start = skip_space(text, int(text.startswith(BYTE_ORDER_MARK)))
    starts: dict[tuple[str, ...], int] = {(): start}
    if wanted:
        _find_starts(text, start, wanted, (), starts)

    offsets = []
    for where in places:
        path = tuple(split_pointer(where))
        while path not in starts:
            path = path[:-1]
        offsets.append(starts[path])

    found = _find_lines(text, offsets)
    return [found[offset] for offset in offsets]


def _find_lines(text: str, offsets: list[int]) -> dict[int, tuple[int, int]]:
    """Return line and column (from 1) by offset."""
    found: dict[int, tuple[int, int]] = {}
    line = 1
    line_start = 0
    last = 0
    for offset in sorted(set(offsets)):  # in order, so that each line is counted once
        line += text.count("\n", last, offset)
        line_end = text.rfind("\n", last, offset)
        if line_end >= 0:
            line_start = line_end + 1
        found[offset] = (line, offset - line_start + 1)
        last = offset

    return found


# A tree of the whole text takes a hundred times its bytes, where it is made of little else than
# brackets.
def _find_starts(
    text: str,
    offset: int,
    wanted: dict[str, Any],
    path: tuple[str, ...],
    starts: dict[tuple[str, ...], int],
) -> int:
    """Return the end of the value at an offset, and write into `starts` where its members begin.

    wanted: the members to note, each with those of its own. A member begins with its key.
    """
    opening = text[offset]
    if not wanted or opening not in "{[":
        return scan_span(text, offset)[1]

    offset = skip_space(text, offset + 1)
    number = 0
    while text[offset] not in "}]":
        member_start = offset
        key = str(number)
        if opening == "{":
            key, offset = read_string(text, offset)
            offset = skip_space(text, skip_space(text, offset) + 1)
        if key in wanted:
            starts[*path, key] = member_start

        end = _find_starts(text, offset, wanted.get(key, {}), (*path, key), starts)
        offset = skip_space(text, end)
        if text[offset] == ",":
            offset = skip_space(text, offset + 1)
        number += 1

    return offset + 1
