"""Writing a document from pieces of others: untouched pieces keep their bytes, new ones take the style around them."""

from checkpoint_git.core.jsontext import CONTAINERS, Node, join_pointer, read_string, to_tokens

try:
    from _json import encode_basestring, encode_basestring_ascii
except ImportError:  # an interpreter without the C accelerator
    from json.encoder import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    Result: TypeAlias = "Node | Fresh | Built | Choice"
    Segments: TypeAlias = "list[str | Alternatives]"


OURS, BASE, THEIRS = SIDES = 0, 1, 2


# A result is one of: a Node (taken from a source document), Fresh (written anew), Built (a container put together from
# results) or Choice (a place where several texts are possible: a conflict).
class Fresh:
    """Inside the value a Node stands for its own value."""

    __slots__ = ("value",)

    def __init__(self, value: "Any") -> None:
        self.value = value


class Entry:
    """source: the member that it continues, whose key and spacing are copied."""

    __slots__ = ("key", "result", "source")

    def __init__(self, key: "str | None", result: "Any", source: "Node | None") -> None:
        self.key = key
        self.result = result
        self.source = source

    @property
    def is_optional(self) -> bool:
        return type(self.result) is Choice and None in self.result.sides


class Built:
    """A container in the style of `anchor`, a member of the target document, or where that is empty of `like`.

    In a merge these are what ours and theirs have there, and `base` what base has.
    """

    __slots__ = ("anchor", "base", "entries", "like")

    def __init__(
        self, anchor: Node, entries: "list[Entry]", like: "Node | None" = None, base: "Node | None" = None
    ) -> None:
        self.anchor = anchor
        self.base = base
        self.entries = entries
        self.like = like


class Choice:
    """A place where the sides disagree: each side is a result, or None where that side has nothing. where: JSON Pointer
    of the conflict; choices of one conflict share it, and group is then the same text. note: where all sides hold the
    same, because none of them answers what is open: the options of `checkpoint resolve` that do. Else "".
    """

    __slots__ = ("group", "note", "sides", "where")

    def __init__(self, where: str, ours: "Any", base: "Any", theirs: "Any", group: str = "", note: str = "") -> None:
        self.where = where
        self.sides = (ours, base, theirs)
        self.group = group
        self.note = note


def value_of(result: "Any", side: int) -> "Any":
    """With its conflicts decided for a side; None for what is absent then."""
    kind = type(result)
    if kind is Choice:
        return value_of(result.sides[side], side)
    if kind is Built:
        there = [entry for entry in result.entries if _is_there(entry, side)]
        if type(result.anchor.value) is dict:
            return {entry.key: value_of(entry.result, side) for entry in there}
        return [value_of(entry.result, side) for entry in there]
    if kind is Node:
        return result.value
    if kind is Fresh:
        return value_of(result.value, side)
    if kind is dict:  # inside a Fresh value, which may hold Nodes
        return {key: value_of(child, side) for key, child in result.items()}
    return [value_of(child, side) for child in result] if kind is list else result


def _is_there(entry: Entry, side: int) -> bool:
    return type(entry.result) is not Choice or entry.result.sides[side] is not None


class Alternatives:
    """place: where the texts stand; of a group's members another one than that of the conflict. "" where all agree.
    note: of a Choice.
    """

    __slots__ = ("note", "place", "texts", "where")

    def __init__(self, where: str, texts: "Sequence[str]", place: "str | None" = None, note: str = "") -> None:
        self.where = where
        self.place = where if place is None else place
        self.texts = texts
        self.note = note


def picked(segments: "Segments", side: int) -> str:
    return "".join([piece.texts[side] if isinstance(piece, Alternatives) else piece for piece in segments])


class Style:
    __slots__ = ("colon", "comma", "eol", "unit")

    def __init__(self, root: Node) -> None:
        text = root.text
        newline = text.find("\n")
        self.eol = "\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n"
        self.unit, self.colon, self.comma = "  ", ": ", ", "
        children = root.children
        if not children:
            return
        first = children[0]
        gap = text[root.start + 1 : first.key_start]
        if first.key_start < first.start:
            colon = text[read_string(text, first.key_start)[1] : first.start]
            self.colon = self.colon if "\n" in colon else colon
        if "\n" in gap:
            self.unit = gap[gap.rfind("\n") + 1 :]
        elif len(children) > 1:
            self.comma = text[first.end : children[1].key_start].lstrip()
        elif self.colon == ":":
            self.comma = ","


def _lead_of(node: Node) -> str:
    text = node.text
    end = begin = text.rfind("\n", 0, node.key_start) + 1
    while text[end] in " \t":
        end += 1
    return text[begin:end]


# It lays a result out as a list of segments: text, or an Alternatives where the text depends on the side. `lead` is the
# indentation of the line that a value begins on, `inner` that of a container's members, None in a container on one
# line.
class Writer:
    def __init__(self, target: Node, *sources: "Node | None") -> None:
        self.text = target.text
        self._styles = {id(root.text): Style(root) for root in sources if root is not None}
        self.style = self._styles[id(target.text)] = Style(target)

    def lay_out_document(self, result: "Any") -> "Segments":
        return self.lay_out(result, "")

    def lay_out(self, result: "Any", lead: str) -> "Segments":
        out: Segments = []
        self._emit(result, lead, out)
        return out

    def pick(self, result: "Any", lead: str, side: int) -> str:
        return picked(self.lay_out(result, lead), side)

    def _emit(self, result: "Any", lead: str, out: "Segments") -> None:
        kind = type(result)
        if kind is Node:
            out.append(self._node_text(result, lead))
        elif kind is Built:
            self._emit_built(result, lead, out)
        elif kind is Choice:
            texts = ["" if part is None else self.pick(part, lead, side) for side, part in enumerate(result.sides)]
            out.append(Alternatives(result.where, texts, note=result.note))
        else:
            out.append(self._value_text(result.value, lead))

    def _emit_built(self, built: Built, lead: str, out: "Segments") -> None:
        anchor, entries = built.anchor, built.entries
        opening, closing = _brackets(anchor.value)
        if not entries:
            out.append(opening + closing)
            return
        first_gap, gap, last_gap, inner = self._frame(built, lead)
        out.append(opening)
        index = {id(child): number for number, child in enumerate(anchor.children)}
        lasts = [_find_last(entries, side) for side in SIDES]
        previous: Node | None = None
        for number, entry in enumerate(entries):
            after_comma = first_gap
            if number:
                between = self._gap_between(previous, entry.source, index, gap)
                before_comma, _, after_comma = between.partition(",")
                out += [before_comma, _comma(entries, number, lasts)]
            self._emit_member(entry, after_comma, inner, out)
            previous = entry.source
        out.append(last_gap + closing)

    def _frame(self, built: Built, lead: str) -> "tuple[str, str, str, str | None]":
        """What is before the first member, between two, and after the last; and the members' indentation."""
        anchor, like, style = built.anchor, built.like, self.style
        children = anchor.children
        if children:
            text, first = anchor.text, children[0]
            first_gap = text[anchor.start + 1 : first.key_start]
            last_gap = text[children[-1].end : anchor.end - 1]
            inner = first_gap[first_gap.rfind("\n") + 1 :] if "\n" in first_gap else None
            if len(children) > 1:
                gap = text[first.end : children[1].key_start]
            else:
                gap = style.comma if inner is None else "," + first_gap
            return first_gap, gap, last_gap, inner
        if like is not None and "\n" not in like.source:
            edge = like.text[like.start + 1 : like.children[0].key_start] if like.children else ""
            return edge, style.comma, edge, None
        inner = lead + style.unit
        return style.eol + inner, "," + style.eol + inner, style.eol + lead, inner

    def _gap_between(self, left: "Node | None", right: "Node | None", index: "dict[int, int]", gap: str) -> str:
        # The source between two neighbours that were neighbours before, else the container's usual separator
        if left is None or right is None or left.text is not self.text or right.text is not self.text:
            return gap
        were_neighbours = index.get(id(left), -2) + 1 == index.get(id(right), -9)
        return self.text[left.end : right.key_start] if were_neighbours else gap

    def _emit_member(self, entry: Entry, gap: str, inner: "str | None", out: "Segments") -> None:
        source = entry.source
        start = gap + ("" if entry.key is None else self._key_text(entry.key, source))
        lead = inner or ""
        if inner is None and source is not None and source.text is self.text:
            lead = _lead_of(source)  # on one line: the indentation of the line that it is on
        if entry.is_optional:
            choice, texts = entry.result, ["", "", ""]
            for side in SIDES:
                result = choice.sides[side]
                if result is not None:
                    text = self.pick(result, lead, side)
                    texts[side] = start + (text if inner is not None or self._is_own(result) else _on_one_line(text))
            out.append(Alternatives(choice.where, texts, _place_of(entry)))
            return
        out.append(start)
        at = len(out)
        self._emit(entry.result, lead, out)
        if type(entry.result) is Choice:
            choice = entry.result
            pieces = out[-1].texts  # type: ignore[union-attr]
            out[-1] = Alternatives(choice.where, pieces, _place_of(entry), choice.note)
        if inner is None and not self._is_own(entry.result):
            out[at:] = [on_one_line(piece) for piece in out[at:]]

    def _is_own(self, result: "Result") -> bool:
        if isinstance(result, Built):
            return bool(result.anchor.value)
        return isinstance(result, Node) and result.text is self.text

    def _key_text(self, key: str, source: "Node | None") -> str:
        if source is None:
            return _quote(key) + self.style.colon
        end = source.start if source.text is self.text else read_string(source.text, source.key_start)[1]
        spelled = source.text[source.key_start : end]
        return spelled if source.text is self.text else spelled + self.style.colon

    def _node_text(self, node: Node, lead: str) -> str:
        source = node.text[node.start : node.end]
        if type(node.value) not in CONTAINERS or node.text is self.text or "\n" not in source:
            return source
        if not node.value:
            return source[0] + source[-1]
        style = self._styles[id(node.text)]
        if style.unit == self.style.unit and style.eol == self.style.eol:
            return source.replace("\n" + _lead_of(node), "\n" + lead)
        if type(node.value) is dict:
            keys = [self._key_text(key, child) for key, child in zip(node.value, node.children, strict=True)]
            return self._expanded(node.value, keys, node.children, lead)
        return self._expanded(node.value, None, node.children, lead)

    def _value_text(self, value: "Any", lead: str) -> str:
        kind = type(value)
        if kind is Node:
            return self._node_text(value, lead)
        if kind is dict:
            keys = [_quote(key) + self.style.colon for key in value]
            return self._expanded(value, keys, list(value.values()), lead)
        return self._expanded(value, None, value, lead) if kind is list else scalar_text(value)

    def _expanded(self, value: "Any", keys: "list[str] | None", members: "Sequence[Any]", lead: str) -> str:
        # a container with a line for each member. keys: their source
        opening, closing = _brackets(value)
        if not value:
            return opening + closing
        inner, eol = lead + self.style.unit, self.style.eol
        pieces = [self._value_text(member, inner) for member in members]
        if keys is not None:
            pieces = [key + piece for key, piece in zip(keys, pieces, strict=True)]
        return opening + eol + inner + ("," + eol + inner).join(pieces) + eol + lead + closing


def _brackets(value: "Any") -> "tuple[str, str]":
    return ("{", "}") if type(value) is dict else ("[", "]")


def _place_of(entry: Entry) -> "str | None":
    choice = entry.result
    if not choice.group or entry.key is None:
        return None
    ours, _, theirs = (value_of(part, side) for side, part in enumerate(choice.sides))
    return "" if ours == theirs else join_pointer(choice.where.rpartition("/")[0], entry.key)


def _find_last(entries: "list[Entry]", side: int) -> int:
    return next((at for at in range(len(entries) - 1, -1, -1) if _is_there(entries[at], side)), -1)


def _comma(entries: "list[Entry]", number: int, lasts: "list[int]") -> "str | Alternatives":
    # What separates a member from those before it: nothing on a side that has none before it, or none from it on
    left = entries[number - 1]
    if not left.is_optional and not entries[number].is_optional:
        return ","
    commas = ["," if _is_there(left, side) and lasts[side] >= number else "" for side in SIDES]
    if commas[0] == commas[1] == commas[2]:
        return commas[0]
    optional = next((entries[at] for at in range(number, len(entries)) if entries[at].is_optional), left)
    return Alternatives(optional.result.where, commas)


def on_one_line(piece: "str | Alternatives") -> "str | Alternatives":
    """Return a segment without the line ends of its layout."""
    if isinstance(piece, Alternatives):
        return Alternatives(piece.where, [_on_one_line(text) for text in piece.texts], piece.place, piece.note)
    return _on_one_line(piece)


def _on_one_line(text: str) -> str:
    # Strict JSON has no raw line end in a text, so all of them are layout
    if "\n" not in text:
        return text
    pieces = [line.strip(" \t\r") for line in text.split("\n")]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += piece if joined[-1:] in "{[" or piece[:1] in "}]" else " " + piece
    return joined


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


def rewrite(node: Node, value: "Any") -> str:
    """The document of `node` (its root) changed to hold `value`, whose numbers are tokens (see jsontext.to_tokens).
    What did not change keeps its source bytes; what did is written in the style around it.
    """
    text = Writer(node).pick(_plan_rewrite(node, value), _lead_of(node), OURS)
    return node.text[: node.start] + text + node.text[node.end :]


def render(value: "Any") -> str:
    """Two-space JSON with a final newline; numbers may be tokens or Python numbers."""
    return Writer(Node("", 0, 0, 0, None, None)).pick(Fresh(to_tokens(value)), "", OURS) + "\n"


def _plan_rewrite(node: "Node | None", value: "Any") -> "Any":
    if node is None:
        return Fresh(value)
    if node.value == value:
        return node
    members = node.members
    if type(members) is dict and type(value) is dict:
        entries = []
        for key, child in value.items():
            member = members.get(key)
            entries.append(Entry(key, _plan_rewrite(member, child), member))
        return Built(node, entries)
    if type(members) is list and type(value) is list:
        pairs = _match_items(members, value)
        return Built(node, [Entry(None, _plan_rewrite(member, item), member) for member, item in pairs])
    return Fresh(value)


def _match_items(members: "list[Node]", values: "list[Any]") -> "list[tuple[Node | None, Any]]":
    """Equal ones first, from both ends, then in order."""
    head, tail = shared_ends([[member.value for member in members], values])
    old, new = members[head : len(members) - tail], values[head : len(values) - tail]
    continued: list[Node | None] = list(old)
    if len(old) != len(new):
        continued, rest = [], old
        for value in new:
            member = next((member for member in rest if member.value == value), None)
            if member is not None:
                rest = rest[rest.index(member) + 1 :]
            continued.append(member)
    return list(zip([*members[:head], *continued, *members[len(members) - tail :]], values, strict=True))


def shared_ends(lists: "Sequence[Sequence[Any]]") -> "tuple[int, int]":
    """How many items all begin with alike, and how many of the others they end with alike."""
    first, *others = lists
    shortest = min(map(len, lists))
    head = tail = 0
    while head < shortest and all(other[head] == first[head] for other in others):
        head += 1
    while tail < shortest - head and all(other[-1 - tail] == first[-1 - tail] for other in others):
        tail += 1
    return head, tail
