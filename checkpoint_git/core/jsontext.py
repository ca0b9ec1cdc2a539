"""JSON as text that must survive: strict reading, and a tree that knows where each value stands in its source.

It knows nothing of files or of what the values mean. The merge driver imports it on git's hot path, so it stands on
the interpreter's own C scanner (`_json`) alone; `json` is used only where that module is missing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

try:
    from _json import make_scanner, scanstring
except ImportError:  # an interpreter without the C accelerator
    from json import decoder, scanner

    make_scanner = scanner.make_scanner  # type: ignore[misc]  # typeshed knows the C one only
    scanstring = decoder.scanstring  # type: ignore[attr-defined]  # the Python one, which typeshed leaves out

MAX_DEPTH = 100
MAX_BYTES = 8 * 1024 * 1024
BYTE_ORDER_MARK = "\ufeff"
_SPACE = " \t\n\r"
_MARKERS = ("<<<<<<< ", "||||||| ", "=======", ">>>>>>> ")
_LONGEST_INTEGER = 4_000  # digits: int() of a longer text is refused by the interpreter


class JsonTextError(Exception):
    """The text is not JSON as we accept it.

    code: "json/..." as a finding has it. message: what is wrong. offset counts characters from 0; line and column count
    from 1. hint: what to do, may be empty.
    """

    def __init__(self, code: str, message: str, text: str = "", offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.line, self.column = position_of(text, offset)
        self.hint = hint


class Node:
    """One value and where it stands.

    value: the decoded value, in which every number is its source token as bytes (b"1.0"), so that equality of values
    is equality of JSON with numbers compared as they are written. text[start:end] is the value's source;
    key_start is where its key's opening quote stands, or equals start for what has no key. members: the children
    of an object by key, of an array in order, None for everything else.
    """

    __slots__ = ("end", "key_start", "members", "start", "text", "value")

    def __init__(
        self,
        text: str,
        key_start: int,
        start: int,
        end: int,
        value: "Any",
        members: "dict[str, Node] | list[Node] | None",
    ) -> None:
        self.text = text
        self.key_start = key_start
        self.start = start
        self.end = end
        self.value = value
        self.members = members

    @property
    def source(self) -> str:
        """The value's own source text."""
        return self.text[self.start : self.end]


class _DuplicateKeyError(ValueError):
    pass


class _NotANumberError(ValueError):
    pass


class _ScanSettings:
    """What the C scanner asks of its context object."""

    __slots__ = (
        "memo",
        "object_hook",
        "object_pairs_hook",
        "parse_array",
        "parse_constant",
        "parse_float",
        "parse_int",
        "parse_object",
        "parse_string",
        "strict",
    )

    def __init__(self, parse_int: "Callable[[str], Any]", parse_float: "Callable[[str], Any]") -> None:
        self.strict = True
        self.object_hook = None
        self.object_pairs_hook = _object_of_pairs
        self.parse_int = parse_int
        self.parse_float = parse_float
        self.parse_constant = _refuse_constant
        self.memo: dict[str, str] = {}


def _object_of_pairs(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _DuplicateKeyError
    return value


def _refuse_constant(token: str) -> None:
    raise _NotANumberError(token)


def _read_integer(token: str) -> "int | float":
    return int(token) if len(token) < _LONGEST_INTEGER else float(token)


_scan_tokens = make_scanner(_ScanSettings(str.encode, str.encode))  # type: ignore[arg-type]  # any such object will do
_scan_plain = make_scanner(_ScanSettings(_read_integer, float))  # type: ignore[arg-type]  # as above


def position_of(text: str, offset: int) -> "tuple[int, int]":
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def decode(data: bytes) -> str:
    """The file's bytes as text; a byte order mark stays as the first character. Raises JsonTextError."""
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // 1024 // 1024
        raise JsonTextError("json/too-large", f"the file has {len(data)} bytes; the limit is {limit} MiB")
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
    """The text's value with Python numbers. Raises JsonTextError for anything but one strict JSON value."""
    value = _scan(_scan_plain, text)
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_depth(text, value)
    return value


def parse(text: str) -> Node:
    """The text as a lossless tree. Raises JsonTextError as load does."""
    value = _scan(_scan_tokens, text)
    start = _skip_space(text, _first(text))
    return _walk(text, start, start, value, MAX_DEPTH)


def scan_tokens(text: str) -> "Any":
    """The text's value with numbers as source tokens, without the tree. Raises JsonTextError."""
    return _scan(_scan_tokens, text)


def _first(text: str) -> int:
    return 1 if text.startswith(BYTE_ORDER_MARK) else 0


def _skip_space(text: str, at: int) -> int:
    end = len(text)
    while at < end and text[at] in _SPACE:
        at += 1
    return at


def _scan(scan: "Callable[[str, int], tuple[Any, int]]", text: str) -> "Any":
    try:
        value, end = scan(text, _skip_space(text, _first(text)))
    except RecursionError:
        raise _too_deep(text, 0) from None
    except (ValueError, StopIteration, SystemError, MemoryError) as error:
        raise _explained(text, error) from None
    if _skip_space(text, end) != len(text):
        raise _explained(text, None)
    return value


def _explained(text: str, error: "BaseException | None") -> JsonTextError:
    from checkpoint_git.core import jsonfault

    return jsonfault.explain_fault(text) or JsonTextError("json/syntax", f"not JSON: {error}", text)


def _too_deep(text: str, offset: int) -> JsonTextError:
    return JsonTextError("json/too-deep", f"nested more than {MAX_DEPTH} levels deep", text, offset)


def _refuse_depth(text: str, value: "Any") -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    if any(isinstance(item, (dict, list)) for item in level):
        raise _too_deep(text, 0)


def _children(value: "Any") -> "list[Any]":
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _walk(text: str, start: int, key_start: int, value: "Any", depth: int) -> Node:
    """The tree of a text that the scanner has accepted: what follows relies on its being valid.

    Strings and numbers, which are most of a document, are made where their container is walked: a call less each.
    """
    kind = type(value)
    if kind is dict or kind is list:
        if depth == 0:
            raise _too_deep(text, start)
        walk = _walk_object if kind is dict else _walk_array
        return walk(text, start, key_start, value, depth - 1)
    return Node(text, key_start, start, _end_of_scalar(text, start, value), value, None)


def _end_of_scalar(text: str, start: int, value: "Any") -> int:
    kind = type(value)
    if kind is str:
        return int(scanstring(text, start + 1, True)[1])
    if kind is bytes:
        return start + len(value)
    return start + (5 if value is False else 4)


def _walk_object(text: str, start: int, key_start: int, value: "dict[str, Any]", depth: int) -> Node:
    members: dict[str, Node] = {}
    at = start + 1
    for key, child in value.items():
        while text[at] in _SPACE:
            at += 1
        child_key = at
        at = scanstring(text, at + 1, True)[1]
        while text[at] != ":":
            at += 1
        at += 1
        while text[at] in _SPACE:
            at += 1
        if type(child) is str:
            end = scanstring(text, at + 1, True)[1]
            members[key] = Node(text, child_key, at, end, child, None)
            at = end
        else:
            node = members[key] = _walk(text, at, child_key, child, depth)
            at = node.end
        while text[at] in _SPACE:
            at += 1
        at += 1
    return Node(text, key_start, start, at if members else text.index("}", at) + 1, value, members)


def _walk_array(text: str, start: int, key_start: int, value: "list[Any]", depth: int) -> Node:
    members: list[Node] = []
    at = start + 1
    for child in value:
        while text[at] in _SPACE:
            at += 1
        if type(child) is str:
            end = scanstring(text, at + 1, True)[1]
            members.append(Node(text, at, at, end, child, None))
            at = end
        else:
            node = _walk(text, at, at, child, depth)
            members.append(node)
            at = node.end
        while text[at] in _SPACE:
            at += 1
        at += 1
    return Node(text, key_start, start, at if members else text.index("]", at) + 1, value, members)


def has_markers(text: str) -> int:
    """The offset of the first line that is a conflict marker of git's, or -1."""
    if not any(marker in text for marker in _MARKERS[::3]):
        return -1
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            return offset
        offset += len(line)
    return -1


def split_pointer(where: str) -> "list[str]":
    """The keys of a JSON Pointer, unescaped; [] for the whole document."""
    return [key.replace("~1", "/").replace("~0", "~") for key in where.split("/")[1:]]


def join_pointer(where: str, key: "str | int") -> str:
    """The pointer of a child."""
    return f"{where}/{str(key).replace('~', '~0').replace('/', '~1')}"


def end_of_string(text: str, start: int) -> int:
    """Where the JSON string that begins with the quote at `start` ends."""
    return int(scanstring(text, start + 1, True)[1])


def locate(text: str, where: str) -> "tuple[int, int]":
    """Line and column of the value at a JSON Pointer, or of the nearest parent that exists.

    A member of an object is found by its key. Raises JsonTextError where the text is not JSON.
    """
    return locate_in(parse(text), where)


def locate_in(node: Node, where: str) -> "tuple[int, int]":
    """The same in a tree that is already there."""
    for key in split_pointer(where):
        child = _child_of(node, key)
        if child is None:
            break
        node = child
    return position_of(node.text, node.key_start)


def _child_of(node: Node, key: str) -> "Node | None":
    if isinstance(node.members, dict):
        return node.members.get(key)
    if isinstance(node.members, list) and key.isdecimal() and int(key) < len(node.members):
        return node.members[int(key)]
    return None


def to_tokens(value: "Any") -> "Any":
    """A plain Python value with every number as its JSON token. Raises ValueError for NaN and infinities."""
    if isinstance(value, dict):
        return {key: to_tokens(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_tokens(child) for child in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise ValueError(f"{value} is not a JSON number")
    return repr(value).encode()


def rewrite(node: Node, value: "Any") -> str:
    """The document of `node` (its root) changed to hold `value`, whose numbers are tokens (see to_tokens).

    What did not change keeps its source bytes; what did is written in the style around it.
    """
    from checkpoint_git.core import jsonedit

    return jsonedit.rewrite(node, value)


def render(value: "Any") -> str:
    """Fresh text: two-space JSON with a final newline; numbers may be tokens or Python numbers."""
    from checkpoint_git.core import jsonwrite

    return jsonwrite.render(to_tokens(value))
