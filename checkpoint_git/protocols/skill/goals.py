"""Find the pull requests that finish a next action once they are merged. Pure.

An action names them in done_when_merged, or is a text of only a verb of merging and pull requests.
"""

import re
from typing import Any

FIELD = "done_when_merged"

_LONGEST_GOAL = 400  # characters of a text that is only a verb and pull requests
_SIGN = "\0"  # stands for a reference
_NOUN = r"(?:PRs?|MRs?|(?:pull|merge) requests?)"
_LIST = rf"(?:{_NOUN}\s+)?{_SIGN}(?:(?:\s*[,&+]\s*|\s+)(?:and\s+)?{_SIGN})*"
_VERBS = r"(?:merge|land|ship|squash[- ]merge|(?:squash|review) and merge)"
_ONLY_MERGES = rf"(?i)(?:{_VERBS}\s+{_LIST}|get\s+{_LIST}\s+merged)[.!]?"


def find_named(text: str) -> list[str]:
    """Return the references that a text names, each once."""
    if not any(map(str.isdigit, text)):
        return []
    from checkpoint_git.core.references import find_references, spell_ranges

    return find_references(spell_ranges(text))


def find_merging(text: str) -> list[str]:
    """Return the pull requests of a text of only a verb of merging and pull requests, else []."""
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
    if not is_mergeable or not re.fullmatch(_ONLY_MERGES, signed):
        return []
    return list(dict.fromkeys(references))


def is_pull_request(reference: str) -> bool:
    """Whether a reference can be merged; a ticket such as ABC-12 cannot."""
    return "#" in reference or "!" in reference


def find_goals(action: Any) -> list[str]:
    """Return the references that finish an item of next_actions once all of them are merged.

    [] if nothing finishes it, or an entry of done_when_merged has no reference.
    """
    if isinstance(action, str):
        return find_merging(action)
    if not isinstance(action, dict) or not isinstance(action.get(FIELD), list):
        return []

    goals = list[str]()
    for entry in action[FIELD]:
        if not isinstance(entry, str):
            return []
        named = find_named(entry)
        if not named:
            return []
        goals += named

    return list(dict.fromkeys(goals))


def with_goals(text: str) -> Any:
    """Return a new action as it is stored: with done_when_merged if its text is only a merge."""
    goals = find_merging(text)
    if not goals:
        return text
    return {"text": text, FIELD: goals}
