"""Where a value is in a JSON text that jsontext has accepted, found without a tree."""

from checkpoint_git.core import jsontext
from checkpoint_git.core.jsontext import position_of, scan_span, scanstring

_FEW = 8  # from here on one tree is cheaper than reading the text again for every place


def locate_all(text: str, places: list[str]) -> list[tuple[int, int]]:
    """Line and column (from 1) of each pointer's value, or of its nearest parent that exists."""
    if len(places) > _FEW:
        root = jsontext.parse(text)
        return _find_positions(text, [jsontext.find_node(root, where).key_start for where in places])
    return [locate(text, where) for where in places]


def _find_positions(text: str, offsets: list[int]) -> list[tuple[int, int]]:
    # as position_of, but each line is counted once
    found: dict[int, tuple[int, int]] = {}
    line, begins, last = 1, 0, 0
    for offset in sorted(set(offsets)):
        line += text.count("\n", last, offset)
        begins = text.rfind("\n", last, offset) + 1 or begins
        found[offset] = line, offset - begins + 1
        last = offset
    return [found[offset] for offset in offsets]


def locate(text: str, where: str) -> tuple[int, int]:
    at = key_at = _skip(text, 1 if text.startswith(jsontext.BYTE_ORDER_MARK) else 0)
    for key in jsontext.split_pointer(where):
        found = _find_member(text, at, key)
        if found is None:
            break
        key_at, at = found
    return position_of(text, key_at)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _find_member(text: str, at: int, wanted: str) -> tuple[int, int] | None:
    is_object, index = text[at] == "{", 0
    if not is_object:
        if text[at] != "[" or not wanted.isdecimal():
            return None
        wanted = str(int(wanted))
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        name, start = str(index), at
        if is_object:
            name, end = scanstring(text, at + 1, True)
            start = _skip(text, _skip(text, end) + 1)
        if name == wanted:
            return at, start
        at = _skip(text, scan_span(text, start)[1])
        at = _skip(text, at + 1) if text[at] == "," else at
        index += 1
    return None
