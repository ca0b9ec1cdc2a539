"""What commit messages claim, as values: no repository is needed."""

import pytest

from checkpoint_git.git.history.claims import Commit, find_claims
from tests.support.growth import assert_linear


def commit(subject: str, body: str = "", parents: int = 1, name: str = "a") -> Commit:
    return Commit((name * 40)[:40], parents, subject, body)


def merged_by(subject: str, body: str = "", parents: int = 1) -> set[str]:
    return set(find_claims(commit(subject, body, parents)).merged)


@pytest.mark.parametrize(
    ("subject", "parents", "references"),
    [
        ("Merge pull request #12 from ada/search", 2, {"#12"}),
        ("Merge pull request #12 from ada/abc-34-search", 2, {"#12", "ABC-34"}),
        ("Merge PR #12: search", 2, {"#12"}),
        ("Merge PR #12 into release #9", 2, {"#12"}),
        ("Merge PRs #12, #13 and #14", 2, {"#12", "#13", "#14"}),
        ("Merge #12", 2, {"#12"}),
        ("Auto merge of #12 - ada:search, r=grace", 2, {"#12"}),
        ("Rollup merge of #12 - ada:search, r=grace", 1, {"#12"}),
        ("Squash merge PR #12: search", 1, {"#12"}),
        ("Squash-merge #12", 1, {"#12"}),
        ("merge: PR #12 - search", 1, {"#12"}),
        ("Merge: #12", 1, {"#12"}),
        ("chore: merge PR #12 into release #9", 1, {"#12"}),
        ("chore(release): merge pull request #12", 1, {"#12"}),
        ("Merged PR 12: search", 1, {"#12"}),
        ("Merged in feature/ABC-3-search (pull request #12)", 2, {"#12", "ABC-3"}),
        ("Merge branch 'feature/ABC-34-search' into main", 2, {"ABC-34"}),
        ("Merge branch 'abc-34'", 2, {"ABC-34"}),
        ("Merge remote-tracking branch 'origin/pr/12'", 2, {"#12"}),
        ("Merge remote-tracking branch 'origin/pull/12/head'", 2, {"#12"}),
        ("Merge branch 'abc-34' of github.com:acme/old-9", 2, {"ABC-34"}),
        ("Merge pull request #12 in ACME/app from search to main", 2, {"#12"}),
        ("Merge pull request 'search (ABC-3)' (#12) from ada/search into main", 2, {"#12", "ABC-3"}),
        ("Merge GH-12", 2, {"#12"}),
        ("Merge MR !12", 2, {"!12"}),
        ("Land the search rewrite, #12", 2, {"#12"}),
        ("Merge #12 #13 #14", 2, {"#12", "#13", "#14"}),
    ],
)
def test_the_subject_of_a_merge_commit_is_a_claim(subject: str, parents: int, references: set[str]) -> None:
    assert references <= merged_by(subject, parents=parents)
    assert not {"#9"} & merged_by(subject, parents=parents)


@pytest.mark.parametrize(
    ("subject", "references"),
    [
        ("feat: search (#12)", {"#12"}),
        ("feat: search (ABC-3) (#12)", {"#12", "ABC-3"}),
        ("feat: search (closes ABC-3, #12)", {"#12", "ABC-3"}),
        ("feat: search (PR #12)", {"#12"}),
        ("feat: search (!12)", {"!12"}),
        ("feat: search (#12) [skip ci]", {"#12"}),
        ("fix: again (#12) (#15)", {"#12", "#15"}),
        ("\u4fee\u590d\u767b\u5f55\uff08#12\uff09", {"#12"}),
    ],
)
def test_the_suffix_of_a_squash_merge_is_a_claim(subject: str, references: set[str]) -> None:
    assert merged_by(subject) == references


def test_the_title_of_a_squashed_pull_request_is_a_claim_where_its_body_says_merge() -> None:
    assert merged_by("Pull request #12: search", "Merge in ACME/app from search to main") == {"#12"}
    assert merged_by("Pull request #12: search", "Something else") == set()


@pytest.mark.parametrize(
    "subject",
    ["ABC-3: search", "search [ABC-3]", "[ABC-3] search", "ABC-3 search", "feat(ABC-3): search", "fix: ABC-3 x"],
)
def test_a_subject_about_a_ticket_claims_it(subject: str) -> None:
    assert merged_by(subject) == {"ABC-3"}


@pytest.mark.parametrize("subject", ["#12 search", "#12: search", "[#12] search", "#12 - search", "fix(#12): search"])
def test_a_subject_that_begins_with_a_number_claims_it(subject: str) -> None:
    assert merged_by(subject) == {"#12"}


@pytest.mark.parametrize(
    ("body", "references"),
    [
        ("Closes #12", {"#12"}),
        ("This fixes #12 and #13, as asked.", {"#12", "#13"}),
        ("Fixes: ABC-3", {"ABC-3"}),
        ("Resolves https://github.com/acme/app/issues/12", {"acme/app#12"}),
        ("Closes #12, closes #13", {"#12", "#13"}),
        ("text\n\nPR-URL: https://github.com/acme/app/pull/12\nReviewed-By: Ada", {"acme/app#12"}),
        ("See merge request acme/app!12", {"acme/app!12"}),
        ("Pull-Request: #12", {"#12"}),
        ("Merge request: !12", {"!12"}),
        ("Pull-Request: https://bitbucket.org/acme/app/pull-requests/12", {"acme/app#12"}),
        ("Closes-Bug: #12\nRelated-Bug: #13\nPartial-Bug: #14", {"#12"}),
        ("See merge request acme/tools/app!12", {"acme/tools/app!12"}),
    ],
)
def test_a_closing_keyword_or_a_trailer_in_the_body_is_a_claim(body: str, references: set[str]) -> None:
    assert merged_by("search", body) == references


def test_the_title_below_a_merge_commit_names_its_ticket() -> None:
    assert merged_by("Merge pull request #12 from ada/x", "ABC-3: search\n\nmore", parents=2) == {"#12", "ABC-3"}


@pytest.mark.parametrize(
    ("subject", "body", "parents"),
    [
        ("prepare the ground for #12", "", 1),
        ("follow-up to #12", "", 1),
        ("search (refs #12)", "", 1),
        ("search (part of #12)", "", 1),
        ("search, see #12 for more", "", 1),
        ("WIP: search (#12)", "", 1),
        ("fixup! search (#12)", "", 1),
        ("ABC-3: part 1 of search", "", 1),
        ("#12: part 1 of search", "", 1),
        ("feat(#12): start the search", "", 1),
        ("Merge: 12 small fixes", "", 1),
        ("chore: merge 12 branches", "", 1),
        ("#12 regression in the parser", "", 1),
        ("#12-search", "", 1),
        ("ABC-3: start the search", "", 1),
        ("search as in ABC-3", "", 1),
        ("Merge branch 'main' into feature/ABC-3-search", "", 2),
        ("Merge branch 'main' into pr/12", "", 2),
        ("Merge remote-tracking branch 'origin/main' into ABC-3", "", 2),
        ("follow-up to #12", "", 2),
        ("Merge branch 'main' of github.com:acme/ABC-3", "", 2),
        ("Closes #12 partially", "", 1),
        ("Fixes #12 (partly)", "", 1),
        ("search [part of ABC-3]", "", 1),
        ("Merged work", "Related work items: #12", 1),
        ("Merge 12 small fixes", "", 1),
        ("search", "Refs #12\nPart of #13\nRelated: ABC-3\nFollow-up to #14", 1),
        ("search", "This does not fix #12 and only partially fixes #13.", 1),
        ("search", "* one (#12)\n* two (#13)", 1),
        ("Fix #12 regression in the parser", "", 1),
        ("bump x", "Bumps [x](https://github.com/x/x).\n- Fixes #12\n\nSigned-off-by: dependabot[bot] <s@g.com>", 1),
        ("step #2 is done (row #3)", "", 1),
        ("", "", 1),
    ],
)
def test_a_mention_is_no_claim(subject: str, body: str, parents: int) -> None:
    assert merged_by(subject, body, parents) == set()


FAR_APART = f"fixes #1{' ,  ,' * 11}x #2 "


@pytest.mark.parametrize(
    "piece",
    ["#", "#1 ", "closes #1 ", "fixes #1, ", FAR_APART, '"', 'Revert "', "(", "(#1) ", "a/", "fix ", "ABC-1 ", "\n"],
)
def test_a_hostile_message_is_read_in_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        text = piece * (size // len(piece))
        find_claims(commit(text[:1_000], text))
        find_claims(commit('Revert "' + text[:1_000], "This reverts commit " + text, parents=2))

    assert_linear(read, 20_000)
