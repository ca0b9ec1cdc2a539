"""The small part of YAML that we write, written and read fast; all else is left to core/yamltext.py."""

import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 20  # of values in values, whoever reads them
MAX_KEY = 1_000  # characters; YAML itself allows 1,024 for a key on one line

# Words that some reader of YAML takes for a boolean or for nothing.
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_PLAIN = r"[A-Za-z_/][A-Za-z0-9_./+@:=?&%~-]*(?<!:)"
# Texts that begin with a digit and yet are no number in any reader: versions, UUIDs, commit ids with a letter in them.
_PLAIN_DIGITS = (
    r"[0-9]+\.[0-9]+\.[0-9]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?!0b)[0-9]+[a-df][0-9a-f]*"
)
_SINGLE = r"'(?:[ -&(-~]|'')*'"
_DOUBLE = r'"[ !#-\[\]-~]*"'
_NUMBER = r"0|[1-9][0-9]{0,17}"
_SCALAR = (
    rf"(?P<number>{_NUMBER})|(?P<plain>{_PLAIN}|{_PLAIN_DIGITS})|(?P<quoted>{_SINGLE}|{_DOUBLE})|(?P<empty>\[\]|\{{\}})"
)
_ENTRY = re.compile(
    rf"(?P<indent> *)(?P<key>[A-Za-z_][A-Za-z0-9_./-]*|{_SINGLE}|{_DOUBLE}):(?: (?:{_SCALAR}))?"
).fullmatch
_ITEM = re.compile(rf"(?P<indent> *)- (?:{_SCALAR})").fullmatch
_is_plain = re.compile(_PLAIN).fullmatch
_is_plain_key = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*").fullmatch


class _OtherFormError(Exception):
    """The text is not surely of the form that we write."""


def write_block(value: dict[str, Any]) -> str:
    """A mapping as YAML text, ASCII, members in their order. Values: texts, integers, lists of these, mappings. The
    same value gives the same text. Texts that a reader could take for something else are quoted.
    """
    return "".join(f"{line}\n" for line in _mapping_lines(value, ""))


def _mapping_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    for key, member in value.items():
        start = f"{indent}{key_text(key)}:"
        assert len(start) <= MAX_KEY + len(indent) + 1, "longer keys need another form"
        if isinstance(member, dict) and member:
            yield start
            yield from _mapping_lines(member, indent + "  ")
        elif isinstance(member, list) and member:
            yield start
            yield from (f"{indent}- {_scalar_text(item)}" for item in member)
        else:
            yield f"{start} {_scalar_text(member)}"


def key_text(key: str) -> str:
    # one that takes more than MAX_KEY characters cannot be written
    return key if _is_plain_key(key) and key.lower() not in _WORDS else _quoted(key)


def _scalar_text(value: object) -> str:
    if isinstance(value, str):
        return value if _is_plain(value) and value.lower() not in _WORDS else _quoted(value)
    if value in ([], {}):
        return "[]" if isinstance(value, list) else "{}"
    assert type(value) is int, f"{type(value).__name__} is not written here"
    return str(value)


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[^ -~]", _escaped, text) + '"'


def _escaped(match: "re.Match[str]") -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def read_block(text: str) -> dict[str, Any] | None:
    """None for any text, good or bad, that is not of our own form (lines end in a newline alone)."""
    if not text.isascii() or not text.endswith("\n"):
        return None
    lines = text.split("\n")
    lines.pop()
    try:
        value, end = _read_mapping(lines, 0, "")
    except _OtherFormError:
        return None
    return value if end == len(lines) else None


def _read_mapping(lines: list[str], at: int, indent: str) -> tuple[dict[str, Any], int]:
    value: dict[str, Any] = {}
    if len(indent) > 2 * (MAX_DEPTH - 2):  # its lists' items may be too deep: the library's reader decides that
        raise _OtherFormError
    while at < len(lines):
        match = _ENTRY(lines[at])
        if match is None:
            raise _OtherFormError
        if match["indent"] != indent:
            break
        key = _read_text(match["key"])
        if key in value or len(match["key"]) > MAX_KEY:
            raise _OtherFormError
        at += 1
        if match.lastgroup == "key":
            value[key], at = _read_nested(lines, at, indent)
        else:
            value[key] = _read_scalar(match)
    if not value:
        raise _OtherFormError
    return value, at


def _read_nested(lines: list[str], at: int, indent: str) -> tuple[Any, int]:
    # a list in the key's own column or two further, or a mapping two further
    line = lines[at] if at < len(lines) else ""
    deeper = indent + "  "
    for column in (indent, deeper):
        items = []
        while at < len(lines) and lines[at].startswith(f"{column}- "):
            match = _ITEM(lines[at])
            if match is None:
                raise _OtherFormError
            items.append(_read_scalar(match))
            at += 1
        if items:
            return items, at
    if line.startswith(deeper):
        return _read_mapping(lines, at, deeper)
    raise _OtherFormError


def _read_text(text: str) -> str:
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    if text[0] == '"':
        return text[1:-1]
    if len(text) <= 5 and text.lower() in _WORDS:
        raise _OtherFormError
    return text


def _read_scalar(match: "re.Match[str]") -> Any:
    kind = match.lastgroup
    text = match[kind or ""]
    if kind == "number":
        return int(text)
    if kind == "empty":
        return [] if text == "[]" else {}
    return _read_text(text)
