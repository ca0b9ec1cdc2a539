from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.html import (
    MAX_TEXT,
    Markup,
    badge,
    bar,
    code,
    find_link,
    fold,
    grid,
    html,
    item,
    items,
    link,
    own_content,
    prose,
    show,
)


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


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_stays_text_and_any_attribute_one_attribute(text: str, value: str) -> None:
    reader = read(html('<p title="{}">{}</p>', value, text))
    assert reader.elements == [("p", [("title", show(value))])]
    assert "".join(reader.texts) == show(text)


@given(st.text(max_size=50))
def test_every_piece_of_a_page_keeps_any_text_a_text(text: str) -> None:
    pieces = [badge(text), code(text), prose(text), item(text, badge(text), [text]), items([item(text)], title=text)]
    pieces += [
        grid(text, (text, text), [[text, text]]),
        fold(text, [prose(text)], [badge(text)], level=3),
        link(text, text),
    ]
    plain = {name for piece in pieces for name, _ in read(piece).elements}
    assert plain <= {
        "span", "code", "p", "li", "div", "ul", "h3", "h4", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "details", "summary", "a",
    }  # fmt: skip


def test_what_is_joined_of_markup_is_text_again() -> None:
    assert html(
        "{}", prose("a") + prose("b")
    ) == "&lt;p class=&quot;prose&quot;&gt;a&lt;/p&gt;&lt;p class=&quot;prose" + ("&quot;&gt;b&lt;/p&gt;")
    assert html("{}", [prose("a"), prose("b")]) == '<p class="prose">a</p><p class="prose">b</p>'


def test_a_text_with_braces_is_no_template() -> None:
    assert html("<p>{}</p>", "{} {0.__class__}") == "<p>{} {0.__class__}</p>"


@given(st.text(max_size=300))
def test_what_is_shown_is_plain_unicode_without_controls(text: str) -> None:
    shown = show(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert all(letter == "\n" or letter.isprintable() or letter >= "\xa0" for letter in shown)


def test_controls_and_invisible_characters_are_spelled_out() -> None:
    assert show("a\x1b[31m\x00\u202e\u200bb") == "a\\x1b[31m\\x00\\u202e\\u200bb"


def test_a_text_is_cut_after_it_was_searched_for_secrets() -> None:
    token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
    shown = show("x " * (MAX_TEXT // 2 - 5) + token)
    assert len(shown) <= MAX_TEXT
    assert token[:8] not in shown
    assert len(show("y" * 10_000_000)) == MAX_TEXT


def test_own_content_that_would_end_its_element_is_refused() -> None:
    assert html("<style>{}</style>", own_content("a > b { c: d }")) == "<style>a > b { c: d }</style>"
    with pytest.raises(ValueError, match="script"):
        own_content("</style><script>")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        " https://example.org",
        "https://ada:pw@example.org/",
        "https://example.org/?token=abcd1234",
        "https://exa mple.org",
        "https://example.org/\u202e",
        "//example.org",
        "file:///etc/passwd",
        "#Up\n",
        "",
    ],
)
def test_no_link_is_made_of_what_is_no_plain_address(address: str) -> None:
    assert find_link(address) == ""
    assert not read(link("a", address)).elements


@pytest.mark.parametrize("address", ["https://linear.app/x/issue/AB-1?a=b#c", "http://localhost:8080/", "#skill-1"])
def test_plain_addresses_become_links(address: str) -> None:
    assert find_link(address) == address
    assert ("href", address) in dict(read(link("a", address)).elements)["a"]


def test_progress_is_said_in_words_and_in_numbers() -> None:
    reader = read(grid("Tasks", ("Name", "Done"), [["a", bar(1, 3, "rows complete")]]))
    progress = next(dict(found) for name, found in reader.elements if name == "progress")
    assert (progress["value"], progress["max"], progress["aria-label"]) == ("1", "3", "1 of 3 rows complete")
    assert "1/3" in reader.texts


def test_a_table_has_a_caption_and_headers_of_columns_and_rows_and_no_empty_column() -> None:
    reader = read(grid("Tickets", ("Ticket", "Role", "Provider"), [["AB-1", "source", ""]], more=3))
    assert [(name, dict(found).get("scope")) for name, found in reader.elements if name == "th"] == [
        ("th", "col"),
        ("th", "col"),
        ("th", "row"),
    ]
    assert "Tickets" in reader.texts
    assert "and 3 more, which this page leaves out" in "".join(reader.texts)


def test_what_is_folded_has_a_heading_and_an_anchor() -> None:
    inner = items([item("x", badge("label", "bad"), [code("note")])], title="Inner")
    reader = read(fold("Outer", [inner], anchor="skill-1", level=3, is_open=True))
    assert [name for name, _ in reader.elements if name in ("h3", "h4", "details")] == ["details", "h3", "h4"]
    assert dict(reader.elements)["details"] == [("id", "skill-1"), ("open", "")]


def test_only_html_makes_markup() -> None:
    assert isinstance(html("<p>"), Markup)
    assert not isinstance(html("<p>") + "x", Markup)
