"""A document as people compare it: one line a leaf, rows named by their id, keys in one stable
order.
"""

from checkpoint_git.core.terminal_text import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

ROW_KEYS = ("id", "number", "sha", "text")


def list_leaves(value: "Any", first: "Sequence[str]" = ()) -> "list[str]":
    """Return lines such as "progress_table[sprint-2].status: complete", without line ends.

    Controls are escaped. value: numbers may be tokens (bytes). first: keys of the document that
    come before the others, in this order; all others go by the alphabet. An item of a list without
    an id is "[]", so that one more item is one more line and not a renumbering of those after it.
    """
    if isinstance(value, dict):
        order = {key: number for number, key in enumerate(first)}
        lines: list[str] = []
        for key in sorted(value, key=lambda key: (order.get(key, len(order)), key)):
            lines += _leaves(key, value[key])
    else:
        lines = list(_leaves("", value))

    return [escape_controls(line) for line in lines]


def _leaves(name: str, value: "Any") -> "Iterator[str]":
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _leaves(f"{name}.{key}", value[key])
    elif isinstance(value, list) and value:
        for item in value:
            yield from _item_leaves(name, item)
    else:
        yield f"{name}: {_leaf_text(value)}"


def _item_leaves(name: str, item: "Any") -> "Iterator[str]":
    key = _find_row_key(item)
    if not key:
        yield from _leaves(f"{name}[]", item)
        return
    rest = {other: field for other, field in item.items() if other != key}
    if key != "text":
        yield from _leaves(f"{name}[{_leaf_text(item[key])}]", rest)
        return
    yield f"{name}[]: {item[key]}"
    if rest:
        yield from _leaves(f"{name}[]", rest)


def _find_row_key(item: "Any") -> str:
    """Return the member that names an item of a list, "" if it has none."""
    if isinstance(item, dict):
        for key in ROW_KEYS:
            if isinstance(item.get(key), (str, bytes)):
                return key
    return ""


def _leaf_text(value: "Any") -> str:
    if isinstance(value, str):
        if value in ("true", "false", "null", "[]", "{}"):
            return f'"{value}"'
        return value
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "[]"
    return "{}"
