"""Likeness of records, where identity says nothing: a mixture of two, a text written anew."""

from collections.abc import Iterator
from typing import Any

from checkpoint_git.core.jsontext import Node, join_pointer, scan_tokens
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.merge.result import members_of
from checkpoint_git.tools.merges.lists import Identity, Lists

SHORTEST_TEXT = 8
ALIKE = 0.6  # difflib's measure
LONGEST_TEXT = 2_000  # characters compared: difflib is quadratic
MOST_RECORDS = 200  # longer lists are not searched for mixtures

Members = dict[str, Node]


def is_telling(value: Any) -> bool:
    """Return whether another record can hold the value only as a copy: a sentence, a date."""
    if type(value) is str:
        has_digit = any(letter.isdigit() for letter in value)
        return len(value) >= SHORTEST_TEXT and (" " in value or has_digit)
    return type(value) in (dict, list) and len(canonical_text(value)) > 2 * SHORTEST_TEXT


def find_foreign(lists: Lists, identity: Identity) -> str:
    """Return what a row of the result has of another row and of no version of its own; or ""."""
    row = members_of(lists.result.get(identity))
    versions = [members_of(items.get(identity)) for items in lists.parents]
    for key, node in row.items():
        if key in lists.names or not is_telling(node.value):
            continue
        if any(_holds(version, key, node) for version in versions):
            continue
        if not lists.owners:
            _fill_owners(lists)
        owners = lists.owners.get((key, canonical_text(node.value)), set()) - {identity}
        if len(owners) == 1:
            return f"its {key} is that of {owners.pop()[0][1:]}"

    return ""


def _fill_owners(lists: Lists) -> None:
    for items in lists.parents:
        for owner, item in items.items():
            for name, member in members_of(item).items():
                if is_telling(member.value):
                    place = (name, canonical_text(member.value))
                    lists.owners.setdefault(place, set()).add(owner)


def _holds(members: Members, key: str, node: Node) -> bool:
    return key in members and bool(members[key].value == node.value)


def find_mixture(lists: Lists, item: Node) -> str:
    """Return which records of the parents an item that nobody wrote is made of; "" for none.

    Every member is some record's, and two records that have little in common each give what no
    other record has.
    """
    if max(len(lists.first), len(lists.second), len(lists.result)) > MOST_RECORDS:
        return ""
    members = members_of(item)
    known: dict[str, Members] = {}
    for items in lists.parents:
        for node in items.values():
            known[canonical_text(node.value)] = members_of(node)

    records = [record for record in known.values() if record]
    if not all(
        any(_holds(record, key, node) for record in records) for key, node in members.items()
    ):
        return ""

    givers = [
        (record, only) for record in records if (only := _find_only(members, record, records))
    ]
    for left, from_left in givers:
        for right, from_right in givers:
            if left is not right and not is_like(left, right):
                return (
                    f"{', '.join(from_left)} from one record, {', '.join(from_right)} from another"
                )

    return ""


def _find_only(members: Members, record: Members, records: list[Members]) -> list[str]:
    # the members whose telling value this record has and no other
    shared = [
        key for key, node in members.items() if is_telling(node.value) and _holds(record, key, node)
    ]
    return [
        key for key in shared if sum(_holds(other, key, members[key]) for other in records) == 1
    ]


def is_like(left: Members, right: Members) -> bool:
    """Return whether one may be an edit of the other: they share half of what the smaller one
    holds.
    """
    shared = sum(_holds(right, key, node) for key, node in left.items())
    return 2 * shared >= min(len(left), len(right))


def is_reworded(lost: str, written: str) -> bool:
    """Return whether a text that is gone lives on in one written in the merge. Both are canonical
    JSON.
    """
    left, right = scan_tokens(lost), scan_tokens(written)
    if type(left) is dict and type(right) is dict:
        shared = [key for key, value in left.items() if key in right and right[key] == value]
        return 2 * len(shared) >= len(left) and any(is_telling(left[key]) for key in shared)

    old, new = _sentence_of(left), _sentence_of(right)
    if not old or not new:
        return False
    if old in new:
        return True
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old[:LONGEST_TEXT], new[:LONGEST_TEXT], autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def _sentence_of(value: Any) -> str:
    text = value.get("text") if type(value) is dict else value
    return text if type(text) is str else ""


def list_sentences(root: Node) -> Iterator[tuple[str, str]]:
    """Yield every sentence of a document, as canonical JSON, with its pointer."""
    stack = [("", root)]
    while stack:
        where, node = stack.pop()
        members = node.members
        if members is not None:
            pairs = members.items() if isinstance(members, dict) else enumerate(members)
            stack += [(join_pointer(where, key), child) for key, child in pairs]
        elif type(node.value) is str and is_telling(node.value) and " " in node.value:
            yield canonical_text(node.value), where
