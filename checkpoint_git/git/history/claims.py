"""What one commit's message claims: which pull requests and tickets it merged, which it took back. Pure."""

import re
from bisect import bisect_left
from typing import NamedTuple

from checkpoint_git.core.references import MAX_TEXT, Mention, find_mentions, find_references
from checkpoint_git.git.history.reference_scan import REVERTED_IDS


class Commit(NamedTuple):
    id: str  # its full hash
    parents: int  # how many
    subject: str
    body: str  # the message below the subject
    when: int = 0  # seconds since 1970


class Claims(NamedTuple):
    merged: dict[str, str]  # reference -> the rule that makes it evidence
    reverted: frozenset[str]  # references that it takes back
    undone: tuple[str, ...]  # ids (whole or shortened) of commits that it reverts


MERGE_RULE = "the subject of a merge commit"
SQUASH_RULE = "the number of a squash merge"
TICKET_RULE = "the ticket that the subject is about"
CLOSES_RULE = "a closing keyword"
TRAILER_RULE = "a trailer that names the pull request"


# Texts, not patterns: `re` compiles and keeps them when they are first used, and most answers need few of them.
_CLOSING = r"(?:clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed)|implement(?:s|ed)|complet(?:e|es|ed))"
_REVERTING = ("revert", "reapply", "re-apply", "reland", "re-land", "back", "roll")
_REVERT = r"(?i)(?:revert(?:s|ed)?|back(?:s|ed)? out|roll(?:s|ed)? ?back)\b[:\s]"
_RELAND = r"(?i)(?:reapply|re-apply|reland|re-land)\b"
_QUOTED = r'(?i)(?:(?:Revert|Reapply) ")+'
_UNDONE = r"(?m)(?:\bThis (?:commit )?|^[ \t]*)[Rr]evert" + REVERTED_IDS
_REVERTED_BELOW = r"(?im)^[ \t]*(?:This )?reverts (?:pull request |merge request |PR |MR )?(?P<what>\S+)"

_MERGE_OF_NUMBER = (
    r"(?i)^(?:(?:chore|build|ci)(?:\(\w{1,20}\))?:\s*)?(?:(?:squash|rollup|auto|queue)[- ])?(?:merge[ds]?|land(?:ed)?)"
    r"(?:\s+of)?(?::\s*|\s+)"
    r"(?P<kind>(?:PRs?|pull requests?|MRs?|merge requests?|GH)[\s-]*)?(?P<what>[#!]?\d.*)"
)
_MERGED_IN = r"(?i)^Merged in (?P<source>\S+) \(pull request #(?P<number>\d+)\)"
_MERGE_OF_BRANCH = r"(?i)^Merge (?:remote-tracking )?(?:branch(?:es)?|commit|tag)?\s*+(?P<source>.+)"
_NUMBERED_TITLE = r"(?i)^Pull request #(?P<number>\d{1,9}): "
_OF_REMOTE = r"(?<!\s)\s++of\s++\S++$"
_INTO = r"(?i)(?<!\s)\s++into\s"
_BRANCH_TICKET = r"(?<![A-Za-z0-9])(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![A-Za-z0-9])"
_BRANCH_NUMBER = r"(?i)(?<![A-Za-z0-9])(?:pr|pull|gh)[/-](?P<number>\d{1,9})(?![A-Za-z0-9])"

_UNFINISHED = r"(?i)^(?:\[?(?:wip|draft)\]?\b|fixup!|squash!|amend!|\w+\(wip\))"
_SUFFIXES = r"(?P<items>(?:\s*[(\uff08][^()\uff08\uff09]{1,200}[)\uff09])+)\s*(?:\[[^\]]{0,40}\]\s*)*\.?$"
_SUFFIX_ITEM = rf"(?i)^(?:{_CLOSING}:?\s+)?(?:(?:PR|pull request|MR|merge request)\s+)?\S+$"
_LEADING = r"^(?:\w[\w-]*(?:\([^)]*\))?!?:\s*)?\[?(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\]?(?![\w-])(?P<rest>.*)$"
_NUMBERED = r"^\[?(?P<ticket>#\d{1,9})\]?(?![\w/-])(?P<rest>.*)$"
_SCOPE = r"^\w[\w-]*\((?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7}|#\d{1,9})\)!?:(?P<rest>.*)$"
_TAGGED = r"^(?P<rest>.*\S)\s+\[(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\]$"
_PARTLY = (
    r"(?i)\b(?:wip|part (?:of|one|two|three|\d+)|step \d|\d+\s*/\s*\d+|start(?:s|ed|ing)?|begin(?:s|ning)?|prepar\w+|"
    r"scaffold\w*|first (?:step|pass|cut)|follow[- ]?ups?|refs?|see|towards?|revert\w*)\b"
)

_CLOSED_BELOW = rf"(?i)(?<![\w-]){_CLOSING}(?:-(?:bug|issue|task))?:?\s+"
_NOT_CLOSING = (
    r"(?i)(?:\b(?:not|partially|partly|should|would|will|may|might|could|to|before|without|never|if|once|helps?|almost)|n't)"
    r"\s+(?:(?:also|yet|fully|only)\s+)?$"
)
_NOT_CLOSED = (
    r"(?i)^(?:'s)?\s+(?:regression|fallout|follow|aftermath|breakage|leftover|review|comment|typo|conflict|part\b|"
    r"\(?part(?:ial)?ly)"
)
_BETWEEN = rf"(?i)^\s*(?:(?:,|&|and|;)\s*)+(?:the\s+)?(?:{_CLOSING}:?\s+)?(?:(?:issue|ticket|PR)\s+)?$"
_BEFORE_FIRST = r"(?i)^(?:the\s+)?(?:(?:issues?|tickets?|PRs?)\s+|<|\[)?$"
_TRAILERS = (
    r"(?im)^(?:PR-URL|Pull[- ]Request|Merge[- ]Request|Reviewed-on|Merged-PR)\s*:\s*<?(?P<what>\S.*)$|"
    r"^See merge request (?P<seen>\S+)\s*$"
)
_MAX_TITLE = 1_000  # characters
_NEAR = 60  # characters around a reference in which words decide about it

# A dependency bot's message quotes another project's release notes, closing keywords and all.
_BOT = r"(?im)dependabot|renovate(?:\[bot\]|-bot)|^Bumps \["


# A claim is what a tool or the user writes when work lands (a merge commit's subject, the number that a squash merge
# appends, a closing keyword); that a number is mentioned claims nothing.
def find_claims(commit: Commit) -> Claims:
    texts = (commit.subject[:MAX_TEXT], commit.body[:MAX_TEXT])
    listed = [match["ids"] for text in texts if "evert" in text for match in re.finditer(_UNDONE, text)]
    undone = tuple(dict.fromkeys(one.lower() for ids in listed for one in re.findall(r"[0-9a-fA-F]{7,64}", ids)))
    depth, quoted, rest = _read_revert(commit.subject)
    merged = _find_in_subject(commit, rest)
    reverted: set[str] = set()
    if depth % 2 or (not depth and "evert" in commit.body and not re.search(_BOT, commit.body)):
        for below in re.finditer(_REVERTED_BELOW, commit.body):
            reverted.update(find_references(below["what"]))
    if depth % 2:
        reverted.update(find_references(quoted))
    elif depth:
        merged.update(dict.fromkeys(find_references(quoted), "a revert of its revert"))
    if commit.body and not re.search(_BOT, commit.body):
        found = _find_closed(commit, commit.body)
        for match in re.finditer(_TRAILERS, commit.body):
            found.update(dict.fromkeys(find_references(match["what"] or match["seen"]), TRAILER_RULE))
        merged = {**found, **merged}
    return Claims({ref: rule for ref, rule in merged.items() if ref not in reverted}, frozenset(reverted), undone)


def may_revert(commit: Commit) -> bool:
    return "evert" in commit.subject or "evert" in commit.body or commit.subject.lower().startswith(_REVERTING)


def _read_revert(subject: str) -> tuple[int, str, str]:
    """(how often it reverts: odd takes back, even brings back, 0 is none; what it quotes; the rest of the subject)."""
    if not subject.lower().startswith(_REVERTING):
        return 0, "", subject
    quoted = re.match(_QUOTED, subject)
    if quoted and '"' in subject[quoted.end() :]:
        verbs = re.findall(r"revert|reapply", quoted[0].lower())
        depth = sum(1 if verb == "revert" else 2 for verb in verbs)  # Reapply says that a revert was reverted
        inside, _, rest = subject[quoted.end() :].rpartition('"')
        return depth, inside.rstrip('"'), rest
    revert = re.match(_REVERT, subject)
    if revert:
        return 1, subject[revert.end() :], ""
    if re.match(_RELAND, subject):
        return 2, subject, ""
    return 0, "", subject


def _find_in_subject(commit: Commit, subject: str) -> dict[str, str]:
    if _is_unfinished(subject):
        return {}
    found = next(filter(None, (find(commit, subject) for find in _SUBJECT_RULES)), dict[str, str]())
    return {**_find_suffix(commit, subject), **found}


def _is_unfinished(subject: str) -> bool:
    lower = subject.lower()
    return any(sign in lower for sign in ("wip", "draft", "!")) and bool(re.match(_UNFINISHED, subject))


def _find_merged_number(commit: Commit, subject: str) -> dict[str, str]:
    """GitHub's "Merge pull request #12 from ...", Azure's "Merged PR 12: ...", bors' "Auto merge of #12 - ..."."""
    match = re.match(_MERGE_OF_NUMBER, subject) if subject[:1].lower() in "malcbsrq" else None
    first = re.match(r"(?P<sign>[#!]?)(?P<number>\d{1,9})(?!\w)", match["what"]) if match else None
    if not match or not first or not (first["sign"] or match["kind"]):
        return {}
    rest = re.split(_INTO, match["what"][first.end() :], maxsplit=1)[0]
    source = re.search(r"\bfrom\s+(\S+)", rest)
    also = [mention.reference for mention in _listed_first(rest)]
    names = [f"{first['sign'] or '#'}{int(first['number'])}", *also, *(_find_in_branch(source[1]) if source else [])]
    return {**_find_in_title(commit), **dict.fromkeys(names, MERGE_RULE)}


def _find_in_title(commit: Commit) -> dict[str, str]:
    # The first line below a merge commit's subject is the title of the pull request
    title = commit.body.strip().partition("\n")[0][:_MAX_TITLE]
    if _is_unfinished(title) or _read_revert(title)[0]:
        return {}
    return {**_find_leading_ticket(commit, title), **_find_suffix(commit, title)}


def _listed_first(text: str) -> list[Mention]:
    listed, end = [], 0
    for mention in find_mentions(text):
        between = text[end : mention.start]
        if not (between.isspace() or re.match(_BETWEEN, between)):  # bors writes "Merge #12 #13"
            break
        listed.append(mention)
        end = mention.end
    return listed


def _find_merged_in(commit: Commit, subject: str) -> dict[str, str]:
    """Bitbucket's "Merged in feature/search (pull request #12)"."""
    match = re.match(_MERGED_IN, subject) if subject[:1] in "Mm" else None
    return dict.fromkeys([f"#{int(match['number'])}", *_find_in_branch(match["source"])], MERGE_RULE) if match else {}


def _find_merged_branch(commit: Commit, subject: str) -> dict[str, str]:
    # What the merged branch is called after. Neither what it was merged into nor where it came from has landed
    match = re.match(_MERGE_OF_BRANCH, subject) if commit.parents > 1 else None
    source = re.split(_INTO, match["source"], maxsplit=1)[0] if match else ""
    return dict.fromkeys(_find_in_branch(re.sub(_OF_REMOTE, "", source)), MERGE_RULE) if source else {}


def _find_numbered_title(commit: Commit, subject: str) -> dict[str, str]:
    """Bitbucket's "Pull request #12: search", with "Merge in ACME/app from ..." below."""
    match = re.match(_NUMBERED_TITLE, subject) if commit.body.lstrip().startswith("Merge in ") else None
    return {**_find_in_title(commit), f"#{int(match['number'])}": MERGE_RULE} if match else {}


def _find_in_branch(source: str) -> list[str]:
    tickets = (f"{match['prefix'].upper()}-{int(match['number'])}" for match in re.finditer(_BRANCH_TICKET, source))
    numbers = (f"#{int(match['number'])}" for match in re.finditer(_BRANCH_NUMBER, source))
    return [*tickets, *numbers, *find_references(source)]


def _find_told_by_merge(commit: Commit, subject: str) -> dict[str, str]:
    # A merge commit with words of its own: what it names, unless it says that it is only part of that
    if commit.parents < 2 or subject.lower().startswith("merge "):
        return {}
    named = re.split(_INTO, subject, maxsplit=1)[0]
    whole = (mention for mention in find_mentions(named) if not re.search(_PARTLY, named[: mention.start]))
    return dict.fromkeys((mention.reference for mention in whole), MERGE_RULE)


def _find_leading_ticket(commit: Commit, subject: str) -> dict[str, str]:
    """Such as "ABC-12: search", "feat(ABC-12): search", "search [ABC-12]", "#12 search", unless it says that more is to
    come.
    """
    may_name = "-" in subject or "(#" in subject
    patterns = (*(_SCOPE, _LEADING, _TAGGED) * may_name, *(_NUMBERED,) * subject.startswith(("#", "[#")))
    match = next(filter(None, (re.match(pattern, subject) for pattern in patterns)), None)
    if not match or re.search(_PARTLY, match["rest"]) or (subject[0] in "#[" and re.match(_NOT_CLOSED, match["rest"])):
        return {}
    return dict.fromkeys(find_references(match["ticket"]), TICKET_RULE)


def _find_suffix(commit: Commit, subject: str) -> dict[str, str]:
    """Such as "search (#12)", "search (ABC-3) (#12)", "search (PR #12, closes ABC-3)"; not "(refs #12)"."""
    suffixes = re.search(_SUFFIXES, subject[-400:]) if "(" in subject or "\uff08" in subject else None
    if not suffixes or _is_unfinished(subject):
        return {}
    named = [item for item in re.split("[(),\uff08\uff09]", suffixes["items"]) if re.match(_SUFFIX_ITEM, item.strip())]
    return dict.fromkeys((reference for item in named for reference in find_references(item)), SQUASH_RULE)


def _find_closed(_: Commit, text: str) -> dict[str, str]:
    """Such as "Closes #12 and #13", "Fixes: ABC-3", "resolves acme/app#4"; not "does not fix #12"."""
    text = text[:MAX_TEXT]
    spans = (keyword.span() for keyword in re.finditer(_CLOSED_BELOW, text))
    ends = [end for start, end in spans if not re.search(_NOT_CLOSING, text[max(start - _NEAR, 0) : start])]
    mentions = find_mentions(text) if ends else []  # most texts close nothing
    listed, done = list[str](), 0  # how many mentions are behind us: a list that an earlier keyword began goes on here
    for at in ends:
        joint = _BEFORE_FIRST
        for index in range(bisect_left(mentions, at, key=lambda one: one.start), len(mentions)):
            mention = mentions[index]
            is_far = mention.start >= at and not re.match(joint, text[at : min(mention.start, at + _NEAR)])
            if is_far or index < done:
                break
            if not re.match(_NOT_CLOSED, text[mention.end : mention.end + _NEAR]):
                listed.append(mention.reference)
            at, joint, done = mention.end, _BETWEEN, index + 1
    return dict.fromkeys(listed, CLOSES_RULE)


_SUBJECT_RULES = (
    _find_merged_number,
    _find_merged_in,
    _find_numbered_title,
    _find_merged_branch,
    _find_told_by_merge,
    _find_closed,
    _find_leading_ticket,
)
