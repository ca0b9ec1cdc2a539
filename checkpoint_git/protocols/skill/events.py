"""One entry of a checkpoint's telemetry as a file: which places have them, what a file holds, how it is named. Pure.

A file's name is made from what it holds, so that two branches never write two things under one name. How entries and
their checkpoint become one is told elsewhere (sharding.py). Values are token values (jsontext).
"""

from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.decimals import read_decimal
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten

FIELD = "layout"  # of the checkpoint: says where the next entry goes
SHARDED = "sharded"
CLOSING = "layout_closing"  # marks of amounts that the document holds already; stands there only between two writes
SUFFIX = ".event.json"
MAX_EVENTS = 20_000  # of one skill that are read
MAX_EVENT_BYTES = 256 * 1024
MAX_JOINED_BYTES = 6 * 1024 * 1024  # of all entries of one skill
MAX_ENTRY_DEPTH = 64  # levels, so that the checkpoint stays below its own limit

STATE = "/skill_state/"
_COST = "/cost/"
_LOGS = ("run_history",)
_LOG_BEGINNINGS = ("merged_prs", "closed_unmerged_prs", "reconciliation_")
AMOUNTS = ("by_phase", "by_model")
_GREATEST = 99_999_999
FIRST_NUMBER = 50_000_000  # of a list's first entry: half of all numbers are left for those that come before it
_PIECE = 64
_FIELDS = frozenset(["skill", "where", "order", "copy", "at", "entry", "amount", "mark"])


class Event(NamedTuple):
    """One entry of a list, or one amount of a sum.

    where: JSON Pointer of the list or the number. order, copy: as the module says; 0 for an amount. at: when it was
    written, "" where it was moved. content: the entry, or the amount's token. mark: of an amount, else "".
    """

    where: str
    order: int
    copy: int
    at: str
    content: Any
    mark: str


class Stored(NamedTuple):
    """An event and the name of its file."""

    name: str
    event: Event


# places


def is_log(key: str) -> bool:
    """Whether a list of skill_state with this name is telemetry: only ever appended to, until it is rotated."""
    return key in _LOGS or key.startswith(_LOG_BEGINNINGS)


def is_sharded(value: dict[str, Any]) -> bool:
    """Whether a checkpoint says that its telemetry lives in files of its own."""
    return value.get(FIELD) == SHARDED


def find_leftover(value: dict[str, Any]) -> dict[str, list[Any]]:
    """The lists of telemetry that stand in a checkpoint's own file: place -> entries, without the empty ones."""
    state = value.get("skill_state")
    logs = state.items() if isinstance(state, dict) else ()
    return {
        jsontext.join_pointer(STATE[:-1], key): list_ for key, list_ in logs
        if is_log(key) and isinstance(list_, list) and list_
    }  # fmt: skip


def is_log_place(where: str) -> bool:
    """Whether a pointer is the place of such a list."""
    keys = jsontext.split_pointer(where)
    return where.startswith(STATE) and len(keys) == 2 and is_log(keys[1])


def is_sum_place(where: str) -> bool:
    """Whether a pointer is the place of a number of the cost that only grows."""
    keys = jsontext.split_pointer(where)
    return where.startswith(_COST) and (keys[1:] == ["total_usd"] or (len(keys) == 3 and keys[1] in AMOUNTS))


# text and names


def event_text(skill: str, event: Event) -> str:
    """The text of an event's file: one line of JSON, its blanks laid out by a digest of what it holds.

    git takes a file that goes and one that comes for a rename where half of their pieces are the same, a piece being a
    line or 64 characters; and where two branches remove one file, two such renames are a conflict. Entries have one
    shape mostly. With the blanks, what they have in common stands at other columns and makes other pieces.
    """
    fields: dict[str, Any] = {"amount": event.content, "mark": event.mark} if event.mark else {"entry": event.content}
    if event.at:
        fields["at"] = event.at
    fields |= {"where": event.where, "order": event.order}
    if not event.mark:
        fields["copy"] = event.copy
    fields["skill"] = skill
    pieces = [piece.strip(" ") for piece in jsonedit.render(fields).rstrip("\n").split("\n")]
    chance = int(_digest(" ".join(pieces)), 16)
    spaced = [" " * (chance % _PIECE), pieces[0]]
    for at, piece in enumerate(pieces[1:]):
        spaced += [" " * (1 + (chance >> (6 + 2 * (at % 120))) % 4), piece]
    return "".join(spaced) + "\n"


def event_name(text: str, event: Event) -> str:
    """The name of the file that holds a text of event_text: its order, its time and what it holds."""
    digits = "".join(letter for letter in event.at if letter.isdigit())[:14]
    return f"{event.order:08d}-{digits or 'moved'}-{_digest(text.strip())[:20]}{SUFFIX}"


def _digest(line: str) -> str:
    from hashlib import sha256  # readers, who are many, need it not

    return sha256(line.encode("utf-8", "backslashreplace")).hexdigest()


def store_event(skill: str, event: Event) -> Stored:
    """An event with the name that its file gets."""
    return Stored(event_name(event_text(skill, event), event), event)


def read_event(text: str, skill: str) -> Event | str:
    """The event in a file's text, or why it is none. skill: whose folder it lies in."""
    try:
        fields = jsontext.scan_tokens(text)
    except jsontext.JsonTextError as error:
        return error.message
    if not isinstance(fields, dict):
        return "it is no object"
    try:
        return _read_fields(fields, skill)
    except (KeyError, ValueError) as error:
        return str(error.args[0]) if isinstance(error, ValueError) else f"{error.args[0]} is missing"


def broken_event(path: str, why: str) -> Finding:
    """What is said of a file that is named like an event and is none."""
    hint = "restore it from git, or remove it: the other entries are read all the same"
    message = f"this is no entry of a history: {escape_controls(shorten(why, 200))}"
    return Finding("layout/broken-event", "error", message, path, hint=hint)


def _read_fields(fields: dict[str, Any], skill: str) -> Event:
    if not fields.keys() <= _FIELDS:
        raise ValueError(f"it has a field that no event has: {min(fields.keys() - _FIELDS)}")
    if fields["skill"] != skill:
        raise ValueError("it belongs to another skill than its folder")
    at = fields.get("at", "")
    if "at" in fields and read_instant(at) is None:
        raise ValueError("at is no instant")
    where, order = fields["where"], _read_count(fields["order"], "order")
    if not isinstance(where, str):
        raise ValueError("where is no text")
    if "mark" in fields:
        return _read_amount(fields, where, order, at)
    if not is_log_place(where):
        raise ValueError("where is no list of telemetry")
    entry, copy = fields["entry"], _read_count(fields["copy"], "copy")
    if fields.keys() & {"amount"} or is_too_deep(entry):
        raise ValueError(f"the entry is nested more than {MAX_ENTRY_DEPTH} levels deep, or it holds an amount too")
    return Event(where, order, copy, at, entry, "")


def _read_amount(fields: dict[str, Any], where: str, order: int, at: str) -> Event:
    amount, mark = read_decimal(fields["amount"]), fields["mark"]
    if not is_sum_place(where):
        raise ValueError("where is no amount of the cost")
    if amount is None or amount[0] <= 0:
        raise ValueError("the amount is no number above zero")
    if not (isinstance(mark, str) and 8 <= len(mark) <= 32 and set(mark) <= set("0123456789abcdef")):
        raise ValueError("the mark is no hexadecimal word")
    if fields.keys() & {"entry", "copy"}:
        raise ValueError("it holds both an amount and an entry")
    return Event(where, order, 0, at, fields["amount"], mark)


def _read_count(token: Any, name: str) -> int:
    if type(token) is not bytes or not token.isdigit() or len(token) > 8:
        raise ValueError(f"{name} is no number from 0 to {_GREATEST}")
    return int(token)


def is_too_deep(entry: Any) -> bool:
    """Whether an entry is nested so deep that a checkpoint with it could not be read."""
    level = [entry]
    for _ in range(MAX_ENTRY_DEPTH + 1):
        level = [item for item in level if type(item) in jsontext.CONTAINERS]
        if not level:
            return False
        level = [child for item in level for child in (item.values() if type(item) is dict else item)]
    return True
