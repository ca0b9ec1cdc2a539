"""What a merge that was made did to each entry of a document, told from the parents, their base and the result. Pure.

It does not ask how the merge was made: by this package, by another driver, by git's lines or by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.jsontext import JsonTextError, Node, decode, join_pointer, parse
from checkpoint_git.merge.document import merge_texts
from checkpoint_git.merge.identity import NATURAL_KEYS, canonical_text
from checkpoint_git.merge.places import CONFLICT, is_same, members_of
from checkpoint_git.merge.records import list_texts
from checkpoint_git.merge.strategy import Strategies, merge_rule
from checkpoint_git.merge.verdict import (
    DOUBTFUL,
    FAILURES,
    Judgement,
    Side,
    Sides,
    Verdict,
    changed_by_both,
    is_unchanged,
    judge,
    judge_by_rule,
)

if TYPE_CHECKING:
    from checkpoint_git.merge.strategy import Schema

VERSIONS = ("base", "first", "second", "result")
THE_FILE = "(the file)"


class Entry(NamedTuple):
    """One entry of a document and what the merge did to it.

    where: a JSON Pointer into the result, or into the version that has it. name: the same as people say it, items of
    lists by what identifies them. side and note: see verdict.Judgement. The four values are canonical JSON, None where
    the entry is absent.
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


class Comparison(NamedTuple):
    """What our own merge makes of the same versions.

    same: whether the result holds the same. conflicts: the places that it would leave to a person; differences: the
    places where the result holds something else, for a clean merge that is not the same.
    """

    clean: bool
    same: bool
    conflicts: tuple[str, ...]
    differences: tuple[str, ...]


class Explanation(NamedTuple):
    """What a merge did to a document.

    entries: what changed on either side or in the merge, in the result's order, without what both parents agree on.
    agreed: how many entries those are. unreadable: (version, what is wrong with it) of the versions that are no JSON;
    with one of them a parent or the base, nothing can be told of entries. ours: None where one side has no file.
    """

    entries: tuple[Entry, ...]
    agreed: int
    unreadable: tuple[tuple[str, str], ...]
    ours: Comparison | None

    @property
    def has_failed(self) -> bool:
        """Whether something was lost, doubled or blended."""
        return any(entry.verdict in FAILURES for entry in self.entries)

    @property
    def is_doubtful(self) -> bool:
        """Whether something came back that a parent had removed, or one of two values had to go."""
        return any(entry.verdict in DOUBTFUL for entry in self.entries)

    def count(self, *verdicts: str) -> int:
        """How many entries have one of the verdicts."""
        return sum(entry.verdict in verdicts for entry in self.entries)


class Place(NamedTuple):
    """Where the explanation stands: the schema of the place, its pointer and its name."""

    schema: Schema
    where: str
    name: str

    def member(self, strategies: Strategies, key: str) -> Place:
        """The place of an object's member."""
        name = f"{self.name}.{key}" if self.name else key
        return Place(strategies.member(self.schema, key), join_pointer(self.where, key), name)


class Explaining:
    """What holds for one explanation: the strategies, the roots, and what was found so far."""

    __slots__ = ("_texts", "agreed", "entries", "roots", "strategies")

    def __init__(self, schema: Schema, roots: Sides) -> None:
        self.strategies = Strategies(schema)
        self.roots = roots
        self.entries: list[Entry] = []
        self.agreed = 0
        self._texts: dict[str, str] | None = None

    def find_text(self, text: str) -> str:
        """Where a sentence (canonical JSON) stands in the result, "" for nowhere."""
        if self._texts is None:
            self._texts = {} if self.roots.result is None else dict(list_texts(self.roots.result))
        return self._texts.get(text, "")

    def note(self, place: Place, sides: Sides, found: Judgement) -> None:
        """Keep what was found of an entry; what both parents agree on is only counted."""
        if found.verdict == "agreed":
            self.agreed += 1
        else:
            self.entries.append(make_entry(place, sides, found))


def make_entry(place: Place, sides: Sides, found: Judgement) -> Entry:
    """What was found of a place, as an entry."""
    base, first, second, result = (None if node is None else canonical_text(node.value) for node in sides)
    verdict, side, note = found
    return Entry(place.where, place.name or THE_FILE, verdict, side, note, base, first, second, result)


# documents


def explain_bytes(
    base: bytes | None,
    first: bytes | None,
    second: bytes | None,
    result: bytes | None,
    schema: Schema,
    narrative: str = CONFLICT,
) -> Explanation:
    """The same as explain, for files as git holds them; what is not UTF-8 counts as unreadable."""
    texts: list[str | None] = []
    for data in (base, first, second, result):
        try:
            texts.append(None if data is None else decode(data))
        except JsonTextError:
            texts.append("" if data is None else data.decode("utf-8", "replace") + "\0")  # NUL: surely no JSON
    return explain(texts[0], texts[1], texts[2], texts[3], schema, narrative)


def explain(
    base: str | None,
    first: str | None,
    second: str | None,
    result: str | None,
    schema: Schema,
    narrative: str = CONFLICT,
) -> Explanation:
    """What the merge of the parents `first` and `second` did, given what was committed as its result.

    Texts of JSON documents; None where a version has no such file. schema: whose x-merge keywords say what a list's
    items are known by and which rules replace a value. narrative: the policy for the comparison with our own merge.
    Raises nothing: what is not JSON is in `unreadable`, and such a result is a failure.
    """
    nodes: list[Node | None] = []
    faults: dict[str, JsonTextError] = {}
    for version, text in zip(VERSIONS, (base, first, second, result), strict=True):
        nodes.append(_read(text, version, faults))
    unreadable = tuple((version, fault.message) for version, fault in faults.items())
    if faults:
        entries = [_broken_result(faults["result"])] if "result" in faults else []
        return Explanation(tuple(entries), 0, unreadable, None)
    roots = Sides(*nodes)
    work = Explaining(schema, roots)
    explain_place(work, Place(work.strategies.resolve(schema), "", ""), roots)
    ours, entries = None, work.entries
    if first is not None and second is not None and result is not None:
        ours = compare(base, first, second, roots.result, schema, narrative)
        if any(entry.verdict in FAILURES for entry in entries):
            from checkpoint_git.merge.explain_own import excuse_own

            entries = excuse_own(entries, base, first, second, schema, narrative)
    return Explanation(tuple(entries), work.agreed, (), ours)


def _read(text: str | None, version: str, faults: dict[str, JsonTextError]) -> Node | None:
    try:
        return None if text is None else parse(text)
    except JsonTextError as error:
        faults[version] = error
    return None


def _broken_result(fault: JsonTextError) -> Entry:
    verdict: Verdict = "doubled" if fault.code == "json/duplicate-key" else "blended"
    note = f"the result cannot be read: line {fault.line}: {fault.message}"
    return Entry("", THE_FILE, verdict, "", note, None, None, None, None)


def compare(
    base: str | None, first: str, second: str, result: Node | None, schema: Schema, narrative: str = CONFLICT
) -> Comparison:
    """What our own merge makes of the versions, beside what was made of them."""
    merged = merge_texts(base, first, second, schema, narrative)
    if merged.conflicts:
        return Comparison(False, False, tuple(conflict.where for conflict in merged.conflicts), ())
    differences = tuple(_find_differences("", parse(merged.text), result))
    return Comparison(True, not differences, (), differences)


def _find_differences(where: str, left: Node | None, right: Node | None) -> Iterator[str]:
    """The places below which two documents differ; lists are not looked into."""
    if is_same(left, right):
        return
    if left is None or right is None or type(left.members) is not dict or type(right.members) is not dict:
        yield where
        return
    for key in {**left.members, **right.members}:
        yield from _find_differences(join_pointer(where, key), left.members.get(key), right.members.get(key))


# places


def explain_place(work: Explaining, place: Place, sides: Sides) -> None:
    """What became of one place and of everything below it."""
    if is_unchanged(sides):
        return
    rule = merge_rule(place.schema)
    kind = None if rule.get("strategy") == "atomic" else _find_container(sides)
    if kind is dict:
        _explain_object(work, place, sides)
    elif kind is list:
        from checkpoint_git.merge.explain_lists import explain_list

        explain_list(work, place, sides)
    else:
        work.note(place, sides, judge_by_rule(rule, sides, work.roots))


def _find_container(sides: Sides) -> type | None:
    """Dict or list where the place is to be looked into: all who have it have that, and more is to be told of it."""
    base, first, second, result = sides
    parents = [node for node in (first, second) if node is not None]
    if result is None or (len(parents) == 1 and (base is not None or is_same(result, parents[0]))):
        return None
    if not parents:
        return list if base is None and type(result.members) is list else None
    if is_same(first, second) and is_same(first, result):
        return None
    kinds = {type(node.members) for node in (*parents, result)}
    kind = kinds.pop()
    return kind if not kinds and kind in (dict, list) else None


def _explain_object(work: Explaining, place: Place, sides: Sides) -> None:
    members = [members_of(node) for node in sides]
    if is_two_records(members):
        work.note(place, sides, judge_record(sides))
        return
    from checkpoint_git.merge.explain_groups import explain_groups

    grouped = explain_groups(work, place, sides)
    keys = dict.fromkeys(key for version in (members[3], *members[:3]) for key in version)
    for key in keys:
        if key not in grouped:
            below = Sides(*(version.get(key) for version in members))
            explain_place(work, place.member(work.strategies, key), below)


def is_two_records(members: list[dict[str, Node]]) -> bool:
    """Whether the parents hold different records by now: each changed what the object is known by."""
    base, first, second, _ = members
    name = next((name for name in NATURAL_KEYS if name in first and name in second), None)
    return name is not None and changed_by_both(Sides(base.get(name), first[name], second[name], None))


def judge_record(sides: Sides) -> Judgement:
    """What became of two different records at one place: one of them stands, or a mixture of both, or a new one."""
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
    note = f"{_listed(mine)} from the first parent's record, {_listed(others)} from the second's"
    return Judgement("blended", "both", note)


def _leaves_of(node: Node | None, name: str = "") -> dict[str, str]:
    """What a record holds, member by member, as canonical JSON; lists are taken as a whole."""
    if node is None or type(node.members) is not dict:
        return {} if node is None else {name: canonical_text(node.value)}
    found: dict[str, str] = {}
    for key, child in node.members.items():
        found.update(_leaves_of(child, f"{name}.{key}" if name else key))
    return found


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
