"""Read JSON strictly, as values or as a tree that knows where each value is in its source.

git's merge driver starts with this module, so it needs the interpreter's C scanner (`_json`) alone.
That makes values, not positions: where a value ends is found by scanning it once more, and the
members of a container when they are asked for. An unsound text is read again by core/jsonfault.py:
the messages of the scanner do not help the user.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Members: TypeAlias = "dict[str, Node] | list[Node] | None"

try:
    from _json import make_scanner
    from _json import scanstring as scanstring
except ImportError:  # an interpreter without the C accelerator
    from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined,no-redef]  # typeshed: C only

    def make_scanner(settings: "_Settings") -> "Any":  # type: ignore[no-redef]  # it does what the class does
        return getattr(JSONDecoder(**vars(settings)), "scan_once")  # noqa: B009 (typeshed leaves it out)


MAX_DEPTH = 100
MAX_BYTES = 8 * 1024 * 1024
BYTE_ORDER_MARK = "\ufeff"
CONTAINERS = (dict, list)
LAZY_BELOW = 65_536  # characters
_SPACE = " \t\n\r"
_MARKERS = ("<<<<<<<", ">>>>>>>")
# digits: int() refuses a text of more than 4,300 (sys.get_int_max_str_digits)
_LONGEST_INTEGER = 4_000


class JsonTextError(Exception):
    """A text is not JSON as we accept it.

    code: of a finding, "json/...". version: "base", "ours" or "theirs" in a merge.
    """

    def __init__(
        self, code: str, message: str, text: str = "", offset: int = 0, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.line, self.column = position_of(text, offset)
        self.hint = hint
        self.version = ""


class Node:
    """One value, and where it is in its text: text[start:end].

    A number is its source token as bytes (b"1.0"), so that values are equal where the JSON is. The
    offsets are in characters, from 0. key_start: where the quote of its key opens, start if it has
    no key.
    """

    __slots__ = ("_members", "end", "key_start", "start", "text", "value")

    def __init__(
        self,
        text: str,
        key_start: int,
        start: int,
        end: int,
        value: "Any",
        members: "Members | bool",
    ) -> None:
        self.text = text
        self.key_start = key_start
        self.start = start
        self.end = end
        self.value = value
        self._members = members

    @property
    def members(self) -> "Members":
        if self._members is _UNREAD:
            self._members = _read_members(self.text, self.start, self.value, True)[0]
        return self._members  # type: ignore[return-value]  # read by now

    @property
    def children(self) -> "list[Node]":
        """Return the members without their keys; [] for what is not a container."""
        members = self.members
        if type(members) is dict:
            return list(members.values())
        return members or []  # type: ignore[return-value]

    @property
    def source(self) -> str:
        return self.text[self.start : self.end]


_UNREAD = True


class _Settings:
    """What the C scanner asks for."""

    strict = True
    object_hook = None
    array_hook = None  # Python 3.15 asks for it

    def __init__(
        self,
        parse_int: "Callable[[str], Any]",
        parse_float: "Callable[[str], Any]",
        object_pairs_hook: "Callable[[list[tuple[str, Any]]], dict[str, Any]] | None",
    ) -> None:
        self.object_pairs_hook = object_pairs_hook
        self.parse_int = parse_int
        self.parse_float = parse_float
        self.parse_constant = refuse_constant


def _object_of_pairs(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def refuse_constant(token: str) -> None:
    raise ValueError(token)  # NaN, Infinity


def _read_integer(token: str) -> "int | float":
    if len(token) < _LONGEST_INTEGER:
        return int(token)
    return float(token)


# What a scanner raises on unsound text: SystemError on Python 3.11 while json.decoder is not
# loaded.
_FAULTS = (ValueError, StopIteration, SystemError, MemoryError, RecursionError)
_USUAL_ENDS = ("\n", "", "\r\n")  # of a file

# typeshed wants a scanner where any object with such attributes will do
_scan_tokens = make_scanner(_Settings(str.encode, str.encode, _object_of_pairs))  # type: ignore[arg-type]
_scan_plain = make_scanner(_Settings(int, float, _object_of_pairs))  # type: ignore[arg-type]
_scan_long = make_scanner(_Settings(_read_integer, float, _object_of_pairs))  # type: ignore[arg-type]
# for the end of a value in accepted text
scan_span = make_scanner(_Settings(str.encode, str.encode, None))  # type: ignore[arg-type]


def position_of(text: str, offset: int) -> "tuple[int, int]":
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def decode(data: bytes) -> str:
    """Return the text of a file. Raises JsonTextError.

    A byte order mark stays as the first character.
    """
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // 1024 // 1024
        message = f"the file has {len(data)} bytes; the limit is {limit} MB"
        raise JsonTextError("json/too-large", message)

    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            message = "the file is UTF-16 text, not UTF-8"
        hint = "save the file as UTF-8"
        raise JsonTextError("json/not-utf8", message, before, len(before), hint) from None


def load(text: str) -> "Any":
    """Return the value of a text, with Python numbers.

    Raises JsonTextError for anything but one strict JSON value.
    """
    try:
        value, end = _scan_plain(text, 0)
    except _FAULTS:
        value, end = None, -1
    # it is broken, or odd, or has a number that int() refuses
    if end < 0 or text[end:] not in _USUAL_ENDS:
        value = _scan(_scan_long, text)
    refuse_depth(text, value)
    return value


def parse(text: str) -> Node:
    """Return the value of a text as a tree. Raises JsonTextError as load does."""
    value = _scan(_scan_tokens, text)
    refuse_depth(text, value)
    start = skip_space(text, _first(text))
    return node_at(text, start, start, value, len(text) < LAZY_BELOW)


def scan_tokens(text: str) -> "Any":
    """Return the value of a text, with numbers as source tokens. Raises JsonTextError."""
    return _scan(_scan_tokens, text)


def _first(text: str) -> int:
    return 1 if text.startswith(BYTE_ORDER_MARK) else 0


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character from start on that is not a blank."""
    end = len(text)
    while start < end and text[start] in _SPACE:
        start += 1
    return start


def _scan(scan: "Callable[[str, int], tuple[Any, int]]", text: str) -> "Any":
    try:
        value, end = scan(text, skip_space(text, _first(text)))
    except RecursionError:
        raise _too_deep(text, 0) from None
    except _FAULTS as error:
        raise _explained(text, error) from None
    if skip_space(text, end) != len(text):
        raise _explained(text, None)
    return value


def _explained(text: str, error: "BaseException | None") -> JsonTextError:
    """Return why a text is not JSON. error: what the scanner raised, if anything."""
    marker = _find_marker(text)
    if marker >= 0:
        message = "the file has conflict markers: a merge was not finished here"
        hint = "edit the file: keep what both sides wrote, delete the marker lines, then stage it"
        return JsonTextError("json/conflict-markers", message, text, marker, hint)

    from checkpoint_git.core.jsonfault import find_fault

    fault = find_fault(text, _first(text), MAX_DEPTH)
    if fault is None:
        return JsonTextError("json/syntax", f"not JSON: {error}", text)
    if fault.code == "json/too-deep":
        return _too_deep(text, fault.offset)
    return JsonTextError(fault.code, fault.message, text, fault.offset, fault.hint)


def _find_marker(text: str) -> int:
    """Return the offset of the first conflict marker that begins a line, -1 for none."""
    found = []
    for marker in _MARKERS:
        if text.startswith(marker):
            return 0
        newline = text.find("\n" + marker)
        if newline >= 0:
            found.append(newline + 1)
    return min(found, default=-1)


def _too_deep(text: str, offset: int) -> JsonTextError:
    message = f"nested more than {MAX_DEPTH} levels deep"
    return JsonTextError("json/too-deep", message, text, offset)


def refuse_depth(text: str, value: "Any") -> None:
    """Raise JsonTextError for a value that is nested too deeply."""
    containers = text.count("{")
    bracket = text.find("[")
    # most texts have few: to find each is faster than to count them
    while bracket >= 0 and containers <= MAX_DEPTH:
        containers += 1
        bracket = text.find("[", bracket + 1)

    if containers <= MAX_DEPTH:
        return
    level = [value] if type(value) in CONTAINERS else []
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _list_containers(item)]
        if not level:
            return

    raise _too_deep(text, 0)


def _list_containers(container: "Any") -> "list[Any]":
    """Return the objects and lists among the members of one."""
    members = container.values() if type(container) is dict else container
    return [member for member in members if type(member) in CONTAINERS]


def node_at(text: str, start: int, key_start: int, value: "Any", lazy: bool) -> Node:
    """Return the tree of a value whose source begins at an offset of an accepted text.

    lazy is faster by far if few members are asked for; but each level scans again what is below it,
    so that large documents are read through at once.
    """
    kind = type(value)
    if kind is str:
        return Node(text, key_start, start, scanstring(text, start + 1, True)[1], value, None)
    if kind is dict or kind is list:
        if lazy:
            return Node(text, key_start, start, scan_span(text, start)[1], value, _UNREAD)
        members, end = _read_members(text, start, value, False)
        return Node(text, key_start, start, end, value, members)
    if kind is bytes:
        length = len(value)
    elif value is False:
        length = len("false")
    else:
        length = len("true")  # or null
    return Node(text, key_start, start, start + length, value, None)


def _read_members(text: str, start: int, value: "Any", lazy: bool) -> "tuple[Members, int]":
    """Return the members of a container that begins at start, and where it ends."""
    if type(value) is dict:
        if not value:
            return {}, text.index("}", start) + 1
        return _read_object(text, start + 1, value, lazy)
    if not value:
        return [], text.index("]", start) + 1
    return _read_array(text, start + 1, value, lazy)


# The loops below are inlined skip_space: every merge runs them for each member.
def _read_object(
    text: str, position: int, value: "dict[str, Any]", lazy: bool
) -> "tuple[Members, int]":
    members: dict[str, Node] = {}
    for key, child in value.items():
        while text[position] in _SPACE:
            position += 1
        key_start = position
        position = scanstring(text, position + 1, True)[1]
        while text[position] != ":":
            position += 1
        position += 1
        while text[position] in _SPACE:
            position += 1
        node = members[key] = node_at(text, position, key_start, child, lazy)
        position = node.end
        while text[position] in _SPACE:
            position += 1
        position += 1  # the comma, or the closing brace

    return members, position


def _read_array(text: str, position: int, value: "list[Any]", lazy: bool) -> "tuple[Members, int]":
    members: list[Node] = []
    for child in value:
        while text[position] in _SPACE:
            position += 1
        node = node_at(text, position, position, child, lazy)
        members.append(node)
        position = node.end
        while text[position] in _SPACE:
            position += 1
        position += 1  # the comma, or the closing bracket

    return members, position


def split_pointer(where: str) -> "list[str]":
    """Return the keys of a JSON Pointer."""
    return [key.replace("~1", "/").replace("~0", "~") for key in where.split("/")[1:]]


def join_pointer(where: str, key: "str | int") -> str:
    return f"{where}/{str(key).replace('~', '~0').replace('/', '~1')}"


def read_string(text: str, start: int) -> "tuple[str, int]":
    """Return the string whose quote opens at an offset, and where its source ends."""
    return scanstring(text, start + 1, True)


def find_node(node: Node, where: str) -> Node:
    """Return the node at a JSON Pointer, or its nearest parent that exists."""
    for key in split_pointer(where):
        members = node.members
        if isinstance(members, dict) and key in members:
            node = members[key]
        elif isinstance(members, list) and key.isdecimal() and int(key) < len(members):
            node = members[int(key)]
        else:
            break
    return node


def to_tokens(value: "Any") -> "Any":
    """Return a value with its JSON token in place of each number.

    Raises ValueError for NaN and infinities.
    """
    if isinstance(value, dict):
        return {key: to_tokens(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_tokens(child) for child in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise ValueError(f"{value} is not a JSON number")
    return repr(value).encode()
