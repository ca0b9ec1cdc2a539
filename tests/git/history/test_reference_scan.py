"""What is looked up leads to every commit that the rules of evidence would accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.git.history.claims import Commit, find_claims
from checkpoint_git.git.history.reference_scan import (
    MAX_KEYS,
    MAX_MESSAGE,
    MAX_RUN,
    NUMBER_BITS,
    find_bounded,
    find_keys,
    find_postings,
    find_revert_key,
)

WORDS = """
# ! / - : , . ( ) [ ] " ' _ 1 7 12 012 13 2024 #12 !12 #12/13 ABC-12 ABC-12/13 abc-12 x86-64 UTF-8 pr/12 pull/12
pull-12 gh-12 GH-12 GH12 PR pr PR12 MR PRs Pull Request request requests pull requests merge Merge Merged Land
Auto of branch into from in ada/abc-34 origin/pull/12/head https://github.com/acme/app/pull/12 acme/app#12
https://gitlab.com/acme/app/-/merge_requests/12 https://host/browse/ABC-12 Closes closes Fixes: Closes-Bug: and
See Revert revert Reverts: Reapply This reverts commit commits abcdef1 ABCDEF1234567 PR-URL: Pull-Request:
Reviewed-on: Merge-Request: \u00e4 \u0661\u0662 wip
"""
PIECES = st.sampled_from(WORDS.split())
GAPS = st.sampled_from(["", " ", " ", " ", "\n", "\n\n", "  ", "\t"])
MESSAGES = st.lists(st.tuples(PIECES, GAPS), max_size=14).map(lambda parts: "".join(one + gap for one, gap in parts))


@given(message=MESSAGES, parents=st.integers(1, 2))
def test_whatever_a_message_claims_is_found_under_its_keys(message: str, parents: int) -> None:
    subject, _, body = message.partition("\n")
    claims = find_claims(Commit("a" * 40, parents, subject, body))
    keys = set(find_bounded(message.encode()))
    ascii_claims = [one for one in (*claims.merged, *claims.reverted) if message.isascii()]
    for reference in ascii_claims:
        assert keys.intersection(find_keys(reference)), reference
    for commit in claims.undone:
        assert find_revert_key(commit) in keys


@given(messages=st.lists(MESSAGES, max_size=8), first=st.integers(0, 100))
def test_many_messages_at_once_are_read_as_one_by_one(messages: list[str], first: int) -> None:
    records = [message.encode() for message in messages]
    block = b"".join(record + b"\0" for record in records)
    together = {posting for postings in find_postings(block, records, first) for posting in postings}
    assert together == {
        key << NUMBER_BITS | (first + at) for at, record in enumerate(records) for key in find_bounded(record)
    }


@pytest.mark.parametrize("piece", [b"#%d ", b"ABC-%d ", b"#1/%d", b"PR %d", b"This reverts commit %09d "])
def test_a_message_with_a_million_names_is_read_within_bounds(piece: bytes) -> None:
    message = b"subject (#7) " + b"".join(piece % number for number in range(1_000_000))
    records = [b"one (#5)", message, b"three (#6)"]
    lists = find_postings(b"\0".join((*records, b"")), records, 0)
    found = [posting for postings in lists for posting in postings]
    assert len(found) <= 2 * MAX_KEYS + 2
    named = {(posting >> NUMBER_BITS, posting & (MAX_RUN - 1)) for posting in found}
    assert {(5, 0), (7, 1), (6, 2)} <= named
    assert max(len(find_bounded(message[:MAX_MESSAGE])), 1) <= 2 * MAX_KEYS


@pytest.mark.parametrize(
    ("reference", "spelling"),
    [
        ("#12", "#12"),
        ("#12", "PR 12"),
        ("#12", "pull request 12"),
        ("#12", "https://github.com/acme/app/pull/12"),
        ("#13", "#12/13"),
        ("acme/app#12", "acme/app#012"),
        ("!12", "MR !12"),
        ("ABC-12", "feature/abc-12"),
        ("ABC-13", "ABC-12/13"),
    ],
)
def test_each_spelling_leads_to_its_reference(reference: str, spelling: str) -> None:
    assert set(find_keys(reference)).intersection(find_bounded(spelling.encode()))


def test_a_date_and_a_version_are_not_looked_up() -> None:
    assert find_bounded(b"on 2024-01-12, 1.2-3") == []
