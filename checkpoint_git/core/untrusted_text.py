"""Untrusted text quoted for a model that may obey it: each line is marked as a quotation. Pure."""

import re
from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten

OPENING = "<<<<< data"
CLOSING = ">>>>> end of data"
MARK = "| "

_MOST_READ = 4  # letters looked at for each that is wanted
# How every token begins that redact knows by its shape, with no letter or digit before it, in a word of _SHORTEST
# characters or more: few files are read by a regular expression.
_SIGNS = b"""ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- glrt- gldt- glsoat- glcbt- glagent- xapp- sk_ sk- rk_
rk- gsk_ xai- pplx- glsa_ shpat_ shpss_ shpca_ shppa_ whsec_ ya29. npm_ pypi- hf_ dop_v1_ lin_ ntn_ secret_ key- dckr_
hvs. hvb. hvr. hooks.slack webhooks/""".split()
_SIGNS += [b"xox%c-" % letter for letter in b"abcdefghijklmnopqrstuvwxyz"]
_CAPITALS = b"AKIA ASIA AGPA AIDA AROA ANPA AIza GOCSPX- ATATT SG. AGE-SECRET eyJ AA SK".split()
_SHORTEST = 14
_LONG = b"x" * _SHORTEST
_LEAST_VALUE = 14  # bytes, with the dots where a message cut it off, behind one of these names
_NAMES = (b"KEY=", b"SECRET=", b"TOKEN=", b"PASSWORD=", b"PASSWD=", b"_BASE=")  # in capitals, of values
_LONGEST_NAME = 40  # bytes, of a name with all that may be between it and its value
_MOST_LOGINS = 1_000  # addresses of a file that is not suspected anyway
_LONGEST_LOGIN = 6_144  # bytes: 500 letters, each of which JSON may write with twelve
_ANNOUNCING = ("pass", "pwd", "secret", "token", "key", "credential", "sig", "bearer", "basic")
_MARKS = b"_.+/=~-"  # that may be in a token
_IN_WORDS = _MARKS + b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OTHERS = bytes(range(256)).translate(None, _IN_WORDS)
_SHAPE = bytes.maketrans(_IN_WORDS + _OTHERS, b"x" * len(_IN_WORDS) + b" " * len(_OTHERS))
_PARTS = bytes.maketrans(_MARKS, b" " * len(_MARKS))
_FIRST_PARTS = frozenset(sign.translate(_PARTS).split()[0] for sign in _SIGNS)


def clean(text: str, limit: int) -> str:
    """At most `limit` letters on one line, without control, format or invisible letters, tags made harmless. Unlike
    terminal_text.escape_controls it leaves nothing of them: what reads it has no use for an escape.
    """
    text = text[: limit * _MOST_READ]
    if not (text.isascii() and text.isprintable()):
        hidden = {ord(letter): " " if letter.isspace() else None for letter in set(text) if not _is_shown(letter)}
        text = text.translate(hidden)
    text = str(hide_secrets(text, text))  # only now: a letter that nobody sees may have been within a token
    text = " ".join(text.split()).replace(">>>", "\u203a\u203a\u203a")
    # what looks like a tag or like an end of the fence is written with other brackets
    return shorten(re.sub(r"<(?=[^\W\d_]|[/!?|<])", "\u2039", text) if "<" in text else text, limit)


def hide_secrets(value: Any, text: str) -> Any:
    """A JSON value whose texts show no token. text: the value as it is written."""
    if not may_hold_secret(text.encode("utf-8", "replace")):
        return value
    from checkpoint_git.core.redact import hide_tokens_in  # late: it compiles large patterns

    return hide_tokens_in(value)


def hide_in_value(text: str) -> str:
    """A text that a message quotes alone: what it announces as a password is hidden too."""
    if not any(map(text.lower().__contains__, _ANNOUNCING)) and not may_hold_secret(text.encode("utf-8", "replace")):
        return text
    from checkpoint_git.core.redact import redact  # late: it compiles large patterns

    return redact(text)


def hide_in_findings(outcome: Outcome) -> Outcome:
    digest = outcome.digest and outcome.digest._replace(
        entries=[(_hide_in(finding), count) for finding, count in outcome.digest.entries]
    )
    return outcome._replace(findings=list(map(_hide_in, outcome.findings)), digest=digest)


def _hide_in(finding: Finding) -> Finding:
    # where its message hides a value, its hint does not repeat it
    shown = finding.message, finding.where, finding.hint
    message, where, hint = hide_secrets([*shown], "\n".join(shown))
    hint = hide_in_value(hint) if "[redacted]" in message else hint
    return finding._replace(message=message, where=where, hint=hint)


def may_hold_secret(data: bytes) -> bool:
    """False where no secret is. But for a block and a password in an address each is a long word, or in one."""
    data = data.replace(b"\\/", b"/") if b"\\" in data else data  # as some write JSON
    is_spelled = b"\\u00" in data and any(b"\\u00%d" % digit in data for digit in range(2, 8))  # letters as numbers
    if is_spelled or b"%40" in data or _may_hold_login(data.replace(b"\\", b"")):  # one address in another
        return True
    if b"-----BEGIN" in data and b"PRIVATE KEY" in data:
        return True
    words, before, find, end = list[bytes](), list[bytes](), (data.translate(_SHAPE) + b" ").find, 0
    while (at := find(_LONG, end)) >= 0:
        end = find(b" ", at)
        words.append(data[at:end])
        if data[at - 3 : at] != b'  "':  # else it begins a line, and no name is before it
            before.append(data[max(at - _LONGEST_NAME, 0) : at + 1])
            # after what JSON writes as \n or \u00e9 the word begins later
            words += [data[at + 1 : end], data[at + 5 : end]] if data[at - 1 : at] == b"\\" else []
    named = b"\n".join(before).upper().replace(b"BASIC ", b"BEARER ")
    if b"EARER " in named or any(map(named.replace(b":", b"=").replace(b" =", b"=").__contains__, _NAMES)):
        return True
    text = b" ".join([*words, b""])
    assigned = text.upper().split() if b"=" in text else []
    if any(len(word.partition(name)[2]) >= _LEAST_VALUE for word in assigned for name in _NAMES):
        return True
    signs = [b"dapi"] if _FIRST_PARTS.isdisjoint(text.translate(_PARTS).split()) else [b"dapi", *_SIGNS]
    signs = signs if text.islower() else [*signs, *_CAPITALS]
    return any(map(text.__contains__, signs)) and any(_may_begin_token(text, sign) for sign in signs)


def _may_hold_login(data: bytes) -> bool:
    parts = data.split(b"://", _MOST_LOGINS)[1:] + (data.split(b":~1~1", _MOST_LOGINS)[1:] if b"~" in data else [])
    logins = (part[:_LONGEST_LOGIN].partition(b"/")[0].partition(b'"')[0] for part in parts)
    return len(parts) >= _MOST_LOGINS or any(b"@" in login or b"..." in login for login in logins)


def _may_begin_token(text: bytes, sign: bytes) -> bool:
    """Whether a sign has no letter before it and enough of its word behind it. text: words, each with a space."""
    at = text.find(sign)
    while at >= 0 and (text[at - 1 : at].isalnum() or b" " in text[at : at + _SHORTEST]):
        at = text.find(sign, at + 1)
    return at >= 0


# It knows nothing of what is quoted. A quoted line begins with a mark that its content cannot take away, and content
# has no line ends, so that no content stands outside the fence.
def quote(lines: Iterable[str]) -> list[str]:
    return [OPENING, *(f"{MARK}{line}" for line in lines), CLOSING]


def count_tokens(text: str) -> int:
    # about a quarter of the bytes in UTF-8, rounded up
    return -(-len(text.encode("utf-8", "replace")) // 4)


def _is_shown(letter: str) -> bool:
    is_plain = letter.isprintable() and escape_controls(letter) == letter  # no format, no selector of a variant
    return is_plain and letter != "\u2800" and not "\ufe00" <= letter <= "\ufe0f"
