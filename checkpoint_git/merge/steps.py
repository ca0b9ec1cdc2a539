"""Steps that are done one after the other: two lawful versions of such a record must not become an unlawful one."""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsonwrite import OURS, THEIRS, Choice, value_of
from checkpoint_git.merge.nodes import is_same, members_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsonwrite import Entry
    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.strategy import Schema

_GROUP = "#steps"
_PLACES = ("steps", "current", "status", "begin", "end")


# The law, as a schema's requirement names its places: the list of what is done holds the first of the known steps, in
# order and none left out, with instants that do not go back, from the record's beginning to its end; the current step
# is the next one, or the last that is done while its status says so. Whatever a user's decision could make unlawful
# becomes one conflict.
def enforce_steps(requirement: "Schema", entries: "dict[Any, Entry]", context: "MergeContext") -> None:
    """Makes one conflict of the record's places where the merge, or a decision in it, could break the law. requirement:
    {"steps": "/list", "key": "/name", "at": "/instant", "order": [...], "current": "/field", "status": "/field",
    "done": value, "begin": "/field", "end": "/field"}. A side that breaks the law itself leaves everything as it is.
    """
    names = [requirement[name][1:] for name in _PLACES]
    sides = [members_of(node) for node in (context.ours, context.base, context.theirs)]
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
    ours, base, theirs = sides
    differing = [name for name in names if name in entries and not is_same(ours.get(name), theirs.get(name))]
    for name in names:
        if name in entries:
            mine, yours = ours.get(name), theirs.get(name)
            old = mine if is_same(mine, yours) else base.get(name)
            entries[name].result = Choice(f"/{differing[0]}", mine, old, yours, _GROUP)


def is_lawful(requirement: "Schema", rows: "Any", current: "Any", status: "Any", begin: "Any", end: "Any") -> bool:
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
