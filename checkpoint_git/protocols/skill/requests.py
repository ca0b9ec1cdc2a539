"""What a sentence of a checkpoint asks for: whether it tells somebody to land a pull request, or mentions one. Pure.

The rule is careful, because `next` skips what is shipped: an action that still has something to do must never be
taken for done. So a reference counts as asked for only where a verb of landing governs it with nothing but light words
between ("finish the review of #12"), and an action counts as shipped only where it asks for nothing else.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.references import Mention, find_mentions

Role = Literal["asked", "waits", "about", "mentioned"]


class Use(NamedTuple):
    """How a text uses a reference.

    asked: to be landed, finished, reviewed, opened. waits: something else waits for it. about: the text's heading, or
    something on its way to be landed. mentioned: anything else, and no reason to say anything.
    """

    reference: str
    role: Role


_LANDING = (
    r"merge|squash|squash-merge|rebase|land|ship|open|create|raise|submit|push|finish|complete|close|review|approve|address|"
    r"resume|continue|implement|start|begin|resolve|fix|do|pick|work|wrap|update|get|unblock|mark|merge back|"
    r"rebase and merge|commit and push|review and merge|approve and merge|finish and merge|reopen|"
    r"re-review|deliver|draft"
)
_LIGHT = (
    r"a|an|the|our|my|your|this|that|its|both|all|PRs?|pull|requests?|MRs?|merge|issues?|tickets?|task|draft|stacked|open|last|"
    r"final|approved|green|ready|pending|up|out|off|on|in|with|work|working|implementation|implementing|reviews?|reviewing|"
    r"comments?|feedback|of|for|branch|linear|jira|github|gitlab|v?\d+(?:\.\d+)+"
)
# What may stand before the verb of a clause: its beginning, a joint, or words that only lead up to it.
_LEAD = (
    r"(?:please|todo|now|then|next|finally|first|and|or|to|we|i|you|should|must|can|just|either|need|needs|try|also|still|remember|"
    r"ready|time|squash|user)"
)
_ASKING = re.compile(
    rf"(?:^|\[ ?\]\s+|[.;:!?,(\[]\s*|[—\u2013→•*-]\s+|\d[.)]\s+|\b{_LEAD}\s+)"
    rf"(?:{_LANDING})\s+(?:(?:{_LIGHT})\s+)*[(\[\"'`*]*$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|without|avoid|whether|if|before|after|once|when|until|unless)|n't)\s+(?:\w+\s+){0,3}$",
    re.IGNORECASE,
)
_JOINED = re.compile(r"^[\s,/&+()\[\]]*(?:(?:and|or|then|plus|aka)\s+)?(?:the\s+)?$", re.IGNORECASE)

# What may follow a reference that is the object of the verb; any other word makes it part of a name ("#12 fallout").
_AFTER = re.compile(
    r"^[\"'`*]*(?:$|[.,;:!?)\]}(\[—\u2013→+&/]|\s*(?:$|[—\u2013→(\[&+/-]|(?:into|to|onto|for|with|on|from|by|once|when|as|after|before|if|in|"
    r"via|and|or|then|now|today|asap|first|next|please|review|branch|PR|until|while|so|at|is|are|merged|reviewed|landed|approved|"
    r"shipped|finished|done|over|through|ready)\b))",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:prod|production|staging|deploy\w*|releas\w*|customers?|users|live|rollout|roll out)\b", re.IGNORECASE
)
_GET_PASSIVE = re.compile(
    r"^[\s\"'`*]*(?:merged|reviewed|landed|approved|shipped|finished|done|in\b|over the line|through|ready)",
    re.IGNORECASE,
)
_GET = re.compile(r"\bget\s+(?:\w+\s+)*$", re.IGNORECASE)

_WAITING_BEFORE = re.compile(
    r"\b(?:wait(?:s|ing)?(?: for| on)?|await(?:s|ing)?|watch(?:ing)?|blocked (?:on|by)|depends on|pending|needs|"
    r"requires|held (?:by|for)|after|once|when|until|as soon as|unless)\s+(?:(?:" + _LIGHT + r")\s+)*$",
    re.IGNORECASE,
)
_LANDS = re.compile(
    r"^[\"'`*]*\s+(?:\([^()]*\)\s+)?(?:(?:is|are|has|have|gets?|to be|been|to)\s+)*(?:green\s*(?:\+|and|&)\s*)?"
    r"(?:merg|land|ship|review|approv|finish|done|complete|clos|in\b)",
    re.IGNORECASE,
)
_FIRM_WAIT = re.compile(
    rf"\b(?:wait|await|watch|blocked|depends|pending|held)\w*(?:\s+\w+)?\s+(?:(?:{_LIGHT})\s+)*$", re.IGNORECASE
)
_RESOLVED_BY = re.compile(
    r"\b(?:fix(?:ed|es)?|resolv(?:ed|es)|address(?:ed|es)|handl(?:ed|es)|cover(?:ed|s)|solv(?:ed|es)|deliver(?:ed|s)|"
    r"land(?:s|ed)?|ship(?:s|ped)?|unblock(?:ed|s)|cleared|done|included|comes|arrives)"
    rf"\s+(?:by|in|with|via|through|once|when|as part of)\s+(?:(?:{_LIGHT})\s+)*$",
    re.IGNORECASE,
)
_RESOLVES = re.compile(
    r"^\s+(?:will\s+|should\s+)?(?:fix|resolv|address|handl|cover|solv|unblock|clear)(?:es?|ed|s)?\b", re.IGNORECASE
)

_WORK = re.compile(
    r"^\s*(?:add|build|create|fix|finish|implement|introduce|land|make|merge|migrate|move|port|refactor|remove|rename|replace|ship|split|"
    r"support|switch|upgrade|use|wire|write)\b",
    re.IGNORECASE,
)
_RELATION = re.compile(
    r"\b(?:after|since|until|once|when|before|from|following|based|depends?|blocked|follow-?ups?|fallout|regressions?|revert\w*|docs?|"
    r"documentation|notes|tests?|because|due|see|per|like|unlike|refs?|part of|introduced|caused)\b|[.;]\s",
    re.IGNORECASE,
)
_HEAD = re.compile(
    rf"^\s*(?:[-*•]\s*|\d+[.)]\s*|\[ ?\]\s*){{0,2}}(?:{_LEAD}\b[\s:,]*)*(?:{_LANDING})\s+(?:(?:{_LIGHT}|\d+)\s+)*"
    r"[(\[\"'`*]*$",
    re.IGNORECASE,
)
_PASSIVE = r"(?:reviewed|approved|green|merged|landed|shipped|finished|done|in)\b"
_PASSIVES = re.compile(rf"^\s*{_PASSIVE}(?:(?:,|\s+and|,\s*and)\s+{_PASSIVE})*", re.IGNORECASE)
_TAIL = re.compile(r"^[^.;,\n→+]*[.!]?\s*$")
_MORE = re.compile(r"\b(?:and|then|also|plus|afterwards)\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s*(?:\([^()]*\)\s*)?(?:[:—\u2013]|-\s)")
_NEAR = 160  # characters around a reference in which words decide about it


def find_uses(text: str) -> list[Use]:
    """Every reference of a text with its strongest use, in the order named."""
    strongest: dict[str, Role] = {}
    for mention, role in _find_roles(text):
        known = strongest.get(mention.reference)
        if known is None or _RANK[role] < _RANK[known]:
            strongest[mention.reference] = role
    return [Use(reference, role) for reference, role in strongest.items()]


def find_shipped(action_text: str, merged: Mapping[str, str]) -> str | None:
    """The evidence that an action is done: all it asks for is merged, and it asks for nothing else. Else None.

    merged: reference -> evidence, as repo.past.history.read_merged answers.
    """
    asked = [mention for mention, role in _find_roles(action_text) if role == "asked"]
    if not asked or any(mention.reference not in merged for mention in asked) or not _is_all(action_text, asked):
        return None
    return merged[asked[0].reference]


def is_resolved_by(resolution: str, reference: str) -> bool:
    """Whether a blocker's proposed resolution rests on this reference: asks for it, waits for it, is fixed by it."""
    roles = {use.role for use in find_uses(resolution) if use.reference == reference}
    if roles & {"asked", "waits"}:
        return True
    mentions = [mention for mention in find_mentions(resolution) if mention.reference == reference]
    return any(
        _RESOLVED_BY.search(_before(resolution, mention)) or _RESOLVES.match(_after(resolution, mention))
        for mention in mentions
    )


def find_resolution(resolution: str, merged: Mapping[str, str]) -> str | None:
    """The evidence that what a blocker proposes is merged, None where nothing it rests on is."""
    references = dict.fromkeys(mention.reference for mention in find_mentions(resolution))
    found = (f"{one} by {merged[one]}" for one in references if one in merged and is_resolved_by(resolution, one))
    return next(found, None)


_RANK: dict[Role, int] = {"asked": 0, "waits": 1, "about": 2, "mentioned": 3}


def _find_roles(text: str) -> list[tuple[Mention, Role]]:
    mentions = find_mentions(text)
    found: list[tuple[Mention, Role]] = []
    for mention in mentions:
        role = _find_role(text, mention)
        if role == "mentioned" and found and _follows(text, found[-1], mention):
            role = "asked"
        found.append((mention, role))
    return [(mention, role) for mention, role in found if not _is_step_of_a_plan(text, mention, role)]


def _is_step_of_a_plan(text: str, mention: Mention, role: Role) -> bool:
    """Whether a bare "PR 2" counts the steps of a plan: "PR 2: write the parser", "v1.4 PR 2", "PR 2 (ABC-12)"."""
    if not re.fullmatch(r"\w+[ -]?\d+", text[mention.start : mention.end]) or mention.reference[0].isalpha():
        return False
    ticket = re.match(r"\s*\(\s*[A-Z][A-Z0-9]+-\d", _after(text, mention))
    return bool(role == "about" or ticket or re.search(r"\d\.\d+\s+$", _before(text, mention)))


def _follows(text: str, last: tuple[Mention, Role], mention: Mention) -> bool:
    """Whether a reference only continues a list of what is asked for: "merge #12, #13 and #14"."""
    between = text[last[0].end : mention.start] if mention.start >= last[0].end else ""
    return last[1] == "asked" and bool(_JOINED.match(between)) and bool(_AFTER.match(_after(text, mention)))


def _find_role(text: str, mention: Mention) -> Role:
    before, after = _before(text, mention), _after(text, mention)
    for role, holds in _ROLES:
        if holds(text, mention, before, after):
            return role
    return "mentioned"


def _asks(text: str, mention: Mention, before: str, after: str) -> bool:
    asking = _ASKING.search(before)
    if not asking or not _AFTER.match(after) or _NEGATED.search(before[: asking.start()]):
        return False
    if _GET.search(before):
        return bool(_GET_PASSIVE.match(after))
    return not _BEYOND.search(_clause(after))


def _names_the_work(text: str, mention: Mention, before: str, after: str) -> bool:
    """Such as "Add retries (#12)": the reference in brackets at the end says which work is meant."""
    start = before.rfind("(")
    if start < 0 or mention.start > _NEAR or not re.match(r"^[^()]{0,40}\)\s*\.?\s*$", after):
        return False
    inside = before[start + 1 :]
    return bool(_WORK.match(before) and not _RELATION.search(before) and _JOINED.match(_without_references(inside)))


def _waits(text: str, mention: Mention, before: str, after: str) -> bool:
    waiting = _WAITING_BEFORE.search(before)
    return bool(waiting and (_FIRM_WAIT.search(before) or _LANDS.match(after)))


def _heads(text: str, mention: Mention, before: str, after: str) -> bool:
    closed = after.lstrip("])\"'`*")
    return not before.strip(" *-[(\"'`") and bool(_HEADING.match(closed) or before[-1:] + after[:1] == "[]")


def _is_in_the_way_of_landing(text: str, mention: Mention, before: str, after: str) -> bool:
    """Such as "PR #12 needs review", "get approval for #12", "ping the reviewers on #12", or the reference alone."""
    alone = not before.strip(_WRAPPING) and not after.strip(_WRAPPING + ".!")
    return alone or bool(_STEP_BEFORE.search(before) or (not before.strip(_WRAPPING) and _STEP_AFTER.match(after)))


_WRAPPING = " *-[](\"'`)"
_STEP_BEFORE = re.compile(
    r"\b(?:approvals?|reviews?|reviewers?|sign-?off|ci|checks)\s+(?:for|on|of|from)\s+(?:(?:the|our|my)\s+)?$|"
    r"^\W*(?:monitor|babysit|chase|shepherd|nudge|ping)\s+(?:(?:the|our|my)\s+)?(?:reviewers?\s+(?:of|on|for)\s+)?$",
    re.IGNORECASE,
)
_STEP_AFTER = re.compile(
    r"^[\s\"'`*)\]]*(?:still\s+)?(?:(?:is|are)\s+(?:still\s+)?(?:waiting|open|pending|in review|up for)\b|"
    r"(?:needs?|awaits?|awaiting)\s(?=.{0,40}(?:review|approv|merg|sign-?off|rebas)))",
    re.IGNORECASE,
)


_ROLES: tuple[tuple[Role, Callable[[str, Mention, str, str], bool]], ...] = (
    ("asked", _asks),
    ("asked", _names_the_work),
    ("waits", _waits),
    ("about", _heads),
    ("about", _is_in_the_way_of_landing),
)


def _is_all(text: str, asked: list[Mention]) -> bool:
    """Whether nothing else is asked for, before or behind the references."""
    first, last = asked[0], asked[-1]
    after = _after(text, last)
    if _names_the_work(text, first, _before(text, first), _after(text, first)):
        return not _MORE.search(after)
    tail = _PASSIVES.sub("", re.sub(r"\([^()]*\)", "", text[last.end :]))
    between = _without_references(text[first.start : last.end])
    whole = _TAIL.match(tail.lstrip(")]\"'`*")) and not _MORE.search(tail) and not re.search(r"[.;]", between)
    return bool(whole and _HEAD.match(text[: first.start]))


def _without_references(text: str) -> str:
    for mention in reversed(find_mentions(text)):
        text = text[: mention.start] + text[mention.end :]
    return text


def _before(text: str, mention: Mention) -> str:
    return text[max(mention.start - _NEAR, 0) : mention.start]


def _after(text: str, mention: Mention) -> str:
    return text[mention.end : mention.end + _NEAR]


def _clause(text: str) -> str:
    """The text up to where the next clause begins."""
    return re.split(r"[.;]\s|\n|\bthen\b|\band\b", text, maxsplit=1)[0]
