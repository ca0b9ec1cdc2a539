import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.tools.report.markup import MAX_TEXT, Markup, element, find_link, own_content, say


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


def read(markup: Markup) -> Reader:
    reader = Reader()
    reader.feed(markup.html)
    reader.close()
    return reader


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_stays_text_and_any_attribute_one_attribute(text: str, value: str) -> None:
    reader = read(element("p", {"title": value}, text))
    assert reader.elements == [("p", [("title", say(value))])]
    assert "".join(reader.texts) == say(text)


@given(st.text(max_size=300))
def test_what_is_shown_is_plain_unicode_without_controls(text: str) -> None:
    shown = say(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert all(letter == "\n" or letter.isprintable() or letter >= "\xa0" for letter in shown)


def test_controls_and_invisible_characters_are_spelled_out() -> None:
    assert say("a\x1b[31m\x00\u202e\u200bb") == "a\\x1b[31m\\x00\\u202e\\u200bb"


def test_a_text_is_cut_after_it_was_searched_for_secrets() -> None:
    token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
    shown = say("x " * (MAX_TEXT // 2 - 5) + token)
    assert len(shown) <= MAX_TEXT
    assert token[:8] not in shown
    assert len(say("y" * 10_000_000)) == MAX_TEXT


@pytest.mark.parametrize("name", ["onclick", "style", "a b", 'x"', "onLoad"])
def test_no_element_gets_a_handler_or_a_style_of_its_own(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(name)):
        element("p", {name: "x"})


def test_own_content_that_would_end_its_element_is_refused() -> None:
    assert own_content("style", {}, "a { b: c }").html == "<style>a { b: c }</style>"
    with pytest.raises(ValueError, match="style"):
        own_content("style", {}, "</style><script>")


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


@pytest.mark.parametrize("address", ["https://linear.app/x/issue/AB-1?a=b#c", "http://localhost:8080/", "#skill-1"])
def test_plain_addresses_become_links(address: str) -> None:
    assert find_link(address) == address
