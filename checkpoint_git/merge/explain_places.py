"""What a merge did to each place of a document: objects member by member, groups as one, lists item by item."""

from typing import Any, Literal

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.jsontext import Node, join_pointer, scan_tokens
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.merge import verdict
from checkpoint_git.merge.explanation import SAID_ONCE, Entry, ExplainContext, Place
from checkpoint_git.merge.items import canonical_text, identify
from checkpoint_git.merge.places import find_names, is_same, items_of, members_of, newer_side
from checkpoint_git.merge.records import Identity, Items, Lists, find_foreign, find_mixture, is_reworded, make_lists
from checkpoint_git.merge.strategy import Schema, find_groups, merge_rule
from checkpoint_git.merge.verdict import OTHER, Judgement, Side, Sides, judge

_PARENTS: tuple[Literal["first"], Literal["second"]] = ("first", "second")
MOST_COMPARED = 50  # items that are gone, and items written in the merge: more are not searched for likenesses


def explain_place(context: ExplainContext, place: Place, sides: Sides) -> None:
    if verdict.is_unchanged(sides):
        return
    rule = merge_rule(place.schema)
    kind = None if rule.get("strategy") == "atomic" else _find_container(sides)
    if kind is dict:
        _explain_object(context, place, sides)
    elif kind is list:
        _explain_list(context, place, sides)
    else:
        context.note(place, sides, verdict.judge_by_rule(rule, sides, context.roots))


def _find_container(sides: Sides) -> type | None:
    # dict or list where the place is looked into: all versions that have it have that, and there is more to say
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


def _explain_object(context: ExplainContext, place: Place, sides: Sides) -> None:
    if verdict.is_two_records(sides):
        context.note(place, sides, verdict.judge_record(sides))
        return
    members = [members_of(node) for node in sides]
    groups = find_groups(place.schema, *members)
    for keys in groups.values():
        _explain_group(context, place, {key: Sides(*(version.get(key) for version in members)) for key in keys})
    grouped = {key for keys in groups.values() for key in keys}
    for key in dict.fromkeys(key for version in (members[3], *members[:3]) for key in version):
        if key not in grouped:
            below = Sides(*(version.get(key) for version in members))
            explain_place(context, place.member(context.strategies, key), below)


def _explain_group(context: ExplainContext, place: Place, leaves: dict[str, Sides]) -> None:
    contested = [key for key, sides in leaves.items() if verdict.changed_by_both(sides)]
    winners = {found.side for key in contested if (found := judge(leaves[key])).verdict == "decided"}
    if {"first", "second"} <= winners:
        _note_blend(context, place, leaves, contested)
        return
    whole = _find_whole_side(leaves) if contested else ""
    rule = merge_rule(place.schema["properties"][next(iter(leaves))])
    for key, sides in leaves.items():
        found = verdict.judge_record(sides) if key in contested else judge(sides)
        if whole and found.verdict in ("lost", "decided"):
            found = _judge_group(context, rule, leaves, whole, found)
        elif found.verdict == "decided" and found.side in _PARENTS:
            found = _judge_group(context, rule, leaves, found.side, found)
        if not verdict.is_unchanged(sides):
            context.note(place.member(context.strategies, key), sides, found)


def _find_whole_side(leaves: dict[str, Sides]) -> Literal["", "first", "second"]:
    # the parent that a group comes from as a whole, but for what was written in the merge; "" for neither
    for side in _PARENTS:
        if all(is_same(one.result, getattr(one, side)) or judge(one).verdict == "edited" for one in leaves.values()):
            return side
    return ""


def _judge_group(
    context: ExplainContext,
    rule: "Schema",
    leaves: dict[str, Sides],
    whole: Literal["first", "second"],
    alone: Judgement,
) -> Judgement:
    # a leaf of which one parent's value is gone, where the other won
    newer: Side = ""
    if "newest" in rule:
        name, _, rest = rule["newest"][1:].partition("/")
        found = newer_side(leaves[name].first, leaves[name].second, f"/{rest}") if name in leaves else 0
        newer = "first" if found > 0 else "second" if found < 0 else ""
    if not newer:
        other = {key: getattr(sides, OTHER[whole]) for key, sides in leaves.items()}
        kept = items_of(members_of(context.roots.result).get(str(rule.get("superseded", ""))))
        if any(all(is_same(members_of(record).get(key), leaf) for key, leaf in other.items()) for record in kept):
            return Judgement(whole, whole, f"the other is kept in {rule['superseded']}")
        return Judgement("decided", whole, "" if alone.verdict == "decided" else f"with the rest of {rule['name']}")
    if newer == whole:
        return Judgement(whole, whole, f"the newer {rule['name']}")
    return Judgement("lost", newer, f"the older {rule['name']} was taken")


def _note_blend(context: ExplainContext, place: Place, leaves: dict[str, Sides], contested: list[str]) -> None:
    # the group's parts contradict each other: some say what one parent said, some what the other said
    taken = ([key for key in contested if judge(leaves[key])[:2] == ("decided", side)] for side in _PARENTS)
    first, second = map(", ".join, taken)
    note = f"{first} from the first parent, {second} from the second"
    for key, sides in leaves.items():
        if key == contested[0]:
            context.note(place.member(context.strategies, key), sides, Judgement("mixed-up", "both", note))
        elif not verdict.is_unchanged(sides):
            context.note(place.member(context.strategies, key), sides, judge(sides))


def _explain_list(context: ExplainContext, place: Place, sides: Sides) -> None:
    rule = merge_rule(place.schema)
    items = [items_of(node) for node in sides]
    names = find_names(rule, items[:3])
    if names is None:
        context.note(place, sides, _judge_whole(sides, items))
        return
    lists = make_lists(items, names)
    mark = len(context.entries)
    for identity in lists.numbers:
        _explain_item(context, place, lists, identity)
    context.entries[mark:] = _excuse(context, rule, context.entries[mark:], lists)
    if rule.get("strategy") == "queue":
        _explain_order(context, place, sides, lists)


def _judge_whole(sides: Sides, items: list[list[Node]]) -> Judgement:
    # a list of records that nothing tells apart: one parent's, or at least nothing of either is missing
    found = judge(sides)
    if found.verdict != "edited":
        return found
    base, first, second, result = (identify(version, ()) for version in items)
    missing = [identity for identity in {**first, **second} if identity not in base and identity not in result]
    return Judgement("lost", "both", "an item that a parent added is gone") if missing else Judgement("combined")


def _explain_item(context: ExplainContext, place: Place, lists: Lists, identity: Identity) -> None:
    sides = lists.sides(identity)
    item = next(node for node in reversed(sides) if node is not None)
    name = item_name(place.name, item.value, lists.names)
    below = Place(context.strategies.items(place.schema), join_pointer(place.where, lists.numbers[identity]), name)
    if sides.base is None and sides.first is None and sides.second is None:
        context.note(below, sides, _judge_new(context, lists, identity))
    elif sides.base is None and None not in sides[1:3] and not is_same(sides.first, sides.second):
        found = verdict.judge_record(sides)
        context.note(below, sides, found._replace(note=found.note or "each parent added another record under this key"))
    else:
        foreign = find_foreign(lists, identity)
        if foreign:
            context.note(below, sides, Judgement("mixed-up", "", foreign))
        else:
            explain_place(context, below, sides)


def item_name(name: str, value: Any, names: tuple[str, ...]) -> str:
    # an item as people say it: the list, and what the item is known by
    if type(value) is dict and names and all(key in value for key in names):
        known = " ".join(_said(value[key]) for key in names)
    else:
        known = _said(value)
    return f"{name}[{shorten(known, 60)}]"


def _said(value: Any) -> str:
    return value if type(value) is str else canonical_text(value)


def _judge_new(context: ExplainContext, lists: Lists, identity: Identity) -> Judgement:
    key, count = identity
    if count:
        known = max(sum(other == key for other, _ in version) for version in lists[1:3])
        return Judgement("duplicated", "", f"{count + 1} times in the result, {known or 'not'} in a parent")
    item = lists.result[identity]
    for side in _PARENTS:
        if _is_left_behind(item, getattr(context.roots, side)):
            return Judgement(side, "", "set aside")
    mixture = find_mixture(lists, item)
    return Judgement("mixed-up", "", mixture) if mixture else Judgement("edited")


def _is_left_behind(item: Node, root: Node | None) -> bool:
    # the item is a record of how a parent's document stood, as the policy "newest" keeps it
    members, known = members_of(item), members_of(root)
    return len(members) > 1 and all(is_same(leaf, known.get(key)) for key, leaf in members.items())


def _excuse(context: ExplainContext, rule: "Schema", found: list[Entry], lists: Lists) -> list[Entry]:
    # those lost are looked at again: cut by a limit, written anew, or now in another place
    written = [entry for entry in found if entry.verdict == "edited" and entry.first is entry.second is None]
    if max(len(written), sum(entry.verdict == "lost" for entry in found)) > MOST_COMPARED:
        written = []
    return [
        _excused(context, rule, entry, written, lists) if entry.verdict == "lost" and entry.result is None else entry
        for entry in found
    ]


def _excused(context: ExplainContext, rule: "Schema", entry: Entry, written: list[Entry], lists: Lists) -> Entry:
    text = entry.first or entry.second or "null"
    if "limit" in rule and _is_cut(rule, text, lists.result):
        return entry._replace(verdict="limited", note=f"the list holds {len(lists.result)}")
    anew = next((other for other in written if is_reworded(text, other.result or "null")), None)
    if anew is not None:
        return entry._replace(verdict="edited", note=f"rewritten as {shorten(anew.result or '', 60)}")
    holder, found = entry.where.rpartition("/")[0], context.find_texts(text)
    elsewhere = [where for where in found if not where.startswith(f"{holder}/")]
    if elsewhere:
        return entry._replace(verdict="moved", note=f"it is at {elsewhere[0]} now")
    return entry._replace(note=SAID_ONCE) if found else entry


def _is_cut(rule: "Schema", missing: str, result: Items) -> bool:
    # the list is full, and the missing item (canonical JSON) is not newer than what it holds
    if len(result) < int(rule["limit"]):
        return False
    at = str(rule.get("sort", ""))[1:]
    instants = [read_instant(members_of(item)[at].value) for item in result.values() if at in members_of(item)]
    known = [instant for instant in instants if instant is not None]
    value = scan_tokens(missing)
    when = read_instant(value.get(at)) if type(value) is dict else None
    return not known or when is None or when <= min(known)


def _explain_order(context: ExplainContext, place: Place, sides: Sides, lists: Lists) -> None:
    # whether an order that a parent gave to the items that all versions have is the result's
    common = {identity for identity in lists.base if all(identity in version for version in lists[1:4])}
    base, first, second, result = ([item for item in version if item in common] for version in lists[:4])
    name = place._replace(name=f"{place.name} (order)")
    if result == base and (first != base or second != base):
        side: Side = "both" if base not in (first, second) else "first" if first != base else "second"
        context.note(name, sides, Judgement("lost", side, "the old order is kept"))
    elif base not in (first, second) and first != second and result in (first, second):
        context.note(name, sides, Judgement("decided", "first" if result == first else "second"))
