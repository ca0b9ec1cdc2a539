"""Telling records apart by what they hold: one made of two others, one written anew. Likeness, not identity."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import Node, join_pointer, scan_tokens
from checkpoint_git.merge.items import canonical_text, find_repeated, identify
from checkpoint_git.merge.places import members_of
from checkpoint_git.merge.verdict import Sides

Identity = tuple[str, int]
Items = dict[Identity, Node]

SHORTEST_TEXT = 8
ALIKE = 0.6  # difflib's measure
LONGEST_TEXT = 2_000  # characters compared: difflib is quadratic
MOST_RECORDS = 200  # longer lists are not searched for mixtures


class Lists(NamedTuple):
    """A list's items in the four versions, by identity, which the members `names` give. numbers: where an item is in
    the result, else in a version that has it, the result's items first. owners: (member, its value) -> whose it is;
    find_foreign fills it when it first needs it.
    """

    base: Items
    first: Items
    second: Items
    result: Items
    names: tuple[str, ...]
    numbers: dict[Identity, int]
    owners: dict[tuple[str, str], set[Identity]]

    def sides(self, identity: Identity) -> Sides:
        return Sides(*(version.get(identity) for version in self[:4]))


def make_lists(items: list[list[Node]], names: tuple[str, ...]) -> Lists:
    repeated = find_repeated(items[:3], names)
    base, first, second, found = (identify(version, names, repeated) for version in items)
    result = _match_equals(base, first, second, found)
    numbers: dict[Identity, int] = {}
    for version in (result, first, second, base):
        for number, identity in enumerate(version):
            numbers.setdefault(identity, number)
    return Lists(base, first, second, result, names, numbers, {})


def _match_equals(base: Items, first: Items, second: Items, found: Items) -> Items:
    # of equal items any may be the one that is left: first those that should be there
    last = {key: count for key, count in found if count} | {key: 1 for key, count in (*first, *second) if count}
    result: Items = {}
    due: dict[str, list[Identity]] = {}
    for one in (*base, *first, *second, *found):
        if one[0] in last and one not in due.setdefault(one[0], []):
            due[one[0]].append(one)
    for key, ones in due.items():
        due[key] = sorted(ones, key=lambda one: ((one in first) + (one in second) <= (one in base), one[1]))
    for one, item in found.items():
        result[due[one[0]][one[1]] if one[0] in due else one] = item
    return result


def is_telling(value: Any) -> bool:
    """Whether a value is so much its record's own that another record holds it only as a copy: a sentence, a date."""
    if type(value) is str:
        return len(value) >= SHORTEST_TEXT and (" " in value or any(letter.isdigit() for letter in value))
    return type(value) in (dict, list) and len(canonical_text(value)) > 2 * SHORTEST_TEXT


def find_foreign(lists: Lists, identity: Identity) -> str:
    """What a row of the result has of another row and of none of its own versions, in words; "" for nothing."""
    row = members_of(lists.result.get(identity))
    own = [members_of(version.get(identity)) for version in lists[:3]]
    for key, node in row.items():
        if key in lists.names or not is_telling(node.value) or any(_holds(version, key, node) for version in own):
            continue
        if not lists.owners:
            for version in lists[:3]:
                for owner, item in version.items():
                    for name, member in members_of(item).items():
                        if is_telling(member.value):
                            lists.owners.setdefault((name, canonical_text(member.value)), set()).add(owner)
        owners = lists.owners.get((key, canonical_text(node.value)), set()) - {identity}
        if len(owners) == 1:
            return f"its {key} is that of {owners.pop()[0][1:]}"
    return ""


def _holds(members: dict[str, Node], key: str, node: Node) -> bool:
    return key in members and members[key].value == node.value


def find_mixture(lists: Lists, item: Node) -> str:
    """Which parents' records an item that nobody wrote is made of, in words; "" where it is not. Every member is some
    record's, and two records that have little in common each give what no other record has.
    """
    if max(len(lists.first), len(lists.second), len(lists.result)) > MOST_RECORDS:
        return ""
    members = members_of(item)
    known = {canonical_text(each.value): members_of(each) for version in lists[:3] for each in version.values()}
    records = [record for record in known.values() if record]
    givers: list[tuple[dict[str, Node], list[str]]] = []
    for record in records:
        mine = [key for key, node in members.items() if is_telling(node.value) and _holds(record, key, node)]
        only = [key for key in mine if sum(_holds(other, key, members[key]) for other in records) == 1]
        if only:
            givers.append((record, only))
    if not all(any(_holds(record, key, node) for record in records) for key, node in members.items()):
        return ""
    for left, its in givers:
        for right, others in givers:
            if left is not right and not is_like(left, right):
                return f"{', '.join(its)} from one record, {', '.join(others)} from another"
    return ""


def is_like(left: dict[str, Node], right: dict[str, Node]) -> bool:
    # one is an edit of the other: they share at least half of what the smaller one holds
    return 2 * sum(_holds(right, key, node) for key, node in left.items()) >= min(len(left), len(right))


def is_reworded(lost: str, written: str) -> bool:
    """Whether a text that is gone lives on in one written in the merge. Both are canonical JSON."""
    left, right = scan_tokens(lost), scan_tokens(written)
    if type(left) is dict and type(right) is dict:
        shared = [key for key, value in left.items() if key in right and right[key] == value]
        return 2 * len(shared) >= len(left) and any(is_telling(left[key]) for key in shared)
    old, new = _sentence(left), _sentence(right)
    if not old or not new or old in new:
        return bool(old and new)
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old[:LONGEST_TEXT], new[:LONGEST_TEXT], autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def _sentence(value: Any) -> str:
    text = value.get("text") if type(value) is dict else value
    return text if type(text) is str else ""


def list_texts(root: Node) -> Iterator[tuple[str, str]]:
    """Every sentence of a document, as canonical JSON, with its pointer."""
    stack = [("", root)]
    while stack:
        where, node = stack.pop()
        members = node.members
        if members is not None:
            pairs = members.items() if isinstance(members, dict) else enumerate(members)
            stack += [(join_pointer(where, key), child) for key, child in pairs]
        elif type(node.value) is str and is_telling(node.value) and " " in node.value:
            yield canonical_text(node.value), where
