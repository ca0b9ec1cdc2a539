"""The order of a merged list: survivors keep the order of the side that moved them, new items hang on a predecessor.

Pure over identities: it neither knows what items are nor what was merged inside them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any

    Runs = dict[Hashable, list[Any]]

START = object()


def merge_order(
    base: "Iterable[Any]",
    ours: "Iterable[Any]",
    theirs: "Iterable[Any]",
    rank: "Callable[[Any], Any]",
    whole_runs: bool = False,
) -> "tuple[list[Any], list[Any] | None]":
    """One order of all identities in ours and theirs; and, where both sides moved survivors differently, theirs' order.

    The second is None unless both moved them: then the first has the survivors as ours has them, the second as theirs
    has them, and the caller decides. rank orders new items that compete for one place; whole_runs keeps each side's
    run of new items together.
    """
    ours_list, theirs_list = list(ours), list(theirs)
    in_ours, in_theirs = set(ours_list), set(theirs_list)
    survivors = [item for item in base if item in in_ours and item in in_theirs]
    known = set(survivors)
    ours_order = [item for item in ours_list if item in known]
    theirs_order = [item for item in theirs_list if item in known]
    combine = _combine_whole if whole_runs else _combine_heads
    ours_runs, theirs_runs = _runs_by_anchor(ours_list, known), _runs_by_anchor(theirs_list, known)

    def laid_out(order: "list[Any]") -> "list[Any]":
        return _lay_out(order, ours_runs, theirs_runs, lambda left, right: combine(left, right, rank))

    if ours_order == theirs_order or theirs_order == survivors:
        return laid_out(ours_order), None
    if ours_order == survivors:
        return laid_out(theirs_order), None
    return laid_out(ours_order), laid_out(theirs_order)


def _runs_by_anchor(items: "list[Any]", known: "set[Any]") -> "Runs":
    """The runs of items that are not survivors, by the survivor they follow."""
    runs: Runs = {}
    anchor: Hashable = START
    for item in items:
        if item in known:
            anchor = item
        else:
            runs.setdefault(anchor, []).append(item)
    return runs


def _lay_out(
    order: "list[Any]", ours: "Runs", theirs: "Runs", combine: "Callable[[list[Any], list[Any]], list[Any]]"
) -> "list[Any]":
    result: dict[Any, None] = {}
    for anchor in [START, *order]:
        if anchor is not START:
            result[anchor] = None
        left, right = ours.get(anchor), theirs.get(anchor)
        if left or right:
            result.update(dict.fromkeys(combine(left or [], right or [])))
    return list(result)


def _combine_heads(left: "list[Any]", right: "list[Any]", rank: "Callable[[Any], Any]") -> "list[Any]":
    """Two runs as one: again and again the smaller of the two heads."""
    if not left or not right:
        return left or right
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            j += 1
        elif rank(right[j]) < rank(left[i]):
            merged.append(right[j])
            j += 1
            continue
        merged.append(left[i])
        i += 1
    return merged + left[i:] + right[j:]


def _combine_whole(left: "list[Any]", right: "list[Any]", rank: "Callable[[Any], Any]") -> "list[Any]":
    """Two runs, each kept together; the one with the smaller first item goes first."""
    if [rank(item) for item in right] < [rank(item) for item in left]:
        left, right = right, left
    return left + right
