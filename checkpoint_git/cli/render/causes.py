"""Render findings by their causes, fitted to one screen.

Each cause has a heading, and below it the command that fixes it.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from checkpoint_git.cli.render.blocks import (
    LEVEL_STYLES,
    render_block,
    render_finding,
    render_hint,
)
from checkpoint_git.cli.render.screen import Screen, cut, measure, paint
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, change_texts
from checkpoint_git.core.outcome import Cause, Digest, Line
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural

_HEIGHT = 23  # lines of the smallest usual terminal, less one for the prompt
_WIDEST = 10_000  # columns if there is no terminal
_MOST_FILES = 3  # named in a heading
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Entry(NamedTuple):
    """One cause as it is shown.

    height: rows of the terminal that the lines take. number: how many findings they stand for.
    is_whole: no word of these is missing.
    """

    lines: list[str]
    height: int
    number: int
    is_whole: bool = False


def render_digest(digest: Digest, total: int, ends: Sequence[str], screen: Screen) -> list[str]:
    """Return the lines of a digest.

    total: how many findings there are. ends: the lines of the summary, which follow.
    """
    after = list(ends)
    if digest.offer.text and not screen.quiet:
        after += render_block(digest.offer, screen)
    room = _HEIGHT - len(after) - len(_render_rest(digest, 0, total, screen))

    shown = _choose_entries(digest, room, screen)
    lines = [line for entry in shown for line in entry.lines] + after
    hidden = total - sum(entry.number for entry in shown)
    if hidden or any(entry.number > 1 or not entry.is_whole for entry in shown):
        lines += _render_rest(digest, hidden, total, screen)
    return lines


def _render_rest(digest: Digest, hidden: int, total: int, screen: Screen) -> list[str]:
    """Return the lines with the command that shows every finding."""
    if hidden:
        text = f"{plural(hidden, 'finding')} not shown"
    else:
        text = f"{plural(total, 'finding')} in all"
    line = Line(text, "dim", hint=advise("each of them", *digest.command))
    return list(render_block(line, screen))


def _choose_entries(digest: Digest, room: int, screen: Screen) -> list[_Entry]:
    """Return the entries if there is room for all, else the causes.

    Each cause has its heading. As long as there is room, the first ones have their hints and all
    their words, too.
    """
    entries = [Cause(finding, number) for finding, number in digest.entries]
    whole = [_render_whole(entry, screen) for entry in entries]
    if sum(entry.height for entry in whole) <= room:
        return whole

    causes = digest.causes or entries
    chosen = _cut([_render_heading(cause, screen) for cause in causes], room)
    for render in (_render_short, _render_whole):
        chosen = _lengthen(chosen, causes, render, room, screen)
    return chosen


def _cut(entries: Sequence[_Entry], room: int) -> list[_Entry]:
    """Return as many entries as there is room for, at least one."""
    shown = list[_Entry]()
    for entry in entries:
        room -= entry.height
        if room < 0 and shown:
            break
        shown.append(entry)
    return shown


def _lengthen(
    chosen: Sequence[_Entry],
    causes: Sequence[Cause],
    render: Callable[[Cause, Screen], _Entry],
    room: int,
    screen: Screen,
) -> list[_Entry]:
    """Return the entries, the first ones rendered again as long as there is room.

    causes: those of the entries, in order; there may be further ones.
    """
    spare = room - sum(entry.height for entry in chosen)
    lengthened = list[_Entry]()
    for entry, cause in zip(chosen, causes, strict=False):
        longer = render(cause, screen)
        growth = longer.height - entry.height
        if growth <= spare:
            spare -= growth
            lengthened.append(longer)
        else:
            lengthened.append(entry)

    return lengthened


# one cause, in three lengths


def _render_whole(cause: Cause, screen: Screen) -> _Entry:
    """Return a cause on one line if it fits, else with all its words and its hint below."""
    finding = cause.finding
    if cause.number > 1:
        finding = finding._replace(message=_name_files(finding.message, cause.files, _MOST_FILES))
    (head,) = render_finding(finding._replace(hint=""), screen._replace(width=0))
    (plain,) = render_finding(finding._replace(hint=""), Screen())
    hint = ""
    if finding.hint:
        hint = f"; {change_texts(finding.hint, escape_controls)}"
    if not screen.width or measure(plain + hint) <= screen.width:
        return _Entry([head + hint], 1, cause.number, is_whole=True)
    lines = render_finding(finding, screen)
    return _Entry(lines, _count_rows(lines, screen), cause.number, is_whole=True)


def _render_short(cause: Cause, screen: Screen) -> _Entry:
    """Return a cause with a heading of one line, and the hint below."""
    heading = _render_heading(cause, screen)
    hint = [paint(line, "dim", screen) for line in render_hint(cause.finding.hint, screen)]
    lines = [*heading.lines, *hint]
    return _Entry(lines, _count_rows(lines, screen), cause.number)


def _render_heading(cause: Cause, screen: Screen) -> _Entry:
    """Return a cause on one line: with as many files as fit, and with the code if it fits.

    A finding keeps its place only if its message fits behind it. The message is cut if nothing
    else helps.
    """
    finding = cause.finding
    level = f"{finding.level}: "
    width = screen.width or _WIDEST
    place = ""
    files: Sequence[str] = cause.files
    if finding.path:
        files = files or (finding.path,)
        in_front = f"{escape_controls(finding.place)}: "
        if measure(in_front + level + escape_controls(finding.message)) <= width:
            place, files = in_front, ()

    text = _fit_message(finding, files, width - measure(place + level))
    painted = paint(finding.level, LEVEL_STYLES[finding.level], screen)
    lines = [f"{place}{painted}: {text}"]
    return _Entry(lines, _count_rows(lines, screen), cause.number)


def _fit_message(finding: Finding, files: Sequence[str], width: int) -> str:
    """Return the message, the files and the code, as far as they fit."""
    message = escape_controls(finding.message)
    shown = [escape_controls(name) for name in files]
    code = f" [{escape_controls(finding.code)}]" if finding.code else ""
    for end in (code, ""):
        for most in range(min(len(shown), _MOST_FILES), 0, -1):
            text = _name_files(message, shown, most) + end
            if measure(text) <= width:
                return text
        if not shown and measure(message + end) <= width:
            return message + end

    named = _name_files("", shown, 1)
    room = width - measure(named)
    if room > width // 2:
        return cut(message, room) + named
    return cut(message, width)


def _name_files(message: str, files: Sequence[str], most: int) -> str:
    if not files:
        return message
    return f"{message} ({join_some(files, most)})"


def _count_rows(lines: Sequence[str], screen: Screen) -> int:
    """Return the rows of the terminal that lines take."""
    if not screen.width:
        return len(lines)
    widths = [measure(_COLOUR.sub("", line)) for line in lines]
    return sum(max(1, -(-width // screen.width)) for width in widths)
