"""Harm of a past merge undone in a later version of the document, and only there where nobody was since. Pure.

The right version is made of the merge's result and the harmed entries alone; what a person wrote in the merge, and
whatever came later, stays. What both sides contradict each other on is left to a person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.jsonedit import rewrite
from checkpoint_git.core.jsontext import JsonTextError, Node, parse, split_pointer
from checkpoint_git.core.jsonwrite import OURS, THEIRS
from checkpoint_git.merge.chosen import decide_each
from checkpoint_git.merge.document import merge_texts
from checkpoint_git.merge.explain import Entry, Explanation, explain
from checkpoint_git.merge.explain_lists import find_names
from checkpoint_git.merge.identity import identify, item_key
from checkpoint_git.merge.places import members_of
from checkpoint_git.merge.strategy import Strategies, merge_rule
from checkpoint_git.merge.verdict import FAILURES

if TYPE_CHECKING:
    from checkpoint_git.merge.strategy import Schema

MOST_MENDED = 200  # entries of one file; each is looked for in a fresh explanation
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
    return [decide_each(merged, lambda _, side=side: side, 7).merged.text for side in (OURS, THEIRS)]  # type: ignore[misc]  # the default is bound at once


# entry by entry


def _mend(
    past: Past, text: str, schema: Schema, variants: Sequence[str], is_wanted: IsMeant
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A text with each harmed entry as the rules have it, found anew after every step because places move."""
    roots = [None if version is None else parse(version) for version in past[:3]]
    right = [parse(variant) for variant in variants]
    refused: list[tuple[str, str]] = []
    tried: set[tuple[str, str, str | None]] = set()
    for _ in range(MOST_MENDED):
        entry = next((one for one in _list_harm(_explain(past, text, schema))
                      if is_wanted(one) and _name(one) not in tried), None)  # fmt: skip
        if entry is None:
            break
        tried.add(_name(entry))
        changed = _mend_entry(roots, parse(text), right, schema, entry)
        if isinstance(changed, str):
            refused.append((entry.where, changed))
        else:
            text = rewrite(parse(text), changed[0])
    return text, tuple(refused)


def _explain(past: Past, text: str, schema: Schema) -> Explanation:
    return explain(past.base, past.first, past.second, text, schema)


def _list_harm(found: Explanation) -> list[Entry]:
    return [entry for entry in found.entries if entry.verdict in FAILURES]


def _name(entry: Entry) -> tuple[str, str, str | None]:
    return (entry.name, entry.verdict, entry.result if entry.verdict == "doubled" else entry.first or entry.second)


class _Step(NamedTuple):
    """A container on the way to an entry. nodes: in base, first, second, the text and the right versions."""

    nodes: list[Node | None]
    names: tuple[str, ...] | None


def _mend_entry(
    roots: list[Node | None], text: Node, right: list[Node], schema: Schema, entry: Entry
) -> tuple[Any] | str:
    """The whole document's value with one entry mended, in a tuple of its own; else why it is not."""
    keys = split_pointer(entry.where)
    if not keys:
        return _NO_PLACE
    gone = entry.result is None and entry.name.endswith("]")
    found = _walk([*roots, text, *right], schema, keys[:-1])
    if found is None or found.nodes[3] is None:
        return _NO_PLACE
    value = deepcopy(text.value)
    holder: Any = value
    for key in keys[:-1]:
        holder = holder[int(key)] if type(holder) is list else holder[key]
    if type(holder) is list:
        names = found.names
        if names is None:
            return CONTRADICTED
        trouble = _mend_item(holder, found, names, entry, None if gone else int(keys[-1]))
    else:
        trouble = _mend_member(holder, found, keys[-1])
    return trouble or (value,)


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


def _mend_member(holder: dict[str, Any], found: _Step, key: str) -> str:
    """One member of an object as the right versions have it; "" or why not."""
    wanted = [members_of(node).get(key) for node in found.nodes[4:]]
    if len({_text(node) for node in wanted}) > 1:
        return CONTRADICTED
    if wanted[0] is None:
        holder.pop(key, None)
    else:
        holder[key] = deepcopy(wanted[0].value)
    return ""


def _text(node: Node | None) -> str:
    return "" if node is None else item_key(node.value, ())


def _mend_item(holder: list[Any], found: _Step, names: tuple[str, ...], entry: Entry, at: int | None) -> str:
    """One item of a list put back, taken away or replaced; "" or why not. at: where it stands, None where it does not.

    An item that is too many goes, and the one that is left becomes what the rules make of all of them.
    """
    items = _items(found.nodes)
    right = [identify(version, names) for version in items[4:]]
    if at is not None:
        key = item_key(items[3][at].value, names)
        here = [number for number, item in enumerate(items[3]) if item_key(item.value, names) == key]
        wanted = [[node.value for (known, _), node in version.items() if known == key] for version in right]
        if any(each != wanted[0] for each in wanted):
            return CONTRADICTED
        _replace(holder, here, wanted[0])
        return ""
    value = _find_value(found, names, entry)
    if value is None:
        return _NO_PLACE
    key = item_key(value.value, names)
    if not all(any(known == key for known, _ in version) for version in right):
        return CONTRADICTED
    wanted = [[node.value for (known, _), node in version.items() if known == key] for version in right]
    if any(each != wanted[0] for each in wanted):
        return CONTRADICTED
    count = sum(item_key(item.value, names) == key for item in items[3])
    if count >= len(wanted[0]):
        return _NO_PLACE
    holder.insert(_find_spot(holder, right[0], names, (key, count), items[3]), deepcopy(wanted[0][count]))
    return ""


def _replace(holder: list[Any], here: list[int], wanted: list[Any]) -> None:
    for number, value in zip(here, wanted, strict=False):
        holder[number] = deepcopy(value)
    for number in reversed(here[len(wanted) :]):
        del holder[number]


def _find_value(found: _Step, names: tuple[str, ...], entry: Entry) -> Node | None:
    """The item that is gone, as a side or the base has it."""
    texts = [text for text in (entry.first, entry.second, entry.base) if text is not None]
    for text in texts:
        node = parse(text)
        key = item_key(node.value, names)
        if any(item_key(item.value, names) == key for version in _items(found.nodes)[:3] for item in version):
            return node
    return None


def _find_spot(
    holder: list[Any], right: dict[Any, Node], names: tuple[str, ...], identity: Any, present: list[Node]
) -> int:
    """Behind the nearest item before it that the list has; at the front where there is none."""
    known = {one: number for number, one in enumerate(identify(present, names))}
    before = list(right)[: list(right).index(identity)] if identity in right else list(right)
    return next((known[one] + 1 for one in reversed(before) if one in known), 0)


def reads_as_json(text: str) -> bool:
    """Whether a text is JSON as we accept it."""
    try:
        parse(text)
    except JsonTextError:
        return False
    return True
