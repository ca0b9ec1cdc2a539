"""The narrative that a newer one replaced (policy "newest"), kept in the document's list of such."""

from checkpoint_git.core.jsontext import Node
from checkpoint_git.core.jsonwrite import Built, Choice, Entry, Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsonwrite import Result
    from checkpoint_git.merge.places import MergeContext


def append_superseded(result: "Result", context: "MergeContext") -> "Result":
    for name, record in context.superseded.items():
        root = result if type(result) is Built else Built(context.ours, _own_entries(context.ours), context.theirs)
        entry = next((entry for entry in root.entries if entry.key == name), None)
        if entry is None:
            root.entries.append(Entry(name, Fresh([record]), None))
        else:
            entry.result = _append(entry.result, record, context.ours.text)
        result = root
    return result


def _append(result: "Any", record: "dict[str, Any]", text: str) -> "Result":
    # text: of the document that is written
    item = Entry(None, Fresh(record), None)
    if isinstance(result, Choice):
        ours, base, theirs = result.sides
        sides = [Fresh([record]) if side is None else _append(side, record, text) for side in (ours, theirs)]
        return Choice(result.where, sides[0], base, sides[1], result.group)
    if isinstance(result, Built):
        return Built(result.anchor, [*result.entries, item], result.like)
    if isinstance(result, Node) and type(result.value) is list:
        if result.text is text:
            return Built(result, [*_own_entries(result), item], None)
        return Fresh([*result.children, record])
    return Fresh([result, record])


def _own_entries(node: Node) -> "list[Entry]":
    keys: list[str] | list[None] = list(node.members) if isinstance(node.members, dict) else [None] * len(node.value)
    return [Entry(key, child, child) for key, child in zip(keys, node.children, strict=True)]
