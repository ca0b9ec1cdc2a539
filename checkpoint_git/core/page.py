"""The parts of a report's page as values, and texts and addresses made fit to be shown on one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.redact import redact
from checkpoint_git.core.terminal_text import escape_controls, shorten

MAX_TEXT = 4_000  # letters of one text
# letters beyond them that are looked at, so that no secret is cut in two and missed
_LOOKED_AT = 2_000
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][!-~]*)?")

Tone = Literal["", "good", "warn", "bad", "info", "dim"]


class Section(NamedTuple):
    """template: a path in the package, to the template whose macro of the anchor's name gets the
    values.
    """

    template: str
    anchor: str
    title: str
    values: Mapping[str, Any]
    note: str = ""
    tone: Tone = ""


class PageParts(NamedTuple):
    """title: the project's name. lead: what is new, in one line. facts, chips (text and tone):
    below the first heading. sections: what matters now. details: what comes after what is out of
    date. notes: for the foot of the page.
    """

    title: str = ""
    facts: Sequence[str] = ()
    chips: Sequence[tuple[str, Tone]] = ()
    sections: Sequence[Section] = ()
    details: Sequence[Section] = ()
    notes: Sequence[str] = ()
    lead: str = ""


def show(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text without secrets and control characters, cut to a limit."""
    shown = redact(text[: limit + _LOOKED_AT])
    if len(text) > limit + _LOOKED_AT:
        shown += "..."
    return escape_controls(shorten(shown, limit), keep="\n")


def find_link(address: str) -> str:
    """Return an address that can be a link, plain http(s) without a secret in it; else ""."""
    if len(address) <= MAX_TEXT and _LINK.fullmatch(address) and show(address) == address:
        return address
    return ""


def words(value: Any) -> str:
    """Return a value that should be a text as one, whatever was written there."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value)[:200]
