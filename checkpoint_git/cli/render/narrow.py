"""Lines and tables for a terminal that is narrower than they are: wrapped, cut, and in the end
stacked.
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
    """Return the lines of a hint: prose is wrapped, a command has a line of its own and stays
    whole.
    """
    lines = list[str]()
    lead = " " * indent
    prose = lead
    for step in steps_of(hint):
        if prose.strip():
            prose += "; "
        if not step.commands:
            prose += step.text + step.more
            continue

        typed = write_shell(step.commands)
        if prose.strip() or step.text:
            lines += wrap(
                f"{prose}{step.text}:" if step.text else prose.rstrip("; "), width, indent + 2
            )
            typed = lead + _INDENT + typed
        else:
            typed = lead + typed
        if measure(typed + step.more) <= width:
            lines.append(typed + step.more)
            prose = lead
        else:
            lines.append(typed)
            prose = lead + step.more.lstrip(" ,")

    return lines + (wrap(prose, width, indent + 2) if prose.strip() else [])


def wrap(text: str, width: int, hang: int, *, breaks: bool = False) -> list[str]:
    """Break at blanks, indent by `hang`. A long ASCII word stays whole (it may be a command),
    unless breaks.
    """
    indent = " " * min(hang, width // 2)
    body = text.lstrip(" ")
    lead = text[: len(text) - len(body)][: width // 2]
    lines, line = list[str](), lead
    for word in _split_words(body, max(width - max(len(indent), len(lead)), 1), breaks=breaks):
        glued = line + word if line in (lead, indent) else f"{line} {word}"
        if measure(glued) <= width or line in (lead, indent):
            line = glued
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
    part, used = "", 0
    for letter in word:
        size = measure(letter)
        if part and used + size > width:
            yield part
            part, used = "", 0
        part, used = part + letter, used + size
    yield part


def squeeze(
    table: Table, rows: Sequence[Sequence[Line]], widths: Sequence[int], screen: Screen
) -> Iterator[str]:
    """Lines of a too wide table: columns get narrower, the last moves below its row, or all cells
    are stacked.
    """
    least = _COMFORTABLE if table.has_tail else _NARROWEST
    firm = {*table.firm, len(widths) - 1} if table.has_tail else set(table.firm)
    fitted = fit(widths, screen.width, firm, least)
    if fitted:
        return (line for row in rows for line in _lines(row, fitted, screen))
    fitted = fit(widths[:-1], screen.width, firm, _NARROWEST) if table.has_tail else None
    if fitted:
        return (
            line
            for at, row in enumerate(rows)
            for line in _lines_with_tail(row, fitted, screen, is_header=not at)
        )

    return (line for row in rows[1:] for line in _stack(rows[0], row, screen))


def fit(widths: Sequence[int], limit: int, firm: set[int], least: int) -> list[int] | None:
    """The widths with those of the columns that are not firm reduced until all fit; None where they
    cannot.
    """
    fitted, spare = list(widths), limit - len(GAP) * (len(widths) - 1)
    while sum(fitted) > spare:
        loose = [at for at, width in enumerate(fitted) if at not in firm and width > least]
        if not loose:
            return None
        fitted[max(loose, key=lambda at: fitted[at])] -= 1
    return fitted


def _lines(row: Sequence[Line], widths: Sequence[int], screen: Screen) -> Iterator[str]:
    columns = [_wrap_cell(cell, width) for cell, width in zip(row, widths, strict=False)]
    return (join(parts, widths, screen) for parts in zip_longest(*columns, fillvalue=Line("")))


def _wrap_cell(cell: Line, width: int) -> list[Line]:
    """The cell on as many lines as it takes, at most a few; a text without blanks is left to be
    cut.
    """
    texts = wrap(cell.text, width, 0, breaks=" " in cell.text)
    if len(texts) > _MOST_LINES:
        texts = [*texts[: _MOST_LINES - 1], " ".join(texts[_MOST_LINES - 1 :])]
    return [cell._replace(text=text) for text in texts]


def _lines_with_tail(
    row: Sequence[Line], widths: Sequence[int], screen: Screen, *, is_header: bool
) -> Iterator[str]:
    yield from _lines(row[:-1], widths, screen)
    if row[-1].text and not is_header:
        lines = wrap(_INDENT * 2 + row[-1].text, screen.width, 2 * len(_INDENT))
        yield from (paint(line, row[-1].style, screen) for line in lines)


def _stack(header: Sequence[Line], row: Sequence[Line], screen: Screen) -> Iterator[str]:
    room = max(measure(name.text) for name in header[1:]) if header[1:] else 0
    title = wrap(row[0].text, screen.width, len(_INDENT), breaks=True)
    yield from (paint(line, row[0].style or "strong", screen) for line in title)
    for name, cell in zip(header[1:], row[1:], strict=True):
        if cell.text:
            label = f"{_INDENT}{name.text}{' ' * (room - measure(name.text))}{GAP}"
            lines = wrap(label + cell.text, screen.width, measure(label), breaks=True)
            yield from (paint(line, cell.style, screen) for line in lines)
