"""The damage of a past merge repaired in a later version of the document, except where it was edited since."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import Node, decode, parse, split_pointer
from checkpoint_git.core.jsonwrite import OURS, THEIRS, rewrite
from checkpoint_git.merge.conflicts import decide_all
from checkpoint_git.merge.explain import explain
from checkpoint_git.merge.explanation import Entry
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.items import canonical_text, find_repeated, identify, item_key
from checkpoint_git.merge.places import find_names, items_of, members_of
from checkpoint_git.merge.records import Identity
from checkpoint_git.merge.strategy import Schema, Strategies, merge_rule
from checkpoint_git.merge.verdict import FAILURES

_Step = tuple[list[Node | None], tuple[str, ...] | None]

MOST_CONTAINERS = 100  # lists and objects of one file; for each the rest is looked for in a fresh explanation
CONTRADICTED = "both sides changed it: decide by hand"
TOUCHED = "it was changed since"
_NO_PLACE = "its place is not found any more"


class Past(NamedTuple):
    base: bytes | None
    first: bytes
    second: bytes
    result: bytes | None


class Repaired(NamedTuple):
    """data: the later version with the damage repaired, as far as possible. refused: (place, why) of what stays."""

    data: bytes
    refused: tuple[tuple[str, str], ...]


# The right version is made of the merge's result and the damaged entries alone; what was written by hand in the merge,
# and whatever came later, stays. Where both sides contradict each other, the user has to choose.
def repair(past: Past, later: bytes, schema: "Schema", is_wanted: Callable[[Entry], bool], *, whole: bool) -> Repaired:
    """is_wanted: which damaged entries. whole: nobody had a say in the result, so that all of it may become what the
    rules make of the same versions. Raises JsonTextError where one of the texts is not JSON, the result excepted.
    """
    variants = _merge_both_ways(past, schema)
    if past.result is None:
        return Repaired(*_fix(past, later, schema, variants, is_wanted))
    if not whole or len(variants) > 1:
        right, refused = _fix(past, past.result, schema, variants, is_wanted)
    else:
        right, refused = variants[0], ()
    merged = merge_file(past.result, later, right, schema)
    return Repaired(decide_all(merged, OURS).data, (*refused, *((one.where, TOUCHED) for one in merged.conflicts)))


def remake(past: Past, schema: "Schema") -> bytes | None:
    """What the rules make of the versions, for a result that is not JSON; None where they contradict each other."""
    variants = _merge_both_ways(past, schema)
    return variants[0] if len(variants) == 1 else None


def _merge_both_ways(past: Past, schema: "Schema") -> list[bytes]:
    # our own merge; where it has conflicts, the two documents with all of them decided for one side
    merged = merge_file(past.base, past.first, past.second, schema)
    return [decide_all(merged, side).data for side in (OURS, THEIRS)] if merged.conflicts else [merged.data]


def _fix(
    past: Past, data: bytes, schema: "Schema", variants: Sequence[bytes], is_wanted: Callable[[Entry], bool]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    # what is left is found anew for every container that is fixed, the inner ones first, because places move
    roots = [None if version is None else parse(decode(version)) for version in past[:3]]
    right = [parse(decode(variant)) for variant in variants]
    refused: list[tuple[str, str]] = []
    tried: set[tuple[str, str, str | None]] = set()
    for _ in range(MOST_CONTAINERS):
        found = explain(past.base, past.first, past.second, data, schema).entries
        left = [one for one in found if one.verdict in FAILURES and is_wanted(one) and _name(one) not in tried]
        if not left:
            break
        holder = max((one.where.rpartition("/")[0] for one in left), key=lambda where: where.count("/"))
        entries = [one for one in left if one.where.rpartition("/")[0] == holder]
        tried.update(map(_name, entries))
        root = parse(decode(data))
        value, troubles = _fix_container([*roots, root, *right], schema, holder, entries)
        refused += troubles
        data = rewrite(root, value).encode()
    return data, tuple(refused)


def _name(entry: Entry) -> tuple[str, str, str | None]:
    return (entry.name, entry.verdict, entry.result if entry.verdict == "duplicated" else entry.first or entry.second)


def _fix_container(
    nodes: list[Node | None], schema: "Schema", where: str, entries: Sequence[Entry]
) -> tuple[Any, list[tuple[str, str]]]:
    """(the whole document's value with these entries of one container fixed, (place, why) of those that are not)."""
    text = nodes[3]
    assert text is not None  # it was parsed
    keys = split_pointer(where)
    found = _walk(nodes, schema, keys)
    if found is None or not all(entry.where for entry in entries):
        return text.value, [(entry.where, _NO_PLACE) for entry in entries]
    value = deepcopy(text.value)
    holder: Any = value
    for key in keys:
        holder = holder[int(key)] if type(holder) is list else holder[key]
    if type(holder) is list:
        return value, _fix_items(holder, *found, entries)
    return value, _fix_members(holder, found[0], entries)


def _walk(nodes: list[Node | None], schema: "Schema", keys: Sequence[str]) -> _Step | None:
    """Where keys lead to, and what identifies items there. nodes: base, first, second, the text, right versions."""
    strategies = Strategies(schema)
    place = strategies.resolve(schema)
    for key in (*keys, None):
        members = None if nodes[3] is None else nodes[3].members
        items = [items_of(node) for node in nodes]
        names = find_names(merge_rule(place), items[:3]) if type(members) is list else None
        if key is None:
            return None if nodes[3] is None else (nodes, names)
        if type(members) is dict:
            nodes = [members_of(node).get(key) for node in nodes]
            place = strategies.member(place, key)
        elif names is not None and int(key) < len(items[3]):
            repeated = find_repeated(items[:3], names)
            known = [identify(version, names, repeated) for version in items]
            identity = list(known[3])[int(key)]
            nodes = [version.get(identity) for version in known]
            place = strategies.items(place)
        else:
            break
    return None


def _fix_members(holder: dict[str, Any], nodes: list[Node | None], entries: Sequence[Entry]) -> list[tuple[str, str]]:
    troubles = []
    for entry in entries:
        key = split_pointer(entry.where)[-1]
        wanted = [members_of(node).get(key) for node in nodes[4:]]
        if len({None if node is None else canonical_text(node.value) for node in wanted}) > 1:
            troubles.append((entry.where, CONTRADICTED))
        elif wanted[0] is None:
            holder.pop(key, None)
        else:
            holder[key] = deepcopy(wanted[0].value)
    return troubles


def _fix_items(
    holder: list[Any], nodes: list[Node | None], names: tuple[str, ...] | None, entries: Sequence[Entry]
) -> list[tuple[str, str]]:
    """Puts items back as often and as the right versions have them. Returns what could not be fixed."""
    if names is None:
        return [(entry.where, CONTRADICTED) for entry in entries]
    items = [items_of(node) for node in nodes]
    repeated = find_repeated(items[:3], names)
    present, order = (list(identify(version, names, repeated)) for version in items[3:5])
    right = [_group(version, names, repeated) for version in items[4:]]
    wanted: dict[str, list[Node]] = {}
    troubles = []
    for entry in entries:
        key = _key_of(entry, items[3], names, repeated)
        versions = [version.get(key, []) for version in right]
        if any([node.value for node in each] != [node.value for node in versions[0]] for each in versions):
            troubles.append((entry.where, CONTRADICTED))
        elif not versions[0] and entry.verdict == "lost":
            troubles.append((entry.where, _NO_PLACE))
        else:
            wanted[key] = versions[0]
    pairs = zip(present, holder, strict=True)
    kept = [(one, item) for one, item in pairs if one[0] not in wanted or one[1] < len(wanted[one[0]])]
    merged = _put_in(kept, order, wanted)
    holder[:] = [deepcopy(wanted[key][count].value) if key in wanted else item for (key, count), item in merged]
    return troubles


def _group(items: list[Node], names: tuple[str, ...], repeated: set[str]) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for (key, _), node in identify(items, names, repeated).items():
        groups.setdefault(key, []).append(node)
    return groups


def _key_of(entry: Entry, items: list[Node], names: tuple[str, ...], repeated: set[str]) -> str:
    if entry.result is None:
        text = next(text for text in (entry.first, entry.second, entry.base) if text is not None)
        value = parse(text).value
    else:
        value = items[int(split_pointer(entry.where)[-1])].value
    key = item_key(value, names)
    return item_key(value, ()) if key in repeated else key


def _put_in(
    kept: list[tuple[Identity, Any]], order: Sequence[Identity], wanted: dict[str, list[Node]]
) -> list[tuple[Identity, Any]]:
    # what is wanted and missing goes behind the nearest one before it in `order` that is there, else to the front
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
