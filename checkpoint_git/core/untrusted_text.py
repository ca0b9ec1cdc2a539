"""Untrusted text quoted for a model that may obey it: each line is marked as a quotation. Pure."""

import re
from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.terminal_text import escape_controls, shorten

OPENING = "<<<<< data"
CLOSING = ">>>>> end of data"
MARK = "| "

_MOST_READ = 4  # letters looked at for each that is wanted
# One of these is in every token that redact knows by its shape, in a word of _SHORTEST characters or more: few files
# are read by a regular expression.
SIGNS = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glptt-", "glrt-", "gldt-", "webhooks/",
    "glsoat-", "glcbt-", "glagent-", "xox", "xapp-", "sk_", "sk-", "rk_", "rk-", "whsec_", "AKIA", "ASIA", "AGPA",
    "AIDA", "AROA", "ANPA", "AIza", "ya29.", "GOCSPX-", "npm_", "pypi-", "hf_", "dop_v1_", "lin_", "ntn_", "secret_",
    "ATATT", "SG.", "key-", "AGE-SECRET", "eyJ", "dckr_", "hvs.", "hvb.", "hvr.", "hooks.slack", "AA", "SK",
)  # fmt: skip
_SHORTEST = 14
_NAMES = (b"KEY=", b"SECRET=", b"TOKEN=", b"PASSWORD=", b"PASSWD=", b"KEY_BASE=")  # in capitals, of values
_LONGEST_NAME = 40  # bytes, of a name with all that may be between it and its value
_SHAPE = bytes(120 if byte < 128 and (chr(byte).isalnum() or byte in b"_.+/=~-") else 32 for byte in range(256))


def clean(text: str, limit: int) -> str:
    """At most `limit` letters on one line, without control, format or invisible letters, tags made harmless. Unlike
    terminal_text.escape_controls it leaves nothing of them: what reads it has no use for an escape.
    """
    text = text[: limit * _MOST_READ]
    text = str(hide_secrets(text, text))
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if letter.isspace() else letter for letter in text if _is_shown(letter))
    text = " ".join(text.split()).replace(">>>", "\u203a\u203a\u203a")
    # what looks like a tag or like an end of the fence is written with other brackets
    return shorten(re.sub(r"<(?=[^\W\d_]|[/!?|<])", "\u2039", text), limit)


def hide_secrets(value: Any, text: str) -> Any:
    """A JSON value whose texts show no token. text: the value as it is written."""
    if not may_hold_secret(text.encode("utf-8", "replace")):
        return value
    from checkpoint_git.core.redact import hide_tokens_in  # late: it compiles large patterns

    return hide_tokens_in(value)


def may_hold_secret(data: bytes) -> bool:
    """False where no secret is. But for a block and a password in an address each is a long word, or in one."""
    is_address = (b"://" in data or b":~1~1" in data) and (b"@" in data or b"..." in data)
    if is_address or (b"-----BEGIN" in data and b"PRIVATE KEY" in data):
        return True
    shape, words, before, end = data.translate(_SHAPE) + b" ", list[bytes](), list[bytes](), 0
    while (at := shape.find(b"x" * _SHORTEST, end)) >= 0:
        end = shape.find(b" ", at)
        words.append(data[at:end])
        if data[at - 3 : at] != b'  "':  # else it begins a line, and no name is before it
            before.append(data[max(at - _LONGEST_NAME, 0) : at + 1])
    named = b"\n".join([*words, *before]).upper()
    if b"EARER " in named or any(map(named.replace(b":", b"=").replace(b" =", b"=").__contains__, _NAMES)):
        return True
    return any(map(b" ".join(words).decode().__contains__, SIGNS))


# It knows nothing of what is quoted. A quoted line begins with a mark that its content cannot take away, and content
# has no line ends, so that no content stands outside the fence.
def quote(lines: Iterable[str]) -> list[str]:
    return [OPENING, *(f"{MARK}{line}" for line in lines), CLOSING]


def count_tokens(text: str) -> int:
    # about a quarter of the bytes in UTF-8, rounded up
    return -(-len(text.encode("utf-8", "replace")) // 4)


def _is_shown(letter: str) -> bool:
    is_plain = letter.isprintable() and escape_controls(letter) == letter  # no format, no selector of a variant
    return letter.isspace() or (is_plain and letter != "\u2800" and not "\ufe00" <= letter <= "\ufe0f")
