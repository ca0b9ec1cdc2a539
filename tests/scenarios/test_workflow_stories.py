"""Workflows where state is usually lost: git in between, the seed's own hands, odd files and clocks."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.workflows import execution, phase, read_json, task, write_output, write_workflow

DEMAND, DESIGN = "memory/reports/demand.json", "memory/reports/final_design.json"
PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"


def flow(folder: Path, *words: str) -> dict[str, Any]:
    """The answer as JSON, its exit code beside it."""
    done = run_here("workflow", *words, "--json", cwd=folder)
    return {**json.loads(done.stdout), "code": done.returncode}


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def current(seconds: float = 3600) -> dict[str, str]:
    return {"started_at": utc(-seconds), "last_updated": utc(-60)}


def test_git_clean_takes_the_reports_and_the_phase_is_not_over(repo: GitRepo) -> None:
    flow(repo.path, "start", "login")
    write_output(repo.path, DEMAND)
    flow(repo.path, "advance", "--yes")
    shutil.rmtree(repo.path / "memory/reports")
    answer = flow(repo.path, "resume", "--yes")
    assert answer["code"] != 0
    assert answer["corrupt"]


def test_a_branch_switch_brings_another_branchs_result_and_it_is_not_this_ones(repo: GitRepo) -> None:
    write_output(repo.path, DEMAND, {"of": "another branch"})
    repo.commit()
    flow(repo.path, "start", "login")
    answer = flow(repo.path, "resume", "--yes")
    assert (answer["action"], answer["agent"]) == ("spawn", "PM")


def test_reset_hard_brings_back_a_tracked_state_and_it_is_told(repo: GitRepo) -> None:
    flow(repo.path, "start", "login")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "start")
    write_output(repo.path, DEMAND)
    flow(repo.path, "advance", "--yes")
    repo.git("reset", "-q", "--hard")
    answer = flow(repo.path, "resume", "--yes")
    assert (answer["phase"], answer["action"]) == ("REQUIREMENTS", "ask_approval")  # the result lies there, untracked


@pytest.mark.parametrize("when", ["2026-03-01T08:00:00", "2026-03-01T08:00:00+0000", "2026-03-01T08:00Z"])
def test_the_seeds_iso_8601_is_read(tmp_path: Path, when: str) -> None:
    write_workflow(tmp_path, phase(started_at=when, last_updated=when))
    assert flow(tmp_path, "validate")["valid"]
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_an_agent_that_writes_the_files_by_hand_is_resumed(tmp_path: Path) -> None:
    value = {
        "workflow_id": "by-hand", "started_at": utc(-600), "last_updated": utc(-60),
        "current_phase": "ARCHITECTURE", "phase_status": "in_progress",
        "completed_phases": [{"phase": "REQUIREMENTS", "completed_at": utc(-300), "output": DEMAND}],
        "user_checkpoints": [{"phase": "REQUIREMENTS", "approved_at": utc(-200)}], "interruption_safe": True,
    }  # fmt: skip
    write_output(tmp_path, DEMAND)
    (tmp_path / "memory/state").mkdir()
    (tmp_path / PHASE).write_text(json.dumps(value))
    write_output(tmp_path, "memory/reports/designs/one.json")
    done = run_here("workflow", "resume", "--yes", cwd=tmp_path)
    for said in ("Detected interrupted workflow: by-hand", "Resuming workflow by-hand from ARCHITECTURE phase",
                 "Last activity:", "Completed: REQUIREMENTS", "designs/one.json"):  # fmt: skip
        assert said in done.stdout
    assert json.loads(run_here("workflow", "status", "--json", cwd=tmp_path).stdout)["action"] == "ask_approval"


def test_a_half_written_file_beside_the_state_is_no_corruption(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(**current()))
    (tmp_path / f"{PHASE}.tmp").write_text('{"workflow_id": "lo')
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_interruption_safe_false_alone_is_no_corruption(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(interruption_safe=False, **current()))
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_an_ancient_workflow_is_continued_with_caution(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(started_at=utc(-8 * 86400), last_updated=utc(-7 * 86400)))
    assert flow(tmp_path, "resume")["stale"]
    done = run_here("workflow", "resume", "--yes", cwd=tmp_path)
    assert "proceed with caution" in done.stdout


def test_a_clock_that_went_back_writes_no_time_before_the_start(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(started_at=utc(200), last_updated=utc(200)))
    assert flow(tmp_path, "save")["code"] == 0
    value = read_json(tmp_path / PHASE)
    assert value["last_updated"] >= value["started_at"]


def test_a_folder_of_spaces_and_bytes_holds_a_workflow(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a b \xff"))
    folder.mkdir()
    assert flow(folder, "start", "login")["code"] == 0
    write_output(folder, DEMAND)
    assert flow(folder, "advance", "--yes")["following"] == "ARCHITECTURE"


def test_a_fifo_in_the_place_of_a_result_is_not_waited_for(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(**current()))
    (tmp_path / "memory/reports").mkdir()
    os.mkfifo(tmp_path / DEMAND)
    answer = flow(tmp_path, "resume", "--yes")
    assert (answer["action"], answer["agent"]) == ("spawn", "PM")


@pytest.mark.parametrize("content", ["", "null", "{}", "[]", '{"status": "failed"}', '{"status": "in_progress"}', "{"])
def test_a_result_that_says_nothing_or_failure_ends_no_phase(tmp_path: Path, content: str) -> None:
    write_workflow(tmp_path, phase("VERIFICATION"), execution(task("a", "complete")))
    write_output(tmp_path, "memory/reports/verification.json", content)
    assert flow(tmp_path, "advance")["code"] == 1
    assert read_json(tmp_path / PHASE)["current_phase"] == "VERIFICATION"


def test_both_files_gone_astray_are_archived_and_never_deleted(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    (tmp_path / PHASE).write_text("{broken")
    answer = flow(tmp_path, "start", "next", "--fresh")
    archived = tmp_path / answer["archive"]
    assert (archived / "phase.json").read_text() == "{broken"
    assert (archived / "execution.json").exists()


def test_a_clean_merge_that_reopens_a_task_is_told(repo: GitRepo) -> None:
    write_workflow(repo.path, phase("VERIFICATION"), execution(task("a", "complete"), task("b")))
    answer = flow(repo.path, "resume", "--yes")
    assert (answer["action"], answer["tasks"]) == ("ask", ["b"])
    assert flow(repo.path, "advance")["code"] == 1


def test_only_five_archives_are_kept_and_the_newest_is_one_of_them(tmp_path: Path) -> None:
    for number in range(8):
        assert flow(tmp_path, "start", f"w{number}", "--fresh")["code"] == 0
    names = sorted(path.name for path in (tmp_path / "memory/state/.archive").iterdir())
    assert len(names) == 5
    assert any(name.startswith("w6_") for name in names)


def test_a_task_whose_result_is_a_folder_is_done_after_a_crash(tmp_path: Path) -> None:
    rows = [task("a", "running", started_at=utc(-60), output="out")]
    write_workflow(tmp_path, phase("IMPLEMENTATION"), execution(*rows))
    write_output(tmp_path, "out/deep/file.txt", "x")
    answer = flow(tmp_path, "resume", "--yes")
    assert read_json(tmp_path / EXECUTION)["tasks"][0]["status"] == "complete"
    assert answer["action"] == "advance"
