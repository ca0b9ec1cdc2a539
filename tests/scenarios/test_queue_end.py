"""The daily end of a shared queue: each session finishes what the other one still had to do, in real git."""

import json
from typing import Any

import pytest

from checkpoint_git.tools.merges import resolve
from tests.scenarios.driven import PATH, drive
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

LATER = "2026-03-05T00:00:00Z"
WAYS = {
    "merge": (("git", "merge", "theirs"), ("git", "commit", "--no-edit")),
    "rebase": (("git", "rebase", "theirs"), ("env", "GIT_EDITOR=true", "git", "rebase", "--continue")),
    "cherry-pick": (
        ("git", "cherry-pick", "theirs"),
        ("env", "GIT_EDITOR=true", "git", "cherry-pick", "--continue"),
    ),
}


def value_of(repo: GitRepo) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(repo.read(PATH))
    return value


def done(repo: GitRepo, branch: str, *words: str) -> None:
    """A session on a branch of its own that finishes an action as everybody does."""
    repo.git("checkout", "-q", "-B", branch, "main")
    assert run_here("done", "build", *words, cwd=repo.path).returncode == 0
    repo.commit(branch)


@pytest.fixture
def queue(repo: GitRepo) -> GitRepo:
    """A queue of two actions; "theirs" has finished the second one, and "ours", checked out, the first one."""
    drive(repo)
    repo.write(PATH, checkpoint_text(next_actions=["Write A", "Write B"], recently_done=[]))
    repo.commit("base")
    done(repo, "theirs", "Write B")
    done(repo, "ours", "Write A")
    return repo


@pytest.mark.parametrize("way", WAYS)
def test_what_both_sessions_finished_stays_finished_and_one_answer_ends_the_merge(queue: GitRepo, way: str) -> None:
    start, finish = WAYS[way]
    stopped = queue.run(*start)
    assert stopped.returncode != 0
    assert b'say what is next: checkpoint resolve .checkpoints/build.checkpoint.json --next "..."' in (
        stopped.stderr + stopped.stdout
    )
    assert "Write A" not in queue.read(PATH).partition('"recently_done"')[0]
    assert "(nothing is left to do; say what is next:" in queue.read(PATH)

    # no side is an answer, and nobody is asked twice
    for words in ((), ("--take", "ours"), ("--take", "base")):
        listed = run_verb(resolve, *words, cwd=queue.path, now=LATER)
        assert [finding.where for finding in listed.outcome.findings] == ["/next_actions"]
        assert "--next" in listed.outcome.findings[0].hint

    answered = run_verb(resolve, "build", "--next", "Write C", cwd=queue.path, now=LATER)
    assert answered.outcome.data["files"][0]["decided"] == [
        {"where": "/next_actions", "take": "next", "next": "Write C"}
    ]
    assert queue.run(*finish).returncode == 0
    value = value_of(queue)
    assert value["next_actions"] == ["Write C"]
    assert sorted(entry["text"] for entry in value["recently_done"]) == ["Write A", "Write B"]
    assert value["status"] == "in_progress"


def test_the_work_can_be_complete_and_a_terminal_asks(queue: GitRepo) -> None:
    assert queue.exit_code("merge", "-q", "theirs") != 0
    for answer, expected in (("e\n", "in_progress"), ("c\n", "complete")):
        ran = run_verb(resolve, cwd=queue.path, now=LATER, answer=answer)
        assert "what is next?" in ran.stderr
        assert ran.outcome.data["files"][0]["staged"] is (expected == "complete")
    value = value_of(queue)
    assert (value["status"], value["next_actions"]) == ("complete", [])

    queue.git("checkout", "--merge", "--", PATH)
    ran = run_verb(resolve, cwd=queue.path, now=LATER, answer="C\nWrite C\n")
    assert value_of(queue)["next_actions"] in (["Write C"], [])
    assert ran.outcome.data["still_unmerged"] == []

    # nothing is asked any more
    refused = run_here("resolve", "--next", "Write D", cwd=queue.path)
    assert refused.returncode == 2
    assert "nothing is asked that --next answers" in refused.stderr
    for words in (("--next", " "), ("--next", "..."), ("--next", "D", "--complete")):
        assert run_here("resolve", *words, cwd=queue.path).returncode == 2


def test_an_action_that_a_merge_by_hand_brought_back_is_found_and_taken_off(queue: GitRepo) -> None:
    assert queue.exit_code("merge", "-q", "theirs") != 0
    value = json.loads(queue.git("show", "ours:" + PATH))
    others = json.loads(queue.git("show", "theirs:" + PATH))
    value["recently_done"] += others["recently_done"]
    value["next_actions"] = ["Write B", "Write C"]
    queue.write(PATH, json.dumps(value, indent=2) + "\n")
    queue.git("add", PATH)
    queue.git("commit", "-q", "--no-edit")

    checked = run_here("validate", cwd=queue.path)
    assert "[drift/action-done]" in checked.stdout + checked.stderr
    shown = run_here("next", cwd=queue.path)
    assert "recently_done has this action too" in shown.stdout

    found = run_here("audit", "main..HEAD", "--all", cwd=queue.path)
    assert found.returncode == 1
    assert "came-back" in found.stdout
    assert run_here("audit", "main..HEAD", "--fix", cwd=queue.path).returncode == 0
    assert value_of(queue)["next_actions"] == ["Write C"]
