"""A project with every kind of checkpoint in it, looked at on terminals of several widths."""

import json
import re
from typing import Any

import pytest

from checkpoint_git.cli.render.screen import measure
from tests.support.command import run_here, show_here
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

LONG = "Write down what the evaluation of the second sprint found, and what of it is still to be mended before release"
STEP = "sprint-2-evaluation-round-3-of-the-second-kind"
DECISION = {"id": "b1", "description": LONG, "needs": "user_decision", "blocking": "sprint-2"}


def ticket(name: str, role: str, day: int) -> dict[str, str]:
    return {
        "provider": "linear",
        "id": name,
        "role": role,
        "first_seen_at": f"2026-03-{day:02d}T09:00:00Z",
    }


@pytest.fixture
def crowd(repo: GitRepo) -> GitRepo:
    """A repository whose checkpoints are in every state there is."""
    children = [ticket(f"PLAT-{number}", "child", 1) for number in (2, 3, 4)]
    skills: dict[str, dict[str, Any]] = {
        "architect": {"pm_refs": [ticket("PLAT-1", "source", 1), *children]},
        "audit": {"status": "blocked", "blockers": [DECISION], "step": STEP},
        "deploy": {
            "status": "complete",
            "next_actions": [],
            "pm_refs": [ticket("PLAT-9", "deploy", 2)],
        },
        "costly": {
            "protocol_version": "1.1",
            "cost": {"total_usd": 9, "budget_usd": 2.5},
            "next_actions": [LONG] * 5,
        },
        "failing": {"status": "failed", "next_actions": [{"text": LONG, "done_when": "make eval"}]},
        "wide": {
            "phase": "\u30ec\u30d3\u30e5\u30fc" * 5,
            "next_actions": ["\u65e5\u672c\u8a9e" * 50],
        },
        "rude": {"phase": "\x1b[2J\u202e", "next_actions": ["a | b \x1b[31m `c` @ada <img>"]},
    }
    for skill, changes in skills.items():
        repo.write(f".checkpoints/{skill}.checkpoint.json", checkpoint_text(skill=skill, **changes))
    repo.write(".checkpoints/broken.checkpoint.json", "null")
    return repo


def lines_on(width: int, *words: str, repo: GitRepo) -> list[str]:
    """What a terminal of a width shows, without colours and without the findings, which keep their
    one line.
    """
    said = show_here(*words, cwd=repo.path, env={"COLUMNS": str(width), "NO_COLOR": "1"})
    plain = re.sub("\x1b\\[[0-9;]*m", "", said)
    return plain.partition(".checkpoints/broken")[0].splitlines()


LOOKS = [["status"], ["next", "--all"], ["status", "--brief"], ["status", "--since=2026-03-01"]]


@rows("width", [30, 40, 60, 80, 200])
@rows("words", LOOKS)
def test_nothing_is_wider_than_the_terminal_but_a_word_or_a_command_that_is(
    crowd: GitRepo, words: list[str], width: int
) -> None:
    lines = lines_on(width, *words, repo=crowd)
    wide = [line.strip() for line in lines if measure(line) > width]
    assert [line for line in wide if " " in line and not line.startswith("checkpoint ")] == []
    assert len(lines) > 3


@pytest.mark.parametrize("width", [40, 80, 200])
def test_decisions_come_last_on_a_screen_and_what_counts_is_never_cut(
    crowd: GitRepo, width: int
) -> None:
    lines = lines_on(width, "status", repo=crowd)
    assert sum(line.endswith("1 decision waiting on you") for line in lines[len(lines) // 2 :]) == 1
    said = " ".join(" ".join(lines).split())
    told = ["architect", "audit", "costly", "failing", "unreadable", "over budget (9 of 2.5 USD)"]
    told += [
        "PM: PLAT-1 (source) + 3 children",
        "PM: PLAT-9 (deploy) -> PLAT-1",
        "in_progress",
        "stale (",
    ]
    assert [text for text in told if text not in said] == []


def test_a_pipe_gets_whole_lines_without_signs(crowd: GitRepo) -> None:
    said = run_here("status", cwd=crowd.path, env={"COLUMNS": "40"}).stdout
    assert STEP in said
    assert "\u26d4" not in said
    assert "\x1b" not in said


def test_markdown_has_whole_tables_and_no_markup_of_a_strangers(crowd: GitRepo) -> None:
    said = run_here("status", "--format", "md", cwd=crowd.path).stdout
    tables = [line for line in said.splitlines() if line.startswith("|")]
    # a row has as many borders that are not escaped as its table's header
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {6, 8}
    assert "a \\| b" in said
    assert "@ada" not in said
    assert "<img" not in said
    assert not any(line.startswith("    ") for line in said.splitlines())


def test_every_answer_is_one_document_for_programs(crowd: GitRepo) -> None:
    for words in (
        ["status"],
        ["next", "--all"],
        ["status", "--since=2026-03-01"],
        ["status", "--short"],
        ["show", "--tickets"],
        ["rotate"],
    ):
        done = run_here(*words, "--json", cwd=crowd.path)
        assert json.loads(done.stdout)["command"] == words[0]
        assert done.stderr == ""
