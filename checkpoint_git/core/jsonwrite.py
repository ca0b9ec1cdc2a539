"""Write a changed document: what did not change keeps its bytes, what is new takes the style
around it.
"""

from checkpoint_git.core.jsontext import CONTAINERS, Node, read_string, to_tokens

try:
    from _json import encode_basestring, encode_basestring_ascii
except ImportError:  # an interpreter without the C accelerator
    from json.encoder import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Style:
    """Say how a document is written.

    eol: the line end. unit: the indentation of a level. colon, comma: each with its space.
    """

    __slots__ = ("colon", "comma", "eol", "unit")

    def __init__(self, root: Node) -> None:
        text = root.text
        newline = text.find("\n")
        self.eol = "\n"
        if newline > 0 and text[newline - 1] == "\r":
            self.eol = "\r\n"
        self.unit = "  "
        self.colon = ": "
        self.comma = ", "

        children = root.children
        if not children:
            return
        first = children[0]
        gap = text[root.start + 1 : first.key_start]
        if first.key_start < first.start:
            colon = text[read_string(text, first.key_start)[1] : first.start]
            if "\n" not in colon:
                self.colon = colon

        if "\n" in gap:
            self.unit = gap[gap.rfind("\n") + 1 :]
        elif len(children) > 1:
            self.comma = text[first.end : children[1].key_start].lstrip()
        elif self.colon == ":":
            self.comma = ","


class Frame:
    """Hold the text around a container's members: before the first, between two, after the last.

    inner: the indentation of the members, None for a container on one line. neighbours: the number
    of each member that the source has, by id(); what is between two of them stays as it is.
    """

    __slots__ = ("first_gap", "gap", "inner", "last_gap", "neighbours")

    def __init__(self, first_gap: str, gap: str, last_gap: str, inner: "str | None") -> None:
        self.first_gap = first_gap
        self.gap = gap
        self.last_gap = last_gap
        self.inner = inner
        self.neighbours: dict[int, int] = {}

    def between(self, before: "Node | None", after: "Node | None") -> str:
        """Return what is between two members of the written container.

        before, after: the nodes that the two continue, None for new ones.
        """
        if before is None or after is None:
            return self.gap
        number = self.neighbours.get(id(before))
        if number is None or self.neighbours.get(id(after)) != number + 1:
            return self.gap

        return before.text[before.end : after.key_start]


class Writer:
    """Write values into a document, the target.

    sources: other documents whose nodes it may have to write. `lead` is the indentation of the
    line that a value begins on.
    """

    def __init__(self, target: Node, *sources: "Node | None") -> None:
        self.text = target.text
        self._styles = {id(root.text): Style(root) for root in sources if root is not None}
        self.style = self._styles[id(target.text)] = Style(target)

    def frame_of(self, anchor: Node, like: "Node | None", lead: str) -> Frame:
        """Return the frame of a container of the target.

        like: the container to imitate where this one is empty.
        """
        children = anchor.children
        if children:
            frame = self._read_frame(anchor, children)
            if anchor.text is self.text:
                frame.neighbours = {id(child): number for number, child in enumerate(children)}
            return frame

        if like is not None and "\n" not in like.source:
            edge = ""
            if like.children:
                edge = like.text[like.start + 1 : like.children[0].key_start]
            return Frame(edge, self.style.comma, edge, None)

        eol = self.style.eol
        inner = lead + self.style.unit
        return Frame(eol + inner, "," + eol + inner, eol + lead, inner)

    def _read_frame(self, anchor: Node, children: "list[Node]") -> Frame:
        text = anchor.text
        first = children[0]
        first_gap = text[anchor.start + 1 : first.key_start]
        last_gap = text[children[-1].end : anchor.end - 1]
        inner = None
        if "\n" in first_gap:
            inner = first_gap[first_gap.rfind("\n") + 1 :]

        if len(children) > 1:
            gap = text[first.end : children[1].key_start]
        elif inner is None:
            gap = self.style.comma
        else:
            gap = "," + first_gap

        return Frame(first_gap, gap, last_gap, inner)

    def lead_of_member(self, frame: Frame, source: "Node | None") -> str:
        """Return the indentation of the line that a member of a container is on."""
        if frame.inner is not None:
            return frame.inner
        if source is not None and source.text is self.text:
            return lead_of(source)
        return ""

    def key_text(self, key: str, source: "Node | None") -> str:
        """Return a key and its colon, spelled as the member that it continues."""
        if source is None:
            return _quote(key) + self.style.colon
        if source.text is self.text:
            return source.text[source.key_start : source.start]
        end = read_string(source.text, source.key_start)[1]
        return source.text[source.key_start : end] + self.style.colon

    def node_text(self, node: Node, lead: str) -> str:
        """Return the text of a node of any document: one of the target keeps its bytes."""
        source = node.text[node.start : node.end]
        if type(node.value) not in CONTAINERS or node.text is self.text or "\n" not in source:
            return source
        if not node.value:
            return source[0] + source[-1]

        style = self._styles[id(node.text)]
        if style.unit == self.style.unit and style.eol == self.style.eol:
            return source.replace("\n" + lead_of(node), "\n" + lead)
        if type(node.value) is dict:
            keys = [
                self.key_text(key, child)
                for key, child in zip(node.value, node.children, strict=True)
            ]
            return self._expanded(node.value, keys, node.children, lead)

        return self._expanded(node.value, None, node.children, lead)

    def value_text(self, value: "Any", lead: str) -> str:
        """Return the text of a new value, a line for each member.

        value: may hold nodes; numbers are tokens.
        """
        kind = type(value)
        if kind is Node:
            return self.node_text(value, lead)
        if kind is dict:
            keys = [_quote(key) + self.style.colon for key in value]
            return self._expanded(value, keys, list(value.values()), lead)

        if kind is list:
            return self._expanded(value, None, value, lead)
        return scalar_text(value)

    def _expanded(
        self, value: "Any", keys: "list[str] | None", members: "Sequence[Any]", lead: str
    ) -> str:
        opening, closing = brackets_of(value)
        if not value:
            return opening + closing
        inner = lead + self.style.unit
        eol = self.style.eol
        pieces = [self.value_text(member, inner) for member in members]
        if keys is not None:
            pieces = [key + piece for key, piece in zip(keys, pieces, strict=True)]
        return opening + eol + inner + ("," + eol + inner).join(pieces) + eol + lead + closing


def lead_of(node: Node) -> str:
    """Return the indentation of the line that a node begins on."""
    text = node.text
    end = begin = text.rfind("\n", 0, node.key_start) + 1
    while text[end] in " \t":
        end += 1
    return text[begin:end]


def brackets_of(value: "Any") -> "tuple[str, str]":
    if type(value) is dict:
        return "{", "}"
    return "[", "]"


def on_one_line(text: str) -> str:
    """Return the text of a value without the line ends of its layout."""
    # strict JSON has no raw line end in a text, so all of them are layout
    if "\n" not in text:
        return text
    pieces = [line.strip(" \t\r") for line in text.split("\n")]
    joined = pieces[0]
    for piece in pieces[1:]:
        if joined[-1:] not in "{[" and piece[:1] not in "}]":
            joined += " "
        joined += piece
    return joined


def scalar_text(value: "Any") -> str:
    """Return the JSON of a text, a number's token, true, false or null."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is bytes:
        return value.decode()
    return _quote(value)


def _quote(text: str) -> str:
    quoted: str = encode_basestring(text)
    try:
        quoted.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8: only its escape can be written
        return str(encode_basestring_ascii(text))
    return quoted


def render(value: "Any") -> str:
    """Return two-space JSON with a final newline; numbers may be tokens or Python numbers."""
    return Writer(Node("", 0, 0, 0, None, None)).value_text(to_tokens(value), "") + "\n"


def rewrite(node: Node, value: "Any") -> str:
    """Return the document of `node`, its root, changed to hold a value whose numbers are tokens
    (jsontext.to_tokens).

    What did not change keeps its source bytes; what did is written in the style around it.
    """
    text = _rewrite_value(Writer(node), node, value, lead_of(node))
    return node.text[: node.start] + text + node.text[node.end :]


def _rewrite_value(writer: Writer, node: "Node | None", value: "Any", lead: str) -> str:
    # node: what the value continues
    if node is None:
        return writer.value_text(value, lead)
    if node.value == value:
        return writer.node_text(node, lead)

    members = node.members
    if type(members) is dict and type(value) is dict:
        rows = [(key, members.get(key), child) for key, child in value.items()]
        return _rewrite_container(writer, node, rows, lead)

    if type(members) is list and type(value) is list:
        items = [(None, member, item) for member, item in _match_items(members, value)]
        return _rewrite_container(writer, node, items, lead)

    return writer.value_text(value, lead)


def _rewrite_container(
    writer: Writer, anchor: Node, rows: "Sequence[tuple[str | None, Node | None, Any]]", lead: str
) -> str:
    # rows: the key of each member, None in a list, what it continues, and its value
    opening, closing = brackets_of(anchor.value)
    if not rows:
        return opening + closing

    frame = writer.frame_of(anchor, None, lead)
    pieces = [opening]
    previous: Node | None = None
    for number, (key, member, value) in enumerate(rows):
        if number == 0:
            pieces.append(frame.first_gap)
        else:
            pieces.append(frame.between(previous, member))
        if key is not None:
            pieces.append(writer.key_text(key, member))
        text = _rewrite_value(writer, member, value, writer.lead_of_member(frame, member))
        if frame.inner is None and not _keeps_layout(member, value):
            text = on_one_line(text)
        pieces.append(text)
        previous = member

    return "".join([*pieces, frame.last_gap, closing])


def _keeps_layout(node: "Node | None", value: "Any") -> bool:
    """Return whether a value is laid out as the node that it continues, and not anew."""
    if node is None:
        return False
    if node.value == value:
        return True
    return type(value) in CONTAINERS and type(value) is type(node.value) and bool(node.value)


def _match_items(members: "list[Node]", values: "list[Any]") -> "list[tuple[Node | None, Any]]":
    """Return each value with the item that it continues, None for a new one.

    Equal ones are matched first, from both ends, then the rest in order.
    """
    shortest = min(len(members), len(values))
    head = 0
    while head < shortest and members[head].value == values[head]:
        head += 1

    tail = 0
    while tail < shortest - head and members[-1 - tail].value == values[-1 - tail]:
        tail += 1

    old = members[head : len(members) - tail]
    new = values[head : len(values) - tail]
    continued: list[Node | None] = list(old)
    if len(old) != len(new):
        continued = []
        rest = old
        for value in new:
            member = next((member for member in rest if member.value == value), None)
            if member is not None:
                rest = rest[rest.index(member) + 1 :]
            continued.append(member)

    return list(
        zip([*members[:head], *continued, *members[len(members) - tail :]], values, strict=True)
    )
