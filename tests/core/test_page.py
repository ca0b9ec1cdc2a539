import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.page import MAX_TEXT, find_link, show
from tests.support.rows import rows


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


@rows(
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
        "#skill-1",
        "",
    ],
)
def test_no_link_is_made_of_anything_but_a_plain_address(address: str) -> None:
    assert find_link(address) == ""


@pytest.mark.parametrize(
    "address", ["https://linear.app/x/issue/AB-1?a=b#c", "http://localhost:8080/"]
)
def test_plain_addresses_become_links(address: str) -> None:
    assert find_link(address) == address
