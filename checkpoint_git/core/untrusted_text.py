"""Untrusted text quoted for a model that may obey it: each line is marked as a quotation. Pure."""

from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.terminal_text import shorten

OPENING = "<<<<< data"
CLOSING = ">>>>> end of data"
MARK = "| "

# Letters that are printable by their kind and show nothing: whole sentences hide in them.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_MOST_READ = 4  # letters looked at for each that is wanted
# One of these is in every text that redact.holds_secret finds, a key block apart, in a word of _SHORTEST characters or
# more: few files are read by a regular expression.
SIGNS = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glptt-", "glrt-", "gldt-",
    "glsoat-", "glcbt-", "glagent-", "xox", "xapp-", "sk_", "sk-", "rk_", "rk-", "whsec_", "AKIA", "ASIA", "AGPA",
    "AIDA", "AROA", "ANPA", "AIza", "ya29.", "GOCSPX-", "npm_", "pypi-", "hf_", "dop_v1_", "lin_", "ntn_", "secret_",
    "ATATT", "SG.", "key-", "AGE-SECRET", "eyJ",
)  # fmt: skip
_SHORTEST = 15
_SHAPE = bytes(120 if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_.+/=-") else 32 for byte in range(256))


def clean(text: str, limit: int) -> str:
    """At most `limit` letters on one line, without control, format or invisible letters, tags made harmless. Unlike
    terminal_text.escape_controls it leaves nothing of them: what reads it has no use for an escape.
    """
    text = text[: limit * _MOST_READ]
    text = str(hide_secrets(text, text))
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if letter.isspace() else letter for letter in text if _is_shown(letter))
    return shorten(_disarm(" ".join(text.split())), limit)


def hide_secrets(value: Any, text: str) -> Any:
    """A JSON value whose texts show no token. text: the value as it is written."""
    if not may_hold_secret(text.encode("utf-8", "replace")) and not ("://" in text and "@" in text):
        return value
    from checkpoint_git.core.redact import hide_tokens_in  # late: it compiles large patterns

    return hide_tokens_in(value)


def may_hold_secret(data: bytes) -> bool:
    """False where no secret is. Each sign alone takes as long to look for in a whole file as its long words take."""
    shape, words, end = data.translate(_SHAPE) + b" ", list[bytes](), 0
    while (at := shape.find(b"x" * _SHORTEST, end)) >= 0:
        end = shape.index(b" ", at)
        words.append(data[at:end])
    return b"PRIVATE KEY" in data or any(map(b" ".join(words).decode().__contains__, SIGNS))


# It knows nothing of what is quoted. A quoted line begins with a mark that its content cannot take away, and content
# has no line ends, so that no content stands outside the fence.
def quote(lines: Iterable[str]) -> list[str]:
    return [OPENING, *(f"{MARK}{line}" for line in lines), CLOSING]


def count_tokens(text: str) -> int:
    # about a quarter of the bytes in UTF-8, rounded up
    return -(-len(text.encode("utf-8", "replace")) // 4)


def _is_shown(letter: str) -> bool:
    if letter.isascii() or letter.isspace():
        return letter.isprintable() or letter.isspace()
    if "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef":  # selectors of variants
        return False
    return letter.isprintable() and letter not in _UNSEEN


def _disarm(text: str) -> str:
    # what looks like a tag or like an end of the fence is written with other brackets
    letters = list(text.replace(">>>", "\u203a\u203a\u203a"))
    for at, letter in enumerate(letters):
        after = letters[at + 1] if at + 1 < len(letters) else ""
        if letter == "<" and (after.isalpha() or after in ("/", "!", "?", "|", "<")):
            letters[at] = "\u2039"
    return "".join(letters)
