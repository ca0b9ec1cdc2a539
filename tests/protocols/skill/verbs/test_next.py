from pathlib import Path

import pytest

from checkpoint_git.protocols.skill.verbs import next as next_verb
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

FILE = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def shipping(repo: GitRepo) -> GitRepo:
    """A repository whose history merged pull request 12."""
    repo.write(FILE, checkpoint_text(next_actions=["Merge PR #12", "Write the docs"]))
    repo.commit("Start")
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("topic", "done")
    repo.commit("Topic")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #12 from ada/topic", "topic")
    return repo


def test_the_first_action_of_the_most_important_skill_is_named(project: Path) -> None:
    ran = run_verb(next_verb, cwd=project)
    assert ran.text.splitlines() == ["build: Write the notes API", "  why: in progress"]
    assert ran.outcome.code == 0


def test_what_the_history_merged_is_skipped_and_counted(shipping: GitRepo) -> None:
    ran = run_verb(next_verb, cwd=shipping.path)
    assert ran.text.splitlines()[0] == "build: Write the docs"
    assert "1 action was skipped" in ran.text
    assert ran.outcome.data["action"] == "Write the docs"
    assert ran.outcome.data["skipped"] == 1
    (skipped,) = ran.outcome.data["skipped_actions"]
    assert skipped["evidence"].startswith("#12 was merged on ")
    assert skipped["references"][0]["state"] == "merged"


def test_what_the_history_merged_is_skipped_at_every_rank(shipping: GitRepo) -> None:
    for changes in (
        {"status": "failed"},
        {"status": "complete"},
        {"step": "review"},
        {
            "status": "blocked",
            "blockers": [{"id": "b", "description": "Who?", "needs": "user_decision"}],
        },
    ):
        shipping.write(
            FILE, checkpoint_text(next_actions=["Merge PR #12", "Write the docs"], **changes)
        )
        ran = run_verb(next_verb, cwd=shipping.path)
        assert "PR #12" not in ran.text, changes
        assert "Write the docs" in ran.text
        assert ran.outcome.data["skipped"] == 1


def test_a_decision_whose_proposal_is_merged_says_so_at_once(shipping: GitRepo) -> None:
    blocker = {
        "id": "b",
        "description": "Who?",
        "needs": "user_decision",
        "proposed_resolution": "Land #12",
    }
    shipping.write(FILE, checkpoint_text(blockers=[blocker]))
    ran = run_verb(next_verb, cwd=shipping.path)
    assert ran.text.splitlines()[0] == "build: Decide: Who? (proposed: Land #12)"
    assert "\n  proposed: #12 was merged " in ran.text
    assert [one["reference"] for one in ran.outcome.data["blocker_references"]] == ["#12"]


def test_stale_work_says_so(project: Path) -> None:
    ran = run_verb(next_verb, cwd=project, now="2026-03-12T12:00:00Z")
    assert ran.text.splitlines()[1] == "  why: in progress; stale: not updated for 10 days"
    assert ran.outcome.data["stale"] is True


def test_a_merge_that_was_reverted_is_not_skipped(shipping: GitRepo) -> None:
    shipping.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert run_verb(next_verb, cwd=shipping.path).outcome.data["action"] == "Merge PR #12"


def test_all_shows_the_queue_and_what_was_skipped(shipping: GitRepo) -> None:
    shipping.write(
        ".checkpoints/audit.checkpoint.json", checkpoint_text(skill="audit", status="failed")
    )
    ran = run_verb(next_verb, "--all", cwd=shipping.path)
    assert [entry["skill"] for entry in ran.outcome.data["queue"]] == ["audit", "build"]
    assert "  build: Merge PR #12 - " in ran.text


def test_outside_git_nothing_is_skipped(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / FILE).write_text(checkpoint_text(next_actions=["Merge PR #12"]), "utf-8")
    ran = run_verb(next_verb, cwd=tmp_path)
    assert ran.outcome.data["action"] == "Merge PR #12"
    assert ran.codes == []


def test_a_repository_without_commits_skips_nothing(repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text(next_actions=["Merge PR #12"]))
    assert run_verb(next_verb, cwd=repo.path).outcome.data["action"] == "Merge PR #12"


def test_where_git_cannot_run_the_action_is_named_all_the_same(
    shipping: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_verb(next_verb, cwd=shipping.path)
    assert ran.outcome.data["action"] == "Merge PR #12"
    assert ran.codes == ["next/no-history"]
    assert ran.outcome.code == 0


def test_where_git_cannot_be_asked_it_says_so_and_goes_on(
    shipping: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_verb(next_verb, cwd=shipping.path)
    assert (ran.codes, ran.outcome.data["action"]) == (["next/no-history"], "Merge PR #12")
    shipping.write(FILE, checkpoint_text(next_actions=["Write the docs"]))  # which asks nothing
    assert run_verb(next_verb, cwd=shipping.path).codes == []


def test_nothing_to_do_is_said_and_is_no_failure(project: Path) -> None:
    (project / FILE).write_text(checkpoint_text(status="complete", next_actions=[]), "utf-8")
    ran = run_verb(next_verb, cwd=project)
    assert ran.text == "nothing to do: no checkpoint has an action left"
    assert ran.outcome.data["action"] is None
    assert ran.outcome.code == 0


def test_a_broken_file_is_named_and_the_others_are_asked(project: Path) -> None:
    (project / ".checkpoints/bad.checkpoint.json").write_text("[]", "utf-8")
    ran = run_verb(next_verb, cwd=project)
    assert ran.outcome.data["skill"] == "build"
    assert ran.codes == ["json/not-an-object"]
    assert ran.outcome.code == 1


def test_an_action_of_text_and_proof_is_shown_as_both(project: Path) -> None:
    action = {"text": "Run the evaluator", "done_when": "make eval"}
    (project / FILE).write_text(checkpoint_text(next_actions=[action]), "utf-8")
    ran = run_verb(next_verb, cwd=project)
    assert ran.text.splitlines() == [
        "build: Run the evaluator",
        "  why: in progress",
        "  done when: make eval",
    ]
    assert ran.outcome.data["done_when"] == "make eval"
