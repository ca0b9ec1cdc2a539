"""The small part of YAML that we write: what every reader takes for the same value."""

import re
from collections.abc import Iterator
from typing import Any

MAX_KEY = 1_000  # characters; YAML itself allows 1,024 for a key on one line

# Words that some reader of YAML takes for a boolean or for nothing.
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_PLAIN = r"[A-Za-z_/][A-Za-z0-9_./+@:=?&%~-]*(?<!:)"
_is_plain = re.compile(_PLAIN).fullmatch
_is_plain_key = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*").fullmatch


def write_block(value: dict[str, Any]) -> str:
    """A mapping as YAML text, ASCII, members in their order. Values: texts, integers, lists of
    these, mappings. The same value gives the same text. Texts that a reader could take for
    something else are quoted.
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
