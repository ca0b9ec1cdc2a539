"""Laws of lists that no schema describes, for the histories of benchmarks.laws: each yields what is
wrong.

They look at the lists of a merge that have no conflict. Where a list repeats an item, or where an
item was moved, more than one reading of what a side did is right; each law says what it leaves out.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.merge.list_operations import NUMBERS, identify_item
from tests.merge.test_items import is_kept

if TYPE_CHECKING:
    from benchmarks.laws import Case, Merge

PLACE = "/skill_state/lists"
TOLD_APART = ("pairs", "records")  # lists whose items have an identity that the merge does not see

Items = list[Any]


class MergedList(NamedTuple):
    """One list of a merge, in which nothing conflicts."""

    name: str
    base: Items
    ours: Items
    theirs: Items
    result: Items

    @property
    def identities(self) -> list[list[str]]:
        """The identities of the items of base, ours, theirs and the result; only for lists of
        TOLD_APART.
        """
        return [[identify_item(item) for item in items] for items in self[1:]]

    @property
    def texts(self) -> list[list[str]]:
        """The items of base, ours, theirs and the result as texts that are equal where the items
        are.
        """
        return [[json.dumps(item, sort_keys=True) for item in items] for items in self[1:]]


def check_absorption(case: "Case", merge: "Merge") -> Iterator[str]:
    """A list that is merged with a side once more, and is clean again, is what it was.

    Only lists that repeat no item and of which none was moved.
    """
    for merged in _list_clean(case):
        base, *sides, _ = merged.texts
        if _have_repeated(merged.texts) or any(_is_moved(base, side) for side in sides):
            continue
        for side in (merged.ours, merged.theirs):
            texts = [_write_document(items) for items in (merged.base, merged.result, side)]
            again = merge(texts[0], texts[1], texts[2])
            if not again.conflicts and json.loads(again.text) != json.loads(texts[1]):
                yield f"{merged.name}: {merged.result} is {again.text} with {side}"


def check_sequence_order(case: "Case", merge: "Merge") -> Iterator[str]:
    """Two items are in the order that a side has, where no side has the other, unless a move
    forbids it.

    An item that was replaced is known by its identity here, and may be a new one for the merge:
    either is right. So an item that one side replaced or removed, and the other moved, leaves a
    list out.
    """
    for merged in _list_told_apart(case):
        base, ours, theirs, result = merged.identities
        readings = (merged.identities, merged.texts)
        if any(
            _is_ambiguous(was, mine, yours) or _is_ambiguous(was, yours, mine)
            for was, mine, yours, _ in readings
        ):
            continue
        if not _keeps_order(*merged.identities) and not _keeps_order(*merged.texts):
            yield f"{merged.name}: {base} / {ours} / {theirs} -> {result}"


def check_sequence_removal(case: "Case", merge: "Merge") -> Iterator[str]:
    """An item that one side removed, and the other left as it was, is not in the merged list."""
    for merged in _list_told_apart(case):
        base, ours, theirs = (
            {identify_item(item): item for item in items}
            for items in (merged.base, merged.ours, merged.theirs)
        )
        result = {identify_item(item) for item in merged.result}
        for side, other in ((ours, theirs), (theirs, ours)):
            back = {
                key for key, item in base.items() if key not in side and other.get(key) == item
            } & result
            if back:
                yield f"back in {merged.name}: {sorted(back)}"


def check_sequence_counts(case: "Case", merge: "Merge") -> Iterator[str]:
    """An item that no version repeats is not repeated in the merged list.

    A text or a number that both sides added, each at another place, may be two: only one that base
    has counts.
    """
    for merged in _list_clean(case):
        *versions, result = merged.texts
        if merged.name == NUMBERS and len(set(map(len, versions))) == 1:
            continue  # by position, a moved number is two that were replaced
        if _have_repeated(versions):
            continue  # which of two equal items a side moved is not known
        may_be_two = (
            set()
            if merged.name in TOLD_APART
            else set(versions[1]) & set(versions[2]) - set(versions[0])
        )
        repeated = [
            text for text, count in Counter(result).items() if count > 1 and text not in may_be_two
        ]
        if repeated:
            yield f"{merged.name}: several times {repeated[0]}"


def _list_clean(case: "Case") -> Iterator[MergedList]:
    conflicts = [conflict.where for conflict in case.one.conflicts]
    for name in case.values[0]["skill_state"]["lists"]:
        if not any(f"{where}/".startswith(f"{PLACE}/{name}/") for where in conflicts):
            versions = [
                value["skill_state"]["lists"][name] for value in (*case.values, case.kept[0])
            ]
            yield MergedList(name, *versions)


def _list_told_apart(case: "Case") -> Iterator[MergedList]:
    return (merged for merged in _list_clean(case) if merged.name in TOLD_APART)


def _write_document(items: Items) -> str:
    return json.dumps(
        {"updated_at": "2026-04-01T00:00:00Z", "skill_state": {"lists": {"list": items}}}
    )


def _have_repeated(versions: list[list[str]]) -> bool:
    return any(len(set(version)) < len(version) for version in versions)


def _is_moved(base: list[str], side: list[str]) -> bool:
    return [item for item in base if item in side] != [item for item in side if item in base]


def _is_ambiguous(base: list[str], side: list[str], other: list[str]) -> bool:
    # a side removed what the other one moved, or moved something past: what it added there may
    # stand for it
    removed = set(base) - set(side)
    ranks = {item: number for number, item in enumerate(other)}
    pairs = [
        pair for pair in itertools.combinations(base, 2) if pair[0] in ranks and pair[1] in ranks
    ]
    return any(
        ranks[first] > ranks[second] and removed & {first, second} for first, second in pairs
    )


def _keeps_order(base: list[str], ours: list[str], theirs: list[str], result: list[str]) -> bool:
    versions = [[item for item in version if item in result] for version in (base, ours, theirs)]
    return is_kept(result, *versions)
