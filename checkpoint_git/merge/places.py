"""The recursion over places: what base, ours and theirs become at one place by the rules in the package's docstring."""

from checkpoint_git.core.clock import read_instant, read_loose_instant
from checkpoint_git.core.jsontext import CONTAINERS, Node, join_pointer
from checkpoint_git.core.jsonwrite import Built, Choice, Entry, Fresh, shared_ends
from checkpoint_git.merge.items import (
    NATURAL_KEYS,
    canonical_rank,
    find_natural_key,
    find_repeated,
    find_stable_key,
    identify,
    merge_order,
)
from checkpoint_git.merge.strategy import (
    KEYED,
    KEYWORD,
    LEAF_STRATEGIES,
    NONE,
    ORDERED,
    Strategies,
    find_groups,
    key_names,
    list_strategy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.core.jsonwrite import Result
    from checkpoint_git.merge.items import Identity, Items
    from checkpoint_git.merge.strategy import Schema

    Leaves = dict[str, Node | None]  # the members of a group as one version has them


# what becomes of a group that keeps what it leaves behind: the newer side's where that is safe, always, or never
AUTO = "auto"
NEWEST = "newest"
CONFLICT = "conflict"


class MergeContext:
    """superseded: by the name of a top-level list, what a group left behind: the record, the one that base would have
    left, and the members that both sides changed. target: the side into whose text the result is written; while places
    are merged it is called ours.
    """

    __slots__ = ("base", "narrative", "ours", "strategies", "superseded", "target", "theirs")

    def __init__(self, schema: "Schema", base: "Node | None", ours: Node, theirs: Node, narrative: str = AUTO) -> None:
        self.strategies = Strategies(schema)
        self.base = base
        self.ours = self.target = ours
        self.theirs = theirs
        self.narrative = narrative
        self.superseded: dict[str, tuple[dict[str, Node], dict[str, Node], list[str]]] = {}


def is_same(left: "Node | None", right: "Node | None") -> bool:
    if left is None or right is None:
        return left is right
    return bool(left.value == right.value)


def members_of(node: "Node | None") -> "dict[str, Node]":
    members = None if node is None else node.members
    return members if type(members) is dict else {}


def items_of(node: "Node | None") -> "list[Node]":
    members = None if node is None else node.members
    return members if type(members) is list else []


def newer_side(ours: "Node | None", theirs: "Node | None", pointer: str) -> int:
    """1 where ours has the later instant at the pointer, -1 where theirs has, 0 where neither can be called later."""
    instants = []
    for node in (ours, theirs):
        for name in pointer.split("/")[1:]:
            node = members_of(node).get(name)
        instants.append(None if node is None else read_loose_instant(node.value))
    left, right = instants
    if left is None or right is None or left == right:
        return 0
    return 1 if left > right else -1


# A node or a result of None is absence, which differs from null. An item of a list stays iff both sides have it, or one
# side has it and base has not; it is known by its key, and one key with two contents that both sides added is a
# conflict, an id collision, unless the rule says "added".
def merge_place(
    context: MergeContext, schema: "Schema", where: str, base: "Node | None", ours: "Node | None", theirs: "Node | None"
) -> "Result | None":
    if is_same(ours, theirs) or is_same(theirs, base):
        return ours
    rule = schema.get(KEYWORD) or NONE
    name = rule.get("strategy")
    if is_same(ours, base):
        if base is None or ours is None or theirs is None or name == "atomic":
            return theirs
        if (
            type(ours.value) not in CONTAINERS
            or ours.source == base.source
            or type(ours.value) is not type(theirs.value)
        ):
            return theirs
        # ours has base's value in another layout: theirs' changes go into ours' layout
    elif name == NEWEST:
        return _merge_newest(context, rule, ours, theirs)
    elif ours is None or theirs is None:
        return Choice(where, ours, base, theirs)
    elif str(name) in LEAF_STRATEGIES:
        return LEAF_STRATEGIES[str(name)](rule, base, ours, theirs) or Choice(where, ours, base, theirs)
    elif name == "log" and (logged := merge_single_records(rule, base, ours, theirs)):
        return logged
    if name != "atomic":
        if type(ours.value) is dict and type(theirs.value) is dict:
            return _merge_object(context, schema, where, base, ours, theirs)
        if type(ours.value) is list and type(theirs.value) is list:
            return _merge_list(context, schema, where, base, ours, theirs)
    return Choice(where, ours, base, theirs)


def _merge_newest(context: MergeContext, rule: "Schema", ours: "Node | None", theirs: "Node | None") -> "Node | None":
    # the side whose root has the newer instant at rule["by"]; on a tie the smaller text. Never a conflict
    if ours is None or theirs is None:
        return ours or theirs
    newer = newer_side(context.ours, context.theirs, str(rule.get("by", "")))
    if newer == 0:
        newer = 1 if ours.source <= theirs.source else -1
    return ours if newer > 0 else theirs


def _merge_object(
    context: MergeContext, schema: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result":
    old, left, right = members_of(base), members_of(ours), members_of(theirs)
    if _identity_diverged(old, left, right):
        return Choice(where, ours, base, theirs)
    order, _ = merge_order(old, left, right, str)
    grouped: dict[str, Result | None] = {}
    for keys in find_groups(schema, left, right).values():
        versions = [{key: side.get(key) for key in keys} for side in (old, left, right)]
        grouped.update(_merge_group(context, schema["properties"][keys[0]][KEYWORD], where, *versions))
    entries = []
    for key in order:
        mine, yours = left.get(key), right.get(key)
        if key in grouped:
            result = grouped[key]
        elif is_same(mine, yours):
            result = mine
        else:
            place = context.strategies.member(schema, key)
            result = merge_place(context, place, join_pointer(where, key), old.get(key), mine, yours)
        if result is not None:
            entries.append(Entry(key, result, mine or yours))
    return _assemble(ours, entries, theirs)


def _identity_diverged(old: "dict[str, Node]", left: "dict[str, Node]", right: "dict[str, Node]") -> bool:
    # the sides hold different records by now, each with an identity of its own: these are never mixed
    name = next((name for name in NATURAL_KEYS if name in left and name in right), None)
    if name is None or is_same(left[name], right[name]):
        return False
    return not (is_same(left[name], old.get(name)) or is_same(right[name], old.get(name)))


def _assemble(ours: Node, entries: "list[Entry]", theirs: "Node | None") -> "Result":
    # ours itself where nothing differs from it, so that it is written with the bytes that it has
    if [id(entry.result) for entry in entries] == [id(child) for child in ours.children]:
        return ours
    return Built(ours, entries, theirs)


# Members of an object that come from one side together, as their rule says: "rank" makes the group one thing whose
# versions are ordered by the places that its values have in lists; "newest" names an instant in it; "superseded" keeps
# the older version in a list.
def _merge_group(
    context: MergeContext, rule: "Schema", where: str, old: "Leaves", left: "Leaves", right: "Leaves"
) -> "dict[str, Result | None]":
    # each leaf three-way; if one conflicts, the whole group is one conflict: who resolves it picks what somebody had
    results: dict[str, Result | None] = {}
    undecided: list[str] = []
    for key in left:
        if is_same(left[key], right[key]) or is_same(right[key], old[key]):
            results[key] = left[key]
        elif is_same(left[key], old[key]):
            results[key] = right[key]
        else:
            undecided.append(key)
    if "rank" in rule and any(not is_same(left[key], right[key]) for key in left):
        # where both sides touched it, none of the two is mixed with the other
        apart = all(any(not is_same(side[key], old[key]) for key in old) for side in (left, right))
        undecided = list(left) if apart else []
    if not undecided:
        return results
    chosen = _choose_side(context, rule, undecided, old, left, right)
    if chosen is not None:
        # a record comes whole; what one side alone wrote of a narrative stays, whichever is newer
        return {**chosen, **({} if "rank" in rule or "newest" in rule else results)}
    pointer = join_pointer(where, next(key for key in left if not is_same(left[key], right[key])))
    name = f"{where}#{rule['name']}"
    choices: dict[str, Result | None] = {}
    for key in left:
        agreed = is_same(left[key], right[key])
        choices[key] = Choice(pointer, left[key], left[key] if agreed else old[key], right[key], name)
    return choices


def _choose_side(
    context: MergeContext, rule: "Schema", undecided: "list[str]", old: "Leaves", left: "Leaves", right: "Leaves"
) -> "Leaves | None":
    # the side that the rule lets win as a whole, or None for a conflict
    if "rank" in rule:
        newer = _compare_ranks(rule["rank"], old, left, right)
    elif "newest" in rule:
        name, _, rest = rule["newest"][1:].partition("/")
        newer = newer_side(left.get(name), right.get(name), "/" + rest)
    elif "superseded" in rule and _follows_time(context, rule, left, right):
        newer = newer_side(context.ours, context.theirs, rule["by"])
        if newer:
            loser, root = (right, context.theirs) if newer > 0 else (left, context.ours)
            name = rule["by"][1:]
            left_behind = [
                {key: node for key, node in {name: members_of(whole).get(name), **leaves}.items() if node is not None}
                for whole, leaves in ((root, loser), (context.base, old))
            ]
            context.superseded[rule["superseded"]] = (left_behind[0], left_behind[1], undecided)
    else:
        return None
    return None if newer == 0 else left if newer > 0 else right


def _follows_time(context: MergeContext, rule: "Schema", left: "Leaves", right: "Leaves") -> bool:
    # No clock is asked, so that every clone, and `resolve` and `audit` later, merges alike. An instant that is not
    # later than base's says nothing of when that side's group was written: a revert, a copy, a clock set back
    if context.narrative == AUTO:
        agreed = all(is_same(left.get(at[1:]), right.get(at[1:])) for at in rule.get("same") or ())
        sides = (context.ours, context.theirs)
        return agreed and all(context.base is None or newer_side(each, context.base, rule["by"]) > 0 for each in sides)
    return context.narrative == NEWEST


def _compare_ranks(rank: "Any", old: "Leaves", left: "Leaves", right: "Leaves") -> int:
    """1 where left is higher in the rank's orders, the first that differs deciding, -1 where right is. 0 where they are
    equal, where one fell behind the base, and where a value is in no order: a conflict.
    """

    def places(side: "Leaves") -> "list[int] | None":
        found = []
        for entry in rank:
            node = side.get(entry["at"][1:])
            if node is None or node.value not in entry["order"]:
                return None
            found.append(entry["order"].index(node.value))
        return found

    start = places(old) if any(old.values()) else []
    ours, theirs = places(left), places(right)
    if start is None or ours is None or theirs is None or ours == theirs or min(ours, theirs) < start:
        return 0
    return 1 if ours > theirs else -1


def _merge_list(
    context: MergeContext, schema: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result":
    rule = schema.get(KEYWORD) or NONE
    strategy = list_strategy(schema)
    whole = [items_of(side) for side in (base, ours, theirs)]
    if strategy in ORDERED:
        return _merge_ordered(context, schema, where, base, ours, theirs)
    names = find_names(rule, whole)
    if names is None and strategy == "set" and not _hold_containers(whole):
        names = ()
    if names is None:
        return _merge_ordered(context, schema, where, base, ours, theirs)

    # nothing is to be merged in what all begin and end with
    head, tail = shared_ends([[item.value for item in items] for items in whole])
    parts = [items[head : len(items) - tail] for items in whole]
    repeated = find_repeated(parts, names)
    old, left, right = [identify(items, names, repeated) for items in parts]
    if "strategy" not in rule and not (left.keys() >= old.keys() and right.keys() >= old.keys()):
        from checkpoint_git.merge.sequence import follow_renames  # many merges never come here

        found = [follow_renames(old, side, other, names[0]) for side, other in ((left, right), (right, left))]
        left, right = found
    return _merge_identified(context, schema, where, (base, ours, theirs), (old, left, right), head, tail)


def _hold_containers(lists: "list[list[Node]]") -> bool:
    return any(type(item.value) in CONTAINERS for items in lists for item in items)


def _merge_ordered(
    context: MergeContext, schema: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result":
    # a list whose items have no key: their order counts
    from checkpoint_git.merge import sequence  # many merges never come here

    whole = [items_of(side) for side in (base, ours, theirs)]
    strategy = list_strategy(schema)

    def merge_item(number: int, was: "Node | None", mine: "Node | None", yours: "Node | None") -> "Result | None":
        place = context.strategies.item_at(schema, number)
        return merge_place(context, place, f"{where}/{number}", was, mine, yours)

    if sequence.is_tuple(strategy, whole):
        return _assemble(ours, sequence.merge_by_position(merge_item, *whole), theirs)
    if base is None or strategy == "tuple":
        return Choice(where, ours, base, theirs)

    head, tail = shared_ends([[item.value for item in items] for items in whole])
    old, left, right = [items[head : len(items) - tail] for items in whole]
    mine = sequence.Version(old, left)
    yours = sequence.Version(old, right)
    is_moved = bool(mine.moved or yours.moved)
    if is_moved and not sequence.have_repeated(whole):
        if sequence.may_mix_up(mine, yours):
            return Choice(where, ours, base, theirs)
        identified = sequence.identify_by_alignment(old, mine, yours)
        return _merge_identified(context, schema, where, (base, ours, theirs), identified, head, tail)
    if is_moved and sequence.moved_apart(mine, yours):
        return Choice(where, ours, base, theirs)

    entries = sequence.SequenceMerge(where, head, old, mine, yours, merge_item).merge()
    own = [Entry(None, item, item) for item in whole[1]]
    return _assemble(ours, [*own[:head], *entries, *own[len(own) - tail :]], theirs)


# versions: the lists of base, ours and theirs. identified: what is between the first `head` items and the last `tail`,
# which are the same in all of them.
def _merge_identified(
    context: MergeContext,
    schema: "Schema",
    where: str,
    versions: "tuple[Node | None, Node, Node]",
    identified: "tuple[Items, Items, Items]",
    head: int,
    tail: int,
) -> "Result":
    rule = schema.get(KEYWORD) or NONE
    base, ours, theirs = versions
    old, left, right = identified
    kept = {identity for identity in old if _stays(identity, old, left, right)}
    sides = [[identity for identity in side if identity not in old or identity in kept] for side in (left, right)]
    survivors = [identity for identity in old if identity in kept]
    order, other = merge_order(
        survivors,
        sides[0],
        sides[1],
        _ranking(rule, left, right),
        whole_runs=rule.get("strategy") == "queue",
        may_choose="strategy" in rule,
    )
    place = context.strategies.items(schema)
    merged: dict[Identity, Result | None] = {}
    for number, identity in enumerate(order, head):
        pointer = f"{where}/{number}"
        was, mine, yours = old.get(identity), left.get(identity), right.get(identity)
        if was is not None or (mine is not None and yours is not None and "added" in rule):
            merged[identity] = merge_place(context, place, pointer, was, mine, yours)
        elif mine is not None and yours is not None and not is_same(mine, yours):
            merged[identity] = Choice(pointer, mine, None, yours)
        else:
            merged[identity] = mine or yours

    own = [Entry(None, item, item) for item in items_of(ours)]
    longest = max(len(own), len(items_of(theirs)))

    def assembled(identities: "list[Identity]") -> "Result":
        middle = [Entry(None, merged[identity], left.get(identity) or right.get(identity)) for identity in identities]
        entries = [*own[:head], *middle, *own[len(own) - tail :]]
        most = max(longest, int(rule["limit"])) if "limit" in rule else len(entries)
        if len(entries) > most:
            is_new = [*[False] * head, *(identity not in old for identity in identities), *[False] * tail]
            _cut_oldest(entries, is_new, rule.get("sort", "")[1:], most)
        return _assemble(ours, entries, theirs)

    if other is not None:
        return Choice(where, assembled(order), base, assembled(other))
    return assembled(order)


def merge_single_records(rule: "Schema", base: "Node | None", ours: Node, theirs: Node) -> "Fresh | None":
    """The entries of a log that one side holds as a single record; None if both or neither do, or one changed."""
    names = key_names(rule)
    old, left, right = [
        identify([node] if node and type(node.value) is dict else items_of(node), names)
        for node in (base, ours, theirs)
    ]
    if type(ours.value) is type(theirs.value) and (type(ours.value) is list or left.keys() == right.keys()):
        return None
    if type(ours.value) not in CONTAINERS or type(theirs.value) not in CONTAINERS:
        return None
    known = [*old.items(), *left.items(), *right.items()]
    if not names or any(not is_same(node, version.get(one, node)) for one, node in known for version in (left, right)):
        return None
    kept = [one for one in old if _stays(one, old, left, right)]
    versions = [[one for one in side if one not in old or one in kept] for side in (left, right)]
    order, _ = merge_order(kept, versions[0], versions[1], _ranking(rule, left, right))
    return Fresh([left.get(one) or right[one] for one in order])


def find_names(rule: "Schema", lists: "list[list[Node]]") -> "tuple[str, ...] | None":
    """The members that identify an item of base, ours and theirs; () for whole items, None where none do."""
    if rule.get("strategy") in KEYED:
        return key_names(rule)
    natural = find_natural_key(lists) or find_stable_key(lists)
    return (natural,) if natural else None


def _stays(identity: "Identity", old: "Items", left: "Items", right: "Items") -> bool:
    # whether an item of base is in the result: not when a side that kept it as it was meets one that removed it
    if identity in left and identity in right:
        return True
    holder = left if identity in left else right if identity in right else None
    return holder is not None and not is_same(holder[identity], old[identity])


def _cut_oldest(entries: "list[Entry]", is_new: "list[bool]", at: str, most: int) -> None:
    # by the instants where all have one; else what base had goes first. Of those as old the later ones in the list
    values = [entry.source.value for entry in entries]  # type: ignore[union-attr]  # each continues an item
    instants = [read_instant(value.get(at)) if type(value) is dict else None for value in values]
    ages: list[Any] = list(zip(instants, is_new, strict=True))
    if None in instants:
        ages = [(new, instant or (0, "")) for instant, new in ages]
    oldest = sorted(range(len(entries)), key=lambda number: (ages[number], -number))[: len(entries) - most]
    for number in sorted(oldest, reverse=True):
        del entries[number]


def _ranking(rule: "Schema", left: "Items", right: "Items") -> "Callable[[Identity], Any]":
    # the order of new items that compete for one place: newest first where the rule sorts, else canonical
    at = rule.get("sort", "")[1:]

    def rank_item(node: Node) -> "Any":
        instant = read_instant(node.value.get(at)) if at and type(node.value) is dict else None
        newest_first = (0, 0, ()) if instant is None else (-1, -instant[0], tuple([-ord(c) for c in instant[1]]))
        return (newest_first, canonical_rank(node.value))

    def rank(identity: "Identity") -> "Any":
        # where the sides hold different content under one key, the smaller counts: neither side may decide
        return min([rank_item(side[identity]) for side in (left, right) if identity in side]), identity[1]

    return rank
