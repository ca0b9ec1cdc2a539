"""What the claims of several commits prove, as values: no repository is needed."""

from collections.abc import Sequence

import pytest

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


def test_the_evidence_says_which_commit_and_which_rule() -> None:
    sentence = str(find_evidence([commit("search (#12)")], frozenset({"#12"}))["#12"])
    assert sentence.startswith('aaaaaaaaa "search (#12)", 1970-01-01 (the number of a squash merge')
