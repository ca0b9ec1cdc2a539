"""What a merge did to the items of a list: each is followed by what it is known by, as the merge itself knows it.

Beyond what became of an item it tells rows that stand twice and records made of two, which merging by lines produces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsontext import Node, join_pointer, scan_tokens
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.merge.explain import Entry, Explaining, Place, explain_place, judge_record
from checkpoint_git.merge.identity import canonical_text, find_natural_key, identify
from checkpoint_git.merge.places import is_same, members_of
from checkpoint_git.merge.records import find_foreign, find_mixture, is_reworded
from checkpoint_git.merge.strategy import REQUIRE, key_names, merge_rule
from checkpoint_git.merge.verdict import Judgement, Side, Sides, judge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checkpoint_git.merge.identity import Identity
    from checkpoint_git.merge.records import Owners
    from checkpoint_git.merge.strategy import Schema

    Items = dict[Identity, Node]

KEYED = ("set", "log", "rows", "queue")
MOST_COMPARED = 50  # items that are gone, and items written in the merge: more are not searched for likenesses


class Lists(NamedTuple):
    """The items of a list in the four versions, by identity.

    names: the members that identify an item. numbers: where an item stands in the result, else in a version that has
    it. owners: see records.find_foreign.
    """

    base: Items
    first: Items
    second: Items
    result: Items
    names: tuple[str, ...]
    numbers: dict[Identity, int]
    owners: Owners

    def sides(self, identity: Identity) -> Sides:
        """One item in the four versions."""
        return Sides(*(version.get(identity) for version in self[:4]))


def explain_list(work: Explaining, place: Place, sides: Sides) -> None:
    """What became of the items of a list that at least one parent and the result have."""
    rule = merge_rule(place.schema)
    items = [node.members if node is not None and type(node.members) is list else [] for node in sides]
    names = find_names(rule, items)
    if names is None:
        work.note(place, sides, _judge_whole(sides, items))
        return
    lists = make_lists(items, names)
    if _had_to_be_refilled(work, place, sides, lists):
        work.note(place, sides, judge(sides)._replace(note="both parents' removals together would have left it empty"))
        return
    mark = len(work.entries)
    for identity in lists.numbers:
        _explain_item(work, place, lists, identity)
    found = work.entries[mark:]
    work.entries[mark:] = _excuse(work, rule, found, lists)
    if rule.get("strategy") == "queue":
        _explain_order(work, place, sides, lists)


def make_lists(items: list[list[Node]], names: tuple[str, ...]) -> Lists:
    """The four versions of a list; numbers has the items in the order in which they are told: the result's first."""
    base, first, second, result = (identify(version, names) for version in items)
    numbers: dict[Identity, int] = {}
    for version in (result, first, second, base):
        for number, identity in enumerate(version):
            numbers.setdefault(identity, number)
    return Lists(base, first, second, result, names, numbers, {})


def find_names(rule: Schema, items: list[list[Node]]) -> tuple[str, ...] | None:
    """The members that identify an item, () for whole items; None for a list that can only be taken as a whole."""
    if rule.get("strategy") in KEYED:
        return key_names(rule)
    natural = find_natural_key(items[:3])
    if natural:
        return (natural,)
    if all(item.members is None for version in items[:3] for item in version):
        return ()
    base, first, second = (identify(version, ()) for version in items[:3])
    edited_by_both = any(identity not in first and identity not in second for identity in base)
    grown = any(identity not in base for side in (first, second) for identity in side)
    return None if edited_by_both and grown else ()


def _judge_whole(sides: Sides, items: list[list[Node]]) -> Judgement:
    """A list of records that nothing tells apart: one parent's, or at least nothing of either is missing."""
    found = judge(sides)
    if found.verdict != "edited":
        return found
    base, first, second, result = (identify(version, ()) for version in items)
    missing = [identity for identity in {**first, **second} if identity not in base and identity not in result]
    return Judgement("lost", "both", "an item that a parent added is gone") if missing else Judgement("combined")


def _had_to_be_refilled(work: Explaining, place: Place, sides: Sides, lists: Lists) -> bool:
    """Whether the list may not be empty, what both parents did would leave it so, and one parent's list stands."""
    requirements = work.strategies.root.get(REQUIRE) or ()
    if not any(requirement.get("where") == place.where for requirement in requirements):
        return False
    stays = [identity for identity in {**lists.first, **lists.second} if _should_stay(lists.sides(identity))]
    return not stays and (is_same(sides.result, sides.first) or is_same(sides.result, sides.second))


def _should_stay(sides: Sides) -> bool:
    holder = sides.first if sides.second is None else sides.second
    in_both = sides.first is not None and sides.second is not None
    return in_both or not is_same(holder, sides.base)


# items


def _explain_item(work: Explaining, place: Place, lists: Lists, identity: Identity) -> None:
    sides = lists.sides(identity)
    below = _item_place(work, place, lists, identity)
    if sides.base is None and sides.first is None and sides.second is None:
        work.note(below, sides, _judge_new(work, lists, identity))
    elif sides.base is None and None not in sides[1:3] and not is_same(sides.first, sides.second):
        work.note(below, sides, judge_record(sides)._replace(note=_note_of_collision(sides)))
    else:
        foreign = find_foreign(lists, identity)
        if foreign:
            work.note(below, sides, Judgement("blended", "", foreign))
        else:
            explain_place(work, below, sides)


def _note_of_collision(sides: Sides) -> str:
    found = judge_record(sides)
    return found.note or "each parent added another record under this key"


def _item_place(work: Explaining, place: Place, lists: Lists, identity: Identity) -> Place:
    item = next(node for node in reversed(lists.sides(identity)) if node is not None)
    name = item_name(place.name, item.value, lists.names)
    return Place(work.strategies.items(place.schema), join_pointer(place.where, lists.numbers[identity]), name)


def item_name(name: str, value: Any, names: tuple[str, ...]) -> str:
    """An item as people say it: the list, and what the item is known by."""
    if type(value) is dict and names and all(key in value for key in names):
        known = " ".join(_said(value[key]) for key in names)
    else:
        known = _said(value)
    return f"{name}[{shorten(known, 60)}]"


def _said(value: Any) -> str:
    return value if type(value) is str else canonical_text(value)


def _judge_new(work: Explaining, lists: Lists, identity: Identity) -> Judgement:
    """An item of the result that no parent has, nor the base."""
    key, count = identity
    if count:
        known = max(sum(other == key for other, _ in version) for version in lists[1:3])
        return Judgement("doubled", "", f"{count + 1} times in the result, {known or 'not'} in a parent")
    item = lists.result[identity]
    roots = work.roots
    for side, root in (("first", roots.first), ("second", roots.second)):
        if _is_left_behind(item, root):
            return Judgement("first" if side == "first" else "second", "", "set aside")
    mixture = find_mixture(lists, item)
    return Judgement("blended", "", mixture) if mixture else Judgement("edited")


def _is_left_behind(item: Node, root: Node | None) -> bool:
    """Whether the item is a record of how a parent's document stood, as the policy "newest" keeps it."""
    members, known = members_of(item), members_of(root)
    return len(members) > 1 and all(is_same(leaf, known.get(key)) for key, leaf in members.items())


# what excuses an absence


def _excuse(work: Explaining, rule: Schema, found: list[Entry], lists: Lists) -> list[Entry]:
    """The entries of a list, those lost looked at again: cut by a limit, written anew, or now in another place."""
    written = [entry for entry in found if entry.verdict == "edited" and entry.first is entry.second is None]
    if max(len(written), sum(entry.verdict == "lost" for entry in found)) > MOST_COMPARED:
        written = []
    excused = []
    for entry in found:
        if entry.verdict == "lost" and entry.result is None:
            entry = _excused(work, rule, entry, written, lists)
        excused.append(entry)
    return excused


def _excused(work: Explaining, rule: Schema, entry: Entry, written: list[Entry], lists: Lists) -> Entry:
    text = entry.first or entry.second or "null"
    if "limit" in rule and _is_cut(rule, text, lists.result):
        return entry._replace(verdict="limited", note=f"the list holds {len(lists.result)}")
    anew = next((other for other in written if is_reworded(text, other.result or "null")), None)
    if anew is not None:
        return entry._replace(verdict="edited", note=f"written anew as {shorten(anew.result or '', 60)}")
    elsewhere = work.find_text(text)
    return entry._replace(verdict="moved", note=f"it is at {elsewhere} now") if elsewhere else entry


def _is_cut(rule: Schema, missing: str, result: Items) -> bool:
    """Whether the list is full, and the missing item (canonical JSON) is not newer than what it holds."""
    if len(result) < int(rule["limit"]):
        return False
    at = str(rule.get("sort", ""))[1:]
    instants = [read_instant(members_of(item)[at].value) for item in result.values() if at in members_of(item)]
    known = [instant for instant in instants if instant is not None]
    value = scan_tokens(missing)
    when = read_instant(value.get(at)) if type(value) is dict else None
    return not known or when is None or when <= min(known)


# order


def _explain_order(work: Explaining, place: Place, sides: Sides, lists: Lists) -> None:
    """Whether an order that a parent gave to the items that all versions have is the result's."""
    common = {identity for identity in lists.base if all(identity in version for version in lists[1:4])}
    base, first, second, result = (_order_of(version, common) for version in lists[:4])
    name = place._replace(name=f"{place.name} (order)")
    if result == base and (first != base or second != base):
        side: Side = "both" if base not in (first, second) else "first" if first != base else "second"
        work.note(name, sides, Judgement("lost", side, "the old order stands"))
    elif base not in (first, second) and first != second and result in (first, second):
        work.note(name, sides, Judgement("decided", "first" if result == first else "second"))


def _order_of(version: Iterable[Identity], common: set[Identity]) -> list[Identity]:
    return [identity for identity in version if identity in common]
