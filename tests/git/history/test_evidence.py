"""What the claims of several commits prove, as values: no repository is needed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.git.history import evidence
from checkpoint_git.git.history.claims import Commit, find_claims


def commit(subject: str, body: str = "", parents: int = 1, name: str = "a") -> Commit:
    return Commit((name * 40)[:40], parents, subject, body)


def find_evidence(
    commits: Sequence[Commit], wanted: frozenset[str], own: frozenset[str] = frozenset()
) -> dict[str, evidence.Evidence]:
    """Which of the wanted references one line of commits merged and did not take back: reference -> the evidence.

    commits: newest first, each the parent of the one before. own: see core.references.unqualify.
    """
    told = evidence.unqualify_all((evidence.Told(one, find_claims(one)) for one in commits), own)
    place = {commit.id: at for at, commit in enumerate(commits)}
    pairs = evidence.find_questions(told, wanted)
    return evidence.decide_merged(told, wanted, frozenset(pair for pair in pairs if place[pair[0]] > place[pair[1]]))


def found(*commits: Commit, wanted: str = "#12") -> bool:
    return wanted in find_evidence(commits, frozenset({wanted}))


def test_a_revert_after_the_merge_cancels_the_evidence() -> None:
    assert found(commit("search (#12)"))
    assert not found(commit('Revert "search (#12)"', name="b"), commit("search (#12)"))
    assert not found(commit("Revert #12", name="b"), commit("search (#12)"))
    assert not found(commit("revert: search (#12)", name="b"), commit("search (#12)"))
    assert not found(
        commit("Take search out again", f"This reverts commit {'a' * 40}.", name="b"), commit("search (#12)")
    )
    assert not found(commit('Revert "search"', "Reverts acme/app#12", name="b"), commit("search (#12)"))


def test_the_pull_request_of_a_revert_is_itself_merged() -> None:
    commits = [commit('Revert "search (#12)" (#15)', name="b"), commit("search (#12)")]
    assert not found(*commits)
    assert found(*commits, wanted="#15")


def test_a_reverted_revert_brings_the_evidence_back() -> None:
    merge, revert = (
        commit("search (#12)"),
        commit('Revert "search (#12)"', f"This reverts commit {'a' * 40}.", name="b"),
    )
    assert found(commit('Revert "Revert "search (#12)""', f"This reverts commit {'b' * 40}.", name="c"), revert, merge)
    assert found(commit("Bring it back", f"This reverts commit {'b' * 40}.", name="c"), revert, merge)
    assert found(commit('Reapply "search (#12)"', name="c"), revert, merge)
    assert found(commit("search, second try (#12)", name="c"), revert, merge)


def test_a_revert_named_by_its_id_counts_whatever_the_clock_said() -> None:
    assert not found(commit("search (#12)"), commit("Take it out", f"This reverts commit {'a' * 40}.", name="b"))


@pytest.mark.parametrize("body", ["This reverts PR #12.", "Reverts #12", "It broke the build.\n\nReverts acme/app#12"])
def test_a_number_that_a_body_alone_reverts_is_taken_back(body: str) -> None:
    merge = commit("search (#12)")
    assert not found(commit("Take search out again", body, name="b"), merge)
    assert found(commit("Bring it back", "Do not say that it reverts PR #12", name="b"), merge)
    assert found(commit("Bump x from 1 to 2", f"Bumps [x](y).\n\n{body}", name="b"), merge)


@pytest.mark.parametrize(
    "body",
    [
        f"This reverts commit {'a' * 40}.",
        f"This reverts commit {'a' * 9} (search, 2024-01-01).",
        f"This reverts commit {'a' * 40}, reversing\nchanges made to {'c' * 40}.",
        f"This reverts commits 1234567, {'a' * 12} and\n89abcde.",
        f"Reverts: {'A' * 12}",
        f"Reverts commit {'a' * 12}",
    ],
)
def test_a_commit_that_a_message_names_as_reverted_is_undone(body: str) -> None:
    assert not found(commit("Out again", body, name="d"), commit("search (#12)"))


@pytest.mark.parametrize(
    "body", [f"This partially reverts commit {'a' * 40}.", f"As in {'a' * 40}.", f"Do not revert {'a' * 40}."]
)
def test_a_commit_that_is_only_mentioned_is_not_undone(body: str) -> None:
    assert found(commit("More", body, name="d"), commit("search (#12)"))


def test_a_shortened_id_that_several_commits_begin_with_undoes_them_all() -> None:
    one, two = Commit("a" * 40, 1, "search (#12)", ""), Commit("a" * 39 + "b", 1, "search (#13)", "")
    revert = commit("Out again", f"This reverts commit {'a' * 9}.", name="d")
    assert find_evidence([revert, one, two], frozenset({"#12", "#13"})) == {}


def test_reverting_a_merge_also_cancels_what_its_branch_said() -> None:
    merge = commit("Merge pull request #12 from ada/search", parents=2)
    below = commit("search", "Closes #12", name="b")
    revert = commit("Out again", f"This reverts commit {'a' * 40}, reversing\nchanges made to {'c' * 40}.", name="d")
    assert found(merge, below)
    assert not found(revert, merge, below)


def test_another_repositorys_number_is_not_ours() -> None:
    closes = commit("search", "Fixes acme/other#12")
    own = frozenset({"acme/app"})
    assert not find_evidence([closes], frozenset({"#12"}), own)
    assert not find_evidence([commit("search", "Fixes fork/app#12")], frozenset({"#12"}), own)
    assert find_evidence([commit("search", "Fixes acme/app#12")], frozenset({"#12"}), own)


def test_a_merge_request_that_a_trailer_names_was_merged_here_whoever_has_this_copy() -> None:
    merge = commit("Merge branch 'search'", "Search\n\nSee merge request acme/app!12", parents=2)
    assert find_evidence([merge], frozenset({"!12"}), frozenset({"ada/app"}))
    assert not find_evidence([merge], frozenset({"!12"}), frozenset({"ada/other"}))


def test_a_ticket_that_a_trailer_names_is_no_repositorys() -> None:
    assert found(commit("search", "Reviewed-on: ABC-12"), wanted="ABC-12")


def test_the_evidence_says_which_commit_and_which_rule() -> None:
    sentence = str(find_evidence([commit("search (#12)")], frozenset({"#12"}))["#12"])
    assert sentence.startswith('aaaaaaaaa "search (#12)", 1970-01-01 (the number of a squash merge')


SUBJECTS = (
    *(f"change (#{number})" for number in (1, 2, 3)),
    *(f'Revert "change (#{number})"' for number in (1, 2)),
    'Reapply "change (#1)"',
    "Merge pull request #2 from ada/abc-1",
    "change (acme/app#1)",
    "ABC-1: change (other/lib#3)",
    "Roll back ABC-1",
    "WIP",
)
BODIES = (
    "",
    *(f"This reverts commit {name * 9}." for name in "abcdef"),
    "Closes #1, #2 and ABC-1",
    "PR-URL: https://github.com/acme/app/pull/2",
    "Reverts acme/app#3",
)
ALL_WANTED = ("#1", "#2", "#3", "ABC-1", "acme/app#1", "other/lib#3")
TEXTS = st.lists(st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(BODIES), st.integers(1, 2)), max_size=6)


@given(texts=TEXTS, own=st.sampled_from([frozenset[str](), frozenset({"acme/app"})]), data=st.data())
def test_the_claims_that_are_left_out_decide_nothing(
    texts: list[tuple[str, str, int]], own: frozenset[str], data: st.DataObject
) -> None:
    lines = [commit(*text, name=name) for text, name in zip(texts, "fedcba", strict=False)]
    whole = evidence.unqualify_all([evidence.Told(one, find_claims(one)) for one in lines], own)
    claimed = {one.id: {*claims.merged, *claims.reverted} for one, claims in whole}
    named = {one: claims | data.draw(st.sets(st.sampled_from(ALL_WANTED))) for one, claims in claimed.items()}
    few = evidence.unqualify_all(evidence.find_told(lines, named), own)
    ids = [one.id for one in lines]
    wanted = frozenset(ALL_WANTED)
    older = (
        data.draw(st.frozensets(st.sampled_from([(one, two) for one in ids for two in ids]))) if ids else frozenset()
    )
    for decide in (evidence.decide_merged, evidence.decide_taken_back):
        answers = [decide(told, wanted, older & evidence.find_questions(told, wanted)) for told in (whole, few)]
        assert answers[0] == answers[1]


def test_a_claim_that_a_newer_commit_makes_is_not_weighed_again() -> None:
    lines = [commit("two (#1)", name="b"), commit("one (#1)"), commit('Revert "x (#2)"', name="c")]
    told = evidence.find_told(lines, {one.id: {"#1"} for one in lines})
    assert [one.commit for one in told] == [lines[0], lines[2]]


@pytest.mark.parametrize("revert", [("Out", f"This reverts commit {'b' * 9}."), ('Revert "two (#1)"', "")])
def test_what_a_revert_may_touch_is_weighed_whole(revert: tuple[str, str]) -> None:
    lines = [commit(*revert, name="c"), commit("two (#1)", name="b"), commit("one (#1)")]
    told = evidence.find_told(lines, {one.id: {"#1"} for one in lines})
    assert [one.commit for one in told] == lines
    # the revert is on a branch that has only the second of them
    older = frozenset({(lines[1].id, lines[0].id)})
    assert evidence.decide_merged(told, frozenset({"#1"}), older)["#1"].subject == "one (#1)"
