"""Quote untrusted text for a model that may obey it: each line is marked as a quotation. Pure."""

import re
from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import change_texts
from checkpoint_git.core.outcome import Outcome
from checkpoint_git.core.secret_rules import find_rules
from checkpoint_git.core.terminal_text import escape_controls, shorten

OPENING = "<<<<< data"
CLOSING = ">>>>> end of data"
MARK = "| "

_MOST_READ = 4  # letters looked at for each that is wanted
# no token is shorter, nor what a message left of one
_WORD = re.compile(r"[A-Za-z0-9_.+/=~:%-]{14,}")
# before a value, in small letters: what core/redact looks for more closely
_ASSIGNING = re.compile(
    r"(?:key|secret|token|_base|password|passwd|sig|signature) ?[=:]|(?:bearer|basic) "
)
# of an address, also in a JSON pointer and in another address
_SLASHES = ("://", ":~1~1", "%3a%2f%2f")
# of an address with a password; the dots where a message cut it off
_LOGIN_SIGNS = ("@", "%40", "...")
_ANNOUNCING = ("pass", "pwd", "secret", "token", "key", "credential", "sig", "bearer", "basic")


def clean(text: str, limit: int) -> str:
    """Return at most `limit` letters of a text on one line, with tags made harmless.

    Control, format and invisible letters go. Unlike terminal_text.escape_controls it leaves
    nothing of them: what reads it has no use for an escape.
    """
    text = text[: limit * _MOST_READ]
    if not (text.isascii() and text.isprintable()):
        hidden: dict[int, str | None] = {}
        for letter in set(text):
            if letter.isspace():
                hidden[ord(letter)] = " "
            elif not _is_shown(letter):
                hidden[ord(letter)] = None
        text = text.translate(hidden)

    # only now: a letter that nobody sees may have been within a token
    text = str(hide_secrets(text, text))
    text = " ".join(text.split()).replace(">>>", "\u203a\u203a\u203a")
    # what looks like a tag or like an end of the fence is written with other brackets
    if "<" in text:
        text = re.sub(r"<(?=[^\W\d_]|[/!?|<])", "\u2039", text)
    return shorten(text, limit)


def hide_secrets(value: Any, text: str) -> Any:
    """Return a JSON value with the tokens in its texts hidden. text: the value as written."""
    if not may_hold_secret(text.encode("utf-8", "replace")):
        return value
    from checkpoint_git.core.redact import hide_tokens_in  # late: it compiles large patterns

    return hide_tokens_in(value)


def hide_in_value(text: str) -> str:
    """Return a text that a message quotes alone, with its secrets hidden.

    What it announces as a password is hidden too.
    """
    small = text.lower()
    is_announced = any(word in small for word in _ANNOUNCING)
    if not is_announced and not may_hold_secret(text.encode("utf-8", "replace")):
        return text
    from checkpoint_git.core.redact import redact  # late: it compiles large patterns

    return redact(text)


def hide_in_findings(outcome: Outcome) -> Outcome:
    digest = outcome.digest
    if digest is not None:
        entries = [(_hide_in(finding), count) for finding, count in digest.entries]
        digest = digest._replace(entries=entries)
    return outcome._replace(findings=list(map(_hide_in, outcome.findings)), digest=digest)


def _hide_in(finding: Finding) -> Finding:
    # where its message hides a value, its hint does not repeat it
    hint = finding.hint
    text = "\n".join([finding.message, finding.where, str(hint)])
    if not may_hold_secret(text.encode("utf-8", "replace")):
        return finding

    message, where = hide_secrets([finding.message, finding.where], text)
    hint = change_texts(hint, lambda part: str(hide_secrets(part, text)))
    if "[redacted]" in message:
        hint = change_texts(hint, hide_in_value)
    return finding._replace(message=message, where=where, hint=hint)


def may_hold_secret(data: bytes) -> bool:
    """Return False if surely nothing is in the data that redact takes for a secret.

    data: a text, or JSON as it is written.
    """
    text = data.decode("utf-8", "replace")
    if "\\u00" in text and any(f"\\u00{digit}" in text for digit in range(2, 8)):
        return True  # a letter is written as its number

    text = text.replace("\\", "")  # as some write a slash or a quotation mark in JSON
    if "-----BEGIN" in text and "PRIVATE KEY" in text:
        return True

    small = text.lower()
    if any(sign in small for sign in _SLASHES) and any(sign in small for sign in _LOGIN_SIGNS):
        return True
    if _ASSIGNING.search(small):
        return True

    words = " ".join(_WORD.findall(text))
    return any(rule.is_suspected(words) for rule in find_rules(words))


# It knows nothing of what is quoted. A quoted line begins with a mark that its content cannot
# remove, and content has no line ends, so that no content is outside the fence.
def quote(lines: Iterable[str]) -> list[str]:
    return [OPENING, *(f"{MARK}{line}" for line in lines), CLOSING]


def count_tokens(text: str) -> int:
    # about a quarter of the bytes in UTF-8, rounded up
    return -(-len(text.encode("utf-8", "replace")) // 4)


def _is_shown(letter: str) -> bool:
    # no format, no selector of a variant
    is_plain = letter.isprintable() and escape_controls(letter) == letter
    return is_plain and letter != "\u2800" and not "\ufe00" <= letter <= "\ufe0f"
