"""Merge lists: which items there are, in which order, and what each of them becomes.

An item stays if both sides have it, or if one side has it and base has not. Items are known by a
key, which the schema or the items themselves give; lists without one are merged in their order, by
sequence.py.
"""

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsontext import CONTAINERS
from checkpoint_git.merge.items import (
    canonical_rank,
    find_natural_key,
    find_repeated,
    find_stable_key,
    identify,
    merge_order,
    shared_ends,
)
from checkpoint_git.merge.result import Built, Choice, Entry, Fresh, assemble, is_same, items_of
from checkpoint_git.merge.strategy import KEYED, ORDERED, key_names, list_strategy, merge_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.merge.items import Identity, Items
    from checkpoint_git.merge.result import Result
    from checkpoint_git.merge.strategy import Schema, Strategies

    Versions = tuple[Node | None, Node, Node]  # base, ours and theirs
    Identified = tuple[Items, Items, Items]
    MergePlace = Callable[[Schema, str, Node | None, Node | None, Node | None], Result | None]


class ListMerge:
    """Merges a list that both sides changed.

    merge_place: the function that merges an item, places.merge_place without its context.
    """

    def __init__(
        self,
        strategies: "Strategies",
        schema: "Schema",
        where: str,
        versions: "Versions",
        merge_place: "MergePlace",
    ) -> None:
        self.strategies = strategies
        self.schema = schema
        self.rule = merge_rule(schema)
        self.where = where
        self.base, self.ours, self.theirs = versions
        self.lists = [items_of(version) for version in versions]
        self.merge_place = merge_place

        # what all three begin and end with stays as it is
        self.head, self.tail = shared_ends([[item.value for item in items] for items in self.lists])
        self.parts = [items[self.head : len(items) - self.tail] for items in self.lists]

    def merge(self) -> "Result":
        strategy = list_strategy(self.schema)
        if strategy in ORDERED:
            return self._merge_in_order(strategy)
        names = find_names(self.rule, self.lists)
        if names is None and strategy == "set" and not _hold_containers(self.lists):
            names = ()
        if names is None:
            return self._merge_in_order(strategy)
        return self._merge_by_key(names)

    def _merge_by_key(self, names: "tuple[str, ...]") -> "Result":
        """Merge items that are known by their named members, or as a whole if there are none."""
        repeated = find_repeated(self.parts, names)
        old, left, right = [identify(items, names, repeated) for items in self.parts]
        is_complete = left.keys() >= old.keys() and right.keys() >= old.keys()
        has_ids = self.rule.get("strategy", "rows") == "rows"
        if names and has_ids and not is_complete:
            from checkpoint_git.merge.sequence import follow_renames  # many merges never come here

            mine = follow_renames(old, left, right, names[0])
            yours = follow_renames(old, right, left, names[0])
            return self._merge_identified((old, mine, yours))
        return self._merge_identified((old, left, right))

    def _merge_in_order(self, strategy: str) -> "Result":
        """Merge items that nothing identifies but their place in the list."""
        from checkpoint_git.merge import sequence  # many merges never come here

        if sequence.is_tuple(strategy, self.lists):
            merged = sequence.merge_by_position(self._merge_item, *self.lists)
            return assemble(self.ours, merged, self.theirs, self.base)

        if strategy == "tuple" and is_same(self.ours, self.base):
            return self.theirs  # ours is only reformatted
        if self.base is None or type(self.base.value) is not list or strategy == "tuple":
            return self._conflict()

        old, left, right = self.parts
        mine = sequence.ListSide(old, left)
        yours = sequence.ListSide(old, right)
        is_moved = bool(mine.moved or yours.moved)
        if is_moved and not sequence.have_repeated(self.lists):
            if sequence.may_mix_up(mine, yours):
                return self._conflict()
            return self._merge_identified(sequence.identify_by_alignment(old, mine, yours))

        if is_moved and sequence.moved_apart(mine, yours):
            return self._conflict()

        merge = sequence.SequenceMerge(self.where, self.head, old, mine, yours, self._merge_item)
        if merge.add_apart() and not sequence.have_repeated(self.lists):
            return self._conflict()
        entries = merge.merge()
        return self._assemble(entries, [False] * len(entries))

    def _merge_item(
        self, number: int, was: "Node | None", mine: "Node | None", yours: "Node | None"
    ) -> "Result | None":
        """Merge the versions of an item, which is at this index in the result."""
        schema = self._find_item_schema(number)
        return self.merge_place(schema, f"{self.where}/{number}", was, mine, yours)

    def _find_item_schema(self, number: int) -> "Schema":
        """Return the schema of an item.

        If items have a key, they can move, and the schemas of the first ones do not follow them.
        """
        if self.rule.get("strategy") in KEYED:
            return self.strategies.items(self.schema)
        return self.strategies.item_at(self.schema, number)

    def _conflict(self) -> Choice:
        return Choice(self.where, self.ours, self.base, self.theirs)

    def _assemble(self, middle: "list[Entry]", is_new: "list[bool]") -> "Result":
        """Put the middle between the ends. is_new: which of its entries base does not have."""
        mine = [Entry(None, item, item) for item in self.lists[1]]
        entries = [*mine[: self.head], *middle, *mine[len(mine) - self.tail :]]
        if "limit" in self.rule:
            most = max(len(self.lists[1]), len(self.lists[2]), int(self.rule["limit"]))
            is_new = [*[False] * self.head, *is_new, *[False] * self.tail]
            entries = _without_oldest(entries, is_new, self.rule.get("sort", "")[1:], most)
        return assemble(self.ours, entries, self.theirs, self.base)

    def _merge_identified(self, identified: "Identified") -> "Result":
        """Merge the items between the shared ends, each known by an identity."""
        old, left, right = identified
        survivors = [identity for identity in old if stays(identity, old, left, right)]
        kept = set(survivors)
        mine, yours = [
            [identity for identity in side if identity not in old or identity in kept]
            for side in (left, right)
        ]
        order, other = merge_order(
            survivors,
            mine,
            yours,
            rank_by(self.rule, left, right),
            whole_runs=self.rule.get("strategy") == "queue",
            may_choose=self.rule.get("strategy") in KEYED,
        )
        entries = {
            identity: self._merge_entry(number, identity, identified)
            for number, identity in enumerate(order, self.head)
        }

        def in_order(identities: "list[Identity]") -> "Result":
            is_new = [identity not in old for identity in identities]
            return self._assemble([entries[identity] for identity in identities], is_new)

        if other is None:
            return in_order(order)
        return Choice(self.where, in_order(order), self.base, in_order(other))

    def _merge_entry(self, number: int, identity: "Identity", identified: "Identified") -> Entry:
        was, mine, yours = [version.get(identity) for version in identified]
        pointer = f"{self.where}/{number}"
        result: Result | None = mine or yours
        if was is not None or (mine is not None and yours is not None and "added" in self.rule):
            result = self.merge_place(self._find_item_schema(number), pointer, was, mine, yours)
        elif mine is not None and yours is not None and not is_same(mine, yours):
            # one key, which both added for different things
            result = Choice(pointer, mine, None, yours)
        return Entry(None, result, mine or yours)


def merge_single_records(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Fresh | None":
    """Return the entries of a log of which one side is a single record and no list.

    None if both are lists, or if one of the records was changed.
    """
    names = key_names(rule)
    old, left, right = [identify(_records_of(node), names) for node in (base, ours, theirs)]
    if type(ours.value) not in CONTAINERS or type(theirs.value) not in CONTAINERS:
        return None
    is_one_kind = type(ours.value) is type(theirs.value)
    if is_one_kind and (type(ours.value) is list or left.keys() == right.keys()):
        return None
    if not names or not _are_untouched(old, left, right):
        return None

    survivors = [identity for identity in old if stays(identity, old, left, right)]
    sides = [
        [identity for identity in side if identity not in old or identity in survivors]
        for side in (left, right)
    ]
    order, _ = merge_order(survivors, sides[0], sides[1], rank_by(rule, left, right))
    return Fresh([left.get(identity) or right[identity] for identity in order])


def _records_of(node: "Node | None") -> "list[Node]":
    """Return the records of a log, or the single one that it is."""
    if node is not None and type(node.value) is dict:
        return [node]
    return items_of(node)


def _are_untouched(old: "Items", left: "Items", right: "Items") -> bool:
    """Whether every record is the same in all versions that have it."""
    known = [*old.items(), *left.items(), *right.items()]
    for identity, node in known:
        for side in (left, right):
            if identity in side and not is_same(node, side[identity]):
                return False
    return True


def find_names(rule: "Schema", lists: "list[list[Node]]") -> "tuple[str, ...] | None":
    """Return the members that identify an item of base, ours and theirs.

    () if the whole item identifies itself, None if nothing identifies it.
    """
    if rule.get("strategy") in KEYED:
        return key_names(rule)
    name = find_natural_key(lists) or find_stable_key(lists)
    if not name:
        return None
    return (name,)


def _hold_containers(lists: "list[list[Node]]") -> bool:
    return any(type(item.value) in CONTAINERS for items in lists for item in items)


def stays(identity: "Identity", old: "Items", left: "Items", right: "Items") -> bool:
    """Whether an item of base is in the result.

    It is not if one side removed it and the other left it as it was.
    """
    if identity in left and identity in right:
        return True
    if identity not in left and identity not in right:
        return False
    holder = left if identity in left else right
    return not is_same(holder[identity], old[identity])


def _without_oldest(
    entries: "list[Entry]", is_new: "list[bool]", sort: str, most: int
) -> "list[Entry]":
    """Return the entries without the oldest, so that there are not more than `most`.

    The age is that of the instants at `sort` if all entries have one; if not, those that base had
    are older than new ones. Of entries of one age the later ones in the list go. What is undecided
    stays, even if the list is too long then: it would be lost without a word.
    """
    if len(entries) <= most:
        return entries
    instants = []
    for entry in entries:
        assert entry.source is not None  # each continues an item
        instants.append(_instant_of(entry.source, sort))

    ages: list[Any] = list(zip(instants, is_new, strict=True))
    if None in instants:
        ages = [(new, instant or (0, "")) for instant, new in ages]

    oldest = sorted(range(len(entries)), key=lambda number: (ages[number], -number))
    dropped = set(oldest[: len(entries) - most])
    return [
        entry
        for number, entry in enumerate(entries)
        if number not in dropped or _is_open(entry.result)
    ]


def _instant_of(item: "Node", name: str) -> "tuple[int, str] | None":
    """Return the instant that a record has as a member; None if it has none."""
    if type(item.value) is not dict:
        return None
    return read_loose_instant(item.value.get(name))


def _is_open(result: "Result | None") -> bool:
    """Whether a result has a conflict in it."""
    if isinstance(result, Choice):
        return True
    return isinstance(result, Built) and any(_is_open(entry.result) for entry in result.entries)


def rank_by(rule: "Schema", left: "Items", right: "Items") -> "Callable[[Identity], Any]":
    """Return the function that ranks new items which compete for one place.

    Newest first if the rule sorts, else in canonical order.
    """
    sort = rule.get("sort", "")[1:]

    def rank_item(node: "Node") -> "Any":
        instant = _instant_of(node, sort) if sort else None
        newest_first: Any = (0, 0, ())
        if instant is not None:
            # the last 0: .5 is older than .55
            newest_first = (-1, -instant[0], (*[-ord(letter) for letter in instant[1]], 0))
        return newest_first, canonical_rank(node.value)

    def rank(identity: "Identity") -> "Any":
        # if the sides have different items under one key, the smaller one counts: neither side may
        # decide
        ranks = [rank_item(side[identity]) for side in (left, right) if identity in side]
        return min(ranks), identity[1]

    return rank
