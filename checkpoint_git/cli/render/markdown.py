"""Render outcomes as Markdown, for a pull request's description or a wiki.

Untrusted text never becomes markup.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import cast

from checkpoint_git.cli.render.screen import GLYPHS, Screen
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line, Outcome, Table
from checkpoint_git.core.terminal_text import escape_controls

_MARKUP = re.compile(r"([\\`*_{}\[\]|#~!])")
_MENTION = re.compile(r"@(?=\w)")
# what begins a list, a rule or a heading in a line
_MARKER = re.compile(r"^(?:[-+=](?=[-=\s]|$)|\d{1,9}(?=[.)](?:\s|$)))")

_SHOWING_SOURCE = frozenset(["show"])  # commands that print lines of files, below titles
_PAGE = 1_000_000  # bytes: of a longer one than 1 MB, GitHub shows nothing at all
_CUT = b"\nThe rest stands in the job's log.\n"


def render(command: str, outcome: Outcome, screen: Screen) -> list[str]:
    parts = list[str]()
    if not screen.quiet:
        show = _render_source if command in _SHOWING_SOURCE else _render_blocks
        parts += show(outcome.blocks)

    findings = outcome.findings
    if outcome.digest:
        findings = [finding for finding, _ in outcome.digest.entries]
    if findings:
        parts.append(_render_findings(findings))

    if not screen.quiet:
        parts += _render_blocks(outcome.summary)
    return ["\n".join(parts)]


def cut_page(text: bytes, written: int) -> bytes:
    """Return as many whole lines as a job's page has room for. written: bytes that it has."""
    room = _PAGE - written - len(_CUT)
    if len(text) <= room:
        return text
    if room <= 0:
        return b""
    return text[: text.rfind(b"\n", 0, room) + 1] + _CUT


def _render_findings(findings: Sequence[Finding]) -> str:
    headers = ("level", "place", "message", "hint", "code")
    rows = [
        (finding.level, finding.place, finding.message, str(finding.hint), finding.code)
        for finding in findings
    ]
    return _render_table(Table(headers, rows))


def _render_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield paragraphs, tables and lists. Indented lines that follow each other are one list."""
    shown = (block for block in blocks if isinstance(block, Table) or block.whole.strip())
    for is_list, group in groupby(shown, key=_is_item):
        if is_list:
            items = cast("list[Line]", list(group))
            yield "".join(f"{item}\n" for item in _list_items(items))
            continue
        for block in group:
            if isinstance(block, Table):
                yield _render_table(block)
            else:
                yield f"{_render_line(block)}\n"


def _is_item(block: Block) -> bool:
    return isinstance(block, Line) and block.text.startswith("  ")


def _render_source(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the titles, and the lines of each file between fences that none of them can close."""
    lines = [block for block in blocks if isinstance(block, Line)]
    for is_title, group in groupby(lines, key=lambda line: line.style == "strong"):
        texts = [escape_controls(line.text) for line in group]
        if is_title:
            yield "".join(f"**{escape_markup(text)}**\n" for text in texts)
        else:
            longest_run = max(map(len, re.findall("`*", "\n".join(texts))))
            fence = "`" * max(3, longest_run + 1)
            yield "\n".join([f"{fence}json", *texts, fence]) + "\n"


def _list_items(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the lines as items of a list, nested as they are indented."""
    levels: list[int] = []
    for line in lines:
        text = line.text.lstrip(" ")
        indent = len(line.text) - len(text)
        while levels and levels[-1] > indent:
            levels.pop()
        if not levels or levels[-1] < indent:
            levels.append(indent)
        item = line._replace(text=text.removeprefix("- "))
        yield f"{'  ' * (len(levels) - 1)}- {_render_line(item)}"


def _render_table(table: Table) -> str:
    lines = [_table_line(table.headers), "|" + " --- |" * len(table.headers)]
    lines += [_table_line(row) for row in table.rows]
    return "".join(f"{line}\n" for line in lines)


def _table_line(row: Sequence[str | Line]) -> str:
    cells = [Line(cell) if isinstance(cell, str) else cell for cell in row]
    return f"| {' | '.join(map(_render_line, cells))} |"


def _render_line(line: Line) -> str:
    text = escape_markup(line.whole.strip())
    shown = f"{GLYPHS[line.glyph]} {text}" if line.glyph else text
    if line.style == "strong" and text:
        return f"**{shown}**"
    return shown


def escape_markup(text: str) -> str:
    """Return text that Markdown shows as it is.

    It has no markup and no HTML, and notifies nobody: a blank without width follows each @.
    """
    shown = escape_controls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marker = _MARKER.match(shown)
    if not marker:
        return _escape_inline(shown)
    first, rest = marker[0], _escape_inline(shown[marker.end() :])
    if first.isdigit():
        return f"{first}\\{rest}"  # the backslash is in front of the dot that makes it a list
    return f"\\{first}{rest}"


def _escape_inline(text: str) -> str:
    return _MENTION.sub("@&#8203;", _MARKUP.sub(r"\\\1", text))
