"""HTML that is escaped by default, and the pieces that a report is made of."""

import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from typing import Literal, NamedTuple

from checkpoint_git.core.redact import redact
from checkpoint_git.core.terminal_text import escape_controls, shorten

MAX_TEXT = 4_000  # letters of one text
_LOOKED_AT = 2_000  # letters beyond them that are looked at, so that no secret is cut in two and missed
_SHORT = 22  # letters of a table's cell that is not broken over lines
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][!-~]*)?")
_ANCHOR = re.compile(r"#[a-z][a-z0-9-]*")
_TAG = re.compile(r"<[^<>]*>")

Tone = Literal["", "good", "warn", "bad", "info", "dim"]


class Markup(str):
    """Made by html() and own_text() alone; what is joined of several is text again."""

    __slots__ = ()


Value = str | int | Iterable[Markup] | None


# Templates are our own; whatever is put into one is untrusted text, unless html() made it: secrets are redacted,
# control characters shown, and long texts cut.
def html(template: str, /, *values: Value) -> Markup:
    """Each {} is filled in. Of several pieces one comes after the other; None is nothing."""
    return Markup(template.format(*map(_write, values)))


def _write(value: Value) -> str:
    if isinstance(value, Markup):
        return value
    if isinstance(value, str | int):
        return escape(show(str(value)))
    return "".join(map(_write, value or ()))


def own_text(text: str) -> Markup:
    # Nothing is looked for in it: a hash looks like a secret
    return Markup(escape(text))


def own_content(text: str) -> Markup:
    # Of a style or script element, which nothing in it may end
    if "</" in text or "<!--" in text:
        raise ValueError(text)
    return Markup(text)


def show(text: str, limit: int = MAX_TEXT) -> str:
    shown = redact(text[: limit + _LOOKED_AT])
    return escape_controls(shorten(shown + ("..." if len(text) > limit + _LOOKED_AT else ""), limit), keep="\n")


def find_link(address: str) -> str:
    """The address where it can be a link: a place on the page, or plain http(s) that holds no secret; else ""."""
    if len(address) > MAX_TEXT or (not _LINK.fullmatch(address) and not _ANCHOR.fullmatch(address)):
        return ""
    return address if show(address) == address else ""


class Section(NamedTuple):
    anchor: str
    title: str
    parts: Sequence[Markup]
    note: str = ""
    tone: Tone = ""


class PageParts(NamedTuple):
    """title: the project's name. facts, chips: below the first heading. sections: what matters now. details: what comes
    after what is out of date. beside: pieces of a section that all protocols share. notes: for the foot of the page.
    """

    title: str = ""
    facts: Sequence[str] = ()
    chips: Sequence[Markup] = ()
    sections: Sequence[Section] = ()
    details: Sequence[Section] = ()
    beside: Sequence[Markup] = ()
    notes: Sequence[str] = ()


def count_of(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def classes(*names: str) -> Markup:
    found = " ".join(filter(None, names))
    return html(' class="{}"', found) if found else Markup()


def toned(text: str, tone: Tone = "") -> Markup:
    return html("<span{}>{}</span>", classes(tone), text) if tone else html("{}", text)


def badge(text: str, tone: Tone = "") -> Markup:
    return html("<span{}>{}</span>", classes(tone, "badge"), text)


def code(text: str) -> Markup:
    return html("<code>{}</code>", text) if text else Markup()


def link(text: str, address: str) -> Markup:
    found = find_link(address)
    outside = Markup("" if found.startswith("#") else ' rel="noreferrer noopener external"')
    return html('<a href="{}"{}>{}</a>', found, outside, text) if found else html("{}", text)


def prose(text: str, tone: Tone = "") -> Markup:
    return html("<p{}>{}</p>", classes("prose", tone), text)


def bar(part: int, whole: int, what: str) -> Markup:
    said = f"{part} of {whole} {what}"
    return html(
        '<span class="bar"><progress value="{}" max="{}" aria-label="{}">{}</progress>'
        '<span aria-hidden="true">{}</span></span>',
        part, max(whole, 1), said, said, f"{part}/{whole}",
    )  # fmt: skip


def item(text: str, label: Markup | None = None, notes: Iterable[Markup | str] = ()) -> Markup:
    before = html("{} ", label) if label else None
    below = [html('<p class="sub">{}</p>', note) for note in notes if note]
    return html('<li><div class="text">{}<span>{}</span></div>{}</li>', before, text, below)


def items(
    rows: Sequence[Markup], *, title: str = "", level: int = 4, is_ordered: bool = False, more: int = 0
) -> Markup:
    heading = html("<h{}>{}</h{}>", level, title, level) if title else None
    shape = "<ol>{}</ol>" if is_ordered else '<ul role="list">{}</ul>'
    return html('<div class="items">{}{}{}</div>', heading, html(shape, rows), _left_out(more))


def _left_out(count: int) -> Markup:
    return html('<p class="more">and {} more, which this page leaves out</p>', count) if count else Markup()


def grid(caption: str, headers: Sequence[str], rows: Sequence[Sequence[str]], more: int = 0) -> Markup:
    """Columns without any content are left out, but for the first, whose cells are the rows' headers. The other cells
    carry their column's name, for where columns are below each other.
    """
    kept = [at for at in range(len(headers)) if not at or not rows or any(row[at] for row in rows)]
    head = [html('<th scope="col">{}</th>', headers[at]) for at in kept]
    body = []
    for row in rows:
        cells = [html('<th{} scope="row">{}</th>', _width(row[0]), row[0])]
        cells += [html('<td{} data-head="{}">{}</td>', _width(row[at]), headers[at], row[at]) for at in kept if at]
        body.append(html("<tr>{}</tr>", cells))
    return html(
        '<div class="grid"><table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}</div>',
        caption, head, body, _left_out(more),
    )  # fmt: skip


def _width(cell: str) -> Markup:
    # what is so short that it need not be broken says so: dates, states, names
    text = unescape(_TAG.sub("", cell)) if isinstance(cell, Markup) else cell
    return classes("short" if 0 < len(text) <= _SHORT else "")


def fold(
    title: str,
    parts: Iterable[Markup],
    badges: Iterable[Markup] = (),
    *,
    anchor: str = "",
    level: int = 0,
    is_open: bool = False,
) -> Markup:
    heading = html("<h{}>{}</h{}>", level, title, level) if level else html('<span class="title">{}</span>', title)
    return html(
        '<details{}{}><summary>{}{}</summary><div class="folded">{}</div></details>',
        html(' id="{}"', anchor) if anchor else None,
        Markup(' open=""') if is_open else None,
        heading,
        [html("{} ", each) for each in badges],
        parts,
    )
