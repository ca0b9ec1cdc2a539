"""Steps that are done one after the other: two lawful versions of such a record must not become an unlawful one.

The law, as a schema's requirement names its places: the list of what is done holds the first of the known steps, in
order and none left out, with instants that do not go back, from the record's beginning to its end; the current step is
the next one, or the last that is done while its status says so. Whatever a decision of a person could make unlawful is
given back as one conflict.
"""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsontext import Node
from checkpoint_git.core.jsonwrite import OURS, THEIRS, Built, Choice, Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsonwrite import Entry
    from checkpoint_git.merge.places import Merging
    from checkpoint_git.merge.strategy import Schema

_GROUP = "#steps"
_PLACES = ("steps", "current", "status", "begin", "end")


def enforce_steps(requirement: "Schema", entries: "dict[Any, Entry]", merging: "Merging") -> None:
    """Makes one conflict of the record's places where the merge, or a decision in it, could break the law.

    requirement: {"steps": "/list", "key": "/name", "at": "/instant", "order": [...], "current": "/field",
    "status": "/field", "done": value, "begin": "/field", "end": "/field"}. A side that breaks the law itself leaves
    everything as it is.
    """
    names = [requirement[name][1:] for name in _PLACES]
    sides = [_members(node) for node in (merging.ours, merging.base, merging.theirs)]
    versions = [[side[name].value if name in side else None for name in names] for side in (sides[0], sides[2])]
    if not all(is_lawful(requirement, *version) for version in versions):
        return
    results = [entries[name].result if name in entries else None for name in names]
    picks = [
        [value_of(results[0], rows), *(value_of(result, head) for result in results[1:])]
        for rows in (OURS, THEIRS)
        for head in (OURS, THEIRS)
    ]
    if all(is_lawful(requirement, *pick) for pick in picks):
        return
    _give_back(names, entries, sides)


def is_lawful(requirement: "Schema", rows: "Any", current: "Any", status: "Any", begin: "Any", end: "Any") -> bool:
    """Whether the values at the record's places keep the law."""
    order = requirement["order"]
    key, at = requirement["key"][1:], requirement["at"][1:]
    if type(rows) is not list or not all(type(row) is dict for row in rows) or current not in order:
        return False
    if [row.get(key) for row in rows] != list(order[: len(rows)]):
        return False
    texts = [begin, *(row.get(at) for row in rows), end]
    instants = [instant for text in texts if (instant := read_instant(text)) is not None]
    if instants != sorted(instants):
        return False
    number = order.index(current)
    return number == len(rows) or (number == len(rows) - 1 and bool(status == requirement["done"]))


def value_of(result: "Any", side: int) -> "Any":
    """The plain value of a result with its conflicts decided for a side; None for what is absent then."""
    if isinstance(result, Choice):
        return value_of(result.sides[side], side)
    if isinstance(result, Built):
        parts = [(entry.key, value_of(entry.result, side)) for entry in result.entries if _is_there(entry.result, side)]
        return dict(parts) if type(result.anchor.value) is dict else [part for _, part in parts]
    return result.value if isinstance(result, Node | Fresh) else None


def _is_there(result: "Any", side: int) -> bool:
    return not isinstance(result, Choice) or result.sides[side] is not None


def _members(node: "Node | None") -> "dict[str, Node]":
    return node.members if node is not None and type(node.members) is dict else {}


def _give_back(names: "list[str]", entries: "dict[Any, Entry]", sides: "list[dict[str, Node]]") -> None:
    ours, base, theirs = sides
    differing = [name for name in names if name in entries and _differ(ours.get(name), theirs.get(name))]
    for name in names:
        if name in entries:
            mine, yours = ours.get(name), theirs.get(name)
            old = base.get(name) if _differ(mine, yours) else mine
            entries[name].result = Choice(f"/{differing[0]}", mine, old, yours, _GROUP)


def _differ(left: "Node | None", right: "Node | None") -> bool:
    if left is None or right is None:
        return left is not right
    return bool(left.value != right.value)
