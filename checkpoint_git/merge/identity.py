"""What makes two items of a list the same item, and the one order in which equals-in-rank are put."""

from checkpoint_git.core.jsonwrite import scalar_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsontext import Node

    Identity = tuple[str, int]


NATURAL_KEYS = ("id", "number", "name", "sha", "path")


def canonical_text(value: "Any") -> str:
    """The value as JSON with sorted keys and no spaces; numbers as they were written."""
    if type(value) is dict:
        return "{" + ",".join(scalar_text(key) + ":" + canonical_text(value[key]) for key in sorted(value)) + "}"
    if type(value) is list:
        return "[" + ",".join([canonical_text(item) for item in value]) + "]"
    return scalar_text(value)


def canonical_rank(value: "Any") -> "tuple[int, float, str]":
    """A sort key: null, false, true, numbers by value, texts by code point, then arrays and objects by their text."""
    kind = type(value)
    if kind is str:
        return (4, 0.0, value)
    if kind is bytes:
        return (3, float(value), value.decode())
    if kind is dict or kind is list:
        return (5, 0.0, canonical_text(value))
    return (0 if value is None else 2 if value else 1, 0.0, "")


def item_key(value: "Any", names: "tuple[str, ...]") -> str:
    """The text that identifies an item: its named members, or the whole item where it has none of that shape.

    A bare text in a list keyed by one name stands for an item with that name's value: "Write" is {"text": "Write"}.
    """
    if names:
        if type(value) is dict and all(name in value for name in names):
            return "k" + "\n".join([canonical_text(value[name]) for name in names])
        if type(value) is str and len(names) == 1:
            return "k" + scalar_text(value)
    return "v" + canonical_text(value)


def identify(items: "list[Node]", names: "tuple[str, ...]") -> "dict[Identity, Node]":
    """The items by (key, k): the k-th item of an equal key, so that a multiset keeps its duplicates."""
    counts: dict[str, int] = {}
    found: dict[Identity, Node] = {}
    for item in items:
        key = item_key(item.value, names)
        count = counts.get(key, 0)
        counts[key] = count + 1
        found[key, count] = item
    return found


def find_natural_key(lists: "list[list[Node]]") -> str:
    """The first of the natural keys by which every item of every list is known and unique in its list, or ""."""
    for name in NATURAL_KEYS:
        if all(_is_keyed_by(items, name) for items in lists):
            return name
    return ""


def _is_keyed_by(items: "list[Node]", name: str) -> bool:
    seen = set()
    for item in items:
        value = item.value
        if type(value) is not dict or name not in value or type(value[name]) in (dict, list):
            return False
        seen.add(scalar_text(value[name]))
    return len(seen) == len(items)
