"""What commit messages prove: which pull requests and tickets a history merged, and which of those it took back.

Pure: it reads messages that somebody else fetched, and looks at no repository. Evidence is what a tool or a person
writes when work lands (a merge commit's subject, the number a squash merge appends, a closing keyword); that a number
is mentioned proves nothing. What a revert names is no longer merged, unless the revert was itself reverted. Which of
two commits came later is never taken from their clocks: whoever asks says which lies in whose history.
"""

import re
from bisect import bisect_left
from functools import cached_property

from checkpoint_git.core.light import Iterable, Iterator, NamedTuple, Sequence
from checkpoint_git.core.references import MAX_TEXT, Mention, find_mentions, find_references, unqualify
from checkpoint_git.core.safetext import shorten
from checkpoint_git.repo.past.spots import REVERTED_IDS


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


class _Late:
    """A pattern that is compiled when it is first used: most answers need few of those below."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def sub(self, new: str, text: str) -> str:
        return self._compiled.sub(new, text)


_CLOSING = r"(?:clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed)|implement(?:s|ed)|complet(?:e|es|ed))"
_REVERT = _Late(r"(?:revert(?:s|ed)?|back(?:s|ed)? out|roll(?:s|ed)? ?back)\b[:\s]", re.IGNORECASE)
_RELAND = _Late(r"(?:reapply|re-apply|reland|re-land)\b", re.IGNORECASE)
_QUOTED = _Late(r'^(?P<verbs>(?:(?:Revert|Reapply) ")+)(?P<quoted>.*?)"+(?P<rest>[^"]*)$', re.IGNORECASE)
_UNDONE = _Late(r"(?:\bThis (?:commit )?|^[ \t]*)[Rr]evert" + REVERTED_IDS, re.MULTILINE)
_REVERTED_BELOW = _Late(
    r"^\s*(?:This )?reverts (?:pull request |merge request |PR |MR )?(?P<what>\S+)", re.IGNORECASE | re.MULTILINE
)

_MERGE_OF_NUMBER = _Late(
    r"^(?:Merge|Merged|Merges|Auto merge of|Land|Landed)\s+"
    r"(?P<kind>(?:PRs?|pull requests?|MRs?|merge requests?|GH)[\s-]*)?(?P<what>[#!]?\d+.*)$",
    re.IGNORECASE,
)
_MERGED_IN = _Late(r"^Merged in (?P<source>\S+) \(pull request #(?P<number>\d+)\)", re.IGNORECASE)
_MERGE_OF_BRANCH = _Late(
    r"^Merge (?:remote-tracking )?(?:branch(?:es)?|commit|tag)?\s*(?P<source>.+?)(?:\s+into\s+\S+.*)?$", re.IGNORECASE
)
_NUMBERED_TITLE = _Late(r"^Pull request #(?P<number>\d{1,9}): ", re.IGNORECASE)
_OF_REMOTE = _Late(r"\s+of\s+\S+$")
_INTO = _Late(r"\s+into\s+.*$", re.IGNORECASE)
_BRANCH_TICKET = _Late(r"(?<![A-Za-z0-9])(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![A-Za-z0-9])")
_BRANCH_NUMBER = _Late(r"(?<![A-Za-z0-9])(?:pr|pull|gh)[/-](?P<number>\d{1,9})(?![A-Za-z0-9])", re.IGNORECASE)

_UNFINISHED = _Late(r"^(?:\[?(?:wip|draft)\]?\b|fixup!|squash!|amend!|\w+\(wip\))", re.IGNORECASE)
_SUFFIXES = _Late(r"(?P<items>(?:\s*\([^()]{1,200}\))+)\s*(?:\[[^\]]{0,40}\]\s*)*\.?$")
_SUFFIX_ITEM = _Late(rf"^(?:{_CLOSING}:?\s+)?(?:(?:PR|pull request|MR|merge request)\s+)?\S+$", re.IGNORECASE)
_LEADING = _Late(
    r"^(?:\w[\w-]*(?:\([^)]*\))?!?:\s*)?\[?(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\]?(?![\w-])(?P<rest>.*)$"
)
_SCOPE = _Late(r"^\w[\w-]*\((?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\)!?:(?P<rest>.*)$")
_TAGGED = _Late(r"^(?P<rest>.*\S)\s+\[(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,7})\]$")
_PARTLY = _Late(
    r"\b(?:wip|part (?:of|one|two|three|\d+)|step \d|\d+\s*/\s*\d+|start(?:s|ed|ing)?|begin(?:s|ning)?|prepar\w+|"
    r"scaffold\w*|first (?:step|pass|cut)|follow[- ]?ups?|refs?|see|towards?|revert\w*)\b",
    re.IGNORECASE,
)

_CLOSED_BELOW = _Late(rf"(?<![\w-]){_CLOSING}(?:-(?:bug|issue|task))?:?\s+", re.IGNORECASE)
_NOT_CLOSING = _Late(
    r"(?:\b(?:not|partially|partly|should|would|will|may|might|could|to|before|without|never|if|once|helps?|almost)|n't)"
    r"\s+(?:(?:also|yet|fully|only)\s+)?$",
    re.IGNORECASE,
)
_NOT_CLOSED = _Late(
    r"^(?:'s)?\s+(?:regression|fallout|follow|aftermath|breakage|leftover|review|comment|typo|conflict|part\b|\(?part(?:ial)?ly)",
    re.IGNORECASE,
)
_BETWEEN = _Late(
    rf"^(?:\s*(?:,|&|and|;)\s*)+(?:the\s+)?(?:{_CLOSING}:?\s+)?(?:(?:issue|ticket|PR)\s+)?$", re.IGNORECASE
)
_BEFORE_FIRST = _Late(r"^(?:the\s+)?(?:(?:issues?|tickets?|PRs?)\s+|<|\[)?$", re.IGNORECASE)
_TRAILERS = _Late(
    r"^(?:PR-URL|Pull-Request|Merge-Request|Reviewed-on|Merged-PR)\s*:\s*<?(?P<what>\S.*)$|"
    r"^See merge request (?P<seen>\S+)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_MOST = 100  # commits that are weighed for one reference, and reverts of it
_NEAR = 60  # characters around a reference in which words decide about it

# A dependency bot's message quotes another project's release notes, closing keywords and all.
_BOT = _Late(r"dependabot|renovate(?:\[bot\]|-bot)|^Bumps \[", re.IGNORECASE | re.MULTILINE)


class Told(NamedTuple):
    """A commit and what it says."""

    commit: Commit
    claims: Claims


Pairs = frozenset[tuple[str, str]]  # ids of commits, of which the first lies in the history of the second


def find_evidence(
    commits: Sequence[Commit], wanted: frozenset[str], own: frozenset[str] = frozenset()
) -> dict[str, str]:
    """Which of the wanted references one line of commits merged and did not take back: reference -> the evidence.

    commits: newest first, each the parent of the one before. own: see core.references.unqualify.
    """
    told = unqualify_all(map(tell, commits), own)
    place = {commit.id: at for at, commit in enumerate(commits)}
    pairs = find_questions(told, wanted)
    return decide_merged(told, wanted, frozenset(pair for pair in pairs if place[pair[0]] > place[pair[1]]))


def tell(commit: Commit) -> Told:
    """A commit with what it says."""
    return Told(commit, find_claims(commit))


def names_repositories(told: Iterable[Told]) -> bool:
    """Whether anything is claimed of a reference that names a repository, ours or another."""
    return any("/" in reference for one in told for reference in (*one.claims.merged, *one.claims.reverted))


def unqualify_all(told: Iterable[Told], own: frozenset[str]) -> list[Told]:
    """The same with this repository's own references without its name. own: see core.references.unqualify."""
    return [one._replace(claims=_unqualified(one.claims, own)) for one in told]


def _unqualified(claims: Claims, own: frozenset[str]) -> Claims:
    merged = {unqualify(reference, own): rule for reference, rule in claims.merged.items()}
    return Claims(merged, frozenset(unqualify(reference, own) for reference in claims.reverted), claims.undone)


def find_questions(told: Sequence[Told], wanted: frozenset[str]) -> Pairs:
    """The pairs of commits of which `decide_...` must know whether the first lies in the history of the second."""
    questions: set[tuple[str, str]] = set()
    for merges, reverts, undone in _group(told, wanted).values():
        later = [one.commit.id for one in (*reverts, *undone)]
        questions.update((merge.commit.id, commit) for merge in merges for commit in later)
    return frozenset(questions)


def decide_merged(told: Sequence[Told], wanted: frozenset[str], pairs: Pairs) -> dict[str, str]:
    """Which of the wanted references a history merged and did not take back: for each the first evidence among `told`.

    A revert takes back what lies in its own history. pairs: of the questions, those with the answer yes.
    """
    standing = {reference: _find_standing(group, pairs) for reference, group in _group(told, wanted).items()}
    return {
        reference: Evidence(one.commit.id, one.commit.subject, one.claims.merged[reference]).sentence
        for reference, one in standing.items()
        if one
    }


def decide_taken_back(told: Sequence[Told], wanted: frozenset[str], pairs: Pairs) -> dict[str, str]:
    """Which of the wanted references a history took back and did not merge again. The arguments are decide_merged's."""
    found: dict[str, str] = {}
    for reference, group in _group(told, wanted).items():
        if not _find_standing(group, pairs):
            commit = (*group.reverts, *group.undone)[0].commit
            how = "" if group.reverts else ", which a later commit reverts"
            found[reference] = f'{commit.id[:9]} "{shorten(commit.subject, 80)}"{how}'
    return found


class _Group(NamedTuple):
    """What tells about one reference: commits that merged it, that took it back, that merged it and were undone."""

    merges: list[Told]
    reverts: list[Told]
    undone: list[Told]


def _find_standing(group: _Group, pairs: Pairs) -> Told | None:
    """The first merge that nothing took back.

    A commit that was undone takes back all that its own history says of the reference: a merge commit that was
    reverted also cancels what the merged branch said.
    """
    later = [one.commit.id for one in (*group.reverts, *group.undone)]
    standing = (one for one in group.merges if not any((one.commit.id, commit) in pairs for commit in later))
    return next(standing, None)


def _group(told: Sequence[Told], wanted: frozenset[str]) -> dict[str, _Group]:
    """What tells about each of the references; a revert that was taken back itself tells nothing."""
    undone = _find_undone(told)
    groups: dict[str, _Group] = {}
    for one in told:
        is_undone = one.commit.id in undone
        for reference in wanted.intersection(one.claims.merged):
            group = groups.setdefault(reference, _Group([], [], []))
            (group.undone if is_undone else group.merges).append(one)
        for reference in wanted.intersection(() if is_undone else one.claims.reverted):
            groups.setdefault(reference, _Group([], [], [])).reverts.append(one)
    return {reference: _Group(*(part[:_MOST] for part in group)) for reference, group in groups.items()}


def _find_undone(told: Sequence[Told]) -> set[str]:
    """The ids of the commits that a revert names which nobody reverted in turn; this does not rely on dates."""
    ids = sorted(commit.id for commit, _ in told)
    reverters: dict[str, list[str]] = {}
    for commit, claims in told:
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
    first = bisect_left(ids, start)
    return ids[first : bisect_left(ids, start + "g", first)]


def find_claims(commit: Commit) -> Claims:
    """What one commit's message says was merged or taken back."""
    undone = _find_reverted_ids(commit)
    depth, quoted, rest = _read_revert(commit.subject)
    merged = _find_in_subject(commit, rest)
    reverted: set[str] = set()
    if depth % 2 or (not depth and "evert" in commit.body and not _BOT.search(commit.body)):
        for below in _REVERTED_BELOW.finditer(commit.body):
            reverted.update(find_references(below["what"]))
    if depth % 2:
        reverted.update(find_references(quoted))
    elif depth:
        merged.update(dict.fromkeys(find_references(quoted), "a revert of its revert"))
    if commit.body and not _BOT.search(commit.body):
        merged = {**_find_in_body(commit.body), **merged}
    return Claims({ref: rule for ref, rule in merged.items() if ref not in reverted}, frozenset(reverted), undone)


def _find_reverted_ids(commit: Commit) -> tuple[str, ...]:
    if "evert" not in commit.subject and "evert" not in commit.body:
        return ()
    ids = (match["ids"] for text in (commit.subject, commit.body) for match in _UNDONE.finditer(text[:MAX_TEXT]))
    return tuple(dict.fromkeys(one.lower() for listed in ids for one in re.findall(r"[0-9a-fA-F]{7,64}", listed)))


def _read_revert(subject: str) -> tuple[int, str, str]:
    """(how often it reverts: odd takes back, even brings back, 0 is none; what it quotes; the rest of the subject)."""
    if not subject.lower().startswith(_REVERTING):
        return 0, "", subject
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


_REVERTING = ("revert", "reapply", "re-apply", "reland", "re-land", "back", "roll")


def _depth(verbs: list[str]) -> int:
    """Revert adds one, Reapply two: it says by itself that a revert was reverted."""
    return sum(1 if verb == "revert" else 2 for verb in verbs)


def _find_in_subject(commit: Commit, subject: str) -> dict[str, str]:
    if _is_unfinished(subject):
        return {}
    for find in _SUBJECT_RULES:
        found = find(commit, subject)
        if found:
            return {**_find_suffix(commit, subject), **found}
    return _find_suffix(commit, subject)


def _is_unfinished(subject: str) -> bool:
    lower = subject.lower()
    return any(sign in lower for sign in ("wip", "draft", "!")) and bool(_UNFINISHED.match(subject))


def _find_merged_number(commit: Commit, subject: str) -> dict[str, str]:
    """GitHub's "Merge pull request #12 from ...", Azure's "Merged PR 12: ...", bors' "Auto merge of #12 - ..."."""
    match = _MERGE_OF_NUMBER.match(subject) if subject[:1] in "MmAaLl" else None
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
    if _is_unfinished(title) or _read_revert(title)[0]:
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
    match = _MERGED_IN.match(subject) if subject[:1] in "Mm" else None
    return dict.fromkeys([f"#{int(match['number'])}", *_find_in_branch(match["source"])], MERGE_RULE) if match else {}


def _find_merged_branch(commit: Commit, subject: str) -> dict[str, str]:
    """What the merged branch is called after. Neither what it was merged into nor where it came from has landed."""
    match = _MERGE_OF_BRANCH.match(subject) if commit.parents > 1 else None
    return dict.fromkeys(_find_in_branch(_OF_REMOTE.sub("", match["source"])), MERGE_RULE) if match else {}


def _find_numbered_title(commit: Commit, subject: str) -> dict[str, str]:
    """Bitbucket's "Pull request #12: search", with "Merge in ACME/app from ..." below."""
    match = _NUMBERED_TITLE.match(subject) if commit.body.lstrip().startswith("Merge in ") else None
    return {**_find_in_title(commit), f"#{int(match['number'])}": MERGE_RULE} if match else {}


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
    """Such as "ABC-12: search", "feat(ABC-12): search", "search [ABC-12]", unless it says that more is to come."""
    match = (_SCOPE.match(subject) or _LEADING.match(subject) or _TAGGED.match(subject)) if "-" in subject else None
    if not match or _PARTLY.search(match["rest"]):
        return {}
    return dict.fromkeys(find_references(match["ticket"]), TICKET_RULE)


def _find_suffix(commit: Commit, subject: str) -> dict[str, str]:
    """Such as "search (#12)", "search (ABC-3) (#12)", "search (PR #12, closes ABC-3)"; not "(refs #12)"."""
    suffixes = _SUFFIXES.search(subject[-400:]) if "(" in subject else None
    if not suffixes or _is_unfinished(subject):
        return {}
    named = [item for item in re.split(r"\s*[(),]\s*", suffixes["items"]) if _SUFFIX_ITEM.match(item)]
    return dict.fromkeys((reference for item in named for reference in find_references(item)), SQUASH_RULE)


_SUBJECT_RULES = (
    _find_merged_number,
    _find_merged_in,
    _find_numbered_title,
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
    ends = [keyword.end() for keyword in _CLOSED_BELOW.finditer(text) if _is_closing(text, keyword.start())]
    mentions = find_mentions(text) if ends else []  # most texts close nothing
    return {reference: CLOSES_RULE for end in ends for reference in _listed_after(text, end, mentions)}


def _is_closing(text: str, at: int) -> bool:
    return not _NOT_CLOSING.search(text[max(at - _NEAR, 0) : at])


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
