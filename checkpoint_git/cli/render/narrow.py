"""Fit lines and tables to a terminal that is narrower than they are.

They are wrapped, then cut, and in the end the cells of a row are stacked.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from checkpoint_git.cli.render.screen import GAP, Screen, join, measure, paint
from checkpoint_git.core.hint import AnyHint, steps_of, write_shell
from checkpoint_git.core.outcome import Line, Table

_NARROWEST = 8  # columns that a column keeps; with less, the cells of a row are stacked
_COMFORTABLE = 12  # what the others keep before the last column goes below its row
_MOST_LINES = 6  # of one cell
_INDENT = "  "


def fold_hint(hint: AnyHint, width: int, indent: int = 2) -> list[str]:
    """Return the lines of a hint. Prose is wrapped; a command has its own line and stays whole."""
    lines = list[str]()
    lead = " " * indent
    prose = lead
    for step in steps_of(hint):
        if prose.strip():
            prose += "; "
        if not step.commands:
            prose += step.text + step.more
            continue

        if step.text:
            prose += f"{step.text}:"
        else:
            prose = prose.rstrip("; ")
        typed = lead + write_shell(step.commands)
        if prose.strip():
            lines += wrap(prose, width, indent + 2)
            typed = _INDENT + typed
        if measure(typed + step.more) <= width:
            lines.append(typed + step.more)
            prose = lead
        else:
            lines.append(typed)
            prose = lead + step.more.lstrip(" ,")

    if prose.strip():
        lines += wrap(prose, width, indent + 2)
    return lines


def wrap(text: str, width: int, hang: int, *, breaks: bool = False) -> list[str]:
    """Return the text broken at blanks into lines, all but the first indented by `hang`.

    A long ASCII word stays whole (it may be a command), unless breaks.
    """
    indent = " " * min(hang, width // 2)
    body = text.lstrip(" ")
    lead = text[: len(text) - len(body)][: width // 2]
    longest_word = max(width - max(len(indent), len(lead)), 1)
    lines = list[str]()
    line = lead
    for word in _split_words(body, longest_word, breaks=breaks):
        if line in (lead, indent):
            line += word
        elif measure(f"{line} {word}") <= width:
            line += f" {word}"
        else:
            lines.append(line.rstrip(" "))
            line = indent + word

    return [*lines, line]


def _split_words(text: str, width: int, *, breaks: bool) -> Iterator[str]:
    for word in text.split(" "):
        if measure(word) <= width or (word.isascii() and not breaks):
            yield word
        else:
            yield from _break(word, width)


def _break(word: str, width: int) -> Iterator[str]:
    part = ""
    used = 0
    for letter in word:
        size = measure(letter)
        if part and used + size > width:
            yield part
            part = ""
            used = 0
        part += letter
        used += size
    yield part


def squeeze(
    table: Table, rows: Sequence[Sequence[Line]], widths: Sequence[int], screen: Screen
) -> Iterator[str]:
    """Yield the lines of a table that is too wide.

    Columns get narrower, else the last column moves below its row, else all cells are stacked.
    rows: the header is the first.
    """
    header, *others = rows
    firm = set(table.firm)
    if table.has_tail:
        firm.add(len(widths) - 1)
        fitted = fit(widths, screen.width, firm, _COMFORTABLE)
    else:
        fitted = fit(widths, screen.width, firm, _NARROWEST)
    if fitted:
        for row in rows:
            yield from _lines(row, fitted, screen)
        return

    if table.has_tail:
        fitted = fit(widths[:-1], screen.width, firm, _NARROWEST)
        if fitted:
            yield from _lines(header[:-1], fitted, screen)
            for row in others:
                yield from _lines_with_tail(row, fitted, screen)
            return

    for row in others:
        yield from _stack(header, row, screen)


def fit(widths: Sequence[int], limit: int, firm: set[int], least: int) -> list[int] | None:
    """Return the widths, those of columns that are not firm reduced until all fit.

    None if a column would get narrower than least.
    """
    fitted = list(widths)
    spare = limit - len(GAP) * (len(widths) - 1)
    while sum(fitted) > spare:
        loose = [
            column for column, width in enumerate(fitted) if column not in firm and width > least
        ]
        if not loose:
            return None
        widest = max(loose, key=lambda column: fitted[column])
        fitted[widest] -= 1
    return fitted


def _lines(row: Sequence[Line], widths: Sequence[int], screen: Screen) -> Iterator[str]:
    columns = [_wrap_cell(cell, width) for cell, width in zip(row, widths, strict=False)]
    return (join(parts, widths, screen) for parts in zip_longest(*columns, fillvalue=Line("")))


def _wrap_cell(cell: Line, width: int) -> list[Line]:
    """Return the cell on as many lines as it takes, at most a few.

    A text without blanks stays whole, to be cut.
    """
    texts = wrap(cell.text, width, 0, breaks=" " in cell.text)
    if len(texts) > _MOST_LINES:
        texts = [*texts[: _MOST_LINES - 1], " ".join(texts[_MOST_LINES - 1 :])]
    return [cell._replace(text=text) for text in texts]


def _lines_with_tail(row: Sequence[Line], widths: Sequence[int], screen: Screen) -> Iterator[str]:
    *cells, tail = row
    yield from _lines(cells, widths, screen)
    if tail.text:
        lines = wrap(_INDENT * 2 + tail.text, screen.width, 2 * len(_INDENT))
        yield from (paint(line, tail.style, screen) for line in lines)


def _stack(header: Sequence[Line], row: Sequence[Line], screen: Screen) -> Iterator[str]:
    """Yield the cells of a row below each other, behind the names of their columns."""
    room = max((measure(name.text) for name in header[1:]), default=0)
    title = wrap(row[0].text, screen.width, len(_INDENT), breaks=True)
    yield from (paint(line, row[0].style or "strong", screen) for line in title)
    for name, cell in zip(header[1:], row[1:], strict=True):
        if cell.text:
            label = f"{_INDENT}{name.text}{' ' * (room - measure(name.text))}{GAP}"
            lines = wrap(label + cell.text, screen.width, measure(label), breaks=True)
            yield from (paint(line, cell.style, screen) for line in lines)
