"""The verdict on one place of a merge, found from the versions of that place alone."""

from typing import Literal, NamedTuple

from checkpoint_git.core.jsontext import Node
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.merge.items import NATURAL_KEYS, canonical_text
from checkpoint_git.merge.result import is_same, members_of

Verdict = Literal[
    "agreed",  # both parents have it so
    "first",  # from the first parent
    "second",  # from the second parent
    "combined",  # made of both, as the merge rules say
    "decided",  # both changed it, no rule combines them, and the result is one of the two
    "limited",  # cut off by the length that the schema gives the list
    "moved",  # gone from here, and found elsewhere in the result
    "edited",  # in no parent: written in the merge
    "resurrected",  # removed by one parent, untouched by the other, and back
    "came-back",  # an action that one parent took off its queue, and that is to be done again
    "lost",  # written by a parent, gone, and there was nothing to choose
    "duplicated",  # more often there than in either parent
    "mixed-up",  # one record out of two
]
Parent = Literal["first", "second"]
Side = Literal["", "first", "second", "both"]

FAILURES: tuple[Verdict, ...] = ("lost", "came-back", "duplicated", "mixed-up")
DOUBTFUL: tuple[Verdict, ...] = ("resurrected", "decided")
PARENTS: tuple[Parent, Parent] = ("first", "second")
OTHER: dict[Side, Side] = {"first": "second", "second": "first", "both": "both", "": ""}

_BY_RULE = "as the merge rules say"
_AGAINST_RULES = "against the merge rules"


class Judgement(NamedTuple):
    """side: the parent that lost a change, won a decision, or had removed what is back."""

    verdict: Verdict
    side: Side = ""
    note: str = ""


class PlaceVersions(NamedTuple):
    """One place in every version of a merge, None in a version that lacks it.

    `first` and `second` are the merge's parents. `for_first` and `for_second` are what the merge
    rules make of them: the same, unless the rules leave a conflict, which is then decided for that
    parent.
    """

    base: Node | None
    first: Node | None
    second: Node | None
    result: Node | None
    for_first: Node | None = None
    for_second: Node | None = None

    @property
    def is_unchanged(self) -> bool:
        return all(is_same(self.base, node) for node in (self.first, self.second, self.result))

    @property
    def is_contested(self) -> bool:
        """Whether both parents changed the place, each in its own way."""
        if is_same(self.first, self.second):
            return False
        return not (is_same(self.first, self.base) or is_same(self.second, self.base))

    @property
    def is_settled(self) -> bool:
        """Whether the merge rules leave nothing to decide here."""
        return is_same(self.for_first, self.for_second)

    @property
    def is_by_rule(self) -> bool:
        return is_same(self.result, self.for_first) or is_same(self.result, self.for_second)


def judge(sides: PlaceVersions) -> Judgement:
    """Return the verdict on a place that is taken as a whole."""
    found = compare(sides)
    if sides.is_by_rule:
        return _excuse_by_rule(sides, found)
    if found.verdict == "decided" and sides.is_settled:
        return Judgement("lost", OTHER[found.side], _AGAINST_RULES)
    return found


def compare(sides: PlaceVersions) -> Judgement:
    """Return the verdict that holds where no merge rule says anything about the place."""
    base, first, second, result, *_ = sides
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
    if both is not None:
        return _judge_foreign(base, result)
    if is_same(result, base):
        return Judgement("resurrected", "both")
    return Judgement("edited")


def _judge_one_sided(
    base: Node | None, changed: Node | None, result: Node | None, side: Parent
) -> Judgement:
    if is_same(result, changed):
        return Judgement(side, side)
    if is_same(result, base) and changed is None:
        return Judgement("resurrected", side)
    if is_same(result, base) or result is None:
        return Judgement("lost", side)
    return Judgement("edited")


def _judge_foreign(base: Node | None, result: Node | None) -> Judgement:
    # the result is neither parent's
    if result is None or is_same(result, base):
        return Judgement("lost", "both")
    return Judgement("edited")


def _excuse_by_rule(sides: PlaceVersions, found: Judgement) -> Judgement:
    """Return the verdict on a result that is as the merge rules make it: it is blamed for nothing.

    found: the verdict without the rules.
    """
    if found.verdict in ("agreed", *PARENTS):
        return found

    winner = OTHER[found.side]
    if found.verdict == "decided":
        winner = found.side
    if found.verdict == "edited" or winner not in PARENTS:
        return Judgement("combined", "", _BY_RULE)
    if not sides.is_settled:
        return Judgement("decided", winner)
    if winner == "first":
        return Judgement("first", winner, _BY_RULE)
    return Judgement("second", winner, _BY_RULE)


def is_two_records(sides: PlaceVersions) -> bool:
    """Whether each parent changed the member that the object is known by."""
    base, first, second = (members_of(node) for node in sides[:3])
    name = next((name for name in NATURAL_KEYS if name in first and name in second), None)
    if name is None:
        return False
    return PlaceVersions(base.get(name), first[name], second[name], None).is_contested


def judge_record(sides: PlaceVersions) -> Judgement:
    """Return the verdict on an object that may be two records: the result can be a mixture."""
    found = judge(sides)
    if found.verdict != "edited":
        return found

    first, second, result = (_list_leaves(node) for node in sides[1:4])
    if any(first.get(leaf) != value != second.get(leaf) for leaf, value in result.items()):
        return found
    from_first = [leaf for leaf, value in result.items() if second.get(leaf) != value]
    from_second = [leaf for leaf, value in result.items() if first.get(leaf) != value]
    if not from_first or not from_second:
        return found

    first_part = f"{join_some(from_first, 3)} from the first parent's record"
    second_part = f"{join_some(from_second, 3)} from the second's"
    return Judgement("mixed-up", "both", f"{first_part}, {second_part}")


def _list_leaves(node: Node | None, name: str = "") -> dict[str, str]:
    """Return a record's values as canonical JSON, by names such as "a.b"; a list is one value."""
    if node is None:
        return {}
    if type(node.members) is not dict:
        return {name: canonical_text(node.value)}
    found: dict[str, str] = {}
    prefix = f"{name}." if name else ""
    for key, child in node.members.items():
        found.update(_list_leaves(child, f"{prefix}{key}"))
    return found
