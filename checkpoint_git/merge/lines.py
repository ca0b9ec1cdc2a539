"""Merge JSON Lines: find which files are such, and write each record on a line."""

from checkpoint_git.core.jsonlines import begins_with_record
from checkpoint_git.core.jsontext import JsonTextError, Node, decode, parse
from checkpoint_git.core.jsonwrite import Style
from checkpoint_git.merge.layout import Alternatives, ResultWriter, flatten, picked
from checkpoint_git.merge.result import SIDES, Built, Choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.merge.layout import Segments
    from checkpoint_git.merge.result import Entry


def are_lines(versions: "list[bytes]") -> bool:
    """Whether three versions, of which at least one is not a JSON document, are JSON Lines.

    Each has to be empty or to begin with a record: what follows may be broken, and is then reported
    by its line. If all that are not empty are documents, they are not JSON Lines.
    """
    try:
        texts = [decode(data) for data in versions]
    except JsonTextError:
        return False

    written = [text for text in texts if text.strip()]
    if all(map(_is_document, written)):
        return False
    return all(map(begins_with_record, written))


def _is_document(text: str) -> bool:
    try:
        parse(text)
    except JsonTextError:
        return False
    return True


class LineWriter(ResultWriter):
    """Lays out a list of records with a line each.

    A record that the target has keeps its line, byte for byte.
    """

    def __init__(self, target: Node, *sources: "Node | None") -> None:
        super().__init__(target, *sources)
        records = target.children
        if records:
            self.style = Style(records[0])
        self.around = _read_around(target.text, records, self.style.eol)

    def lay_out_document(self, result: "Any") -> "Segments":
        """Return the segments of a list of records. Each line has its end, also the last one."""
        out: Segments = []
        if type(result) is Built:
            for entry in result.entries:
                self._emit_line(entry, out)
        elif type(result) is Choice:
            texts = ["", "", ""]
            for side in SIDES:
                part = result.sides[side]
                if part is not None:
                    texts[side] = picked(self.lay_out_document(part), side)
            out.append(Alternatives(result.where, texts))
        elif result.value:
            out.append(result.source + self.style.eol)

        return out

    def _emit_line(self, entry: "Entry", out: "Segments") -> None:
        before, after = self.around.get(id(entry.source), ("", self.style.eol))
        result = entry.result
        if type(result) is Choice:
            texts = ["", "", ""]
            for side in SIDES:
                part = result.sides[side]
                if part is not None:
                    texts[side] = before + picked(self._lay_out_record(part), side) + after
            out.append(Alternatives(result.where, texts))
            return

        out.append(before)
        out += self._lay_out_record(result)
        out.append(after)

    def _lay_out_record(self, result: "Any") -> "Segments":
        pieces: Segments = []
        self.emit(result, "", pieces)
        return [flatten(piece) for piece in pieces]


def _read_around(text: str, records: "list[Node]", eol: str) -> "dict[int, tuple[str, str]]":
    """Return what is before and after each record: empty lines above it, blanks, its line end."""
    around: dict[int, tuple[str, str]] = {}
    before = ""
    for number, record in enumerate(records):
        if number + 1 == len(records):
            around[id(record)] = (before, eol)
            break
        gap = text[record.end : records[number + 1].start]
        end = gap.index("\n") + 1
        around[id(record)] = (before, gap[:end])
        before = gap[end:]

    return around


def fit_end(segments: "Segments", after: str) -> str:
    """Return what follows the last line, which has its end already.

    If nothing is to follow, that end is removed from the segments.
    """
    for eol in ("\r\n", "\n"):
        if after.startswith(eol):
            return after.removeprefix(eol)

    if segments and not after:
        last = segments[-1]
        if isinstance(last, Alternatives):
            texts = [_without_end(text) for text in last.texts]
            segments[-1] = Alternatives(last.where, texts, last.place)
        else:
            segments[-1] = _without_end(last)

    return after


def _without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
