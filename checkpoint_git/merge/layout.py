"""Whose layout a merged document has: indentation, blank lines, spellings. A new layout is a side's change, too."""

from checkpoint_git.core.jsontext import Node
from checkpoint_git.core.jsonwrite import shared_ends


def lays_out_theirs(base: "Node | None", ours: Node, theirs: Node) -> bool:
    """Whether theirs is the document to write into: it alone laid base out anew, or else it is the smaller text."""
    anew = [base is not None and side.text != base.text and _is_laid_out_anew(base, side) for side in (ours, theirs)]
    return theirs.text < ours.text if anew[0] == anew[1] else anew[1]


def _is_laid_out_anew(base: Node, side: Node) -> bool:
    # whether something that has the same value, or stands between the same members, has another text
    stack = [(base, side)]
    while stack:
        old, new = stack.pop()
        if old.value == new.value:
            if old.source != new.source:
                return True
            continue
        before, after = old.members, new.members
        if type(before) is dict and type(after) is dict:
            left, right = _read_gaps(old, before), _read_gaps(new, after)
            if any(left[pair] != right[pair] for pair in left if pair in right):
                return True
            stack += [(before[key], after[key]) for key in before if key in after]
        elif type(before) is list and type(after) is list:
            head, tail = shared_ends([[item.value for item in items] for items in (before, after)])
            stack += zip(before[:head], after[:head], strict=True)
            stack += zip(before[len(before) - tail :], after[len(after) - tail :], strict=True)
            if len(before) == len(after):
                stack += zip(before[head : len(before) - tail], after[head : len(after) - tail], strict=True)
    return False


def _read_gaps(node: Node, members: "dict[str, Node]") -> "dict[tuple[str, str], str]":
    # what is between the values of two neighbours: line ends, indentation, the key as it is spelled
    gaps = {}
    last, end = "", node.start
    for key, member in members.items():
        gaps[last, key] = node.text[end : member.start]
        last, end = key, member.end
    return gaps
