"""The one writer of HTML: every text goes through it and stays text. It knows elements, and not what they say."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import NamedTuple

from checkpoint_git.core.redact import redact
from checkpoint_git.core.terminal_text import escape_controls, shorten

MAX_TEXT = 4_000  # letters of one text
_LOOKED_AT = 2_000  # letters beyond them that are looked at, so that no secret is cut in two and missed
_NAME = re.compile(r"[a-z][A-Za-z0-9-]*")
_NO_CONTENT = frozenset(("meta", "br"))
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][!-~]*)?")
_ANCHOR = re.compile(r"#[a-z][a-z0-9-]*")


class Markup(NamedTuple):
    """HTML that is finished; only this module makes any."""

    html: str


Child = str | Markup
Attributes = Mapping[str, str | int | Markup | None]
NOTHING: Attributes = {}


def say(text: str, limit: int = MAX_TEXT) -> str:
    """A text as it is shown: without secrets and invisible characters, and not longer than the limit."""
    shown = redact(text[: limit + _LOOKED_AT])
    return escape_controls(shorten(shown + ("..." if len(text) > limit + _LOOKED_AT else ""), limit), keep="\n")


def element(name: str, attributes: Attributes = NOTHING, *children: Child) -> Markup:
    """An element. Texts among attributes and children are a stranger's; an attribute that is None is left out."""
    words = [name, *(_attribute(key, value) for key, value in attributes.items() if value is not None)]
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    start = f"<{' '.join(words)}>"
    return Markup(start if name in _NO_CONTENT else f"{start}{join(children).html}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Several children, one after the other."""
    return Markup("".join(child.html if isinstance(child, Markup) else escape(say(child)) for child in children))


def _attribute(key: str, value: str | int | Markup | None) -> str:
    if not _NAME.fullmatch(key) or key.startswith("on") or key == "style":
        raise ValueError(key)
    return f'{key}="{value.html if isinstance(value, Markup) else escape(say(str(value)))}"'


def own_text(text: str) -> Markup:
    """A text of this package's own, in which nothing is looked for: a hash looks like a secret."""
    return Markup(escape(text))


def own_content(name: str, attributes: Attributes, text: str) -> Markup:
    """A style or script element with a text of this package's own, which nothing in it may end."""
    if "</" in text or "<!--" in text:
        raise ValueError(name)
    return Markup(f"{element(name, attributes).html.removesuffix(f'</{name}>')}{text}</{name}>")


def find_link(address: str) -> str:
    """The address where it can be a link: a place on the page, or plain http(s) that holds no secret; else ""."""
    if len(address) > MAX_TEXT or (not _LINK.fullmatch(address) and not _ANCHOR.fullmatch(address)):
        return ""
    return address if say(address) == address else ""
