"""What a merge cannot know: what is next, where each side finished what the other one still had to
do.

No side answers it. Each side's list holds what the other side finished, so that taking it would
bring finished work back. The merged value is the empty list; somebody has to name an item, or to
say that all is done.
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
    """Put a question into the root where its list is empty and must not be. Conflicts in the list,
    or about a field that the requirement names, come first: the question depends on how they are
    decided.
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

    if name not in entries:
        root.entries.insert(
            _find_place(name, root, sides), Entry(name, None, _find_source(name, sides))
        )

    entry = next(entry for entry in root.entries if entry.key == name)
    nothing = Fresh([])
    entry.result = Choice(
        requirement["where"], nothing, nothing, nothing, note=_list_options(requirement)
    )


def _list_options(requirement: "Schema") -> str:
    return '--next "..." or --complete' if "empty_with" in requirement else '--next "..."'


def _is_empty(result: "Result | None") -> bool:
    # An answer is Fresh: who says that nothing is next is not asked again
    if isinstance(result, Built):
        return not result.entries
    return result is None or (isinstance(result, Node) and result.value == [])


def _has_value(entry: "Entry | None", value: "Any") -> bool:
    result = None if entry is None else entry.result
    return isinstance(result, Node) and bool(result.value == value)


def _meets(side: "Members", conditions: "Schema") -> bool:
    return all(
        field[1:] in side and side[field[1:]].value == value for field, value in conditions.items()
    )


def _find_source(name: str, sides: "list[Members]") -> "Node | None":
    return next((side[name] for side in sides if name in side), None)


def _find_place(name: str, root: Built, sides: "list[Members]") -> int:
    base, ours, theirs = sides
    merged, _ = merge_order(base, ours, theirs, str)
    order = merged if name in merged else list(base)
    later = order[order.index(name) :]
    return next(
        (number for number, entry in enumerate(root.entries) if entry.key in later),
        len(root.entries),
    )
