"""Whoever waits at a terminal sees what is being done; a pipe gets nothing of it."""

from pathlib import Path

import pytest

from tests.support.command import run_here, show_here
from tests.support.histories import merge_notes
from tests.support.repos import GitRepo

CLEARED = "\r\x1b[K"
COMMANDS = {
    "auditing merges: ": ["audit"],
    "rotating: ": ["rotate", "--dry-run"],
    "exchanging checkpoints with the remote": ["sync", "--dry-run"],
    "looking at ": ["report", "-o", "-"],
    "looking at the installation": ["doctor"],
}


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which two branches that both changed a checkpoint were merged."""
    folder = tmp_path_factory.mktemp("merged")
    repo = GitRepo.create(folder / "work")
    run_here("init", cwd=repo.path)
    run_here("update", "build", "--next_actions+=Write the first test", cwd=repo.path)
    repo.commit("start")
    merge_notes(repo, "build")
    repo.git("init", "-q", "--bare", "../hub.git")
    repo.git("remote", "add", "origin", "../hub.git")
    repo.git("push", "-q", "-u", "origin", "main")
    return repo.path


@pytest.mark.parametrize(("shown", "words"), COMMANDS.items(), ids=lambda each: str(each[0]))
def test_a_long_command_says_on_a_terminal_what_it_does(
    shown: str, words: list[str], merged: Path
) -> None:
    said = show_here(*words, cwd=merged, env={})
    assert f"{CLEARED}{shown}" in said
    assert CLEARED in said[said.rindex(shown) :], "the line is cleared before the answer"


@pytest.mark.parametrize("words", COMMANDS.values(), ids=lambda words: words[0])
def test_a_pipe_gets_nothing_of_it(words: list[str], merged: Path) -> None:
    done = run_here(*words, cwd=merged)
    assert (done.returncode, done.stderr) == (0, "")
