"""Say why a text is not JSON: a slow, careful second reading finds the first fault and where."""

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
    """Say what is wrong. code: "json/..." as a finding has it. offset: in characters from 0."""

    def __init__(self, code: str, message: str, offset: int, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.offset = offset
        self.hint = hint


def _syntax(message: str, offset: int, hint: str = "") -> Fault:
    return Fault("json/syntax", message, offset, hint)


def find_fault(text: str, start: int, max_depth: int) -> Fault | None:
    """Return the first fault of a text, None if there is none.

    start: where the document begins. max_depth: how many containers may lie in one another.
    """
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


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    if match:
        return match.end()
    return offset


def _read_value(text: str, offset: int, depth: int) -> int:
    if depth < 0:
        raise Fault("json/too-deep", "", offset)
    first = text[offset : offset + 1]
    if first == "{":
        return _read_object(text, offset, depth)
    if first == "[":
        return _read_array(text, offset, depth)
    if first == '"':
        return _read_string(text, offset)
    return _read_scalar(text, offset)


def _read_scalar(text: str, offset: int) -> int:
    word = _WORD.match(text, offset)
    if word and word.group() in _LITERALS:
        return word.end()
    if word and word.group() in _CONSTANTS:
        raise Fault(
            "json/not-a-number", f"{word.group()} is not JSON", offset, "write null or a number"
        )

    number = _NUMBER.match(text, offset)
    if number:
        return number.end()
    if offset >= len(text):
        raise _syntax("unexpected end of the file, expected a value: it was cut off", offset)
    raise _syntax(
        f"expected a value, found {_quoted(text, offset)}", offset, _HINTS.get(text[offset], "")
    )


def _quoted(text: str, offset: int) -> str:
    """Return what is at an offset, to the end of its line, as a message shows it."""
    shown = text[offset]
    if shown.strip():
        shown = text[offset : offset + 20].splitlines()[0]
    return repr(escape_controls(shorten(shown, 16)))


def _read_string(text: str, offset: int) -> int:
    start = _STRING_START.match(text, offset)
    end = offset
    if start:
        end = start.end()

    if end >= len(text):
        raise _syntax("the file ends inside a string: it was cut off", offset)
    if text[end] == '"':
        return end + 1
    if text[end] == "\\":
        raise _syntax(f"{text[end : end + 2]!r} is not a JSON escape", end)
    raise _syntax(
        "unescaped control character in a string", end, "write it as an escape, such as \\n"
    )


def _read_object(text: str, offset: int, depth: int) -> int:
    seen: set[str] = set()
    offset = _skip(text, offset + 1)
    if text[offset : offset + 1] == "}":
        return offset + 1
    while True:
        offset = _read_member(text, offset, depth, seen)
        if text[offset : offset + 1] == "}":
            return offset + 1
        offset = _expect_comma(text, offset, "}")


def _read_member(text: str, offset: int, depth: int, seen: set[str]) -> int:
    if offset >= len(text):
        raise _syntax("the file ends inside an object: it was cut off", offset)
    if text[offset] != '"':
        message = f"expected a key in double quotes, found {_quoted(text, offset)}"
        raise _syntax(message, offset, _HINTS.get(text[offset], ""))

    end = _read_string(text, offset)
    key = json.loads(text[offset:end])
    if key in seen:
        shown = "''"
        if key:
            shown = _quoted(key, 0)
        message = f"the key {shown} appears twice in one object"
        raise Fault("json/duplicate-key", message, offset, "remove the wrong one")

    seen.add(key)
    offset = _skip(text, end)
    if text[offset : offset + 1] != ":":
        raise _syntax("a colon is missing after the key", offset)
    return _skip(text, _read_value(text, _skip(text, offset + 1), depth - 1))


def _read_array(text: str, offset: int, depth: int) -> int:
    offset = _skip(text, offset + 1)
    if text[offset : offset + 1] == "]":
        return offset + 1
    while True:
        offset = _skip(text, _read_value(text, offset, depth - 1))
        if text[offset : offset + 1] == "]":
            return offset + 1
        offset = _expect_comma(text, offset, "]")


def _expect_comma(text: str, offset: int, closing: str) -> int:
    if offset >= len(text):
        raise _syntax(f"the file ends before a closing {closing}: it was cut off", offset)
    if text[offset] != ",":
        raise _syntax(f"a comma or {closing}, found {_quoted(text, offset)}", offset)
    return _skip(text, offset + 1)
