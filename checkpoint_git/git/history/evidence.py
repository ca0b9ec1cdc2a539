"""What the claims of many commits prove: which pull requests and tickets a history merged, and which it took back."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.references import unqualify
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.history.claims import TRAILER_RULE, Claims, Commit, find_claims, may_revert
from checkpoint_git.git.history.reference_scan import ID_DIGITS

_MOST = 100  # commits that are weighed for one reference, and reverts of it


class Told(NamedTuple):
    commit: Commit
    claims: Claims


class Evidence(NamedTuple):
    """commit: its full id. when: since 1970. sure: False if it names a repository that no remote tells is this one."""

    commit: str
    when: int
    subject: str
    rule: str
    sure: bool = True

    def __str__(self) -> str:
        """Such as: 1a2b3c4d5 "Merge pull request #12 from ada/search", 2026-03-11 (its merge)."""
        return f'{self.commit[:9]} "{shorten(self.subject, 80)}", {write_instant(self.when)[:10]} ({self.rule})'


Pair = tuple[str, str]  # ids of commits; the question is whether the first is in the history of the second
Pairs = frozenset[Pair]


def names_repositories(told: Iterable[Told]) -> bool:
    return any("/" in reference for one in told for reference in (*one.claims.merged, *one.claims.reverted))


def unqualify_all(told: Iterable[Told], own: frozenset[str]) -> list[Told]:
    plain: list[Told] = []
    for commit, (merged, reverted, undone) in told:
        # "See merge request acme/app!12" is about the repository that it was written in, whoever has a copy of it
        named = {unqualify(one, own, any_owner=rule == TRAILER_RULE): rule for one, rule in merged.items()}
        taken_back = frozenset(unqualify(reference, own) for reference in reverted)
        plain.append(Told(commit, Claims(named, taken_back, undone)))
    return plain


# A claim that no revert touches is settled by the newest commit, so most of the others need not be read for it.
def find_told(commits: Sequence[Commit], named: Mapping[str, Set[str]]) -> list[Told]:
    """What commits claim, as far as it can make a difference. commits: the newest first, with whatever reverts one of
    them. named: by their ids, the references that are asked for.
    """
    told = {one.id: Told(one, find_claims(one)) for one in commits if may_revert(one)}
    undone = {name[:ID_DIGITS] for _, claims in told.values() for name in claims.undone}
    told |= {one.id: Told(one, find_claims(one)) for one in commits if one.id[:ID_DIGITS] in undone}
    touched = {reference for _, claims in told.values() for reference in (*claims.merged, *claims.reverted)}
    doubtful = {unqualify(reference, frozenset()) for reference in touched}
    settled: set[str] = set()
    for commit in commits:
        if commit.id not in told and (asked := named[commit.id] - settled):
            claims = find_claims(commit)
            told[commit.id] = Told(commit, claims)
            settled.update(one for one in asked - doubtful if one in claims.merged and "/" not in one)
    return [told[one.id] for one in commits if one.id in told]


# Which of two commits came later is never taken from their clocks: whoever asks says which lies in whose history.
def find_questions(told: Sequence[Told], wanted: frozenset[str]) -> Pairs:
    """The pairs of which `decide_...` must know whether the first lies in the history of the second."""
    questions: set[tuple[str, str]] = set()
    for merges, reverts, undone in _group(told, wanted).values():
        later = [one.commit.id for one in (*reverts, *undone)]
        questions.update((merge.commit.id, commit) for merge in merges for commit in later)
    return frozenset(questions)


def decide_merged(told: Sequence[Told], wanted: frozenset[str], pairs: Pairs) -> dict[str, Evidence]:
    """Reference -> the newest evidence that stands."""
    found: dict[str, Evidence] = {}
    for reference, group in _group(told, wanted).items():
        if one := _find_standing(group, pairs):
            commit = one.commit
            found[reference] = Evidence(commit.id, commit.when, commit.subject, one.claims.merged[reference])
    return found


def decide_taken_back(told: Sequence[Told], wanted: frozenset[str], pairs: Pairs) -> dict[str, str]:
    found: dict[str, str] = {}
    for reference, group in _group(told, wanted).items():
        if not _find_standing(group, pairs):
            how = "" if group.reverts else ", which a later commit reverts"
            commit = (*group.reverts, *group.undone)[0].commit
            found[reference] = f'{commit.id[:9]} "{shorten(commit.subject, 80)}"{how}'
    return found


class _Group(NamedTuple):
    merges: list[Told]
    reverts: list[Told]
    undone: list[Told]


def _find_standing(group: _Group, pairs: Pairs) -> Told | None:
    # an undone commit takes back all that its own history says: a reverted merge also cancels its branch's words
    later = [one.commit.id for one in (*group.reverts, *group.undone)]
    return next((one for one in group.merges if not any((one.commit.id, commit) in pairs for commit in later)), None)


def _group(told: Sequence[Told], wanted: frozenset[str]) -> dict[str, _Group]:
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


# What a revert names is no longer merged, unless the revert was itself reverted.
def _find_undone(told: Sequence[Told]) -> set[str]:
    """Commits that a revert names which nobody reverted in turn; dates have no say."""
    ids = sorted(commit.id for commit, _ in told)
    reverters: dict[str, list[str]] = {}
    for commit, claims in told:
        for named in claims.undone:
            first = bisect_left(ids, named)
            for whole in ids[first : bisect_left(ids, f"{named}g", first)]:
                reverters.setdefault(whole, []).append(commit.id)
    undone: dict[str, bool] = {}
    for start in reverters:
        _settle(start, reverters, undone)
    return {commit for commit, is_undone in undone.items() if is_undone}


def _settle(start: str, reverters: dict[str, list[str]], undone: dict[str, bool]) -> None:
    # Decides a commit after those that revert it; without recursion, since a chain of reverts can be long
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
