"""Change single values of a YAML text, and keep every other byte: comments, order, quotes, unknown
keys.

Each edit is made in the text, and the result is read again. If any value differs from what was
wanted, the edit is refused.
"""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import reduce
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.yamltext import Span, YamlTextError, find_spans, load

Value = str | list[str]
Path = Sequence[str | int]

_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9 _./()+-]*[A-Za-z0-9_./()+])?")
# plain scalars that are not texts
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def set_values(text: str, changes: Mapping[tuple[str | int, ...], Value]) -> str:
    """Return the text with values set, by their paths. What is missing above a value is made.

    A list may grow by one at its end. Raises CheckpointError if a place cannot be changed safely.
    """
    wanted = {} if is_blank(text) else load(text)
    for path, value in changes.items():
        wanted = _put(wanted, path, value)
        text = _set(text, path, value)

    try:
        is_right = load(text) == wanted
    except YamlTextError:
        is_right = False

    if not is_right:
        message = "the document cannot be changed safely: its form is unusual"
        raise CheckpointError(message, "change it by hand")
    return text


def is_blank(text: str) -> bool:
    """Whether a text has nothing but comments."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))


def _put(tree: Any, path: Path, value: Value) -> Any:
    """Return a tree of values with one value set."""
    if not path:
        return deepcopy(value)
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        items = list(tree) if isinstance(tree, list) else []
        if head >= len(items):
            items.append(None)
        items[head] = _put(items[head], rest, value)
        return items
    members = tree if isinstance(tree, dict) else {}
    return {**members, head: _put(members.get(head), rest, value)}


def _set(text: str, path: Path, value: Value) -> str:
    """Return a text with one value set: in place of the old one, or behind the members of the
    nearest group above it that exists.
    """
    spans = {} if is_blank(text) else find_spans(text)
    known = len(path)
    while known and _pointer(path[:known]) not in spans:
        known -= 1
    above, rest = path[:known], path[known:]
    span = spans.get(_pointer(above))
    if span is None:
        return _end_line(text) + _block(rest, value, 0)
    if not rest:
        return _replace(text, above, span, value)

    is_empty_flow = span.is_flow and not text[span.start + 1 : span.end - 1].strip()
    if span.kind == "scalar" or is_empty_flow:
        old = text[span.start : span.end].strip()
        if old not in ("", "null", "~") and not span.is_flow:
            raise _cannot_change(above, "is a text in the document, not a group")
        return _put_text(text, span, old, _flow(rest, value))

    if span.is_flow:
        closing = span.end - 1
        return f"{text[:closing].rstrip()}, {_flow_members(rest, value)}{text[closing:]}"

    end = _line_after(text, span.end)
    return _end_line(text[:end]) + _block(rest, value, span.column) + text[end:]


def _pointer(path: Path) -> str:
    return reduce(join_pointer, path, "")


def _end_line(text: str) -> str:
    """Return a text whose last line, if there is any, has an end."""
    if not text or text.endswith("\n"):
        return text
    return text + "\n"


def _line_after(text: str, end: int) -> int:
    """Return where the next line begins, seen from the end of a value."""
    if end and text[end - 1] == "\n":
        return end
    newline = text.find("\n", end)
    return len(text) if newline < 0 else newline + 1


def _replace(text: str, path: Path, span: Span, value: Value) -> str:
    if span.kind == "list" and isinstance(value, list) and not span.is_flow and value:
        return _replace_items(text, path, value)
    if span.kind != "scalar" and not span.is_flow:
        raise _cannot_change(path, "is not a text in the document")
    old = text[span.start : span.end]
    new = _inline(value, old)
    if old.endswith("\n"):
        new += "\n"
    return _put_text(text, span, old, new)


def _put_text(text: str, span: Span, old: str, new: str) -> str:
    before = text[: span.start]
    if not old and before[-1:] not in (" ", "\n"):
        before += " "
    return before + new + text[span.end :]


def _cannot_change(path: Path, why: str) -> CheckpointError:
    return CheckpointError(f"{'.'.join(map(str, path))} {why}", "change it by hand")


def _replace_items(text: str, path: Path, value: list[str]) -> str:
    """Return a text with the items of a list set. Items that stay keep their lines."""
    while True:
        spans = find_spans(text)
        items = sum(where.rpartition("/")[0] == _pointer(path) for where in spans)
        if items <= len(value):
            break
        last = spans[_pointer([*path, items - 1])]
        text = text[: text.rfind("\n", 0, last.start) + 1] + text[_line_after(text, last.end) :]

    for index, item in enumerate(value[:items]):
        span = find_spans(text)[_pointer([*path, index])]
        if span.kind != "scalar":
            raise _cannot_change(path, "contains more than texts")
        if load(text[span.start : span.end].strip() or '""') != item:
            text = _replace(text, [*path, index], span, item)

    for index, item in enumerate(value[items:], items):
        text = _set(text, [*path, index], item)
    return text


def _block(rest: Path, value: Value, column: int) -> str:
    """Return the lines of a new member and of what is in it, the first at a column."""
    head, below = rest[0], rest[1:]
    blanks = " " * column
    if isinstance(head, int):
        if not below:
            return f"{blanks}- {_inline(value)}\n"
        return f"{blanks}- {_block(below, value, column + 2).lstrip(' ')}"

    key = f"{blanks}{_inline(head)}:"
    if not below:
        return f"{key} {_inline(value)}\n"
    return f"{key}\n{_block(below, value, column + 2)}"


def _flow_members(rest: Path, value: Value) -> str:
    """Return a new member, and what is in it, as it is written between brackets."""
    head, below = rest[0], rest[1:]
    inner = _flow(below, value) if below else _inline(value, in_flow=True)
    if isinstance(head, int):
        return inner
    return f"{_inline(head)}: {inner}"


def _flow(rest: Path, value: Value) -> str:
    members = _flow_members(rest, value)
    if isinstance(rest[0], int):
        return f"[{members}]"
    return f"{{{members}}}"


def _inline(value: Value, old: str = "", *, in_flow: bool = False) -> str:
    """Return a value on one line.

    A text is plain if every reader takes it for a text, and the old one was plain, too.
    """
    if isinstance(value, list):
        return f"[{', '.join(_inline(item, in_flow=True) for item in value)}]"
    is_plain = bool(_PLAIN.fullmatch(value)) and value.lower() not in _WORDS
    if is_plain and not in_flow and old[:1] not in ("'", '"'):
        return value

    quoted = json.dumps(value, ensure_ascii=False)
    return quoted.replace("\x7f", "\\x7f").replace("\u2028", "\\u2028")
