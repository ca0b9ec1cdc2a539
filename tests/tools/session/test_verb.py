"""The reminders, as agents' hooks run them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.tools.session.record import FOLDER
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

AGENTS = ("claude", "codex", "gemini", "cursor")


@pytest.fixture
def worked(repo: GitRepo) -> GitRepo:
    """A repository in which the session "s" changed a file and wrote no checkpoint."""
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit()
    call(repo, "start", source="startup")
    os.utime(repo.path / ".checkpoints/build.checkpoint.json", (1, 1))
    os.utime(repo.path / ".git" / FOLDER / "s", (2, 2))
    repo.write("a.py", "pass\n")
    return repo


def call(repo: GitRepo, *words: str, **more: Any) -> str:
    """What the verb says to a hook of the session; it ends well."""
    stdin = json.dumps({"session_id": "s", "cwd": str(repo.path), **more}).encode()
    done = run_here("session", *words, cwd=repo.path, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_turn_that_ends_without_a_checkpoint_is_reminded_once_in_a_while(worked: GitRepo) -> None:
    assert "changed (1 commit) in this session, and no checkpoint was written" in call(
        worked, "stop"
    )
    assert call(worked, "stop") == ""
    os.utime(worked.path / ".git" / FOLDER / "s.told", (3, 3))
    assert call(worked, "stop") != ""


def test_a_reminder_is_not_repeated_for_the_same_work(worked: GitRepo) -> None:
    call(worked, "stop")
    os.utime(worked.path / "a.py", (5, 5))
    os.utime(worked.path / ".git" / FOLDER / "s.told", (9, 9))
    assert call(worked, "stop") == ""


@pytest.mark.parametrize(
    ("agent", "remind", "block", "compact"),
    [
        ("claude", {"systemMessage"}, {"decision", "reason"}, {"systemMessage"}),
        ("codex", {"systemMessage"}, {"decision", "reason"}, {"systemMessage"}),
        ("gemini", {"systemMessage"}, {"decision", "reason"}, {"systemMessage"}),
        ("cursor", set(), {"followup_message"}, {"user_message"}),
    ],
)
def test_each_agent_hears_it_in_its_own_shape(
    worked: GitRepo, agent: str, remind: set[str], block: set[str], compact: set[str]
) -> None:
    told = worked.path / ".git" / FOLDER / "s.told"
    for words, members in (
        (("precompact",), compact),
        (("stop",), remind),
        (("stop", "--block"), block),
    ):
        told.unlink(missing_ok=True)
        said = call(worked, *words, f"--format={agent}")
        assert set(json.loads(said) if said else {}) == members
    assert {"gemini": '"deny"', "cursor": "followup"}.get(agent, '"block"') in said


def test_it_blocks_where_the_configuration_says_so(worked: GitRepo) -> None:
    worked.git("config", "checkpoint.sessionBlocks", "yes")
    assert json.loads(call(worked, "stop", "--format=claude"))["decision"] == "block"


@pytest.mark.parametrize(
    "more", [{"stop_hook_active": True}, {"loop_count": 1}, {"status": "aborted"}]
)
def test_it_never_goes_on_because_of_itself(worked: GitRepo, more: dict[str, Any]) -> None:
    assert call(worked, "stop", "--block", **more) == ""


def test_a_written_checkpoint_silences_it(worked: GitRepo) -> None:
    run_here("update", "build", "--step=sprint-3", cwd=worked.path)
    assert [call(worked, event) for event in ("stop", "precompact")] == ["", ""]


def test_a_program_is_answered_even_when_there_is_nothing(worked: GitRepo) -> None:
    call(worked, "end")
    about = json.loads(call(worked, "stop", "--json"))
    assert (about["reminder"], about["block"], about["event"]) == ("", False, "stop")


@pytest.mark.parametrize("agent", AGENTS)
def test_without_checkpoints_or_git_it_is_silent(repo: GitRepo, tmp_path: Path, agent: str) -> None:
    (tmp_path / "plain/.checkpoints").mkdir(parents=True)
    for folder in (repo, GitRepo(tmp_path / "plain")):
        assert [call(folder, event, f"--format={agent}") for event in ("stop", "precompact")] == [
            "",
            "",
        ]


def test_trouble_is_one_line_and_stops_nothing(repo: GitRepo, tmp_path: Path) -> None:
    (repo.path / ".checkpoints").symlink_to(tmp_path)
    for words, code in ((("stop",), 0), (("stop", "--strict"), 2), (("dance",), 0), ((), 0)):
        done = run_here("session", *words, cwd=repo.path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
