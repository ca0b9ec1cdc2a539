"""Write conflicts as text: with markers around only the lines that differ.

Either side's lines, without the markers, are valid JSON.
"""

from checkpoint_git.core.terminal_text import escape_controls, say_value
from checkpoint_git.merge.items import canonical_text, shared_ends
from checkpoint_git.merge.layout import Alternatives
from checkpoint_git.merge.result import OURS, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Lines = list[str]


def say_side(side: "Any", limit: int = 60) -> str:
    """Return what a side has, for a message."""
    if side is None:
        return say_value(None, limit)
    if not hasattr(side, "value"):
        return "another order"  # of a list that both sides reordered there is only the order
    return say_value(canonical_text(value_of(side, OURS)), limit)


def say_question(options: str, path: str = "") -> str:
    """Return what is open if no side answers, and the command that answers it.

    path: a word that names the file.
    """
    command = f"checkpoint resolve {path}".rstrip()
    return f"nothing is left to do; add what is next: {command} {options}"


def label_of(where: str) -> str:
    return escape_controls(where) or "/"


class Region:
    """Consecutive lines that differ by side.

    sides: ours, base, theirs. wheres: the conflicts that they are of. places: where the lines are,
    if not at wheres. notes: those of the questions in it that no side answers.
    """

    __slots__ = ("notes", "places", "sides", "wheres")

    def __init__(
        self, sides: "list[str]", wheres: "list[str]", places: "list[str]", notes: "list[str]"
    ) -> None:
        self.sides = sides
        self.wheres = wheres
        self.places = places
        self.notes = notes

    @property
    def label(self) -> str:
        """Return what is behind a marker."""
        places = dict.fromkeys(self.places or self.wheres)
        label = " ".join(map(label_of, places))
        others = [where for where in self.wheres if where not in places]
        if others:
            label += f" with {' '.join(map(label_of, others))}"
        return label


class _OpenRegion:
    """A region whose last line is not complete yet.

    sides: the pieces of each, for a line may have thousands of them.
    """

    __slots__ = ("notes", "places", "sides", "wheres")

    def __init__(self, line: str) -> None:
        self.sides = [[line], [line], [line]]
        self.wheres: dict[str, None] = {}
        self.places: list[str] = []
        self.notes: list[str] = []

    def add(self, alternatives: Alternatives) -> None:
        for side, text in zip(self.sides, alternatives.texts, strict=True):
            side.append(text)
        self.wheres[alternatives.where] = None
        if alternatives.place or not alternatives.where:
            self.places.append(alternatives.place)
        if alternatives.note:
            self.notes.append(alternatives.note)

    def add_shared(self, text: str) -> None:
        for side in self.sides:
            side.append(text)

    def close(self) -> Region:
        return Region(
            ["".join(side) for side in self.sides], list(self.wheres), self.places, self.notes
        )


def split_regions(segments: "list[str | Alternatives]") -> "list[str | Region]":
    """Return the segments as whole lines: text that all sides share, and regions that differ.

    There is one region for each conflict, if its lines are next to each other.
    """
    joined: list[str | Region] = []
    for chunk in _cut_lines(segments):
        between = ""
        if _is_bridge(joined, chunk):
            between = str(joined.pop())
        last = joined[-1] if joined else None
        if isinstance(chunk, Region) and isinstance(last, Region) and _share_place(last, chunk):
            joined[-1] = _join_regions(last, between, chunk)
        elif chunk != "":
            joined.append(chunk)

    return joined


def _cut_lines(segments: "list[str | Alternatives]") -> "list[str | Region]":
    """Return shared text and regions, each of whole lines; some of the texts are empty."""
    chunks: list[str | Region] = []
    shared: list[str] = []
    region: _OpenRegion | None = None
    for segment in segments:
        if isinstance(segment, Alternatives):
            if region is None:
                above, newline, line = "".join(shared).rpartition("\n")
                chunks.append(above + newline)
                shared = []
                region = _OpenRegion(line)
            region.add(segment)
        elif region is None:
            shared.append(segment)
        else:
            line, newline, rest = segment.partition("\n")
            region.add_shared(line + newline)
            if newline:
                chunks.append(region.close())
                shared = [rest]
                region = None

    if region is not None:
        chunks.append(region.close())
    chunks.append("".join(shared))
    return chunks


def _share_place(first: Region, second: Region) -> bool:
    """Whether two regions are of one conflict."""
    return not set(first.wheres).isdisjoint(second.wheres)


def _join_regions(first: Region, between: str, second: Region) -> Region:
    """Return one region of two, and of the text between them, which each side has."""
    sides = [
        f"{above}{between}{below}" for above, below in zip(first.sides, second.sides, strict=True)
    ]
    wheres = list(dict.fromkeys(first.wheres + second.wheres))
    return Region(sides, wheres, first.places + second.places, first.notes + second.notes)


def _is_bridge(joined: "list[str | Region]", chunk: "str | Region") -> bool:
    """Whether the last of the joined chunks is a single line between two regions of a conflict.

    Inside a region it is there three times, and saves four lines of markers.
    """
    if len(joined) < 2 or not isinstance(chunk, Region) or not isinstance(joined[-1], str):
        return False
    first = joined[-2]
    return isinstance(first, Region) and _share_place(first, chunk) and joined[-1].count("\n") == 1


def write_marked(segments: "list[str | Alternatives]", size: int, eol: str) -> str:
    """Return the segments as one text, with markers of a size around what differs by side."""
    texts = []
    for chunk in split_regions(segments):
        if isinstance(chunk, Region):
            texts.append(_marked(chunk, size, eol))
        else:
            texts.append(chunk)
    return "".join(texts)


def _marked(region: Region, size: int, eol: str) -> str:
    ours, base, theirs = [split_lines(side) for side in region.sides]
    if ours == theirs and not region.notes:
        return "".join(ours)
    # lines that ours and theirs begin and end with stay outside the markers, unless there is
    # nothing else
    above = below = 0
    if ours != theirs:
        above, below = shared_ends([ours, theirs])
    head, tail = ours[:above], ours[len(ours) - below :]
    base = base[_count_alike(base, head) :]
    base = base[: len(base) - _count_alike(base[::-1], tail[::-1])]
    where = region.label
    notes = "".join([f" ({say_question(note)})" for note in region.notes])
    return "".join(
        [
            *head,
            f"{'<' * size} ours: {where}{notes}{eol}",
            *_ended(ours[above : len(ours) - below], eol),
            f"{'|' * size} base: {where}{eol}",
            *_ended(base, eol),
            f"{'=' * size}{eol}",
            *_ended(theirs[above : len(theirs) - below], eol),
            f"{'>' * size} theirs: {where}{eol}",
            *tail,
        ]
    )


def split_lines(text: str) -> "Lines":
    """Return the lines of a text with their ends.

    Only a newline ends a line: str.splitlines would cut JSON texts at U+2028 and others.
    """
    *lines, last = text.split("\n")
    ended = [line + "\n" for line in lines]
    if last:
        ended.append(last)
    return ended


def _count_alike(lines: "Lines", others: "Lines") -> int:
    """Return how many lines both begin with.

    A comma at the end of a line depends on what follows, and does not count.
    """
    count = 0
    for line, other in zip(lines, others, strict=False):
        if line.rstrip(",\r\n") != other.rstrip(",\r\n"):
            break
        count += 1
    return count


def _ended(lines: "Lines", eol: str) -> "Lines":
    """Return lines of which the last has an end, too: a marker must begin a line."""
    if not lines or lines[-1].endswith("\n"):
        return lines
    return [*lines[:-1], lines[-1] + eol]
