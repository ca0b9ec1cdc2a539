"""Keep what a newer side's group replaced, in the list of the document for that."""

from checkpoint_git.core.jsontext import Node
from checkpoint_git.merge.result import Built, Choice, Entry, Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.result import Result


def tell_superseded(context: "MergeContext") -> "list[str]":
    """Return a line for each group that followed the newer side."""
    from checkpoint_git.merge.markers import say_side

    lines = []
    for name, (record, _, members) in context.superseded.items():
        kept = ", ".join(f"{member} {say_side(record.get(member))}" for member in members)
        names = " and ".join(members)
        lines.append(
            f"both sides changed {names}; the newer side's stays, the other's is kept in /{name}: "
            f"{kept}"
        )
    return lines


def append_superseded(result: "Result", context: "MergeContext") -> "Result":
    """Return the result with the records that groups left behind.

    A rebase replays commit after commit onto a newer side, and each is left behind in its turn: one
    takes the place of the one before it, which is the base of the merge by then.
    """
    for name, (record, earlier, _) in context.superseded.items():
        if type(result) is Built:
            root = result
        else:
            root = Built(context.ours, _entries_of(context.ours), context.theirs, context.base)
        entry = next((entry for entry in root.entries if entry.key == name), None)
        if entry is None:
            root.entries.append(Entry(name, Fresh([record]), None))
        else:
            gone = [_values_of(record), _values_of(earlier)]
            entry.result = _append(entry.result, record, gone, context.ours.text)
        result = root

    return result


def _values_of(record: "dict[str, Node]") -> "dict[str, Any]":
    return {key: node.value for key, node in record.items()}


def _append(result: "Any", record: "dict[str, Node]", gone: "Sequence[Any]", text: str) -> "Result":
    """Return a list with the record behind its items.

    gone: items whose place the record takes. text: that of the document that is written.
    """
    if result is None:  # a side of a conflict that has no list
        return Fresh([record])
    if isinstance(result, Choice):
        ours, base, theirs = result.sides
        mine = _append(ours, record, gone, text)
        yours = _append(theirs, record, gone, text)
        return Choice(result.where, mine, base, yours, result.group, result.note)

    item = Entry(None, Fresh(record), None)
    if isinstance(result, Built):
        entries = [*_without(result.entries, gone), item]
        return Built(result.anchor, entries, result.like, result.base)

    if isinstance(result, Node) and type(result.value) is list:
        if result.text is text:
            return Built(result, [*_without(_entries_of(result), gone), item], None)
        return Fresh([*(child for child in result.children if child.value not in gone), record])

    return Fresh([result, record])


def _without(entries: "Iterable[Entry]", gone: "Sequence[Any]") -> "Iterable[Entry]":
    return (
        entry
        for entry in entries
        if not isinstance(entry.result, Node) or entry.result.value not in gone
    )


def _entries_of(node: Node) -> "list[Entry]":
    """Return a container's members as entries that keep them."""
    if isinstance(node.members, dict):
        return [Entry(key, child, child) for key, child in node.members.items()]
    return [Entry(None, child, child) for child in node.children]
