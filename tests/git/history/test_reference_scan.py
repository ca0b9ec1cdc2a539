"""What is looked up leads to every commit that the rules of evidence would accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.git.history.claims import Commit, find_claims
from checkpoint_git.git.history.reference_scan import (
    MAX_KEYS,
    MAX_MESSAGE,
    find_names,
    find_revert_key,
    find_reverts,
    prepare_search,
)

WORDS = """
# ! / - : , . ( ) [ ] " ' _ 1 7 12 012 13 2024 #12 !12 #12/13 ABC-12 ABC-12/13 abc-12 x86-64 UTF-8 pr/12 pull/12
pull-12 gh-12 GH-12 GH12 PR pr PR12 MR PRs Pull Request request requests pull requests merge Merge Merged Land
Auto of branch into from in ada/abc-34 origin/pull/12/head https://github.com/acme/app/pull/12 acme/app#12
https://gitlab.com/acme/app/-/merge_requests/12 https://host/browse/ABC-12 Closes closes Fixes: Closes-Bug: and
See Revert revert Reverts: Reapply This reverts commit commits abcdef1 ABCDEF1234567 DEADBEEF-12 PR-URL: Pull-Request:
https://host/browse/ABC-012 Reviewed-on: Merge-Request: \u00e4 \u0661\u0662 wip
"""
PIECES = st.sampled_from(WORDS.split())
GAPS = st.sampled_from(["", " ", " ", " ", "\n", "\n\n", "  ", "\t"])
MESSAGES = st.lists(st.tuples(PIECES, GAPS), max_size=14).map(lambda parts: "".join(one + gap for one, gap in parts))


def find(messages: list[bytes], *references: str) -> dict[str, list[int]]:
    """In which messages each reference is named."""
    return {reference: sorted({*at}) for reference, at in prepare_search(references)(find_names(messages)).items()}


@given(message=MESSAGES, parents=st.integers(1, 2))
def test_whatever_a_message_claims_is_found_in_it(message: str, parents: int) -> None:
    subject, _, body = message.partition("\n")
    claims = find_claims(Commit("a" * 40, parents, subject, body))
    ascii_claims = {one for one in (*claims.merged, *claims.reverted) if message.isascii()}
    assert find([b"", message.encode(), b""], "#999", *ascii_claims) == {one: [1] for one in ascii_claims}
    reverts = find_reverts(find_names([b"", message.encode(), b""]))
    for commit in claims.undone:
        assert 1 in reverts[find_revert_key(commit)]


def test_a_ticket_that_begins_like_a_commits_id_is_found_where_a_revert_names_it() -> None:
    assert find([b"Revert DEADBEEF-12", b"ABC-12"], "DEADBEEF-12") == {"DEADBEEF-12": [0]}


@given(messages=st.lists(MESSAGES, max_size=8))
def test_many_messages_at_once_are_read_as_one_by_one(messages: list[str]) -> None:
    records = [message.encode() for message in messages]
    assert find_names(records).split() == b"".join(find_names([record]) for record in records).split()


@pytest.mark.parametrize("piece", [b"#%d ", b"ABC-%d ", b"#1/%d", b"PR %d", b"This reverts commit %09d "])
def test_a_message_with_a_million_names_is_read_within_bounds(piece: bytes) -> None:
    message = b"subject (#7) " + b"".join(piece % number for number in range(10, 1_000_000))
    names = find_names([b"one (#5)", message, b"three (#6)"])
    assert len(names.split()) <= MAX_KEYS + 5
    assert find([b"one (#5)", message, b"three (#6)"], "#5", "#7", "#6") == {"#5": [0], "#7": [1], "#6": [2]}
    assert len(find_names([message[:MAX_MESSAGE]]).split()) <= MAX_KEYS + 1


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
    assert find([spelling.encode()], reference) == {reference: [0]}


@pytest.mark.parametrize("text", ["#12-13", "PR12-13", "PRs 12-13", "#12/13", "pr-12-13", "x12-34#12", "#12-PR13"])
def test_a_name_is_found_before_another_that_ends_where_it_begins(text: str) -> None:
    assert find([text.encode()], "#12") == {"#12": [0]}


def test_zeros_before_a_number_do_not_count() -> None:
    assert find([b"#0012 ABC-03", b"#120", b"#0"], "#12", "ABC-3", "#0") == {"#12": [0], "ABC-3": [0], "#0": [2]}


def test_another_ticket_of_that_number_is_not_found() -> None:
    assert find([b"XYZ-12 x86-12 OPS3-12", b"OPS2-12"], "ABC-12", "OPS2-12") == {"OPS2-12": [1]}


def test_what_stands_for_the_end_of_a_message_counts_as_text_in_one() -> None:
    messages = [b"\x010 0 #\x01268435455", b"0\n12 (#3)\n\n0", b"4 \x01" + b"1" * 9_000]
    assert find(messages, "#3", "#12", "#4", "#0") == {"#3": [1]}
    assert find_reverts(find_names(messages))[find_revert_key("fffffff")] == [0]


def test_a_date_and_a_version_are_not_looked_up() -> None:
    assert find_names([b"on 2024-01-12, 1.2-3"]).split() == [b"0\0"]
