"""Take what looks like a secret out of a text before it leaves the repository. Pure."""

import re
from typing import Any

from checkpoint_git.core.secret_rules import find_rules

HIDDEN = "[redacted]"

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]{0,60}-----|\Z)",
    re.DOTALL,
)
# "://", also as a JSON pointer and JSON in a text, once or twice, spell it
_SLASHES = r"(?:(?<=://)|(?<=:~1~1)|(?<=:\\/\\/)|(?<=:\\\\/\\\\/))"
# user:password@ and token@ of an address, also where a message cut it off, or in another; host and
# ssh's user stay
_ADDRESS = re.compile(
    _SLASHES
    + r"(?:(?!git@|(?<=ssh://)[\w.-]{1,32}@)[^\s/@?#\"'<>]{1,400}@(?!sha\d{3}:[0-9a-f]{16})"
    r"|[^\s/@:?#\"'<>\[]{0,100}:(?!\d)[^\s/@?#\"'<>]{1,400}?\.\.\.)"
    r"|(?<=%3[Aa]%2[Ff]%2[Ff])(?:[^\s/@?#\"'<>&%]|%(?!2[Ff]|40)){1,400}%40"
)
# a password in an address that is not on this machine; $NAME, <NAME> and the like mean one
_LOGIN = re.compile(
    _SLASHES + r"([^\s/@:?#\"'<>]{0,100}):([^\s/@:?#\"'<>${}*\[\]]{6,300})"
    r"@(?!localhost|127\.|\[::1|sha\d{3}:[0-9a-f]{16})",
    re.IGNORECASE,
)
# API_KEY=..., AccountKey: ..., Bearer ...: secrets where the value looks drawn at random and is
# neither called nor asked for a member
_ASSIGNED = re.compile(
    r"((?:(?:api|access|account|auth|bot|client|encryption|master|private|secret)"
    r"[-_]?(?:key|secret|token)(?:_base)?"
    r"|secret|password|passwd) ?[=:] ?\\?[\"']?|(?<![a-z])(?:bearer|basic) )"
    r"([A-Za-z0-9+/_~=-]{16,}+(?!\(|\.\w)|[A-Za-z0-9+/_~=-]{11,15}(?=\.\.\.))",
    re.IGNORECASE,
)
# what samples have in a secret's place
_SAMPLE = re.compile(
    r"(.)\1{7}|example|placeholder|change_?me|your|^(?:password|passwd|secret|x+)$", re.IGNORECASE
)
# password=..., "api_key": "...", Authorization: Bearer ...
_NAME = r"(?i)((?<![a-z])(?:[a-z0-9]{1,30}[-_.]){0,4}(?:%s)"
_SEPARATOR = r"[\"']?\s{0,3}(?:=|:(?!//)|=>|:=)\s{0,3}(?:bearer\s+|basic\s+)?[\"']?)"
_VALUE = r"([^\s\"'&,;<>()\[\]{}]{4,})"
# what people choose may be a word
_CHOSEN = "pass(?:word|wd|phrase)?|pwd|secret"
# what machines make is none: "id-token: write", "the token: expired, so ..."
_MADE = (
    "token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?secret"
    "|credentials?|auth[-_]?key|signature|sig"
)
_NO_WORD = r"(?!(?<=: )(?-i:[A-Za-z][a-z]{1,14})(?=[.:!?]?(?:[\s\"'&,;<>()\[\]{}]|\Z)))"
_ANNOUNCED = (
    re.compile(_NAME % _CHOSEN + _SEPARATOR + _VALUE),
    re.compile(_NAME % _MADE + _SEPARATOR + _NO_WORD + _VALUE),
)
_OPTION = re.compile(
    r"(?i)(--(?:[a-z0-9]{1,20}-){0,3}(?:password|passwd|secret|token|api-key|access-key)\s+)"
    r"([^\s-][^\s]{3,})"
)
# ?token=... of an address
_QUERY = re.compile(
    r"(?i)([?&][\w-]{0,30}(?:token|key|secret|password|sig|signature)=)"
    r"(?!\[redacted\])[^\s&#\"'<>]{4,}"
)
_BEARER = re.compile(r"(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9+/._~=-]{16,})")
# a long run of letters of both kinds and digits: no word, no path and no hash is like that
_RUN = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{40,}")


# It knows shapes, not meanings: a false alarm hides a word, a miss shows one, so the shapes are
# wide where a word is announced as a secret and narrow where it is not.
def redact(text: str) -> str:
    """Return the text with its secrets hidden; words that announce one, and hosts, stay."""
    if len(text) < 8:
        return text
    text = hide_tokens(text)
    for pattern in (*_ANNOUNCED, _OPTION, _BEARER):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return _RUN.sub(_hide_run, text)


def _hide_run(run: re.Match[str]) -> str:
    # a hash and a name in small letters stay
    if run[0].islower() or not _is_random(run[0]):
        return run[0]
    return HIDDEN


def hide_tokens(text: str) -> str:
    """Return the text without keys, tokens and addresses' passwords, by their shapes alone.

    Nothing that an agent has to know is lost.
    """
    if "-----BEGIN" in text:
        text = _KEY_BLOCK.sub(HIDDEN, text)
    if "//" in text or "~1~1" in text or "\\/" in text or "%2" in text:
        text = _ADDRESS.sub(f"{HIDDEN}@", text)
    text = _ASSIGNED.sub(_hide_assigned, text)
    if "?" in text or "&" in text:
        text = _QUERY.sub(rf"\g<1>{HIDDEN}", text)
    for rule in find_rules(text):
        text = rule.hide(text, HIDDEN)
    return text


def _hide_assigned(found: re.Match[str]) -> str:
    if _is_random(found[2]):
        return found[1] + HIDDEN
    return found[0]


def hide_tokens_in(value: Any) -> Any:
    """Return a JSON value with the tokens in its texts hidden, its keys included."""
    if isinstance(value, dict):
        return {hide_tokens(key): hide_tokens_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hide_tokens_in(item) for item in value]
    if isinstance(value, str):
        return hide_tokens(value)
    return value


def holds_secret(text: str) -> bool:
    """Return whether a text has a key, a token or a password, by their shapes alone.

    Words that announce one are everywhere in code.
    """
    shapes = [found[0] for rule in find_rules(text) for found in rule.find_all(text)]
    shapes += [found[2] for found in _ASSIGNED.finditer(text) if _is_random(found[2])]
    shapes += [found[2] for found in _LOGIN.finditer(text) if found[1].lower() != found[2].lower()]
    return bool(_KEY_BLOCK.search(text)) or not all(map(_SAMPLE.search, shapes))


def _is_random(value: str) -> bool:
    """Return whether a value looks drawn at random.

    It has digits in two places, in one if it is long, and is neither words nor a path nor a
    version nor a hash in capitals.
    """
    is_joined = value.count("/") > 2 or sum(map(value.count, "-_/~+=")) > len(value) // 8
    is_worded = sum(map(len, re.findall("[A-Za-z][a-z]{3,}", value))) > len(value) // 3
    least_numbers = 2
    if len(value) >= 40:
        least_numbers = 1
    has_digits = len(re.findall("[0-9]+", value)) >= least_numbers
    is_mixed = has_digits and value != value.upper()
    return is_mixed and not is_joined and not is_worded
