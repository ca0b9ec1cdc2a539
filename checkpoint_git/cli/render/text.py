"""Outcomes as text for people. All text is untrusted: nothing reaches the terminal unescaped."""

from collections.abc import Iterable, Iterator
from itertools import islice

from checkpoint_git.cli.render.screen import GAP, GLYPHS, Screen, join, measure, paint
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line, Outcome, Style, Table
from checkpoint_git.core.terminal_text import escape_controls

_LEVEL_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}
_PIECE = 2_000  # lines


def render(command: str, outcome: Outcome, screen: Screen) -> Iterator[str]:
    lines = _render_lines(outcome, screen)
    while piece := list(islice(lines, _PIECE)):
        yield "\n".join(piece) + "\n"


def _render_lines(outcome: Outcome, screen: Screen) -> Iterator[str]:
    for block in () if screen.quiet else outcome.blocks:
        yield from render_block(block, screen)
    for finding in outcome.findings:
        yield from render_finding(finding, screen)
    for block in () if screen.quiet else outcome.summary:
        yield from render_block(block, screen)


def render_block(block: Block, screen: Screen) -> Iterable[str]:
    if isinstance(block, Table):
        return _render_table(block, screen)
    text = _said(block, screen)
    if block.hang < 0 or not screen.width or measure(text) <= screen.width:
        return [paint(text, block.style, screen)]
    from checkpoint_git.cli.render.narrow import wrap

    return [paint(line, block.style, screen) for line in wrap(text, screen.width, block.hang)]


def render_finding(finding: Finding, screen: Screen) -> list[str]:
    """`path:line:column: level: message [code]`, and the hint below."""
    place = ":".join([finding.path, *(str(number) for number in (finding.line, finding.column) if number)])
    level = paint(finding.level, _LEVEL_STYLES[finding.level], screen)
    start = f"{escape_controls(place)}: " if finding.path else ""
    code = paint(f"[{escape_controls(finding.code)}]", "dim", screen)
    lines = [f"{start}{level}: {escape_controls(finding.message)} {code}"]
    if finding.hint:
        lines.append(paint(f"  {escape_controls(finding.hint)}", "dim", screen))
    return lines


def _said(line: Line, screen: Screen) -> str:
    text = escape_controls(line.text)
    if not (line.glyph and screen.glyphs):
        return text
    bare = text.lstrip(" ")
    return f"{text[: len(text) - len(bare)]}{GLYPHS[line.glyph]} {bare}"


# tables


def _render_table(table: Table, screen: Screen) -> Iterator[str]:
    header = tuple(Line(text, "strong") for text in table.headers)
    said = [tuple(_said_cell(cell, screen) for cell in row) for row in (header, *table.rows)]
    widths = [max(measure(row[at].text) for row in said) for at in range(len(header))]
    if screen.width and sum(widths) + len(GAP) * (len(widths) - 1) > screen.width:
        from checkpoint_git.cli.render.narrow import squeeze

        return squeeze(table, said, widths, screen)
    return (join(row, widths, screen) for row in said)


def _said_cell(cell: str | Line, screen: Screen) -> Line:
    if isinstance(cell, str):
        return Line(escape_controls(cell))
    return cell._replace(text=_said(cell, screen))
