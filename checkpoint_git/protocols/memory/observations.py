"""One observation: a text `key:value`, split at the first colon. Pure: what the keys mean is not known here."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

KEYS = (
    "initiative",
    "milestone",
    "phase",
    "last_action",
    "next_action",
    "context_files",
    "timestamp",
    "session_duration",
    "files_modified",
)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Observation(NamedTuple):
    """text: as the graph has it. key: "" where the text is nobody's field. value: without blanks around it."""

    text: str
    key: str
    value: str


def parse(text: str) -> Observation:
    """An observation taken apart; `key: value` is the same as `key:value`."""
    key, colon, value = text.partition(":")
    is_field = bool(colon) and bool(_KEY.fullmatch(key)) and not value.startswith("//")
    return Observation(text, key, value.strip()) if is_field else Observation(text, "", text)


def is_key(text: str) -> bool:
    """Whether a text can name a field."""
    return bool(_KEY.fullmatch(text))


def write(key: str, value: str) -> str:
    """The text of a field. Blanks around a value are not kept."""
    return f"{key}:{value.strip()}"


def group(texts: Iterable[str]) -> dict[str, list[str]]:
    """The different values of each key, in the order of the graph; what is no field is left out."""
    values: dict[str, list[str]] = {}
    for each in map(parse, texts):
        if each.key and each.value not in values.setdefault(each.key, []):
            values[each.key].append(each.value)
    return values


def write_all(fields: Mapping[str, str]) -> list[str]:
    """The texts of fields: the known keys in their order, then the others as they come."""
    known = [key for key in KEYS if key in fields]
    return [write(key, fields[key]) for key in [*known, *(key for key in fields if key not in KEYS)]]


def join_files(paths: Iterable[str]) -> str:
    """Paths in one value, with commas; a comma or line end in a path is written as in an address."""
    return ",".join(re.sub(r"[%,\r\n]", lambda found: f"%{ord(found[0]):02X}", path) for path in paths)
