"""Why a text is not JSON: a slow, careful second reading that finds the first fault and says where
it is.
"""

import json
import re

from checkpoint_git.core.terminal_text import escape_controls, shorten

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_STRING_START = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_WORD = re.compile(r"-?[A-Za-z]+")
_LITERALS = ("true", "false", "null")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_HINTS = {
    "}": "remove the comma before it",
    "]": "remove the comma before it",
    "'": 'JSON strings are in double quotes (")',
    "/": "JSON has no comments",
}


class Fault(Exception):  # noqa: N818 (it is returned: an answer, not an error)
    """code: "json/..." as a finding has it. offset: in characters from 0."""

    def __init__(self, code: str, message: str, offset: int, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.offset = offset
        self.hint = hint


def _syntax(message: str, offset: int, hint: str = "") -> Fault:
    return Fault("json/syntax", message, offset, hint)


def find_fault(text: str, start: int, max_depth: int) -> Fault | None:
    """start: where the document begins. max_depth: how many containers may lie in one another."""
    start = _skip(text, start)
    try:
        if start == len(text):
            raise _syntax("the file is empty", 0)
        end = _skip(text, _read_value(text, start, max_depth))
        if end != len(text):
            raise _syntax("extra text after the end of the document", end)
    except Fault as fault:
        return fault
    return None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _read_value(text: str, at: int, depth: int) -> int:
    if depth < 0:
        raise Fault("json/too-deep", "", at)
    first = text[at : at + 1]
    if first == "{":
        return _read_object(text, at, depth)
    if first == "[":
        return _read_array(text, at, depth)
    return _read_string(text, at) if first == '"' else _read_scalar(text, at)


def _read_scalar(text: str, at: int) -> int:
    word = _WORD.match(text, at)
    if word and word.group() in _LITERALS:
        return word.end()
    if word and word.group() in _CONSTANTS:
        raise Fault(
            "json/not-a-number", f"{word.group()} is not JSON", at, "write null or a number"
        )

    number = _NUMBER.match(text, at)
    if number:
        return number.end()
    if at >= len(text):
        raise _syntax("unexpected end of the file, expected a value: it was cut off", at)
    raise _syntax(f"expected a value, found {_quoted(text, at)}", at, _HINTS.get(text[at], ""))


def _quoted(text: str, at: int) -> str:
    return repr(
        escape_controls(
            shorten(text[at : at + 20].splitlines()[0] if text[at].strip() else text[at], 16)
        )
    )


def _read_string(text: str, at: int) -> int:
    start = _STRING_START.match(text, at)
    end = start.end() if start else at
    if end >= len(text):
        raise _syntax("the file ends inside a string: it was cut off", at)
    if text[end] == '"':
        return end + 1
    if text[end] == "\\":
        raise _syntax(f"{text[end : end + 2]!r} is not a JSON escape", end)
    raise _syntax(
        "unescaped control character in a string", end, "write it as an escape, such as \\n"
    )


def _read_object(text: str, at: int, depth: int) -> int:
    seen: set[str] = set()
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        at = _read_member(text, at, depth, seen)
        if text[at : at + 1] == "}":
            return at + 1
        at = _expect_comma(text, at, "}")


def _read_member(text: str, at: int, depth: int, seen: set[str]) -> int:
    if at >= len(text):
        raise _syntax("the file ends inside an object: it was cut off", at)
    if text[at] != '"':
        message = f"expected a key in double quotes, found {_quoted(text, at)}"
        raise _syntax(message, at, _HINTS.get(text[at], ""))

    end = _read_string(text, at)
    key = json.loads(text[at:end])
    if key in seen:
        message = f"the key {_quoted(key, 0) if key else repr('')} appears twice in one object"
        raise Fault("json/duplicate-key", message, at, "remove the wrong one")

    seen.add(key)
    at = _skip(text, end)
    if text[at : at + 1] != ":":
        raise _syntax("a colon is missing after the key", at)
    return _skip(text, _read_value(text, _skip(text, at + 1), depth - 1))


def _read_array(text: str, at: int, depth: int) -> int:
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        at = _skip(text, _read_value(text, at, depth - 1))
        if text[at : at + 1] == "]":
            return at + 1
        at = _expect_comma(text, at, "]")


def _expect_comma(text: str, at: int, closing: str) -> int:
    if at >= len(text):
        raise _syntax(f"the file ends before a closing {closing}: it was cut off", at)
    if text[at] != ",":
        raise _syntax(f"a comma or {closing}, found {_quoted(text, at)}", at)
    return _skip(text, at + 1)
