"""Untrusted text is shown, never obeyed."""

import shlex

from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from tests.support.rows import rows


@rows(
    ("text", "shown"),
    [
        ("plain é ✅", "plain é ✅"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("a\u2062\u2064\xad\u180e\ufff9", "a\\u2062\\u2064\\u00ad\\u180e\\ufff9"),
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


@rows(
    "text",
    [
        "build",
        "a b",
        "$(reboot)",
        "`id`",
        "a;id",
        "two words; $(x)",
        "it's",
        "a&b",
        "größe",
        "a\nb",
        "",
    ],
)
def test_a_strangers_name_in_a_command_stays_one_word(text: str) -> None:
    assert shlex.split(f"checkpoint show {quote_word(text)}") == ["checkpoint", "show", text]


def test_a_plain_name_needs_no_quotes() -> None:
    assert [quote_word(text) for text in ("oc-app_1.x", "app/.checkpoints/a.json")] == [
        "oc-app_1.x",
        "app/.checkpoints/a.json",
    ]


@rows("code", [0x34F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x3164, 0xFFA0, 0x1BCA0, 0x1D173])
def test_a_letter_that_shows_nothing_is_shown(code: int) -> None:
    assert escape_controls(chr(code)).isascii()
