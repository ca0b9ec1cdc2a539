"""Read untrusted YAML: no tags, no aliases, no second document, bounded.

The YAML library is used nowhere else.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import join_pointer

MAX_BYTES = 1024 * 1024
MAX_VALUES = 50_000  # keys counted
MAX_DEPTH = 20  # of values in values
_MAX_NUMBER = 64  # characters; a number of a million digits takes minutes to read
_MARKER = re.compile(r"^(?:<{7}(?: |$)|>{7}(?: |$))", re.MULTILINE)


class YamlTextError(Exception):
    """A text is not YAML as we accept it.

    code: "yaml/...". line and column count from 1; 0 means unknown.
    """

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.column = column


class Span(NamedTuple):
    """Where a value is in a text.

    start, end: in characters; end is that of the last text in it, so that no comment behind it
    counts. column: that of start, from 0. kind: "scalar", "list" or "map". is_flow: it is written
    in brackets or braces. at: line and column, from 1, of its key, or of itself if it has none.
    """

    start: int
    end: int
    column: int
    kind: str
    is_flow: bool
    at: tuple[int, int]


def decode(data: bytes) -> str:
    """Return the text of a file, with plain newlines and no byte order mark.

    Raises YamlTextError.
    """
    if len(data) > MAX_BYTES:
        raise YamlTextError("yaml/too-large", f"it has more than {MAX_BYTES} bytes")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise YamlTextError("yaml/syntax", "it contains a NUL byte", line)

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise YamlTextError("yaml/not-utf8", "it is not UTF-8 text", line) from None

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    before, mark, _ = f"\n{text}".partition("\n\ufeff")
    if mark:  # PyYAML's two parsers disagree about it
        line = before.count("\n") + 1
        raise YamlTextError("yaml/syntax", "a line begins with a byte order mark", line, 1)
    return text


def load(text: str) -> Any:
    """Return the value of a text; timestamps stay texts. Raises YamlTextError."""
    marker = _MARKER.search(text)
    if marker:
        message = "it has conflict markers: two different records took one name"
        line = text.count("\n", 0, marker.start()) + 1
        raise YamlTextError("yaml/conflict-markers", message, line, 1)
    return _build(text, None)


def find_spans(text: str) -> dict[str, Span]:
    """Return where each value is, by JSON Pointer. Raises YamlTextError."""
    spans: dict[str, Span] = {}
    _build(text, spans)
    return spans


def locate_all(text: str, wheres: Sequence[str]) -> list[tuple[int, int]]:
    """Return line and column, from 1, of the values at JSON Pointers.

    For one that is missing they are those of its nearest parent.
    """
    spans = find_spans(text)
    found = []
    for where in wheres:
        while where not in spans and where:
            where = where.rpartition("/")[0]
        found.append(spans[where].at if where in spans else (1, 1))
    return found


def _build(text: str, spans: dict[str, Span] | None) -> Any:
    events = _document_events(text)
    first = next(events, None)
    if first is None:
        raise YamlTextError("yaml/syntax", "it is empty", 1, 1)
    value, _ = _build_node(first, events, "", spans, _position(first), 0)
    for _ in events:  # the rest is the end of the stream, or what may not be there
        pass
    return value


def _document_events(text: str) -> Iterator[Any]:
    import yaml

    parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = values = 0
    try:
        parsed: Iterator[Any] = yaml.parse(text, Loader=parser)
        for event in parsed:
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise _error_at(
                    "yaml/several-documents", "it contains more than one document", event
                )
            if isinstance(event, yaml.NodeEvent):
                values += 1
                if values > MAX_VALUES:
                    raise _error_at(
                        "yaml/too-large", f"it contains more than {MAX_VALUES} values", event
                    )
                if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                    raise _error_at(
                        "yaml/alias", "it uses anchors or aliases, which are not read here", event
                    )
                if getattr(event, "tag", None) is not None:
                    raise _error_at("yaml/tag", "it uses tags, which are not read here", event)
                yield event
            elif isinstance(event, yaml.CollectionEndEvent):
                yield event
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None)
        what = problem or "it cannot be parsed"
        line = column = 0
        if mark:
            line, column = mark.line + 1, mark.column + 1
        # libyaml from 0.2.6 on looks ahead
        code = "yaml/too-deep" if "nesting depth" in what else "yaml/syntax"
        raise YamlTextError(code, f"it is not YAML: {what}", line, column) from None


def _error_at(code: str, message: str, event: Any) -> YamlTextError:
    return YamlTextError(code, message, *_position(event))


def _end_of(event: Any) -> int:
    return int(event.end_mark.index)


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _build_node(
    event: Any,
    events: Iterator[Any],
    where: str,
    spans: dict[str, Span] | None,
    at: tuple[int, int],
    depth: int,
) -> tuple[Any, int]:
    import yaml

    if depth > MAX_DEPTH:
        raise _error_at("yaml/too-deep", f"it is nested more than {MAX_DEPTH} levels deep", event)
    value: Any
    kind, is_flow, end = "scalar", False, _end_of(event)
    if isinstance(event, yaml.ScalarEvent):
        value = _read_scalar(event)
    else:
        is_map, is_flow = isinstance(event, yaml.MappingStartEvent), bool(event.flow_style)
        kind, value = ("map", {}) if is_map else ("list", [])
        while not isinstance(child := next(events), yaml.CollectionEndEvent):
            step = _read_key(child, value) if is_map else len(value)
            node = next(events) if is_map else child
            item, end = _build_node(
                node, events, join_pointer(where, step), spans, _position(child), depth + 1
            )
            if is_map:
                value[step] = item
            else:
                value.append(item)
        end = _end_of(child) if is_flow else end

    if spans is not None:
        spans[where] = Span(event.start_mark.index, end, event.start_mark.column, kind, is_flow, at)
    return value, end


def _read_key(event: Any, members: dict[str, Any]) -> str:
    import yaml

    key = _read_scalar(event) if isinstance(event, yaml.ScalarEvent) else None
    if not isinstance(key, str) or (key == "<<" and event.implicit[0]):
        raise _error_at("yaml/key", "a key is not a text here: put it in quotes", event)
    if key in members:
        raise _error_at("yaml/duplicate-key", f'the key "{key[:80]}" appears twice', event)
    return key


@cache
def _make_resolver() -> Any:
    import yaml

    return yaml.resolver.Resolver()


def _read_scalar(event: Any) -> Any:
    """Return the value of a scalar.

    Quoted ones are texts, plain ones what YAML 1.1 takes them for, except timestamps.
    """
    import yaml

    text: str = event.value
    if not event.implicit[0]:
        return text
    tag = _make_resolver().resolve(yaml.ScalarNode, text, (True, False))
    kind = tag.rpartition(":")[2]
    if kind not in ("null", "bool", "int", "float"):
        return text
    if len(text) > _MAX_NUMBER:
        raise _error_at("yaml/syntax", f"a number has more than {_MAX_NUMBER} characters", event)
    construct: Any = getattr(yaml.constructor.SafeConstructor(), f"construct_yaml_{kind}")
    try:
        return construct(yaml.ScalarNode(tag, text))
    except ValueError:
        raise _error_at("yaml/syntax", f'"{text}" is not a number', event) from None
