"""Outcomes as text for people. All text is a stranger's: nothing reaches the terminal unescaped."""

from collections.abc import Iterator, Sequence

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line, Outcome, Style, Table
from checkpoint_git.core.safetext import escape_controls
from checkpoint_git.report.screen import GLYPHS, Screen

_CODES: dict[Style, str] = {"strong": "1", "good": "32", "warn": "33", "bad": "31", "dim": "2"}
_LEVEL_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}
_GAP = "  "
_NARROWEST_COLUMN = 6


def render(command: str, outcome: Outcome, screen: Screen) -> str:
    """Blocks, findings, summary; a quiet screen gets the findings alone."""
    lines: list[str] = []
    for block in () if screen.quiet else outcome.blocks:
        lines += render_block(block, screen)
    for finding in outcome.findings:
        lines += render_finding(finding, screen)
    for block in () if screen.quiet else outcome.summary:
        lines += render_block(block, screen)
    return "".join(f"{line}\n" for line in lines)


def render_block(block: Block, screen: Screen) -> list[str]:
    """The lines of a Line or a Table."""
    if isinstance(block, Table):
        return list(_render_table(block, screen))
    return [_paint(_said(block, screen), block.style, screen)]


def render_finding(finding: Finding, screen: Screen) -> list[str]:
    """`path:line:column: level: message [code]`, and the hint below."""
    place = ":".join([finding.path, *(str(number) for number in (finding.line, finding.column) if number)])
    level = _paint(finding.level, _LEVEL_STYLES[finding.level], screen)
    start = f"{escape_controls(place)}: " if finding.path else ""
    code = _paint(f"[{escape_controls(finding.code)}]", "dim", screen)
    lines = [f"{start}{level}: {escape_controls(finding.message)} {code}"]
    if finding.hint:
        lines.append(_paint(f"  {escape_controls(finding.hint)}", "dim", screen))
    return lines


def _said(line: Line, screen: Screen) -> str:
    """The line's text, its sign in front of what is indented."""
    text = escape_controls(line.text)
    if not (line.glyph and screen.glyphs):
        return text
    bare = text.lstrip(" ")
    return f"{text[: len(text) - len(bare)]}{GLYPHS[line.glyph]} {bare}"


def _paint(text: str, style: Style, screen: Screen) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if screen.colour and style and text else text


# tables


def _render_table(table: Table, screen: Screen) -> Iterator[str]:
    header = tuple(Line(text, "strong") for text in table.headers)
    cells = [header, *(tuple(_cell(cell) for cell in row) for row in table.rows)]
    texts = [[_said(cell, screen) for cell in row] for row in cells]
    widths = _fit([max(measure(row[at]) for row in texts) for at in range(len(header))], screen.width)
    for row, said in zip(cells, texts, strict=True):
        yield _join(row, said, widths, screen)


def _cell(cell: str | Line) -> Line:
    return Line(cell) if isinstance(cell, str) else cell


def _join(row: Sequence[Line], said: Sequence[str], widths: Sequence[int], screen: Screen) -> str:
    """One row; nothing is padded behind its last text."""
    parts, last = [], max((at for at, text in enumerate(said) if text), default=0)
    for at, (cell, text, width) in enumerate(zip(row, said, widths, strict=True)):
        if at > last:
            break
        shown = cut(text, width)
        padding = " " * (width - measure(shown)) if at < last else ""
        parts.append(_paint(shown, cell.style, screen) + padding)
    return _GAP.join(parts)


def _fit(widths: list[int], limit: int) -> list[int]:
    """The columns made narrower, the widest first, until they fit; none below a few letters. limit 0: no limit."""
    spare = len(_GAP) * (len(widths) - 1)
    while limit and sum(widths) + spare > limit and max(widths) > _NARROWEST_COLUMN:
        widths[widths.index(max(widths))] -= 1
    return widths


def measure(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(letter) or letter == "\ufe0f" else 1 + (east_asian_width(letter) in "WF") for letter in text
    )


def cut(text: str, width: int) -> str:
    """As much of a text as goes into a width, with "..." where something was cut."""
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
