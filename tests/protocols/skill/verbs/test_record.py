"""note, ask, decide, block, unblock, drop: what they write, when they refuse, and that all front doors agree."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git import CheckpointError, Checkpoints
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.tools import choose_tools
from tests.support.command import run_here
from tests.support.samples import checkpoint_text


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def say(project: Path, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_here(*words, "--json", cwd=project).stdout)
    return document


def test_a_note_is_a_key_decision(build: Path, project: Path) -> None:
    assert say(project, "note", "build", "No cookies")["written"]
    assert read(build)["context_primer"]["key_decisions"][-1] == "No cookies"


def test_a_question_waits_until_it_is_answered(build: Path, project: Path) -> None:
    words = ["ask", "build", "Which region?", "--option", "eu", "--option", "us", "--blocks", "sprint-2"]
    assert say(project, *words)["id"] == "b1"
    assert read(build)["blockers"] == [
        {
            "id": "b1",
            "description": "Which region?",
            "blocking": "sprint-2",
            "needs": "user_decision",
            "options": ["eu", "us"],
        }
    ]
    assert [each["id"] for each in say(project, "status")["decisions"]] == ["b1"]
    answered = say(project, "decide", "build", "eu")
    assert (answered["id"], answered["fields"]) == ("b1", ["context_primer", "blockers"])
    assert read(build)["blockers"][0]["resolved"] is True
    day = read(build)["updated_at"][:10]
    assert read(build)["context_primer"]["key_decisions"][-1] == f"Which region? eu ({day})"
    assert say(project, "status")["decisions"] == []


def test_of_several_questions_one_must_be_named(build: Path, project: Path) -> None:
    for question in ("One", "Two"):
        run_here("ask", "build", question, cwd=project)
    before = build.read_bytes()
    for words in (["yes"], ["b9", "yes"], ["b1"]):
        ran = run_here("decide", "build", *words, cwd=project)
        assert ran.returncode == 1
        assert 'checkpoint decide build b1 "..."' in ran.stdout
    assert run_here("decide", "build", "b1", "not", "quoted", cwd=project).returncode == 2
    assert build.read_bytes() == before
    assert say(project, "decide", "build", "b2", "yes")["id"] == "b2"
    assert say(project, "decide", "build", "no")["id"] == "b1"
    assert run_here("decide", "build", "no", cwd=project).returncode == 1


def test_a_blocker_is_added_and_resolved_and_work_goes_on(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(status="blocked"), "utf-8")
    assert say(project, "block", "build", "No key", "--needs", "external_dep")["id"] == "b1"
    assert run_here("unblock", "build", "b7", cwd=project).returncode == 1
    ran = run_here("unblock", "build", cwd=project)
    assert "the status is in_progress again" in ran.stdout
    value = read(build)
    assert (value["status"], value["blockers"][0]["resolved"]) == ("in_progress", True)


def test_a_question_is_not_unblocked_but_answered(build: Path, project: Path) -> None:
    run_here("ask", "build", "Which region?", cwd=project)
    ran = run_here("unblock", "build", "b1", cwd=project)
    assert ran.returncode == 1
    assert 'checkpoint decide build b1 "..."' in ran.stdout


def test_a_dropped_action_keeps_its_reason(build: Path, project: Path) -> None:
    assert run_here("drop", "build", "evaluator", "--why", "obsolete", cwd=project).returncode == 0
    value = read(build)
    assert value["next_actions"] == ["Write the notes API"]
    assert value["context_primer"]["key_decisions"][-1].startswith("Dropped: Run the evaluator: obsolete (")
    for words in (["xyzzy"], []):
        assert run_here("drop", "build", *words, "--why", "x", cwd=project).returncode == 1
    assert run_here("drop", "build", "--why", "x", "--next", "Ship", cwd=project).returncode == 0
    assert read(build)["next_actions"] == ["Ship"]
    assert run_here("drop", "build", "--why", "x", "--complete", cwd=project).returncode == 0
    assert read(build)["status"] == "complete"


@pytest.mark.parametrize(
    "words",
    [["note", "x"], ["ask", "x"], ["decide", "x"], ["block", "x"], ["unblock"], ["drop", "--why", "x"], ["undo"]],
)
def test_they_refuse_as_update_does(build: Path, project: Path, words: list[str]) -> None:
    verb, *rest = words
    assert run_here(verb, "other", *rest, cwd=project).returncode == 2
    assert run_here(verb, "build", *rest, cwd=project, env={"CHECKPOINT_SKILL": "deploy"}).returncode == 2
    build.write_text("{", "utf-8")
    assert run_here(verb, "build", *rest, cwd=project).returncode in (1, 2)
    assert build.read_text("utf-8") == "{"


@pytest.mark.parametrize("words", [["note", " "], ["ask", ""], ["block", "\udcff"], ["drop", "--why", ""]])
def test_a_text_says_something(build: Path, project: Path, words: list[str]) -> None:
    before = build.read_bytes()
    assert run_here(words[0], "build", *words[1:], cwd=project).returncode == 2
    assert build.read_bytes() == before


def test_python_and_mcp_write_the_same(build: Path, project: Path) -> None:
    start = build.read_bytes()
    now = 1_772_452_800
    api = Checkpoints(project, now=now)
    tools, world = choose_tools(read_only=False), World(str(project), "")
    calls: list[tuple[str, dict[str, Any], list[str]]] = [
        ("note", {"text": "No cookies"}, ["No cookies"]),
        (
            "ask",
            {"question": "Which?", "options": ["a", "b"], "blocks": "plan"},
            ["Which?", "--option=a", "--option=b"],
        ),
        ("decide", {"id": "b1", "answer": "a"}, ["b1", "a"]),
        ("block", {"text": "No key", "needs": "code_fix"}, ["No key", "--needs=code_fix"]),
        ("unblock", {"id": "b2"}, ["b2"]),
        ("drop", {"action": "evaluator", "why": "old"}, ["evaluator", "--why=old"]),
        ("undo", {}, []),
    ]
    calls[1][2].append("--blocks=plan")
    for verb, asked, _ in calls:
        assert not tools[f"checkpoint_{verb}"].run({"skill": "build", **asked}, world).failed
    told = read(build)
    build.write_bytes(start)
    for verb, _, words in calls:
        assert run_here(verb, "build", *words, cwd=project).returncode == 0
    said = read(build)
    build.write_bytes(start)
    api.note("build", "No cookies")
    assert (api.ask("build", "Which?", ["a", "b"], "plan").entry or [""])[2] == "b1"
    api.decide("build", "a", "b1")
    api.block("build", "No key", "code_fix")
    api.unblock("build", "b2")
    api.drop("build", "old", "evaluator")
    assert api.undo("build") == ["context_primer", "next_actions"]
    done = read(build)
    for value in (told, said, done):
        value.pop("updated_at")
        for blocker in value["blockers"]:
            blocker.pop("resolved_at")
        value["context_primer"]["key_decisions"] = [each[:12] for each in value["context_primer"]["key_decisions"]]
    assert told == said == done


def test_undo_takes_back_the_last_write_and_brings_it_back(build: Path, project: Path) -> None:
    before = build.read_bytes()
    run_here("update", "build", "--step=x", cwd=project)
    after = build.read_bytes()
    assert say(project, "undo", "build")["fields"] == ["step"]
    assert build.read_bytes() == before
    assert run_here("undo", "build", cwd=project).returncode == 0
    assert build.read_bytes() == after


def test_undo_takes_back_a_start(project: Path) -> None:
    run_here("update", "deploy", "--step=x", cwd=project)
    path = project / ".checkpoints/deploy.checkpoint.json"
    after = path.read_bytes()
    assert say(project, "undo", "deploy")["exists"] is False
    assert not path.exists()
    run_here("undo", "deploy", cwd=project)
    assert path.read_bytes() == after


def test_undo_leaves_alone_what_something_else_wrote(build: Path, project: Path) -> None:
    with pytest.raises(CheckpointError, match="is kept"):
        Checkpoints(project).undo("build")
    run_here("update", "build", "--step=x", cwd=project)
    build.write_text(checkpoint_text(step="by hand"), "utf-8")
    ran = run_here("undo", "build", cwd=project)
    assert ran.returncode == 2
    assert "changed since" in ran.stderr
    assert read(build)["step"] == "by hand"


def test_every_screen_that_shows_a_question_shows_what_answers_it(build: Path, project: Path) -> None:
    run_here("ask", "build", "Which region?", "--option", "eu", "--option", "us", cwd=project)
    command = 'checkpoint decide build b1 "..."'
    for words in (["status"], ["status", "build"], ["status", "--brief"], ["next"], ["resume", "build"], ["prime"]):
        shown = run_here(*words, cwd=project).stdout
        assert (command in shown, "options: eu | us" in shown) == (True, True), words
    assert say(project, "status")["decisions"][0]["answer_with"] == command
    assert say(project, "next")["answer_with"] == command
    run_here("report", "--output", "report.html", cwd=project)
    assert "checkpoint decide build b1" in (project / "report.html").read_text("utf-8")


def test_every_screen_that_shows_a_blocker_shows_what_resolves_it(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(status="blocked", next_actions=[]), "utf-8")
    run_here("block", "build", "No key", cwd=project)
    for words in (["status"], ["status", "build"], ["next"], ["resume", "build"]):
        assert "checkpoint unblock build b1" in run_here(*words, cwd=project).stdout, words
