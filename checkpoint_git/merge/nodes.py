"""Nodes of the three versions: comparing them, reading their members, and putting a container together again."""

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsonwrite import Built

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.core.jsonwrite import Entry, Result


def is_same(left: "Node | None", right: "Node | None") -> bool:
    """Return whether both are absent, or have one value; numbers are compared as they are written."""
    if left is None or right is None:
        return left is right
    return bool(left.value == right.value)


def members_of(node: "Node | None") -> "dict[str, Node]":
    """Return an object's members; {} for anything else."""
    members = None if node is None else node.members
    return members if type(members) is dict else {}


def items_of(node: "Node | None") -> "list[Node]":
    """Return a list's items; [] for anything else."""
    members = None if node is None else node.members
    return members if type(members) is list else []


def newer_side(ours: "Node | None", theirs: "Node | None", pointer: str) -> int:
    """Return 1 if ours has the later instant at the pointer, -1 if theirs has, and 0 if neither can be called later."""
    instants = []
    for node in (ours, theirs):
        for name in pointer.split("/")[1:]:
            node = members_of(node).get(name)
        instants.append(None if node is None else read_loose_instant(node.value))

    left, right = instants
    if left is None or right is None or left == right:
        return 0
    return 1 if left > right else -1


def assemble(ours: "Node", entries: "list[Entry]", theirs: "Node | None", base: "Node | None" = None) -> "Result":
    """Return the container of these entries: ours itself if nothing differs from it, so that its bytes stay."""
    if [id(entry.result) for entry in entries] == [id(child) for child in ours.children]:
        return ours
    return Built(ours, entries, theirs, base)
