"""Ask what is next, if each side finished what the other one still had to do.

No side answers that: each side's list has what the other side finished, so that taking it would
bring finished work back. The merged value is the empty list, and the user names an item, or says
that all is done.
"""

from checkpoint_git.core.jsontext import Node
from checkpoint_git.merge.items import merge_order
from checkpoint_git.merge.result import Built, Choice, Entry, Fresh, members_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.result import Result
    from checkpoint_git.merge.strategy import Schema

    Members = dict[str, Node]


def ask_what_is_next(requirement: "Schema", root: Built, context: "MergeContext") -> None:
    """Put a question into the root if its list is empty and must not be.

    Conflicts in the list, or about a field that the requirement names, come first: the question
    depends on how they are decided.
    """
    name = requirement["where"][1:]
    conditions = requirement["non_empty_when"]
    entries = {entry.key: entry for entry in root.entries}
    if name in entries and not _is_empty(entries[name].result):
        return
    if not all(_has_value(entries.get(field[1:]), value) for field, value in conditions.items()):
        return

    sides = [members_of(node) for node in (context.base, context.ours, context.theirs)]
    if all(_is_empty(side.get(name)) for side in sides):
        return  # there never was anything to do
    if any(_is_empty(side.get(name)) and _meets(side, conditions) for side in sides[1:]):
        return  # a side that breaks the requirement already is to blame, and not the merge

    entry = entries.get(name)
    if entry is None:
        entry = Entry(name, None, _find_source(name, sides))
        root.entries.insert(_find_place(name, root, sides), entry)
    nothing = Fresh([])
    note = list_options(requirement)
    entry.result = Choice(requirement["where"], nothing, nothing, nothing, note=note)


def list_options(requirement: "Schema") -> str:
    """Return the options of `checkpoint resolve` that answer the question."""
    if "empty_with" in requirement:
        return '--next "..." or --complete'
    return '--next "..."'


def _is_empty(result: "Result | None") -> bool:
    """Whether a list is empty or missing.

    An answer is Fresh, and does not count: who says that nothing is next is not asked again.
    """
    if isinstance(result, Built):
        return not result.entries
    return result is None or (isinstance(result, Node) and result.value == [])


def _has_value(entry: "Entry | None", value: "Any") -> bool:
    if entry is None or not isinstance(entry.result, Node):
        return False
    return bool(entry.result.value == value)


def _meets(side: "Members", conditions: "Schema") -> bool:
    return all(
        field[1:] in side and side[field[1:]].value == value for field, value in conditions.items()
    )


def _find_source(name: str, sides: "list[Members]") -> "Node | None":
    return next((side[name] for side in sides if name in side), None)


def _find_place(name: str, root: Built, sides: "list[Members]") -> int:
    """Return where a member of a version belongs among the entries."""
    base, ours, theirs = sides
    merged, _ = merge_order(base, ours, theirs, str)
    order = merged if name in merged else list(base)
    later = order[order.index(name) :]
    for number, entry in enumerate(root.entries):
        if entry.key in later:
            return number
    return len(root.entries)
