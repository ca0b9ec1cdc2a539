"""What one commit's message says of pull requests and tickets: merged, closed, reverted or only
named. Pure.
"""

import re
from bisect import bisect_left
from typing import Literal, NamedTuple

from checkpoint_git.core.references import MAX_TEXT, find_mentions, find_references


class CommitMessage(NamedTuple):
    id: str  # its full hash
    parents: tuple[str, ...]
    subject: str
    body: str  # the message below the subject
    when: int  # seconds since 1970


class Claims(NamedTuple):
    """What a commit does to references.

    They are as the message spells them, perhaps with a repository in front. merged: reference ->
    the rule, see below. closed, named: tickets are never merged, they are closed or named.
    reverted: references that the commit takes back. undone: ids of commits that it reverts, whole
    or shortened.
    """

    merged: dict[str, str]
    closed: frozenset[str]
    named: frozenset[str]
    reverted: frozenset[str]
    undone: tuple[str, ...]


MERGE_RULE = "the subject of a merge commit"
SQUASH_RULE = "the number of a squash merge"
TRAILER_RULE = "a trailer that names the pull request"
RELAND_RULE = "a revert of its revert"
CLOSES_RULE = "a closing keyword"
REVERT_RULE = "a commit that reverts it"
NAMED_RULE = "commits that name it"

# Texts, not patterns: `re` compiles and keeps them when they are first used, and most answers need
# few of them.
_CLOSING = (
    r"(?:clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed)|implement(?:s|ed)|complet(?:e|es|ed))"
)

_REVERTING = ("revert", "reapply", "re-apply", "reland", "re-land", "back", "roll")
_REVERT = r"(?i)(?:revert(?:s|ed)?|back(?:s|ed)? out|roll(?:s|ed)? ?back)\b[:\s]"
_RELAND = r"(?i)(?:reapply|re-apply|reland|re-land)\b"
_QUOTED = r'(?i)(?:(?:Revert|Reapply) ")+'
_ID = r"[0-9a-fA-F]{7,64}"
_IDS = rf"{_ID}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and\s+)?){_ID})*"
_UNDONE = (
    r"(?m)(?:\bThis (?:commit )?|^[ \t]*)[Rr]everts?:?\s+(?:commits?:?\s+)?"
    rf"(?P<ids>{_IDS})\b"
)
_REVERTED_BELOW = (
    r"(?im)^[ \t]*(?:This )?reverts (?:pull request |merge request |PR |MR )?(?P<what>\S+)"
)

_MERGE_OF_NUMBER = (
    r"(?i)^(?:(?:chore|build|ci)(?:\(\w{1,20}\))?:\s*)?(?:(?:squash|rollup|auto|queue)[- ])?"
    r"(?:merge[ds]?|land(?:ed)?)"
    r"(?:\s+of)?(?::\s*|\s+)"
    r"(?P<kind>(?:PRs?|pull requests?|MRs?|merge requests?|GH)[\s-]*)?(?P<what>[#!]?\d.*)"
)
_FIRST_NUMBER = r"(?P<sign>[#!]?)(?P<number>\d{1,9})(?!\w)"
_MERGED_IN = r"(?i)^Merged in (?P<source>\S+) \(pull request #(?P<number>\d+)\)"
_MERGE_OF_BRANCH = (
    r"(?i)^Merge (?:remote-tracking )?(?:branch(?:es)?|commit|tag)?\s*+(?P<source>.+)"
)
_NUMBERED_TITLE = r"(?i)^Pull request #(?P<number>\d{1,9}): "
_OF_REMOTE = r"(?<!\s)\s++of\s++\S++$"
_INTO = r"(?i)(?<!\s)\s++into\s"
_BRANCH_TICKET = (
    r"(?<![A-Za-z0-9])(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![A-Za-z0-9])"
)
_BRANCH_NUMBER = r"(?i)(?<![A-Za-z0-9])(?:pr|pull|gh)[/-](?P<number>\d{1,9})(?![A-Za-z0-9])"

_UNFINISHED = r"(?i)^(?:\[?(?:wip|draft)\]?\b|fixup!|squash!|amend!|\w+\(wip\))"
_SUFFIXES = (
    r"(?P<items>(?:\s*[(\uff08][^()\uff08\uff09]{1,200}[)\uff09])+)\s*(?:\[[^\]]{0,40}\]\s*)*\.?$"
)
_SUFFIX_ITEM = r"(?i)^(?:(?:PR|pull request|MR|merge request)\s+)?\S+$"
_PARTLY = (
    r"(?i)\b(?:wip|part (?:of|one|two|three|\d+)|step \d|\d+\s*/\s*\d+|start(?:s|ed|ing)?|"
    r"begin(?:s|ning)?|prepar\w+|"
    r"scaffold\w*|first (?:step|pass|cut)|follow[- ]?ups?|refs?|see|towards?|revert\w*)\b"
)

# a conventional commit's: "fix: ABC-3 x" closes nothing
_TYPE = r"(?i)^fix(?:\([^()]{0,60}\))?!?:"
_CLOSED = rf"(?i)(?<![\w-]){_CLOSING}(?:-(?:bug|issue|task))?:?\s+"
_NOT_CLOSING = (
    r"(?i)(?:\b(?:not|partially|partly|should|would|will|may|might|could|to|before|without|never|"
    r"if|once|helps?|almost)"
    r"|n't)\s+(?:(?:also|yet|fully|only)\s+)?$"
)
_NOT_CLOSED = (
    r"(?i)^(?:'s)?\s+(?:regression|fallout|follow|aftermath|breakage|leftover|review|comment|"
    r"typo|conflict|part\b|"
    r"\(?part(?:ial)?ly)"
)
_BETWEEN = (
    rf"(?i)^\s*(?:(?:,|&|and|;)\s*)+(?:the\s+)?(?:{_CLOSING}:?\s+)?(?:(?:issue|ticket|PR)\s+)?$"
)
_BEFORE_FIRST = r"(?i)^(?:the\s+)?(?:(?:issues?|tickets?|PRs?)\s+|<|\[)?$"
_TRAILERS = (
    r"(?im)^(?:PR-URL|Pull[- ]Request|Merge[- ]Request|Reviewed-on|Merged-PR)\s*:\s*"
    r"<?(?P<what>\S.*)$|"
    r"^See merge request (?P<seen>\S+)\s*$"
)
# A dependency bot's message quotes another project's release notes, closing keywords and all.
_BOT = r"(?im)dependabot|renovate(?:\[bot\]|-bot)|^Bumps \["

_NEAR = 60  # characters around a reference in which words decide about it


# A claim is what a tool or the user writes when work lands: a merge commit's subject, the number
# that a squash merge appends, a closing keyword. A message that only mentions a number names it.
def find_claims(commit: CommitMessage) -> Claims:
    """Return what a commit's message says of each reference in it."""
    subject, body = commit.subject[:MAX_TEXT], commit.body[:MAX_TEXT]
    if body and re.search(_BOT, body):
        body = ""
    revert = _read_revert(subject)

    merged, closed = dict[str, str](), set[str]()
    if not _is_unfinished(revert.rest):
        merged.update(_find_merged(commit._replace(subject=revert.rest, body=body)))
        closed.update(_find_closed(re.sub(_TYPE, "", revert.rest)))

    closed.update(_find_closed(body))

    reverted = set[str]()
    if revert.effect == "brings back":
        merged.update(dict.fromkeys(find_references(revert.quoted), RELAND_RULE))
    else:
        reverted.update(find_references(revert.quoted))
        for match in re.finditer(_REVERTED_BELOW, body):
            reverted.update(find_references(match["what"]))

    merged = {reference: rule for reference, rule in merged.items() if is_pull_request(reference)}
    for reference in reverted:
        merged.pop(reference, None)
    named = {*find_references(f"{subject}\n{body}"), *_find_branch_names(commit)}
    return Claims(
        merged,
        frozenset(closed - reverted),
        frozenset(named),
        frozenset(reverted),
        _find_undone(commit),
    )


def is_pull_request(reference: str) -> bool:
    """Return whether it may be a pull request, which is merged; a ticket such as ABC-12 is not."""
    return "#" in reference or "!" in reference


def _find_undone(commit: CommitMessage) -> tuple[str, ...]:
    ids = list[str]()
    for text in (commit.subject[:MAX_TEXT], commit.body[:MAX_TEXT]):
        if "evert" in text:
            for match in re.finditer(_UNDONE, text):
                ids += re.findall(_ID, match["ids"].lower())
    return tuple(dict.fromkeys(ids))


class _Revert(NamedTuple):
    """What a subject says of earlier work: what it quotes, and what it says itself beside that."""

    effect: Literal["takes back", "brings back", ""]
    quoted: str
    rest: str


def _read_revert(subject: str) -> _Revert:
    if not subject.lower().startswith(_REVERTING):
        return _Revert("", "", subject)
    quoted = re.match(_QUOTED, subject)
    if quoted and '"' in subject[quoted.end() :]:
        # Reapply says that a revert was reverted
        is_back = quoted[0].lower().count("revert") % 2 == 0
        inside, _, rest = subject[quoted.end() :].rpartition('"')
        return _Revert("brings back" if is_back else "takes back", inside.rstrip('"'), rest)

    revert = re.match(_REVERT, subject)
    if revert:
        return _Revert("takes back", subject[revert.end() :], "")
    if re.match(_RELAND, subject):
        return _Revert("brings back", subject, "")
    return _Revert("", "", subject)


def _is_unfinished(subject: str) -> bool:
    return bool(re.match(_UNFINISHED, subject))


def _find_merged(commit: CommitMessage) -> dict[str, str]:
    merged = dict[str, str]()
    for match in re.finditer(_TRAILERS, commit.body):
        merged.update(dict.fromkeys(find_references(match["what"] or match["seen"]), TRAILER_RULE))
    merged.update(dict.fromkeys(_find_suffix(commit.subject), SQUASH_RULE))

    for find in (
        _find_merged_number,
        _find_merged_in,
        _find_numbered_title,
        _find_merged_branch,
        _find_in_own_words,
    ):
        found = find(commit)
        if found:
            # below the subject that a forge writes, the first line is the pull request's title
            title = commit.body.strip().partition("\n")[0]
            if not _is_unfinished(title) and not _read_revert(title).effect:
                merged.update(dict.fromkeys(_find_suffix(title), SQUASH_RULE))
            merged.update(dict.fromkeys(found, MERGE_RULE))
            break

    return merged


def _find_merged_number(commit: CommitMessage) -> list[str]:
    """Read GitHub's "Merge pull request #12 from ...", Azure's "Merged PR 12: ...", bors' "Auto
    merge of #12 - ...".
    """
    match = re.match(_MERGE_OF_NUMBER, commit.subject)
    if not match:
        return []
    first = re.match(_FIRST_NUMBER, match["what"])
    if not first or not (first["sign"] or match["kind"]):
        return []
    rest = _cut_target(match["what"][first.end() :])
    return [f"{first['sign'] or '#'}{int(first['number'])}", *_listed_first(rest)]


def _listed_first(text: str) -> list[str]:
    listed = list[str]()
    end = 0
    for mention in find_mentions(text):
        between = text[end : mention.start]
        if not (between.isspace() or re.match(_BETWEEN, between)):  # bors writes "Merge #12 #13"
            break
        listed.append(mention.reference)
        end = mention.end
    return listed


def _find_merged_in(commit: CommitMessage) -> list[str]:
    """Read Bitbucket's "Merged in feature/search (pull request #12)"."""
    match = re.match(_MERGED_IN, commit.subject)
    if match is None:
        return []
    return [f"#{int(match['number'])}"]


def _find_numbered_title(commit: CommitMessage) -> list[str]:
    """Read Bitbucket's "Pull request #12: search", with "Merge in ACME/app from ..." below."""
    match = re.match(_NUMBERED_TITLE, commit.subject)
    if match is None or not commit.body.lstrip().startswith("Merge in "):
        return []
    return [f"#{int(match['number'])}"]


def _find_merged_branch(commit: CommitMessage) -> list[str]:
    """Read the number of a merged branch such as pr/12, and Gitea's "Merge pull request 'search'
    (#12) from ...".
    """
    if len(commit.parents) < 2:
        return []
    return _find_branch_names(commit)


def _find_branch_names(commit: CommitMessage) -> list[str]:
    """Read what the merged branch is called after. What it was merged into is not merged."""
    match = re.match(_MERGE_OF_BRANCH, commit.subject) or re.match(_MERGED_IN, commit.subject)
    if match is None:
        return []
    source = re.sub(_OF_REMOTE, "", _cut_target(match["source"]))
    found = list[str]()
    for ticket in re.finditer(_BRANCH_TICKET, source):
        found.append(f"{ticket['prefix'].upper()}-{int(ticket['number'])}")
    for number in re.finditer(_BRANCH_NUMBER, source):
        found.append(f"#{int(number['number'])}")
    return [*found, *find_references(source)]


def _cut_target(text: str) -> str:
    """Return a text without "into main" and what follows."""
    return re.split(_INTO, text)[0]


def _find_in_own_words(commit: CommitMessage) -> list[str]:
    """Read a merge commit with words of its own, such as "Land the search, #12", unless it is only
    a part.
    """
    if len(commit.parents) < 2 or commit.subject.lower().startswith("merge "):
        return []
    text = _cut_target(commit.subject)
    return [
        mention.reference
        for mention in find_mentions(text)
        if not re.search(_PARTLY, text[: mention.start])
    ]


def _find_suffix(subject: str) -> list[str]:
    """Read "search (#12)", "search (ABC-3) (#12)", "search (PR #12)"; not "(refs #12)" or "(closes
    #12)".
    """
    if "(" not in subject and "\uff08" not in subject:
        return []
    suffixes = re.search(_SUFFIXES, subject[-400:])
    if not suffixes:
        return []
    found = list[str]()
    for group in re.split("[()\uff08\uff09]", suffixes["items"]):
        items = [item.strip() for item in group.split(",")]
        if re.match(_SUFFIX_ITEM, items[0]):
            found += find_references(group)

    return found


def _find_closed(text: str) -> set[str]:
    """Read "Closes #12 and #13", "Fixes: ABC-3", "resolves acme/app#4"; not "does not fix #12"."""
    ends = list[int]()
    for keyword in re.finditer(_CLOSED, text):
        if not re.search(_NOT_CLOSING, text[max(keyword.start() - _NEAR, 0) : keyword.start()]):
            ends.append(keyword.end())

    if not ends:  # most texts close nothing
        return set()
    mentions = find_mentions(text)
    closed = set[str]()
    done = 0  # how many mentions are behind us: a list that an earlier keyword began goes on here
    for end in ends:
        joint = _BEFORE_FIRST
        for index in range(
            bisect_left(mentions, end, key=lambda mention: mention.start), len(mentions)
        ):
            mention = mentions[index]
            is_next = mention.start < end or re.match(
                joint, text[end : min(mention.start, end + _NEAR)]
            )
            if index < done or not is_next:
                break
            if not re.match(_NOT_CLOSED, text[mention.end : mention.end + _NEAR]):
                closed.add(mention.reference)
            end, joint, done = mention.end, _BETWEEN, index + 1

    return closed
