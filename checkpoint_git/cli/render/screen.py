"""Find what an output stream can show (width, colours, glyphs, encoding), and measure, cut and
paint text for it.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

from checkpoint_git.core.outcome import Line, Style

GLYPHS = {
    "complete": "✅",
    "in_progress": "🔄",
    "not_started": "⏳",
    "blocked": "🚫",
    "failed": "✗",
    "decision": "⛔",
    "stale": "⚠",
}
_DEFAULT_WIDTH = 80
_NARROWEST = 20
# dashes, minus, arrows, dots, quotation marks, bullets, mathematical signs and the no-break space,
# by code point: what people type with care and ASCII lacks
_PLAIN_SPELLINGS = {
    0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2212: "-",
    0x2190: "<-", 0x2192: "->", 0x21D2: "=>", 0x2026: "...",
    0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2022: "*", 0x00B7: "*",
    0x00D7: "x", 0x2264: "<=", 0x2265: ">=", 0x2260: "!=", 0x00A0: " ",
}  # fmt: skip

# a theme -> the styles of an Outcome, as the numbers of a terminal's SGR sequence
THEMES = {
    "dark": {"strong": "1", "good": "32", "warn": "33", "bad": "31", "dim": "2"},
    "light": {"strong": "1", "good": "32", "warn": "35", "bad": "31", "dim": "90"},
    "colorblind": {"strong": "1", "good": "34", "warn": "33", "bad": "1;35", "dim": "2"},
}
_DEFAULT_THEME = "dark"
GAP = "  "  # between two columns
# Unicode categories of marks and joiners, which take no column of their own
_WIDTHLESS = ("Mn", "Me", "Cf")


class Screen(NamedTuple):
    """What an output stream can show, and is to show.

    width: columns, 0 for any. quiet: findings only. theme: a style's name -> its SGR numbers, ""
    for none.
    """

    width: int = 0
    colour: bool = False
    glyphs: bool = False
    quiet: bool = False
    theme: Mapping[str, str] = THEMES[_DEFAULT_THEME]


def read_screen(
    stream: TextIO, env: Mapping[str, str], *, colour: bool = True, quiet: bool = False
) -> Screen:
    try:
        is_terminal = stream.isatty()
    except ValueError:  # it is closed
        is_terminal = False

    rich = (is_terminal and env.get("TERM") != "dumb") or bool(env.get("FORCE_COLOR"))
    return Screen(
        width=_read_width(stream, env) if is_terminal else 0,
        colour=rich and colour and not env.get("NO_COLOR"),
        glyphs=rich and (stream.encoding or "").lower().startswith("utf"),
        quiet=quiet,
        theme=THEMES.get(env.get("CHECKPOINT_COLORS", ""), THEMES[_DEFAULT_THEME]),
    )


def _read_width(stream: TextIO, env: Mapping[str, str]) -> int:
    wished = env.get("COLUMNS", "")
    if wished.isascii() and wished.isdigit() and len(wished) < 6 and int(wished) > 0:
        return max(int(wished), _NARROWEST)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or _DEFAULT_WIDTH, _NARROWEST)


def encode_text(text: str, encoding: str | None) -> bytes:
    """Return the text as bytes. What the encoding lacks is spelled plainly, or escaped by its code
    point.
    """
    encoding = encoding or "utf-8"
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN_SPELLINGS).encode(encoding, "backslashreplace")


def paint(text: str, style: Style, screen: Screen) -> str:
    if not (text and style and screen.colour):
        return text
    code = screen.theme[style]
    if not code:
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def join(row: Sequence[Line], widths: Sequence[int], screen: Screen) -> str:
    """Return the cells of a row in their columns, as one line without blanks at its end."""
    last = max((column for column, cell in enumerate(row) if cell.text), default=0)
    parts = list[str]()
    for column, (cell, width) in enumerate(zip(row[: last + 1], widths, strict=False)):
        text = cut(cell.text, width)
        part = paint(text, cell.style, screen)
        if column < last:
            part += " " * (width - measure(text))
        parts.append(part)

    return GAP.join(parts)


def measure(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    columns = 0
    for letter in text:
        if category(letter) not in _WIDTHLESS:
            columns += 2 if east_asian_width(letter) in "WF" else 1
    return columns


def cut(text: str, width: int) -> str:
    """Return as much of a text as a width has room for, with "..." in place of the rest."""
    if measure(text) <= width:
        return text
    room = width - 3
    kept = ""
    for letter in text:
        room -= measure(letter)
        if room < 0:
            break
        kept += letter
    return f"{kept}..."
