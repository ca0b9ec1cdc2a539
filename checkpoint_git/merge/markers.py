"""Conflicts as text: markers around only the lines that differ, so that either side's choice is valid JSON."""

from checkpoint_git.core.jsonwrite import OURS, Alternatives, shared_ends, value_of
from checkpoint_git.core.terminal_text import escape_controls, say_value
from checkpoint_git.merge.items import canonical_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Lines = list[str]


def say_side(side: "Any", limit: int = 60) -> str:
    if side is not None and not hasattr(side, "value"):
        return "another order"  # of a list that both sides reordered there is only the order
    return say_value(None if side is None else canonical_text(value_of(side, OURS)), limit)


def say_question(options: str, path: str = "") -> str:
    """Return what is open where no side answers, and the command that answers it. path: a word that names the file."""
    command = f"checkpoint resolve {path}".rstrip()
    return f"nothing is left to do; say what is next: {command} {options}"


def label_of(where: str) -> str:
    return escape_controls(where) or "/"


class Region:
    """Consecutive lines that differ by side. sides: ours, base, theirs. places: where they are, if not at wheres.
    notes: of the questions in it that no side answers.
    """

    __slots__ = ("notes", "places", "sides", "wheres")

    def __init__(self, sides: "list[str]", wheres: "list[str]", places: "list[str]", notes: "list[str]") -> None:
        self.sides = sides
        self.wheres = wheres
        self.places = places
        self.notes = notes

    @property
    def label(self) -> str:
        places = dict.fromkeys(self.places or self.wheres)
        others = [where for where in self.wheres if where not in places]
        return " ".join(map(label_of, places)) + (f" with {' '.join(map(label_of, others))}" if others else "")


def split_regions(segments: "list[str | Alternatives]") -> "list[str | Region]":
    """The segments as whole lines: text that all sides share, and regions that they do not, one for each place."""
    chunks: list[str | Region] = []
    shared: list[str] = []
    open_sides: list[list[str]] | None = None  # pieces: a line may hold thousands
    wheres: dict[str, None] = {}
    places: list[str] = []
    notes: list[str] = []
    for segment in segments:
        if isinstance(segment, Alternatives):
            if open_sides is None:
                above, newline, line = "".join(shared).rpartition("\n")
                chunks.append(above + newline)
                open_sides, wheres, places, notes, shared = [[line] for _ in range(3)], {}, [], [], []
            for side, text in zip(open_sides, segment.texts, strict=True):
                side.append(text)
            wheres[segment.where] = None
            if segment.place or not segment.where:
                places.append(segment.place)
            if segment.note:
                notes.append(segment.note)
        elif open_sides is None:
            shared.append(segment)
        else:
            line, newline, rest = segment.partition("\n")
            for side in open_sides:
                side.append(line + newline)
            if newline:
                chunks.append(Region(["".join(side) for side in open_sides], list(wheres), places, notes))
                open_sides, shared = None, [rest]
    if open_sides is not None:
        chunks.append(Region(["".join(side) for side in open_sides], list(wheres), places, notes))
    chunks.append("".join(shared))
    joined: list[str | Region] = []
    for chunk in chunks:
        between = joined.pop() if _is_bridge(joined, chunk) else ""
        last = joined[-1] if joined else None
        if isinstance(chunk, Region) and isinstance(last, Region) and set(chunk.wheres) & set(last.wheres):
            sides = [f"{before}{between}{after}" for before, after in zip(last.sides, chunk.sides, strict=True)]
            wheres_of_both = list(dict.fromkeys(last.wheres + chunk.wheres))
            joined[-1] = Region(sides, wheres_of_both, last.places + chunk.places, last.notes + chunk.notes)
        elif chunk != "":
            joined.append(chunk)
    return joined


def _is_bridge(joined: "list[str | Region]", chunk: "str | Region") -> bool:
    # one line between two regions of a conflict: inside it is read three times, and saves four lines of markers
    if len(joined) < 2 or not isinstance(chunk, Region) or not isinstance(joined[-1], str):
        return False
    first = joined[-2]
    return isinstance(first, Region) and bool(set(first.wheres) & set(chunk.wheres)) and joined[-1].count("\n") == 1


def write_marked(segments: "list[str | Alternatives]", size: int, eol: str) -> str:
    chunks = split_regions(segments)
    return "".join([chunk if isinstance(chunk, str) else _marked(chunk, size, eol) for chunk in chunks])


def _marked(region: Region, size: int, eol: str) -> str:
    ours, base, theirs = [split_lines(side) for side in region.sides]
    if ours == theirs and not region.notes:
        return "".join(ours)
    # what ours and theirs begin and end with alike stays outside the markers, unless there is nothing else
    above, below = shared_ends([ours, theirs]) if ours != theirs else (0, 0)
    head, tail = ours[:above], ours[len(ours) - below :]
    base = base[_count_alike(base, head) :]
    base = base[: len(base) - _count_alike(base[::-1], tail[::-1])]
    where = region.label
    told = "".join([f" ({say_question(note)})" for note in region.notes])
    return "".join(
        [
            *head,
            f"{'<' * size} ours: {where}{told}{eol}",
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
    # only a newline ends a line: str.splitlines would cut JSON texts at U+2028 and others
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _count_alike(lines: "Lines", others: "Lines") -> int:
    # how many lines both begin with; a comma at a line's end depends on what follows, and does not count
    count = 0
    for line, other in zip(lines, others, strict=False):
        if line.rstrip(",\r\n") != other.rstrip(",\r\n"):
            break
        count += 1
    return count


def _ended(lines: "Lines", eol: str) -> "Lines":
    # a marker must begin a line
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + eol] if lines else []
