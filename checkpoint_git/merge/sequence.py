"""Merge lists whose items have no key.

What a side replaced, inserted or removed is found by aligning it with base: the meaning of a list
is not guessed from its values. A part that one side changed is taken as that side has it. A part
that both sides changed merges item by item if it can; if not, that part alone is a conflict.
"""

from checkpoint_git.merge.alignment import Hunk, align, find_hunks, find_single
from checkpoint_git.merge.items import canonical_rank, item_key, shared_ends
from checkpoint_git.merge.result import Choice, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.merge.items import Identity, Items
    from checkpoint_git.merge.result import Result

    MergeItem = Callable[[int, "Node | None", "Node | None", "Node | None"], "Result | None"]
    Nodes = list[Node]


PART = "#part"  # how the group of a conflict over several items of a list ends
_CONTAINERS = ("v{", "v[")  # how the key of an object or a list begins


class ListSide:
    """One side of a list compared with base: which of base's items it has, and what it changed.

    pairs: (index in base, index in this side) of the items that are aligned, in order.
    hunks: the changes between the pairs.
    moved: index in base -> index in this side, of items that are not aligned because they are on
    the other side of one that is.
    """

    __slots__ = ("hunks", "items", "keys", "moved", "pairs")

    def __init__(self, base: "Nodes", items: "Nodes") -> None:
        old_keys = [_key_of(item) for item in base]
        self.items = items
        self.keys = [_key_of(item) for item in items]
        self.pairs = align(old_keys, self.keys)
        self.hunks = find_hunks(self.pairs, len(base), len(items))
        self.moved = self._find_moved(base, old_keys)

    def _find_moved(self, base: "Nodes", old_keys: "list[str]") -> "dict[int, int]":
        kept = {old for old, _ in self.pairs}
        places = find_single(self.keys)  # an item that is there twice may be another one
        moved = {}
        for key, old in find_single(old_keys).items():
            if old not in kept and key in places:
                moved[old] = places[key]
        return moved

    def neighbours(self, old: int) -> "tuple[str, str]":
        """Return the keys of the items before and after one that was moved; "" at an end."""
        place = self.moved[old]
        before = self.keys[place - 1] if place else ""
        after = self.keys[place + 1] if place + 1 < len(self.keys) else ""
        return before, after


def identify_by_alignment(
    base: "Nodes", ours: ListSide, theirs: ListSide
) -> "tuple[Items, Items, Items]":
    """Return the items of base, ours and theirs by identities that follow a moved or edited item.

    An item that a side put in the place of one of base's is that one, edited. New items are one if
    they are equal.
    """
    old: Items = {("", index): item for index, item in enumerate(base)}
    mine, yours = [_name_items(side, _find_continued(side)) for side in (ours, theirs)]
    return old, mine, yours


def _find_continued(version: ListSide) -> "dict[int, int]":
    """Return, by the index of an item in a side, the index of base's item that it continues."""
    continued = {new: old for old, new in version.pairs}
    continued.update({new: old for old, new in version.moved.items()})
    for hunk in version.hunks:
        replaced = [old for old in range(hunk.start, hunk.end) if old not in version.moved]
        put_there = [new for new in range(hunk.first, hunk.last) if new not in continued]
        if len(replaced) == len(put_there):
            continued.update(zip(put_there, replaced, strict=True))
    return continued


def _name_items(version: ListSide, continued: "dict[int, int]") -> "Items":
    """Return a side's items by ("", index in base), and new ones by their key and a number."""
    found: Items = {}
    counts: dict[str, int] = {}
    for number, (item, key) in enumerate(zip(version.items, version.keys, strict=True)):
        identity: Identity
        if number in continued:
            identity = ("", continued[number])
        else:
            counts[key] = counts.get(key, -1) + 1
            identity = (key, counts[key])
        found[identity] = item
    return found


def follow_renames(old: "Items", side: "Items", other: "Items", name: str) -> "Items":
    """Return a side's items, one whose key was changed under the identity that base has for it.

    It is such an item if it is alone in the place of base's, and at least half of the other members
    are the same.
    """
    before, after = list(old), list(side)
    renamed = {}
    for hunk in find_hunks(align(before, after), len(before), len(after)):
        if hunk.end - hunk.start != 1 or hunk.last - hunk.first != 1:
            continue
        lost, gained = before[hunk.start], after[hunk.first]
        is_new_key = lost not in side and gained not in old and gained not in other
        if is_new_key and _are_alike(old[lost].value, side[gained].value, name):
            renamed[gained] = lost

    return {renamed.get(identity, identity): item for identity, item in side.items()}


def _are_alike(old: "Any", new: "Any", name: str) -> bool:
    if type(old) is not dict or type(new) is not dict:
        return False
    members = {*old, *new} - {name}
    same = sum(member in old and member in new and old[member] == new[member] for member in members)
    return bool(members) and 2 * same >= len(members)


def have_repeated(lists: "list[Nodes]") -> bool:
    """Whether a list has an item twice.

    Then an item that is elsewhere may be another one, and no move is followed.
    """
    return any(len({_key_of(item) for item in items}) < len(items) for items in lists)


def moved_apart(ours: ListSide, theirs: ListSide) -> bool:
    """Whether both sides moved one item, each to another place."""
    both = ours.moved.keys() & theirs.moved.keys()
    return any(ours.neighbours(index) != theirs.neighbours(index) for index in both)


def may_mix_up(ours: ListSide, theirs: ListSide) -> bool:
    """Whether merging by identities would hide a contradiction.

    It would if both sides rewrote one part, or if both added one item: each at another place, or
    one of them in the place of an item of base.
    """
    my_rewritten = [hunk for hunk in ours.hunks if _is_rewritten(hunk, ours)]
    your_rewritten = [hunk for hunk in theirs.hunks if _is_rewritten(hunk, theirs)]
    for mine in my_rewritten:
        for yours in your_rewritten:
            if mine.start < yours.end and yours.start < mine.end:
                return True

    your_added = _find_added(theirs)
    return any(your_added.get(key, place) != place for key, place in _find_added(ours).items())


def _is_rewritten(hunk: Hunk, version: ListSide) -> bool:
    """Whether a hunk has another number of items than it replaces, moved ones not counted."""
    arrived = set(version.moved.values())
    replaced = sum(index not in version.moved for index in range(hunk.start, hunk.end))
    put_there = sum(index not in arrived for index in range(hunk.first, hunk.last))
    return replaced != put_there and replaced > 0 and put_there > 0


def _find_added(version: ListSide) -> "dict[str, tuple[int, bool]]":
    """Return, by the key of each new item, where it is in base, and whether it counts as an item
    of base, edited.
    """
    arrived = set(version.moved.values())
    found = {}
    for hunk in version.hunks:
        replaced = sum(index not in version.moved for index in range(hunk.start, hunk.end))
        put_there = [index for index in range(hunk.first, hunk.last) if index not in arrived]
        for index in put_there:
            found[version.keys[index]] = (hunk.start, replaced == len(put_there))
    return found


def merge_by_position(
    merge_item: "MergeItem", base: "Nodes", ours: "Nodes", theirs: "Nodes"
) -> "list[Entry]":
    """Return the entries of three lists that are as long as each other."""
    entries = []
    for number, (was, mine, yours) in enumerate(zip(base, ours, theirs, strict=True)):
        result = merge_item(number, was, mine, yours)
        if result is not None:
            entries.append(Entry(None, result, mine))
    return entries


class SequenceMerge:
    """Merges three lists, or the parts between their shared ends, by their hunks.

    where: the pointer of the list. first: the index in it of the first item that is merged.
    """

    def __init__(
        self,
        where: str,
        first: int,
        base: "Nodes",
        ours: ListSide,
        theirs: ListSide,
        merge_item: "MergeItem",
    ) -> None:
        self.where = where
        self.first = first
        self.parts = _find_parts(ours, theirs)
        self.base = base
        self.single = find_single([_key_of(item) for item in base])
        self.sides = (ours, theirs)
        self.merge_item = merge_item
        self.entries: list[Entry] = []

    def add_apart(self) -> bool:
        """Whether both sides added an equal object or list, each in another part.

        That is one item, which a side moved after it came to both. A text or a number may well be
        two.
        """
        ours, theirs = self.sides
        my_parts: dict[str, int] = {}
        for number, (_, _, hunks) in enumerate(self.parts):
            my_parts.update(dict.fromkeys(_keys_of_new(ours, hunks[0]), number))

        for number, (_, _, hunks) in enumerate(self.parts):
            for key in _keys_of_new(theirs, hunks[1]):
                is_apart = my_parts.get(key, number) != number
                if is_apart and key.startswith(_CONTAINERS):
                    return True
        return False

    def merge(self) -> "list[Entry]":
        """Return the entries of the merged list."""
        done = 0  # of base's items
        shifts = [0, 0]  # from an index in base to that in ours and in theirs, behind what is done
        for start, end, hunks in self.parts:
            self._keep(done, start, shifts)
            parts = []
            for side in (0, 1):
                first = start + shifts[side]
                for hunk in hunks[side]:
                    shifts[side] += (hunk.last - hunk.first) - (hunk.end - hunk.start)
                parts.append(self.sides[side].items[first : end + shifts[side]])
            if not hunks[1]:
                self._take(parts[0])
            elif not hunks[0]:
                self._take(parts[1])
            else:
                self._merge_part(self.base[start:end], parts[0], parts[1])
            done = end

        self._keep(done, len(self.base), shifts)
        return self.entries

    def _keep(self, start: int, end: int, shifts: "list[int]") -> None:
        """Take items that neither side changed, as ours writes them."""
        self._take(self.sides[0].items[start + shifts[0] : end + shifts[0]])

    def _take(self, items: "Nodes") -> None:
        self.entries += [Entry(None, item, item) for item in items]

    def _merge_part(self, base: "Nodes", ours: "Nodes", theirs: "Nodes") -> None:
        """Merge a part that both sides changed."""
        if len(base) == len(ours) == len(theirs) and not _is_shifted(base, ours, theirs):
            for was, mine, yours in zip(base, ours, theirs, strict=True):
                result = self.merge_item(self.first + len(self.entries), was, mine, yours)
                if result is not None:
                    self.entries.append(Entry(None, result, mine))
            return

        if not base:
            self._merge_insertions(ours, theirs)
            return

        # what both put there alike, at either end, is not part of the conflict
        head, tail = shared_ends([[item.value for item in items] for items in (ours, theirs)])
        my_rest = ours[head : len(ours) - tail]
        your_rest = theirs[head : len(theirs) - tail]
        are_single = all(_key_of(item) in self.single for item in base)
        self._take(ours[:head])
        if are_single and _are_equal(my_rest, base):
            self._take(your_rest)
        elif are_single and _are_equal(your_rest, base):
            self._take(my_rest)
        elif my_rest or your_rest:
            self._conflict(base, my_rest, your_rest)

        self._take(ours[len(ours) - tail :])

    def _merge_insertions(self, ours: "Nodes", theirs: "Nodes") -> None:
        """Take what both sides inserted at one place, in an order that is the same if ours and
        theirs are exchanged.

        An item in both runs may be one that both sides added, or two: that is not guessed.
        """
        if _has_all(ours, theirs):
            self._take(ours)
        elif _has_all(theirs, ours):
            self._take(theirs)
        elif {_key_of(item) for item in ours} & {_key_of(item) for item in theirs}:
            self._conflict([], ours, theirs)
        elif _rank_items(theirs) < _rank_items(ours):
            self._take(theirs + ours)
        else:
            self._take(ours + theirs)

    def _conflict(self, base: "Nodes", ours: "Nodes", theirs: "Nodes") -> None:
        """Add one conflict, with a choice for each item: to take a side takes all of its items."""
        where = f"{self.where}/{self.first + len(self.entries)}"
        length = max(len(base), len(ours), len(theirs))
        group = where + PART if length > 1 else ""
        for number in range(length):
            mine, was, yours = [_item_at(items, number) for items in (ours, base, theirs)]
            choice = Choice(where, mine, was, yours, group)
            self.entries.append(Entry(None, choice, mine or yours or was))


def _item_at(items: "Nodes", index: int) -> "Node | None":
    if index < len(items):
        return items[index]
    return None


def _find_parts(ours: ListSide, theirs: ListSide) -> "list[tuple[int, int, list[list[Hunk]]]]":
    """Return the parts of base that a side changed: (start, end, hunks of ours and of theirs).

    Hunks are in one part if they overlap, or if they touch and put an equal item there.
    """
    sides = (ours, theirs)
    ordered = [(hunk.start, hunk.end, 0, hunk) for hunk in ours.hunks]
    ordered += [(hunk.start, hunk.end, 1, hunk) for hunk in theirs.hunks]
    ordered.sort(key=lambda row: row[:3])
    found: list[tuple[int, int, list[list[Hunk]]]] = []
    for start, end, side, hunk in ordered:
        if found:
            first, last, hunks = found[-1]
            belongs = start < last or (start, end) == (first, last)
            if start == last and _share_item(hunk, sides[side], hunks[1 - side], sides[1 - side]):
                belongs = True
            if belongs:
                hunks[side].append(hunk)
                found[-1] = (first, max(last, end), hunks)
                continue
        hunks = [[], []]
        hunks[side].append(hunk)
        found.append((start, end, hunks))

    return found


def _share_item(hunk: Hunk, side: ListSide, others: "list[Hunk]", other: ListSide) -> bool:
    """Whether two changes put an equal item there: it may be one that both sides added."""
    items = set(_keys_of_new(other, others))
    return any(key in items for key in _keys_of_new(side, [hunk]))


def _keys_of_new(version: ListSide, hunks: "list[Hunk]") -> "list[str]":
    """Return the keys of what a side put there."""
    return [key for hunk in hunks for key in version.keys[hunk.first : hunk.last]]


def _is_shifted(base: "Nodes", ours: "Nodes", theirs: "Nodes") -> bool:
    """Whether both sides put an equal object or list there, each at another place.

    Then items at the same place do not belong together.
    """
    old = {_key_of(item) for item in base}
    places = {_key_of(item): place for place, item in enumerate(ours)}
    for place, item in enumerate(theirs):
        key = _key_of(item)
        if key.startswith(_CONTAINERS) and key not in old and places.get(key, place) != place:
            return True
    return False


def _key_of(item: "Node") -> str:
    return item_key(item.value, ())


def _has_all(items: "Nodes", others: "Nodes") -> bool:
    """Whether the others are among the items, in the same order."""
    remaining = iter(items)
    return all(any(item.value == other.value for item in remaining) for other in others)


def _are_equal(items: "Nodes", others: "Nodes") -> bool:
    return [item.value for item in items] == [item.value for item in others]


def _rank_items(items: "Nodes") -> "list[Any]":
    return [canonical_rank(item.value) for item in items]


def is_tuple(strategy: str, lists: "list[Nodes]") -> bool:
    """Whether three lists merge by position.

    They do if they are as long as each other, and if the schema says so. If it says nothing, lists
    of numbers do: coordinates, a colour or a version.
    """
    if not len(lists[0]) == len(lists[1]) == len(lists[2]):
        return False
    if strategy == "sequence":
        return False
    return strategy == "tuple" or all(
        type(item.value) is bytes for items in lists for item in items
    )
