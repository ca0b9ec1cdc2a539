"""Read the two sides of a checkpoint with conflict markers. Pure."""

import re

from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.merge.conflicts import split_sides
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import Limits
from checkpoint_git.protocols.skill.brief.brief import Brief, make_brief

MARKERS = "json/conflict-markers"
_START = re.compile(r"^<{7,}(?= )", re.MULTILINE)


def find_sides(document: Document, now: int, limits: Limits) -> dict[str, Brief]:
    """Return the brief of "ours" and of "theirs"; {} if more than markers breaks the file."""
    marker = _START.search(document.text or "")
    if marker is None or all(finding.code != MARKERS for finding in document.findings):
        return {}
    sides = split_sides(document.text or "", len(marker[0]))
    states = {}
    for name, text in (("ours", sides.ours), ("theirs", sides.theirs)):
        try:
            value = load(decode(text.encode("utf-8", "surrogateescape")))
        except JsonTextError:
            return {}
        if not isinstance(value, dict):
            return {}
        states[name] = make_brief(document._replace(value=value), now, limits)

    return states
