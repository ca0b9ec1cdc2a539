"""Find out what is true of the pull requests and tickets that a text names.

It takes one look into the history since an instant.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.references import unqualify
from checkpoint_git.git.history.claims import (
    CLOSES_RULE,
    NAMED_RULE,
    REVERT_RULE,
    TRAILER_RULE,
    Claims,
    CommitMessage,
    find_claims,
)
from checkpoint_git.git.history.lost import find_lost
from checkpoint_git.git.history.recent import Record, Tips, read_records, read_tips
from checkpoint_git.git.refs import read_own_names

State = Literal["merged", "reverted", "lost", "closed", "named"]
# a reference, and the instant (seconds since 1970) before which nothing counts
Asked = tuple[str, int]

_NUMBER = re.compile(rb"[1-9]\d*")
_MAX_SUBJECT = 1_000  # characters
_MOST_SIGHTINGS = 1_000  # of one reference, the newest
_HEAD, _DEFAULT, _FIRST_REVERT = 1, 2, 4  # bits: what has a commit in its history


class Fact(NamedTuple):
    """What is true of a reference, as it was asked for.

    at: seconds since 1970. commit: its full id. rule: what makes it so. lost: it was merged, but
    its changes are not in HEAD. commits: how many name it. sure: False if the reference names a
    repository, and no remote says that it is this one.
    """

    reference: str
    state: State
    at: int
    commit: str
    rule: str
    commits: int
    sure: bool = True


class Sighting(NamedTuple):
    """What one commit does to a reference. commit, at: of the revert where it was reverted."""

    state: State
    commit: str
    at: int
    rule: str
    in_head: bool


def read_facts(work_tree: str, asked: Collection[Asked], now: int) -> dict[Asked, Fact]:
    """Return what HEAD's history and the default branch's say of each reference, if they say
    anything.

    Raises CheckpointError if git cannot read the history. A shallow clone says what it has.
    """
    tips = read_tips(work_tree) if asked else None
    if tips is None:
        return {}
    own_names = read_own_names(work_tree)
    plain = {reference: unqualify(reference, own_names) for reference, _ in asked}
    records = read_records(work_tree, tips, min(since for _, since in asked) - DAY, now)
    sightings = find_sightings(records, tips, frozenset(plain.values()), own_names)

    facts = dict[Asked, Fact]()
    for reference, since in asked:
        fact = decide(reference, sightings.get(plain[reference], ()), since)
        if fact:
            is_known = plain[reference] == reference or bool(own_names)
            facts[reference, since] = fact._replace(sure=is_known)

    in_head = set[str]()
    for found in sightings.values():
        in_head.update(sighting.commit for sighting in found if sighting.in_head)
    merged = {fact.commit for fact in facts.values() if fact.state == "merged"}
    lost = find_lost(work_tree, merged & in_head)
    for key, fact in facts.items():
        if fact.state == "merged" and fact.commit in lost:
            facts[key] = fact._replace(state="lost")

    return facts


def decide(reference: str, sightings: Sequence[Sighting], since: int) -> Fact | None:
    """Return what is true of a reference. sightings: children before their parents."""
    counted = [sighting for sighting in sightings if sighting.at >= since]
    for state in ("merged", "reverted", "closed", "named"):
        for sighting in counted:
            if sighting.state == state:
                return Fact(
                    reference=reference,
                    state=sighting.state,
                    at=sighting.at,
                    commit=sighting.commit,
                    rule=sighting.rule,
                    commits=len(counted),
                )

    return None


def find_sightings(
    records: Iterable[Record], tips: Tips, wanted: frozenset[str], own_names: frozenset[str]
) -> dict[str, list[Sighting]]:
    """Return by reference what each commit does to it. records: children before their parents.

    own_names: what the remotes call this repository.
    """
    numbers = set()
    for reference in wanted:
        number = re.search(r"[1-9]\d*$", reference)
        if number:
            numbers.add(number[0].encode())
    marks = defaultdict(int, dict.fromkeys(tips.default or [tips.head], _DEFAULT))
    marks[tips.head] |= _HEAD
    reverts = _Reverts()
    found = dict[str, list[Sighting]]()

    for record in records:
        mark = marks.pop(record.id, 0)
        if b"evert" in record.message or not numbers.isdisjoint(_NUMBER.findall(record.message)):
            commit = _read_commit(record)
            claims = _unqualify(find_claims(commit), own_names)
            for reference, sighting in _look(commit, claims, mark, reverts, wanted):
                sightings = found.setdefault(reference, [])
                if len(sightings) < _MOST_SIGHTINGS:
                    sightings.append(sighting)
            mark |= reverts.add(commit, claims, mark)
        for parent in record.parents:
            marks[parent] |= mark

    return found


def _look(
    commit: CommitMessage, claims: Claims, mark: int, reverts: "_Reverts", wanted: frozenset[str]
) -> Iterable[tuple[str, Sighting]]:
    """Yield what one commit does to the references that are asked for."""
    is_in_head = bool(mark & _HEAD)
    undoer = reverts.find_undoer(commit.id, mark)
    for reference in wanted.intersection(
        claims.named | claims.merged.keys() | claims.closed | claims.reverted
    ):
        rule = claims.merged.get(reference, "")
        if not rule and reference in claims.closed:
            rule = CLOSES_RULE
        if reference in claims.reverted and undoer is None:
            yield reference, Sighting("reverted", commit.id, commit.when, REVERT_RULE, is_in_head)
        elif not rule or not mark & _DEFAULT:
            yield reference, Sighting("named", commit.id, commit.when, NAMED_RULE, is_in_head)
        elif revert := undoer or reverts.find_revert(reference, mark):
            yield reference, Sighting("reverted", revert.id, revert.when, REVERT_RULE, is_in_head)
        elif reference in claims.merged:
            yield reference, Sighting("merged", commit.id, commit.when, rule, is_in_head)
        else:
            yield reference, Sighting("closed", commit.id, commit.when, rule, is_in_head)


class _Reverts:
    """The commits that revert something, each with a bit that marks what is in its history."""

    def __init__(self) -> None:
        self._next = _FIRST_REVERT
        self._by_reference = dict[str, list[tuple[int, CommitMessage]]]()
        # the key: the first digits of what is reverted
        self._by_id = dict[str, list[tuple[int, str, CommitMessage]]]()

    def add(self, commit: CommitMessage, claims: Claims, mark: int) -> int:
        """Return the bit that marks what the commit reverts, 0 if it reverts nothing or is itself
        reverted.
        """
        if not (claims.reverted or claims.undone) or self.find_undoer(commit.id, mark):
            return 0
        bit = self._next
        self._next <<= 1
        for reference in claims.reverted:
            self._by_reference.setdefault(reference, []).append((bit, commit))
        for name in claims.undone:
            self._by_id.setdefault(name[:7], []).append((bit, name, commit))
        return bit

    def find_undoer(self, commit: str, mark: int) -> CommitMessage | None:
        """Return the commit that reverts one by its id, which must be in its history."""
        for bit, name, revert in self._by_id.get(commit[:7], ()):
            if mark & bit and commit.startswith(name):
                return revert
        return None

    def find_revert(self, reference: str, mark: int) -> CommitMessage | None:
        """Return the commit that reverts a pull request by its number."""
        for bit, revert in self._by_reference.get(reference, ()):
            if mark & bit:
                return revert
        return None


def _read_commit(record: Record) -> CommitMessage:
    subject, _, body = record.message.decode("utf-8", "replace").partition("\n")
    return CommitMessage(record.id, record.parents, subject[:_MAX_SUBJECT], body, record.when)


def _unqualify(claims: Claims, own_names: frozenset[str]) -> Claims:
    """Return the claims without this repository's name in front of their references."""
    merged = {}
    for reference, rule in claims.merged.items():
        # "See merge request acme/app!12" is about the repository that it was written in, whoever
        # has a copy of it
        any_owner = rule == TRAILER_RULE
        merged[unqualify(reference, own_names, any_owner=any_owner)] = rule
    return Claims(
        merged=merged,
        closed=frozenset(unqualify(reference, own_names) for reference in claims.closed),
        named=frozenset(unqualify(reference, own_names) for reference in claims.named),
        reverted=frozenset(unqualify(reference, own_names) for reference in claims.reverted),
        undone=claims.undone,
    )
