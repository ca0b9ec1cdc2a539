"""The daily end of a shared queue: each session finishes what the other one still had to do, in
real git.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.tool_names import name_tools
from checkpoint_git.mcp.tools import TOOLS
from checkpoint_git.tools.merges import resolve
from checkpoint_git.tools.setup.init import Options, init
from tests.scenarios.driven import PATH, drive
from tests.scenarios.test_mergetool import run_tool
from tests.support.command import run_here
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb
from tests.tools.sync.clones import BUILD, copy_clone, create_hub

RESOLVE = next(tool for tool in TOOLS if tool.name == "checkpoint_resolve")
LATER = "2026-03-05T00:00:00Z"
WAYS = {
    "merge": (("git", "merge", "theirs"), ("git", "commit", "--no-edit")),
    "rebase": (
        ("git", "rebase", "theirs"),
        ("env", "GIT_EDITOR=true", "git", "rebase", "--continue"),
    ),
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
    """A queue of two actions; "theirs" has finished the second one, and "ours", checked out, the
    first one.
    """
    drive(repo)
    repo.write(PATH, checkpoint_text(next_actions=["Write A", "Write B"], recently_done=[]))
    repo.commit("base")
    done(repo, "theirs", "Write B")
    done(repo, "ours", "Write A")
    return repo


@pytest.mark.parametrize("way", WAYS)
def test_what_both_sessions_finished_stays_finished_and_one_answer_ends_the_merge(
    queue: GitRepo, way: str
) -> None:
    start, finish = WAYS[way]
    stopped = queue.run(*start)
    assert stopped.returncode != 0
    assert (
        b'add what is next: checkpoint resolve .checkpoints/build.checkpoint.json --next "..."'
        in (stopped.stderr + stopped.stdout)
    )
    assert "Write A" not in queue.read(PATH).partition('"recently_done"')[0]
    assert "(nothing is left to do; add what is next:" in queue.read(PATH)

    # no side is an answer, and nobody is asked twice
    for words in ((), ("--take", "ours"), ("--take", "base")):
        listed = run_verb(resolve, *words, cwd=queue.path, now=LATER)
        assert [finding.where for finding in listed.outcome.findings] == ["/next_actions"]
        assert "--next" in str(listed.outcome.findings[0].hint)

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


def find_end(repo: GitRepo) -> tuple[list[str], str, bool]:
    """Return what the file holds: its next actions, its status, and whether git has it for
    resolved.
    """
    value = value_of(repo)
    is_resolved = repo.git("diff", "--name-only", "--diff-filter=U") == ""
    return value["next_actions"], value["status"], is_resolved


def test_mergetool_and_an_agents_tool_ask_and_take_the_answer(queue: GitRepo) -> None:
    assert init(str(queue.path), Options(hooks="none"), os.environ).steps
    queue.run("git", "merge", "theirs")

    # without a terminal it says what is asked, and leaves the file
    before = queue.read(PATH)
    done = queue.run("git", "mergetool", "--tool=checkpoint", "--no-prompt", "--", PATH)
    assert done.returncode != 0
    assert b"add what is next: checkpoint resolve" in done.stdout + done.stderr
    assert queue.read(PATH) == before

    code, said = run_tool(queue, "--", PATH, typed="Write C\n")
    assert (code, find_end(queue)) == (0, (["Write C"], "in_progress", True)), said
    queue.git("checkout", "--merge", "--", PATH)
    code, said = run_tool(queue, "--", PATH, typed="c\n")
    assert (code, find_end(queue)) == (0, ([], "complete", True)), said

    # an agent, over MCP
    queue.git("checkout", "--merge", "--", PATH)
    world = World(str(queue.path), "")
    for asked in ({}, {"take": "theirs"}):
        (finding,) = name_tools(RESOLVE.run(asked, world).document, {RESOLVE.name: RESOLVE})[
            "findings"
        ]
        assert (finding["where"], "nothing is left to do" in finding["message"]) == (
            "/next_actions",
            True,
        )
        named = f'checkpoint_resolve {{"paths": ["{PATH}"]'
        answers = (
            f'{named}, "next_action": "..."}}; or that nothing is: {named}, "complete": true}}'
        )
        assert finding["hint"] == f"add what is next: {answers}"
    assert (
        RESOLVE.run({"paths": ["build"], "next_action": "Write D"}, world).document["findings"]
        == []
    )
    assert find_end(queue) == (["Write D"], "in_progress", True)
    queue.git("checkout", "--merge", "--", PATH)
    RESOLVE.run({"complete": True}, world)
    assert find_end(queue) == ([], "complete", True)
    assert sorted(entry["text"] for entry in value_of(queue)["recently_done"]) == [
        "Write A",
        "Write B",
    ]


@NEEDS_MERGE_TREE
def test_a_job_asks_and_is_content_with_the_answer(queue: GitRepo) -> None:
    words = ("ci", "merge", "--base", "theirs", "--head", "ours", "--json")
    asked = json.loads(run_here(*words, cwd=queue.path).stdout)
    (finding,) = asked["findings"]
    assert (asked["state"], finding["code"], finding["where"]) == (
        "conflicts",
        "premerge/conflict",
        "/next_actions",
    )
    assert finding["message"] == "ours and theirs together finished all of /next_actions"
    resolve = ["checkpoint", "resolve", PATH]
    assert finding["commands"] == [[*resolve, "--next", "..."], [*resolve, "--complete"]]
    queue.run("git", "merge", "theirs")
    assert run_here("resolve", PATH, "--complete", cwd=queue.path).returncode == 0
    queue.git("commit", "-q", "--no-edit")
    assert json.loads(run_here(*words, cwd=queue.path).stdout)["state"] == "up-to-date"


@pytest.mark.parametrize(("words", "end"), [
    (("--next+=Write C",), (["Write C"], "in_progress")),
    (("--status=complete",), ([], "complete")),
])  # fmt: skip
def test_clones_that_sync_are_asked_and_answer_in_their_own_file(
    tmp_path: Path, words: tuple[str, ...], end: tuple[list[str], str]
) -> None:
    hub = create_hub(tmp_path)
    ann, bob = copy_clone(hub, "ann"), copy_clone(hub, "bob")
    ann.change(next_actions=["Write A", "Write B"], recently_done=[])
    assert ann.sync().state == "synced"
    bob.sync()
    for clone, action in ((bob, "Write B"), (ann, "Write A")):
        assert run_here("done", "build", action, cwd=clone.path).returncode == 0
    bob.sync()

    # no side is an answer, and each side stays as it is
    before = ann.read(BUILD)
    for take in ("", "ours", "theirs"):
        (finding,) = ann.sync(take=take).findings
        assert (finding.code, finding.where) == ("sync/conflict", "/next_actions")
    commands = re.findall("checkpoint (add build|update build --[a-z]+)", str(finding.hint))
    assert (ann.read(BUILD), commands) == (before, ["add build", "update build --status"])

    assert run_here("update", "build", *words, cwd=ann.path).returncode == 0
    assert ann.sync().findings == []
    bob.sync()
    for value in (ann.load(), bob.load(), hub.load()):
        assert (value["next_actions"], value["status"]) == end
        assert sorted(entry["text"] for entry in value["recently_done"]) == ["Write A", "Write B"]


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
