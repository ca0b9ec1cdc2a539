"""`checkpoint memory` with a stand-in for the server, in this process."""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Line
from checkpoint_git.protocols.memory import verbs
from checkpoint_git.protocols.memory.save import read_commit_fields
from tests.support.command import run_here
from tests.support.memory import (
    configure,
    entity_line,
    others_are_whole,
    put_graph,
    read_observations,
    serve_files,
)
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

SOUND = ("initiative:login-2026", "milestone:M1", "phase:design", "next_action:Write the tests")


@pytest.fixture
def graph(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = put_graph(tmp_path / "graph.jsonl")
    configure(repo, "stand-in", path)
    serve_files(monkeypatch)
    return path


def memory(repo: GitRepo, *words: str, code: int = 0) -> dict[str, Any]:
    """`checkpoint memory WORDS --json`, which must end with this code; its answer."""
    done = run_here("memory", *words, "--json", cwd=repo.path)
    assert done.returncode == code, done.stdout + done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def codes(answer: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in answer["findings"]}


def test_load_shows_the_context_and_offers_three_ways(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2999-01-01T00:00:00Z"))
    said = run_here("memory", "load", cwd=repo.path).stdout
    assert "working on M1 of login-2026" in said
    assert "Next:        Write the tests" in said
    answer = memory(repo, "load")
    assert [option["id"] for option in answer["options"] if option["recommended"]] == ["resume"]
    assert [option["id"] for option in answer["options"]] == ["resume", "fresh", "details"]


def test_an_old_checkpoint_is_told_and_a_fresh_start_suggested(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2020-01-01T00:00:00Z"))
    answer = memory(repo, "load")
    assert "memory/outdated" in codes(answer)
    assert "Start fresh (recommended)" in run_here("memory", "load", cwd=repo.path).stdout


def test_details_show_every_field_and_remark_without_obeying_them(
    repo: GitRepo, graph: Path
) -> None:
    put_graph(
        graph, entity_line(*SOUND, "timestamp:2020-01-01T00:00:00Z", "own:\x1b[31mred", "a remark")
    )
    said = run_here("memory", "load", "--details", cwd=repo.path).stdout
    assert "own: \\x1b[31mred" in said
    assert "a remark" in said


def test_a_fresh_start_is_asked_for_first(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2020-01-01T00:00:00Z"))
    before = graph.read_bytes()
    memory(repo, "load", "--fresh", code=2)
    assert graph.read_bytes() == before
    assert memory(repo, "load", "--fresh", "--yes")["deleted"] is True
    assert memory(repo, "load")["exists"] is False
    assert others_are_whole(graph)


def test_continue_notes_when_and_where_work_goes_on(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2020-01-01T00:00:00Z"))
    commit_id = repo.commit()
    fields = memory(repo, "load", "--continue")["fields"]
    assert fields["resumed_on"] == f"main {commit_id[:12]}"
    assert fields["resumed_at"] == fields["timestamp"]


def test_update_takes_a_field_away_but_not_the_initiative(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2020-01-01T00:00:00Z"))
    assert "phase" not in memory(repo, "update", "phase=")["fields"]
    memory(repo, "update", "initiative=", code=2)
    assert "there are: initiative" in run_here("memory", "update", "nosuch=", cwd=repo.path).stderr
    memory(repo, "update", code=2)


def test_update_makes_nothing(repo: GitRepo, graph: Path) -> None:
    memory(repo, "update", "phase=x", code=2)
    assert "initiative-checkpoint" not in graph.read_text()


def test_another_name_is_another_checkpoint(repo: GitRepo, graph: Path) -> None:
    memory(repo, "save", "--initiative", "a")
    repo.git("config", "checkpoint.memoryEntity", "mine")
    memory(repo, "save", "--initiative", "b")
    assert read_observations(graph)[0] == "initiative:a"
    assert read_observations(graph, "mine")[0] == "initiative:b"


@pytest.mark.parametrize(
    "words",
    [
        ("load", "--on", "idle"),
        ("save", "--to-document"),
        ("save", "more"),
        ("load", "--fresh", "--continue"),
        ("save", "--initiative", "i", "--commit", "HEAD"),
        ("save", "--initiative", "i", "--set", "no-pair"),
        ("save", "--initiative", "i", "--set", "9x=1"),
        ("save", "--initiative", " "),
    ],
)
def test_words_that_make_no_sense_are_refused(
    repo: GitRepo, graph: Path, words: tuple[str, ...]
) -> None:
    before = graph.read_bytes()
    memory(repo, *words, code=2)
    assert graph.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{"phase": "p",\n}', "f.json:2: "),
        ('{"phase": "p", "phase": "q"}', "f.json:1: the key 'phase' appears twice"),
        ('{"phase": "p", "note": 7}', "f.json: /note is not a text"),
        ("[]", "f.json: it is not an object of texts"),
    ],
)
def test_a_file_of_fields_that_cannot_be_used_is_named_with_its_fault(
    repo: GitRepo, graph: Path, content: str, fault: str
) -> None:
    repo.write("f.json", content)
    assert fault in memory(repo, "save", "--fields", "f.json", code=2)["error"]["message"]


def test_a_skill_and_the_graph_carry_the_same_state(repo: GitRepo, graph: Path) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    saved = memory(repo, "save", "--from-skill", "build")
    skill = json.loads(repo.read(".checkpoints/build.checkpoint.json"))
    assert saved["fields"]["phase"] == skill["phase"]
    assert saved["fields"]["milestone"] == skill["step"]
    memory(repo, "update", "phase=release", "next_action=Tag it")
    assert memory(repo, "load", "--to-skill", "build")["written"] is True
    after = json.loads(repo.read(".checkpoints/build.checkpoint.json"))
    assert (after["phase"], after["next_actions"][0]) == ("release", "Tag it")
    again = memory(repo, "save", "--from-skill", "build")["fields"]
    assert (again["phase"], again["next_action"]) == ("release", "Tag it")


def test_a_commit_says_its_hash_subject_and_files(repo: GitRepo) -> None:
    repo.write("a,b", "x")
    repo.write("c", "x")
    commit_id = repo.commit("Subject: here")
    assert read_commit_fields(str(repo.path), "HEAD") == {
        "last_commit": commit_id,
        "last_action": f"Committed {commit_id[:12]}: Subject: here",
        "files_modified": "2",
        "files_changed": "a%2Cb,c",
    }
    with pytest.raises(CheckpointError):
        read_commit_fields(str(repo.path), "--all")


def test_sync_refuses_the_other_kind_of_status_file(repo: GitRepo, graph: Path) -> None:
    memory(repo, "save", "--initiative", "i")
    repo.write("WORKFLOW-STATUS.yaml", "workflow: x\ncurrent_step: 2\nsteps: []\n")
    assert "another kind" in json.dumps(memory(repo, "sync", code=2))


def test_a_dry_sync_changes_neither_side(repo: GitRepo, graph: Path) -> None:
    memory(repo, "save", "--initiative", "i", "--milestone", "M1")
    repo.write("WORKFLOW-STATUS.yaml", "active: {milestone: M2}\r\n")
    before = graph.read_bytes()
    assert len(memory(repo, "sync", "--dry-run")["differences"]) == 2
    assert graph.read_bytes() == before
    assert repo.read("WORKFLOW-STATUS.yaml") == "active: {milestone: M2}\r\n"
    memory(repo, "sync")
    assert repo.read("WORKFLOW-STATUS.yaml") == 'active: {milestone: M2, initiative: "i"}\r\n'


def test_load_names_what_the_status_file_says_otherwise_until_they_agree(
    repo: GitRepo, graph: Path
) -> None:
    put_graph(graph, entity_line(*SOUND, "timestamp:2999-01-01T00:00:00Z"))
    document = "active:\n  initiative: login-2026\n  milestone: M2\n"
    repo.write("WORKFLOW-STATUS.yaml", document)
    (found,) = [
        each for each in memory(repo, "load")["findings"] if each["code"] == "memory/sync-differs"
    ]
    assert (
        found["message"]
        == 'milestone: "M1" in the checkpoint, "M2" at active.milestone; the document wins'
    )
    memory(repo, *found["hint"].partition("checkpoint memory ")[2].split())
    assert "memory/sync-differs" not in codes(memory(repo, "load"))
    # the checkpoint went on: nothing of it would be replaced
    memory(repo, "update", "milestone=M3")
    assert "memory/sync-differs" not in codes(memory(repo, "load"))
    repo.write("WORKFLOW-STATUS.yaml", "active: [")
    assert memory(repo, "load")["exists"] is True
    # of which nothing is mixed in
    repo.write("WORKFLOW-STATUS.yaml", "active: {initiative: another, milestone: M9}")
    found = [
        each["message"]
        for each in memory(repo, "load")["findings"]
        if each["code"] == "memory/sync-differs"
    ]
    assert found == [
        'initiative: "login-2026" in the checkpoint, "another" at active.initiative; the document wins'
    ]


def test_sync_begins_a_checkpoint_from_the_document(repo: GitRepo, graph: Path) -> None:
    repo.write("WORKFLOW-STATUS.yaml", "active:\n  initiative: login\n")
    before = repo.read("WORKFLOW-STATUS.yaml")
    memory(repo, "sync")
    assert read_observations(graph)[0] == "initiative:login"
    assert repo.read("WORKFLOW-STATUS.yaml") == before


def test_setup_asks_before_anything_is_downloaded(repo: GitRepo) -> None:
    done = run_here("memory", "setup", cwd=repo.path)
    assert done.returncode == 2
    assert "--yes" in done.stderr or "not found" in done.stderr
    assert repo.exit_code("config", "checkpoint.memoryCommand") == 1


def test_a_person_at_a_terminal_is_asked_once_how_to_go_on(repo: GitRepo, graph: Path) -> None:
    args = argparse.Namespace(
        action="load", words=[], entity=None, strict=False, **dict.fromkeys(verbs.TAKERS)
    )
    args.resume = args.fresh = args.details = False
    wrong = []
    for answer, expected in (
        ("r", "next: Write the tests"),
        ("d", "own: thing"),
        ("f", "deleted"),
        ("x", ""),
    ):
        put_graph(graph, entity_line(*SOUND, "timestamp:2999-01-01T00:00:00Z", "own:thing"))
        shown: list[str] = []

        def ask(
            question: str,
            blocks: Sequence[Any] = (),
            answer: str = answer,
            shown: list[str] = shown,
        ) -> str:
            shown += [*(block.text for block in blocks), question]
            return answer

        asked = SimpleNamespace(
            cwd=str(repo.path), env=os.environ, now=1_800_000_000, interactive=True, ask=ask
        )
        outcome = verbs.run(args, cast(Invocation, asked))
        shown += [block.text for block in outcome.blocks if isinstance(block, Line)]
        text = "\n".join(shown)
        is_there = "initiative-checkpoint" in graph.read_text()
        if (
            expected not in text
            or text.count("Resume from checkpoint?") != 1
            or is_there == (answer == "f")
        ):
            wrong.append((answer, text))
    assert wrong == []


@pytest.mark.parametrize("value", ["0", "-3", "soon", "601", "nan", "inf"])
def test_a_time_that_nobody_waits_is_refused(repo: GitRepo, graph: Path, value: str) -> None:
    repo.git("config", "checkpoint.memoryTimeout", value)
    assert "1 to 600 seconds" in json.dumps(memory(repo, "load", code=2))
