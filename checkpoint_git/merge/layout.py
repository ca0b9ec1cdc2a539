"""Lay a result out as text: whose layout it has, and which of its pieces depend on the side."""

from checkpoint_git.core.jsontext import Node, join_pointer
from checkpoint_git.core.jsonwrite import Frame, Writer, brackets_of, on_one_line
from checkpoint_git.merge.items import shared_ends
from checkpoint_git.merge.result import SIDES, Built, Choice, Entry, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from checkpoint_git.merge.result import Result

    Segments: TypeAlias = "list[str | Alternatives]"


class Alternatives:
    """A piece of text that depends on the side.

    texts: that of each of SIDES. where, note: of the Choice. place: where the texts are, if that is
    not the place of the conflict, as for members of a group; "" if all are equal.
    """

    __slots__ = ("note", "place", "texts", "where")

    def __init__(
        self, where: str, texts: "Sequence[str]", place: "str | None" = None, note: str = ""
    ) -> None:
        self.where = where
        self.place = where
        if place is not None:
            self.place = place
        self.texts = texts
        self.note = note

    def on_one_line(self) -> "Alternatives":
        """Return it without the line ends of its texts' layout."""
        texts = [on_one_line(text) for text in self.texts]
        return Alternatives(self.where, texts, self.place, self.note)


def picked(segments: "Segments", side: int) -> str:
    """Return the text that a side gets."""
    texts = []
    for piece in segments:
        if isinstance(piece, Alternatives):
            texts.append(piece.texts[side])
        else:
            texts.append(piece)
    return "".join(texts)


def flatten(piece: "str | Alternatives") -> "str | Alternatives":
    """Return a piece without the line ends of its layout."""
    if isinstance(piece, Alternatives):
        return piece.on_one_line()
    return on_one_line(piece)


class ResultWriter(Writer):
    """Lays a result out as segments: text, and Alternatives where the text depends on the side."""

    def lay_out_document(self, result: "Any") -> "Segments":
        """Return the segments of a whole document."""
        return self.lay_out(result, "")

    def lay_out(self, result: "Any", lead: str) -> "Segments":
        """Return the segments of a result. lead: the indentation of the line that it begins on."""
        out: Segments = []
        self.emit(result, lead, out)
        return out

    def emit(self, result: "Any", lead: str, out: "Segments") -> None:
        """Append the segments of a result."""
        kind = type(result)
        if kind is Node:
            out.append(self.node_text(result, lead))
        elif kind is Built:
            self._emit_built(result, lead, out)
        elif kind is Choice:
            texts = ["", "", ""]
            for side in SIDES:
                part = result.sides[side]
                if part is not None:
                    texts[side] = picked(self.lay_out(part, lead), side)
            out.append(Alternatives(result.where, texts, note=result.note))
        else:
            out.append(self.value_text(result.value, lead))

    def _emit_built(self, built: Built, lead: str, out: "Segments") -> None:
        entries = built.entries
        opening, closing = brackets_of(built.anchor.value)
        if not entries:
            out.append(opening + closing)
            return

        frame = self.frame_of(built.anchor, built.like, lead)
        lasts = [_find_last(entries, side) for side in SIDES]
        out.append(opening)
        previous: Node | None = None
        for number, entry in enumerate(entries):
            gap = frame.first_gap
            if number:
                before_comma, _, gap = frame.between(previous, entry.source).partition(",")
                out += [before_comma, _comma(entries, number, lasts)]
            self._emit_member(entry, gap, frame, out)
            previous = entry.source

        out.append(frame.last_gap + closing)

    def _emit_member(self, entry: Entry, gap: str, frame: Frame, out: "Segments") -> None:
        start = gap
        if entry.key is not None:
            start += self.key_text(entry.key, entry.source)
        lead = self.lead_of_member(frame, entry.source)
        if entry.is_optional:
            out.append(self._lay_out_optional(entry, start, lead, frame))
            return

        out.append(start)
        first = len(out)
        self.emit(entry.result, lead, out)
        if type(entry.result) is Choice:
            choice = entry.result
            texts = out[-1].texts  # type: ignore[union-attr]  # a Choice is one piece
            out[-1] = Alternatives(choice.where, texts, _place_of(entry), choice.note)

        if frame.inner is None and not self._keeps_layout(entry.result):
            out[first:] = [flatten(piece) for piece in out[first:]]

    def _lay_out_optional(self, entry: Entry, start: str, lead: str, frame: Frame) -> Alternatives:
        """Return a member that a side does not have, with its key.

        start: what is before its value.
        """
        choice = entry.result
        texts = ["", "", ""]
        for side in SIDES:
            result = choice.sides[side]
            if result is None:
                continue
            text = picked(self.lay_out(result, lead), side)
            if frame.inner is None and not self._keeps_layout(result):
                text = on_one_line(text)
            texts[side] = start + text

        return Alternatives(choice.where, texts, _place_of(entry))

    def _keeps_layout(self, result: "Result") -> bool:
        """Whether a result is laid out as in the target, and not anew."""
        if isinstance(result, Built):
            return bool(result.anchor.value)
        return isinstance(result, Node) and result.text is self.text


def _place_of(entry: Entry) -> "str | None":
    """Return the place of a conflict's member; "" if ours and theirs agree on it, None if it is the
    place of the conflict.
    """
    choice = entry.result
    if not choice.group or entry.key is None:
        return None
    ours, _, theirs = [value_of(part, side) for side, part in enumerate(choice.sides)]
    if ours == theirs:
        return ""
    return join_pointer(choice.where.rpartition("/")[0], entry.key)


def _find_last(entries: "list[Entry]", side: int) -> int:
    """Return the number of the last entry that a side has, -1 if it has none."""
    for number in range(len(entries) - 1, -1, -1):
        if entries[number].is_on(side):
            return number
    return -1


def _comma(entries: "list[Entry]", number: int, lasts: "list[int]") -> "str | Alternatives":
    """Return what separates a member from those before it.

    That is nothing on a side that has no member before it, or none from it on. lasts: the number of
    the last member on each side.
    """
    before = entries[number - 1]
    if not before.is_optional and not entries[number].is_optional:
        return ","
    commas = ["", "", ""]
    for side in SIDES:
        if before.is_on(side) and lasts[side] >= number:
            commas[side] = ","
    if commas[0] == commas[1] == commas[2]:
        return commas[0]

    optional = before
    for entry in entries[number:]:
        if entry.is_optional:
            optional = entry
            break
    return Alternatives(optional.result.where, commas)


def lays_out_theirs(base: "Node | None", ours: Node, theirs: Node) -> bool:
    """Whether to write into theirs: it alone reformatted base, or else it is the smaller text."""
    is_ours_anew = _is_laid_out_anew(base, ours)
    is_theirs_anew = _is_laid_out_anew(base, theirs)
    if is_ours_anew == is_theirs_anew:
        return theirs.text < ours.text
    return is_theirs_anew


def _is_laid_out_anew(base: "Node | None", side: Node) -> bool:
    """Whether something that has the same value, or is between the same members, has another text
    than in base.
    """
    if base is None or side.text == base.text:
        return False
    stack = [(base, side)]
    while stack:
        old, new = stack.pop()
        if old.value == new.value:
            if old.source != new.source:
                return True
            continue
        before, after = old.members, new.members
        if type(before) is dict and type(after) is dict:
            gaps = _read_gaps(old, before)
            for pair, gap in _read_gaps(new, after).items():
                if gaps.get(pair, gap) != gap:
                    return True
            stack += [(before[key], after[key]) for key in before if key in after]
        elif type(before) is list and type(after) is list:
            stack += _pair_items(before, after)

    return False


def _pair_items(before: "list[Node]", after: "list[Node]") -> "list[tuple[Node, Node]]":
    """Return the items at the shared ends of two lists; all items if the lists are as long."""
    if len(before) == len(after):
        return list(zip(before, after, strict=True))
    head, tail = shared_ends([[item.value for item in items] for items in (before, after)])
    pairs = list(zip(before[:head], after[:head], strict=True))
    pairs += zip(before[len(before) - tail :], after[len(after) - tail :], strict=True)
    return pairs


def _read_gaps(node: Node, members: "dict[str, Node]") -> "dict[tuple[str, str], str]":
    """Return what is between the values of two members that follow each other, by their keys.

    That is line ends, indentation, and the second key as it is spelled.
    """
    gaps = {}
    last = ""
    end = node.start
    for key, member in members.items():
        gaps[last, key] = node.text[end : member.start]
        last = key
        end = member.end
    return gaps
