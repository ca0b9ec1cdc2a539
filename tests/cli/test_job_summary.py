"""What a forge's job shows: annotations within its limits, and a page of Markdown that it still
takes.
"""

from pathlib import Path

import pytest

from checkpoint_git.cli import render
from checkpoint_git.cli.render.markdown import cut_page
from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.outcome import Outcome
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"


ERROR: Level = "error"
WARNING: Level = "warning"
NOTE: Level = "note"


def annotate(*levels: Level) -> list[str]:
    """The lines of findings with these levels."""
    found = [
        Finding("a/b", level, f"{level} {at}", "a.json", line=at)
        for at, level in enumerate(levels, 1)
    ]
    return render.render("validate", Outcome({}, findings=found), "github", Screen()).splitlines()


def test_ten_of_a_level_are_shown_as_they_are() -> None:
    assert len(annotate(*[ERROR] * 10, *[NOTE] * 10)) == 20


def test_of_more_than_ten_the_first_says_how_many_there_are() -> None:
    lines = annotate(*[WARNING] * 11, *[ERROR] * 12, NOTE)
    assert len(lines) == 13 + 12 + 1
    assert lines[0].startswith("::error title=checkpoint validate::12 of these; 9 are shown")
    assert lines[13].startswith("::warning title=checkpoint validate::11 of these; 9 are shown")
    assert all(line.startswith("::") for line in lines)


def test_a_page_is_cut_at_a_line_where_the_forge_would_show_nothing_of_it() -> None:
    text = ("é" * 99 + "\n").encode() * 10_000
    cut = cut_page(text, 0)
    assert len(cut) <= 1_000_000
    assert cut.decode().endswith("é\n\nThe rest stands in the job's log.\n")
    assert cut_page(text, 1_000_000) == b""
    assert cut_page(text[:199], 900_000) == text[:199]


@pytest.mark.parametrize("verb", ["validate", "doctor"])
def test_the_page_gets_what_the_annotations_say_and_only_with_them(
    repo: GitRepo, tmp_path: Path, verb: str
) -> None:
    page = tmp_path / "summary.md"
    repo.write(PATH, checkpoint_text(status="nearly|**`"))
    repo.commit()
    env = {"GITHUB_STEP_SUMMARY": str(page)}
    run_here(verb, cwd=repo.path, env=env)
    assert not page.exists()
    for _ in range(2):
        done = run_here(verb, "--format", "github", cwd=repo.path, env=env)
        assert f"::error file={PATH},line=10" in done.stdout
    text = page.read_text()
    assert text.count(f"### checkpoint {verb}") == 2
    assert "nearly\\|\\*\\*\\`" in text


def test_a_page_that_cannot_be_written_changes_no_answer(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    done = run_here(
        "validate", "--format", "github", cwd=repo.path, env={"GITHUB_STEP_SUMMARY": "/"}
    )
    assert done.returncode == 0
    assert "summary could not be written" in done.stderr
