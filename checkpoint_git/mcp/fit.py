"""Documents made fit to be sent: text that every parser takes, and no more of it than an agent can read. Pure.

It knows no protocol and no checkpoint, only JSON values.
"""

import json
import math
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.terminal_text import escape_controls

LIMIT = 100_000  # characters of JSON; what agents take at once is not much more
DEPTH = 60  # levels; some parsers give up at 128
_LONGEST_KEY = 200  # characters
_LONGEST_NUMBER = 300  # digits
_PLACES = 20  # pointers that are named where something was cut
# what is tried in turn: (characters of a text, members of a list or object)
_STEPS = ((20_000, 1_000), (10_000, 500), (4_000, 200), (4_000, 80), (2_000, 40), (1_000, 20), (200, 10), (40, 3))
_ENDLESS = 1 << 62


class Fitted(NamedTuple):
    """A document that can be sent. text: the same as JSON, with everything escaped that a reader cannot see."""

    value: dict[str, Any]
    text: str


class _Limits(NamedTuple):
    longest: int
    most: int


def fit(document: dict[str, Any], limit: int = LIMIT) -> Fitted:
    """The document, cut where it is longer than `limit` characters; then its member `truncated` says where.

    Raises CheckpointError for one that stays too long.
    """
    for limits in (_Limits(_ENDLESS, _ENDLESS), *(_Limits(*step) for step in _STEPS)):
        places: list[str] = []
        value: dict[str, Any] = {
            _key(key): _clean(member, limits, join_pointer("", key), 1, places) for key, member in document.items()
        }
        if places:
            value["truncated"] = {"limit": limit, "count": len(places), "places": places[:_PLACES]}
        text = write(value)
        if len(text) <= limit:
            return Fitted(value, text)
    message = f"the answer is longer than {limit} characters, however it is cut"
    raise CheckpointError(message, "ask for less: one skill, or a part of the files")


def write(value: Any) -> str:
    """JSON on one line. Letters stay as they are; what is invisible or turns the text around is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    for letter in set(text):
        if escape_controls(letter) != letter:
            text = text.replace(letter, json.dumps(letter)[1:-1])
    return text


def _clean(value: Any, limits: _Limits, where: str, depth: int, places: list[str]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, limits.longest, where, places)
    if isinstance(value, int):
        return value if value.bit_length() < _LONGEST_NUMBER * 3 else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= DEPTH:
        places.append(where)
        return None
    if isinstance(value, dict):
        return _members(value, limits, where, depth, places)
    items = list(value)
    if len(items) > limits.most:
        places.append(where)
    shown = items[: limits.most]
    return [_clean(item, limits, f"{where}/{at}", depth + 1, places) for at, item in enumerate(shown)]


def _members(value: dict[str, Any], limits: _Limits, where: str, depth: int, places: list[str]) -> dict[str, Any]:
    if len(value) > limits.most:
        places.append(where)
    kept = list(value.items())[: limits.most]
    return {_key(key): _clean(item, limits, join_pointer(where, _key(key)), depth + 1, places) for key, item in kept}


def _key(key: str) -> str:
    return _text(key, _LONGEST_KEY, "", [])


def _text(text: str, longest: int, where: str, places: list[str]) -> str:
    if len(text) > longest:
        places.append(where)
        text = f"{text[:longest]}... ({len(text)} characters)"
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair: no UTF-8 spells it
        text = "".join(f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text
