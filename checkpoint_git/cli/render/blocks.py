"""Render lines, tables, findings and hints as text for a screen.

All text is untrusted: it is escaped first.
"""

from collections.abc import Iterable, Iterator, Sequence

from checkpoint_git.cli.render.screen import GAP, GLYPHS, Screen, join, measure, paint
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, change_texts
from checkpoint_git.core.outcome import Block, Line, Style, Table
from checkpoint_git.core.terminal_text import escape_controls

LEVEL_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}


def render_block(block: Block, screen: Screen) -> Iterable[str]:
    if isinstance(block, Table):
        return _render_table(block, screen)
    text = _write_line(block._replace(text=block.whole, hint=""), screen)
    if block.hint and screen.width and measure(text) > screen.width:
        lines = _render_with_hint(block, screen)
    elif block.hang < 0:
        lines = [text]
    else:
        lines = fold(text, screen, block.hang)
    return [paint(line, block.style, screen) for line in lines]


def _render_with_hint(line: Line, screen: Screen) -> list[str]:
    """Return a line that is too long for the screen together with its hint, and the hint below."""
    from checkpoint_git.cli.render import narrow

    hint = change_texts(line.hint, escape_controls)
    text = _write_line(line, screen)
    if not line.text.strip():
        return narrow.fold_hint(hint, screen.width, _count_indent(text))
    folded = fold(text, screen, line.hang)
    return folded + narrow.fold_hint(hint, screen.width, _count_indent(text) + 2)


def fold(text: str, screen: Screen, hang: int = 0) -> list[str]:
    """Return the text in lines that fit the screen. hang: the blanks before all but the first."""
    if not screen.width or measure(text) <= screen.width:
        return [text]
    from checkpoint_git.cli.render import narrow

    return narrow.wrap(text, screen.width, hang or _count_indent(text) + 2)


def _count_indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def render_finding(finding: Finding, screen: Screen) -> list[str]:
    """Return `path:line:column: level: message [code]`, and the hint below."""
    start = f"{escape_controls(finding.place)}: " if finding.path else ""
    code = f" [{escape_controls(finding.code)}]" if finding.code else ""
    lines = fold(f"{start}{finding.level}: {escape_controls(finding.message)}{code}", screen)

    level = paint(finding.level, LEVEL_STYLES[finding.level], screen)
    place, rest = lines[0][: len(start)], lines[0][len(start) :]
    lines[0] = place + rest.replace(finding.level, level, 1)
    if code and lines[-1].endswith(code):
        lines[-1] = lines[-1].removesuffix(code) + paint(code, "dim", screen)

    hint = [paint(line, "dim", screen) for line in render_hint(finding.hint, screen)]
    return lines + hint


def render_hint(hint: AnyHint, screen: Screen) -> list[str]:
    """Return the lines of a hint, indented. Prose is wrapped; a command stays whole."""
    if not hint:
        return []
    hint = change_texts(hint, escape_controls)
    text = f"  {hint}"
    if not screen.width or measure(text) <= screen.width:
        return [text]
    from checkpoint_git.cli.render import narrow

    return narrow.fold_hint(hint, screen.width)


def _write_line(line: Line, screen: Screen) -> str:
    """Return the escaped text of a line, with its glyph if the screen shows any."""
    text = escape_controls(line.text)
    if not (line.glyph and screen.glyphs):
        return text
    bare = text.lstrip(" ")
    return f"{text[: len(text) - len(bare)]}{GLYPHS[line.glyph]} {bare}"


def _make_cells(row: Sequence[str | Line], screen: Screen) -> list[Line]:
    """Return the cells of a row as they are written, before they are cut."""
    cells = [Line(cell) if isinstance(cell, str) else cell for cell in row]
    return [cell._replace(text=_write_line(cell, screen)) for cell in cells]


def _render_table(table: Table, screen: Screen) -> Iterator[str]:
    header = [Line(text, "strong") for text in table.headers]
    visible = [_make_cells(row, screen) for row in (header, *table.rows)]
    widths = list[int]()
    for column in range(len(header)):
        widths.append(max(measure(row[column].text) for row in visible))

    if screen.width and sum(widths) + len(GAP) * (len(widths) - 1) > screen.width:
        from checkpoint_git.cli.render.narrow import squeeze

        return squeeze(table, visible, widths, screen)

    return (join(row, widths, screen) for row in visible)
