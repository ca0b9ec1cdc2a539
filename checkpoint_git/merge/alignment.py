"""Align a version of a list with its base: which items are the same, and the hunks between them.

Items are compared by keys, which are equal if the items are. Nothing here knows what a list means.
"""

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Keys = Sequence[Any]
    Pair = tuple[int, int]  # the index of an item in base, and in the other version

_MOST_EDITS = 256  # in a script: the search takes time that grows with their square


class Hunk:
    """A change: a version has its items first to last in place of base's items start to end.

    end and last are not included.
    """

    __slots__ = ("end", "first", "last", "start")

    def __init__(self, start: int, end: int, first: int, last: int) -> None:
        self.start = start
        self.end = end
        self.first = first
        self.last = last


def align(base: "Keys", version: "Keys") -> "list[Pair]":
    """Return the pairs of equal items that both lists have in one order, from first to last.

    What both begin and end with is aligned first; for the rest the shortest edit script decides.
    Where that is longer than 256 edits, the items that each list has exactly once are aligned, as
    many of them as are in one order, and what is between them in the same way. Parts that have no
    such items count as replaced as a whole.
    """
    pairs: list[Pair] = []
    open_parts = [(0, len(base), 0, len(version))]
    while open_parts:
        start, end, first, last = open_parts.pop()

        while start < end and first < last and base[start] == version[first]:
            pairs.append((start, first))
            start += 1
            first += 1
        while start < end and first < last and base[end - 1] == version[last - 1]:
            end -= 1
            last -= 1
            pairs.append((end, last))
        if start == end or first == last:
            continue

        common = _find_common(base[start:end], version[first:last])
        if common is not None:
            pairs += [(start + old, first + new) for old, new in common]
            continue

        anchors = _find_anchors(base[start:end], version[first:last])
        if not anchors:
            continue
        previous = (start, first)
        for old, new in anchors:
            anchor = (start + old, first + new)
            pairs.append(anchor)
            open_parts.append((previous[0], anchor[0], previous[1], anchor[1]))
            previous = (anchor[0] + 1, anchor[1] + 1)
        open_parts.append((previous[0], end, previous[1], last))

    return sorted(pairs)


def find_single(keys: "Keys") -> "dict[Any, int]":
    """Return the index of each key that the list has exactly once."""
    found: dict[Any, int] = {}
    repeated = set()
    for index, key in enumerate(keys):
        if key in found:
            repeated.add(key)
        found[key] = index
    return {key: index for key, index in found.items() if key not in repeated}


def _find_anchors(base: "Keys", version: "Keys") -> "list[Pair]":
    """Return the items that both lists have once, as many of them as are in one order.

    This is the longest increasing subsequence, by patience sorting.
    """
    places = find_single(version)
    candidates = [(old, places[key]) for key, old in find_single(base).items() if key in places]
    candidates.sort()

    smallest: list[int] = []  # by length, the smallest last index in `version` of a run so long
    ends: list[int] = []  # by length, the candidate that such a run ends with
    previous = [-1] * len(candidates)
    for number, (_, new) in enumerate(candidates):
        length = bisect_left(smallest, new)
        previous[number] = ends[length - 1] if length else -1
        smallest[length : length + 1] = [new]
        ends[length : length + 1] = [number]

    anchors = []
    number = ends[-1] if ends else -1
    while number >= 0:
        anchors.append(candidates[number])
        number = previous[number]

    return anchors[::-1]


def _find_common(base: "Keys", version: "Keys") -> "list[Pair] | None":
    """Return the pairs that a shortest edit script keeps: Myers' greedy search.

    None if the script has more edits than are looked for.
    """
    # by diagonal (index in base minus index in version), the furthest index in base
    reached = {1: 0}
    steps: list[dict[int, int]] = []
    for edits in range(min(len(base) + len(version), _MOST_EDITS) + 1):
        steps.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            if _comes_from_insertion(reached, diagonal, edits):
                old = reached[diagonal + 1]
            else:
                old = reached[diagonal - 1] + 1
            new = old - diagonal
            while old < len(base) and new < len(version) and base[old] == version[new]:
                old += 1
                new += 1
            reached[diagonal] = old
            if old >= len(base) and new >= len(version):
                return _trace_back(steps, len(base), len(version))

    return None


def _comes_from_insertion(reached: "dict[int, int]", diagonal: int, edits: int) -> bool:
    if diagonal == -edits:
        return True
    return diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]


def _trace_back(steps: "list[dict[int, int]]", old: int, new: int) -> "list[Pair]":
    """Return the pairs on the way that the search took to the ends of both lists.

    steps: what was reached before each edit.
    """
    pairs = []
    for edits in range(len(steps) - 1, -1, -1):
        reached = steps[edits]
        diagonal = old - new
        if _comes_from_insertion(reached, diagonal, edits):
            before = diagonal + 1
        else:
            before = diagonal - 1
        old_before = reached[before]
        new_before = old_before - before
        while old > old_before and new > new_before and old > 0 and new > 0:
            old -= 1
            new -= 1
            pairs.append((old, new))
        old = old_before
        new = new_before

    return pairs[::-1]


def find_hunks(pairs: "Sequence[Pair]", base_size: int, version_size: int) -> "list[Hunk]":
    """Return what a version changed, from first to last.

    If it put as many items there as it replaced, each of them is a hunk, in their order.
    """
    hunks: list[Hunk] = []
    start = first = 0
    for old, new in [*pairs, (base_size, version_size)]:
        if old - start == new - first:
            while start < old:
                hunks.append(Hunk(start, start + 1, first, first + 1))
                start += 1
                first += 1
        elif old > start or new > first:
            hunks.append(Hunk(start, old, first, new))
        start = old + 1
        first = new + 1

    return hunks
