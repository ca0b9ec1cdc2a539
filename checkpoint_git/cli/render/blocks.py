"""Lines, tables, findings and hints as text for a screen. All text is untrusted: it is escaped
first.
"""

from collections.abc import Iterable, Iterator

from checkpoint_git.cli.render.screen import GAP, GLYPHS, Screen, join, measure, paint
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, change_texts
from checkpoint_git.core.outcome import Block, Line, Style, Table
from checkpoint_git.core.terminal_text import escape_controls

LEVEL_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}


def render_block(block: Block, screen: Screen) -> Iterable[str]:
    if isinstance(block, Table):
        return _render_table(block, screen)
    text = _said(block._replace(text=block.whole, hint=""), screen)
    if block.hint and screen.width and measure(text) > screen.width:
        from checkpoint_git.cli.render import narrow

        indent = len(text) - len(text.lstrip(" "))
        lines = fold(_said(block, screen), screen, block.hang) if block.text.strip() else []
        lines += narrow.fold_hint(
            change_texts(block.hint, escape_controls), screen.width, indent + len(lines[:1]) * 2
        )
    else:
        lines = [text] if block.hang < 0 else fold(text, screen, block.hang)

    return [paint(line, block.style, screen) for line in lines]


def fold(text: str, screen: Screen, hang: int = 0) -> list[str]:
    if not screen.width or measure(text) <= screen.width:
        return [text]
    from checkpoint_git.cli.render import narrow

    indent = len(text) - len(text.lstrip(" "))
    return narrow.wrap(text, screen.width, hang or indent + 2)


def render_finding(finding: Finding, screen: Screen) -> list[str]:
    """`path:line:column: level: message [code]`, and the hint below."""
    start = f"{escape_controls(finding.place)}: " if finding.path else ""
    code = f" [{escape_controls(finding.code)}]" if finding.code else ""
    lines = fold(f"{start}{finding.level}: {escape_controls(finding.message)}{code}", screen)
    level, rest = paint(finding.level, LEVEL_STYLES[finding.level], screen), lines[0][len(start) :]
    lines[0] = lines[0][: len(start)] + rest.replace(finding.level, level, 1)
    lines[-1] = lines[-1].removesuffix(code) + paint(code, "dim", screen) * lines[-1].endswith(code)
    return lines + [paint(line, "dim", screen) for line in render_hint(finding.hint, screen)]


def render_hint(hint: AnyHint, screen: Screen) -> list[str]:
    """Return the lines of a hint, indented: prose is wrapped, a command stays whole, so that it can
    be copied.
    """
    if not hint:
        return []
    hint = change_texts(hint, escape_controls)
    text = f"  {hint}"
    if not screen.width or measure(text) <= screen.width:
        return [text]
    from checkpoint_git.cli.render import narrow

    return narrow.fold_hint(hint, screen.width)


def _said(line: Line, screen: Screen) -> str:
    text = escape_controls(line.text)
    if not (line.glyph and screen.glyphs):
        return text
    bare = text.lstrip(" ")
    return f"{text[: len(text) - len(bare)]}{GLYPHS[line.glyph]} {bare}"


def _render_table(table: Table, screen: Screen) -> Iterator[str]:
    header = tuple(Line(text, "strong") for text in table.headers)
    cells = (
        [Line(cell) if isinstance(cell, str) else cell for cell in row]
        for row in (header, *table.rows)
    )
    visible = [tuple(cell._replace(text=_said(cell, screen)) for cell in row) for row in cells]
    widths = [max(measure(row[at].text) for row in visible) for at in range(len(header))]
    if screen.width and sum(widths) + len(GAP) * (len(widths) - 1) > screen.width:
        from checkpoint_git.cli.render.narrow import squeeze

        return squeeze(table, visible, widths, screen)

    return (join(row, widths, screen) for row in visible)
