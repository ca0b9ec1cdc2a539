"""YAML text to values, safely: no tags, no aliases, no second document, bounded. The only owner of the YAML library.

What our own writer wrote is read without the library; values are the same either way. It knows no protocol.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.yamlblock import read_block

if TYPE_CHECKING:
    from yaml import Event

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_VALUES = 50_000  # keys counted
_MAX_NUMBER = 64  # characters; a number of a million digits takes minutes to read
_MARKER = re.compile(r"^(?:<{7}(?: |$)|>{7}(?: |$))", re.MULTILINE)
_BYTE_ORDER_MARK = "\ufeff"


class YamlTextError(Exception):
    """A text that is not YAML as we take it. code: "yaml/...". line and column count from 1; 0 means unknown."""

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.column = column


def decode(data: bytes) -> str:
    """A file's bytes as text whose lines end in a newline alone, without a byte order mark. Raises YamlTextError."""
    if len(data) > MAX_BYTES:
        raise YamlTextError("yaml/too-large", f"it has more than {MAX_BYTES} bytes")
    if b"\0" in data:
        raise YamlTextError("yaml/syntax", "it holds a NUL byte", data.count(b"\n", 0, data.index(b"\0")) + 1)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise YamlTextError("yaml/not-utf8", "it is not UTF-8 text", line) from None
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")


def load(text: str) -> Any:
    """The value of a text that decode gave. Timestamps stay texts. Raises YamlTextError."""
    value = read_block(text) if text.count("\n") <= MAX_VALUES // 2 else None  # two a line
    return value if value is not None else load_by_library(text)


def load_by_library(text: str) -> Any:
    """The same by the YAML library alone, whatever form the text has."""
    marker = _MARKER.search(text)
    if marker:
        message = "it has conflict markers: two different records took one name"
        raise YamlTextError("yaml/conflict-markers", message, text.count("\n", 0, marker.start()) + 1, 1)
    return _build(_document_events(text))


def locate_all(text: str, wheres: Sequence[str]) -> list[tuple[int, int]]:
    """Line and column, from 1, of the values at JSON Pointers; for one that is missing those of what should hold it."""
    places: dict[str, tuple[int, int]] = {}
    _build(_document_events(text), places)
    return [_nearest(places, where) for where in wheres]


def _nearest(places: dict[str, tuple[int, int]], where: str) -> tuple[int, int]:
    while where not in places and where:
        where = where.rpartition("/")[0]
    return places.get(where, (1, 1))


# where things stand


class Span(NamedTuple):
    """Where a value stands in a text: from start to end, characters. column: of its start, from 0.

    kind: "scalar", "list" or "map". is_flow: written in brackets or braces. end: of the last text in it, so that
    neither a comment nor an empty line behind it counts.
    """

    start: int
    end: int
    column: int
    kind: str
    is_flow: bool


def find_spans(text: str) -> dict[str, Span]:
    """Every value of a text that load reads, by its JSON Pointer. Raises YamlTextError."""
    events = _document_events(text)
    spans: dict[str, Span] = {}
    first = next(events, None)
    if first is None:
        raise YamlTextError("yaml/syntax", "it is empty", 1, 1)
    _span_node(first, events, "", spans)
    return spans


def _span_node(event: Any, events: Iterator[Any], where: str, spans: dict[str, Span]) -> int:
    """Notes the spans of a node and of what it holds; the end of its last text."""
    import yaml

    start, column, end, is_flow = event.start_mark.index, event.start_mark.column, event.end_mark.index, False
    if isinstance(event, yaml.ScalarEvent):
        spans[where] = Span(start, end, column, "scalar", is_flow)
        return int(end)
    is_map, is_flow, at = isinstance(event, yaml.MappingStartEvent), bool(event.flow_style), 0
    child: Any = next(events)
    while not isinstance(child, yaml.CollectionEndEvent):
        step: Any = _read_key(child, {}) if is_map else at
        end = _span_node(next(events) if is_map else child, events, join_pointer(where, step), spans)
        at, child = at + 1, next(events)
    end = _end_of(child) if is_flow else end
    spans[where] = Span(start, end, column, "map" if is_map else "list", is_flow)
    return int(end)


def _end_of(event: Any) -> int:
    return int(event.end_mark.index)


# events to values


def _document_events(text: str) -> Iterator["Event"]:
    """The events of the one document, checked. Raises YamlTextError."""
    import yaml

    parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = values = 0
    try:
        for event in yaml.parse(text, Loader=parser):
            documents += isinstance(event, yaml.DocumentStartEvent)
            values += isinstance(event, yaml.NodeEvent)
            if values > MAX_VALUES:
                raise _error_at("yaml/too-large", f"it holds more than {MAX_VALUES} values", event)
            if documents > 1:
                raise _error_at("yaml/several-documents", "it holds more than one document", event)
            if isinstance(event, yaml.NodeEvent):
                _refuse_unsafe(event)
                yield event
            elif isinstance(event, yaml.CollectionEndEvent):
                yield event
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlTextError("yaml/syntax", f"it is not YAML: {what}", line, column) from None


def _refuse_unsafe(event: Any) -> None:
    import yaml

    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _error_at("yaml/alias", "it uses anchors or aliases, which are not read here", event)
    if event.tag is not None:
        raise _error_at("yaml/tag", "it uses tags, which are not read here", event)


def _error_at(code: str, message: str, event: Any) -> YamlTextError:
    return YamlTextError(code, message, *_position(event))


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _build(events: Iterator["Event"], places: dict[str, tuple[int, int]] | None = None) -> Any:
    """The value that events describe; places, where given, takes each value's line and column by its pointer."""
    first = next(events, None)
    if first is None:
        raise YamlTextError("yaml/syntax", "it is empty", 1, 1)
    value = _build_node(first, events, "", places, 0)
    for _ in events:  # the rest is the end of the stream, or what may not be there
        pass
    return value


def _build_node(
    event: Any, events: Iterator["Event"], where: str, places: dict[str, tuple[int, int]] | None, depth: int
) -> Any:
    import yaml

    if depth > MAX_DEPTH:
        raise _error_at("yaml/too-deep", f"it is nested more than {MAX_DEPTH} levels deep", event)
    if places is not None:
        places.setdefault(where, _position(event))
    if isinstance(event, yaml.ScalarEvent):
        return _read_scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(child := next(events), yaml.SequenceEndEvent):
            items.append(_build_node(child, events, join_pointer(where, len(items)), places, depth + 1))
        return items
    members: dict[str, Any] = {}
    while not isinstance(child := next(events), yaml.MappingEndEvent):
        key = _read_key(child, members)
        if places is not None:
            places[join_pointer(where, key)] = _position(child)
        members[key] = _build_node(next(events), events, join_pointer(where, key), places, depth + 1)
    return members


def _read_key(event: Any, members: dict[str, Any]) -> str:
    import yaml

    key = _read_scalar(event) if isinstance(event, yaml.ScalarEvent) else None
    if not isinstance(key, str) or (key == "<<" and event.implicit[0]):
        raise _error_at("yaml/key", "a key is no text here: put it in quotes", event)
    if key in members:
        raise _error_at("yaml/duplicate-key", f'the key "{key[:80]}" stands there twice', event)
    return key


# scalars


def _read_scalar(event: Any) -> Any:
    """A scalar's value: quoted ones are texts, plain ones what YAML 1.1 takes them for, timestamps excepted."""
    import yaml

    text: str = event.value
    if not event.implicit[0]:
        return text
    tag = _resolver().resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    if tag not in ("null", "bool", "int", "float"):
        return text
    if len(text) > _MAX_NUMBER:
        raise _error_at("yaml/syntax", f"a number has more than {_MAX_NUMBER} characters", event)
    try:
        return _CONSTRUCTORS[tag](text)
    except ValueError:
        raise _error_at("yaml/syntax", f'"{text}" is not a number', event) from None


@cache
def _resolver() -> Any:
    from yaml.resolver import Resolver

    return Resolver()


def _construct(tag: str, text: str) -> Any:
    import yaml

    node = yaml.ScalarNode(f"tag:yaml.org,2002:{tag}", text)
    construct: Any = getattr(yaml.constructor.SafeConstructor(), f"construct_yaml_{tag}")
    return construct(node)


_CONSTRUCTORS: dict[str, Any] = {
    "null": lambda text: None,
    "bool": lambda text: _construct("bool", text),
    "int": lambda text: _construct("int", text),
    "float": lambda text: _construct("float", text),
}
