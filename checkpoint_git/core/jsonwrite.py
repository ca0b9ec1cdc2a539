"""Writing a document from pieces of others: untouched pieces keep their bytes, new ones take the style around them.

A result is one of: a Node (taken from a source document), Fresh (written anew), Built (a container put together from
results) or Choice (a place where several texts are possible: a conflict). The writer lays a result out as a list of
segments: text, or an Alternatives where the text depends on the side. On git's hot path: no imports but jsontext's.
"""

from checkpoint_git.core.jsonstyle import Style, lead_of, style_of
from checkpoint_git.core.jsontext import CONTAINERS, Node, end_of_string, to_tokens

try:
    from _json import encode_basestring, encode_basestring_ascii
except ImportError:  # an interpreter without the C accelerator
    from json.encoder import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Result: TypeAlias = "Node | Fresh | Built | Choice"


OURS, BASE, THEIRS = 0, 1, 2


class Fresh:
    """A value that no source document has in this place. Inside it a Node stands for its own value."""

    __slots__ = ("value",)

    def __init__(self, value: "Any") -> None:
        self.value = value


class Entry:
    """One member of a Built container: where its key and spacing come from, and what its value is.

    source: the member that this one continues, whose key is copied; None for a new item of an array.
    """

    __slots__ = ("key", "result", "source")

    def __init__(self, key: "str | None", result: "Any", source: "Node | None") -> None:
        self.key = key
        self.result = result
        self.source = source


class Built:
    """A container in the style of `anchor`, a member of the target document.

    like: a container of another document whose style serves where the anchor is empty; may be None.
    """

    __slots__ = ("anchor", "entries", "like")

    def __init__(self, anchor: Node, entries: "list[Entry]", like: "Node | None" = None) -> None:
        self.anchor = anchor
        self.entries = entries
        self.like = like


class Choice:
    """A place where the sides disagree: each side is a result, or None where that side has nothing.

    where: JSON Pointer of the conflict; choices of one conflict share it, and group is then the same text.
    """

    __slots__ = ("group", "sides", "where")

    def __init__(self, where: str, ours: "Any", base: "Any", theirs: "Any", group: str = "") -> None:
        self.where = where
        self.sides = (ours, base, theirs)
        self.group = group


def value_of(result: "Any", side: int) -> "Any":
    """The plain value of a result with its conflicts decided for a side; None for what is absent then."""
    kind = type(result)
    if kind is Choice:
        return value_of(result.sides[side], side)
    if kind is Built:
        parts = [(entry.key, entry.result) for entry in result.entries if _is_there(entry.result, side)]
        values = [(key, value_of(part, side)) for key, part in parts]
        return dict(values) if type(result.anchor.value) is dict else [value for _, value in values]
    if kind is Node or kind is Fresh:
        return value_of(result.value, side) if kind is Fresh else result.value
    if kind is dict:  # inside a Fresh value, which may hold Nodes
        return {key: value_of(child, side) for key, child in result.items()}
    return [value_of(child, side) for child in result] if kind is list else result


def _is_there(result: "Any", side: int) -> bool:
    return type(result) is not Choice or result.sides[side] is not None


class Alternatives:
    """A piece of text that depends on the side: (ours, base, theirs)."""

    __slots__ = ("texts", "where")

    def __init__(self, where: str, texts: "tuple[str, str, str]") -> None:
        self.where = where
        self.texts = texts


def picked(segments: "list[str | Alternatives]", side: int) -> str:
    """The segments as one text, every choice decided for one side."""
    return "".join([piece.texts[side] if isinstance(piece, Alternatives) else piece for piece in segments])


class Writer:
    def __init__(self, target: Node, *sources: "Node | None") -> None:
        """Target and sources are the roots of the documents that Nodes come from."""
        self.text = target.text
        self.style = style_of(target)
        self._styles: dict[int, Style] = {id(root.text): style_of(root) for root in sources if root is not None}
        self._styles[id(target.text)] = self.style

    def lay_out(self, result: "Any", lead: str) -> "list[str | Alternatives]":
        """The result as segments; lead is the indentation of the line it begins on."""
        out: list[str | Alternatives] = []
        self._emit(result, lead, out)
        return out

    def pick(self, result: "Any", lead: str, side: int) -> str:
        return picked(self.lay_out(result, lead), side)

    def _emit(self, result: "Any", lead: str, out: "list[str | Alternatives]") -> None:
        kind = type(result)
        if kind is Node:
            out.append(self._node_text(result, lead))
        elif kind is Built:
            self._emit_built(result, lead, out)
        elif kind is Choice:
            out.append(self._alternatives(result, lead))
        else:
            out.append(self._value_text(result.value, lead))

    def _alternatives(self, choice: Choice, lead: str) -> Alternatives:
        texts = ["" if result is None else self.pick(result, lead, side) for side, result in enumerate(choice.sides)]
        return Alternatives(choice.where, (texts[0], texts[1], texts[2]))

    # containers

    def _emit_built(self, built: Built, lead: str, out: "list[str | Alternatives]") -> None:
        anchor = built.anchor
        opening, closing = ("{", "}") if type(anchor.value) is dict else ("[", "]")
        entries = built.entries
        if not entries:
            out.append(opening + closing)
            return
        first_gap, gap, last_gap, inner = self._frame(built, lead)
        out.append(opening)
        index = _indexes(anchor)
        present = [_presence(entry.result) for entry in entries]
        later = _later_presence(present)
        previous: Node | None = None
        for number, entry in enumerate(entries):
            between = first_gap if number == 0 else self._gap_between(previous, entry.source, index, gap)
            before_comma, _, after_comma = between.partition(",") if number else ("", "", between)
            if number:
                self._emit_comma(out, before_comma, present[number - 1], later[number - 1], entries, number)
            self._emit_member(entry, after_comma, inner, out)
            previous = entry.source
        out.append(last_gap + closing)

    def _frame(self, built: Built, lead: str) -> "tuple[str, str, str, str | None]":
        """What stands before the first member, between two, after the last, and the members' indentation.

        The indentation is None in a container on one line.
        """
        anchor = built.anchor
        children = anchor.children
        if children:
            return self._frame_of_members(anchor, children)
        if built.like is not None and "\n" not in built.like.source:
            like = built.like.children
            edge = built.like.text[built.like.start + 1 : like[0].key_start] if like else ""
            return edge, self.style.comma, edge, None
        inner = lead + self.style.unit
        eol = self.style.eol
        return eol + inner, "," + eol + inner, eol + lead, inner

    def _frame_of_members(self, anchor: Node, children: "list[Node]") -> "tuple[str, str, str, str | None]":
        text = anchor.text
        first = children[0]
        first_gap = text[anchor.start + 1 : first.key_start]
        last_gap = text[children[-1].end : anchor.end - 1]
        expanded = "\n" in first_gap
        if len(children) > 1:
            gap = text[first.end : children[1].key_start]
        else:
            gap = "," + first_gap if expanded else self.style.comma
        return first_gap, gap, last_gap, first_gap[first_gap.rfind("\n") + 1 :] if expanded else None

    def _gap_between(self, left: "Node | None", right: "Node | None", index: "dict[int, int]", gap: str) -> str:
        """The source between two neighbours that were neighbours before, else the container's usual separator."""
        if left is None or right is None or left.text is not self.text or right.text is not self.text:
            return gap
        at = index.get(id(left), -2)
        if at + 1 != index.get(id(right), -9):
            return gap
        return self.text[left.end : right.key_start]

    def _emit_comma(
        self,
        out: "list[str | Alternatives]",
        before: str,
        present: "tuple[bool, bool, bool]",
        later: "tuple[bool, bool, bool]",
        entries: "list[Entry]",
        number: int,
    ) -> None:
        if present == later == (True, True, True):
            out.append(before + ",")
            return
        commas = tuple("," if here and more else "" for here, more in zip(present, later, strict=True))
        if commas[0] == commas[1] == commas[2]:
            out.append(before + commas[0])
            return
        where = next(entry.result.where for entry in [*entries[number:], entries[number - 1]] if _is_optional(entry))
        out.append(Alternatives(where, (commas[0], commas[1], commas[2])))

    def _emit_member(self, entry: Entry, gap: str, inner: "str | None", out: "list[str | Alternatives]") -> None:
        key = "" if entry.key is None else self._key_text(entry)
        lead = self._lead_on_line(entry.source) if inner is None else inner
        if not _is_optional(entry):
            out.append(gap + key)
            start = len(out)
            self._emit(entry.result, lead, out)
            if inner is None and not self._is_own(entry.result):
                _join_lines(out, start)
            return
        choice = entry.result
        texts = [
            "" if side is None else gap + key + self._member_text(side, lead, number, inner)
            for number, side in enumerate(choice.sides)
        ]
        out.append(Alternatives(choice.where, (texts[0], texts[1], texts[2])))

    def _member_text(self, result: "Any", lead: str, side: int, inner: "str | None") -> str:
        text = self.pick(result, lead, side)
        return text if inner is not None or self._is_own(result) else _on_one_line(text)

    def _lead_on_line(self, source: "Node | None") -> str:
        """The indentation of a member of a container on one line: that of the line it stands on."""
        return lead_of(source) if source is not None and source.text is self.text else ""

    def _is_own(self, result: "Result") -> bool:
        """Whether the result is laid out as the target document lays it out, in as many lines as it has there."""
        if isinstance(result, Built):
            return bool(result.anchor.value)
        return isinstance(result, Node) and result.text is self.text

    def _key_text(self, entry: Entry) -> str:
        source = entry.source
        if source is None:
            return _quote(entry.key or "") + self.style.colon
        if source.text is self.text:
            return source.text[source.key_start : source.start]
        end = end_of_string(source.text, source.key_start)
        return source.text[source.key_start : end] + self.style.colon

    # values

    def _node_text(self, node: Node, lead: str) -> str:
        source = node.text[node.start : node.end]
        if type(node.value) not in CONTAINERS or node.text is self.text or "\n" not in source:
            return source
        if not node.value:
            return source[0] + source[-1]
        own = lead_of(node)
        style = self._styles[id(node.text)]
        if style.unit == self.style.unit and style.eol == self.style.eol:
            return source if own == lead else source.replace("\n" + own, "\n" + lead)
        return self._restyled(node, lead)

    def _restyled(self, node: Node, lead: str) -> str:
        inner = lead + self.style.unit
        pieces = []
        for child in node.children:
            key = ""
            if child.key_start < child.start:
                end = end_of_string(child.text, child.key_start)
                key = child.text[child.key_start : end] + self.style.colon
            pieces.append(inner + key + self._node_text(child, inner))
        opening, closing = ("{", "}") if type(node.value) is dict else ("[", "]")
        eol = self.style.eol
        return opening + eol + ("," + eol).join(pieces) + eol + lead + closing

    def _value_text(self, value: "Any", lead: str) -> str:
        kind = type(value)
        if kind is Node:
            return self._node_text(value, lead)
        if kind is dict or kind is list:
            return self._container_text(value, lead)
        return scalar_text(value)

    def _container_text(self, value: "Any", lead: str) -> str:
        is_object = type(value) is dict
        opening, closing = ("{", "}") if is_object else ("[", "]")
        if not value:
            return opening + closing
        inner = lead + self.style.unit
        if is_object:
            pieces = [
                inner + _quote(key) + self.style.colon + self._value_text(child, inner) for key, child in value.items()
            ]
        else:
            pieces = [inner + self._value_text(child, inner) for child in value]
        eol = self.style.eol
        return opening + eol + ("," + eol).join(pieces) + eol + lead + closing


def _indexes(anchor: Node) -> "dict[int, int]":
    return {id(child): number for number, child in enumerate(anchor.children)}


def _is_optional(entry: Entry) -> bool:
    return type(entry.result) is Choice and None in entry.result.sides


def _presence(result: "Any") -> "tuple[bool, bool, bool]":
    if type(result) is not Choice:
        return (True, True, True)
    ours, base, theirs = result.sides
    return (ours is not None, base is not None, theirs is not None)


def _later_presence(present: "list[tuple[bool, bool, bool]]") -> "list[tuple[bool, bool, bool]]":
    later: list[tuple[bool, bool, bool]] = []
    seen = (False, False, False)
    for here in reversed(present):
        later.append(seen)
        seen = (seen[0] or here[0], seen[1] or here[1], seen[2] or here[2])
    later.reverse()
    return later


def _on_one_line(text: str) -> str:
    """Strict JSON text with its line ends taken out: a text holds no raw line end, so all of them are layout."""
    if "\n" not in text:
        return text
    pieces = [line.strip(" \t\r") for line in text.split("\n")]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += piece if joined[-1:] in "{[" or piece[:1] in "}]" else " " + piece
    return joined


def _join_lines(out: "list[str | Alternatives]", start: int) -> None:
    for number in range(start, len(out)):
        piece = out[number]
        if isinstance(piece, str):
            out[number] = _on_one_line(piece)
        else:
            ours, base, theirs = piece.texts
            out[number] = Alternatives(piece.where, (_on_one_line(ours), _on_one_line(base), _on_one_line(theirs)))


def scalar_text(value: "Any") -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    return value.decode() if type(value) is bytes else _quote(value)


def _quote(text: str) -> str:
    quoted: str = encode_basestring(text)
    try:
        quoted.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8: only its escape can be written
        return str(encode_basestring_ascii(text))
    return quoted


# one document changed to hold another value: what of the old text can stay is found, and the writer does the rest


def rewrite(node: Node, value: "Any") -> str:
    """The document of `node` (its root) changed to hold `value`, whose numbers are tokens (see jsontext.to_tokens).

    What did not change keeps its source bytes; what did is written in the style around it.
    """
    writer = Writer(node)
    text = writer.pick(plan_rewrite(node, value), lead_of(node), OURS)
    return node.text[: node.start] + text + node.text[node.end :]


def render(value: "Any") -> str:
    """Fresh text: two-space JSON with a final newline; numbers may be tokens or Python numbers."""
    writer = Writer(Node("", 0, 0, 0, None, None))
    return writer.pick(Fresh(to_tokens(value)), "", OURS) + "\n"


def plan_rewrite(node: Node, value: "Any") -> "Any":
    """The result that turns a node into a value, reusing what is the same."""
    if node.value == value:
        return node
    members = node.members
    if type(members) is dict and type(value) is dict:
        return Built(node, [_plan_member(members.get(key), key, child) for key, child in value.items()])
    if type(members) is list and type(value) is list:
        return Built(node, _plan_items(members, value))
    return Fresh(value)


def _plan_member(member: "Node | None", key: "str | None", value: "Any") -> Entry:
    return Entry(key, Fresh(value) if member is None else plan_rewrite(member, value), member)


def _plan_items(members: "list[Node]", values: "list[Any]") -> "list[Entry]":
    """Items matched with the members they continue: equal ones first, from both ends, then in order."""
    shorter = min(len(members), len(values))
    head = 0
    while head < shorter and members[head].value == values[head]:
        head += 1
    tail = 0
    while tail < shorter - head and members[-1 - tail].value == values[-1 - tail]:
        tail += 1
    ending = len(members) - tail
    old, new = members[head:ending], values[head : len(values) - tail]
    entries = [Entry(None, member, member) for member in members[:head]]
    entries += _plan_middle(old, new)
    return entries + [Entry(None, member, member) for member in members[ending:]]


def _plan_middle(old: "list[Node]", new: "list[Any]") -> "list[Entry]":
    if len(old) == len(new):
        return [_plan_member(member, None, value) for member, value in zip(old, new, strict=True)]
    entries = []
    rest = list(old)
    for value in new:
        member = next((member for member in rest if member.value == value), None)
        if member is not None:
            rest = rest[rest.index(member) + 1 :]
        entries.append(_plan_member(member, None, value))
    return entries
