"""Untrusted text is shown, never obeyed."""

import pytest

from checkpoint_git.core.safetext import escape_controls, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é ✅", "plain é ✅"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\ud800", "\\ud800"),
        ("\x7f", "\\x7f"),
        ("a\U000e0072\U000e006d", "a\\U000e0072\\U000e006d"),
    ],
)
def test_controls_are_shown_as_escapes(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_a_kept_control_stays() -> None:
    assert escape_controls("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_long_text_is_cut_with_a_sign() -> None:
    assert shorten("abcdefgh", 6) == "abc..."
    assert shorten("abcdef", 6) == "abcdef"
