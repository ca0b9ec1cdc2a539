"""Conflicts as text: markers around only the lines that differ, so that either side's choice is valid JSON.

It turns a writer's segments into lines, and knows nothing of what the lines mean.
"""

from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS, Alternatives, value_of
from checkpoint_git.core.terminal_text import escape_controls, say_value
from checkpoint_git.merge.items import canonical_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Lines = list[str]


def say_side(side: "Any", limit: int = 60) -> str:
    """One side of a conflict (a Choice) in a few words; of a list that both sides reordered there is only the order."""
    if side is not None and not hasattr(side, "value"):
        return "another order"
    return say_value(None if side is None else canonical_text(value_of(side, OURS)), limit)


def label_of(where: str) -> str:
    """A conflict's place as its markers name it."""
    return escape_controls(where) or "/"


class Region:
    """Consecutive lines that differ by side: three lists of lines with their line ends."""

    __slots__ = ("sides", "wheres")

    def __init__(self, sides: "tuple[str, str, str]", wheres: "list[str]") -> None:
        self.sides = sides
        self.wheres = wheres


def split_regions(segments: "list[str | Alternatives]") -> "list[str | Region]":
    """The segments as whole lines: text that all sides share, and regions that they do not."""
    chunks: list[str | Region] = []
    shared = ""
    open_sides: list[str] | None = None
    wheres: list[str] = []
    for segment in segments:
        if isinstance(segment, Alternatives):
            if open_sides is None:
                cut = shared.rfind("\n") + 1
                chunks.append(shared[:cut])
                open_sides, wheres, shared = [shared[cut:]] * 3, [], ""
            open_sides = [side + text for side, text in zip(open_sides, segment.texts, strict=True)]
            if segment.where not in wheres:
                wheres.append(segment.where)
        elif open_sides is None:
            shared += segment
        else:
            line, newline, rest = segment.partition("\n")
            open_sides = [side + line + newline for side in open_sides]
            if newline:
                chunks.append(Region((open_sides[OURS], open_sides[BASE], open_sides[THEIRS]), wheres))
                open_sides, shared = None, rest
    if open_sides is not None:
        chunks.append(Region((open_sides[OURS], open_sides[BASE], open_sides[THEIRS]), wheres))
    chunks.append(shared)
    return [chunk for chunk in _joined(chunks) if chunk != ""]


def _joined(chunks: "list[str | Region]") -> "list[str | Region]":
    joined: list[str | Region] = []
    for chunk in chunks:
        last = joined[-1] if joined else None
        if isinstance(chunk, Region) and isinstance(last, Region) and set(chunk.wheres) & set(last.wheres):
            ours, base, theirs = [before + after for before, after in zip(last.sides, chunk.sides, strict=True)]
            joined[-1] = Region((ours, base, theirs), list(dict.fromkeys(last.wheres + chunk.wheres)))
        elif chunk != "":
            joined.append(chunk)
    return joined


def write_marked(segments: "list[str | Alternatives]", size: int, eol: str) -> str:
    """The text of a writer's segments, with conflict markers of the given size where the sides differ."""
    chunks = split_regions(segments)
    return "".join([chunk if isinstance(chunk, str) else _marked(chunk, size, eol) for chunk in chunks])


def _marked(region: Region, size: int, eol: str) -> str:
    head, (ours, base, theirs), tail = _trimmed([split_lines(side) for side in region.sides])
    if ours == theirs:
        return "".join(head + ours + tail)
    where = " ".join([label_of(pointer) for pointer in region.wheres])
    return "".join(
        [
            *head,
            f"{'<' * size} ours: {where}{eol}",
            *_ended(ours, eol),
            f"{'|' * size} base: {where}{eol}",
            *_ended(base, eol),
            f"{'=' * size}{eol}",
            *_ended(theirs, eol),
            f"{'>' * size} theirs: {where}{eol}",
            *tail,
        ]
    )


def split_lines(text: str) -> "Lines":
    """The lines with their ends. Only a newline ends one: str.splitlines would cut JSON texts at U+2028 and others."""
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _trimmed(sides: "list[Lines]") -> "tuple[Lines, list[Lines], Lines]":
    """What ours and theirs begin and end with alike stays outside the markers."""
    ours, base, theirs = sides
    shorter = min(len(ours), len(theirs))
    head = 0
    while head < shorter and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < shorter - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    top, bottom = ours[:head], ours[len(ours) - tail :]
    base = base[_alike(base, top) :]
    base = base[: len(base) - _alike(base[::-1], bottom[::-1])]
    return top, [ours[head : len(ours) - tail], base, theirs[head : len(theirs) - tail]], bottom


def _alike(lines: "Lines", others: "Lines") -> int:
    # how many lines both begin with; a comma at a line's end depends on what follows, and does not count
    count = 0
    for line, other in zip(lines, others, strict=False):
        if line.rstrip(",\r\n") != other.rstrip(",\r\n"):
            break
        count += 1
    return count


def _ended(lines: "Lines", eol: str) -> "Lines":
    """The lines with the last one ended, for a marker must begin a line."""
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + eol] if lines else []
