"""Where a value stands in a JSON text, found without a tree: for the few places that findings of one file name.

Only for texts that jsontext has accepted.
"""

try:
    from _json import make_scanner, scanstring
except ImportError:  # an interpreter without the C accelerator
    from json import decoder, scanner

    make_scanner = scanner.make_scanner  # type: ignore[misc]  # typeshed knows the C one only
    scanstring = decoder.scanstring  # type: ignore[attr-defined]  # the Python one, which typeshed leaves out

from typing import Any

from checkpoint_git.core import jsontext

_SPACE = " \t\n\r"
_FEW = 8  # from here on one tree is cheaper than reading the text again for every place


class _Settings:
    """What the C scanner asks for; the values it makes are thrown away, so they are as cheap as can be."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_int = parse_float = parse_constant = staticmethod(str)

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


_scan = make_scanner(_Settings())  # type: ignore[arg-type]  # any object with these attributes serves


def locate_all(text: str, places: list[str]) -> list[tuple[int, int]]:
    """Line and column (from 1) of each JSON Pointer's value, or of its nearest parent that exists."""
    if len(places) > _FEW:
        root = jsontext.parse(text)
        return _find_positions(text, [jsontext.find_node(root, where).key_start for where in places])
    return [locate(text, where) for where in places]


def _find_positions(text: str, offsets: list[int]) -> list[tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    line, begins, last = 1, 0, 0
    for offset in sorted(set(offsets)):
        line += text.count("\n", last, offset)
        begins = text.rfind("\n", last, offset) + 1 or begins
        found[offset] = line, offset - begins + 1
        last = offset
    return [found[offset] for offset in offsets]


def locate(text: str, where: str) -> tuple[int, int]:
    """Line and column of one place; a member of an object is found by its key."""
    at = key_at = _skip(text, 1 if text.startswith(jsontext.BYTE_ORDER_MARK) else 0)
    for key in jsontext.split_pointer(where):
        found = _find_member(text, at, key)
        if found is None:
            break
        key_at, at = found
    return jsontext.position_of(text, key_at)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _find_member(text: str, at: int, key: str) -> tuple[int, int] | None:
    """(where a member begins, where its value begins) in the container at an offset; None where it has none such."""
    if text[at] == "{":
        return _find_key(text, _skip(text, at + 1), key)
    if text[at] == "[" and key.isdecimal():
        return _find_index(text, _skip(text, at + 1), int(key))
    return None


def _find_key(text: str, at: int, wanted: str) -> tuple[int, int] | None:
    while text[at] == '"':
        name, end = scanstring(text, at + 1, True)
        start = _skip(text, _skip(text, end) + 1)
        if name == wanted:
            return at, start
        at = _after_comma(text, start)
    return None


def _find_index(text: str, at: int, wanted: int) -> tuple[int, int] | None:
    index = 0
    while text[at] not in "]}":
        if index == wanted:
            return at, at
        at = _after_comma(text, at)
        index += 1
    return None


def _after_comma(text: str, start: int) -> int:
    """Where the next member begins, or the container's end."""
    end: Any = _scan(text, start)[1]
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at
