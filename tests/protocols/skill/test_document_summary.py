"""Cached summaries are those that would be made anew, whatever happens to the cache."""

import json
from pathlib import Path

import pytest

from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import document_summary as summaries
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)
MEMORY = ".git/checkpoint/sheets.json"


@pytest.fixture
def place(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Thirty checkpoints, and a memory that is worth it for ten."""
    monkeypatch.setattr(summaries, "_FEWEST", 10)
    blocker = {"id": "b", "description": "x", "proposed_resolution": "Fixed by #3"}
    for at in range(30):
        skill = f"skill-{at:02}"
        changes = {"verified_for_sha": f"abcde{at:02}", "blockers": [blocker], "next_actions": ["Merge #1, ABC-2"]}
        changes["superseded"] = [{"step": "\ud800"}]
        state = {"merged_prs": [{"number": number} for number in range(60)]}
        text = checkpoint_text(skill=skill, skill_state=state, **changes).replace("\ud800", "\\ud800")
        repo.write(f".checkpoints/{skill}.checkpoint.json", text)
    repo.write(".checkpoints/broken.checkpoint.json", "{")
    return find_place(str(repo.path))


def memory(place: Place) -> Path:
    return Path(place.root) / MEMORY


def test_what_is_remembered_is_what_would_be_read(place: Place) -> None:
    fresh = summaries.read_summaries(place, NOW)
    assert memory(place).exists()
    assert summaries.read_summaries(place, NOW) == fresh
    assert len(fresh) == 31
    assert fresh[1].actions[0].references == ("#1", "ABC-2")


def test_a_changed_file_is_read_again_and_a_removed_one_is_gone(place: Place) -> None:
    before = summaries.read_summaries(place, NOW)
    (Path(place.directory) / "skill-00.checkpoint.json").write_text(checkpoint_text(skill="skill-00", status="blocked"))
    (Path(place.directory) / "skill-01.checkpoint.json").unlink()
    after = {one.skill: one for one in summaries.read_summaries(place, NOW)}
    assert len(after) == 30
    assert after["skill-00"].status == "blocked"
    assert after["skill-02"] == before[3]


def test_the_same_content_under_another_name_is_another_checkpoint(place: Place) -> None:
    summaries.read_summaries(place, NOW)
    folder = Path(place.directory)
    (folder / "other.checkpoint.json").write_bytes((folder / "skill-00.checkpoint.json").read_bytes())
    (other,) = [one for one in summaries.read_summaries(place, NOW) if one.skill == "other"]
    assert [finding.code for finding in other.findings if finding.level == "error"] == ["skill/file-name"]


@pytest.mark.parametrize("damage", [b"", b"{}", b"x" * 100, b"\x00" * 5_000])
def test_a_damaged_memory_costs_time_only(place: Place, damage: bytes) -> None:
    fresh = summaries.read_summaries(place, NOW)
    memory(place).write_bytes(damage)
    assert summaries.read_summaries(place, NOW) == fresh
    data = memory(place).read_bytes()
    memory(place).write_bytes(data[: len(data) // 2])
    assert summaries.read_summaries(place, NOW) == fresh


def test_a_clock_that_was_put_back_and_another_version_forget(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    summarize, read = summaries.summarize_document, list[str]()

    def summarize_and_note(document: Document) -> summaries.DocumentSummary:
        read.append(document.skill)
        return summarize(document)

    monkeypatch.setattr(summaries, "summarize_document", summarize_and_note)
    for now, version, expected in ((NOW, "", 31), (NOW, "", 1), (NOW - 1, "", 31), (NOW, "", 1), (NOW, "0.0.0", 31)):
        if version:
            monkeypatch.setattr("checkpoint_git.version.__version__", version)
        read.clear()
        summaries.read_summaries(place, now)
        assert len(read) == expected


def test_a_memory_that_cannot_be_written_hinders_nobody(place: Place) -> None:
    memory(place).parent.mkdir(parents=True, exist_ok=True)
    memory(place).mkdir()
    assert len(summaries.read_summaries(place, NOW)) == 31


def test_few_checkpoints_leave_no_trace(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", json.dumps(json.loads(checkpoint_text())))
    assert len(summaries.read_summaries(find_place(str(repo.path)), NOW)) == 1
    assert not (repo.path / MEMORY).exists()
