"""Summaries hold what the checks look at, of every checkpoint or of one."""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.drift.document_summary import read_summaries
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def test_every_checkpoint_has_a_summary_and_one_can_be_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    blocker = {"id": "b", "description": "x", "proposed_resolution": "Fixed by #3"}
    state = {"merged_prs": [{"number": number} for number in range(60)]}
    for skill in ("build", "ship"):
        text = checkpoint_text(
            skill=skill,
            skill_state=state,
            verified_for_sha="abcdef0",
            blockers=[blocker],
            next_actions=["Merge #1, ABC-2"],
        )
        (folder / f"{skill}.checkpoint.json").write_text(text)
    (folder / "broken.checkpoint.json").write_text("{")

    place = find_place(str(tmp_path))
    summaries = {summary.skill: summary for summary in read_summaries(place, NOW)}
    assert list(summaries) == ["broken", "build", "ship"]
    assert summaries["broken"].has_finding("json/syntax")
    assert summaries["build"].references == {"#1", "#3", "ABC-2"}
    assert [recorded.id for recorded in summaries["build"].recorded] == ["abcdef0"]
    assert summaries["build"].merged == (("/skill_state/merged_prs", 60),)
    assert read_summaries(place, NOW, "ship") == [summaries["ship"]]
    with pytest.raises(CheckpointError):
        read_summaries(place, NOW, "none")


def test_progress_is_told_after_every_hundred(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    for number in range(205):
        (folder / f"skill-{number:03}.checkpoint.json").write_text("{")
    told = list[str]()
    read_summaries(find_place(str(tmp_path)), NOW, tell=told.append)
    assert told == ["looking at checkpoints: 100 of 205", "looking at checkpoints: 200 of 205"]
