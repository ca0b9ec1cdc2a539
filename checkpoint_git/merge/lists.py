"""Lists as keyed collections: an item stays iff it is in both sides, or in one side and not in base.

Which items are the same item is the strategy's key; what an item holds is merged by key in turn. Removed against
edited, and one key added twice with different content, are conflicts and never a blend.
"""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsontext import CONTAINERS, join_pointer
from checkpoint_git.core.jsonwrite import Choice, Entry
from checkpoint_git.merge import strategy
from checkpoint_git.merge.identity import canonical_rank, find_natural_key, identify
from checkpoint_git.merge.order import merge_order
from checkpoint_git.merge.places import assemble, is_same, merge_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.core.jsonwrite import Result
    from checkpoint_git.merge.identity import Identity
    from checkpoint_git.merge.places import Merging
    from checkpoint_git.merge.strategy import Schema

    Items = dict[Identity, Node]


def merge_list(
    merging: "Merging", schema: "Schema", where: str, base: "Node | None", ours: "Node", theirs: "Node"
) -> "Result":
    """Two lists by the strategy of their place, or by their structure where the schema says nothing."""
    rule = strategy.merge_rule(schema)
    whole = [_items_of(side) for side in (base, ours, theirs)]
    names = _names_of(rule, whole)
    if names is None:
        return Choice(where, ours, base, theirs)
    head, tail = _shared_ends(whole)
    old, left, right = [identify(items[head : len(items) - tail], names) for items in whole]
    kept = [identity for identity in old if _stays(identity, old, left, right)]
    rank = _ranking(rule, left, right)
    is_queue = rule.get("strategy") == "queue"
    order, other = merge_order(kept, _kept_in(left, old, kept), _kept_in(right, old, kept), rank, whole_runs=is_queue)
    if other is not None and not is_queue:
        order = min(order, other, key=lambda identities: [rank(identity) for identity in identities])
    items_schema = merging.strategies.items(schema)
    merged = {
        identity: _merge_item(
            merging, items_schema, join_pointer(where, head + number), identity, old, left, right, "added" in rule
        )
        for number, identity in enumerate(order)
    }
    own = [Entry(None, item, item) for item in whole[1]]
    most = max(len(whole[1]), len(whole[2]), int(rule["limit"])) if "limit" in rule else None

    def assembled(identities: "list[Identity]") -> "Result":
        middle = [Entry(None, merged[identity], left.get(identity) or right.get(identity)) for identity in identities]
        return assemble(ours, [*own[:head], *middle, *own[len(own) - tail :]][:most], theirs)

    if other is not None and is_queue:
        return Choice(where, assembled(order), base, assembled(other))
    return assembled(order)


def _items_of(side: "Node | None") -> "list[Node]":
    members = None if side is None else side.members
    return members if type(members) is list else []


def _shared_ends(lists: "list[list[Node]]") -> "tuple[int, int]":
    """How many items all three lists begin with alike, and end with alike: there is nothing to merge in those."""
    base, ours, theirs = lists
    shortest = min(len(base), len(ours), len(theirs))
    head = 0
    while head < shortest and base[head].value == ours[head].value == theirs[head].value:
        head += 1
    tail = 0
    while tail < shortest - head and base[-1 - tail].value == ours[-1 - tail].value == theirs[-1 - tail].value:
        tail += 1
    return head, tail


def _names_of(rule: "Schema", lists: "list[list[Node]]") -> "tuple[str, ...] | None":
    """The members that identify an item, () for whole items, None where only a person can tell."""
    if rule.get("strategy") in ("set", "log", "rows", "queue"):
        return strategy.key_names(rule)
    natural = find_natural_key(lists)
    if natural:
        return (natural,)
    if all(type(item.value) not in CONTAINERS for items in lists for item in items):
        return ()
    return () if _is_told_apart(lists) else None


def _is_told_apart(lists: "list[list[Node]]") -> bool:
    """Whether whole items can stand for themselves: not when both sides may have edited one item differently."""
    old, left, right = [identify(items, ()) for items in lists]
    if all(identity in left or identity in right for identity in old):
        return True
    return all(identity in old for identity in left) and all(identity in old for identity in right)


def _stays(identity: "Identity", old: "Items", left: "Items", right: "Items") -> bool:
    """Whether an item of base is in the result: not when a side that kept it as it was meets one that removed it."""
    if identity in left and identity in right:
        return True
    holder = left if identity in left else right if identity in right else None
    return holder is not None and not is_same(holder[identity], old[identity])


def _kept_in(side: "Items", old: "Items", kept: "list[Identity]") -> "list[Identity]":
    staying = set(kept)
    return [identity for identity in side if identity not in old or identity in staying]


def _ranking(rule: "Schema", left: "Items", right: "Items") -> "Callable[[Identity], Any]":
    """The order of new items that compete for one place: newest first where the rule sorts, else canonical."""
    at = rule.get("sort", "")[1:]

    def rank_item(node: "Node") -> "Any":
        instant = read_instant(node.value.get(at)) if at and type(node.value) is dict else None
        newest_first = (0, 0, ()) if instant is None else (-1, -instant[0], tuple([-ord(c) for c in instant[1]]))
        return (newest_first, canonical_rank(node.value))

    def rank(identity: "Identity") -> "Any":
        # Where the sides hold different content under one key, the smaller counts: neither side may decide.
        return min([rank_item(side[identity]) for side in (left, right) if identity in side]), identity[1]

    return rank


def _merge_item(
    merging: "Merging",
    schema: "Schema",
    where: str,
    identity: "Identity",
    old: "Items",
    left: "Items",
    right: "Items",
    join: bool,
) -> "Result":
    """One item. join: what both sides added under one key is one thing, merged member by member."""
    base, ours, theirs = old.get(identity), left.get(identity), right.get(identity)
    if base is None and not (join and ours is not None and theirs is not None):
        if ours is not None and theirs is not None and not is_same(ours, theirs):
            return Choice(where, ours, None, theirs)
        return ours if ours is not None else theirs  # type: ignore[return-value]  # one of the two is there
    result = merge_place(merging, schema, where, base, ours, theirs)
    assert result is not None  # an item that _stays says is removed never comes here
    return result
