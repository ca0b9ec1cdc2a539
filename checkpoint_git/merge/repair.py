"""Harm of a past merge undone in a later version of the document, and only there where nobody was since. Pure.

The right version is made of the merge's result and the harmed entries alone; what a person wrote in the merge, and
whatever came later, stays. What both sides contradict each other on is left to a person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.jsonedit import rewrite
from checkpoint_git.core.jsontext import Node, parse, split_pointer
from checkpoint_git.core.jsonwrite import OURS, THEIRS
from checkpoint_git.merge.chosen import decide_each
from checkpoint_git.merge.document import Merged, merge_texts
from checkpoint_git.merge.explain import Entry, explain
from checkpoint_git.merge.explain_lists import find_names
from checkpoint_git.merge.identity import canonical_text, identify, item_key
from checkpoint_git.merge.places import members_of
from checkpoint_git.merge.strategy import Strategies, merge_rule
from checkpoint_git.merge.verdict import FAILURES

if TYPE_CHECKING:
    from checkpoint_git.merge.identity import Identity
    from checkpoint_git.merge.strategy import Schema

MOST_CONTAINERS = 100  # lists and objects of one file; for each the rest is looked for in a fresh explanation
CONTRADICTED = "both sides changed it, and a person has to choose"
TOUCHED = "it was changed since"
_NO_PLACE = "its place is not found any more"

IsMeant = Callable[[Entry], bool]


class Past(NamedTuple):
    """The four versions of a document in a merge, as texts. base: None where the file was new on both sides.

    result: None where it is no JSON.
    """

    base: str | None
    first: str
    second: str
    result: str | None


class Repaired(NamedTuple):
    """text: the later version with the harm undone, as far as it could be. refused: (place, why) of what stays."""

    text: str
    refused: tuple[tuple[str, str], ...]


def repair(past: Past, later: str, schema: Schema, is_wanted: IsMeant, *, whole: bool) -> Repaired:
    """The later version with the harm of a merge undone.

    is_wanted: which harmed entries. whole: nobody had a say in the result, so that all of it may become what the rules
    make of the same versions. Raises JsonTextError where one of the texts is none, the result excepted.
    """
    variants = _merge_both_ways(past, schema)
    if past.result is None:
        mended, refused = _mend(past, later, schema, variants, is_wanted)
        return Repaired(mended, refused)
    if whole and len(variants) == 1:
        right, refused = variants[0], ()
    else:
        right, refused = _mend(past, past.result, schema, variants, is_wanted)
    merged = decide_each(merge_texts(past.result, later, right, schema), lambda _: OURS, 7)
    touched = tuple((one.where, TOUCHED) for one in merged.conflicts)
    return Repaired(merged.merged.text, (*refused, *touched))


def remake(past: Past, schema: Schema) -> str | None:
    """What the rules make of the versions, for a result that is no JSON; None where they contradict each other."""
    variants = _merge_both_ways(past, schema)
    return variants[0] if len(variants) == 1 else None


def _merge_both_ways(past: Past, schema: Schema) -> list[str]:
    """Our own merge; where it has conflicts, the two documents with all of them decided for one side."""
    merged = merge_texts(past.base, past.first, past.second, schema)
    if not merged.conflicts:
        return [merged.text]
    return [_decide_for(merged, side) for side in (OURS, THEIRS)]


def _decide_for(merged: Merged, side: int) -> str:
    return decide_each(merged, lambda _: side, 7).merged.text


# container by container


def _mend(
    past: Past, text: str, schema: Schema, variants: Sequence[str], is_wanted: IsMeant
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A text with each harmed entry as the rules have it. What is left is found anew for every container that is
    mended, the inner ones first, because places move.
    """
    roots = [None if version is None else parse(version) for version in past[:3]]
    right = [parse(variant) for variant in variants]
    refused: list[tuple[str, str]] = []
    tried: set[tuple[str, str, str | None]] = set()
    for _ in range(MOST_CONTAINERS):
        found = explain(past.base, past.first, past.second, text, schema).entries
        left = [one for one in found if one.verdict in FAILURES and is_wanted(one) and _name(one) not in tried]
        if not left:
            break
        holder = max((one.where.rpartition("/")[0] for one in left), key=lambda where: where.count("/"))
        entries = [one for one in left if one.where.rpartition("/")[0] == holder]
        tried.update(map(_name, entries))
        root = parse(text)
        value, troubles = _mend_container([*roots, root, *right], schema, holder, entries)
        refused += troubles
        text = rewrite(root, value)
    return text, tuple(refused)


def _name(entry: Entry) -> tuple[str, str, str | None]:
    return (entry.name, entry.verdict, entry.result if entry.verdict == "doubled" else entry.first or entry.second)


class _Step(NamedTuple):
    """A container on the way to an entry. nodes: in base, first, second, the text and the right versions."""

    nodes: list[Node | None]
    names: tuple[str, ...] | None


def _mend_container(
    nodes: list[Node | None], schema: Schema, where: str, entries: Sequence[Entry]
) -> tuple[Any, list[tuple[str, str]]]:
    """The whole document's value with these entries of one container mended; and (place, why) of those that are not."""
    text = nodes[3]
    assert text is not None  # it was parsed
    keys = split_pointer(where)
    found = _walk(nodes, schema, keys)
    if found is None or found.nodes[3] is None or not all(entry.where for entry in entries):
        return text.value, [(entry.where, _NO_PLACE) for entry in entries]
    value = deepcopy(text.value)
    holder: Any = value
    for key in keys:
        holder = holder[int(key)] if type(holder) is list else holder[key]
    mend = _mend_items if type(holder) is list else _mend_members
    return value, mend(holder, found, entries)


def _walk(nodes: list[Node | None], schema: Schema, keys: Sequence[str]) -> _Step | None:
    """The container that keys of the text lead to, in every version: items are followed by what they are known by."""
    strategies = Strategies(schema)
    place = strategies.resolve(schema)
    for key in keys:
        kind = type(nodes[3].members) if nodes[3] is not None else None
        if kind is dict:
            nodes = [members_of(node).get(key) for node in nodes]
            place = strategies.member(place, key)
        elif kind is list:
            names = find_names(merge_rule(place), _items(nodes)[:4])
            known = [identify(items, names or ()) for items in _items(nodes)]
            if names is None or int(key) >= len(known[3]):
                return None
            identity = list(known[3])[int(key)]
            nodes = [version.get(identity) for version in known]
            place = strategies.items(place)
        else:
            return None
    kind = type(nodes[3].members) if nodes[3] is not None else None
    return _Step(nodes, find_names(merge_rule(place), _items(nodes)[:4]) if kind is list else None)


def _items(nodes: Sequence[Node | None]) -> list[list[Node]]:
    return [node.members if node is not None and type(node.members) is list else [] for node in nodes]


def _mend_members(holder: dict[str, Any], found: _Step, entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Members of an object as the right versions have them; what could not be."""
    troubles = []
    for entry in entries:
        key = split_pointer(entry.where)[-1]
        wanted = [members_of(node).get(key) for node in found.nodes[4:]]
        if len({None if node is None else canonical_text(node.value) for node in wanted}) > 1:
            troubles.append((entry.where, CONTRADICTED))
        elif wanted[0] is None:
            holder.pop(key, None)
        else:
            holder[key] = deepcopy(wanted[0].value)
    return troubles


def _mend_items(holder: list[Any], found: _Step, entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Items of a list put back, taken away or replaced, so that each is there as often and as the right versions have
    it; what could not be.
    """
    names, items = found.names, _items(found.nodes)
    if names is None:
        return [(entry.where, CONTRADICTED) for entry in entries]
    present = list(identify(items[3], names))
    right = [_group(version, names) for version in items[4:]]
    wanted: dict[str, list[Node]] = {}
    troubles = []
    for entry in entries:
        key = _key_of(entry, items[3], names)
        versions = [version.get(key, []) for version in right]
        if any([node.value for node in each] != [node.value for node in versions[0]] for each in versions):
            troubles.append((entry.where, CONTRADICTED))
        elif not versions[0] and entry.verdict == "lost":
            troubles.append((entry.where, _NO_PLACE))
        else:
            wanted[key] = versions[0]
    kept = [(one, item) for one, item in zip(present, holder, strict=True)
            if one[0] not in wanted or one[1] < len(wanted[one[0]])]  # fmt: skip
    merged = _put_in(kept, list(identify(items[4], names)), wanted)
    holder[:] = [deepcopy(wanted[key][count].value) if key in wanted else item for (key, count), item in merged]
    return troubles


def _group(items: list[Node], names: tuple[str, ...]) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for (key, _), node in identify(items, names).items():
        groups.setdefault(key, []).append(node)
    return groups


def _key_of(entry: Entry, items: list[Node], names: tuple[str, ...]) -> str:
    """What an entry is known by among the items of its list."""
    if entry.result is None:
        text = next(text for text in (entry.first, entry.second, entry.base) if text is not None)
        return item_key(parse(text).value, names)
    return item_key(items[int(split_pointer(entry.where)[-1])].value, names)


def _put_in(
    kept: list[tuple[Identity, Any]], order: Sequence[Identity], wanted: dict[str, list[Node]]
) -> list[tuple[Identity, Any]]:
    """The kept items and those that are wanted and missing, each of these behind the nearest one before it in `order`
    that is there; at the front where there is none.
    """
    known = {one for one, _ in kept}
    behind: dict[Identity | None, list[Identity]] = {}
    last: Identity | None = None
    for one in order:
        if one in known:
            last = one
        elif one[0] in wanted:
            behind.setdefault(last, []).append(one)
    merged: list[tuple[Identity, Any]] = [(one, None) for one in behind.get(None, ())]
    for one, item in kept:
        merged += [(one, item), *((each, None) for each in behind.get(one, ()))]
    return merged
