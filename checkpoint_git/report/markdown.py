"""Outcomes as Markdown, for a pull request's description or a wiki. A stranger's text becomes no markup."""

import re
from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line, Outcome, Table
from checkpoint_git.core.safetext import escape_controls
from checkpoint_git.report.screen import GLYPHS, Screen

_MARKUP = re.compile(r"([\\`*_{}\[\]|#~!@])")


def render(command: str, outcome: Outcome, screen: Screen) -> str:
    """Paragraphs and tables; the findings are a table of their own."""
    parts = [] if screen.quiet else [_render_block(block) for block in outcome.blocks]
    if outcome.findings:
        headers = ("level", "place", "message", "hint", "code")
        parts.append(_render_block(Table(headers, [_row(finding) for finding in outcome.findings])))
    parts += [] if screen.quiet else [_render_block(block) for block in outcome.summary]
    return "\n".join(part for part in parts if part.strip())


def _row(finding: Finding) -> tuple[str, ...]:
    place = ":".join([finding.path, *(str(number) for number in (finding.line, finding.column) if number)])
    return finding.level, place, finding.message, finding.hint, finding.code


def _render_block(block: Block) -> str:
    if isinstance(block, Table):
        return "".join(f"{line}\n" for line in _table_lines(block))
    return f"{_said(block)}\n"


def _table_lines(table: Table) -> Iterator[str]:
    yield _table_line(table.headers)
    yield "|" + " --- |" * len(table.headers)
    for row in table.rows:
        yield _table_line(row)


def _table_line(row: tuple[str | Line, ...]) -> str:
    return "| " + " | ".join(_said(Line(cell) if isinstance(cell, str) else cell) for cell in row) + " |"


def _said(line: Line) -> str:
    text = escape_markup(line.text)
    shown = f"{GLYPHS[line.glyph]} {text.strip()}" if line.glyph else text
    return f"**{shown.strip()}**" if line.style == "strong" and shown.strip() else shown


def escape_markup(text: str) -> str:
    """Text that Markdown shows as it stands: no emphasis, link, mention, HTML or table border comes of it."""
    shown = escape_controls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", shown)
