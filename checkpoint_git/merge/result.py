"""The vocabulary of a merge: the sides, and the result of a place, which may be a conflict.

A result is a Node (kept from a version, with its bytes), Fresh (written anew), Built (a container
put together from results) or a Choice (a conflict). layout.py turns it into text.
"""

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsontext import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Result: TypeAlias = "Node | Fresh | Built | Choice"


OURS, BASE, THEIRS = SIDES = 0, 1, 2


class Fresh:
    """A value that no version has as it is. A Node inside it stands for the Node's value."""

    __slots__ = ("value",)

    def __init__(self, value: "Any") -> None:
        self.value = value


class Entry:
    """A member of a Built container. key: None in a list.

    source: the member of a version that it continues; its key and the spaces around it are copied.
    """

    __slots__ = ("key", "result", "source")

    def __init__(self, key: "str | None", result: "Any", source: "Node | None") -> None:
        self.key = key
        self.result = result
        self.source = source

    @property
    def is_optional(self) -> bool:
        """Whether one of the sides does not have it."""
        return type(self.result) is Choice and None in self.result.sides

    def is_on(self, side: int) -> bool:
        """Whether the result has it if its conflict is decided for a side."""
        return type(self.result) is not Choice or self.result.sides[side] is not None


class Built:
    """A container that is put together from entries.

    anchor, like, base: what ours, theirs and base have at the place. It is laid out as the anchor
    is, or as `like` is if the anchor is empty.
    """

    __slots__ = ("anchor", "base", "entries", "like")

    def __init__(
        self,
        anchor: Node,
        entries: "list[Entry]",
        like: "Node | None" = None,
        base: "Node | None" = None,
    ) -> None:
        self.anchor = anchor
        self.base = base
        self.entries = entries
        self.like = like


class Choice:
    """A conflict. sides: the result on each of SIDES, None if that side has nothing.

    where: JSON Pointer of the conflict; choices of one conflict share it, and group is then the
    same text. note: the options of `checkpoint resolve` that answer a question which no side
    answers, else "".
    """

    __slots__ = ("group", "note", "sides", "where")

    def __init__(
        self, where: str, ours: "Any", base: "Any", theirs: "Any", group: str = "", note: str = ""
    ) -> None:
        self.where = where
        self.sides = (ours, base, theirs)
        self.group = group
        self.note = note


def value_of(result: "Any", side: int) -> "Any":
    """Return a result's value with its conflicts decided for a side.

    None for what that side does not have.
    """
    kind = type(result)
    if kind is Choice:
        return value_of(result.sides[side], side)
    if kind is Built:
        entries = [entry for entry in result.entries if entry.is_on(side)]
        if type(result.anchor.value) is dict:
            return {entry.key: value_of(entry.result, side) for entry in entries}
        return [value_of(entry.result, side) for entry in entries]

    if kind is Node:
        return result.value
    if kind is Fresh:
        return value_of(result.value, side)

    # inside a Fresh value, which may hold Nodes
    if kind is dict:
        return {key: value_of(child, side) for key, child in result.items()}
    if kind is list:
        return [value_of(child, side) for child in result]
    return result


def assemble(
    ours: Node, entries: "list[Entry]", theirs: "Node | None", base: "Node | None" = None
) -> "Result":
    """Return the container of these entries.

    It is ours itself if nothing differs from that, so that its bytes stay.
    """
    if [id(entry.result) for entry in entries] == [id(child) for child in ours.children]:
        return ours
    return Built(ours, entries, theirs, base)


def is_same(left: "Node | None", right: "Node | None") -> bool:
    """Whether both are absent, or have one value. Numbers are compared as they are written."""
    if left is None or right is None:
        return left is right
    return bool(left.value == right.value)


def members_of(node: "Node | None") -> "dict[str, Node]":
    """Return an object's members; {} for anything else."""
    if node is not None:
        members = node.members
        if type(members) is dict:
            return members
    return {}


def items_of(node: "Node | None") -> "list[Node]":
    """Return a list's items; [] for anything else."""
    if node is not None:
        members = node.members
        if type(members) is list:
            return members
    return []


def newer_side(ours: "Node | None", theirs: "Node | None", pointer: str) -> int:
    """Return 1 if ours has the later instant at the pointer, -1 if theirs has, else 0."""
    instants = []
    for node in (ours, theirs):
        for name in pointer.split("/")[1:]:
            node = members_of(node).get(name)
        instants.append(None if node is None else read_loose_instant(node.value))

    left, right = instants
    if left is None or right is None or left == right:
        return 0
    return 1 if left > right else -1
