"""Outcomes as Markdown, for a pull request's description or a wiki. Untrusted text never becomes
markup.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import cast

from checkpoint_git.cli.render.screen import GLYPHS, Screen
from checkpoint_git.core.outcome import Block, Line, Outcome, Table
from checkpoint_git.core.terminal_text import escape_controls

_MARKUP = re.compile(r"([\\`*_{}\[\]|#~!])")
_MENTION = re.compile(r"@(?=\w)")
# what begins a list, a rule or a heading in a line
_MARKER = re.compile(r"^(?:[-+=](?=[-=\s]|$)|\d{1,9}(?=[.)](?:\s|$)))")


def render(command: str, outcome: Outcome, screen: Screen) -> list[str]:
    show = _render_source if command in _SHOWING_SOURCE else _render_blocks
    parts = [] if screen.quiet else list(show(outcome.blocks))
    shown = [entry for entry, _ in outcome.digest.entries] if outcome.digest else outcome.findings
    if shown:
        headers = ("level", "place", "message", "hint", "code")
        rows = [(one.level, one.place, one.message, str(one.hint), one.code) for one in shown]
        parts.append(_render_table(Table(headers, rows)))
    parts += [] if screen.quiet else list(_render_blocks(outcome.summary))
    return ["\n".join(parts)]


_PAGE = 1_000_000  # bytes: of a longer one than 1 MB, GitHub shows nothing at all
_CUT = b"\nThe rest stands in the job's log.\n"


def cut_page(text: bytes, written: int) -> bytes:
    """Return as many whole lines as a job's page has room for. written: bytes that it has
    already.
    """
    room = _PAGE - written - len(_CUT)
    if len(text) <= room:
        return text
    return text[: text.rfind(b"\n", 0, room) + 1] + _CUT if room > 0 else b""


def _render_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    shown = (block for block in blocks if isinstance(block, Table) or block.whole.strip())
    for is_list, group in groupby(
        shown, key=lambda block: isinstance(block, Line) and block.text.startswith("  ")
    ):
        if is_list:
            yield "".join(f"{item}\n" for item in _list_items(cast("list[Line]", list(group))))
        else:
            yield from (
                _render_table(block) if isinstance(block, Table) else f"{_said(block)}\n"
                for block in group
            )


_SHOWING_SOURCE = frozenset(["show"])  # commands whose lines are a file's, but for the titles


def _render_source(blocks: Sequence[Block]) -> Iterator[str]:
    # The lines of each file between fences that nothing in them can close
    lines = [block for block in blocks if isinstance(block, Line)]
    for is_title, group in groupby(lines, key=lambda line: line.style == "strong"):
        texts = [escape_controls(line.text) for line in group]
        if is_title:
            yield "".join(f"**{escape_markup(text)}**\n" for text in texts)
        else:
            fence = "`" * max(
                3, 1 + max(len(run) for text in texts for run in re.findall("`*", text))
            )
            yield "\n".join([f"{fence}json", *texts, fence]) + "\n"


def _list_items(lines: Sequence[Line]) -> Iterator[str]:
    levels: list[int] = []
    for line in lines:
        text = line.text.lstrip(" ")
        indent = len(line.text) - len(text)
        while levels and levels[-1] > indent:
            levels.pop()
        if not levels or levels[-1] < indent:
            levels.append(indent)
        yield f"{'  ' * (len(levels) - 1)}- {_said(line._replace(text=text.removeprefix('- ')))}"


def _render_table(table: Table) -> str:
    rows = (_table_line(row) for row in table.rows)
    return "".join(
        f"{line}\n"
        for line in (_table_line(table.headers), "|" + " --- |" * len(table.headers), *rows)
    )


def _table_line(row: Sequence[str | Line]) -> str:
    return (
        "| "
        + " | ".join(_said(Line(cell) if isinstance(cell, str) else cell) for cell in row)
        + " |"
    )


def _said(line: Line) -> str:
    text = escape_markup(line.whole.strip())
    shown = f"{GLYPHS[line.glyph]} {text}" if line.glyph else text
    return f"**{shown}**" if line.style == "strong" and text else shown


def escape_markup(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, and nobody is notified (a blank
    without width after @).
    """
    shown = escape_controls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marker = _MARKER.match(shown)
    first, rest = (marker[0], shown[marker.end() :]) if marker else ("", shown)
    escaped = f"{first}\\" if first.isdigit() else f"\\{first}" if first else ""
    return escaped + _MENTION.sub("@&#8203;", _MARKUP.sub(r"\\\1", rest))
