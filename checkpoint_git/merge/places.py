"""The recursion over places: what base, ours and theirs become at one place of a document.

The rules are the same everywhere: both agree; only theirs changed; only ours changed; else the place's strategy. No
rule gives a side a meaning, for git calls "ours" what a rebase brings from elsewhere. A result of None is absence.
"""

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsonstyle import children_of
from checkpoint_git.core.jsontext import CONTAINERS, Node, join_pointer
from checkpoint_git.core.jsonwrite import Built, Choice, Entry, Fresh
from checkpoint_git.merge import strategy
from checkpoint_git.merge.identity import NATURAL_KEYS
from checkpoint_git.merge.leaves import LEAF_STRATEGIES
from checkpoint_git.merge.order import merge_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsonwrite import Result
    from checkpoint_git.merge.strategy import Schema, Strategies


CONFLICT = "conflict"
NEWEST = "newest"


class Merging:
    """What holds for the whole of one merge: the strategies, the roots, the policy, and what was set aside.

    superseded: by the name of a top-level list, the value that a group left behind (policy "newest").
    """

    __slots__ = ("base", "narrative", "ours", "strategies", "superseded", "theirs")

    def __init__(
        self, strategies: "Strategies", base: "Node | None", ours: Node, theirs: Node, narrative: str = CONFLICT
    ) -> None:
        self.strategies = strategies
        self.base = base
        self.ours = ours
        self.theirs = theirs
        self.narrative = narrative
        self.superseded: dict[str, Any] = {}


def is_same(left: "Node | None", right: "Node | None") -> bool:
    """Whether two places hold the same: absence is a value of its own, different from null."""
    if left is None or right is None:
        return left is right
    return bool(left.value == right.value)


def merge_place(
    merging: Merging, schema: "Schema", where: str, base: "Node | None", ours: "Node | None", theirs: "Node | None"
) -> "Result | None":
    """The result at one place; see the module's sentence for the rules."""
    if is_same(ours, theirs) or is_same(theirs, base):
        return ours
    if is_same(ours, base):
        return _take_theirs(merging, schema, where, base, ours, theirs)
    rule = strategy.merge_rule(schema)
    name = rule.get("strategy")
    if name == NEWEST:
        return _merge_newest(merging, rule, ours, theirs)
    if ours is None or theirs is None:
        return Choice(where, ours, base, theirs)
    merge_leaf = LEAF_STRATEGIES.get(str(name))
    if merge_leaf is not None:
        merged = merge_leaf(rule, base, ours, theirs)
        return Choice(where, ours, base, theirs) if merged is None else merged
    return _merge_structure(merging, schema, where, base, ours, theirs)


def _take_theirs(
    merging: Merging, schema: "Schema", where: str, base: "Node | None", ours: "Node | None", theirs: "Node | None"
) -> "Result | None":
    """theirs; but where ours only laid the same value out anew, theirs' changes go into ours' layout."""
    if (
        base is None
        or ours is None
        or theirs is None
        or type(ours.value) not in CONTAINERS
        or ours.source == base.source
    ):
        return theirs
    if type(ours.value) is not type(theirs.value) or strategy.merge_rule(schema).get("strategy") == "atomic":
        return theirs
    return _merge_structure(merging, schema, where, base, ours, theirs)


def _merge_structure(
    merging: Merging, schema: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result":
    if strategy.merge_rule(schema).get("strategy") != "atomic":
        if type(ours.value) is dict and type(theirs.value) is dict:
            return merge_object(merging, schema, where, base, ours, theirs)
        if type(ours.value) is list and type(theirs.value) is list:
            from checkpoint_git.merge.lists import merge_list

            return merge_list(merging, schema, where, base, ours, theirs)
    return Choice(where, ours, base, theirs)


def _merge_newest(merging: Merging, rule: "Schema", ours: "Node | None", theirs: "Node | None") -> "Node | None":
    """The side whose root has the newer instant at rule["by"]; on a tie the smaller text. Never a conflict."""
    if ours is None or theirs is None:
        return ours or theirs
    newer = newer_side(merging.ours, merging.theirs, str(rule.get("by", "")))
    if newer == 0:
        newer = 1 if ours.source <= theirs.source else -1
    return ours if newer > 0 else theirs


def newer_side(ours: "Node | None", theirs: "Node | None", pointer: str) -> int:
    """1 where ours has the later instant at the pointer, -1 where theirs has, 0 where nobody can tell."""
    left, right = _instant_at(ours, pointer), _instant_at(theirs, pointer)
    if left is None or right is None or left == right:
        return 0
    return 1 if left > right else -1


def _instant_at(node: "Node | None", pointer: str) -> "tuple[int, str] | None":
    for name in pointer.split("/")[1:]:
        if node is None or type(node.members) is not dict:
            return None
        node = node.members.get(name)
    return None if node is None else read_instant(node.value)


def members_of(node: "Node | None") -> "dict[str, Node]":
    """An object's members; none for what is absent or no object."""
    return node.members if node is not None and type(node.members) is dict else {}


def merge_object(
    merging: Merging, schema: "Schema", where: str, base: "Node | None", ours: Node, theirs: Node
) -> "Result":
    """Two objects, member by member; a new key lands after its predecessor."""
    old, left, right = members_of(base), members_of(ours), members_of(theirs)
    if _became_two(old, left, right):
        return Choice(where, ours, base, theirs)
    order, _ = merge_order(old, left, right, str)
    grouped = _merge_groups(merging, schema, where, old, left, right)
    entries = []
    for key in order:
        mine, yours = left.get(key), right.get(key)
        if key in grouped:
            result = grouped[key]
        elif is_same(mine, yours):
            result = mine
        else:
            place = merging.strategies.member(schema, key)
            result = merge_place(merging, place, join_pointer(where, key), old.get(key), mine, yours)
        if result is not None:
            entries.append(Entry(key, result, mine or yours))
    return assemble(ours, entries, theirs)


def _became_two(old: "dict[str, Node]", left: "dict[str, Node]", right: "dict[str, Node]") -> bool:
    """Whether the sides hold different records by now, each with an identity of its own: never to be blended."""
    name = next((name for name in NATURAL_KEYS if name in left and name in right), None)
    if name is None or is_same(left[name], right[name]):
        return False
    return not (is_same(left[name], old.get(name)) or is_same(right[name], old.get(name)))


def assemble(ours: Node, entries: "list[Entry]", theirs: "Node | None") -> "Result":
    """A container of these entries in ours' style: ours itself where nothing differs from it."""
    children = children_of(ours)
    if len(children) == len(entries) and all(
        entry.result is child for entry, child in zip(entries, children, strict=True)
    ):
        return ours
    return Built(ours, entries, theirs)


def _merge_groups(
    merging: Merging,
    schema: "Schema",
    where: str,
    old: "dict[str, Node]",
    left: "dict[str, Node]",
    right: "dict[str, Node]",
) -> "dict[str, Result | None]":
    """The members that must come from one side together, each group decided as one."""
    groups: dict[str, list[str]] = {}
    rules: dict[str, Schema] = {}
    for key, place in (schema.get("properties") or strategy.NONE).items():
        rule = strategy.merge_rule(place)
        if rule.get("strategy") == "group" and (key in left or key in right):
            groups.setdefault(rule["name"], []).append(key)
            rules.setdefault(rule["name"], rule)
    results: dict[str, Result | None] = {}
    for name, keys in groups.items():
        sides = [{key: side.get(key) for key in keys} for side in (old, left, right)]
        results.update(_merge_group(merging, rules[name], where, sides[0], sides[1], sides[2]))
    return results


def _merge_group(
    merging: Merging,
    rule: "Schema",
    where: str,
    old: "dict[str, Node | None]",
    left: "dict[str, Node | None]",
    right: "dict[str, Node | None]",
) -> "dict[str, Result | None]":
    results: dict[str, Result | None] = {}
    undecided = False
    for key in left:
        if is_same(left[key], right[key]) or is_same(right[key], old[key]):
            results[key] = left[key]
        elif is_same(left[key], old[key]):
            results[key] = right[key]
        else:
            undecided = True
    if "rank" in rule and any(not is_same(left[key], right[key]) for key in left):
        # with a rank the group is one thing: where both sides touched it, none of the two is mixed with the other
        undecided = all(any(not is_same(side[key], old[key]) for key in old) for side in (left, right))
    if not undecided:
        return results
    chosen = _choose_group(merging, rule, old, left, right)
    if chosen is not None:
        return dict(chosen)
    pointer = join_pointer(where, next(key for key in left if not is_same(left[key], right[key])))
    name = f"{where}#{rule['name']}"
    choices: dict[str, Result | None] = {}
    for key in left:
        agreed = is_same(left[key], right[key])
        choices[key] = Choice(pointer, left[key], left[key] if agreed else old[key], right[key], name)
    return choices


def _choose_group(
    merging: Merging,
    rule: "Schema",
    old: "dict[str, Node | None]",
    left: "dict[str, Node | None]",
    right: "dict[str, Node | None]",
) -> "dict[str, Node | None] | None":
    """The side that a rule lets win as a whole, or None: a person must decide."""
    if "rank" in rule:
        newer = _higher(rule["rank"], old, left, right)
    elif "newest" in rule:
        newer = _newer_record(rule["newest"], left, right)
    elif merging.narrative == NEWEST and "superseded" in rule:
        newer = newer_side(merging.ours, merging.theirs, rule["by"])
        if newer:
            loser, root = (right, merging.theirs) if newer > 0 else (left, merging.ours)
            merging.superseded[rule["superseded"]] = _left_behind(rule["by"], root, loser)
    else:
        return None
    return None if newer == 0 else left if newer > 0 else right


def _higher(
    rank: "Any", old: "dict[str, Node | None]", left: "dict[str, Node | None]", right: "dict[str, Node | None]"
) -> int:
    """1 where left stands higher in the rank's orders, the first that differs deciding, -1 where right does.

    0 where they stand alike, where one fell behind the base, and where a value is in no order: a person decides.
    """
    start = _standing(rank, old) if any(old.values()) else []
    ours, theirs = _standing(rank, left), _standing(rank, right)
    if start is None or ours is None or theirs is None or ours == theirs or min(ours, theirs) < start:
        return 0
    return 1 if ours > theirs else -1


def _standing(rank: "Any", side: "dict[str, Node | None]") -> "list[int] | None":
    places = []
    for entry in rank:
        node = side.get(entry["at"][1:])
        if node is None or node.value not in entry["order"]:
            return None
        places.append(entry["order"].index(node.value))
    return places


def _newer_record(pointer: str, left: "dict[str, Node | None]", right: "dict[str, Node | None]") -> int:
    name, _, rest = pointer[1:].partition("/")
    return newer_side(left.get(name), right.get(name), "/" + rest)


def _left_behind(by: str, root: Node, leaves: "dict[str, Node | None]") -> "dict[str, Any]":
    """The losing side of a group as a record, with the instant that it lost by."""
    name = by[1:]
    record: dict[str, Any] = {name: members_of(root).get(name)}
    record.update(leaves)
    return {key: node for key, node in record.items() if node is not None}


def append_superseded(result: "Result", merging: Merging) -> "Result":
    """The merged root with every record that a group left behind at the end of its list."""
    for name, record in merging.superseded.items():
        root = result if type(result) is Built else Built(merging.ours, _own_entries(merging.ours), merging.theirs)
        entry = next((entry for entry in root.entries if entry.key == name), None)
        if entry is None:
            root.entries.append(Entry(name, Fresh([record]), None))
        else:
            entry.result = _appended(entry.result, record, merging.ours.text)
        result = root
    return result


def _appended(result: "Any", record: "dict[str, Any]", text: str) -> "Result":
    """A list with one more item, wherever it came from; text: that of the document that is written."""
    item = Entry(None, Fresh(record), None)
    if isinstance(result, Choice):
        ours, base, theirs = result.sides
        sides = [Fresh([record]) if side is None else _appended(side, record, text) for side in (ours, theirs)]
        return Choice(result.where, sides[0], base, sides[1], result.group)
    if isinstance(result, Built):
        return Built(result.anchor, [*result.entries, item], result.like)
    if isinstance(result, Node) and type(result.value) is list:
        if result.text is text:
            return Built(result, [*_own_entries(result), item], None)
        return Fresh([*children_of(result), record])
    return Fresh([result, record])


def _own_entries(node: Node) -> "list[Entry]":
    keys: list[str] | list[None] = list(node.members) if isinstance(node.members, dict) else [None] * len(node.value)
    return [Entry(key, child, child) for key, child in zip(keys, children_of(node), strict=True)]
