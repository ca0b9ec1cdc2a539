"""What commit messages prove: which pull requests and tickets a history merged, and which of those it took back.

Pure: it reads messages that somebody else fetched, and looks at no repository. Evidence is what a tool or a person
writes when work lands (a merge commit's subject, the number a squash merge appends, a closing keyword); that a number
is mentioned proves nothing. What a revert names is no longer merged, unless the revert was itself reverted.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from checkpoint_git.core.references import MAX_TEXT, Mention, find_mentions, find_references, unqualify
from checkpoint_git.core.safetext import shorten


class Commit(NamedTuple):
    """One commit as the rules see it. id: its full hash. parents: how many. body: the message below the subject."""

    id: str
    parents: int
    subject: str
    body: str


class Claims(NamedTuple):
    """What one commit says. merged: reference -> the rule that makes it evidence. reverted: what it takes back.

    undone: the ids (whole or shortened) of commits that it reverts.
    """

    merged: dict[str, str]
    reverted: frozenset[str]
    undone: tuple[str, ...]


class Evidence(NamedTuple):
    """Why a reference counts as merged."""

    commit: str
    subject: str
    rule: str

    @property
    def sentence(self) -> str:
        """Evidence for a person, such as: 1a2b3c4d5 "Merge pull request #12 from ada/search" (its merge commit)."""
        return f'{self.commit[:9]} "{shorten(self.subject, 80)}" ({self.rule})'


MERGE_RULE = "the subject of a merge commit"
SQUASH_RULE = "the number at the end of the subject, as a squash merge writes it"
TICKET_RULE = "the ticket that the subject is about"
CLOSES_RULE = "a closing keyword"
TRAILER_RULE = "a trailer that names the pull request"

_CLOSING = r"(?:clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed)|implement(?:s|ed)|complet(?:e|es|ed))"
_REVERT = re.compile(r"(?:revert(?:s|ed)?|back(?:s|ed)? out|roll(?:s|ed)? ?back)\b[:\s]", re.IGNORECASE)
_RELAND = re.compile(r"(?:reapply|re-apply|reland|re-land)\b", re.IGNORECASE)
_QUOTED = re.compile(r'^(?P<verbs>(?:(?:Revert|Reapply) ")+)(?P<quoted>.*?)"+(?P<rest>[^"]*)$', re.IGNORECASE)
_UNDONE = re.compile(r"\bThis reverts commit (?P<id>[0-9a-f]{7,64})\b", re.IGNORECASE)
_REVERTED_BELOW = re.compile(
    r"^\s*(?:This )?reverts (?:pull request |merge request |PR |MR )?(?P<what>\S+)", re.IGNORECASE | re.MULTILINE
)

_MERGE_OF_NUMBER = re.compile(
    r"^(?:Merge|Merged|Merges|Auto merge of|Land|Landed)\s+"
    r"(?P<kind>(?:PRs?|pull requests?|MRs?|merge requests?|GH)[\s-]*)?(?P<what>[#!]?\d+.*)$",
    re.IGNORECASE,
)
_MERGED_IN = re.compile(r"^Merged in (?P<source>\S+) \(pull request #(?P<number>\d+)\)", re.IGNORECASE)
_MERGE_OF_BRANCH = re.compile(
    r"^Merge (?:remote-tracking )?(?:branch(?:es)?|commit|tag)?\s*(?P<source>.+?)(?:\s+into\s+\S+.*)?$", re.IGNORECASE
)
_INTO = re.compile(r"\s+into\s+.*$", re.IGNORECASE)
_BRANCH_TICKET = re.compile(r"(?<![A-Za-z0-9])(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![A-Za-z0-9])")
_BRANCH_NUMBER = re.compile(r"(?<![A-Za-z0-9])(?:pr|pull|gh)[/-](?P<number>\d{1,9})(?![A-Za-z0-9])", re.IGNORECASE)

_UNFINISHED = re.compile(r"^(?:\[?(?:wip|draft)\]?\b|fixup!|squash!|amend!|\w+\(wip\))", re.IGNORECASE)
_SUFFIXES = re.compile(r"(?P<items>(?:\s*\([^()]{1,200}\))+)\s*(?:\[[^\]]{0,40}\]\s*)*\.?$")
_SUFFIX_ITEM = re.compile(rf"^(?:{_CLOSING}:?\s+)?(?:(?:PR|pull request|MR|merge request)\s+)?\S+$", re.IGNORECASE)
_LEADING = re.compile(
    r"^(?:\w[\w-]*(?:\([^)]*\))?!?:\s*)?\[?(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\]?(?![\w-])(?P<rest>.*)$"
)
_SCOPE = re.compile(r"^\w[\w-]*\((?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\)!?:(?P<rest>.*)$")
_PARTLY = re.compile(
    r"\b(?:wip|part (?:of|one|two|three|\d+)|step \d|\d+\s*/\s*\d+|start(?:s|ed|ing)?|begin(?:s|ning)?|prepar\w+|"
    r"scaffold\w*|first (?:step|pass|cut)|follow[- ]?ups?|refs?|see|towards?|revert\w*)\b",
    re.IGNORECASE,
)

_CLOSED_BELOW = re.compile(rf"(?<![\w-]){_CLOSING}:?\s+", re.IGNORECASE)
_NOT_CLOSING = re.compile(
    r"(?:\b(?:not|partially|partly|should|would|will|may|might|could|to|before|without|never|if|once|helps?|almost)|n't)"
    r"\s+(?:(?:also|yet|fully|only)\s+)?$",
    re.IGNORECASE,
)
_NOT_CLOSED = re.compile(
    r"^(?:'s)?\s+(?:regression|fallout|follow|aftermath|breakage|leftover|review|comment|typo|conflict|part\b)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"^(?:\s*(?:,|&|and|;)\s*)+(?:the\s+)?(?:{_CLOSING}:?\s+)?(?:(?:issue|ticket|PR)\s+)?$", re.IGNORECASE
)
_BEFORE_FIRST = re.compile(r"^(?:the\s+)?(?:(?:issues?|tickets?|PRs?)\s+|<|\[)?$", re.IGNORECASE)
_TRAILERS = re.compile(
    r"^(?:PR-URL|Pull-Request|Merge-Request|Reviewed-on|Merged-PR)\s*:\s*<?(?P<what>\S.*)$|"
    r"^See merge request (?P<seen>\S+)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEAR = 60  # characters around a reference in which words decide about it

# A dependency bot's message quotes another project's release notes, closing keywords and all.
_BOT = re.compile(r"dependabot|renovate(?:\[bot\]|-bot)|^Bumps \[", re.IGNORECASE | re.MULTILINE)


def find_evidence(
    commits: Iterable[Commit], wanted: frozenset[str], own: frozenset[str] = frozenset()
) -> dict[str, Evidence]:
    """Which of the wanted references a history merged and did not take back.

    commits: newest first. own: what this repository is called, see core.references.unqualify.
    """
    claimed = [(commit, _unqualified(find_claims(commit), own)) for commit in commits]
    undone = _find_undone(claimed)
    settled: set[str] = set()
    found: dict[str, Evidence] = {}
    for commit, claims in claimed:
        open_to_it = wanted - settled
        if commit.id in undone:
            settled |= open_to_it.intersection(claims.merged)
            continue
        for reference in open_to_it.intersection(claims.merged):
            found[reference] = Evidence(commit.id, commit.subject, claims.merged[reference])
        settled |= open_to_it.intersection(claims.reverted | claims.merged.keys())
    return found


def find_taken_back(
    commits: Iterable[Commit], wanted: frozenset[str], own: frozenset[str] = frozenset()
) -> dict[str, str]:
    """Which of the wanted references a history took back and did not merge again: reference -> the evidence.

    The arguments are those of find_evidence. A reference that the history never merged or reverted is left out.
    """
    claimed = [(commit, _unqualified(find_claims(commit), own)) for commit in commits]
    undone = _find_undone(claimed)
    settled: set[str] = set()
    found: dict[str, str] = {}
    for commit, claims in claimed:
        open_to_it = wanted - settled
        told = f'{commit.id[:9]} "{shorten(commit.subject, 80)}"'
        if commit.id in undone:
            found |= dict.fromkeys(open_to_it.intersection(claims.merged), f"{told}, which a later commit reverts")
        else:
            found |= dict.fromkeys(open_to_it.intersection(claims.reverted), told)
        settled |= open_to_it.intersection(claims.reverted | claims.merged.keys())
    return found


def _unqualified(claims: Claims, own: frozenset[str]) -> Claims:
    merged = {unqualify(reference, own): rule for reference, rule in claims.merged.items()}
    return Claims(merged, frozenset(unqualify(reference, own) for reference in claims.reverted), claims.undone)


def _find_undone(claimed: list[tuple[Commit, Claims]]) -> set[str]:
    """The ids of the commits that a revert names which nobody reverted in turn; this does not rely on dates."""
    ids = sorted(commit.id for commit, _ in claimed)
    reverters: dict[str, list[str]] = {}
    for commit, claims in claimed:
        for named in claims.undone:
            for whole in _starting_with(ids, named):
                reverters.setdefault(whole, []).append(commit.id)
    undone: dict[str, bool] = {}
    for start in reverters:
        _settle(start, reverters, undone)
    return {commit for commit, is_undone in undone.items() if is_undone}


def _settle(start: str, reverters: dict[str, list[str]], undone: dict[str, bool]) -> None:
    """Decides a commit after those that revert it; without recursion, since a chain of reverts can be long."""
    waiting, seen = [start], {start}
    while waiting:
        commit = waiting[-1]
        open_ones = [one for one in reverters.get(commit, ()) if one not in undone and one not in seen]
        if open_ones:
            waiting.append(open_ones[0])
            seen.add(open_ones[0])
            continue
        undone[commit] = any(not undone.get(one, False) for one in reverters.get(commit, ()))
        waiting.pop()


def _starting_with(ids: list[str], start: str) -> list[str]:
    at = bisect_left(ids, start)
    return ids[at : at + 1] if at < len(ids) and ids[at].startswith(start) else []


def find_claims(commit: Commit) -> Claims:
    """What one commit's message says was merged or taken back."""
    undone = tuple(match["id"].lower() for match in _UNDONE.finditer(commit.body))
    depth, quoted, rest = _read_revert(commit.subject)
    merged = _find_in_subject(commit, rest)
    reverted: set[str] = set()
    if depth % 2:
        reverted.update(find_references(quoted))
        for below in _REVERTED_BELOW.finditer(commit.body):
            reverted.update(find_references(below["what"]))
    elif depth:
        merged.update(dict.fromkeys(find_references(quoted), "a revert of its revert"))
    if not _BOT.search(commit.body):
        merged = {**_find_in_body(commit.body), **merged}
    return Claims({ref: rule for ref, rule in merged.items() if ref not in reverted}, frozenset(reverted), undone)


def _read_revert(subject: str) -> tuple[int, str, str]:
    """(how often it reverts: odd takes back, even brings back, 0 is none; what it quotes; the rest of the subject)."""
    quoted = _QUOTED.match(subject)
    if quoted:
        verbs = re.findall(r"revert|reapply", quoted["verbs"].lower())
        return _depth(verbs), quoted["quoted"], quoted["rest"]
    revert = _REVERT.match(subject)
    if revert:
        return 1, subject[revert.end() :], ""
    if _RELAND.match(subject):
        return 2, subject, ""
    return 0, "", subject


def _depth(verbs: list[str]) -> int:
    """Revert adds one, Reapply two: it says by itself that a revert was reverted."""
    return sum(1 if verb == "revert" else 2 for verb in verbs)


def _find_in_subject(commit: Commit, subject: str) -> dict[str, str]:
    if _UNFINISHED.match(subject):
        return {}
    for find in _SUBJECT_RULES:
        found = find(commit, subject)
        if found:
            return {**_find_suffix(commit, subject), **found}
    return _find_suffix(commit, subject)


def _find_merged_number(commit: Commit, subject: str) -> dict[str, str]:
    """GitHub's "Merge pull request #12 from ...", Azure's "Merged PR 12: ...", bors' "Auto merge of #12 - ..."."""
    match = _MERGE_OF_NUMBER.match(subject)
    first = re.match(r"(?P<sign>[#!]?)(?P<number>\d{1,9})(?!\w)", match["what"]) if match else None
    if not match or not first or not (first["sign"] or match["kind"]):
        return {}
    rest = _INTO.sub("", match["what"][first.end() :])
    source = re.search(r"\bfrom\s+(\S+)", rest)
    also = [mention.reference for mention in _listed_first(rest)]
    names = [f"{first['sign'] or '#'}{int(first['number'])}", *also, *(_find_in_branch(source[1]) if source else [])]
    return {**_find_in_title(commit), **dict.fromkeys(names, MERGE_RULE)}


def _find_in_title(commit: Commit) -> dict[str, str]:
    """What the title of a merged pull request says: the first line below the merge commit's subject."""
    title = commit.body.strip().partition("\n")[0]
    if _UNFINISHED.match(title) or _read_revert(title)[0]:
        return {}
    return {**_find_leading_ticket(commit, title), **_find_suffix(commit, title)}


def _listed_first(text: str) -> list[Mention]:
    """The references of " and #13, #14 ..." up to the first other word."""
    listed, end = [], 0
    for mention in find_mentions(text):
        if not _BETWEEN.match(text[end : mention.start]):
            break
        listed.append(mention)
        end = mention.end
    return listed


def _find_merged_in(commit: Commit, subject: str) -> dict[str, str]:
    """Bitbucket's "Merged in feature/search (pull request #12)"."""
    match = _MERGED_IN.match(subject)
    return dict.fromkeys([f"#{int(match['number'])}", *_find_in_branch(match["source"])], MERGE_RULE) if match else {}


def _find_merged_branch(commit: Commit, subject: str) -> dict[str, str]:
    """What the merged branch is called after. The branch that it was merged into is not what landed."""
    match = _MERGE_OF_BRANCH.match(subject) if commit.parents > 1 else None
    return dict.fromkeys(_find_in_branch(match["source"]), MERGE_RULE) if match else {}


def _find_in_branch(source: str) -> list[str]:
    tickets = (f"{match['prefix'].upper()}-{int(match['number'])}" for match in _BRANCH_TICKET.finditer(source))
    numbers = (f"#{int(match['number'])}" for match in _BRANCH_NUMBER.finditer(source))
    return [*tickets, *numbers, *find_references(source)]


def _find_told_by_merge(commit: Commit, subject: str) -> dict[str, str]:
    """A merge commit with words of its own: what it names, unless it says that it is only part of that."""
    if commit.parents < 2 or subject.lower().startswith("merge "):
        return {}
    named = _INTO.sub("", subject)
    whole = (mention for mention in find_mentions(named) if not _PARTLY.search(named[: mention.start]))
    return dict.fromkeys((mention.reference for mention in whole), MERGE_RULE)


def _find_closed_by_subject(commit: Commit, subject: str) -> dict[str, str]:
    return _find_closed(subject)


def _find_leading_ticket(commit: Commit, subject: str) -> dict[str, str]:
    """Such as "ABC-12: search", "[ABC-12] search", "feat(ABC-12): search", unless it says that more is to come."""
    match = _SCOPE.match(subject) or _LEADING.match(subject)
    if not match or _PARTLY.search(match["rest"]):
        return {}
    return dict.fromkeys(find_references(match["ticket"]), TICKET_RULE)


def _find_suffix(commit: Commit, subject: str) -> dict[str, str]:
    """Such as "search (#12)", "search (ABC-3) (#12)", "search (PR #12, closes ABC-3)"; not "(refs #12)"."""
    suffixes = _SUFFIXES.search(subject[-400:])
    if not suffixes or _UNFINISHED.match(subject):
        return {}
    named = [item for item in re.split(r"\s*[(),]\s*", suffixes["items"]) if _SUFFIX_ITEM.match(item)]
    return dict.fromkeys((reference for item in named for reference in find_references(item)), SQUASH_RULE)


_SUBJECT_RULES = (
    _find_merged_number,
    _find_merged_in,
    _find_merged_branch,
    _find_told_by_merge,
    _find_closed_by_subject,
    _find_leading_ticket,
)


def _find_in_body(body: str) -> dict[str, str]:
    found = _find_closed(body)
    for match in _TRAILERS.finditer(body):
        found.update(dict.fromkeys(find_references(match["what"] or match["seen"]), TRAILER_RULE))
    return found


def _find_closed(text: str) -> dict[str, str]:
    """Such as "Closes #12 and #13", "Fixes: ABC-3", "resolves acme/app#4"; not "does not fix #12"."""
    text = text[:MAX_TEXT]
    mentions = find_mentions(text)
    found: dict[str, str] = {}
    for keyword in _CLOSED_BELOW.finditer(text) if mentions else ():
        if not _NOT_CLOSING.search(text[max(keyword.start() - _NEAR, 0) : keyword.start()]):
            found.update(dict.fromkeys(_listed_after(text, keyword.end(), mentions), CLOSES_RULE))
    return found


def _listed_after(text: str, at: int, mentions: list[Mention]) -> list[str]:
    """The references in a list that begins right behind a place in the text."""
    listed: list[str] = []
    joint = _BEFORE_FIRST
    for index in range(bisect_left(mentions, at, key=lambda one: one.start), len(mentions)):
        mention = mentions[index]
        if mention.start >= at and not joint.match(text[at : min(mention.start, at + _NEAR)]):
            break
        if not _NOT_CLOSED.match(text[mention.end : mention.end + _NEAR]):
            listed.append(mention.reference)
        at, joint = mention.end, _BETWEEN
    return listed
