"""Walk through all versions of a merged document, place by place, and note what happened to each
entry.
"""

from functools import cached_property
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsontext import CONTAINERS, Node, join_pointer, scan_tokens
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.merge.items import canonical_text, identify, item_key
from checkpoint_git.merge.lists import find_names
from checkpoint_git.merge.result import is_same, items_of, members_of
from checkpoint_git.merge.strategy import Schema, Strategies, merge_rule
from checkpoint_git.tools.merges.likeness import (
    find_foreign,
    find_mixture,
    is_reworded,
    list_sentences,
)
from checkpoint_git.tools.merges.lists import Identity, Lists, make_lists
from checkpoint_git.tools.merges.verdict import (
    OTHER,
    PARENTS,
    Judgement,
    PlaceVersions,
    Side,
    Verdict,
    compare,
    is_two_records,
    judge,
    judge_record,
)

THE_FILE = "(the file)"
ONE_OF_SEVERAL = "one of several alike, and another exists"  # a copy is lost, its text is not
# items that are gone, or written in the merge: more are not compared for likeness
MOST_COMPARED = 50


class Item(NamedTuple):
    lists: Lists
    identity: Identity


class EntryVersions(NamedTuple):
    """What happened to one entry; the four values are canonical JSON, None if it is absent.

    where: a JSON Pointer into the result, or into a version that has the entry.
    name: the same for people, a list item by what identifies it.
    sides: the entry in every version. item: its place in a list, None for a member of an object.
    """

    where: str
    name: str
    verdict: Verdict
    side: Side
    note: str
    base: str | None
    first: str | None
    second: str | None
    result: str | None
    sides: PlaceVersions
    item: Item | None


class _Place(NamedTuple):
    schema: Schema
    where: str
    name: str
    item: Item | None = None


class Walk:
    """One walk through all versions of a document, place by place: it fills `entries`."""

    def __init__(self, schema: Schema, roots: PlaceVersions) -> None:
        self.strategies = Strategies(schema)
        self.roots = roots
        self.entries: list[EntryVersions] = []
        self.agreed = 0
        self._elsewhere: dict[tuple[str, str], str] = {}
        self.judge_place(_Place(self.strategies.resolve(schema), "", ""), roots)

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Return the places of each sentence of the result, by the sentence as canonical JSON."""
        found: dict[str, list[str]] = {}
        if self.roots.result is not None:
            for text, where in list_sentences(self.roots.result):
                found.setdefault(text, []).append(where)
        return found

    def note(self, place: _Place, sides: PlaceVersions, found: Judgement) -> None:
        if found.verdict == "agreed":
            self.agreed += 1
            return

        base, first, second, result = (_show_node(node) for node in sides[:4])
        entry = EntryVersions(
            where=place.where,
            name=place.name or THE_FILE,
            verdict=found.verdict,
            side=found.side,
            note=found.note,
            base=base,
            first=first,
            second=second,
            result=result,
            sides=sides,
            item=place.item,
        )
        self.entries.append(entry)

    def judge_place(self, place: _Place, sides: PlaceVersions) -> None:
        if sides.is_unchanged:
            return
        if merge_rule(place.schema).get("strategy") == "atomic":
            self.note(place, sides, judge(sides))
            return

        kind = _find_container(sides)
        if kind is dict:
            self._judge_object(place, sides)
        elif kind is list:
            self._judge_list(place, sides)
        else:
            self.note(place, sides, judge(sides))

    # objects

    def _judge_object(self, place: _Place, sides: PlaceVersions) -> None:
        if is_two_records(sides):
            self.note(place, sides, judge_record(sides))
            return

        members = [members_of(node) for node in sides]
        grouped: set[str] = set()
        for rule, keys in self.strategies.groups(place.schema, *members[:4]):
            leaves = {
                key: PlaceVersions(*(version.get(key) for version in members)) for key in keys
            }
            self._judge_group(place, rule, leaves)
            grouped.update(keys)

        for key in {**members[3], **members[0], **members[1], **members[2]}:
            if key not in grouped:
                below = PlaceVersions(*(version.get(key) for version in members))
                self.judge_place(self._member(place, key), below)

    def _member(self, place: _Place, key: str) -> _Place:
        name = f"{place.name}.{key}" if place.name else key
        schema = self.strategies.member(place.schema, key)
        return _Place(schema, join_pointer(place.where, key), name)

    def _judge_group(self, place: _Place, rule: Schema, leaves: dict[str, PlaceVersions]) -> None:
        contested = [key for key, sides in leaves.items() if sides.is_contested]
        winners = {key: compare(leaves[key]).side for key in contested if _is_choice(leaves[key])}
        is_blend = {*PARENTS} <= {*winners.values()} and not _is_group_by_rule(leaves)
        whole: Side = ""
        if contested:
            whole = _find_whole_side(leaves)

        for key, sides in leaves.items():
            if sides.is_unchanged:
                continue
            found = self._judge_leaf(rule, sides, whole)
            if is_blend and key == contested[0]:
                found = Judgement("mixed-up", "both", _describe_blend(winners))
            self.note(self._member(place, key), sides, found)

    def _judge_leaf(self, rule: Schema, sides: PlaceVersions, whole: Side) -> Judgement:
        """Return the verdict on a leaf of a group. whole: the parent that the group was taken from
        as a whole, or "".
        """
        if sides.is_contested:
            found = judge_record(sides)
        else:
            found = judge(sides)

        is_narrative = "superseded" in rule
        plain = compare(sides)
        if plain.verdict not in ("lost", "decided"):
            return found
        if is_narrative and plain.verdict == "decided" and not self._keeps_other(rule):
            return plain
        if sides.is_by_rule:
            return found

        # a narrative may be decided either way, whatever the rules prefer
        is_free = is_narrative or not sides.is_settled
        if not whole:
            return plain if is_free else found
        if not is_free:
            return Judgement("lost", OTHER[whole], f"the older {rule['name']} was taken")
        if plain.verdict == "decided":
            return Judgement("decided", whole)
        return Judgement("decided", whole, f"with the rest of {rule['name']}")

    def _keeps_other(self, rule: Schema) -> bool:
        # whether the list of narratives that a newer one replaced is as the rules make it
        lists = (members_of(node).get(rule["superseded"]) for node in self.roots[3:])
        result, for_first, for_second = lists
        return PlaceVersions(None, None, None, result, for_first, for_second).is_by_rule

    # lists

    def _judge_list(self, place: _Place, sides: PlaceVersions) -> None:
        rule = merge_rule(place.schema)
        versions = [items_of(node) for node in sides]
        names = _find_names(rule, versions[:3])
        if names is None:
            self.note(place, sides, _judge_whole_list(sides, versions))
            return

        lists = make_lists(versions, names)
        start = len(self.entries)
        for identity in lists.numbers:
            self._judge_item(place, lists, identity)
        self._look_for_lost(rule, start, lists)
        if rule.get("strategy") == "queue":
            self._look_for_finished(start, lists)
            self._judge_order(place, sides, lists)

    def _judge_item(self, holder: _Place, lists: Lists, identity: Identity) -> None:
        sides = lists.sides(identity)
        node = sides.result or sides.second or sides.first or sides.base
        assert node is not None  # some version has it
        place = _Place(
            self.strategies.items(holder.schema),
            join_pointer(holder.where, lists.numbers[identity]),
            _name_item(holder.name, node.value, lists.names),
            Item(lists, identity),
        )

        if sides.base is None and sides.first is None and sides.second is None:
            self.note(place, sides, _judge_new(lists, identity, sides))
            return

        if _is_added_twice(sides):
            found = judge_record(sides)
            note = found.note or "each parent added another record under this key"
            self.note(place, sides, found._replace(note=note))
            return

        if not sides.is_by_rule:
            foreign = find_foreign(lists, identity)
            if foreign:
                self.note(place, sides, Judgement("mixed-up", "", foreign))
                return

        self.judge_place(place, sides)

    def _look_for_lost(self, rule: Schema, start: int, lists: Lists) -> None:
        # items that are gone may be cut by a limit, written anew, or in another place
        found = self.entries[start:]
        written = [entry for entry in found if _is_written(entry)]
        lost = sum(entry.verdict == "lost" for entry in found)
        if max(len(written), lost) > MOST_COMPARED:
            written = []

        oldest = _find_oldest(rule, lists)
        for number, entry in enumerate(found, start):
            if entry.result is not None:
                continue
            if _is_item_of(lists, entry) and "limit" in rule and _is_cut(rule, entry, oldest):
                note = f"the list has {len(lists.result)}"
                self.entries[number] = entry._replace(verdict="limited", note=note)
            elif entry.verdict == "lost":
                self.entries[number] = self._follow(entry, written)

    def _look_for_finished(self, start: int, lists: Lists) -> None:
        # only an action that is known to be done came back: one that was dropped may be wanted
        for number, entry in enumerate(self.entries[start:], start):
            if not _is_item_of(lists, entry) or entry.verdict != "resurrected":
                continue
            if entry.sides.result is not None and self._is_done(entry.sides.result):
                note = "recently_done has it"
                self.entries[number] = entry._replace(verdict="came-back", note=note)

    def _is_done(self, action: Node) -> bool:
        """Whether recently_done of the result has the action."""
        done = items_of(members_of(self.roots.result).get("recently_done"))
        keys = [item_key(entry.value, ("text",)) for entry in done]
        # as the JavaScript original records what is done
        for entry in done:
            recorded = members_of(entry).get("action")
            if recorded is not None:
                keys.append(item_key(recorded.value, ("text",)))

        return item_key(action.value, ("text",)) in keys

    def _follow(self, entry: EntryVersions, written: list[EntryVersions]) -> EntryVersions:
        """Return a lost entry as what happened to its text: rewritten, moved, or lost."""
        text = entry.first or entry.second or "null"
        for other in written:
            if is_reworded(text, other.result or "null"):
                note = f"rewritten as {shorten(other.result or '', 60)}"
                return entry._replace(verdict="edited", note=note)

        if text not in self.sentences:
            return entry
        where = self._find_elsewhere(text, entry.where.rpartition("/")[0])
        if where:
            return entry._replace(verdict="moved", note=f"it is at {where} now")
        return entry._replace(note=ONE_OF_SEVERAL)

    def _find_elsewhere(self, text: str, holder: str) -> str:
        # found once for all the copies of a text that a list lost
        if (text, holder) not in self._elsewhere:
            places = self.sentences[text]
            others = (place for place in places if not place.startswith(f"{holder}/"))
            self._elsewhere[text, holder] = next(others, "")
        return self._elsewhere[text, holder]

    def _judge_order(self, place: _Place, sides: PlaceVersions, lists: Lists) -> None:
        """Note it if the result lost the order that a parent gave to the items that all versions
        have, or kept one of two.
        """
        common = _find_ordered(lists)
        base = [item for item in lists.base if item in common]
        first = [item for item in lists.first if item in common]
        second = [item for item in lists.second if item in common]
        result = [item for item in lists.result if item in common]

        movers = _find_movers(base, first, second)
        found: Judgement | None = None
        if result == base and movers and not sides.is_by_rule:
            found = Judgement("lost", movers, "the old order is kept")
        elif movers == "both" and first != second and result == first:
            found = Judgement("decided", "first")
        elif movers == "both" and first != second and result == second:
            found = Judgement("decided", "second")

        if found is not None:
            self.note(place._replace(name=f"{place.name} (order)"), sides, found)


def _find_movers(base: list[Identity], first: list[Identity], second: list[Identity]) -> Side:
    """Return which parents changed the order; "" for neither."""
    if first == base and second == base:
        return ""
    if first == base:
        return "second"
    if second == base:
        return "first"
    return "both"


def _is_item_of(lists: Lists, entry: EntryVersions) -> bool:
    return entry.item is not None and entry.item.lists is lists


def _is_added_twice(sides: PlaceVersions) -> bool:
    """Whether each parent added another record under the same key."""
    if sides.base is not None or sides.first is None or sides.second is None:
        return False
    return not is_same(sides.first, sides.second)


def _find_ordered(lists: Lists) -> set[Identity]:
    """Return the items that every version has once; of two copies nobody knows which one moved."""
    versions = (lists.base, lists.first, lists.second, lists.result)
    repeated = {key for version in versions for key, count in version if count}
    in_all = set(lists.base).intersection(*versions)
    return {item for item in in_all if item[0] not in repeated}


def _find_names(rule: Schema, versions: list[list[Node]]) -> tuple[str, ...] | None:
    """Return the members that identify an item; () if items identify themselves, None if nothing
    does.
    """
    names = find_names(rule, versions)
    if names is not None:
        return names
    items = [item for version in versions for item in version]
    if any(type(item.value) in CONTAINERS for item in items):
        return None
    return ()


def _find_container(sides: PlaceVersions) -> type | None:
    """Return dict or list if every version that has the place has that, and the walk goes on
    below it; None if the place is judged as a whole.
    """
    base, first, second, result, *_ = sides
    parents = [node for node in (first, second) if node is not None]
    if result is None:
        return None

    if not parents:
        is_new_list = base is None and type(result.members) is list
        return list if is_new_list else None
    if len(parents) == 1 and (base is not None or is_same(result, parents[0])):
        return None
    if is_same(first, second) and is_same(first, result):
        return None

    for kind in (dict, list):
        if all(type(node.members) is kind for node in (*parents, result)):
            return kind
    return None


def _is_choice(sides: PlaceVersions) -> bool:
    return compare(sides).verdict == "decided"


def _is_group_by_rule(leaves: dict[str, PlaceVersions]) -> bool:
    # looked at together: each leaf alone may be by the rules, and the group a blend
    group = leaves.values()
    if all(is_same(sides.result, sides.for_first) for sides in group):
        return True
    return all(is_same(sides.result, sides.for_second) for sides in group)


def _find_whole_side(leaves: dict[str, PlaceVersions]) -> Literal["", "first", "second"]:
    """Return the parent that a group comes from as a whole, except for leaves that were written
    in the merge; "" for neither.
    """
    taken = [sides for sides in leaves.values() if compare(sides).verdict != "edited"]
    if all(is_same(sides.result, sides.first) for sides in taken):
        return "first"
    if all(is_same(sides.result, sides.second) for sides in taken):
        return "second"
    return ""


def _describe_blend(winners: dict[str, Side]) -> str:
    first = ", ".join(key for key, winner in winners.items() if winner == "first")
    second = ", ".join(key for key, winner in winners.items() if winner == "second")
    return f"{first} from the first parent, {second} from the second"


def _judge_whole_list(sides: PlaceVersions, versions: list[list[Node]]) -> Judgement:
    # nothing tells its records apart: it has to be one parent's list, or to lack nothing of either
    found = judge(sides)
    if found.verdict != "edited":
        return found
    base, first, second, result = (identify(items, ()) for items in versions[:4])
    if any(item not in base and item not in result for item in (*first, *second)):
        return Judgement("lost", "both", "an item that a parent added is gone")
    return Judgement("combined")


def _judge_new(lists: Lists, identity: Identity, sides: PlaceVersions) -> Judgement:
    # an item that no version had before the merge
    if sides.is_by_rule:
        return judge(sides)

    key, count = identity
    if count:
        before = lists.copies.get(key) or "not"
        note = f"{count + 1} times in the result, {before} in a parent"
        return Judgement("duplicated", "", note)

    mixture = find_mixture(lists, lists.result[identity])
    if mixture:
        return Judgement("mixed-up", "", mixture)
    return Judgement("edited")


def _name_item(name: str, value: Any, names: tuple[str, ...]) -> str:
    """Return the list's name and what the item is known by, such as `next_actions[Fix it]`."""
    if type(value) is dict and names and all(key in value for key in names):
        known = " ".join(_show_value(value[key]) for key in names)
    else:
        known = _show_value(value)
    return f"{name}[{shorten(known, 60)}]"


def _show_value(value: Any) -> str:
    return value if type(value) is str else canonical_text(value)


def _show_node(node: Node | None) -> str | None:
    return None if node is None else canonical_text(node.value)


def _is_written(entry: EntryVersions) -> bool:
    return entry.verdict == "edited" and entry.first is None and entry.second is None


def _sorting_member(rule: Schema) -> str:
    # such as "when" for a list sorted by "-when"; "" for none
    return str(rule.get("sort", ""))[1:]


def _find_oldest(rule: Schema, lists: Lists) -> tuple[int, str] | None:
    # the oldest instant that a full list still holds
    name = _sorting_member(rule)
    if "limit" not in rule or not name:
        return None
    nodes = (members_of(item).get(name) for item in lists.result.values())
    instants = (read_loose_instant(node.value) for node in nodes if node is not None)
    return min((instant for instant in instants if instant is not None), default=None)


def _is_cut(rule: Schema, entry: EntryVersions, oldest: tuple[int, str] | None) -> bool:
    """Whether an item is gone because of the list's limit: the rules cut it too, or the list is
    full and the item is not newer than the oldest one in it.
    """
    if compare(entry.sides).verdict != "lost" or entry.item is None:
        return False
    if entry.sides.is_by_rule:
        return True
    if len(entry.item.lists.result) < int(rule["limit"]):
        return False

    value = scan_tokens(entry.first or entry.second or "null")
    if oldest is None or type(value) is not dict:
        return True
    instant = read_loose_instant(value.get(_sorting_member(rule)))
    return instant is None or instant <= oldest
