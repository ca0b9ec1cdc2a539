"""Keep the law of steps that are done one after the other.

The law, as a schema's requirement names its places: the list of what is done has the first of the
known steps, in order and none left out, with instants that do not go back, from the record's
beginning to its end; the current step is the next one, or the last that is done if the status says
so. Two lawful versions of a record must not merge to an unlawful one: whatever a user's decision
could make unlawful becomes one conflict.
"""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.merge.result import OURS, THEIRS, Choice, is_same, members_of, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.result import Entry
    from checkpoint_git.merge.strategy import Schema

_GROUP = "#steps"
_PLACES = ("steps", "current", "status", "begin", "end")


def enforce_steps(
    requirement: "Schema", entries: "dict[Any, Entry]", context: "MergeContext"
) -> None:
    """Make one conflict of the record's places where the merge, or a decision in it, could break
    the law.

    requirement: {"steps": "/list", "key": "/name", "at": "/instant", "order": [...], "current":
    "/field", "status": "/field", "done": value, "begin": "/field", "end": "/field"}. A side that
    breaks the law itself leaves everything as it is.
    """
    names = [requirement[place][1:] for place in _PLACES]
    ours = members_of(context.ours)
    base = members_of(context.base)
    theirs = members_of(context.theirs)
    for side in (ours, theirs):
        if not is_lawful(requirement, *_read_values(side, names)):
            return

    if all(is_lawful(requirement, *picked) for picked in _list_picks(entries, names)):
        return

    merged = [name for name in names if name in entries]
    first = next(name for name in merged if not is_same(ours.get(name), theirs.get(name)))
    for name in merged:
        mine = ours.get(name)
        yours = theirs.get(name)
        old = mine if is_same(mine, yours) else base.get(name)
        entries[name].result = Choice(f"/{first}", mine, old, yours, _GROUP)


def _read_values(side: "dict[str, Node]", names: "list[str]") -> "list[Any]":
    """Return what a side has at each of the places, None if it has nothing."""
    return [side[name].value if name in side else None for name in names]


def _list_picks(entries: "dict[Any, Entry]", names: "list[str]") -> "Iterator[list[Any]]":
    """Yield the values of the places for each way in which a user may decide.

    The rows come from one side, and the rest comes from one side.
    """
    rows, *rest = [entries[name].result if name in entries else None for name in names]
    for side_of_rows in (OURS, THEIRS):
        for side_of_rest in (OURS, THEIRS):
            yield [
                value_of(rows, side_of_rows),
                *(value_of(result, side_of_rest) for result in rest),
            ]


def is_lawful(
    requirement: "Schema", rows: "Any", current: "Any", status: "Any", begin: "Any", end: "Any"
) -> bool:
    """Whether a record with these values keeps the law of its steps."""
    order = requirement["order"]
    if current not in order:
        return False
    if type(rows) is not list or not all(type(row) is dict for row in rows):
        return False

    key = requirement["key"][1:]
    if [row.get(key) for row in rows] != list(order[: len(rows)]):
        return False

    time = requirement["at"][1:]
    texts = [begin, *(row.get(time) for row in rows), end]
    instants = [instant for text in texts if (instant := read_instant(text)) is not None]
    if instants != sorted(instants):
        return False

    number = order.index(current)
    return number == len(rows) or (number == len(rows) - 1 and bool(status == requirement["done"]))
