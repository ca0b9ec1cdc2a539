"""The verbs of a workflow, run in this process: what they answer, what they write, what they
refuse.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.workflow import verbs as workflow
from checkpoint_git.protocols.workflow.layout import PHASES
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.status import verb as status
from tests.support.command import BIN, run_checkpoint
from tests.support.repos import GitRepo
from tests.support.snapshot import take_snapshot
from tests.support.verbs import NOON, Ran, run_verb, seconds
from tests.support.workflows import (
    OUTPUTS,
    execution,
    phase,
    read_json,
    task,
    write_output,
    write_workflow,
)

PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"
needs_proc = pytest.mark.skipif(
    not os.path.isdir("/proc"), reason="without /proc only a terminal is known, no agent"
)


def run(root: Path, *words: str, now: str = NOON, answer: str | None = None) -> Ran:
    return run_verb(workflow, *words, cwd=root, now=now, env=dict(os.environ), answer=answer)


def state_of(root: Path) -> dict[str, Any]:
    value: dict[str, Any] = read_json(root / PHASE)
    return value


def task_of(root: Path, name: str = "t1") -> dict[str, Any]:
    return next(row for row in read_json(root / EXECUTION)["tasks"] if row["id"] == name)


def archives(root: Path) -> list[str]:
    folder = root / "memory/state/.archive"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder outside git."""
    path = tmp_path / "work"
    path.mkdir()
    return path


# starting and resuming


def test_start_writes_both_files_and_says_so(folder: Path) -> None:
    ran = run(folder, "start", "login")
    assert ran.outcome.code == 0
    assert "checkpoint saved: memory/state/phase.json, memory/state/execution.json" in ran.text
    assert state_of(folder) == phase(started_at=NOON, last_updated=NOON, earlier_results={})
    assert read_json(folder / EXECUTION) == execution(last_updated=NOON)


def test_start_in_a_subfolder_of_a_repository_begins_at_its_root(repo: GitRepo) -> None:
    repo.write("src/x", "")
    run(repo.path / "src", "start", "login")
    assert (repo.path / PHASE).is_file()
    assert run(repo.path / "src", "status").outcome.data["workflow_id"] == "login"


def test_the_question_is_asked_with_what_a_person_must_know(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task()))
    ran = run(folder, "resume", answer="y\n")
    assert ran.stderr == (
        "Detected interrupted workflow: login\n"
        "Resuming workflow login from IMPLEMENTATION phase\n"
        "Last activity: 2026-03-02T09:30:00Z\n"
        "Completed: REQUIREMENTS, ARCHITECTURE\n"
        "Resume workflow from IMPLEMENTATION? [Y/n] "
    )
    assert ran.outcome.data["action"] == "continue_tasks"


@pytest.mark.parametrize("answer", ["\n", "y\n", "Yes\n", "what?\ny\n"])
def test_yes_goes_on(folder: Path, answer: str) -> None:
    write_workflow(folder, phase())
    ran = run(folder, "resume", answer=answer)
    assert (ran.outcome.data["decision"], ran.outcome.data["action"], ran.outcome.code) == (
        "resume",
        "spawn",
        0,
    )
    assert archives(folder) == []


def test_no_archives_the_old_state_and_starts_fresh(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION", notes="keep"), execution(task()))
    ran = run(folder, "resume", answer="n\n")
    assert ran.outcome.data["archive"] == "memory/state/.archive/login_20260302T120000Z"
    kept = folder / "memory/state/.archive/login_20260302T120000Z"
    assert read_json(kept / "phase.json")["notes"] == "keep"
    assert read_json(kept / "execution.json")["tasks"] == [task()]
    assert state_of(folder)["current_phase"] == "REQUIREMENTS"


def test_the_end_of_the_input_decides_nothing(folder: Path) -> None:
    write_workflow(folder, phase())
    before = take_snapshot(folder)
    assert run(folder, "resume", answer="").outcome.code == 1
    assert take_snapshot(folder) == before


def test_off_a_terminal_the_question_and_its_answers_are_the_answer(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    before = take_snapshot(folder)
    ran = run(folder, "resume")
    assert ran.outcome.code == 1
    data = ran.outcome.data
    assert data["question"] == "Resume workflow from VERIFICATION? [Y/n]"
    assert {name: str(way) for name, way in data["answers"].items()} == {
        "resume": "checkpoint workflow resume --yes",
        "fresh": "checkpoint workflow resume --fresh",
    }
    assert (data["action"], data["agent"]) == ("spawn", "QA")
    assert take_snapshot(folder) == before


def test_start_on_an_unfinished_workflow_asks_and_fresh_begins_the_new_one(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    data = run(folder, "start", "second try").outcome.data
    assert data["question"] == "Resume workflow from VERIFICATION? [Y/n]"
    assert str(data["answers"]["fresh"]) == "checkpoint workflow start 'second try' --fresh"
    assert state_of(folder)["workflow_id"] == "login"
    run(folder, "start", "second", "--fresh")
    assert state_of(folder)["workflow_id"] == "second"
    assert archives(folder) == ["login_20260302T120000Z"]


def test_start_after_a_finished_one_archives_it_without_a_question(folder: Path) -> None:
    last = {
        "phase": "REFLECTION",
        "completed_at": "2026-03-02T09:00:00Z",
        "output": OUTPUTS["REFLECTION"],
    }
    done = [*phase("REFLECTION")["completed_phases"], last]
    write_workflow(folder, phase("REFLECTION", "complete", completed_phases=done))
    assert run(folder, "start", "second").outcome.code == 0
    assert archives(folder) == ["login_20260302T120000Z"]


def test_an_agent_that_went_to_the_last_phase_and_left_complete_behind_has_not_done_it(
    folder: Path,
) -> None:
    write_workflow(folder, phase("REFLECTION", "complete"))
    data = run(folder, "resume", "--yes").outcome.data
    assert (data["action"], data["agent"]) == ("spawn", "Reflector")
    assert (
        run(folder, "start", "second").outcome.data["question"]
        == "Resume workflow from REFLECTION? [Y/n]"
    )
    write_output(folder, OUTPUTS["REFLECTION"])
    assert run(folder, "resume", "--yes").outcome.data["action"] == "complete"
    assert archives(folder) == ["login_20260302T120000Z"]


def test_a_finished_workflow_is_archived_by_resume_without_a_question(folder: Path) -> None:
    last = {
        "phase": "REFLECTION",
        "completed_at": "2026-03-02T09:00:00Z",
        "output": OUTPUTS["REFLECTION"],
    }
    done = [*phase("REFLECTION")["completed_phases"], last]
    write_workflow(folder, phase("REFLECTION", "complete", completed_phases=done))
    ran = run(folder, "resume")
    assert (ran.outcome.code, ran.outcome.data["action"]) == (0, "complete")
    assert archives(folder) == ["login_20260302T120000Z"]
    assert not (folder / PHASE).exists()


def test_a_phase_that_is_complete_is_resumed_and_not_overwritten(folder: Path) -> None:
    write_workflow(folder, phase("ARCHITECTURE", "complete"))
    ran = run(folder, "start", "second")
    assert ran.outcome.code == 1
    assert state_of(folder)["current_phase"] == "ARCHITECTURE"


def test_corrupt_state_is_asked_about_and_archived_never_deleted(tmp_path: Path) -> None:
    texts = [
        "",
        "{",
        "null",
        "[]",
        '{"workflow_id": "x"}',
        "\0\0\0",
        "[" * 5000,
        '{"a":1,"a":2}',
        "\xff",
    ]
    for number, broken in enumerate([*texts, " " * 9_000_000]):
        folder = tmp_path / str(number)
        data = broken.encode("latin-1")
        write_workflow(folder, phase())
        (folder / PHASE).write_bytes(data)
        ran = run(folder, "resume")
        assert (ran.outcome.code, ran.outcome.data["question"]) == (
            1,
            "State appears corrupted. Start fresh? [y/N]",
        )
        assert run(folder, "resume", "--yes").outcome.code == 1
        assert run(folder, "resume", answer="\n").outcome.code == 1
        assert (folder / PHASE).read_bytes() == data
        run(folder, "resume", answer="y\n")
        (name,) = archives(folder)
        assert (folder / "memory/state/.archive" / name / "phase.json").read_bytes() == data


def test_a_folder_in_the_files_place_is_moved_away_too(folder: Path) -> None:
    write_workflow(folder, phase())
    (folder / PHASE).unlink()
    (folder / PHASE).mkdir()
    (folder / PHASE / "inside").write_text("x")
    assert run(folder, "resume", "--fresh").outcome.code == 0
    assert state_of(folder)["workflow_id"] == "login"
    (name,) = archives(folder)
    assert (folder / "memory/state/.archive" / name / "phase.json/inside").read_text() == "x"


def test_a_missing_output_or_a_clock_ahead_is_corruption_and_an_interrupted_write_is_not(
    folder: Path,
) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    assert run(folder, "validate").outcome.code == 0
    (folder / OUTPUTS["REQUIREMENTS"]).unlink()
    ran = run(folder, "validate")
    assert (ran.codes, ran.outcome.code) == (["workflow/output-missing"], 1)
    assert run(folder, "resume").outcome.data["corrupt"]
    write_workflow(folder, phase("VERIFICATION", last_updated="2026-03-02T12:06:00Z"))
    assert run(folder, "resume").outcome.data["corrupt"]
    write_workflow(folder, phase("VERIFICATION", interruption_safe=False))
    ran = run(folder, "resume", "--yes")
    assert (ran.outcome.code, ran.codes) == (0, ["workflow/interrupted"])


def test_outputs_that_lead_out_of_the_project_or_break_are_told(folder: Path) -> None:
    paths = {
        "a": "../x.json",
        "b": "/etc/hostname",
        "c": "a\0b",
        "d": "memory/broken.json",
        "e": "memory",
    }
    rows = [task(name, "complete", output=path) for name, path in paths.items()]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows, workflow_id="other"))
    write_output(folder, "memory/broken.json", "{")
    outside = folder.parent / "outside.json"
    outside.write_text("{}")
    assert sorted(run(folder, "validate").codes) == [
        "workflow/output-invalid", *["workflow/output-outside"] * 4, "workflow/two-workflows"
    ]  # fmt: skip


# what comes next


def test_an_ancient_workflow_is_warned_about_and_goes_on_with_caution(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    now = "2026-03-08T08:00:00Z"
    ran = run(folder, "resume", now=now)
    assert (
        ran.outcome.data["question"]
        == "The workflow was started 7 days ago. Archive it and start fresh? [y/N]"
    )
    assert (ran.codes, ran.outcome.data["corrupt"]) == (["workflow/stale"], False)
    ran = run(folder, "resume", now=now, answer="\n")
    assert "proceed with caution" in ran.text
    assert ran.outcome.data["action"] == "spawn"
    ran = run(folder, "resume", now=now, answer="y\n")
    assert ran.outcome.data["decision"] == "fresh"


def test_results_of_an_earlier_workflow_are_known_by_their_digests_whatever_their_time(
    folder: Path,
) -> None:
    write_output(folder, OUTPUTS["REQUIREMENTS"])
    write_output(folder, "memory/reports/designs/a.md", "old")
    run(folder, "start", "login")
    # as a clone or a branch switch leaves it
    write_output(folder, OUTPUTS["REQUIREMENTS"], at=seconds(NOON) + 500)
    data = run(folder, "resume", "--yes").outcome.data
    assert (data["action"], data["agent"]) == ("spawn", "PM")
    assert run(folder, "advance", "--yes").codes == ["workflow/output-missing"]
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"new": 1}, at=seconds(NOON) - 5000)
    assert run(folder, "advance", "--yes").outcome.code == 0
    data = run(folder, "resume", "--yes").outcome.data
    assert (data["agent"], data["options"]) == ("Architects", [])


def test_a_result_that_is_as_it_was_can_be_named(folder: Path) -> None:
    write_output(folder, OUTPUTS["REQUIREMENTS"])
    run(folder, "start", "login")
    hint = f"checkpoint workflow advance --output {OUTPUTS['REQUIREMENTS']}"
    assert hint in str(run(folder, "status").outcome.data["hint"])
    assert run(folder, "advance", "--yes", "--output", OUTPUTS["REQUIREMENTS"]).outcome.code == 0


def test_the_first_write_notes_the_results_that_are_there_before_their_phase(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("a", "complete")))
    for name in PHASES[3:]:
        write_output(folder, OUTPUTS[name])
    assert run(folder, "advance").outcome.code == 0
    assert run(folder, "resume", "--yes").outcome.data["agent"] == "QA"


@pytest.mark.parametrize(
    "content", ["null", "{}", "[]", '""', "false", '{"status": "in_progress"}', ""]
)
def test_a_result_that_says_nothing_ends_no_phase(folder: Path, content: str) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    write_output(folder, OUTPUTS["VERIFICATION"], content)
    assert run(folder, "resume", "--yes").outcome.data["agent"] == "QA"
    assert run(folder, "advance").codes == ["workflow/output-missing"]


@pytest.mark.parametrize(
    "said", [{"status": "failed"}, {"passed": False}, {"verdict": "FAIL"}, {"success": False}]
)
def test_a_result_that_says_failed_ends_no_phase_and_asks(folder: Path, said: Any) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    write_output(folder, OUTPUTS["VERIFICATION"], said)
    ran = run(folder, "resume", "--yes")
    assert (ran.outcome.code, ran.outcome.data["action"]) == (1, "ask")
    assert run(folder, "advance").codes == ["workflow/output-missing"]
    assert run(folder, "advance", "--output", OUTPUTS["VERIFICATION"]).codes == [
        "workflow/output-invalid"
    ]


def test_nothing_is_approved_that_is_not_there_or_was_changed_since(folder: Path) -> None:
    run(folder, "start", "login")
    assert run(folder, "approve", "REQUIREMENTS").codes == ["workflow/output-missing"]
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"goal": 1})
    assert run(folder, "approve", "REQUIREMENTS").outcome.code == 0
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"goal": 2})
    assert run(folder, "resume", "--yes").outcome.data["action"] == "ask_approval"
    assert run(folder, "advance").codes == ["workflow/not-approved"]
    assert run(folder, "approve", "REQUIREMENTS").outcome.code == 0
    assert run(folder, "advance").outcome.code == 0
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"goal": 3})
    assert run(folder, "validate").codes == ["workflow/output-changed"]


def test_the_user_rejects_a_result_and_the_phase_is_done_again(folder: Path) -> None:
    run(folder, "start", "login")
    assert run(folder, "reject").codes == ["workflow/output-missing"]
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"goal": 1})
    run(folder, "approve", "REQUIREMENTS")
    assert run(folder, "reject", "--note", "too big").outcome.code == 0
    assert run(folder, "resume", "--yes").outcome.data["agent"] == "PM"
    assert state_of(folder)["went_back"][0]["note"] == "too big"
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"goal": 2})
    assert run(folder, "resume", "--yes").outcome.data["action"] == "ask_approval"


def test_one_goes_back_to_a_phase_that_is_over(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"), execution(task("a", "complete")))
    write_output(folder, OUTPUTS["VERIFICATION"], {"status": "failed"})
    assert run(folder, "back", "REFLECTION").codes == ["workflow/not-begun"]
    assert run(folder, "back", "implementation", "--note", "QA failed").outcome.code == 0
    state = state_of(folder)
    assert (state["current_phase"], state["phase_status"]) == ("IMPLEMENTATION", "in_progress")
    assert [row["phase"] for row in state["completed_phases"]] == list(PHASES[:2])
    assert state["went_back"][0]["completed"][0]["phase"] == "IMPLEMENTATION"
    assert run(folder, "task", "retry", "a").outcome.code == 0
    run(folder, "task", "start", "a")
    run(folder, "task", "done", "a")
    assert run(folder, "advance").outcome.code == 0
    # the old result does not count
    assert run(folder, "resume", "--yes").outcome.data["agent"] == "QA"
    assert run(folder, "validate").outcome.code == 0


def test_a_phase_fails_and_is_tried_again(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    assert run(folder, "fail", "--error", "no machine").outcome.code == 0
    assert state_of(folder)["failure"] == {"at": NOON, "error": "no machine"}
    data = run(folder, "resume", "--yes").outcome.data
    assert data["commands"][0] == ["checkpoint", "workflow", "save"]
    run(folder, "save")
    assert run(folder, "resume", "--yes").outcome.data["agent"] == "QA"


def test_status_and_resume_show_what_was_noted(folder: Path) -> None:
    write_workflow(folder, phase("REQUIREMENTS"))
    write_output(folder, OUTPUTS["REQUIREMENTS"])
    run(folder, "save", "--note", "half of it")
    run(folder, "reject", "--note", "too vague")
    run(folder, "fail", "--error", "no key")
    notes = ["Saved: half of it", "Sent back: too vague", "Failed: no key"]
    for words in (("status",), ("resume",), ("resume", "--yes")):
        ran = run(folder, *words)
        assert ran.outcome.data["notes"] == notes
        assert all(note in ran.text for note in notes), ran.text
    run(folder, "save")
    assert run(folder, "status").outcome.data["notes"] == ["Sent back: too vague"]


def test_status_and_resume_say_why_a_task_is_blocked(folder: Path) -> None:
    write_workflow(
        folder,
        phase("IMPLEMENTATION"),
        execution(task(status="blocked", error="no key"), task("t2", "complete")),
    )
    assert "no key" in run(folder, "status").text
    assert "t1 (blocked: no key)" in run(folder, "resume", "--yes").outcome.data["reason"]


# the two files against each other


def test_a_task_that_is_open_behind_the_implementation_is_never_dropped(project: Path) -> None:
    write_workflow(project, phase("REFLECTION"), execution(task("a", "complete"), task("b")))
    write_output(project, OUTPUTS["REFLECTION"])
    assert run(project, "validate").codes == ["workflow/tasks-behind"]
    assert run_verb(doctor, "--check", "workflow", cwd=project).codes == ["workflow/tasks-behind"]
    ran = run(project, "resume", "--yes")
    assert (ran.outcome.code, ran.outcome.data["action"], ran.outcome.data["tasks"]) == (
        1,
        "ask",
        ["b"],
    )
    assert run(project, "advance").codes == ["workflow/tasks-behind"]
    assert archives(project) == []
    assert run(project, "back", "IMPLEMENTATION").outcome.code == 0
    assert run(project, "resume", "--yes").outcome.data["tasks"] == ["b"]


def test_a_finished_workflow_with_an_open_task_is_not_archived_unasked(folder: Path) -> None:
    last = {
        "phase": "REFLECTION",
        "completed_at": "2026-03-02T09:00:00Z",
        "output": OUTPUTS["REFLECTION"],
    }
    done = [*phase("REFLECTION")["completed_phases"], last]
    write_workflow(
        folder, phase("REFLECTION", "complete", completed_phases=done), execution(task("b"))
    )
    for words in (("resume", "--yes"), ("start", "second"), ("advance",)):
        assert (run(folder, *words).outcome.code, archives(folder)) == (1, []), words


def test_tasks_that_were_left_open_knowingly_are_not_told_again(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("a")))
    assert run(folder, "advance", "--force").outcome.code == 0
    assert run(folder, "validate").codes == []
    run(folder, "task", "add", "b")
    assert run(folder, "validate").codes == ["workflow/tasks-behind"]


def test_a_missing_execution_file_is_told_and_not_taken_for_no_tasks(project: Path) -> None:
    write_workflow(project, phase("IMPLEMENTATION"))
    (project / EXECUTION).unlink()
    assert run(project, "validate").codes == ["workflow/execution-missing"]
    assert run(project, "resume", "--yes").outcome.data["corrupt"]
    assert run_verb(doctor, "--check", "workflow", cwd=project).codes == [
        "workflow/execution-missing"
    ]
    for words in (("task", "done", "t1"), ("save",), ("advance", "--force"), ("recover",)):
        assert run(project, *words).codes == ["workflow/execution-missing"]
        assert not (project / EXECUTION).exists()
    run(project, "task", "add", "t1")
    assert run(project, "validate").codes == []


def test_a_missing_phase_file_is_told_and_nothing_is_archived_unasked(project: Path) -> None:
    write_workflow(project, phase("IMPLEMENTATION"), execution(task()))
    (project / PHASE).unlink()
    for words in (("validate",), ("status",), ("resume",), ("start", "other")):
        assert run(project, *words).codes == ["workflow/phase-missing"], words
    assert run_verb(status, cwd=project).codes == ["workflow/phase-missing"]
    assert archives(project) == []
    with pytest.raises(CheckpointError, match=r"no phase\.json"):
        run(project, "save")
    assert run(project, "resume", "--fresh").outcome.data["workflow_id"] == "login"
    assert len(archives(project)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T08:00",
        "2026-03-01T08:00:00",
        "2026-03-01T08:00:00+0000",
        "2026-03-01 08:00:00.5",
    ],
)
def test_every_usual_form_of_iso_8601_is_read(folder: Path, text: str) -> None:
    write_workflow(folder, phase("VERIFICATION", started_at=text))
    assert run(folder, "validate").outcome.findings == []
    assert run(folder, "save").outcome.code == 0
    assert state_of(folder)["started_at"] == text


def test_the_hours_that_a_time_without_an_offset_leaves_open_are_no_trouble(folder: Path) -> None:
    late, early = "2026-03-02T22:00:00", "2026-03-02T11:00:00Z"
    write_workflow(folder, phase(started_at=late, last_updated=early))
    assert run(folder, "validate").codes == []
    run(folder, "save")
    assert run(folder, "validate").codes == []


def test_results_of_an_earlier_workflow_without_notes_are_known_by_their_time(folder: Path) -> None:
    write_workflow(folder, phase())
    write_output(folder, OUTPUTS["REQUIREMENTS"], at=seconds("2026-03-01T07:00:00Z"))
    data = run(folder, "resume", "--yes", "--approvals", "none").outcome.data
    assert (data["action"], data["agent"]) == ("spawn", "PM")
    assert run(folder, "advance", "--yes").codes == ["workflow/output-missing"]
    write_output(folder, OUTPUTS["REQUIREMENTS"], {"new": 1}, at=seconds("2026-03-01T09:00:00Z"))
    assert run(folder, "resume", "--yes", "--approvals", "none").outcome.data["action"] == "advance"


def test_an_approval_that_was_waiting_is_asked_for_again(folder: Path) -> None:
    write_workflow(folder, phase("ARCHITECTURE"))
    write_output(folder, "memory/reports/designs/one.md", "x")
    ran = run(folder, "resume", "--yes")
    assert (ran.outcome.code, ran.outcome.data["action"]) == (1, "ask_approval")
    assert ran.outcome.data["options"] == ["memory/reports/designs/one.md"]
    assert run(folder, "approve", "architecture").outcome.code == 0
    data = run(folder, "resume", "--yes").outcome.data
    assert (data["action"], data["agent"]) == ("spawn", "Roundtable")


def test_the_phases_that_need_approval_are_configured(repo: GitRepo) -> None:
    write_workflow(repo.path, phase("VERIFICATION"))
    write_output(repo.path, OUTPUTS["VERIFICATION"])
    assert run(repo.path, "resume", "--yes").outcome.data["action"] == "advance"
    repo.git("config", "checkpoint.workflowApprovals", "requirements, VERIFICATION")
    assert run(repo.path, "resume", "--yes").outcome.data["action"] == "ask_approval"
    assert (
        run(repo.path, "resume", "--yes", "--approvals", "none").outcome.data["action"] == "advance"
    )
    repo.git("config", "checkpoint.workflowApprovals", "TESTING")
    with pytest.raises(CheckpointError, match="not a phase"):
        run(repo.path, "resume", "--yes")


def test_the_whole_way(folder: Path) -> None:
    run(folder, "start", "login")
    for name in PHASES[:-1]:
        assert run(folder, "advance").outcome.code == 1
        if name != "IMPLEMENTATION":
            assert run(folder, "advance").codes == ["workflow/output-missing"]
            write_output(folder, OUTPUTS[name])
        else:
            for words in ("add", "start", "done"):
                assert run(folder, "task", words, "a").outcome.code == 0
        if name in PHASES[:2]:
            assert run(folder, "advance").codes == ["workflow/not-approved"]
            run(folder, "approve", name)
        assert run(folder, "advance").outcome.code == 0
    assert [row["phase"] for row in state_of(folder)["completed_phases"]] == list(PHASES[:-1])
    assert (state_of(folder)["current_phase"], state_of(folder)["phase_status"]) == (
        "REFLECTION",
        "pending",
    )
    write_output(folder, "memory/reflections/today.json")
    ran = run(folder, "resume", "--yes")
    assert (ran.outcome.data["action"], ran.outcome.code) == ("complete", 0)
    (name,) = archives(folder)
    assert (
        read_json(folder / "memory/state/.archive" / name / "phase.json")["phase_status"]
        == "complete"
    )
    assert not (folder / PHASE).exists()
    assert run(folder, "status").outcome.data == {"workflow_id": None}


def test_tasks_that_are_open_hold_the_implementation(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("a", "complete"), task("b")))
    assert run(folder, "advance").codes == ["workflow/tasks-open"]
    assert run(folder, "advance", "--force").outcome.data["following"] == "VERIFICATION"


def test_an_implementation_without_any_task_is_not_done(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution())
    assert run(folder, "resume", "--yes").outcome.data["action"] == "continue_tasks"
    assert run(folder, "advance").codes == ["workflow/tasks-open"]
    assert run(folder, "advance", "--force").outcome.data["following"] == "VERIFICATION"


def test_one_that_an_agent_noted_as_complete_is(folder: Path) -> None:
    state = phase("IMPLEMENTATION")
    row = {
        "phase": "IMPLEMENTATION",
        "completed_at": state["last_updated"],
        "output": "memory/state/execution.json",
    }
    state = {
        **state,
        "phase_status": "complete",
        "completed_phases": [*state["completed_phases"], row],
    }
    write_workflow(folder, state, execution())
    assert run(folder, "advance").outcome.data["following"] == "VERIFICATION"


def test_advance_with_yes_is_the_users_approval(folder: Path) -> None:
    write_workflow(folder, phase())
    write_output(folder, OUTPUTS["REQUIREMENTS"])
    assert run(folder, "advance").codes == ["workflow/not-approved"]
    assert run(folder, "advance", "--yes").outcome.code == 0
    assert [row["phase"] for row in state_of(folder)["user_checkpoints"]] == ["REQUIREMENTS"]


def test_a_phase_that_was_not_begun_cannot_be_approved(folder: Path) -> None:
    write_workflow(folder, phase())
    assert run(folder, "approve", "REFLECTION").codes == ["workflow/not-begun"]
    with pytest.raises(CheckpointError, match="not a phase"):
        run(folder, "approve", "TESTING")


def test_save_begins_a_phase_and_keeps_the_note(folder: Path) -> None:
    write_workflow(folder, phase("ARCHITECTURE", "pending"))
    assert "checkpoint saved" in run(folder, "save", "--note", "before the architects").text
    assert state_of(folder)["phase_status"] == "in_progress"
    assert state_of(folder)["saved"] == {"at": NOON, "note": "before the architects"}
    write_workflow(folder, phase("ARCHITECTURE", "failed"))
    run(folder, "save")
    assert state_of(folder)["phase_status"] == "in_progress"


@pytest.mark.parametrize(
    "words",
    [["advance"], ["advance", "--yes", "--force"], ["recover"], ["task", "done", "t1"], ["save"]],
)
def test_tasks_without_their_phase_are_neither_archived_nor_changed(
    words: list[str], folder: Path
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1", "running")))
    (folder / PHASE).unlink()
    with pytest.raises(CheckpointError, match=r"no phase\.json"):
        run(folder, *words)
    assert (task_of(folder), archives(folder)) == (task("t1", "running"), [])
    assert run(folder, "resume").codes == ["workflow/phase-missing"]


# tasks


def test_a_task_runs_fails_and_is_done(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION", "pending"))
    run(folder, "task", "start", "t1", "--output", "memory/reports/t1.json")
    started = {key: value for key, value in task_of(folder).items() if key != "process"}
    assert started == task(
        "t1", "running", started_at=NOON, output="memory/reports/t1.json", digest=None
    )
    assert state_of(folder)["phase_status"] == "in_progress"
    assert run(folder, "task", "start", "t1").codes == ["workflow/task-running"]
    for attempt in (1, 2):
        run(folder, "task", "fail", "t1", "--error", "no disk")
        assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("pending", attempt)
        run(folder, "task", "start", "t1")
        assert task_of(folder)["attempts"] == attempt
    assert run(folder, "task", "done", "t1").codes == ["workflow/output-missing"]
    write_output(folder, "memory/reports/t1.json")
    assert run(folder, "task", "done", "t1").outcome.code == 0
    assert (task_of(folder)["status"], task_of(folder)["completed_at"]) == ("complete", NOON)
    assert run(folder, "task", "start", "t1").codes == ["workflow/task-complete"]
    assert run(folder, "task", "fail", "t1").codes == ["workflow/task-complete"]


@pytest.mark.parametrize("output", ["../x.json", "/etc/hosts", ".git/HEAD", ""])
def test_a_task_is_not_started_whose_output_would_lie_elsewhere(output: str, folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task()))
    assert run(folder, "task", "start", "t1", "--output", output).codes == [
        "workflow/output-outside"
    ]
    assert task_of(folder)["status"] == "pending"


def test_an_output_may_be_named_by_its_absolute_path(folder: Path, tmp_path: Path) -> None:
    write_workflow(
        folder,
        phase("IMPLEMENTATION"),
        execution(task(), task("t2", output=f"{folder}/memory/t2.json")),
    )
    (tmp_path / "link").symlink_to(folder)
    for name, start in (("t1", f"{tmp_path}/link"), ("t2", str(folder))):
        output = f"{start}/memory/{name}.json"
        assert run(folder, "task", "start", name, "--output", output).outcome.code == 0
        write_output(folder, f"memory/{name}.json")
        assert run(folder, "task", "done", name).outcome.code == 0
    assert run(folder, "validate").codes == []
    assert [task_of(folder, name)["output"] for name in ("t1", "t2")] == [
        "memory/t1.json",
        "memory/t2.json",
    ]


def test_the_third_failure_is_the_last(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1", "running", attempts=2)))
    run(folder, "task", "fail", "t1")
    assert task_of(folder)["status"] == "failed"
    assert run(folder, "task", "start", "t1").codes == ["workflow/attempts-used-up"]


def test_tasks_are_added_once_and_unknown_ones_named(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"))
    run(folder, "task", "add", "a", "../b", "größe")
    assert [row["id"] for row in read_json(folder / EXECUTION)["tasks"]] == ["a", "../b", "größe"]
    assert run(folder, "task", "add", "c", "a").codes == ["workflow/task-id-twice"]
    ran = run(folder, "task", "done", "z")
    assert ran.codes == ["workflow/unknown-task"]
    assert '"../b"' in str(ran.outcome.findings[0].hint)


def test_unknown_fields_statuses_and_spellings_survive_every_write(folder: Path) -> None:
    state = write_workflow(
        folder, phase("IMPLEMENTATION", own={"n": 1}), execution(task("a", "waiting"), task("b"))
    )
    text = (
        (state / "execution.json")
        .read_text()
        .replace('"waiting"', '"waiting", "cost": 1.500, "ö": "\\u00e9"')
    )
    (state / "execution.json").write_text(text)
    for words in (
        ("task", "start", "b"),
        ("task", "fail", "b"),
        ("save",),
        ("approve", "REQUIREMENTS"),
        ("recover",),
    ):
        assert run(folder, *words).outcome.code == 0
    assert '"waiting", "cost": 1.500, "ö": "\\u00e9"' in (state / "execution.json").read_text()
    assert state_of(folder)["own"] == {"n": 1}


def test_a_clock_that_was_set_back_keeps_the_order_of_things(folder: Path) -> None:
    write_workflow(folder, phase("VERIFICATION"))
    write_output(folder, OUTPUTS["VERIFICATION"])
    assert run(folder, "advance", now="2026-03-01T00:00:00Z").outcome.code == 0
    assert state_of(folder)["last_updated"] == "2026-03-02T09:30:00Z"
    assert run(folder, "validate").outcome.code == 0


# recovery


def test_recovery_settles_every_running_task_by_its_output(folder: Path) -> None:
    started = "2026-03-02T09:00:00Z"
    rows = [
        task(name, "running", started_at=started, output=f"memory/reports/{name}.json")
        for name in "abcde"
    ]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows))
    soon, before = seconds(started) + 60, seconds(started) - 60
    write_output(folder, "memory/reports/b.json", {"status": "complete"}, soon)
    write_output(folder, "memory/reports/c.json", {"status": "failed", "error": "no disk"}, soon)
    write_output(folder, "memory/reports/d.json", {"status": "complete"}, before)
    write_output(folder, "memory/reports/e.json", "{ half", soon)
    ran = run(folder, "recover")
    found = {
        row["id"]: (row["status"], row["attempts"])
        for row in read_json(folder / EXECUTION)["tasks"]
    }
    assert found == {
        "a": ("pending", 1),
        "b": ("complete", 0),
        "c": ("failed", 0),
        "d": ("pending", 1),
        "e": ("pending", 1),
    }
    assert task_of(folder, "c")["error"] == "no disk"
    assert len(ran.outcome.data["recovered"]) == len(rows)
    assert "nothing to recover" in run(folder, "recover").text
    # what a broken attempt left stays where it is, and is not taken for the next one's result
    assert (folder / "memory/reports/e.json").read_text() == "{ half"
    run(folder, "task", "start", "e", "--output", "memory/reports/e.json")
    (folder / "memory/reports/e.json").touch()
    run(folder, "recover")
    assert (task_of(folder, "e")["status"], task_of(folder, "e")["attempts"]) == ("pending", 2)


def test_tasks_that_do_not_run_are_left_alone(folder: Path) -> None:
    write_workflow(
        folder,
        phase("IMPLEMENTATION"),
        execution(task("a"), task("b", "complete"), task("c", "waiting")),
    )
    assert run(folder, "recover").outcome.data["recovered"] == []


def test_a_task_whose_output_lies_elsewhere_is_an_orphan_and_nothing_is_touched_there(
    folder: Path,
) -> None:
    outside = folder.parent / "secret.json"
    outside.write_text('{"status": "complete"}')
    (folder / "memory").mkdir()
    (folder / "memory/link.json").symlink_to(outside)
    rows = [
        task("a", "running", output="../secret.json"),
        task("b", "running", output="memory/link.json"),
    ]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows))
    run(folder, "recover")
    assert [row["status"] for row in read_json(folder / EXECUTION)["tasks"]] == [
        "pending",
        "pending",
    ]
    assert outside.read_text() == '{"status": "complete"}'
    assert (folder / "memory/link.json").is_symlink()


def test_a_folder_and_a_large_file_are_results(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src/app.py").write_text("")
    (folder / "big.json").write_bytes(b"x" * 9_000_000)
    rows = [
        task("a", "running", output="src"),
        task("b", "running", output="big.json"),
        task("c", "running"),
    ]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows))
    run(folder, "recover")
    assert [row["status"] for row in read_json(folder / EXECUTION)["tasks"]] == [
        "complete",
        "complete",
        "pending",
    ]
    assert run(folder, "validate").codes == []
    (folder / "src/more.py").write_text("")
    assert run(folder, "validate").codes == ["workflow/output-changed"]


def test_a_living_session_keeps_its_own_tasks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"))
    monkeypatch.setenv("CHECKPOINT_SESSION", "ended")
    run(folder, "task", "start", "t1")
    assert run(folder, "resume", "--yes").outcome.data["tasks"] == ["t1"]
    assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("running", 0)
    monkeypatch.setenv("CHECKPOINT_SESSION", "two")
    run(folder, "resume", "--yes")
    assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("pending", 1)


def test_a_task_waits_and_is_tried_again(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1", "failed", attempts=3)))
    assert run(folder, "task", "block", "t1", "--error", "no key").outcome.code == 0
    assert (task_of(folder)["status"], task_of(folder)["error"]) == ("blocked", "no key")
    retry = ["checkpoint", "workflow", "task", "retry", "ID"]
    assert run(folder, "resume", "--yes").outcome.data["commands"] == [retry]
    run(folder, "task", "retry", "t1")
    assert task_of(folder) == task()
    run(folder, "task", "start", "t1")
    assert run(folder, "task", "retry", "t1").codes == ["workflow/task-running"]


@pytest.mark.parametrize("output", ["memory", "memory/state", "memory/state/.lock"])
def test_an_output_that_is_a_folder_with_the_state_makes_an_orphan(
    output: str, folder: Path
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("a", "running", output=output)))
    (folder / "memory/state/.lock").write_text("")
    run(folder, "recover")
    assert task_of(folder, "a")["status"] == "pending"
    assert state_of(folder)["workflow_id"] == "login"


@pytest.mark.parametrize(
    "output", [".git/HEAD", "src/../.git/HEAD", "sub/.GIT/config", "link/HEAD"]
)
def test_what_is_gits_is_never_an_output(output: str, repo: GitRepo) -> None:
    for name in ("sub/.GIT", "src"):
        (repo.path / name).mkdir(parents=True)
    (repo.path / "sub/.GIT/config").write_text("")
    (repo.path / "link").symlink_to(".git")
    rows = [task("a", "running", output=output, started_at=NOON)]
    write_workflow(repo.path, phase("IMPLEMENTATION"), execution(*rows))
    run(repo.path, "recover")
    assert task_of(repo.path, "a")["status"] == "pending"
    assert (repo.path / output).exists()
    assert run(repo.path, "task", "done", "a", "--output", output).codes == [
        "workflow/output-outside"
    ]


# archives


def test_the_newest_five_archives_are_kept_and_nothing_else_is_removed(folder: Path) -> None:
    other = folder / "memory/state/.archive/mine"
    other.mkdir(parents=True)
    for number in range(8):
        write_workflow(
            folder, phase(workflow_id=f"w/{number}"), execution(workflow_id=f"w/{number}")
        )
        run(folder, "archive", now=f"2026-03-02T12:00:0{number}Z")
    assert archives(folder) == [
        "mine",
        *(f"w_{number}_20260302T12000{number}Z" for number in range(3, 8)),
    ]


def test_two_archives_of_one_second_do_not_collide(folder: Path) -> None:
    for _ in range(3):
        write_workflow(folder, phase())
        run(folder, "archive")
    assert archives(folder) == [
        "login_20260302T120000Z",
        "login_20260302T120000Z-2",
        "login_20260302T120000Z-3",
    ]


@pytest.mark.parametrize(
    "name", ["..", "../../etc", "-rf", "a" * 200, ".hidden", "größe/x", "con", "a b;c"]
)
def test_any_id_is_made_safe_for_a_path(folder: Path, name: str) -> None:
    assert run(folder, "start", "--", name).outcome.code == 0
    assert state_of(folder)["workflow_id"] == name
    run(folder, "archive")
    (made,) = archives(folder)
    assert made.endswith("_20260302T120000Z")
    assert made.isascii()
    assert not made.startswith((".", "-"))
    assert sorted(path.name for path in folder.iterdir()) == ["memory"]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[31m", "x" * 201, "\u202e"])
def test_an_id_that_nobody_could_read_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match="cannot be the name"):
        run(folder, "start", name)
    assert list(folder.iterdir()) == []


# what cannot be done


def test_a_link_that_leads_out_is_refused(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / "memory").symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"):
        run(folder, "start", "login")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("target", [".git", ".git/hooks", "src", "../out"])
def test_no_link_is_followed_to_where_the_state_would_be(repo: GitRepo, target: str) -> None:
    (repo.path / "src").mkdir()
    (repo.path / "memory").symlink_to(target)
    before = take_snapshot(repo.path)
    with pytest.raises(CheckpointError, match="symbolic link"):
        run(repo.path, "start", "login")
    assert take_snapshot(repo.path) == before
    assert not (repo.path.parent / "out").exists()


@pytest.mark.parametrize(
    "words",
    [("start",), ("start", "a", "b"), ("approve",), ("task",), ("task", "done"), ("task", "zap", "t1"), ("status", "x"),
     ("save", "--output", "x"), ("resume", "--note", "x"), ("task", "done", "a", "b"), ("resume", "--yes", "--fresh")],
)  # fmt: skip
def test_words_that_make_no_sense_are_refused_with_a_hint(
    folder: Path, words: tuple[str, ...]
) -> None:
    write_workflow(folder, phase())
    with pytest.raises(CheckpointError) as caught:
        run(folder, *words)
    assert str(caught.value.hint)


def test_start_refuses_approvals_of_no_phase_where_nothing_is_there_yet(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a phase"):
        run(folder, "start", "login", "--approvals", "MOON")
    assert list(folder.iterdir()) == []


def test_a_write_on_corrupt_state_changes_nothing(folder: Path) -> None:
    write_workflow(folder, phase(), execution(task(), task()))
    before = take_snapshot(folder)
    for words in (("task", "done", "t1"), ("save",), ("advance",), ("approve", "REQUIREMENTS")):
        assert run(folder, *words).codes == ["workflow/task-id-twice"]
    after = {
        name: state for name, state in take_snapshot(folder).items() if not name.endswith(".lock")
    }
    assert after == before


def test_what_is_written_is_valid_json_of_two_spaces(folder: Path) -> None:
    run(folder, "start", "login")
    for name in (PHASE, EXECUTION):
        text = (folder / name).read_text()
        assert text == json.dumps(json.loads(text), indent=2) + "\n"


@pytest.mark.parametrize("word", ["in_progress", "In-Progress", "wip", "started", "executing"])
def test_an_agents_own_word_for_a_running_task_is_recovered_like_it(
    folder: Path, word: str
) -> None:
    rows = [task("a", word, output="out/a.json"), task("b", word, output="out/b.json"), task("c")]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows))
    write_output(folder, "out/b.json")
    assert run(folder, "task", "start", "a").codes == ["workflow/task-running"]
    ran = run(folder, "resume", "--yes")
    assert [row["verdict"] for row in ran.outcome.data["recovered"]] == ["orphan", "done"]
    assert [
        (row["status"], row["attempts"]) for row in read_json(folder / EXECUTION)["tasks"][:2]
    ] == [
        ("pending", 1),
        ("complete", 0),
    ]
    assert ran.outcome.data["tasks"] == ["a", "c"]


@pytest.mark.parametrize("row", [task("t 1", "complete", output="out/t1.json"), task("t 1")])
def test_the_hint_for_a_missing_output_does_that_work_again(
    folder: Path, row: dict[str, Any]
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(row))
    if row["status"] == "pending":
        (folder / OUTPUTS["REQUIREMENTS"]).unlink()
    (finding,) = run(folder, "validate").outcome.findings
    words = shlex.split(str(finding.hint).partition("again: checkpoint workflow ")[2])
    assert words in (["back", "REQUIREMENTS"], ["task", "retry", "t 1"])
    assert run(folder, *words).outcome.code == 0
    assert run(folder, "validate").codes == []


def test_status_names_the_agent_and_what_the_user_chooses_from(folder: Path) -> None:
    write_workflow(folder, phase("ARCHITECTURE"))
    assert run(folder, "status").outcome.data["agent"] == "Architects"
    write_output(folder, "memory/reports/designs/a.json")
    data = run(folder, "status").outcome.data
    assert (data["action"], data["options"]) == ("ask_approval", ["memory/reports/designs/a.json"])


# beside the skills


def test_status_shows_a_running_workflow_beside_the_skills(project: Path) -> None:
    write_workflow(project, phase("IMPLEMENTATION"), execution(task("a", "complete"), task("b")))
    ran = run_verb(status, cwd=project)
    assert ran.outcome.code == 0
    assert (
        "workflow login: IMPLEMENTATION (in_progress, 2h), 2/5 phases, 1/2 tasks; for more: checkpoint workflow status"
        in ran.text
    )
    assert ran.outcome.data["workflow"]["phase"] == "IMPLEMENTATION"
    assert [skill["skill"] for skill in ran.outcome.data["skills"]] == ["build"]
    assert "workflow" not in run_verb(status, "build", cwd=project).outcome.data
    (project / PHASE).write_text("{")
    ran = run_verb(status, cwd=project)
    assert (ran.outcome.code, ran.codes) == (1, ["json/syntax"])
    assert "its state appears corrupted" in ran.text


def test_status_shows_a_workflow_where_no_checkpoints_are(folder: Path) -> None:
    write_workflow(folder, phase())
    ran = run_verb(status, cwd=folder)
    assert ran.outcome.code == 0
    assert ran.outcome.data["workflow"]["workflow_id"] == "login"
    (folder / PHASE).unlink()
    (folder / EXECUTION).unlink()
    with pytest.raises(CheckpointError, match=r"no \.checkpoints folder"):
        run_verb(status, cwd=folder)


def test_the_doctor_looks_at_a_workflow_too(project: Path) -> None:
    write_workflow(project, phase("VERIFICATION", started_at="2026-02-01T00:00:00Z"))
    assert run_verb(doctor, "--check", "workflow", cwd=project).codes == ["workflow/stale"]
    (project / OUTPUTS["ARCHITECTURE"]).unlink()
    ran = run_verb(doctor, "--check", "workflow", cwd=project)
    assert (ran.outcome.code, ran.codes) == (1, ["workflow/stale", "workflow/output-missing"])
    assert run_verb(doctor, "build", "--check", "workflow", cwd=project).codes == []


def test_the_doctor_finds_nothing_where_only_archives_are_left(project: Path) -> None:
    run(project, "start", "login")
    run(project, "archive")
    assert run_verb(doctor, "--check", "workflow", cwd=project).codes == []


def test_a_linked_folder_stops_nothing_else(project: Path) -> None:
    write_workflow(project.parent / "out", phase())
    (project / "memory").symlink_to(project.parent / "out/memory")
    for verb in (status, doctor):
        assert "workflow" not in run_verb(verb, cwd=project).outcome.data


@pytest.fixture
def agent(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that starts a task as an agent does, and stays. env: what it gives to what
    it starts.
    """
    running = list[subprocess.Popen[str]]()

    def start(**env: str) -> subprocess.Popen[str]:
        script = (
            "import os, subprocess, sys\n"
            f"words = {[str(BIN / 'checkpoint'), 'workflow', 'task', 'start', 't1']}\n"
            f"subprocess.run(['sh', '-c', '\"$@\"; true', 'sh', *words], env={{**os.environ, **{env}}}, check=True)\n"
            "print('ready', flush=True)\n"
            "sys.stdin.read()\n"
        )
        words = [sys.executable, "-c", script]
        pipe = subprocess.PIPE
        running.append(
            subprocess.Popen(
                words, cwd=folder, stdin=pipe, stdout=pipe, text=True, start_new_session=not env
            )
        )
        stream = running[-1].stdout
        assert stream is not None
        while stream.readline() not in ("ready\n", ""):
            pass
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.communicate()


@pytest.mark.parametrize("env", [{}, pytest.param({"CHECKPOINT_SESSION": "one"}, marks=needs_proc)])
def test_what_a_living_session_runs_is_left_to_it(
    folder: Path, agent: Callable[..., subprocess.Popen[str]], env: dict[str, str]
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1"), task("t2")))
    living = agent(**env)
    process = task_of(folder)["process"]
    assert process.startswith(f"{living.pid} ")
    for other in ({}, {"CHECKPOINT_SESSION": "two"}):
        ran = run_checkpoint("workflow", "resume", "--yes", "--json", cwd=folder, env=other)
        answer = json.loads(ran.stdout)
        assert (answer["tasks"], answer["left_alone"]) == (["t2"], ["t1"])
    assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("running", 0)
    living.kill()
    living.communicate()
    assert run_checkpoint("workflow", "resume", "--yes", cwd=folder, env=env).returncode == 0
    assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("pending", 1)
    assert "process" not in task_of(folder)


@needs_proc
def test_two_sessions_of_one_launcher_leave_each_other_alone(folder: Path) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1")))
    words = [
        "sh",
        "-c",
        '"$0" workflow task start t1 && echo ready && exec sleep 60',
        str(BIN / "checkpoint"),
    ]
    env = {**os.environ, "CHECKPOINT_SESSION": "beside"}
    with subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE) as living:
        assert living.stdout is not None
        while living.stdout.readline() not in (b"ready\n", b""):
            pass
        assert task_of(folder)["process"].startswith(f"{os.getpid()} ")
        other = run_checkpoint(
            "workflow", "resume", "--yes", "--json", cwd=folder, env={"CHECKPOINT_SESSION": "two"}
        )
        living.kill()
    assert json.loads(other.stdout)["left_alone"] == ["t1"]
    run_checkpoint("workflow", "resume", "--yes", cwd=folder, env={"CHECKPOINT_SESSION": "two"})
    assert (task_of(folder)["status"], task_of(folder)["attempts"]) == ("pending", 1)


@needs_proc
def test_where_every_task_runs_in_another_session_resume_says_to_wait(
    folder: Path, agent: Callable[..., subprocess.Popen[str]]
) -> None:
    write_workflow(folder, phase("IMPLEMENTATION"), execution(task("t1")))
    living = agent(CHECKPOINT_SESSION="one")
    ran = run_checkpoint("workflow", "resume", "--yes", "--json", cwd=folder)
    answer = json.loads(ran.stdout)
    assert (ran.returncode, answer["action"], answer["tasks"], answer["left_alone"]) == (
        1,
        "ask",
        [],
        ["t1"],
    )
    os.kill(living.pid, signal.SIGKILL)
    # it has ended, and nobody has asked how
    os.waitid(os.P_PID, living.pid, os.WEXITED | os.WNOWAIT)
    assert json.loads(run_checkpoint("workflow", "resume", "--yes", "--json", cwd=folder).stdout)[
        "tasks"
    ] == ["t1"]


@pytest.mark.parametrize(
    "process", ["", "x", "0 0", "-1 5", "1", "99999999999 1", "² 1", None, 4, ["1"]]
)
def test_a_process_that_makes_no_sense_is_gone(folder: Path, process: object) -> None:
    rows = [{**task("t1", "running"), "process": process}]
    write_workflow(folder, phase("IMPLEMENTATION"), execution(*rows))
    run(folder, "resume", "--yes")
    assert read_json(folder / EXECUTION)["tasks"][0]["status"] != "complete"
