"""Merge base, ours and theirs at one place, and by recursion at all places below it.

A node or a result of None is absence, which differs from null.
"""

from checkpoint_git.core.jsontext import CONTAINERS, Node, join_pointer
from checkpoint_git.merge.items import NATURAL_KEYS, merge_order
from checkpoint_git.merge.lists import ListMerge, merge_single_records
from checkpoint_git.merge.result import Choice, Entry, assemble, is_same, members_of, newer_side
from checkpoint_git.merge.strategy import KEYWORD, LEAF_STRATEGIES, NONE, Strategies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.merge.result import Result
    from checkpoint_git.merge.strategy import Schema

    Leaves = dict[str, Node | None]  # the members of a group as one version has them


# whether a group that keeps what it leaves behind takes the newer side: if that is safe, always, or
# never
AUTO = "auto"
NEWEST = "newest"
CONFLICT = "conflict"


class MergeContext:
    """The whole documents, which a place may have to look at.

    target: the side into whose text the result is written; while places are merged it is called
    ours. in_lines: the documents are lists of the records of JSON Lines.
    superseded: by the name of a top-level list, what a group left behind: the record, the one that
    base would have left, and the members that both sides changed.
    """

    __slots__ = (
        "base",
        "in_lines",
        "narrative",
        "ours",
        "strategies",
        "superseded",
        "target",
        "theirs",
    )

    def __init__(
        self, schema: "Schema", base: "Node | None", ours: Node, theirs: Node, narrative: str = AUTO
    ) -> None:
        self.strategies = Strategies(schema)
        self.base = base
        self.ours = self.target = ours
        self.theirs = theirs
        self.narrative = narrative
        self.in_lines = False
        self.superseded: dict[str, tuple[dict[str, Node], dict[str, Node], list[str]]] = {}


def merge_place(
    context: MergeContext,
    schema: "Schema",
    where: str,
    base: "Node | None",
    ours: "Node | None",
    theirs: "Node | None",
) -> "Result | None":
    """Return what base, ours and theirs become at a place.

    What one side alone changed is taken; what both changed merges as the rule says.
    """
    if is_same(ours, theirs) or is_same(theirs, base):
        return ours
    rule = schema.get(KEYWORD) or NONE
    if is_same(ours, base):
        if rule.get("strategy") == "atomic" or not _is_laid_out_anew(base, ours, theirs):
            return theirs
    elif rule.get("strategy") == NEWEST:
        return _merge_newest(context, rule, ours, theirs)
    elif ours is None or theirs is None:
        return Choice(where, ours, base, theirs)
    else:
        decided = _merge_by_rule(rule, where, base, ours, theirs)
        if decided is not None:
            return decided

    assert ours is not None
    assert theirs is not None
    if type(ours.value) is dict and type(theirs.value) is dict:
        return _merge_object(context, schema, where, base, ours, theirs)
    if type(ours.value) is list and type(theirs.value) is list:

        def merge_item(
            place: "Schema",
            pointer: str,
            was: "Node | None",
            mine: "Node | None",
            yours: "Node | None",
        ) -> "Result | None":
            return merge_place(context, place, pointer, was, mine, yours)

        return ListMerge(
            context.strategies, schema, where, (base, ours, theirs), merge_item
        ).merge()

    return Choice(where, ours, base, theirs)


def _is_laid_out_anew(base: "Node | None", ours: "Node | None", theirs: "Node | None") -> bool:
    """Whether ours has base's value in another layout, into which theirs' changes are to go."""
    if base is None or ours is None or theirs is None:
        return False
    is_container = type(ours.value) in CONTAINERS and type(ours.value) is type(theirs.value)
    return is_container and ours.source != base.source


def _merge_by_rule(
    rule: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result | None":
    """Return what the rule makes of a value that both sides changed.

    None if the members or items of both sides are to be merged.
    """
    name = str(rule.get("strategy"))
    if name in LEAF_STRATEGIES:
        return LEAF_STRATEGIES[name](rule, base, ours, theirs) or Choice(where, ours, base, theirs)
    if name == "atomic":
        return Choice(where, ours, base, theirs)
    if name == "log":
        return merge_single_records(rule, base, ours, theirs)
    return None


def _merge_newest(
    context: MergeContext, rule: "Schema", ours: "Node | None", theirs: "Node | None"
) -> "Node | None":
    """Return the side whose document has the newer instant at rule["by"], never a conflict.

    On a tie the smaller text counts.
    """
    if ours is None or theirs is None:
        return ours or theirs
    newer = newer_side(context.ours, context.theirs, str(rule.get("by", "")))
    if newer == 0:
        newer = 1 if ours.source <= theirs.source else -1
    return ours if newer > 0 else theirs


def _merge_object(
    context: MergeContext,
    schema: "Schema",
    where: str,
    base: "Node | None",
    ours: Node,
    theirs: Node,
) -> "Result":
    old, left, right = members_of(base), members_of(ours), members_of(theirs)
    if _identity_diverged(old, left, right):
        return Choice(where, ours, base, theirs)
    order, _ = merge_order(old, left, right, str)
    grouped: dict[str, Result | None] = {}
    for rule, keys in context.strategies.groups(schema, left, right):
        versions = [{key: side.get(key) for key in keys} for side in (old, left, right)]
        grouped.update(_merge_group(context, rule, where, *versions))

    entries = []
    for key in order:
        mine, yours = left.get(key), right.get(key)
        if key in grouped:
            result = grouped[key]
        elif is_same(mine, yours):
            result = mine
        else:
            place = context.strategies.member(schema, key)
            result = merge_place(
                context, place, join_pointer(where, key), old.get(key), mine, yours
            )
        if result is not None:
            entries.append(Entry(key, result, mine or yours))

    return assemble(ours, entries, theirs, base)


def _identity_diverged(
    old: "dict[str, Node]", left: "dict[str, Node]", right: "dict[str, Node]"
) -> bool:
    """Whether the sides have different records by now: parts of two records are never mixed."""
    name = next((name for name in NATURAL_KEYS if name in left and name in right), None)
    if name is None or is_same(left[name], right[name]):
        return False
    return not (is_same(left[name], old.get(name)) or is_same(right[name], old.get(name)))


def _merge_group(
    context: MergeContext,
    rule: "Schema",
    where: str,
    old: "Leaves",
    left: "Leaves",
    right: "Leaves",
) -> "dict[str, Result | None]":
    """Merge the members of a group, which come from one side together if they conflict.

    Each is merged three-way. If one conflicts, the rule may choose a side: "rank" orders the
    versions by the places that their values have in lists, "newest" by an instant in them, and
    "superseded" by time, with the older version kept in a list. Else the whole group is one
    conflict, so that the user picks what one side had.
    """
    results, undecided = _merge_leaves(old, left, right)
    differing = [key for key in left if not is_same(left[key], right[key])]
    if "rank" in rule and differing:
        undecided = []
        if _has_changed(left, old) and _has_changed(right, old):
            undecided = list(left)  # none of the two is mixed with the other

    if not undecided:
        return results

    chosen = _choose_side(context, rule, undecided, old, left, right)
    if chosen is None:
        return _make_conflict(rule, where, differing[0], old, left, right)
    if "rank" in rule or "newest" in rule:
        return {**chosen}  # a record comes whole
    # what one side alone wrote of a narrative stays, whichever side is newer
    return {**chosen, **results}


def _merge_leaves(
    old: "Leaves", left: "Leaves", right: "Leaves"
) -> "tuple[dict[str, Result | None], list[str]]":
    """Return the leaves that one side at most changed, and the names of those that both did."""
    results: dict[str, Result | None] = {}
    undecided: list[str] = []
    for key in left:
        if is_same(left[key], right[key]) or is_same(right[key], old[key]):
            results[key] = left[key]
        elif is_same(left[key], old[key]):
            results[key] = right[key]
        else:
            undecided.append(key)
    return results, undecided


def _has_changed(side: "Leaves", old: "Leaves") -> bool:
    return any(not is_same(side[key], old[key]) for key in old)


def _make_conflict(
    rule: "Schema", where: str, first: str, old: "Leaves", left: "Leaves", right: "Leaves"
) -> "dict[str, Result | None]":
    """Return a choice for each leaf, all of one group, and at the place of the leaf `first`."""
    pointer = join_pointer(where, first)
    group = f"{where}#{rule['name']}"
    choices: dict[str, Result | None] = {}
    for key in left:
        was = left[key] if is_same(left[key], right[key]) else old[key]
        choices[key] = Choice(pointer, left[key], was, right[key], group)

    return choices


def _choose_side(
    context: MergeContext,
    rule: "Schema",
    undecided: "list[str]",
    old: "Leaves",
    left: "Leaves",
    right: "Leaves",
) -> "Leaves | None":
    """Return the side that the rule lets win as a whole, None for a conflict."""
    if "rank" in rule:
        newer = _compare_ranks(rule["rank"], old, left, right)
    elif "newest" in rule:
        name, _, rest = rule["newest"][1:].partition("/")
        newer = newer_side(left.get(name), right.get(name), "/" + rest)
    elif "superseded" in rule and _follows_time(context, rule, left, right):
        newer = newer_side(context.ours, context.theirs, rule["by"])
        if newer:
            name = rule["by"][1:]
            if newer > 0:
                record = _make_record(name, context.theirs, right)
            else:
                record = _make_record(name, context.ours, left)
            earlier = _make_record(name, context.base, old)
            context.superseded[rule["superseded"]] = (record, earlier, undecided)
    else:
        return None

    if newer == 0:
        return None
    return left if newer > 0 else right


def _make_record(name: str, root: "Node | None", leaves: "Leaves") -> "dict[str, Node]":
    """Return what a version has of a group, behind the instant at which it was written.

    name: of the document's member with that instant.
    """
    members = {name: members_of(root).get(name), **leaves}
    return {key: node for key, node in members.items() if node is not None}


def _follows_time(context: MergeContext, rule: "Schema", left: "Leaves", right: "Leaves") -> bool:
    """Whether the newer side's group wins.

    No clock is asked, so that every clone merges alike, and so do `resolve` and `audit` later. An
    instant that is not later than base's does not say when that side's group was written: there may
    have been a revert, a copy, or a clock that was set back.
    """
    if context.narrative != AUTO:
        return context.narrative == NEWEST
    agreed = all(
        is_same(left.get(pointer[1:]), right.get(pointer[1:])) for pointer in rule.get("same") or ()
    )
    sides = (context.ours, context.theirs)
    return agreed and all(
        context.base is None or newer_side(side, context.base, rule["by"]) > 0 for side in sides
    )


def _compare_ranks(rank: "Any", old: "Leaves", left: "Leaves", right: "Leaves") -> int:
    """Return 1 if left is higher in the rank's orders, -1 if right is; the first that differs
    decides.

    0 for a conflict: they are equal, one fell behind base, or a value is in no order.
    """
    start: list[int] | None = []
    if any(old.values()):
        start = _find_ranks(rank, old)
    ours = _find_ranks(rank, left)
    theirs = _find_ranks(rank, right)
    if (
        start is None
        or ours is None
        or theirs is None
        or ours == theirs
        or min(ours, theirs) < start
    ):
        return 0

    return 1 if ours > theirs else -1


def _find_ranks(rank: "Any", side: "Leaves") -> "list[int] | None":
    """Return the place of a version's value in each of the rank's orders; None if one has none."""
    found = []
    for entry in rank:
        node = side.get(entry["at"][1:])
        if node is None or node.value not in entry["order"]:
            return None
        found.append(entry["order"].index(node.value))
    return found
