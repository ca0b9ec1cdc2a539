"""The page on agents says what the program says and does."""

import re
from pathlib import Path
from typing import Any

from checkpoint_git.tools.agents.table import SKILL_FILES, TABLE
from checkpoint_git.tools.session.prime import LEAST_TOKENS, MOST_LINES, MOST_TOKENS, prime
from tests.architecture.imports import ROOT
from tests.scenarios.driven import drive
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

PAGE = (ROOT / "docs/agents.md").read_text("utf-8")


def write(folder: Path, skill: str, **changes: Any) -> None:
    path = folder / f".checkpoints/{skill}.checkpoint.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(checkpoint_text(**{"skill": skill, "context_primer": {}, **changes}))


def test_the_example_of_prime_is_what_it_prints(repo: GitRepo) -> None:
    drive(repo)
    decisions = {"key_decisions": ["SQLite for storage", "Passkeys only"]}
    write(repo.path, "build", next_actions=["Write the notes API"], context_primer=decisions)
    row = {"label": "x", "status": "not_started"}
    blocker = {
        "id": "b1",
        "description": "Which region?",
        "blocking": "staging",
        "proposed_resolution": "eu-west",
    }
    write(
        repo.path,
        "deploy",
        status="blocked",
        step="staging",
        updated_at="2026-02-27T12:00:00Z",
        created_at="2026-02-27T12:00:00Z",
        progress_table=[
            {"id": "a", "label": "x", "status": "complete"},
            *({**row, "id": one} for one in "bcd"),
        ],
        blockers=[{**blocker, "needs": "user_decision"}],
        next_actions=[],
    )
    example = re.search(r"## `checkpoint prime`\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    assert prime(str(repo.path), seconds(NOON), {}) == example[1].splitlines()


def test_the_tables_name_every_place_and_event() -> None:
    for name, agent in TABLE.items():
        assert f"| `{name}` |" in PAGE
        assert [sign for sign in agent.signs if f"`{sign}`" not in PAGE] == []
        assert f"`{agent.skill}/`" in PAGE
        for _, path in agent.files[len(SKILL_FILES) :]:
            assert f"`{path.removesuffix('SKILL.md')}`" in PAGE
        if agent.hooks:
            assert f"`{agent.hooks.path}`" in PAGE
            assert [
                event for event in agent.hooks.events.values() if f"`{event}`" not in PAGE
            ] == []


def test_the_limits_on_the_page_are_those_in_force() -> None:
    assert f"At most {MOST_LINES} lines and {MOST_TOKENS:,} tokens" in PAGE
    assert f"(at least {LEAST_TOKENS})" in PAGE
