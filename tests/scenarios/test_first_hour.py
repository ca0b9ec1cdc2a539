"""The first hour: what README types first works, and nothing that our own verbs wrote earns a
warning.
"""

import json
import re
import shlex
from typing import Any

from checkpoint_git import Checkpoints
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.tools import TOOLS
from tests.architecture.imports import ROOT
from tests.support.command import run_here
from tests.support.repos import GitRepo

BY_NAME = {tool.name: tool for tool in TOOLS}


def read(repo: GitRepo, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(repo.read(f".checkpoints/{name}.checkpoint.json"))
    return value


def run(repo: GitRepo, *words: str) -> str:
    """Run a command that has to succeed and has nothing to complain about; return what it
    prints.
    """
    ran = run_here(*words, cwd=repo.path)
    assert (ran.returncode, ran.stderr) == (0, ""), f"{words}: {ran.stdout}{ran.stderr}"
    assert "warning:" not in ran.stdout
    return ran.stdout


def test_the_lines_of_the_readme_and_the_first_day_give_no_warning(repo: GitRepo) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = re.findall(r"^checkpoint (.*)$", readme, re.MULTILINE)[:2]
    assert [line.split()[0] for line in lines] == ["init", "update"]
    for line in lines:
        run(repo, *shlex.split(line, comments=True))
    run(repo, "validate", "--strict")
    table = [{"id": "sprint-1", "label": "sprint-1", "status": "in_progress"}]
    assert read(repo, "api")["progress_table"] == table

    run(repo, "add", "api", "Write the docs")
    run(repo, "done", "api")
    run(repo, "note", "api", "SQLite for storage")
    run(repo, "init", "--ci", "github")
    run(repo, "update", "api", "--step=sprint-2")
    run(repo, "row", "api", "sprint-1", "--status", "done")
    run(repo, "validate", "--strict")
    assert [row["status"] for row in read(repo, "api")["progress_table"]] == [
        "complete",
        "in_progress",
    ]

    run(repo, "done", "api", "--complete")
    assert "progress_table" not in run(repo, "resume", "api")
    run(repo, "doctor")
    run(repo, "validate", "--strict")


def test_what_stands_for_a_first_action_and_a_first_row_goes_when_a_real_one_comes(
    repo: GitRepo,
) -> None:
    run(repo, "init")
    run(repo, "update", "a", "--phase=build")
    assert [row["id"] for row in read(repo, "a")["progress_table"]] == ["start"]
    assert len(read(repo, "a")["next_actions"]) == 1
    run(repo, "add", "a", "Write the model")
    run(repo, "add", "a", "Fix the login", "--first")
    run(repo, "row", "a", "Data model", "--status", "doing")
    value = read(repo, "a")
    assert value["next_actions"] == ["Fix the login", "Write the model"]
    assert value["progress_table"] == [
        {"id": "data-model", "label": "Data model", "status": "in_progress"}
    ]

    run(repo, "update", "a", "--step=models")  # the rows are no steps: they stay as they are
    assert len(read(repo, "a")["progress_table"]) == 1
    run(repo, "row", "a", "Data model", "--status=complete")
    assert read(repo, "a")["progress_table"][0]["status"] == "complete"
    refused = run_here("row", "a", "data-model", cwd=repo.path)
    assert (
        refused.returncode,
        "checkpoint row a data-model --status complete" in refused.stdout,
    ) == (1, True)

    run(repo, "update", "b")
    run(repo, "update", "b", "--step=plan", "--next", "One", "--next=Two", "--next+=Three")
    assert read(repo, "b")["next_actions"] == ["One", "Two", "Three"]
    assert [row["id"] for row in read(repo, "b")["progress_table"]] == ["plan"]


def test_the_first_action_and_the_first_option_are_number_1_at_every_door(repo: GitRepo) -> None:
    run(repo, "init")
    run(repo, "update", "a", "--next", "One", "--next", "Two", "--next", "Three", "--next", "Four")
    run(repo, "ask", "a", "Which region?", "--option", "eu-west", "--option", "us-east")
    shown = run(repo, "status")
    assert "  1 next: One\n  2 then: Two\n" in shown
    assert "options: 1 eu-west | 2 us-east" in shown
    assert "done: One" in run(repo, "done", "a", "1")
    assert (
        BY_NAME["checkpoint_done"]
        .run({"name": "a", "action": "1"}, World(str(repo.path), ""))
        .document["done"]
        == "Two"
    )
    assert Checkpoints(repo.path).done("a", "1").action == "Three"
    assert "Which region? eu-west" in run(repo, "decide", "a", "1")
    assert read(repo, "a")["next_actions"] == ["Four"]

    for page in (
        "docs/skill-checkpoints.md",
        "plugins/checkpoint-git/skills/checkpoint-git/SKILL.md",
    ):
        assert "the first is 1" in (ROOT / page).read_text("utf-8"), page
    assert "1" in BY_NAME["checkpoint_done"].takes["action"]["description"]


def test_the_name_of_the_only_checkpoint_may_be_left_out(repo: GitRepo) -> None:
    run(repo, "init")
    run(repo, "update", "api", "--next", "One", "--next", "Two", "--next", "Three")
    run(repo, "done")
    run(repo, "done", "2")
    run(repo, "note", "SQLite for storage")
    run(repo, "ask", "Which region?")
    assert "api: Decide" in run(repo, "next", "api")
    run(repo, "decide", "eu-west")
    assert "RESUMING: api" in run(repo, "resume")
    value = read(repo, "api")
    assert value["next_actions"] == ["Two"]
    run(repo, "block", "No key yet", "--needs", "external_dep")
    run(repo, "unblock")
    run(repo, "add", "Four")
    run(repo, "drop", "2", "--why", "nobody needs it")
    run(repo, "undo", "api")
    run(repo, "drop", "--why", "nobody needs it")
    blocked = read(repo, "api")
    assert (blocked["next_actions"], blocked["blockers"][-1]["resolved"]) == (["Four"], True)
    assert [text.partition(" (")[0] for text in value["context_primer"]["key_decisions"]] == [
        "SQLite for storage",
        "Which region? eu-west",
    ]

    before = repo.read(".checkpoints/api.checkpoint.json")
    for words in (
        ["note", "apii"],
        ["note", "other", "a text"],
        ["next", "other"],
        ["resume", "other"],
    ):
        run_here(*words, cwd=repo.path)  # the name of another checkpoint, or nearly this one's
    run(repo, "update", "web")
    assert run_here("note", "for one of two", cwd=repo.path).returncode == 2
    assert repo.read(".checkpoints/api.checkpoint.json") == before


def test_work_is_not_complete_by_accident_while_actions_are_left(repo: GitRepo) -> None:
    run(repo, "init")
    run(repo, "update", "api", "--next", "One", "--next", "Two")
    refused = run_here("done", "api", "--complete", cwd=repo.path)
    assert (refused.returncode, '1 other action would be left: "Two"' in refused.stderr) == (
        2,
        True,
    )
    assert len(read(repo, "api")["next_actions"]) == 2
    assert "the status is complete" in run(repo, "done", "api", "--complete", "--force")
