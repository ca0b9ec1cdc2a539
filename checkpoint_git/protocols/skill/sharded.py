"""How a checkpoint and the files of its telemetry become one document, and how one is taken apart again. Pure.

A list keeps its order by a number in each entry, counted as clocks of messages are: one more than the greatest that
its writer knows, or one less than the least. Where two branches gave the same number, the files' names decide. An entry
is known by its place, its content and how many equal ones stood before it: the same entry, added on two branches or
moved on both, is one. Amounts are added up, each on its own. Values are token values (jsontext).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.decimals import add_decimals, decimal_token, read_decimal
from checkpoint_git.protocols.skill.events import (
    AMOUNTS,
    CLOSING,
    FIRST_NUMBER,
    STATE,
    Event,
    Stored,
    is_log,
    is_log_place,
    is_sharded,
    is_sum_place,
    store_event,
)


class Split(NamedTuple):
    """A document taken apart. active: what stays in the checkpoint's file. create, remove: files of the folder."""

    active: dict[str, Any]
    create: list[Stored]
    remove: list[str]


# joining


def join_value(value: dict[str, Any], stored: Sequence[Stored]) -> dict[str, Any]:
    """The document with its events: what a checkpoint of the single layout would hold.

    What stands both in a list of the document and in a file is one entry: a move that was killed leaves it in both. In
    a sharded checkpoint the files come first, else the document's own entries do.
    """
    joined = {key: child for key, child in value.items() if key != CLOSING}
    closed = find_closed(value)
    for where, part in _group(stored).items():
        if is_sum_place(where):
            _join_amounts(joined, where, [each.event for each in part if each.event.mark not in closed])
        else:
            _join_log(joined, where, [each.event for each in unite_copies(part)])
    _join_time(joined, [each.event.at for each in stored])
    return joined


def _group(stored: Sequence[Stored]) -> dict[str, list[Stored]]:
    """The events of each place, in their order; a place comes where its first event does."""
    groups: dict[str, list[Stored]] = {}
    for each in sorted(stored, key=_place_in_list):
        groups.setdefault(each.event.where, []).append(each)
    return groups


def _place_in_list(stored: Stored) -> tuple[int, str]:
    return stored.event.order, stored.name


def unite_copies(part: Sequence[Stored]) -> list[Stored]:
    """The events of one list without those that stand for an entry that is there already."""
    first: dict[tuple[str, int], Stored] = {}
    for each in part:
        first.setdefault((identify(each.event.content), each.event.copy), each)
    return list(first.values())


def identify(entry: Any) -> str:
    """A word that is the same for entries that are equal, whatever the order of their keys."""
    if type(entry) is dict:
        return "{" + ",".join(sorted([f"{key!r}:{identify(child)}" for key, child in entry.items()])) + "}"
    if type(entry) is list:
        return "[" + ",".join([identify(child) for child in entry]) + "]"
    return repr(entry)


def _join_log(joined: dict[str, Any], where: str, events: list[Event]) -> None:
    key = jsontext.split_pointer(where)[1]
    state = joined.get("skill_state", {})
    own = state.get(key, []) if isinstance(state, dict) else None
    if not isinstance(own, list):
        return  # nothing that a list could stand in: `validate` tells
    entries = [event.content for event in events]
    both = [*entries, *_without(own, entries)] if is_sharded(joined) else [*own, *_without(entries, own)]
    joined["skill_state"] = {**state, key: both}


def _without(entries: list[Any], others: list[Any]) -> list[Any]:
    """The entries that others do not hold; of equal ones as many as there are more."""
    if not (entries and others):
        return entries
    counts: dict[str, int] = {}
    for entry in others:
        word = identify(entry)
        counts[word] = counts.get(word, 0) + 1
    rest = []
    for entry in entries:
        word = identify(entry)
        if counts.get(word, 0) > 0:
            counts[word] -= 1
        else:
            rest.append(entry)
    return rest


def _join_amounts(joined: dict[str, Any], where: str, events: list[Event]) -> None:
    total = _read_total(joined, where)
    if total is None or not events:
        return
    for event in events:
        total = add_decimals(total, read_decimal(event.content) or (0, 0))
    _put_amount(joined, where, decimal_token(total[0], total[1]))


def _read_total(value: dict[str, Any], where: str) -> tuple[int, int] | None:
    """The number at a place of the cost, 0 where nothing stands there, None where something else does."""
    found = _find_amount(value, where)
    return (0, 0) if found is _ABSENT else read_decimal(found)


_ABSENT: Any = object()


def _find_amount(value: dict[str, Any], where: str) -> Any:
    found: Any = value
    for key in jsontext.split_pointer(where):
        if not isinstance(found, dict):
            return None
        if key not in found:
            return _ABSENT
        found = found[key]
    return found


def _put_amount(value: dict[str, Any], where: str, token: Any) -> None:
    """Puts a token at a place of the cost, or takes the place away (_ABSENT), in copies of what stands around it."""
    *folders, last = jsontext.split_pointer(where)
    inner = value
    for key in folders:
        inner[key] = dict(inner.get(key, {}))
        inner = inner[key]
    if token is _ABSENT:
        inner.pop(last, None)
    else:
        inner[last] = token


def _join_time(joined: dict[str, Any], times: Iterable[str]) -> None:
    """Lets updated_at be the latest of its own and its events' times."""
    own = read_instant(joined.get("updated_at"))
    if own is None:
        return
    for text in times:
        instant = read_instant(text) if text else None
        if instant is not None and instant > own:
            own, joined["updated_at"] = instant, text


def empty_logs(text: str) -> str:
    """A checkpoint's text with its lists of telemetry emptied: about what its own file holds."""
    root = jsontext.parse(text)
    state = root.value.get("skill_state")
    if not isinstance(state, dict):
        return text
    left = {key: [] if is_log(key) and isinstance(child, list) else child for key, child in state.items()}
    return jsonedit.rewrite(root, {**root.value, "skill_state": left})


# taking apart


def plan_split(
    skill: str, before: dict[str, Any], stored: Sequence[Stored], after: dict[str, Any], marks: Sequence[str]
) -> Split:
    """What to write so that joining gives `after`. It is empty of changes where that is so already.

    skill: whose folder it is. before: the checkpoint's own file, {} for none. marks: fresh words for amounts, as many
    as the cost may have.
    """
    if not is_sharded(after):
        return Split(after, [], [each.name for each in stored])
    was = join_value(before, stored)
    at = after.get("updated_at", "")
    stamp = at if isinstance(at, str) and at != was.get("updated_at") and read_instant(at) is not None else ""
    groups = _group(stored)
    active = dict(after)
    create, remove = _split_logs(skill, active, before, groups, stamp)
    more, gone = _split_amounts(skill, active, before, was, groups, stamp, list(marks))
    create, remove = create + more, remove + gone
    gone_names = frozenset(remove)
    kept = [each for each in stored if each.name not in gone_names]
    return Split(_settle_time(active, before, [*kept, *create]), create, remove)


def _split_logs(
    skill: str, active: dict[str, Any], before: dict[str, Any], groups: dict[str, list[Stored]], stamp: str
) -> tuple[list[Stored], list[str]]:
    state, own = active.get("skill_state", {}), before.get("skill_state", {})
    create: list[Stored] = []
    remove: list[str] = []
    if not (isinstance(state, dict) and isinstance(own, dict)):
        return create, remove
    left = dict(state)
    places = {jsontext.join_pointer(STATE[:-1], key): key for key in state if is_log(key)}
    for where, key in places.items():
        if isinstance(state[key], list):
            plan = plan_entries(where, state[key], groups.get(where, []), stamp)
            create += [store_event(skill, event) for event in plan[0]]
            remove += plan[1]
            left[key] = []
            if key not in own:
                del left[key]
    remove += [each.name for where, part in groups.items() if is_log_place(where) and where not in places
               for each in part]  # fmt: skip
    if left != state:
        active["skill_state"] = left
        if not left and "skill_state" not in before:
            del active["skill_state"]
    return create, remove


def plan_entries(where: str, entries: list[Any], part: Sequence[Stored], stamp: str) -> tuple[list[Event], list[str]]:
    """(events to write, files to remove) so that a list holds these entries in this order.

    What stands in its order already stays; whatever comes after a new entry and has a smaller number is numbered anew.
    New entries at the head get numbers below all others: many lists have the newest first.
    """
    united = unite_copies(part)
    words = [identify(each.event.content) for each in united]
    spots: dict[str, list[int]] = {}
    copies: dict[str, int] = {}
    for spot, word in enumerate(words):
        spots.setdefault(word, []).append(spot)
        copies[word] = max(copies.get(word, -1), united[spot].event.copy)
    kept: set[int] = set()
    create: list[Event] = []
    position, floor = 0, -1
    last = _find_first_number(entries, united, spots) - 1
    for entry in entries:
        word = identify(entry)
        same = spots.get(word, [])
        next_one = bisect_left(same, position)
        if next_one < len(same) and united[same[next_one]].event.order > floor:
            spot = same[next_one]
            kept.add(spot)
            position, last = spot + 1, max(last, united[spot].event.order)
            continue
        last = floor = last + 1
        copies[word] = copies.get(word, -1) + 1
        create.append(Event(where, last, copies[word], stamp, entry, ""))
    alive = {(words[spot], united[spot].event.copy) for spot in kept}
    gone = [each.name for each in part if (identify(each.event.content), each.event.copy) not in alive]
    return create, gone


def _find_first_number(entries: list[Any], united: Sequence[Stored], spots: dict[str, list[int]]) -> int:
    """The number of the first entry, if it is new: as far below the first one that stays as there are new ones."""
    for at, entry in enumerate(entries):
        known = spots.get(identify(entry))
        if known:
            return max(0, united[known[0]].event.order - at)
    return FIRST_NUMBER


def _split_amounts(
    skill: str,
    active: dict[str, Any],
    before: dict[str, Any],
    was: dict[str, Any],
    groups: dict[str, list[Stored]],
    stamp: str,
    marks: list[str],
) -> tuple[list[Stored], list[str]]:
    """An amount that grew gets an event; one that fell or went is written whole, and its events go."""
    create: list[Stored] = []
    remove: list[str] = []
    closed = find_closed(before)
    places = dict.fromkeys([where for where in groups if is_sum_place(where)] + find_amounts(active))
    for where in places:
        part = groups.get(where, [])
        live = [each.name for each in part if each.event.mark not in closed]
        remove += [each.name for each in part if each.event.mark in closed]
        own, wanted = _find_amount(before, where), _find_amount(active, where)
        grown = _find_growth(_find_amount(was, where), wanted)
        if grown == 0:
            if live and own is not None:
                _put_amount(active, where, own)
        elif grown is not None and is_sharded(before) and marks:
            event = Event(where, 0, 0, stamp, grown, marks.pop())
            create.append(store_event(skill, event))
            _put_amount(active, where, own)
        else:
            remove += live
    _drop_empty_cost(active, before)
    return create, remove


def _find_growth(had: Any, wanted: Any) -> Any:
    """By how much a number of the cost grew, as a token; 0 for not at all, None where it fell, went or is none."""
    if wanted == had or wanted is _ABSENT:
        return 0 if wanted == had else None
    before, after = (0, 0) if had is _ABSENT else read_decimal(had), read_decimal(wanted)
    if before is None or after is None:
        return None
    digits, scale = add_decimals(after, before, -1)
    if digits == 0 and had is not _ABSENT:
        return 0
    return decimal_token(digits, scale) if digits > 0 else None


def _drop_empty_cost(active: dict[str, Any], before: dict[str, Any]) -> None:
    """Takes away what is empty because events hold all of it."""
    cost, own = active.get("cost"), before.get("cost", {})
    if isinstance(cost, dict) and isinstance(own, dict):
        left = {key: child for key, child in cost.items() if child != {} or key not in AMOUNTS or key in own}
        active["cost"] = left
        if not left and "cost" not in before:
            del active["cost"]


def find_closed(value: dict[str, Any]) -> frozenset[str]:
    """The marks of amounts that a checkpoint holds already, though their files are still there."""
    closed = value.get(CLOSING)
    return frozenset(mark for mark in closed if isinstance(mark, str)) if isinstance(closed, list) else frozenset()


def find_amounts(value: dict[str, Any]) -> list[str]:
    """The places of the cost that hold a number."""
    cost = value.get("cost")
    if not isinstance(cost, dict):
        return []
    places = ["/cost/total_usd"] if "total_usd" in cost else []
    for name in AMOUNTS:
        part = cost.get(name)
        if isinstance(part, dict):
            places += [jsontext.join_pointer(f"/cost/{name}", key) for key in part]
    return places


def _settle_time(active: dict[str, Any], before: dict[str, Any], events: Sequence[Stored]) -> dict[str, Any]:
    """The file as it was, where events alone changed and tell the new time: then nobody else writes its lines."""
    old = {key: child for key, child in before.items() if key != CLOSING}
    if old.keys() != active.keys() or "updated_at" not in old:
        return active
    quiet = {**active, "updated_at": old["updated_at"]}
    if quiet != old:
        return active
    timed = dict(quiet)
    _join_time(timed, [each.event.at for each in events])
    return quiet if timed["updated_at"] == active["updated_at"] else active
