"""Items of lists: what makes two of them the same item, and the order of a merged list. Nothing is merged here."""

from checkpoint_git.core.jsontext import CONTAINERS
from checkpoint_git.core.jsonwrite import scalar_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any

    from checkpoint_git.core.jsontext import Node

    Identity = tuple[str, int]
    Items = dict[Identity, Node]
    Runs = dict[Hashable, list[Any]]

NATURAL_KEYS = ("id", "number", "name", "sha", "path")
_START = object()  # what the first run of new items follows


def canonical_text(value: "Any") -> str:
    # JSON with sorted keys and no spaces; numbers as they were written
    if type(value) is dict:
        return "{" + ",".join(scalar_text(key) + ":" + canonical_text(value[key]) for key in sorted(value)) + "}"
    if type(value) is list:
        return "[" + ",".join([canonical_text(item) for item in value]) + "]"
    return scalar_text(value)


def canonical_rank(value: "Any") -> "tuple[int, float, str]":
    """null, false, true, numbers by value, texts by code point, then arrays and objects by their text."""
    kind = type(value)
    if kind is str:
        return (4, 0.0, value)
    if kind is bytes:
        return (3, float(value), value.decode())
    if kind is dict or kind is list:
        return (5, 0.0, canonical_text(value))
    return (0 if value is None else 2 if value else 1, 0.0, "")


def item_key(value: "Any", names: "tuple[str, ...]") -> str:
    """The text that identifies an item: its named members, or the whole item where it has none of that shape. A bare
    text in a list keyed by one name stands for an item with that name's value: "Write" is {"text": "Write"}.
    """
    if names:
        if type(value) is dict and all(name in value for name in names):
            return "k" + "\n".join([canonical_text(value[name]) for name in names])
        if type(value) is str and len(names) == 1:
            return "k" + scalar_text(value)
    return "v" + canonical_text(value)


def identify(items: "list[Node]", names: "tuple[str, ...]") -> "Items":
    # by (key, k): the k-th item of an equal key, so that a multiset keeps its duplicates
    counts: dict[str, int] = {}
    found: Items = {}
    for item in items:
        key = item_key(item.value, names)
        count = counts.get(key, 0)
        counts[key] = count + 1
        found[key, count] = item
    return found


def find_natural_key(lists: "list[list[Node]]") -> str:
    """The first of the natural keys by which every item of every list is known and unique in its list, or ""."""
    for name in NATURAL_KEYS:
        if all(_is_keyed_by([item.value for item in items], name) for items in lists):
            return name
    return ""


def _is_keyed_by(values: "list[Any]", name: str) -> bool:
    if not all(type(value) is dict and name in value and type(value[name]) not in CONTAINERS for value in values):
        return False
    return len({value[name] for value in values}) == len(values)


# the order of a merged list, over identities alone


def merge_order(
    base: "Iterable[Any]",
    ours: "Iterable[Any]",
    theirs: "Iterable[Any]",
    rank: "Callable[[Any], Any]",
    whole_runs: bool = False,
) -> "tuple[list[Any], list[Any] | None]":
    """One order of all identities in ours and theirs; and theirs' order, where both sides moved survivors differently.
    Survivors are the items of base that both sides have: they keep the order of the side that moved them. A new item
    follows its nearest surviving predecessor. Two runs of new items behind one predecessor are combined by taking the
    smaller head by rank again and again, or kept as whole runs, so that a plan stays readable (symmetric, contiguous
    and associative at once is impossible, hence the two ways).
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
        result: dict[Any, None] = {}
        for anchor in [_START, *order]:
            if anchor is not _START:
                result[anchor] = None
            left, right = ours_runs.get(anchor), theirs_runs.get(anchor)
            if left or right:
                result.update(dict.fromkeys(combine(left or [], right or [], rank)))
        return list(result)

    if ours_order == theirs_order or theirs_order == survivors:
        return laid_out(ours_order), None
    if ours_order == survivors:
        return laid_out(theirs_order), None
    return laid_out(ours_order), laid_out(theirs_order)


def _runs_by_anchor(items: "list[Any]", known: "set[Any]") -> "Runs":
    runs: Runs = {}
    anchor: Hashable = _START
    for item in items:
        if item in known:
            anchor = item
        else:
            runs.setdefault(anchor, []).append(item)
    return runs


def _combine_heads(left: "list[Any]", right: "list[Any]", rank: "Callable[[Any], Any]") -> "list[Any]":
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
    if [rank(item) for item in right] < [rank(item) for item in left]:
        left, right = right, left
    return left + right
