"""What a merge did to one place, judged from the place's four versions alone."""

from typing import Literal, NamedTuple

from checkpoint_git.core.jsontext import Node
from checkpoint_git.core.jsonwrite import OURS, value_of
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.merge.items import NATURAL_KEYS, canonical_text
from checkpoint_git.merge.places import NEWEST, is_same, members_of, merge_single_records, newer_side
from checkpoint_git.merge.strategy import LEAF_STRATEGIES, Schema

Verdict = Literal[
    "agreed",  # both parents have it so
    "first",  # from the first parent
    "second",  # from the second parent
    "combined",  # made of both, as the place's strategy says
    "decided",  # both changed it, nothing says how to combine them, and the result is one of the two
    "limited",  # cut off by the length that the schema gives the list
    "moved",  # gone from here, and found elsewhere in the result
    "edited",  # in no parent: written in the merge
    "resurrected",  # removed by one parent, untouched by the other, and back
    "lost",  # written by a parent, gone, and there was nothing to choose
    "duplicated",  # more often there than in either parent
    "mixed-up",  # one record out of two
]
Side = Literal["", "first", "second", "both"]

FAILURES: tuple[Verdict, ...] = ("lost", "duplicated", "mixed-up")
DOUBTFUL: tuple[Verdict, ...] = ("resurrected", "decided")
OTHER: dict[Side, Side] = {"first": "second", "second": "first", "both": "both", "": ""}


class Sides(NamedTuple):
    """None: absent. first and second are the merge's parents."""

    base: Node | None
    first: Node | None
    second: Node | None
    result: Node | None


class Judgement(NamedTuple):
    verdict: Verdict
    side: Side = ""
    note: str = ""


def is_unchanged(sides: Sides) -> bool:
    return all(is_same(sides.base, other) for other in sides[1:])


def changed_by_both(sides: Sides) -> bool:
    base, first, second, _ = sides
    return not (is_same(first, second) or is_same(first, base) or is_same(second, base))


def judge(sides: Sides) -> Judgement:
    base, first, second, result = sides
    if is_same(first, second):
        return _judge_agreed(base, first, result)
    if is_same(first, base):
        return _judge_one_sided(base, second, result, "second")
    if is_same(second, base):
        return _judge_one_sided(base, first, result, "first")
    if is_same(result, first):
        return Judgement("decided", "first")
    if is_same(result, second):
        return Judgement("decided", "second")
    return _judge_foreign(base, result)


def _judge_agreed(base: Node | None, both: Node | None, result: Node | None) -> Judgement:
    if is_same(result, both):
        return Judgement("agreed", "both")
    if both is None:
        return Judgement("resurrected", "both") if is_same(result, base) else Judgement("edited")
    return _judge_foreign(base, result)


def _judge_one_sided(
    base: Node | None, changed: Node | None, result: Node | None, side: Literal["first", "second"]
) -> Judgement:
    if is_same(result, changed):
        return Judgement(side, side)
    if is_same(result, base):
        return Judgement("resurrected" if changed is None else "lost", side)
    return Judgement("edited") if result is not None else Judgement("lost", side)


def _judge_foreign(base: Node | None, result: Node | None) -> Judgement:
    # a result that is no parent's, where both parents changed the place or both agree on it
    return Judgement("lost", "both") if result is None or is_same(result, base) else Judgement("edited")


def judge_by_rule(rule: "Schema", sides: Sides, roots: Sides) -> Judgement:
    """The verdict where the place's strategy decides what both parents changed. roots: the whole documents."""
    name = str(rule.get("strategy", ""))
    if sides.first is None or sides.second is None or not changed_by_both(sides):
        return judge(sides)
    if name == NEWEST:
        return _judge_newest(rule, sides, roots)
    if name == "log" and sides.result is not None:
        logged = merge_single_records(rule, sides.base, sides.first, sides.second)
        if logged is not None and value_of(logged, OURS) == sides.result.value:
            return Judgement("combined", "", name)
    merge_leaf = LEAF_STRATEGIES.get(name)
    if merge_leaf is None:
        return judge(sides)
    expected = merge_leaf(rule, sides.base, sides.first, sides.second)
    found = judge(sides)
    if expected is None:
        return found
    from checkpoint_git.core.decimals import compare_decimals  # few merges come here

    value = None if sides.result is None else sides.result.value
    if sides.result is not None and (value == expected.value or compare_decimals(value, expected.value) == 0):
        if expected is sides.first:
            return Judgement("first", "first", name)
        return Judgement("second", "second", name) if expected is sides.second else Judgement("combined", "", name)
    return Judgement("lost", OTHER[found.side], f"against {name}") if found.verdict == "decided" else found


def _judge_newest(rule: "Schema", sides: Sides, roots: Sides) -> Judgement:
    found = judge(sides)
    if found.verdict != "decided":
        return found
    newer = newer_side(roots.first, roots.second, str(rule.get("by", "")))
    if newer != 0 and (newer > 0) != (found.side == "first"):
        return Judgement("lost", OTHER[found.side], "against newest")
    return Judgement("first" if found.side == "first" else "second", found.side, "newest")


def is_two_records(sides: Sides) -> bool:
    # each parent changed what the object is known by
    base, first, second, _ = (members_of(node) for node in sides)
    name = next((name for name in NATURAL_KEYS if name in first and name in second), None)
    return name is not None and changed_by_both(Sides(base.get(name), first[name], second[name], None))


def judge_record(sides: Sides) -> Judgement:
    # two different records at one place: the result is one of them, a mixture of both, or a new one
    found = judge(sides)
    if found.verdict != "edited":
        return found
    first, second, result = (_leaves_of(node) for node in sides[1:])
    if any(first.get(leaf) != value and second.get(leaf) != value for leaf, value in result.items()):
        return found
    mine = [leaf for leaf, value in result.items() if second.get(leaf) != value]
    others = [leaf for leaf, value in result.items() if first.get(leaf) != value]
    if not mine or not others:
        return found
    its, theirs = (join_some(leaves, 3) for leaves in (mine, others))
    return Judgement("mixed-up", "both", f"{its} from the first parent's record, {theirs} from the second's")


def _leaves_of(node: Node | None, name: str = "") -> dict[str, str]:
    # what a record holds, member by member, as canonical JSON; lists are taken as a whole
    if node is None or type(node.members) is not dict:
        return {} if node is None else {name: canonical_text(node.value)}
    found: dict[str, str] = {}
    for key, child in node.members.items():
        found.update(_leaves_of(child, f"{name}.{key}" if name else key))
    return found
