"""A page for people as a value: sections of blocks that a verb fills and the report draws. Texts are a stranger's."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Tone = Literal["", "good", "warn", "bad", "info", "dim"]
Kind = Literal["progress", "decision", "blocker", "broken", "other"]


class Text(NamedTuple):
    """A piece of text. link: an address, which the report checks before it makes a link of it; "#..." is on the page.

    is_code: letters of one width. is_badge: a label with a background in its tone.
    """

    text: str
    tone: Tone = ""
    link: str = ""
    is_code: bool = False
    is_badge: bool = False


class Bar(NamedTuple):
    """So many of so many. what: of what, in the plural."""

    part: int
    whole: int
    what: str


Cell = str | Text | Bar


class Prose(NamedTuple):
    """A paragraph; its line ends stay."""

    text: str
    tone: Tone = ""


class Item(NamedTuple):
    """One thing of a list. label: a badge before it. notes: smaller lines below."""

    text: str
    label: Text | None = None
    notes: Sequence[Text] = ()


class Items(NamedTuple):
    """A list under a title, which may be "". is_ordered: its order means something. more: how many are not shown."""

    title: str
    items: Sequence[Item]
    is_ordered: bool = False
    more: int = 0
    tone: Tone = ""


class Grid(NamedTuple):
    """A table. caption: what it is, for those who hear it too. Each row's first cell is the row's header."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    more: int = 0


class Card(NamedTuple):
    """One skill on the board. link: to where it is told in full."""

    title: str
    link: str
    badges: Sequence[Text]
    facts: Sequence[str]
    bar: Bar | None
    text: str


class Column(NamedTuple):
    """Cards of one kind."""

    title: str
    tone: Tone
    cards: Sequence[Card]


class Board(NamedTuple):
    """Columns side by side, one below the other where there is no room."""

    columns: Sequence[Column]


class Mark(NamedTuple):
    """Something that happened. at: seconds since 1970."""

    at: int
    kind: Kind
    text: str


class Lane(NamedTuple):
    """The marks of one skill."""

    name: str
    marks: Sequence[Mark]


class Timeline(NamedTuple):
    """Lanes over one span of time. title, description: for those who do not see it."""

    title: str
    description: str
    lanes: Sequence[Lane]


class Fold(NamedTuple):
    """Blocks that can be folded away under a title."""

    anchor: str
    title: str
    badges: Sequence[Text]
    blocks: "Sequence[Block]"
    is_open: bool = False
    is_heading: bool = False


Block = Prose | Items | Grid | Board | Timeline | Fold


class Section(NamedTuple):
    """A part of the page with a heading. note: a word beside it."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    note: str = ""
    tone: Tone = ""


class Page(NamedTuple):
    """title: of the window and the first heading. facts: what stands below it. chips: what there is, counted."""

    title: str
    facts: Sequence[str]
    chips: Sequence[Text]
    sections: Sequence[Section]
    notes: Sequence[str]
