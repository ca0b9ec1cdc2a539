"""What looks like a secret in a text, taken out before the text leaves the repository. Pure."""

import re
from typing import Any

HIDDEN = "[redacted]"

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]{0,60}-----|\Z)", re.DOTALL
)
# "://", also as a JSON pointer and JSON in a text, once or twice, spell it
_SLASHES = r"(?:(?<=://)|(?<=:~1~1)|(?<=:\\/\\/)|(?<=:\\\\/\\\\/))"
# user:password@ and token@ of an address, also where a message cut it off, or in another; host and ssh's user stay
_ADDRESS = re.compile(
    _SLASHES + r"(?:(?!git@|(?<=ssh://)[\w.-]{1,32}@)[^\s/@?#\"'<>]{1,400}@(?!sha\d{3}:[0-9a-f]{16})"
    r"|[^\s/@:?#\"'<>\[]{0,100}:(?!\d)[^\s/@?#\"'<>]{1,400}?\.\.\.)"
    r"|(?<=%3[Aa]%2[Ff]%2[Ff])(?:[^\s/@?#\"'<>&%]|%(?!2[Ff]|40)){1,400}%40"
)
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}|dckr_[po]at_[A-Za-z0-9_-]{20,}|hv[sbr]\.[A-Za-z0-9_-]{24,}"
    r"|gl(?:pat|ptt|rt|dt|soat|cbt|agent)-[A-Za-z0-9_-]{12,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
    r"|[sr]k[-_](?:live|test|proj|ant|or|svcacct|admin)[-_][A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9_-]{20,}"
    r"|whsec_[A-Za-z0-9+/=]{16,}"
    r"|A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
    r"|(?:gsk_|xai-|pplx-)[A-Za-z0-9]{30,}|glsa_[A-Za-z0-9_]{30,}|sh(?:pat|pss|pca|ppa)_[a-f0-9]{32}|dapi[a-f0-9]{32}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{32,}"
    r"|lin_(?:api|oauth)_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|secret_[A-Za-z0-9]{30,}|ATATT[A-Za-z0-9_=-]{20,}"
    r"|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"
    r"|discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{30,}"
    r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}|SK[a-f0-9]{32}"  # Telegram, Twilio
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|key-[a-f0-9]{32}|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    r")"
)
_CUT = re.compile(  # what a message left of one
    r"(?<![A-Za-z0-9])(?:A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{8,15}|(?:gh[pousr]_|github_pat_|dckr_[po]at_|hv[sbr]\.|sk-"
    r"|gl(?:pat|ptt|rt|dt|soat|cbt|agent)-|whsec_|AIza|ya29\.|GOCSPX-|gsk_|xai-|pplx-|glsa_|npm_|pypi-|hf_|dop_v1_"
    r"|ntn_|ATATT|SG\.|eyJ|shpat_|dapi)[A-Za-z0-9_.-]{8,60})\.\.\."
)
# a password in an address that is not on this machine; $NAME, <NAME> and the like stand for one
_LOGIN = re.compile(
    _SLASHES + r"([^\s/@:?#\"'<>]{0,100}):([^\s/@:?#\"'<>${}*\[\]]{6,300})"
    r"@(?!localhost|127\.|\[::1|sha\d{3}:[0-9a-f]{16})",
    re.IGNORECASE,
)
# API_KEY=..., AccountKey: ..., Bearer ...: secrets where the value looks drawn at random and is neither called nor
# asked for a member
_ASSIGNED = re.compile(
    r"((?:(?:api|access|account|auth|bot|client|encryption|master|private|secret)[-_]?(?:key|secret|token)(?:_base)?"
    r"|secret|password|passwd) ?[=:] ?\\?[\"']?|(?<![a-z])(?:bearer|basic) )"
    r"([A-Za-z0-9+/_~=-]{16,}+(?!\(|\.\w)|[A-Za-z0-9+/_~=-]{11,15}(?=\.\.\.))",
    re.IGNORECASE,
)
# what samples have in a secret's place
_SAMPLE = re.compile(r"(.)\1{7}|example|placeholder|change_?me|your|^(?:password|passwd|secret|x+)$", re.IGNORECASE)
# password=..., "api_key": "...", --token ..., Authorization: Bearer ...
_ANNOUNCED = re.compile(
    r"(?i)((?<![a-z])(?:[a-z0-9]{1,30}[-_.]){0,4}"
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?secret"
    r"|credentials?|auth[-_]?key|signature|sig)"
    r"[\"']?\s{0,3}(?:=|:(?!//)|=>|:=)\s{0,3}(?:bearer\s+|basic\s+)?[\"']?)([^\s\"'&,;<>()\[\]{}]{4,})"
)
_OPTION = re.compile(
    r"(?i)(--(?:[a-z0-9]{1,20}-){0,3}(?:password|passwd|secret|token|api-key|access-key)\s+)([^\s-][^\s]{3,})"
)
_BEARER = re.compile(r"(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9+/._~=-]{16,})")
# a long run of letters of both kinds and digits: no word, no path and no hash is like that
_RUN = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{40,}")


# It knows shapes, not meanings: a false alarm hides a word, a miss shows one, so the shapes are wide where a word is
# announced as a secret and narrow where it is not.
def redact(text: str) -> str:
    """What announces a secret, and hosts, stay."""
    if len(text) < 8:
        return text
    text = hide_tokens(text)
    for pattern in (_ANNOUNCED, _OPTION, _BEARER):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    # a hash and a name in small letters stay
    return _RUN.sub(lambda run: HIDDEN if _is_random(run[0]) and not run[0].islower() else run[0], text)


def hide_tokens(text: str) -> str:
    """Only what has the shape of a key, a token or an address's password: nothing an agent has to know is lost."""
    if "-----BEGIN" in text:
        text = _KEY_BLOCK.sub(HIDDEN, text)
    if "//" in text or "~1~1" in text or "\\/" in text or "%2" in text:
        text = _ADDRESS.sub(f"{HIDDEN}@", text)
    text = _ASSIGNED.sub(lambda found: found[1] + HIDDEN if _is_random(found[2]) else found[0], text)
    text = _PREFIXED.sub(HIDDEN, text)
    return _CUT.sub(HIDDEN, text) if "..." in text else text


def hide_tokens_in(value: Any) -> Any:
    """A JSON value, its keys included."""
    if isinstance(value, dict):
        return {hide_tokens(key): hide_tokens_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hide_tokens_in(item) for item in value]
    return hide_tokens(value) if isinstance(value, str) else value


def holds_secret(text: str) -> bool:
    """Only what has the shape of a key, a token or a password: words that announce one are everywhere in code."""
    shapes = [found[0] for found in _PREFIXED.finditer(text)]
    shapes += [found[2] for found in _ASSIGNED.finditer(text) if _is_random(found[2])]
    shapes += [found[2] for found in _LOGIN.finditer(text) if found[1].lower() != found[2].lower()]
    return bool(_KEY_BLOCK.search(text)) or not all(map(_SAMPLE.search, shapes))


def _is_random(value: str) -> bool:
    """Neither words nor a path nor a version nor a hash in capitals: digits in two places, or a long run."""
    is_joined = value.count("/") > 2 or sum(map(value.count, "-_/~+=")) > len(value) // 8
    is_worded = sum(map(len, re.findall("[A-Za-z][a-z]{3,}", value))) > len(value) // 3
    is_mixed = len(re.findall("[0-9]+", value)) > (0 if len(value) >= 40 else 1) and value != value.upper()
    return is_mixed and not is_joined and not is_worded
