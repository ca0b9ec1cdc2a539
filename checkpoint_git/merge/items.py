"""Items of lists: what makes two of them the same item, and the order of a merged list."""

from checkpoint_git.core.jsontext import CONTAINERS
from checkpoint_git.core.jsonwrite import scalar_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    from checkpoint_git.core.jsontext import Node

    Identity = tuple[str, int]
    Items = dict[Identity, Node]
    Runs = dict[int, list[Any]]

# items whose pairs are all looked at, where the sides' orders contradict each other
_MOST_COMPARED = 64
NATURAL_KEYS = ("id", "number", "name", "sha", "path")
# what people call an item: they reword it, so that it identifies one only if nothing else does
TITLE_KEYS = ("key", "title", "subject", "content", "description", "text", "label")


def canonical_text(value: "Any") -> str:
    """Return a value as JSON with sorted keys and no spaces; numbers as they were written."""
    if type(value) is dict:
        members = [f"{scalar_text(key)}:{canonical_text(value[key])}" for key in sorted(value)]
        return "{" + ",".join(members) + "}"
    if type(value) is list:
        return "[" + ",".join([canonical_text(item) for item in value]) + "]"
    return scalar_text(value)


def canonical_rank(value: "Any") -> "tuple[int, float, str]":
    """Return the rank of a value in the canonical order.

    null, false, true, numbers by value, texts by code point, then lists and objects by their text.
    """
    kind = type(value)
    if kind is str:
        return (4, 0.0, value)
    if kind is bytes:
        return (3, float(value), value.decode())
    if kind is dict or kind is list:
        return (5, 0.0, canonical_text(value))
    if value is None:
        return (0, 0.0, "")
    return (2 if value else 1, 0.0, "")


def item_key(value: "Any", names: "tuple[str, ...]") -> str:
    """Return the text that identifies an item: its named members, or the whole item if it lacks
    one.

    A bare text in a list keyed by one name is an item with that member: "Write" is
    {"text": "Write"}.
    """
    if names:
        if type(value) is dict and all(name in value for name in names):
            return "k" + "\n".join([canonical_text(value[name]) for name in names])
        if type(value) is str and len(names) == 1:
            return "k" + scalar_text(value)
    return "v" + canonical_text(value)


def find_repeated(lists: "Sequence[list[Node]]", names: "tuple[str, ...]") -> "set[str]":
    """Return the keys that one of the lists has more than once: they identify no item."""
    repeated: set[str] = set()
    if not names:
        return repeated
    for items in lists:
        seen: set[str] = set()
        for item in items:
            key = item_key(item.value, names)
            if key in seen:
                repeated.add(key)
            seen.add(key)
    return repeated


def identify(
    items: "list[Node]", names: "tuple[str, ...]", repeated: "Collection[str]" = ()
) -> "Items":
    """Return items by (key, k), the k-th item of an equal key: a list keeps its duplicates.

    Under a repeated key the whole item identifies itself, so that no two records are mixed up.
    """
    counts: dict[str, int] = {}
    found: Items = {}
    for item in items:
        key = item_key(item.value, names)
        if key in repeated:
            key = item_key(item.value, ())
        count = counts.get(key, 0)
        counts[key] = count + 1
        found[key, count] = item
    return found


def find_natural_key(lists: "list[list[Node]]", names: "tuple[str, ...]" = NATURAL_KEYS) -> str:
    """Return the first name whose values tell the items of every list apart, or ""."""
    values = [[item.value for item in items] for items in lists]
    for name in names:
        if all(_is_keyed_by(items, name) for items in values):
            return name
    return ""


def find_stable_key(lists: "list[list[Node]]") -> str:
    """Return the first member whose values tell items apart, and which no side seems to have
    edited.

    A side that edited it lost values of it, and gained others. If base has no list, only a title
    can be such a member. "" if there is none.
    """
    base, ours, theirs = [[item.value for item in items] for items in lists]
    first = next((value for value in (*base, *ours, *theirs) if type(value) is dict), None)
    if first is None:
        return ""
    for name in first if base else TITLE_KEYS:
        if not all(_is_keyed_by(values, name) for values in (base, ours, theirs)):
            continue
        if not base or all(_is_stable(name, base, side) for side in (ours, theirs)):
            return str(name)

    return ""


def _is_stable(name: str, base: "list[Any]", side: "list[Any]") -> bool:
    """Whether a side only added or only removed items, judged by the values of a member."""
    known = {value[name] for value in base}
    values = {value[name] for value in side}
    return values >= known or values <= known


def _is_keyed_by(values: "list[Any]", name: str) -> bool:
    """Whether all values are objects that have the member, each with another scalar."""
    for value in values:
        if type(value) is not dict or name not in value:
            return False
        if type(value[name]) in CONTAINERS:
            return False
    return len({value[name] for value in values}) == len(values)


def merge_order(
    base: "Iterable[Any]",
    ours: "Iterable[Any]",
    theirs: "Iterable[Any]",
    rank: "Callable[[Any], Any]",
    whole_runs: bool = False,
    may_choose: bool = True,
) -> "tuple[list[Any], list[Any] | None]":
    """Return one order of all identities in ours and theirs.

    If both sides moved items of base, each in another way, it is ours' order, and theirs' is
    returned, too.

    The items that both sides have are the anchors, in the order of the side that moved them. An
    item that only one side has follows the last anchor that it follows there. Two runs of such
    items behind one anchor are combined by taking the smaller head by rank again and again, or kept
    as whole runs, so that a plan stays readable. (Symmetric, contiguous and associative at once is
    impossible, hence the two ways.) An order of two items that no side contradicts is kept, unless
    a move of the other side makes that impossible.
    """
    sides = (list(ours), list(theirs))
    mine = _keep(sides[0], set(sides[1]))
    yours = _keep(sides[1], set(sides[0]))
    combine = _combine_whole if whole_runs else _combine_heads
    if mine == yours:
        return _lay_out(mine, sides, combine, rank)[1], None

    survivors = _keep(base, set(mine))
    my_moves = _keep(mine, set(survivors))
    your_moves = _keep(yours, set(survivors))
    both_moved = my_moves != your_moves and survivors not in (my_moves, your_moves)
    my_layout = _lay_out(mine, sides, combine, rank)
    your_layout = _lay_out(yours, sides, combine, rank)
    if both_moved and (
        whole_runs or (not may_choose and _contradict(my_moves, your_moves, survivors))
    ):
        return my_layout[1], your_layout[1]

    if both_moved or my_moves == your_moves:
        misplaced, order = _choose_order((my_layout, your_layout), set(survivors), rank)
    elif my_moves == survivors:
        misplaced, order = your_layout
    else:
        misplaced, order = my_layout

    if (misplaced or both_moved) and len(order) <= _MOST_COMPARED:
        order = _order_by_pairs(order, sides, survivors) or order
    return order, None


def _keep(items: "Iterable[Any]", known: "set[Any]") -> "list[Any]":
    """Return the items that are known, in their order."""
    return [item for item in items if item in known]


def _lay_out(
    anchors: "list[Any]",
    sides: "tuple[list[Any], list[Any]]",
    combine: "Callable[[list[Any], list[Any], Callable[[Any], Any]], list[Any]]",
    rank: "Callable[[Any], Any]",
) -> "tuple[int, list[Any]]":
    """Return how many items are not where their side has them, and the order around the anchors."""
    places = {item: number for number, item in enumerate(anchors)}
    my_runs, my_misplaced = _runs_by_anchor(sides[0], places)
    your_runs, your_misplaced = _runs_by_anchor(sides[1], places)

    order = list(combine(my_runs.get(-1, []), your_runs.get(-1, []), rank))
    for number, anchor in enumerate(anchors):
        order.append(anchor)
        order += combine(my_runs.get(number, []), your_runs.get(number, []), rank)

    return my_misplaced + your_misplaced, order


def _choose_order(
    candidates: "Iterable[tuple[int, list[Any]]]", known: "set[Any]", rank: "Callable[[Any], Any]"
) -> "tuple[int, list[Any]]":
    """Return the candidate that misplaces the fewest items.

    Of two that misplace as many it is the one in which new items come earlier.
    """

    def priority(candidate: "tuple[int, list[Any]]") -> "tuple[int, list[bool], list[Any]]":
        misplaced, order = candidate
        return misplaced, [item in known for item in order], [rank(item) for item in order]

    return min(candidates, key=priority)


def _contradict(my_moves: "list[Any]", your_moves: "list[Any]", survivors: "list[Any]") -> bool:
    """Whether no order of base's items has the moves of both sides."""
    if len(survivors) > _MOST_COMPARED:
        return True
    return _order_by_pairs(survivors, (my_moves, your_moves), survivors) is None


def _order_by_pairs(
    order: "list[Any]", sides: "tuple[list[Any], list[Any]]", survivors: "list[Any]"
) -> "list[Any] | None":
    """Return an order as near to `order` as can be; None if the pairs contradict each other.

    Every pair is as the sides have it, and where they differ as one of them has moved it. A pair
    that both added in two orders is free.
    """
    ours = _pairs_of(sides[0])
    theirs = _pairs_of(sides[1])
    base = _pairs_of(survivors)
    free = {(item, other) for item, other in ours if (other, item) in theirs}
    free |= {(other, item) for item, other in free}
    moved = {(item, other) for item, other in free if (other, item) in base}
    pairs = ((ours | theirs) - free) | moved

    waiting = list(order)
    sorted_items = []
    while waiting:
        for item in waiting:
            if not any((other, item) in pairs for other in waiting):
                break
        else:
            return None
        waiting.remove(item)
        sorted_items.append(item)

    return sorted_items


def _pairs_of(items: "list[Any]") -> "set[tuple[Any, Any]]":
    """Return every pair of an item and another that comes after it."""
    return {(item, other) for number, item in enumerate(items) for other in items[number + 1 :]}


def _runs_by_anchor(items: "list[Any]", places: "dict[Any, int]") -> "tuple[Runs, int]":
    """Return the items of one side that are not anchors, by the place of the anchor they follow.

    -1 is the place before all anchors. Also returns how many items cannot be before all anchors
    that follow them in `items`: they follow the anchor next to them.
    """
    first_after = len(places)  # of the anchors behind an item, the first place
    ends = []
    for item in reversed(items):
        first_after = min(first_after, places.get(item, first_after))
        ends.append(first_after)
    ends.reverse()

    runs: Runs = {}
    misplaced = 0
    last = nearest = place = -1
    for item, end in zip(items, ends, strict=True):
        if item in places:
            nearest = places[item]
            last = max(last, nearest)
            continue
        misplaced += last > end
        place = max(place, last if last < end else nearest)
        runs.setdefault(place, []).append(item)

    return runs, misplaced


def _combine_heads(
    left: "list[Any]", right: "list[Any]", rank: "Callable[[Any], Any]"
) -> "list[Any]":
    """Return two runs in one, by taking the smaller head again and again."""
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if rank(right[j]) < rank(left[i]):
            merged.append(right[j])
            j += 1
        else:
            merged.append(left[i])
            i += 1

    return merged + left[i:] + right[j:]


def _combine_whole(
    left: "list[Any]", right: "list[Any]", rank: "Callable[[Any], Any]"
) -> "list[Any]":
    """Return two runs one after the other, the smaller one first."""
    if [rank(item) for item in right] < [rank(item) for item in left]:
        left, right = right, left
    return left + right


def shared_ends(lists: "Sequence[Sequence[Any]]") -> "tuple[int, int]":
    """Return how many items all lists begin with, and how many of the others they end with."""
    first, *others = lists
    shortest = min(map(len, lists))
    head = tail = 0
    while head < shortest and all(other[head] == first[head] for other in others):
        head += 1
    while tail < shortest - head and all(other[-1 - tail] == first[-1 - tail] for other in others):
        tail += 1
    return head, tail
