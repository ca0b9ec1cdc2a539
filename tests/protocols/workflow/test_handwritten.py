"""Files as an agent writes them from the protocol's text alone: read as they are meant, written
whole.
"""

import json
from pathlib import Path
from typing import Any

from checkpoint_git.core.finding import has_errors
from checkpoint_git.core.jsontext import split_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow import rules
from checkpoint_git.protocols.workflow.changes import WorkflowWriter
from checkpoint_git.protocols.workflow.handwritten import complete, find_place, is_readable
from checkpoint_git.protocols.workflow.layout import EXECUTION, PHASE
from checkpoint_git.protocols.workflow.plan import look_ahead
from checkpoint_git.protocols.workflow.state import load_state
from checkpoint_git.protocols.workflow.store import plan_workflow_place
from tests.support.rows import rows
from tests.support.verbs import NOON, seconds
from tests.support.workflows import phase, read_json, text_of

NOW = seconds(NOON)
CODE = "workflow/handwritten"


def hand_phase(**changes: Any) -> dict[str, Any]:
    value = phase("IMPLEMENTATION", last_updated=..., user_checkpoints=..., interruption_safe=...)
    for row in value["completed_phases"]:
        row["output"] = None
    return {**value, **changes}


def check(file: str, value: Any) -> Document:
    return check_document(f"memory/state/{file}.json", text_of(value).encode(), now=NOW)


@rows(
    ("tasks", "expected"),
    [
        ({}, []),
        ({"a": {"status": "running", "own": 1}}, [{"id": "a", "status": "running", "own": 1}]),
        ({"a": {"id": "a", "status": "pending"}}, [{"id": "a", "status": "pending"}]),
        (
            {"a": "complete", "b": "pending"},
            [{"id": "a", "status": "complete"}, {"id": "b", "status": "pending"}],
        ),
    ],
)
def test_tasks_by_id_become_rows(tasks: Any, expected: Any) -> None:
    assert complete(EXECUTION, {"tasks": tasks, "x": 1}) == {"tasks": expected, "x": 1}
    assert is_readable(Mismatch("/tasks", "type", "array", tasks, ""))


@rows(
    "tasks",
    [
        {"": "complete"},
        {"a": {}},
        {"a": {"status": ""}},
        {"a": {"status": "x", "id": "b"}},
        {"a": 1},
    ],
)
def test_tasks_that_only_a_guess_could_read_stay_an_error(tasks: Any) -> None:
    assert complete(EXECUTION, {"tasks": tasks}) == {"tasks": tasks}
    assert has_errors(check(EXECUTION, {"workflow_id": "login", "tasks": tasks}).findings)


def test_what_is_missing_or_null_is_a_warning_where_it_is() -> None:
    found = check(PHASE, hand_phase(user_checkpoints=None)).findings
    assert {finding.code for finding in found} == {CODE}
    assert {finding.where for finding in found} == {
        "/last_updated",
        "/user_checkpoints",
        "/interruption_safe",
        "/completed_phases/0/output",
        "/completed_phases/1/output",
    }
    found = check(EXECUTION, {"tasks": {"a": "odd"}}).findings
    assert {(finding.code, finding.where) for finding in found} == {
        (CODE, "/last_updated"),
        (CODE, "/workflow_id"),
        (CODE, "/tasks"),
        ("workflow/unknown-task-status", "/tasks/a/status"),
    }


@rows(
    "changes",
    [
        {"started_at": None},
        {"workflow_id": None},
        {"completed_phases": None},
        {"user_checkpoints": 1},
    ],
)
def test_what_nobody_can_complete_stays_an_error(changes: dict[str, Any]) -> None:
    assert has_errors(check(PHASE, hand_phase(**changes)).findings)


def test_a_place_of_a_row_is_that_of_its_id() -> None:
    value: dict[str, Any] = {"tasks": {"a/b": {}, "c": {}}}
    assert split_pointer(find_place(value, "/tasks/0/status")) == ["tasks", "a/b", "status"]
    assert find_place(value, "/tasks") == "/tasks"
    assert find_place({"tasks": []}, "/tasks/0/status") == "/tasks/0/status"


def test_tasks_by_id_are_compared_with_the_phase() -> None:
    found = rules.check_together(
        phase("VERIFICATION"), {"workflow_id": "login", "tasks": {"a": "running"}}
    )
    assert [finding.code for finding in found] == [rules.BEHIND]


def test_such_a_workflow_resumes_and_its_next_write_leaves_both_files_whole(tmp_path: Path) -> None:
    folder = tmp_path / "memory/state"
    folder.mkdir(parents=True)
    tasks = {"t1": {"status": "complete", "output": None, "own": 1.50}, "t2": "pending"}
    (folder / "phase.json").write_text(text_of(hand_phase(mine=["kept"])))
    (folder / "execution.json").write_text(text_of({"tasks": tasks}).replace("1.5", "1.50"))
    place = plan_workflow_place(str(tmp_path))

    prospect = look_ahead(place, (), NOW, 7)
    assert (prospect.question.kind, {finding.level for finding in prospect.findings}) == (
        "resume",
        {"warning"},
    )
    assert prospect.plan is not None
    assert prospect.plan.action == "continue_tasks"

    assert WorkflowWriter(place, NOW).change_task("start", ["t2"]).refused == []
    written = load_state(place, NOW)
    assert [document.findings for document in written.documents] == [[], []]
    value = read_json(folder / "phase.json")
    assert (value["mine"], value["user_checkpoints"], value["last_updated"]) == (["kept"], [], NOON)
    assert [[*row] for row in value["completed_phases"]] == [["phase", "completed_at"]] * 2
    rows_of = read_json(folder / "execution.json")
    assert rows_of["workflow_id"] == "login"
    assert rows_of["tasks"][0] == {"id": "t1", **json.loads(json.dumps(tasks["t1"]))}
    assert (rows_of["tasks"][1]["id"], rows_of["tasks"][1]["status"]) == ("t2", "running")
    assert "1.50" in (folder / "execution.json").read_text()
