"""Single values of a YAML text changed, every other byte kept: comments, order, quotes, unknown
keys.
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


# Each edit is made in the text and the result is read again: what differs from the wish in any
# value is refused.
def set_values(text: str, changes: Mapping[tuple[str | int, ...], Value]) -> str:
    """The text with values set, by their paths; what is missing above a value is made. A list may
    grow by one at its end. Raises CheckpointError if a place cannot be changed safely.
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
        raise CheckpointError(
            "the document cannot be changed safely: its form is unusual", "change it by hand"
        )

    return text


def is_blank(text: str) -> bool:
    # nothing, or comments alone
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))


def _put(tree: Any, path: Path, value: Value) -> Any:
    if not path:
        return deepcopy(value)
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        items = list(tree) if isinstance(tree, list) else []
        items = items if head < len(items) else [*items, None]
        items[head] = _put(items[head], rest, value)
        return items
    members = tree if isinstance(tree, dict) else {}
    return {**members, head: _put(members.get(head), rest, value)}


def _set(text: str, path: Path, value: Value) -> str:
    spans = {} if is_blank(text) else find_spans(text)
    known = len(path)
    while known and _pointer(path[:known]) not in spans:
        known -= 1
    above, rest = path[:known], path[known:]
    span = spans.get(_pointer(above))
    if span is None:
        lead = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{lead}{_block(rest, value, 0)}"

    if not rest:
        return _replace(text, above, span, value)
    if span.kind == "scalar" or (
        span.is_flow and text[span.start + 1 : span.end - 1].strip() == ""
    ):
        old = text[span.start : span.end].strip()
        if old not in ("", "null", "~") and not span.is_flow:
            raise _cannot_change(above, "is a text in the document, not a group")
        return _put_text(text, span, old, _flow(rest, value))

    if span.is_flow:
        return (
            f"{text[: span.end - 1].rstrip()}, {_flow_members(rest, value)}{text[span.end - 1 :]}"
        )

    at = _line_after(text, span.end)
    lead = "" if text[at - 1 : at] == "\n" else "\n"
    return f"{text[:at]}{lead}{_block(rest, value, span.column)}{text[at:]}"


def _pointer(path: Path) -> str:
    return reduce(join_pointer, path, "")


def _line_after(text: str, end: int) -> int:
    if end and text[end - 1] == "\n":
        return end
    at = text.find("\n", end)
    return len(text) if at < 0 else at + 1


def _replace(text: str, path: Path, span: Span, value: Value) -> str:
    if span.kind == "list" and isinstance(value, list) and not span.is_flow and value:
        return _replace_items(text, path, value)
    if span.kind != "scalar" and not span.is_flow:
        raise _cannot_change(path, "is not a text in the document")
    old = text[span.start : span.end]
    return _put_text(text, span, old, _inline(value, old) + ("\n" if old.endswith("\n") else ""))


def _put_text(text: str, span: Span, old: str, new: str) -> str:
    lead = " " if not old and text[span.start - 1 : span.start] not in (" ", "\n") else ""
    return text[: span.start] + lead + new + text[span.end :]


def _cannot_change(path: Path, why: str) -> CheckpointError:
    return CheckpointError(f"{'.'.join(map(str, path))} {why}", "change it by hand")


def _replace_items(text: str, path: Path, value: list[str]) -> str:
    while True:
        spans = find_spans(text)
        items = sum(where.rpartition("/")[0] == _pointer(path) for where in spans)
        if items <= len(value):
            break
        last = spans[_pointer([*path, items - 1])]
        text = text[: text.rfind("\n", 0, last.start) + 1] + text[_line_after(text, last.end) :]

    for at, item in enumerate(value[:items]):
        span = find_spans(text)[_pointer([*path, at])]
        if span.kind != "scalar":
            raise _cannot_change(path, "contains more than texts")
        if load(text[span.start : span.end].strip() or '""') != item:
            text = _replace(text, [*path, at], span, item)

    for at, item in enumerate(value[items:], items):
        text = _set(text, [*path, at], item)
    return text


def _block(rest: Path, value: Value, column: int) -> str:
    # the lines of a new member and what it holds, the first at a column
    head, below = rest[0], rest[1:]
    blanks = " " * column
    start = f"{blanks}- " if isinstance(head, int) else f"{blanks}{_inline(head)}:"
    if not below:
        return f"{start.rstrip()} {_inline(value)}\n"
    if isinstance(head, int):
        return start + _block(below, value, column + 2).lstrip(" ")
    return f"{start}\n{_block(below, value, column + 2)}"


def _flow_members(rest: Path, value: Value) -> str:
    head, below = rest[0], rest[1:]
    inner = _flow(below, value) if below else _inline(value, in_flow=True)
    return inner if isinstance(head, int) else f"{_inline(head)}: {inner}"


def _flow(rest: Path, value: Value) -> str:
    members = _flow_members(rest, value)
    return f"[{members}]" if isinstance(rest[0], int) else f"{{{members}}}"


def _inline(value: Value, old: str = "", *, in_flow: bool = False) -> str:
    # on one line: plain where that is surely a text and the old one was plain too, else in quotes
    if isinstance(value, list):
        return f"[{', '.join(_inline(item, in_flow=True) for item in value)}]"
    if (
        old[:1] not in ("'", '"')
        and _PLAIN.fullmatch(value)
        and value.lower() not in _WORDS
        and not in_flow
    ):
        return value

    return (
        json.dumps(value, ensure_ascii=False).replace("\x7f", "\\x7f").replace("\u2028", "\\u2028")
    )
