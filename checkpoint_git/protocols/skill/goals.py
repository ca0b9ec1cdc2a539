"""Which pull requests finish a next action once they are merged, as its checkpoint says. Pure.

Only structure finishes an action: done_when_merged, or a plain text that is a verb of merging and
pull requests.
"""

import re
from typing import Any

FIELD = "done_when_merged"

_LONGEST_GOAL = 400  # characters of a text that is only a verb and pull requests
_SIGN = "\0"  # stands for a reference
_LIST = rf"(?:(?:PRs?|MRs?|(?:pull|merge) requests?)\s+)?{_SIGN}(?:(?:\s*[,&+]\s*|\s+)(?:and\s+)?{_SIGN})*"
_VERBS = r"(?:merge|land|ship|squash[- ]merge|(?:squash|review) and merge)"
_ONLY_MERGES = rf"(?i)(?:{_VERBS}\s+{_LIST}|get\s+{_LIST}\s+merged)[.!]?"


def find_named(text: str) -> list[str]:
    """Return the references that a text names, each once."""
    if not any(map(str.isdigit, text)):
        return []
    from checkpoint_git.core.references import find_references, spell_ranges

    return find_references(spell_ranges(text))


def find_merging(text: str) -> list[str]:
    """Return the pull requests of a text that is a verb of merging with them and nothing else, else
    [].
    """
    text = text.strip()
    if len(text) > _LONGEST_GOAL or _SIGN in text or not any(map(str.isdigit, text)):
        return []
    from checkpoint_git.core.references import find_mentions, spell_ranges

    text = spell_ranges(text)
    mentions = find_mentions(text)
    signed, end = "", 0
    for start, stop in dict.fromkeys((mention.start, mention.end) for mention in mentions):
        signed += text[end:start] + _SIGN
        end = stop

    signed += text[end:]
    references = [mention.reference for mention in mentions]
    is_mergeable = all(map(is_pull_request, references))
    return (
        list(dict.fromkeys(references))
        if is_mergeable and re.fullmatch(_ONLY_MERGES, signed)
        else []
    )


def is_pull_request(reference: str) -> bool:
    """Return whether it may be merged; a ticket such as ABC-12 is closed."""
    return "#" in reference or "!" in reference


def find_goals(action: Any) -> list[str]:
    """Return the references that finish an item of next_actions once all of them are merged, [] for
    none.
    """
    if isinstance(action, str):
        return find_merging(action)
    stated = action.get(FIELD) if isinstance(action, dict) else None
    if not isinstance(stated, list):
        return []
    goals = list[str]()
    for entry in stated:
        named = find_named(entry) if isinstance(entry, str) else []
        if not named:
            return []  # nobody knows what must be merged
        goals += named

    return list(dict.fromkeys(goals))


def with_goals(text: str) -> Any:
    """Return a new action as it is stored: with done_when_merged where its text is nothing but a
    merge.
    """
    goals = find_merging(text)
    return {"text": text, FIELD: goals} if goals else text
