"""Repair the damage of a past merge in a later version, except where that was edited since."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import Node, decode, parse, split_pointer
from checkpoint_git.core.jsonwrite import rewrite
from checkpoint_git.merge.conflicts import decide_all
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.result import OURS, is_same
from checkpoint_git.tools.merges.judge import MergeJudge
from checkpoint_git.tools.merges.lists import Identity, Items, Lists
from checkpoint_git.tools.merges.walk import EntryVersions

CONTRADICTED = "both sides changed it: decide by hand"
TOUCHED = "it was changed since"
_NO_PLACE = "its place is not found any more"

Refusal = tuple[str, str]  # a JSON Pointer, and why it stays as it is


class Repaired(NamedTuple):
    """data: the later version with the damage repaired as far as possible."""

    data: bytes
    refused: tuple[Refusal, ...]


def repair(
    judge: MergeJudge,
    result: bytes | None,
    later: bytes,
    is_wanted: Callable[[EntryVersions], bool],
    *,
    whole: bool = False,
) -> Repaired:
    """Repair the damage that a merge did, in a later version of the file.

    The repaired result is merged into the later version, with the result as their base: what was
    written by hand in the merge stays, and later changes too.

    result: what the merge made of the file; None if it cannot be read.
    is_wanted: which damaged entries are repaired.
    whole: git made the result alone, so all of it may become what the rules make of it.
    Raises JsonTextError if `later` is not JSON.
    """
    if result is None:
        return _repair_entries(judge, later, is_wanted)

    right = None
    if whole:
        right = remake(judge)
    if right is None:
        repaired = _repair_entries(judge, result, is_wanted)
    else:
        repaired = Repaired(right, ())

    merged = merge_file(result, later, repaired.data, judge.schema)
    touched = tuple((conflict.where, TOUCHED) for conflict in merged.conflicts)
    return Repaired(decide_all(merged, OURS).data, (*repaired.refused, *touched))


def remake(judge: MergeJudge) -> bytes | None:
    """Return what the rules make of the merge's inputs; None if they leave a conflict."""
    if judge.merged is None or judge.merged.conflicts:
        return None
    return judge.merged.data


def _repair_entries(
    judge: MergeJudge, data: bytes, is_wanted: Callable[[EntryVersions], bool]
) -> Repaired:
    """Return a version of the file with its wanted entries as the rules want them."""
    # containers are found before the first of them is changed: their places in lists move
    root = parse(decode(data))
    value = deepcopy(root.value)
    refused: list[Refusal] = []
    members: list[tuple[Any, EntryVersions]] = []
    items: dict[str, tuple[list[Any], list[EntryVersions]]] = {}
    for entry in judge.judge(data).damage:
        if not is_wanted(entry):
            continue
        if not entry.where:
            refused.append((entry.where, _NO_PLACE))
            continue
        holder = _find_holder(value, entry)
        if entry.item is None:
            members.append((holder, entry))
        else:
            items.setdefault(_holder_of(entry), (holder, []))[1].append(entry)

    for holder, entry in members:
        refused += _repair_member(holder, entry)
    for holder, entries in items.values():
        refused += _repair_items(holder, entries)
    return Repaired(rewrite(root, value).encode(), tuple(refused))


def _holder_of(entry: EntryVersions) -> str:
    return entry.where.rpartition("/")[0]


def _find_holder(value: Any, entry: EntryVersions) -> Any:
    for key in split_pointer(_holder_of(entry)):
        if type(value) is list:
            value = value[int(key)]
        else:
            value = value[key]
    return value


def _repair_member(holder: dict[str, Any], entry: EntryVersions) -> Iterable[Refusal]:
    if not entry.sides.is_settled:
        yield entry.where, CONTRADICTED
        return
    key = split_pointer(entry.where)[-1]
    wanted = entry.sides.for_first
    if wanted is None:
        holder.pop(key, None)
    else:
        holder[key] = deepcopy(wanted.value)


def _repair_items(holder: list[Any], entries: list[EntryVersions]) -> Iterable[Refusal]:
    """Change a list so that it has each damaged item as often, and with the content, that the
    rules give it; yield the items that the rules leave to the user.
    """
    assert entries[0].item is not None
    lists = entries[0].item.lists
    for_first = _group_by_key(lists.for_first)
    for_second = _group_by_key(lists.for_second)
    wanted: set[str] = set()
    for entry in entries:
        assert entry.item is not None
        key = entry.item.identity[0]
        if key in wanted:
            continue
        right = for_first.get(key, [])
        if not _are_same(right, for_second.get(key, [])):
            yield entry.where, CONTRADICTED
        elif not right and entry.verdict == "lost":
            yield entry.where, _NO_PLACE
        else:
            wanted.add(key)

    holder[:] = _put_in(holder, lists, wanted)


def _group_by_key(items: Items) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for (key, _), node in items.items():
        groups.setdefault(key, []).append(node)
    return groups


def _are_same(nodes: list[Node], others: list[Node]) -> bool:
    return len(nodes) == len(others) and all(map(is_same, nodes, others))


def _put_in(holder: list[Any], lists: Lists, wanted: set[str]) -> list[Any]:
    """Return the list with the wanted items as the rules make them.

    A missing item goes behind the nearest item before it in the rules' order, or to the front.
    """
    right = {identity: node for identity, node in lists.for_first.items() if identity[0] in wanted}
    kept = {
        identity: item
        for identity, item in zip(lists.result, holder, strict=True)
        if identity[0] not in wanted or identity in right
    }
    missing: dict[Identity | None, list[Identity]] = {}
    last: Identity | None = None
    for identity in lists.for_first:
        if identity in kept:
            last = identity
        elif identity in right:
            missing.setdefault(last, []).append(identity)

    items: list[Any] = [deepcopy(right[identity].value) for identity in missing.get(None, ())]
    for identity, item in kept.items():
        if identity in right:
            item = deepcopy(right[identity].value)
        items.append(item)
        items += [deepcopy(right[added].value) for added in missing.get(identity, ())]

    return items
