"""Where a value is in a JSON text that jsontext has accepted."""

from typing import Any

from checkpoint_git.core.jsontext import (
    BYTE_ORDER_MARK,
    read_string,
    scan_span,
    skip_space,
    split_pointer,
)


def locate_all(text: str, places: list[str]) -> list[tuple[int, int]]:
    """Line and column (from 1) of each pointer's value, or of its nearest parent that exists."""
    wanted: dict[str, Any] = {}
    for where in places:
        branch = wanted
        for key in split_pointer(where):
            branch = branch.setdefault(key, {})

    start = skip_space(text, int(text.startswith(BYTE_ORDER_MARK)))
    starts: dict[tuple[str, ...], int] = {(): start}
    if wanted:
        _find_starts(text, start, wanted, (), starts)
    paths = [tuple(split_pointer(where)) for where in places]
    offsets = [
        next(starts[path[:end]] for end in range(len(path), -1, -1) if path[:end] in starts)
        for path in paths
    ]
    # each line is counted once
    found: dict[int, tuple[int, int]] = {}
    line, begins, last = 1, 0, 0
    for offset in sorted(set(offsets)):
        line += text.count("\n", last, offset)
        begins = text.rfind("\n", last, offset) + 1 or begins
        found[offset] = line, offset - begins + 1
        last = offset

    return [found[offset] for offset in offsets]


# A tree of the whole text takes a hundred times its bytes, where it is made of little else than
# brackets.
def _find_starts(
    text: str,
    at: int,
    wanted: dict[str, Any],
    path: tuple[str, ...],
    starts: dict[tuple[str, ...], int],
) -> int:
    """Where the value at an offset ends; in `starts`, by path, where what is wanted of it begins,
    key and all.
    """
    opening, number = text[at], 0
    if not wanted or opening not in "{[":
        return scan_span(text, at)[1]
    at = skip_space(text, at + 1)
    while text[at] not in "}]":
        key, begins = str(number), at
        if opening == "{":
            key, at = read_string(text, at)
            at = skip_space(text, skip_space(text, at) + 1)
        if key in wanted:
            starts[*path, key] = begins
        at = skip_space(text, _find_starts(text, at, wanted.get(key, {}), (*path, key), starts))
        at, number = skip_space(text, at + 1) if text[at] == "," else at, number + 1

    return at + 1
