"""What a newer side's group replaced, kept in the document's list of such."""

from checkpoint_git.core.jsontext import Node
from checkpoint_git.merge.result import Built, Choice, Entry, Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.result import Result


def tell_superseded(context: "MergeContext") -> "list[str]":
    """A line for each group that followed the newer side."""
    from checkpoint_git.merge.markers import say_side

    return [
        f"both sides changed {' and '.join(members)}; the newer side's stays, the other's is kept in /{name}: "
        + ", ".join(f"{member} {say_side(record.get(member))}" for member in members)
        for name, (record, _, members) in context.superseded.items()
    ]


# A rebase replays commit after commit onto a newer side, and each is left behind in its turn: one
# takes the place of the one before it, which is the base of the merge by then.
def append_superseded(result: "Result", context: "MergeContext") -> "Result":
    for name, (record, earlier, _) in context.superseded.items():
        if type(result) is Built:
            root = result
        else:
            root = Built(context.ours, _own_entries(context.ours), context.theirs, context.base)
        entry = next((entry for entry in root.entries if entry.key == name), None)
        if entry is None:
            root.entries.append(Entry(name, Fresh([record]), None))
        else:
            gone = [{key: node.value for key, node in each.items()} for each in (record, earlier)]
            entry.result = _append(entry.result, record, gone, context.ours.text)
        result = root

    return result


def _append(result: "Any", record: "dict[str, Node]", gone: "Sequence[Any]", text: str) -> "Result":
    # gone: values that the record takes the place of. text: of the document that is written
    item = Entry(None, Fresh(record), None)
    if isinstance(result, Choice):
        ours, base, theirs = result.sides
        sides = [
            Fresh([record]) if side is None else _append(side, record, gone, text)
            for side in (ours, theirs)
        ]
        return Choice(result.where, sides[0], base, sides[1], result.group, result.note)

    if isinstance(result, Built):
        return Built(
            result.anchor, [*_without(result.entries, gone), item], result.like, result.base
        )

    if isinstance(result, Node) and type(result.value) is list:
        if result.text is text:
            return Built(result, [*_without(_own_entries(result), gone), item], None)
        return Fresh([*(child for child in result.children if child.value not in gone), record])

    return Fresh([result, record])


def _without(entries: "Iterable[Entry]", gone: "Sequence[Any]") -> "Iterable[Entry]":
    return (
        entry
        for entry in entries
        if not isinstance(entry.result, Node) or entry.result.value not in gone
    )


def _own_entries(node: Node) -> "list[Entry]":
    keys: list[str] | list[None] = (
        list(node.members) if isinstance(node.members, dict) else [None] * len(node.value)
    )
    return [Entry(key, child, child) for key, child in zip(keys, node.children, strict=True)]
