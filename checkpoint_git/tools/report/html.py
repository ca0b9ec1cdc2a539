"""A page as one HTML file that needs nothing else: no network, no script but its own, nothing of a stranger's runs.

It knows core's page values only. Its style and script lie beside it and are allowed by their hashes alone.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from checkpoint_git.tools.report.blocks import (
    Bar,
    Block,
    Board,
    Card,
    Cell,
    Column,
    Fold,
    Grid,
    Item,
    Items,
    Page,
    Prose,
    Section,
    Text,
    Timeline,
)
from checkpoint_git.tools.report.html_timeline import draw_timeline
from checkpoint_git.tools.report.markup import (
    Attributes,
    Child,
    Markup,
    element,
    find_link,
    join,
    own_content,
    own_text,
    say,
)

GENERATOR = "checkpoint-git report"  # how a file is known as ours
_SHORT = 22  # letters
_FEW_COLUMNS, _HIGH = 3, 4  # with fewer columns, or more cards in one, cards stand beside each other
_HERE = os.path.dirname(os.path.abspath(__file__))


def render(page: Page) -> str:
    """The whole document."""
    style, script = _read_own("page.css"), _read_own("page.js")
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "generator", "content": GENERATOR}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": own_text(make_policy(style, script))}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "referrer", "content": "no-referrer"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, page.title),
        own_content("style", {}, style),
    )
    body = element(
        "body",
        {},
        element("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
        _header(page),
        element("main", {"id": "content", "tabindex": "-1"}, *map(_section, page.sections)),
        element("footer", {}, *(element("p", {}, note) for note in page.notes)),
        own_content("script", {}, script),
    )
    return f"<!DOCTYPE html>\n{element('html', {'lang': 'en'}, head, body).html}\n"


def make_policy(style: str, script: str) -> str:
    """The content security policy: nothing is loaded, and of styles and scripts these two alone are taken."""
    hashes = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script))
    rules = ("default-src 'none'", "style-src {}", "script-src {}", "base-uri 'none'", "form-action 'none'")
    return "; ".join(rules).format(*hashes)


def _read_own(name: str) -> str:
    with open(os.path.join(_HERE, name), encoding="utf-8") as stream:
        return stream.read()


# the parts of the page


def _header(page: Page) -> Markup:
    links = [element("li", {}, element("a", {"href": f"#{one.anchor}"}, one.title)) for one in page.sections]
    return element(
        "header",
        {},
        element(
            "div",
            {"class": "masthead"},
            element("h1", {}, page.title),
            element("button", {"id": "theme", "type": "button", "hidden": ""}, "Colours"),
        ),
        element("p", {"class": "facts"}, *_separated(page.facts)),
        element(
            "ul", {"class": "chips", "aria-label": "In short"}, *(element("li", {}, draw_text(c)) for c in page.chips)
        ),
        element("nav", {"aria-label": "Sections"}, element("ul", {}, *links)),
    )


def _separated(texts: Iterable[str]) -> Sequence[Child]:
    return [element("span", {}, text) for text in texts if text]


def _section(section: Section) -> Markup:
    name = f"{section.anchor}-title"
    heading: list[Child] = [element("h2", {"id": name}, section.title)]
    if section.note:
        heading.append(element("p", {"class": "note"}, section.note))
    attributes = {"id": section.anchor, "aria-labelledby": name, "class": _class(section.tone)}
    return element(
        "section",
        attributes,
        element("div", {"class": "heading"}, *heading),
        *(draw(block, 3) for block in section.blocks),
    )


def draw(block: Block, level: int) -> Markup:
    """Any block. level: of the headings in it."""
    return _DRAWN[type(block)](block, level)


def draw_text(text: Text) -> Markup:
    """A piece of text, as a link where its address can be one."""
    inner: Child = element("code", {}, text.text) if text.is_code else text.text
    link = find_link(text.link)
    if link:
        outside = {} if link.startswith("#") else {"rel": "noreferrer noopener external"}
        inner = element("a", {"href": link, **outside}, inner)
    classes = _class(text.tone, "badge" if text.is_badge else "")
    return element("span", {"class": classes}, inner) if classes else join([inner])


def _class(*names: str) -> str | None:
    return " ".join(filter(None, names)) or None


def _prose(block: Prose, _: int) -> Markup:
    return element("p", {"class": _class("prose", block.tone)}, block.text)


def _items(block: Items, level: int) -> Markup:
    rows = [element("li", {}, *_item(item)) for item in block.items]
    parts: list[Child] = [element(f"h{level}", {}, block.title)] if block.title else []
    parts.append(element("ol" if block.is_ordered else "ul", {"role": "list" if not block.is_ordered else None}, *rows))
    if block.more:
        parts.append(_more(block.more))
    return element("div", {"class": _class("items", block.tone)}, *parts)


def _item(item: Item) -> Sequence[Child]:
    label: list[Child] = [draw_text(item.label), " "] if item.label else []
    notes = [element("p", {"class": "sub"}, draw_text(note)) for note in item.notes if note.text]
    return [element("div", {"class": "text"}, *label, element("span", {}, item.text)), *notes]


def _more(count: int) -> Markup:
    return element("p", {"class": "more"}, f"and {count} more, which this page leaves out")


def _grid(block: Grid, _: int) -> Markup:
    head = element("tr", {}, *(element("th", {"scope": "col"}, name) for name in block.headers))
    rows = [element("tr", {}, *_cells(block.headers, row)) for row in block.rows]
    table = element(
        "table", {}, element("caption", {}, block.caption), element("thead", {}, head), element("tbody", {}, *rows)
    )
    return element("div", {"class": "grid"}, table, *([_more(block.more)] if block.more else []))


def _cells(headers: Sequence[str], row: Sequence[Cell]) -> list[Markup]:
    """The first is the row's header; the others carry their column's name for where columns stand below each other."""
    names: list[tuple[str, Attributes]] = [("th", {"scope": "row"})]
    names += [("td", {"data-head": head}) for head in headers[1:]]
    pairs = zip(names, row, strict=True)
    return [element(name, {"class": _find_width(cell), **more}, _cell(cell)) for (name, more), cell in pairs]


def _find_width(cell: Cell) -> str | None:
    """What is so short that it need not be broken says so: dates, states, names."""
    text = "" if isinstance(cell, Bar) else cell if isinstance(cell, str) else cell.text
    return "short" if 0 < len(text) <= _SHORT else None


def _cell(cell: Cell) -> Child:
    if isinstance(cell, Bar):
        return _bar(cell)
    return draw_text(cell) if isinstance(cell, Text) else cell


def _bar(bar: Bar) -> Markup:
    said = f"{bar.part} of {bar.whole} {bar.what}"
    progress = element("progress", {"value": bar.part, "max": max(bar.whole, 1), "aria-label": said}, said)
    return element(
        "span", {"class": "bar"}, progress, element("span", {"aria-hidden": "true"}, f"{bar.part}/{bar.whole}")
    )


def _board(block: Board, level: int) -> Markup:
    tallest = max((len(column.cards) for column in block.columns), default=0)
    in_rows = len(block.columns) < _FEW_COLUMNS or tallest > _HIGH
    return element(
        "div", {"class": "board rows" if in_rows else "board"}, *(_column(column, level) for column in block.columns)
    )


def _column(column: Column, level: int) -> Markup:
    title = element(f"h{level}", {}, column.title, element("span", {"class": "count"}, f" {len(column.cards)}"))
    cards = element(
        "ul", {"role": "list"}, *(element("li", {"class": "card"}, *_card(card, level + 1)) for card in column.cards)
    )
    return element("div", {"class": _class("column", column.tone)}, title, cards)


def _card(card: Card, level: int) -> Sequence[Child]:
    parts: list[Child] = [element(f"h{level}", {}, draw_text(Text(card.title, link=card.link)))]
    if card.badges:
        parts.append(element("p", {"class": "badges"}, *_spaced(map(draw_text, card.badges))))
    parts += [element("p", {"class": "facts"}, *_separated(card.facts))] if any(card.facts) else []
    parts += [_bar(card.bar)] if card.bar else []
    parts += [element("p", {"class": "lead"}, card.text)] if card.text else []
    return parts


def _spaced(parts: Iterable[Markup]) -> Sequence[Child]:
    return [piece for part in parts for piece in (part, " ")]


def _fold(block: Fold, level: int) -> Markup:
    title: Child = (
        element(f"h{level}", {}, block.title) if block.is_heading else element("span", {"class": "title"}, block.title)
    )
    summary = element("summary", {}, title, *_spaced(map(draw_text, block.badges)))
    attributes = {"id": block.anchor or None, "open": "" if block.is_open else None}
    return element(
        "details",
        attributes,
        summary,
        element("div", {"class": "folded"}, *(draw(one, level + 1) for one in block.blocks)),
    )


def _timeline(block: Timeline, _: int) -> Markup:
    return draw_timeline(block)


_DRAWN: dict[type, Callable[[Any, int], Markup]] = {
    Prose: _prose,
    Items: _items,
    Grid: _grid,
    Board: _board,
    Fold: _fold,
    Timeline: _timeline,
}

__all__ = ["GENERATOR", "draw", "make_policy", "render", "say"]
