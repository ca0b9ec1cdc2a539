"""Lists whose items have no key: what a side replaced, inserted or removed is found by aligning it
with base.

A list's meaning is not guessed from its values. The parts that one side changed are taken as that
side has them; what both changed merges item by item where it can, and is a conflict of that part
alone where it cannot.
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
    """One side of a list compared with base: which of base's items go on in it, and what it
    changed.

    pairs: of base's index and this side's, in both lists' order. hunks: the changes between them.
    moved: base's index to this side's, for items on another side of an item that stays.
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
        # an item that is there twice may be another one
        kept = {old for old, _ in self.pairs}
        places = find_single(self.keys)
        return {
            old: places[key]
            for key, old in find_single(old_keys).items()
            if old not in kept and key in places
        }

    def neighbours(self, old: int) -> "tuple[str, str]":
        """Return the keys of the items around one that was moved; "" if there is none."""
        place = self.moved[old]
        before = self.keys[place - 1] if place else ""
        after = self.keys[place + 1] if place + 1 < len(self.keys) else ""
        return before, after


def identify_by_alignment(
    base: "Nodes", ours: ListSide, theirs: ListSide
) -> "tuple[Items, Items, Items]":
    """Return base's items and those of both sides by identities that follow an item where it was
    moved or edited.

    An item that a side put in the place of one of base's is that one, edited. Of new ones equal
    items of both sides are one.
    """
    old: Items = {("", index): item for index, item in enumerate(base)}
    sides = []
    for version in (ours, theirs):
        continued = {new: index for index, new in version.pairs}
        continued.update({new: index for index, new in version.moved.items()})
        for hunk in version.hunks:
            replaced = [
                index for index in range(hunk.start, hunk.end) if index not in version.moved
            ]
            put_there = [new for new in range(hunk.first, hunk.last) if new not in continued]
            if len(replaced) == len(put_there):
                continued.update(zip(put_there, replaced, strict=True))
        sides.append(_name_items(version, continued))

    return old, sides[0], sides[1]


def _name_items(version: ListSide, continued: "dict[int, int]") -> "Items":
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
    """Return a side's items, those with a new key under base's identity where they stand in the
    place of the item that had it and are alike in at least half of the other members.
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
    """Return whether a list has an item twice. Then an item that is elsewhere may be another one,
    and no move is followed.
    """
    return any(len({_key_of(item) for item in items}) < len(items) for items in lists)


def moved_apart(ours: ListSide, theirs: ListSide) -> bool:
    """Return whether both sides moved one item, each to another place."""
    both = ours.moved.keys() & theirs.moved.keys()
    return any(ours.neighbours(index) != theirs.neighbours(index) for index in both)


def may_mix_up(ours: ListSide, theirs: ListSide) -> bool:
    """Return whether identities would hide a contradiction: both sides rewrote one part, or both
    added one item, each at another place, or one of them in the place of an item of base.
    """
    rewritten = [
        [hunk for hunk in version.hunks if _is_rewritten(hunk, version)]
        for version in (ours, theirs)
    ]
    if any(
        mine.start < yours.end and yours.start < mine.end
        for mine in rewritten[0]
        for yours in rewritten[1]
    ):
        return True

    added = [_find_added(version) for version in (ours, theirs)]
    return any(added[1].get(key, place) != place for key, place in added[0].items())


def _is_rewritten(hunk: Hunk, version: ListSide) -> bool:
    arrived = set(version.moved.values())
    replaced = sum(index not in version.moved for index in range(hunk.start, hunk.end))
    put_there = sum(index not in arrived for index in range(hunk.first, hunk.last))
    return replaced != put_there and replaced > 0 and put_there > 0


def _find_added(version: ListSide) -> "dict[str, tuple[int, bool]]":
    # by the key of a new item, where it is, and whether it counts as one of base's, edited
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
    """Return the entries of a list of fixed length, or of parts of lists as long as each other."""
    entries = []
    for number, (was, mine, yours) in enumerate(zip(base, ours, theirs, strict=True)):
        result = merge_item(number, was, mine, yours)
        if result is not None:
            entries.append(Entry(None, result, mine))
    return entries


class SequenceMerge:
    """where: the list's place. first: the index of the first item, as pointers count it."""

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
        """Return whether both sides added an equal object or list, each in another part.

        That is one item, which a side moved after it came to both. A text or a number may well be
        two.
        """
        parts_of: dict[str, int] = {}
        for number, (_, _, hunks) in enumerate(self.parts):
            parts_of.update(dict.fromkeys(_keys_of_new(self.sides[0], hunks[0]), number))
        return any(
            parts_of.get(key, number) != number and key.startswith(_CONTAINERS)
            for number, (_, _, hunks) in enumerate(self.parts)
            for key in _keys_of_new(self.sides[1], hunks[1])
        )

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
        # as ours writes them
        self._take(self.sides[0].items[start + shifts[0] : end + shifts[0]])

    def _take(self, items: "Nodes") -> None:
        self.entries += [Entry(None, item, item) for item in items]

    def _merge_part(self, base: "Nodes", ours: "Nodes", theirs: "Nodes") -> None:
        # a part that both sides changed
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
        # Both runs as they are, in an order that does not depend on which side is ours. Where they
        # share an item it may be one that both added, or two: that is not to be guessed.
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
        # one conflict with a choice for each of the items: taking a side takes all of that side's
        where = f"{self.where}/{self.first + len(self.entries)}"
        length = max(len(base), len(ours), len(theirs))
        group = where + PART if length > 1 else ""
        for number in range(length):
            mine, was, yours = [
                items[number] if number < len(items) else None for items in (ours, base, theirs)
            ]
            self.entries.append(
                Entry(None, Choice(where, mine, was, yours, group), mine or yours or was)
            )


def _find_parts(ours: ListSide, theirs: ListSide) -> "list[tuple[int, int, list[list[Hunk]]]]":
    # (start, end, hunks of each side): those that belong together
    sides = (ours, theirs)
    ordered = [(hunk.start, hunk.end, side, hunk) for side in (0, 1) for hunk in sides[side].hunks]
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
    # whether two changes that touch put an equal item there: it may be one that both added
    items = set(_keys_of_new(other, others))
    return any(key in items for key in _keys_of_new(side, [hunk]))


def _keys_of_new(version: ListSide, hunks: "list[Hunk]") -> "list[str]":
    return [key for hunk in hunks for key in version.keys[hunk.first : hunk.last]]


def _is_shifted(base: "Nodes", ours: "Nodes", theirs: "Nodes") -> bool:
    """Return whether both sides put an equal object or list there, each at another place: the
    places are no pairs.
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
    # whether the others are among the items, in the same order
    remaining = iter(items)
    return all(any(item.value == other.value for item in remaining) for other in others)


def _are_equal(items: "Nodes", others: "Nodes") -> bool:
    return [item.value for item in items] == [item.value for item in others]


def _rank_items(items: "Nodes") -> "list[Any]":
    return [canonical_rank(item.value) for item in items]


def is_tuple(strategy: str, lists: "list[Nodes]") -> bool:
    """Return whether three lists merge by position: they are as long as each other, and the schema
    says so, or where it says nothing they are numbers, such as coordinates, a colour or a version.
    """
    if not len(lists[0]) == len(lists[1]) == len(lists[2]):
        return False
    if strategy == "sequence":
        return False
    return strategy == "tuple" or all(
        type(item.value) is bytes for items in lists for item in items
    )
