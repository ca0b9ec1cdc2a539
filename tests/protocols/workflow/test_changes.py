"""Everything that changes a workflow: what it writes, what it refuses, and that a refusal writes
nothing.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.workflow import store
from checkpoint_git.protocols.workflow.changes import ChangedWorkflow, WorkflowWriter
from checkpoint_git.protocols.workflow.layout import PHASES
from checkpoint_git.protocols.workflow.store import plan_workflow_place
from tests.support.rows import rows
from tests.support.verbs import seconds
from tests.support.workflows import (
    OUTPUTS,
    execution,
    phase,
    read_json,
    task,
    text_of,
    write_output,
    write_workflow,
)

NOON = "2026-03-02T12:00:00Z"
NOW = seconds(NOON)
FIRST, SECOND, THIRD, _, FIFTH = PHASES


def writer(root: Path, now: int = NOW, session: str = "") -> WorkflowWriter:
    return WorkflowWriter(plan_workflow_place(str(root)), now, session=session)


def phase_of(root: Path) -> Any:
    return read_json(root / "memory/state/phase.json")


def tasks_of(root: Path) -> Any:
    return read_json(root / "memory/state/execution.json")["tasks"]


def codes(changed: ChangedWorkflow) -> list[str]:
    return [finding.code for finding in changed.refused]


def test_a_start_writes_both_files_and_is_safe_to_interrupt(tmp_path: Path) -> None:
    earlier = write_output(tmp_path, OUTPUTS[FIRST])
    changed = writer(tmp_path).start("login")
    assert changed is not None
    assert (changed.refused, changed.archive) == ([], None)
    value = phase_of(tmp_path)
    assert (value["workflow_id"], value["current_phase"], value["phase_status"]) == (
        "login",
        FIRST,
        "in_progress",
    )
    assert value["started_at"] == value["last_updated"] == NOON
    assert value["interruption_safe"] is True
    assert list(value["earlier_results"]) == [str(earlier.relative_to(tmp_path))]
    assert read_json(tmp_path / "memory/state/execution.json") == {
        "workflow_id": "login",
        "last_updated": NOON,
        "tasks": [],
    }


def test_a_new_start_archives_what_was_there_and_an_unasked_one_leaves_it(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(SECOND))
    before = phase_of(tmp_path)
    assert writer(tmp_path).start("other", unasked=True) is None
    assert phase_of(tmp_path) == before
    changed = writer(tmp_path).start("other")
    assert changed is not None
    assert changed.archive is not None
    assert read_json(tmp_path / changed.archive / "phase.json") == before
    assert phase_of(tmp_path)["workflow_id"] == "other"


def test_a_start_without_a_name_takes_the_old_one_or_begins_nothing(tmp_path: Path) -> None:
    folder = write_workflow(tmp_path, phase(SECOND))
    changed = writer(tmp_path).start("")
    assert changed is not None
    assert phase_of(tmp_path)["workflow_id"] == "login"
    (folder / "phase.json").write_text("{")
    (folder / "execution.json").write_text("{")
    changed = writer(tmp_path).start("")
    assert changed is not None
    assert (changed.saved, changed.archive is not None) == ((), True)
    assert not (folder / "phase.json").exists()


def test_nothing_is_changed_where_no_workflow_is(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no phase\.json"):
        writer(tmp_path).save("")
    with pytest.raises(CheckpointError, match=r"no phase\.json"):
        writer(tmp_path).advance(())


def test_a_save_keeps_a_note_and_goes_on_from_a_failure(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    writer(tmp_path).fail("no disk")
    assert phase_of(tmp_path)["failure"] == {"at": NOON, "error": "no disk"}
    assert phase_of(tmp_path)["phase_status"] == "failed"
    writer(tmp_path).save("half done")
    assert phase_of(tmp_path)["saved"] == {"at": NOON, "note": "half done"}
    assert phase_of(tmp_path)["phase_status"] == "in_progress"
    writer(tmp_path).save("")
    assert phase_of(tmp_path)["saved"] == {"at": NOON}
    writer(tmp_path).fail("")
    assert phase_of(tmp_path)["failure"] == {"at": NOON}


def test_a_phase_that_is_complete_stays_so_when_it_is_saved(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(SECOND, "complete"))
    writer(tmp_path).save("")
    assert phase_of(tmp_path)["phase_status"] == "complete"


def test_time_never_goes_back(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(last_updated="2026-03-02T13:00:00Z"))
    writer(tmp_path, NOW).save("")
    assert phase_of(tmp_path)["last_updated"] == "2026-03-02T13:00:00Z"
    assert phase_of(tmp_path)["saved"]["at"] == "2026-03-02T13:00:00Z"
    write_workflow(tmp_path, phase(last_updated="2026-03-02T11:00:00.5Z"))
    writer(tmp_path, seconds("2026-03-02T11:00:00Z")).save("")
    assert phase_of(tmp_path)["saved"]["at"] == "2026-03-02T11:00:01Z"


def test_what_is_not_touched_stays_as_it_was_written(tmp_path: Path) -> None:
    folder = write_workflow(tmp_path, phase(own=1.50))
    (folder / "phase.json").write_text(text_of(phase(own=1)).replace('"own": 1', '"own": 1.50e0'))
    execution_text = (folder / "execution.json").read_text()
    assert writer(tmp_path).save("").saved == ["memory/state/phase.json"]
    assert '"own": 1.50e0' in (folder / "phase.json").read_text()
    assert (folder / "execution.json").read_text() == execution_text


def test_a_state_with_errors_is_refused_and_kept(tmp_path: Path) -> None:
    folder = write_workflow(tmp_path, phase(current_phase="DANCE"))
    before = (folder / "phase.json").read_bytes()
    changed = writer(tmp_path).save("")
    assert changed.refused
    assert changed.saved == ()
    assert (folder / "phase.json").read_bytes() == before


def test_an_advance_needs_a_result_and_its_approval(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    writes = writer(tmp_path)
    before = phase_of(tmp_path)
    assert codes(writes.advance((FIRST,))) == ["workflow/output-missing"]
    write_output(tmp_path, OUTPUTS[FIRST])
    assert codes(writes.advance((FIRST,))) == ["workflow/not-approved"]
    assert phase_of(tmp_path) == before
    changed = writes.advance((FIRST,), approved=True)
    assert (changed.refused, changed.following) == ([], SECOND)
    value = phase_of(tmp_path)
    assert (value["current_phase"], value["phase_status"]) == (SECOND, "pending")
    (row,) = value["completed_phases"]
    assert (row["phase"], row["completed_at"], row["output"]) == (FIRST, NOON, OUTPUTS[FIRST])
    assert value["user_checkpoints"][-1]["results"] == {OUTPUTS[FIRST]: row["digest"]}


def test_an_approval_is_of_the_result_that_was_there(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    writes = writer(tmp_path)
    assert codes(writes.approve(FIRST)) == ["workflow/output-missing"]
    assert codes(writes.approve(SECOND)) == ["workflow/not-begun"]
    write_output(tmp_path, OUTPUTS[FIRST])
    assert codes(writes.approve(FIRST)) == []
    write_output(tmp_path, OUTPUTS[FIRST], {"made": "later"})
    assert codes(writes.advance((FIRST,))) == ["workflow/not-approved"]
    assert codes(writes.approve(FIRST)) == []
    assert len(phase_of(tmp_path)["user_checkpoints"]) == 1
    assert codes(writes.advance((FIRST,))) == []


def test_an_advance_by_force_notes_no_result(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    assert writer(tmp_path).advance((), force=True).refused == []
    assert phase_of(tmp_path)["completed_phases"] == [{"phase": FIRST, "completed_at": NOON}]


def test_open_tasks_hold_the_implementation_and_are_noted_where_they_are_left(
    tmp_path: Path,
) -> None:
    write_workflow(tmp_path, phase(THIRD), execution(task("t1", "complete"), task("t2")))
    refused = writer(tmp_path).advance(())
    assert codes(refused) == ["workflow/tasks-open"]
    assert "1 of 2 tasks are not complete" in refused.refused[0].message
    assert refused.refused[0].path == "memory/state/execution.json"
    writer(tmp_path).advance((), force=True)
    assert phase_of(tmp_path)["completed_phases"][-1]["left_open"] == ["t2"]


def test_no_tasks_are_no_result(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(THIRD))
    refused = writer(tmp_path).advance(())
    assert "no tasks are recorded" in refused.refused[0].message
    with pytest.raises(CheckpointError, match="is its tasks"):
        writer(tmp_path).advance((), "memory/x.json")


def test_the_last_advance_archives_the_workflow(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(FIFTH))
    write_output(tmp_path, OUTPUTS[FIFTH])
    changed = writer(tmp_path).advance(())
    assert (changed.refused, changed.following) == ([], "")
    assert changed.archive is not None
    archived = read_json(tmp_path / changed.archive / "phase.json")
    assert (archived["current_phase"], archived["phase_status"]) == (FIFTH, "complete")
    assert not (tmp_path / "memory/state/phase.json").exists()


def test_a_step_back_rejects_what_came_of_it_and_deletes_nothing(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(THIRD))
    changed = writer(tmp_path).step_back(SECOND, "too slow")
    assert changed.refused == []
    value = phase_of(tmp_path)
    assert (value["current_phase"], value["phase_status"]) == (SECOND, "in_progress")
    assert [row["phase"] for row in value["completed_phases"]] == [FIRST]
    assert [row["phase"] for row in value["user_checkpoints"]] == [FIRST]
    (noted,) = value["went_back"]
    assert (noted["from"], noted["to"], noted["note"]) == (THIRD, SECOND, "too slow")
    assert [row["phase"] for row in noted["completed"]] == [SECOND]
    assert OUTPUTS[SECOND] in value["earlier_results"]
    assert OUTPUTS[FIRST] not in value["earlier_results"]
    assert (tmp_path / OUTPUTS[SECOND]).exists()
    assert codes(writer(tmp_path).advance(())) == ["workflow/output-missing"]


def test_a_step_back_goes_only_where_something_was(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(SECOND))
    assert codes(writer(tmp_path).step_back(THIRD, "")) == ["workflow/not-begun"]
    assert codes(writer(tmp_path).step_back("", "")) == ["workflow/output-missing"]
    assert "went_back" not in phase_of(tmp_path)
    write_output(tmp_path, OUTPUTS[SECOND])
    assert codes(writer(tmp_path).step_back("", "")) == []
    assert "note" not in phase_of(tmp_path)["went_back"][0]


def test_a_task_is_added_started_and_done_with_its_output(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(THIRD, "pending"))
    writes = writer(tmp_path, session="s1")
    assert writes.change_task("add", ["t1", "t2"]).refused == []
    assert [row["id"] for row in tasks_of(tmp_path)] == ["t1", "t2"]
    # it need not be there yet
    assert codes(writes.change_task("start", ["t1"], "memory/reports/t1.json")) == []
    assert tasks_of(tmp_path)[0]["session"] == "s1"
    assert phase_of(tmp_path)["phase_status"] == "in_progress"
    assert codes(writes.change_task("done", ["t1"])) == ["workflow/output-missing"]
    write_output(tmp_path, "memory/reports/t1.json")
    assert codes(writes.change_task("done", ["t1"])) == []
    assert tasks_of(tmp_path)[0]["status"] == "complete"


@rows("path", ["/etc/hostname", "../x", "a\0b"])
def test_an_output_outside_the_project_is_refused_at_once(tmp_path: Path, path: str) -> None:
    write_workflow(tmp_path, phase(THIRD), execution(task()))
    assert codes(writer(tmp_path).change_task("start", ["t1"], path)) == ["workflow/output-outside"]
    assert tasks_of(tmp_path)[0]["status"] == "pending"


def test_a_recovery_is_of_what_nobody_runs(tmp_path: Path) -> None:
    running = task("t1", "running", started_at="2026-03-02T09:00:00Z", session="mine")
    write_workflow(tmp_path, phase(THIRD), execution(running, task("t2")))
    before = json.dumps(tasks_of(tmp_path))
    assert writer(tmp_path).recover("other").steps != ()
    assert json.dumps(tasks_of(tmp_path)) != before
    assert writer(tmp_path).recover("other").steps == ()


def test_an_archive_of_a_finished_workflow_notes_the_tasks_that_are_left(tmp_path: Path) -> None:
    rows_done = [{"phase": name, "completed_at": NOON, "output": OUTPUTS[name]} for name in PHASES]
    value = phase(FIFTH, "complete", completed_phases=rows_done, last_updated=NOON)
    write_workflow(tmp_path, value, execution(task("t1")))
    changed = writer(tmp_path).archive()
    assert changed.archive is not None
    archived = read_json(tmp_path / changed.archive / "phase.json")
    assert next(row for row in archived["completed_phases"] if row["phase"] == THIRD)[
        "left_open"
    ] == ["t1"]


def test_a_kill_between_the_two_files_leaves_a_state_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workflow(tmp_path, phase(THIRD), execution(task()))
    written: list[tuple[str, bytes]] = []
    monkeypatch.setattr(
        store, "write_state", lambda place, file, before, data: written.append((file, data))
    )
    writer(tmp_path).change_task("start", ["t1"])
    assert [file for file, _ in written] == ["phase", "execution", "phase"]
    safe = [json.loads(data)["interruption_safe"] for file, data in written if file == "phase"]
    assert safe == [False, True]
