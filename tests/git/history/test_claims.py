"""What commit messages claim, as values: no repository is needed."""

import pytest

from checkpoint_git.git.history.claims import RELAND_RULE, SQUASH_RULE, CommitMessage, find_claims
from tests.support.growth import assert_linear


def commit(subject: str, body: str = "", parents: int = 1) -> CommitMessage:
    return CommitMessage("a" * 40, ("b" * 40,) * parents, subject, body, 0)


def merged_by(subject: str, body: str = "", parents: int = 1) -> set[str]:
    return set(find_claims(commit(subject, body, parents)).merged)


def test_the_title_in_a_merges_body_counts_unless_it_is_a_draft_or_a_revert() -> None:
    merge = "Merge pull request #12 from ada/search"
    assert merged_by(merge, "Search all notes (#13)", 2) == {"#12", "#13"}
    assert merged_by(merge, "WIP: search all notes (#13)", 2) == {"#12"}
    assert merged_by(merge, 'Revert "Search all notes (#13)"', 2) == {"#12"}
    assert merged_by(merge, "Revert search all notes (#13)", 2) == {"#12"}


MERGES: list[tuple[str, int, set[str]]] = [
    ("Merge pull request #12 from ada/search", 2, {"#12"}),
    ("Merge pull request #12 from ada/abc-34-search", 2, {"#12"}),
    ("Merge pull request #12 from ada/pr-9-again", 2, {"#12"}),
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
    ("Merged in feature/ABC-3-search (pull request #12)", 2, {"#12"}),
    ("Merge remote-tracking branch 'origin/pr/12'", 2, {"#12"}),
    ("Merge remote-tracking branch 'origin/pull/12/head'", 2, {"#12"}),
    ("Merge pull request #12 in ACME/app from search to main", 2, {"#12"}),
    ("Merge pull request 'search (ABC-3)' (#12) from ada/search into main", 2, {"#12"}),
    ("Merge GH-12", 2, {"#12"}),
    ("Merge MR !12", 2, {"!12"}),
    ("Land the search rewrite, #12", 2, {"#12"}),
    ("Merge #12 #13 #14", 2, {"#12", "#13", "#14"}),
    # the number of a squash merge
    ("feat: search (#12)", 1, {"#12"}),
    ("feat: search (ABC-3) (#12)", 1, {"#12"}),
    ("feat: search (closes #9) (#12)", 1, {"#12"}),
    ("feat: search (PR #12)", 1, {"#12"}),
    ("feat: search (!12)", 1, {"!12"}),
    ("feat: search (#12) [skip ci]", 1, {"#12"}),
    ("fix: again (#12) (#15)", 1, {"#12", "#15"}),
    ("Merge pull request #12 from acme/gh-readonly-queue/main/pr-9-0123456", 1, {"#12"}),
    ("\u4fee\u590d\u767b\u5f55\uff08#12\uff09", 1, {"#12"}),
]


def test_merges_and_squash_merges_are_read_as_forges_write_them() -> None:
    wrong = [(subject, merged_by(subject, parents=parents)) for subject, parents, expected in MERGES
             if merged_by(subject, parents=parents) != expected]  # fmt: skip
    assert wrong == []


def test_the_title_of_a_squashed_pull_request_is_a_claim_where_its_body_says_merge() -> None:
    assert merged_by("Pull request #12: search", "Merge in ACME/app from search to main") == {"#12"}
    assert merged_by("Pull request #12: search", "Something else") == set()


TICKETS = [
    ("ABC-3: search", "", 1),
    ("ABC-3 search", "", 1),
    ("[ABC-3] search", "", 1),
    ("search [ABC-3]", "", 1),
    ("search (ABC-3)", "", 1),
    ("feat(ABC-3): search", "", 1),
    ("fix: ABC-3 x", "", 1),
    ("ABC-3", "", 1),
    ("Merge branch 'ABC-3'", "", 2),
    ("Merge branch 'ABC-3' into main", "", 2),
    ("Merge branch 'feature/ABC-3-search' into main", "", 2),
    ("Merge branch 'abc-3'", "", 2),
    ("Merge branch 'abc-3' of github.com:acme/old-9", "", 2),
    ("Merge pull request #12 from ada/ABC-3", "", 2),
    ("Merge pull request #12 from ada/x", "ABC-3: search", 2),
    ("Merged in feature/ABC-3-search (pull request #12)", "", 2),
    ("Land ABC-3", "", 2),
    ("Merge ABC-3", "", 2),
    ("search", "PR-URL: ABC-3", 1),
    ("search", "Refs: ABC-3", 1),
]


def test_a_ticket_is_named_and_never_merged_whatever_the_subject() -> None:
    wrong = []
    for subject, body, parents in TICKETS:
        claims = find_claims(commit(subject, body, parents))
        if "ABC-3" in claims.merged or "ABC-3" in claims.closed or "ABC-3" not in claims.named:
            wrong.append((subject, body, claims))
    assert wrong == []


CLOSING: list[tuple[str, str, set[str]]] = [
    ("search", "Closes #12", {"#12"}),
    ("search", "This fixes #12 and #13, as asked.", {"#12", "#13"}),
    ("search", "Fixes: ABC-3", {"ABC-3"}),
    ("Fix ABC-3: search", "", {"ABC-3"}),
    ("Fixes #12", "", {"#12"}),
    ("feat: search (closes ABC-3, #12)", "", {"ABC-3", "#12"}),
    ("search", "Resolves https://github.com/acme/app/issues/12", {"acme/app#12"}),
    ("search", "Closes #12, closes #13", {"#12", "#13"}),
    ("search", "Closes-Bug: #12\nRelated-Bug: #13\nPartial-Bug: #14", {"#12"}),
    ("search", "This does not fix #12 and only partially fixes #13.", set()),
    ("To fix #12, the parser has to go", "", set()),
    ("Fix #12 regression in the parser", "", set()),
    ("search", "Fixes #12 (partly)", set()),
    ("search", "Refs #12\nPart of #13\nRelated: ABC-3\nFollow-up to #14", set()),
    (
        "bump x",
        "Bumps [x](https://github.com/x/x).\n- Fixes #12\n\nSigned-off-by: dependabot[bot] <s@g.com>",
        set(),
    ),
    ("bump x", "Fixes #12\n\nRenovate: by renovate[bot]", set()),
]


def test_a_closing_keyword_closes_issues_and_tickets() -> None:
    wrong = []
    for subject, body, expected in CLOSING:
        claims = find_claims(commit(subject, body))
        if claims.closed != expected or claims.merged:
            wrong.append((subject, body, claims))
    assert wrong == []


def test_a_trailer_names_the_pull_request_that_was_merged() -> None:
    rows: dict[str, set[str]] = {
        "text\n\nPR-URL: https://github.com/acme/app/pull/12\nReviewed-By: Ada": {"acme/app#12"},
        "See merge request acme/app!12": {"acme/app!12"},
        "See merge request acme/tools/app!12": {"acme/tools/app!12"},
        "Pull-Request: #12": {"#12"},
        "Merge request: !12": {"!12"},
        "Pull-Request: https://bitbucket.org/acme/app/pull-requests/12": {"acme/app#12"},
    }
    assert {body: merged_by("search", body) for body in rows} == rows


MENTIONS = [
    ("prepare the ground for #12", "", 1),
    ("follow-up to #12", "", 1),
    ("search (refs #12)", "", 1),
    ("search (part of #12)", "", 1),
    ("search, see #12 for more", "", 1),
    ("WIP: search (#12)", "", 1),
    ("fixup! search (#12)", "", 1),
    ("#12: search", "", 1),
    ("#12 search", "", 1),
    ("[#12] search", "", 1),
    ("fix(#12): search", "", 1),
    ("feat(#12): start the search", "", 1),
    ("#12 regression in the parser", "", 1),
    ("Merge branch 'main' into pr/12", "", 2),
    ("follow-up to #12", "", 2),
    ("Merged work", "Related work items: #12", 1),
    ("Draft: login (#12)", "", 1),
    ("Add logout, stacked on #12", "", 1),
    ("Add login again", "Supersedes #12", 1),
    ("search", "* one (#12)\n* two (#13)", 1),
]


def test_what_is_only_mentioned_is_named() -> None:
    wrong = []
    for subject, body, parents in MENTIONS:
        claims = find_claims(commit(subject, body, parents))
        if claims.merged or claims.closed:
            wrong.append((subject, claims))
    assert wrong == []


def test_what_is_no_reference_claims_nothing() -> None:
    rows = ["Merge: 12 small fixes", "chore: merge 12 branches", "Merge 12 small fixes", "",
            "step #2 is done (row #3)", "C#12 and #ff0012", "## 12"]  # fmt: skip
    found = {subject: find_claims(commit(subject)) for subject in rows}
    assert [
        subject
        for subject, claims in found.items()
        if claims.merged or claims.closed or claims.named
    ] == []


def test_a_revert_names_what_it_takes_back_and_what_it_undoes() -> None:
    name = "1234567890abcdef1234567890abcdef12345678"
    claims = find_claims(commit('Revert "search (#12)" (#15)', f"This reverts commit {name}."))
    assert (set(claims.reverted), set(claims.merged), [*claims.undone]) == (
        {"#12"},
        {"#15"},
        [name],
    )
    again = find_claims(commit("Take it out again (#12)", "Reverts #12"))
    assert (again.merged, set(again.reverted)) == ({}, {"#12"})


def test_what_is_landed_again_is_merged_and_nothing_is_taken_back() -> None:
    for subject in (
        'Reapply "search (#12)"',
        'Revert "Revert "search (#12)""',
        "Reland search (#12)",
        "re-apply: #12",
    ):
        claims = find_claims(commit(subject))
        assert claims.merged == {"#12": RELAND_RULE}, subject
        assert not claims.reverted, subject
    backport = find_claims(commit("Backport search (#12)"))
    assert backport.merged == {"#12": SQUASH_RULE}
    assert not backport.reverted


FAR_APART = f"fixes #1{' ,  ,' * 11}x #2 "


@pytest.mark.parametrize(
    "piece",
    [
        "#",
        "#1 ",
        "closes #1 ",
        "fixes #1, ",
        FAR_APART,
        '"',
        'Revert "',
        "(",
        "(#1) ",
        "a/",
        "fix ",
        "ABC-1 ",
        "\n",
    ],
)
def test_a_hostile_message_is_read_in_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        text = piece * (size // len(piece))
        find_claims(commit(text[:1_000], text))
        find_claims(commit('Revert "' + text[:1_000], "This reverts commit " + text, parents=2))

    assert_linear(read, 8_000)
