"""checkpoint rotate: nothing is lost, nothing is overwritten, branches merge."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import rotate
from checkpoint_git.tools.doctor import verb as doctor
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

PRS = [{"number": n, "title": f"change {n}"} for n in range(3)]
RUNS = [{"at": f"2026-03-01T0{hour}:00:00Z"} for hour in range(8)]


@pytest.fixture
def full(build: Path) -> Path:
    """The sample with telemetry to rotate."""
    build.write_text(
        checkpoint_text(skill_state={"merged_prs": PRS, "run_history": RUNS, "mode": "x"}), "utf-8"
    )
    return build


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def history(project: Path) -> list[Path]:
    return sorted((project / ".checkpoints/history").glob("*"))


def entries(path: Path) -> dict[str, list[Any]]:
    return {entry["where"]: entry["items"] for entry in read(path)["entries"]}


def test_active_and_history_together_hold_every_entry(full: Path, project: Path) -> None:
    run_verb(rotate, "build", cwd=project)
    (past,) = history(project)
    assert past.name.startswith("build.2026-03-02-")
    assert read(full)["skill_state"] == {"merged_prs": [], "run_history": RUNS[3:], "mode": "x"}
    assert entries(past) == {"/skill_state/merged_prs": PRS, "/skill_state/run_history": RUNS[:3]}


def test_housekeeping_is_no_progress(full: Path, project: Path) -> None:
    run_verb(rotate, cwd=project)
    assert read(full)["updated_at"] == "2026-03-02T09:30:00Z"


def test_a_second_run_changes_nothing(full: Path, project: Path) -> None:
    run_verb(rotate, cwd=project)
    before = {path: path.read_bytes() for path in [full, *history(project)]}
    assert run_verb(rotate, cwd=project).text == "nothing to rotate"
    assert {path: path.read_bytes() for path in [full, *history(project)]} == before


def test_a_second_rotation_on_one_day_does_not_overwrite_the_first(
    full: Path, project: Path
) -> None:
    run_verb(rotate, cwd=project)
    value = read(full)
    value["skill_state"]["merged_prs"] = [{"number": 9}]
    full.write_text(json.dumps(value), "utf-8")
    run_verb(rotate, cwd=project)
    assert sorted(
        str(entries(path).get("/skill_state/merged_prs")) for path in history(project)
    ) == sorted([str(PRS), str([{"number": 9}])])


def test_a_dry_run_says_it_and_changes_nothing(full: Path, project: Path) -> None:
    before = full.read_bytes()
    ran = run_verb(rotate, "--dry-run", cwd=project)
    assert "would move to .checkpoints/history/build.2026-03-02-" in ran.text
    assert "/skill_state/merged_prs: 3 entries" in ran.text
    assert full.read_bytes() == before
    assert history(project) == []
    assert run_verb(rotate, cwd=project).outcome.data["rotated"] == ran.outcome.data["rotated"]


def test_a_rotation_that_was_killed_half_way_is_finished_by_the_next(
    full: Path, project: Path
) -> None:
    before = full.read_bytes()
    run_verb(rotate, cwd=project)
    full.write_bytes(before)  # the history file was there, the active one not yet replaced
    run_verb(rotate, cwd=project)
    assert len(history(project)) == 1
    assert read(full)["skill_state"]["merged_prs"] == []


def test_a_history_file_that_was_changed_by_hand_stays(full: Path, project: Path) -> None:
    before = full.read_bytes()
    run_verb(rotate, cwd=project)
    (past,) = history(project)
    past.write_text("annotated")
    full.write_bytes(before)
    run_verb(rotate, cwd=project)
    assert past.read_text() == "annotated"
    assert len(history(project)) == 2


def test_two_branches_that_rotate_the_same_entries_merge_cleanly(full: Path, project: Path) -> None:
    repo = GitRepo(project)
    repo.commit("start")
    repo.git("branch", "other")
    run_verb(rotate, cwd=project, now="2026-03-02T12:00:00Z")
    repo.commit("rotate here")
    repo.git("checkout", "-q", "other")
    run_verb(rotate, cwd=project, now="2026-03-02T20:00:00Z")
    repo.write("other.txt", "so that the branches differ")
    repo.commit("rotate there")
    repo.git("merge", "-q", "main", "-m", "both")
    assert len(history(project)) == 1
    assert repo.git("status", "--porcelain") == ""


def test_a_corrupt_checkpoint_is_a_finding_and_the_others_are_rotated(
    full: Path, project: Path
) -> None:
    (project / ".checkpoints/deploy.checkpoint.json").write_text("{")
    ran = run_verb(rotate, cwd=project)
    assert ran.codes == ["json/syntax"]
    assert len(history(project)) == 1


def test_a_session_of_one_skill_rotates_its_own(full: Path, project: Path) -> None:
    (project / ".checkpoints/audit.checkpoint.json").write_text(
        checkpoint_text(skill="audit", skill_state={"merged_prs": PRS}), "utf-8"
    )
    run_verb(rotate, cwd=project, env={"CHECKPOINT_SKILL": "build"})
    assert [path.name[:6] for path in history(project)] == ["build."]
    with pytest.raises(CheckpointError):
        run_verb(rotate, "audit", cwd=project, env={"CHECKPOINT_SKILL": "build"})


def test_number_tokens_survive_the_move(build: Path, project: Path) -> None:
    text = checkpoint_text(skill_state={"merged_prs": [{"number": 0}]}).replace(
        '"number": 0', '"number": 1.50e400'
    )
    build.write_text(text, "utf-8")
    run_verb(rotate, cwd=project)
    assert "1.50e400" in history(project)[0].read_text("utf-8")


# by evidence


def say(build: Path, **changes: Any) -> None:
    build.write_text(checkpoint_text(**changes), "utf-8")


def test_what_an_open_action_names_stays_and_is_told(build: Path, project: Path) -> None:
    say(build, skill_state={"merged_prs": PRS}, next_actions=["Write the docs of #1"])
    ran = run_verb(rotate, cwd=project)
    assert read(build)["skill_state"] == {"merged_prs": [PRS[1]]}
    assert entries(history(project)[0]) == {"/skill_state/merged_prs": [PRS[0], PRS[2]]}
    assert "/skill_state/merged_prs: #1 stays: next action 1 names it" in ran.text
    assert ran.outcome.data["kept"] == [
        {
            "skill": "build",
            "where": "/skill_state/merged_prs",
            "entry": "#1",
            "why": "next action 1 names it",
        }
    ]


def test_nothing_but_entries_that_stay_is_told_too(build: Path, project: Path) -> None:
    say(build, skill_state={"merged_prs": ["#1"]}, next_actions=["Write the docs of #1"])
    ran = run_verb(rotate, cwd=project)
    assert ran.text.startswith("build: nothing to move\n  /skill_state/merged_prs: #1 stays")
    assert ran.outcome.data["rotated"] == []
    assert history(project) == []


def test_a_merged_pull_request_that_was_reverted_stays_until_it_is_merged_again(
    build: Path, repo: GitRepo
) -> None:
    say(build, skill_state={"merged_prs": ["#12", "#13", "#99"]})
    repo.commit("Sort (#13)")
    repo.write("search.py", "1")
    repo.commit("Search (#12)")
    repo.git("revert", "--no-edit", "HEAD")
    ran = run_verb(rotate, cwd=repo.path)
    assert read(build)["skill_state"] == {"merged_prs": ["#12"]}
    assert "it was reverted: " in ran.text
    assert f"it was reverted: {repo.git('rev-parse', '--short=7', 'HEAD')}, 20" in ran.text
    repo.write("search.py", "2")
    repo.commit("Search, with tests (#12)")
    run_verb(rotate, cwd=repo.path)
    assert read(build)["skill_state"] == {"merged_prs": []}


def test_a_history_that_cannot_be_asked_holds_nothing_back(
    full: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_verb(rotate, cwd=project)
    assert ran.codes == ["rotate/no-history"]
    assert ran.outcome.code == 0
    assert read(full)["skill_state"]["merged_prs"] == []


def test_outside_git_everything_closed_moves(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    path = tmp_path / ".checkpoints/build.checkpoint.json"
    say(path, skill_state={"merged_prs": PRS})
    assert run_verb(rotate, cwd=tmp_path).codes == []
    assert read(path)["skill_state"] == {"merged_prs": []}


def test_narratives_that_nobody_reviewed_move_and_it_says_so(build: Path, project: Path) -> None:
    say(build, superseded=[{"step": "a"}, {"step": "b", "reviewed": True}])
    ran = run_verb(rotate, "build", cwd=project)
    assert "/superseded: 2 entries (1 not marked as reviewed: read them there)" in ran.text
    assert len(entries(history(project)[0])["/superseded"]) == 2


def test_after_a_rotation_the_doctor_asks_for_none(build: Path, project: Path) -> None:
    state = {"merged_prs": [{"number": n, "title": "x" * 700} for n in range(60)]}
    say(build, skill_state=state, superseded=[{"step": "a"}], next_actions=["Write the docs of #1"])
    before = run_verb(doctor, "--check", "content", cwd=project).codes
    assert {"content/rotation-due", "content/unreviewed"} <= set(before)
    run_verb(rotate, cwd=project)
    assert run_verb(doctor, "--check", "content", cwd=project).codes == []
