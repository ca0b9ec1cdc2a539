"""The Python interface of workflows: the same verbs without a terminal."""

from pathlib import Path

import pytest

from checkpoint_git import CheckpointError, Workflow
from tests.support.verbs import NOON, seconds
from tests.support.workflows import OUTPUTS, write_output

NOW = seconds(NOON)


def begun(root: Path) -> Workflow:
    workflow = Workflow(root, approvals=["REQUIREMENTS"], now=NOW)
    assert workflow.start("login") is None
    return workflow


def test_a_workflow_goes_its_way(tmp_path: Path) -> None:
    workflow = begun(tmp_path)
    assert workflow.status()["phase"] == "REQUIREMENTS"
    write_output(tmp_path, OUTPUTS["REQUIREMENTS"])
    plan = workflow.resume().plan
    assert plan is not None
    assert plan.action == "ask_approval"
    assert [finding.code for finding in workflow.advance()] == ["workflow/not-approved"]
    assert workflow.approve("requirements") == []
    assert workflow.advance() == []
    assert workflow.advance(force=True) == []
    assert workflow.add_tasks("a", "b") == []
    assert workflow.start_task("a") == []
    assert [step.verdict for step in workflow.recover()] == ["orphan"]
    assert workflow.finish_task("a") == []
    assert workflow.fail_task("b", "no disk") == []
    assert workflow.save("here") == []
    assert {task["id"]: task["status"] for task in workflow.status()["tasks"]} == {
        "a": "complete",
        "b": "pending",
    }
    assert workflow.validate() == []
    assert workflow.archive() == "memory/state/.archive/login_20260302T120000Z"


def test_an_unfinished_workflow_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    workflow = begun(tmp_path)
    with pytest.raises(CheckpointError, match="unfinished"):
        workflow.start("other")
    assert workflow.start("other", fresh=True) == "memory/state/.archive/login_20260302T120000Z"
    assert workflow.status()["workflow_id"] == "other"


def test_corrupt_state_has_no_plan(tmp_path: Path) -> None:
    workflow = begun(tmp_path)
    (tmp_path / "memory/state/phase.json").write_text("{")
    prospect = workflow.resume()
    assert (prospect.plan, prospect.question.kind) == (None, "corrupt")
    assert [finding.code for finding in workflow.save()] == ["json/syntax"]


def test_without_a_workflow_there_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no workflow found"):
        Workflow(tmp_path).status()
