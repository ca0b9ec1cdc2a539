"""HTML as a parser sees it."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Elements, attributes and text as a parser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(markup: str) -> Reader:
    """Any markup, parsed."""
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


def main_part(page: str) -> str:
    """What is in a page's <main>."""
    return page.partition("<main")[2].partition("</main>")[0].partition(">")[2]
