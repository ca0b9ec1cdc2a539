"""How a vector is written down, and the rules that its expected result comes from."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

VERSIONS = ("base", "ours", "theirs")

Vector = dict[str, Any]
Value = Any
ABSENT: Any = ("absent",)
CONFLICT: Any = ("conflict",)


def text_of(value: Value) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def vector(
    name: str, about: str, versions: Iterable[Value], expect: Value, schema: Value = None
) -> Vector:
    """versions: base, ours and theirs."""
    texts = dict(zip(VERSIONS, map(text_of, versions), strict=True))
    return {
        "id": name,
        "about": about,
        **texts,
        **({"schema": schema} if schema else {}),
        "expect": expect,
    }


def clean(value: Value) -> Value:
    return {"clean": value}


def conflict(ours: Value, theirs: Value) -> Value:
    """What the document is with one side kept of every conflict."""
    return {"conflict": {"ours": ours, "theirs": theirs}}


def three_way(base: Value, ours: Value, theirs: Value) -> Value:
    if same(ours, theirs) or same(theirs, base):
        return ours
    return theirs if same(ours, base) else CONFLICT


def same(one: Value, other: Value) -> bool:
    return bool(type(one) is type(other) and one == other)


def member(value: Value) -> dict[str, Value]:
    return {} if value is ABSENT else {"k": value}


def say(value: Value) -> str:
    return "absent" if value is ABSENT else json.dumps(value)


def place(rule: Value, name: str = "list") -> Value:
    return {"properties": {name: {"x-merge": rule}}}


def in_list(items: Value) -> Value:
    return {"list": items}


def with_items(base: Value, *changes: tuple[int, Value]) -> Value:
    """Return a list with other values at some indices."""
    found = list(base)
    for index, value in changes:
        found[index] = value
    return found


def either(*lists: Value, ours: Value, theirs: Value) -> Value:
    """Expect one of several lists, or a conflict whose choices are the sides."""
    lawful = [clean(in_list(items)) for items in lists]
    return {"one_of": [*lawful, conflict(in_list(ours), in_list(theirs))]}


def listed(
    name: str, about: str, base: Value, ours: Value, theirs: Value, schema: Value = None
) -> Vector:
    """A list that merges without conflict: its items, and the order of those that the versions
    agree on.
    """
    items = [item for item in base if item in ours and item in theirs]
    for item in ours + theirs:
        items += [] if item in base or item in items else [item]
    expect = {
        "list": {
            "at": "/list",
            "items": items,
            "before": list(find_order(items, base, ours, theirs)),
        }
    }
    versions = ({"list": base}, {"list": ours}, {"list": theirs})
    return vector(name, about, versions, expect, schema)


def find_order(items: Value, base: Value, ours: Value, theirs: Value) -> Iterator[list[Value]]:
    """Pairs whose order is settled: by the side that changed it, else by whoever has both."""
    for one, other in itertools.permutations(items, 2):
        orders = [
            (side.index(one) < side.index(other)) if one in side and other in side else None
            for side in (base, ours, theirs)
        ]
        old, mine, yours = orders
        if mine is None or yours is None or mine == yours:
            settled = mine if mine is not None else yours
        else:
            settled = None if old is None else yours if mine == old else mine
        if settled:
            yield [one, other]
