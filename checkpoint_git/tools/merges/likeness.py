"""Compare records by likeness where nothing identifies them: find mixtures and reworded texts."""

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
    """Return which member of a row comes from another row, as half a sentence; "" for none.

    identity: of the row in the result. No version of the row itself has that member's value.
    """
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
    """Return which two records of the parents an item of the result mixes; "" for none.

    Every member of a mixture is some record's, and two records that have little in common each
    give a member that no other record has.
    """
    if max(len(lists.first), len(lists.second), len(lists.result)) > MOST_RECORDS:
        return ""
    members = members_of(item)
    known: dict[str, Members] = {}
    for items in lists.parents:
        for node in items.values():
            known[canonical_text(node.value)] = members_of(node)

    records = [record for record in known.values() if record]
    for key, node in members.items():
        if not any(_holds(record, key, node) for record in records):
            return ""

    givers: list[tuple[Members, list[str]]] = []
    for record in records:
        given = _find_only(members, record, records)
        if given:
            givers.append((record, given))

    for record, given in givers:
        for other, other_given in givers:
            if record is not other and not is_like(record, other):
                return f"{', '.join(given)} from one record, {', '.join(other_given)} from another"

    return ""


def _find_only(members: Members, record: Members, records: list[Members]) -> list[str]:
    """Return the members whose telling value this record has and no other."""
    found = []
    for key, node in members.items():
        if not is_telling(node.value) or not _holds(record, key, node):
            continue
        owners = sum(_holds(other, key, node) for other in records)
        if owners == 1:
            found.append(key)
    return found


def is_like(record: Members, other: Members) -> bool:
    """Whether a record may be an edit of the other: they share half of the smaller's members."""
    shared = sum(_holds(other, key, node) for key, node in record.items())
    return 2 * shared >= min(len(record), len(other))


def is_reworded(lost: str, written: str) -> bool:
    """Whether a lost entry lives on in one written in the merge; both are canonical JSON."""
    before, after = scan_tokens(lost), scan_tokens(written)
    if type(before) is dict and type(after) is dict:
        shared = [key for key, value in before.items() if key in after and after[key] == value]
        return 2 * len(shared) >= len(before) and any(is_telling(before[key]) for key in shared)

    old, new = _sentence_of(before), _sentence_of(after)
    if not old or not new:
        return False
    if old in new:
        return True
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old[:LONGEST_TEXT], new[:LONGEST_TEXT], autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def _sentence_of(value: Any) -> str:
    """Return a text, or an entry's member `text`; "" for any other value."""
    if type(value) is dict:
        value = value.get("text")
    return value if type(value) is str else ""


def list_sentences(root: Node) -> Iterator[tuple[str, str]]:
    """Yield every sentence of a document, as canonical JSON, with its pointer."""
    stack = [("", root)]
    while stack:
        where, node = stack.pop()
        members = node.members
        if isinstance(members, dict):
            stack += [(join_pointer(where, key), child) for key, child in members.items()]
        elif isinstance(members, list):
            stack += [(join_pointer(where, index), child) for index, child in enumerate(members)]
        elif type(node.value) is str and is_telling(node.value) and " " in node.value:
            yield canonical_text(node.value), where
