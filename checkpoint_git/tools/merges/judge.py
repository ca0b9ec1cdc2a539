"""The judge of merges: what a merge did to each entry of a document, whoever made it.

It compares the merge's inputs, its result, and what the merge rules make of the inputs. Pure: it
reads no file and no repository. The rules are those of `merge.file`, so what the driver does is
never compared with anybody.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsontext import (
    CONTAINERS,
    JsonTextError,
    Node,
    decode,
    join_pointer,
    parse,
    scan_tokens,
)
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.merge.conflicts import decide_all
from checkpoint_git.merge.file import Merged, merge_documents
from checkpoint_git.merge.items import canonical_text, identify, item_key
from checkpoint_git.merge.lists import find_names
from checkpoint_git.merge.places import AUTO
from checkpoint_git.merge.result import OURS, THEIRS, is_same, items_of, members_of
from checkpoint_git.merge.strategy import Schema, Strategies, merge_rule
from checkpoint_git.tools.merges.likeness import (
    find_foreign,
    find_mixture,
    is_reworded,
    list_sentences,
)
from checkpoint_git.tools.merges.lists import Identity, Lists, make_lists
from checkpoint_git.tools.merges.verdict import (
    DOUBTFUL,
    FAILURES,
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


class MergeComparison(NamedTuple):
    """The result beside what the merge rules make of the same versions.

    conflicts: the places that the rules leave to the user.
    differences: the places where the result holds something else, if they leave none.
    """

    clean: bool
    same: bool
    conflicts: tuple[str, ...]
    differences: tuple[str, ...]


class Judged(NamedTuple):
    """entries: what changed on either side or in the merge, without what both parents agree on.

    agreed: how many entries those are.
    unreadable: (version, why) for each version that is not JSON; with such an input, nothing is
    known. ours: None if one side has no file.
    """

    entries: tuple[EntryVersions, ...]
    agreed: int
    unreadable: tuple[tuple[str, str], ...]
    ours: MergeComparison | None

    @property
    def has_failed(self) -> bool:
        return any(entry.verdict in FAILURES for entry in self.entries)

    @property
    def is_doubtful(self) -> bool:
        return any(entry.verdict in DOUBTFUL for entry in self.entries)

    @property
    def damage(self) -> list[EntryVersions]:
        """The entries that were lost, duplicated or mixed up; a lost order is not one."""
        return [
            entry
            for entry in self.entries
            if entry.verdict in FAILURES and not entry.name.endswith(" (order)")
        ]


class MergeJudge:
    """The inputs of one merge, read once, to judge any version of the file as its result.

    base, first, second: the file's bytes in the merge base and both parents, None for no such file.
    merged: what the merge rules make of them; None if a side has no file, or is not JSON.
    """

    def __init__(
        self,
        base: bytes | None,
        first: bytes | None,
        second: bytes | None,
        schema: Schema,
        narrative: str = AUTO,
    ) -> None:
        self.schema = schema
        self.unreadable: list[tuple[str, str]] = []
        self.base = self._read("base", base)
        self.first = self._read("first", first)
        self.second = self._read("second", second)
        self.merged: Merged | None = None
        if self.first is not None and self.second is not None and not self.unreadable:
            self.merged = merge_documents(self.base, self.first, self.second, schema, narrative)

    def _read(self, version: str, data: bytes | None) -> Node | None:
        try:
            return None if data is None else parse(decode(data))
        except JsonTextError as error:
            self.unreadable.append((version, error.message))
            return None

    @cached_property
    def right(self) -> tuple[Node | None, Node | None]:
        """What the rules make of the file, its conflicts decided for the first and for the
        second.
        """
        if self.merged is not None:
            for_first = parse(decide_all(self.merged, OURS).text)
            if not self.merged.conflicts:
                return for_first, for_first
            return for_first, parse(decide_all(self.merged, THEIRS).text)

        if is_same(self.first, self.base):
            return self.second, self.second
        if is_same(self.second, self.base):
            return self.first, self.first
        return self.first, self.second

    def judge(self, result: bytes | None) -> Judged:
        """Return what the merge did, given the file's bytes in its result. Raises nothing."""
        try:
            root = None if result is None else parse(decode(result))
        except JsonTextError as error:
            unreadable = (*self.unreadable, ("result", error.message))
            return Judged((_blame_text(error),), 0, unreadable, None)
        if self.unreadable:
            return Judged((), 0, tuple(self.unreadable), None)

        walk = _Walk(
            self.schema, PlaceVersions(self.base, self.first, self.second, root, *self.right)
        )
        return Judged(tuple(walk.entries), walk.agreed, (), self._compare(root))

    def _compare(self, result: Node | None) -> MergeComparison | None:
        if self.merged is None or result is None:
            return None
        if self.merged.conflicts:
            conflicts = tuple(conflict.where for conflict in self.merged.conflicts)
            return MergeComparison(False, False, conflicts, ())
        differences = tuple(_find_differences("", self.right[0], result))
        return MergeComparison(True, not differences, (), differences)


def judge_merge(
    base: bytes | None,
    first: bytes | None,
    second: bytes | None,
    result: bytes | None,
    schema: Schema,
    narrative: str = AUTO,
) -> Judged:
    """Return what one merge did to a file, given the bytes of its versions."""
    return MergeJudge(base, first, second, schema, narrative).judge(result)


def _blame_text(error: JsonTextError) -> EntryVersions:
    verdict: Verdict = "duplicated" if error.code == "json/duplicate-key" else "mixed-up"
    note = f"the result cannot be read: line {error.line}: {error.message}"
    nothing = PlaceVersions(None, None, None, None)
    return EntryVersions("", THE_FILE, verdict, "", note, None, None, None, None, nothing, None)


def _find_differences(where: str, left: Node | None, right: Node | None) -> Iterator[str]:
    # the places at which two documents differ; lists are not looked into
    if is_same(left, right):
        return
    if not (_is_object(left) and _is_object(right)):
        yield where
        return
    before, after = members_of(left), members_of(right)
    for key in {**before, **after}:
        yield from _find_differences(join_pointer(where, key), before.get(key), after.get(key))


def _is_object(node: Node | None) -> bool:
    return node is not None and type(node.members) is dict


class _Place(NamedTuple):
    schema: Schema
    where: str
    name: str
    item: Item | None = None


class _Walk:
    """One walk through all versions of a document, place by place."""

    def __init__(self, schema: Schema, roots: PlaceVersions) -> None:
        self.strategies = Strategies(schema)
        self.roots = roots
        self.entries: list[EntryVersions] = []
        self.agreed = 0
        self._elsewhere: dict[tuple[str, str], str] = {}
        self.judge_place(_Place(self.strategies.resolve(schema), "", ""), roots)

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Where the result has a sentence, which is given as canonical JSON."""
        found: dict[str, list[str]] = {}
        if self.roots.result is not None:
            for text, where in list_sentences(self.roots.result):
                found.setdefault(text, []).append(where)
        return found

    def note(self, place: _Place, sides: PlaceVersions, found: Judgement) -> None:
        if found.verdict == "agreed":
            self.agreed += 1
            return
        base, first, second, result = (
            None if node is None else canonical_text(node.value) for node in sides[:4]
        )
        name = place.name or THE_FILE
        values = (base, first, second, result)
        self.entries.append(EntryVersions(place.where, name, *found, *values, sides, place.item))

    def judge_place(self, place: _Place, sides: PlaceVersions) -> None:
        if sides.is_unchanged:
            return
        is_atomic = merge_rule(place.schema).get("strategy") == "atomic"
        kind = None if is_atomic else _find_container(sides)
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
        whole = _find_whole_side(leaves) if contested else ""
        for key, sides in leaves.items():
            if sides.is_unchanged:
                continue
            found = self._judge_leaf(rule, sides, whole)
            if is_blend and key == contested[0]:
                found = Judgement("mixed-up", "both", _describe_blend(winners))
            self.note(self._member(place, key), sides, found)

    def _judge_leaf(self, rule: Schema, sides: PlaceVersions, whole: Side) -> Judgement:
        found = judge_record(sides) if sides.is_contested else judge(sides)
        plain = compare(sides)
        if plain.verdict not in ("lost", "decided"):
            return found
        if "superseded" in rule and plain.verdict == "decided" and not self._keeps_other(rule):
            return plain
        if sides.is_by_rule:
            return found

        # a narrative may be decided either way, whatever the rules prefer
        is_free = "superseded" in rule or not sides.is_settled
        if whole and is_free:
            note = "" if plain.verdict == "decided" else f"with the rest of {rule['name']}"
            return Judgement("decided", whole, note)

        if whole:
            return Judgement("lost", OTHER[whole], f"the older {rule['name']} was taken")
        return plain if is_free else found

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
        base, first, second = sides[:3]
        if base is None and first is None and second is None:
            self.note(place, sides, _judge_new(lists, identity, sides))
        elif (
            base is None and first is not None and second is not None and not is_same(first, second)
        ):
            found = judge_record(sides)
            note = found.note or "each parent added another record under this key"
            self.note(place, sides, found._replace(note=note))
        elif not sides.is_by_rule and (foreign := find_foreign(lists, identity)):
            self.note(place, sides, Judgement("mixed-up", "", foreign))
        else:
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
            is_own = entry.item is not None and entry.item.lists is lists
            if is_own and "limit" in rule and _is_cut(rule, entry, lists, oldest):
                note = f"the list has {len(lists.result)}"
                self.entries[number] = entry._replace(verdict="limited", note=note)
            elif entry.verdict == "lost":
                self.entries[number] = self._follow(entry, written)

    def _look_for_finished(self, start: int, lists: Lists) -> None:
        # Back is only what is known to be done: what was dropped somebody may have wanted back
        for number, entry in enumerate(self.entries[start:], start):
            is_own = entry.item is not None and entry.item.lists is lists
            if is_own and entry.verdict == "resurrected" and self._is_done(entry.sides.result):
                self.entries[number] = entry._replace(
                    verdict="came-back", note="recently_done has it"
                )

    def _is_done(self, action: Node | None) -> bool:
        done = members_of(self.roots.result).get("recently_done")
        text = None if action is None else item_key(action.value, ("text",))
        keys = [item_key(entry.value, ("text",)) for entry in items_of(done)]
        # as the JavaScript original records what is done
        for entry in items_of(done):
            action = members_of(entry).get("action")
            keys += [] if action is None else [item_key(action.value, ("text",))]
        return text in keys

    def _follow(self, entry: EntryVersions, written: list[EntryVersions]) -> EntryVersions:
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
            places = (where for where in self.sentences[text] if not where.startswith(f"{holder}/"))
            self._elsewhere[text, holder] = next(places, "")
        return self._elsewhere[text, holder]

    def _judge_order(self, place: _Place, sides: PlaceVersions, lists: Lists) -> None:
        """Note whether the result keeps an order that a parent gave to the items that all versions
        have.
        """
        common = _find_ordered(lists)
        versions = (lists.base, lists.first, lists.second, lists.result)
        base, first, second, result = (
            [item for item in version if item in common] for version in versions
        )
        name = place._replace(name=f"{place.name} (order)")

        is_moved = (first, second) != (base, base)
        if result == base and is_moved and not sides.is_by_rule:
            side: Side = "second" if first == base else "first" if second == base else "both"
            self.note(name, sides, Judgement("lost", side, "the old order is kept"))
        elif base not in (first, second) and first != second and result in (first, second):
            self.note(name, sides, Judgement("decided", "first" if result == first else "second"))


def _find_ordered(lists: Lists) -> set[Identity]:
    """Return the items that every version has once. Of one that appears twice it is unknown which
    moved.
    """
    versions = (lists.base, lists.first, lists.second, lists.result)
    repeated = {key for version in versions for key, count in version if count}
    in_all = set(lists.base).intersection(*versions)
    return {item for item in in_all if item[0] not in repeated}


def _find_names(rule: Schema, versions: list[list[Node]]) -> tuple[str, ...] | None:
    """Return the members that identify an item; () if items identify themselves, None if nothing
    does.
    """
    names = find_names(rule, versions)
    if names is None and all(
        type(item.value) not in CONTAINERS for items in versions for item in items
    ):
        return ()
    return names


def _find_container(sides: PlaceVersions) -> type | None:
    # dict or list where the place is looked into: every version that has it has that
    base, first, second, result, *_ = sides
    parents = [node for node in (first, second) if node is not None]
    if result is None:
        return None
    if not parents:
        return list if base is None and type(result.members) is list else None
    if len(parents) == 1 and (base is not None or is_same(result, parents[0])):
        return None
    if is_same(first, second) and is_same(first, result):
        return None
    kinds = {type(node.members) for node in (*parents, result)}
    return kinds.pop() if kinds in ({dict}, {list}) else None


def _is_choice(sides: PlaceVersions) -> bool:
    return compare(sides).verdict == "decided"


def _is_group_by_rule(leaves: dict[str, PlaceVersions]) -> bool:
    # as one: each leaf alone may be by the rules, and together they are a blend
    return all(is_same(sides.result, sides.for_first) for sides in leaves.values()) or all(
        is_same(sides.result, sides.for_second) for sides in leaves.values()
    )


def _find_whole_side(leaves: dict[str, PlaceVersions]) -> Literal["", "first", "second"]:
    # the parent that a group comes from as a whole, but for what was written in the merge
    for side in PARENTS:
        if all(
            is_same(sides.result, getattr(sides, side)) or compare(sides).verdict == "edited"
            for sides in leaves.values()
        ):
            return side
    return ""


def _describe_blend(winners: dict[str, Side]) -> str:
    first, second = (
        ", ".join(key for key, winner in winners.items() if winner == side) for side in PARENTS
    )
    return f"{first} from the first parent, {second} from the second"


def _judge_whole_list(sides: PlaceVersions, versions: list[list[Node]]) -> Judgement:
    # nothing distinguishes its records: it is one parent's, or at least nothing of either is
    # missing
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
        return Judgement("duplicated", "", f"{count + 1} times in the result, {before} in a parent")
    mixture = find_mixture(lists, lists.result[identity])
    return Judgement("mixed-up", "", mixture) if mixture else Judgement("edited")


def _name_item(name: str, value: Any, names: tuple[str, ...]) -> str:
    # the list, and what the item is known by
    if type(value) is dict and names and all(key in value for key in names):
        known = " ".join(_show(value[key]) for key in names)
    else:
        known = _show(value)
    return f"{name}[{shorten(known, 60)}]"


def _show(value: Any) -> str:
    return value if type(value) is str else canonical_text(value)


def _is_written(entry: EntryVersions) -> bool:
    return entry.verdict == "edited" and entry.first is None and entry.second is None


def _find_oldest(rule: Schema, lists: Lists) -> tuple[int, str] | None:
    # the oldest instant that a full list still holds
    name = str(rule.get("sort", ""))[1:]
    if "limit" not in rule or not name:
        return None
    nodes = (members_of(item).get(name) for item in lists.result.values())
    instants = (read_loose_instant(node.value) for node in nodes if node is not None)
    return min((instant for instant in instants if instant is not None), default=None)


def _is_cut(
    rule: Schema, entry: EntryVersions, lists: Lists, oldest: tuple[int, str] | None
) -> bool:
    # the rules cut it too, or the list is full and the item is not newer than what it holds
    if compare(entry.sides).verdict != "lost":
        return False
    if entry.sides.is_by_rule:
        return True
    if len(lists.result) < int(rule["limit"]):
        return False
    value = scan_tokens(entry.first or entry.second or "null")
    when = (
        read_loose_instant(value.get(str(rule.get("sort", ""))[1:]))
        if type(value) is dict
        else None
    )
    return oldest is None or when is None or when <= oldest
