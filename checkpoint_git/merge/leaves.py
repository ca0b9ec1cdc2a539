"""Strategies for single values that both sides changed: instants, ordered values, exact sums.

Each returns the Node of a side, a Fresh value, or None for "a person must decide".
"""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsonwrite import Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsontext import Node


def merge_latest(rule: "dict[str, Any]", base: "Node | None", ours: "Node", theirs: "Node") -> "Node | None":
    """The later instant; of one instant in two spellings the shorter, then the smaller by code point."""
    return _by_instant(ours, theirs, latest=True)


def merge_earliest(rule: "dict[str, Any]", base: "Node | None", ours: "Node", theirs: "Node") -> "Node | None":
    """The earlier instant, spelled as merge_latest spells it."""
    return _by_instant(ours, theirs, latest=False)


def _by_instant(ours: "Node", theirs: "Node", latest: bool) -> "Node | None":
    left, right = read_instant(ours.value), read_instant(theirs.value)
    if left is None or right is None:
        return None
    if left == right:
        return min(ours, theirs, key=lambda node: (len(node.value), node.value))
    return ours if (left > right) == latest else theirs


def merge_highest(rule: "dict[str, Any]", base: "Node | None", ours: "Node", theirs: "Node") -> "Node | None":
    """The later of two values in the rule's "order", where both sides moved forward from base."""
    order = rule.get("order") or ()
    if type(ours.value) is not str or type(theirs.value) is not str:
        return None
    if ours.value not in order or theirs.value not in order:
        return None
    left, right = order.index(ours.value), order.index(theirs.value)
    if base is not None and (base.value not in order or order.index(base.value) > min(left, right)):
        return None
    return ours if left >= right else theirs


def merge_greatest(rule: "dict[str, Any]", base: "Node | None", ours: "Node", theirs: "Node") -> "Node | None":
    """The greater of two numbers; of one number in two spellings the shorter, then the smaller by its bytes."""
    from checkpoint_git.core.decimals import read_decimal  # few merges come here

    left, right = read_decimal(ours.value), read_decimal(theirs.value)
    if left is None or right is None:
        return None
    difference = left[0] * 10 ** right[1] - right[0] * 10 ** left[1]
    if difference == 0:
        return min(ours, theirs, key=lambda node: (len(node.value), node.value))
    return ours if difference > 0 else theirs


def merge_sum(rule: "dict[str, Any]", base: "Node | None", ours: "Node", theirs: "Node") -> "Fresh | None":
    """Ours + theirs - base in exact decimals; None when a side fell below base (a reset) or is no number."""
    from checkpoint_git.core.decimals import decimal_token, read_decimal  # few merges come here

    numbers = [read_decimal(node.value) if node is not None else (0, 0) for node in (base, ours, theirs)]
    if None in numbers:
        return None
    scale = max(number[1] for number in numbers if number is not None)
    start, left, right = [number[0] * 10 ** (scale - number[1]) for number in numbers if number is not None]
    if left < start or right < start:
        return None
    return Fresh(decimal_token(left + right - start, scale))


LEAF_STRATEGIES = {
    "max-time": merge_latest,
    "min-time": merge_earliest,
    "max": merge_highest,
    "max-number": merge_greatest,
    "sum": merge_sum,
}
