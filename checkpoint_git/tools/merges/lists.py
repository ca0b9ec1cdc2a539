"""A list in every version of a merge, its items matched by what identifies them."""

from collections.abc import Iterable
from typing import NamedTuple

from checkpoint_git.core.jsontext import Node
from checkpoint_git.merge.items import find_repeated, identify
from checkpoint_git.tools.merges.verdict import PlaceVersions

Identity = tuple[str, int]  # the key of an item, and how many items of that key come before it
Items = dict[Identity, Node]


class Lists(NamedTuple):
    """The items by identity, in each version as in `PlaceVersions`.

    names: the members that identify an item; () for items that identify themselves.
    numbers: where an item is in the result, or else in a version that has it.
    copies: how often a key is in the parent that has it more often.
    owners: (member, its value) -> the items that have it; filled when it is first needed.
    """

    base: Items
    first: Items
    second: Items
    result: Items
    for_first: Items
    for_second: Items
    names: tuple[str, ...]
    numbers: dict[Identity, int]
    copies: dict[str, int]
    owners: dict[tuple[str, str], set[Identity]]

    @property
    def parents(self) -> tuple[Items, Items, Items]:
        """Return the versions that were merged, their base included."""
        return self.base, self.first, self.second

    def sides(self, identity: Identity) -> PlaceVersions:
        return PlaceVersions(*(items.get(identity) for items in self[:6]))


def make_lists(versions: list[list[Node]], names: tuple[str, ...]) -> Lists:
    """Match the items of a list in all its versions, which are ordered as in `PlaceVersions`."""
    repeated = find_repeated(versions[:3], names)
    base, first, second, *others = (identify(items, names, repeated) for items in versions)
    copies = _count_copies((*first, *second))

    order = _order_copies(base, first, second)
    result, for_first, for_second = (_match_copies(items, order) for items in others)

    numbers: dict[Identity, int] = {}
    for items in (result, first, second, base):
        for number, identity in enumerate(items):
            numbers.setdefault(identity, number)

    return Lists(base, first, second, result, for_first, for_second, names, numbers, copies, {})


def _count_copies(identities: Iterable[Identity]) -> dict[str, int]:
    copies: dict[str, int] = {}
    for key, count in identities:
        copies[key] = max(copies.get(key, 0), count + 1)
    return copies


def _order_copies(base: Items, first: Items, second: Items) -> dict[str, list[int]]:
    """Return the numbers of equal items in the order in which a result has them, by key.

    Nobody can see which of several equal items a result kept: those that a merge keeps come first.
    """
    order: dict[str, list[int]] = {}
    for key, number in _count_copies((*base, *first, *second)).items():
        if number == 1:
            continue
        kept, gone = [], []
        for count in range(number):
            item = (key, count)
            if (item in first) + (item in second) > (item in base):
                kept.append(count)
            else:
                gone.append(count)
        order[key] = [*kept, *gone]

    return order


def _match_copies(items: Items, order: dict[str, list[int]]) -> Items:
    found: Items = {}
    for (key, count), node in items.items():
        counts = order.get(key, ())
        if count < len(counts):
            found[key, counts[count]] = node
        else:
            found[key, count] = node
    return found
