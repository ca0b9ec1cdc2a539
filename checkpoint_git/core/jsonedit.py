"""One document changed to hold another value: what of the old text can stay is found, and the writer does the rest."""

from checkpoint_git.core.jsonstyle import lead_of
from checkpoint_git.core.jsontext import Node, to_tokens
from checkpoint_git.core.jsonwrite import OURS, Built, Entry, Fresh, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def rewrite(node: Node, value: "Any") -> str:
    """The document of `node` (its root) changed to hold `value`, whose numbers are tokens (see jsontext.to_tokens).

    What did not change keeps its source bytes; what did is written in the style around it.
    """
    writer = Writer(node)
    text = writer.pick(plan_rewrite(node, value), lead_of(node), OURS)
    return node.text[: node.start] + text + node.text[node.end :]


def render(value: "Any") -> str:
    """Fresh text: two-space JSON with a final newline; numbers may be tokens or Python numbers."""
    writer = Writer(Node("", 0, 0, 0, None, None))
    return writer.pick(Fresh(to_tokens(value)), "", OURS) + "\n"


def plan_rewrite(node: Node, value: "Any") -> "Any":
    """The result that turns a node into a value, reusing what is the same."""
    if node.value == value:
        return node
    if type(node.members) is dict and type(value) is dict:
        return Built(node, [_plan_member(node.members.get(key), key, child) for key, child in value.items()])
    if type(node.members) is list and type(value) is list:
        return Built(node, _plan_items(node.members, value))
    return Fresh(value)


def _plan_member(member: "Node | None", key: "str | None", value: "Any") -> Entry:
    return Entry(key, Fresh(value) if member is None else plan_rewrite(member, value), member)


def _plan_items(members: "list[Node]", values: "list[Any]") -> "list[Entry]":
    """Items matched with the members they continue: equal ones first, from both ends, then in order."""
    shorter = min(len(members), len(values))
    head = 0
    while head < shorter and members[head].value == values[head]:
        head += 1
    tail = 0
    while tail < shorter - head and members[-1 - tail].value == values[-1 - tail]:
        tail += 1
    ending = len(members) - tail
    old, new = members[head:ending], values[head : len(values) - tail]
    entries = [Entry(None, member, member) for member in members[:head]]
    entries += _plan_middle(old, new)
    return entries + [Entry(None, member, member) for member in members[ending:]]


def _plan_middle(old: "list[Node]", new: "list[Any]") -> "list[Entry]":
    if len(old) == len(new):
        return [_plan_member(member, None, value) for member, value in zip(old, new, strict=True)]
    entries = []
    rest = list(old)
    for value in new:
        member = next((member for member in rest if member.value == value), None)
        if member is not None:
            rest = rest[rest.index(member) + 1 :]
        entries.append(_plan_member(member, None, value))
    return entries
