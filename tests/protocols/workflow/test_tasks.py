"""Tasks whose session is gone: what their outputs say of them."""

from typing import Any

import pytest

from checkpoint_git.protocols.workflow.tasks import OutputFile, TaskStep, plan_step
from tests.support.rows import rows
from tests.support.verbs import seconds
from tests.support.workflows import task

STARTED = "2026-03-02T09:00:00Z"
LATER = seconds(STARTED) + 60
PATH = "memory/reports/t1.json"


def running(**changes: Any) -> dict[str, Any]:
    return task("t1", "running", started_at=STARTED, output=PATH, **changes)


def recovered(output: OutputFile, **changes: Any) -> TaskStep:
    step = plan_step(1, running(**changes), output, LATER)
    assert step.row == 1
    return step


def test_without_an_output_it_is_an_orphan_that_is_tried_again() -> None:
    step = recovered(OutputFile(PATH))
    assert (step.verdict, step.status, step.attempts) == ("orphan", "pending", 1)


def test_the_last_attempt_fails() -> None:
    assert recovered(OutputFile(PATH), attempts=2).status == "failed"
    assert recovered(OutputFile(PATH), attempts=2, max_attempts=5).status == "pending"
    assert recovered(OutputFile(PATH), attempts=b"2", max_attempts=b"3").status == "failed"


@rows(
    ("said", "status"),
    [
        ({}, "complete"),
        ({"status": "complete"}, "complete"),
        ({"status": "Success"}, "complete"),
        ({"status": "failed", "error": "no disk"}, "failed"),
        ({"status": "blocked"}, "blocked"),
        ({"status": "of its own"}, "of its own"),
        ([1, 2], "complete"),
        ({"status": 7}, "complete"),
    ],
)
def test_an_output_says_the_status_and_counts_no_attempt(said: Any, status: str) -> None:
    step = recovered(OutputFile(PATH, "good", "", said, LATER))
    assert (step.status, step.attempts) == (status, 0)
    assert step.completed_at == "2026-03-02T09:01:00Z"  # when it was found
    assert step.error == (said.get("error", "") if isinstance(said, dict) else "")


@pytest.mark.parametrize(
    "output",
    [
        OutputFile(PATH, "unreadable", "line 1: no JSON", None, LATER),
        OutputFile(PATH, "good", "", {"status": "running"}, LATER),
    ],
)
def test_an_output_that_is_broken_or_unfinished_makes_the_task_an_orphan(
    output: OutputFile,
) -> None:
    step = recovered(output)
    assert (step.verdict, step.status, step.attempts) == ("orphan", "pending", 1)


def test_an_output_from_before_the_attempt_is_known_by_its_digest_and_stays() -> None:
    same, new = (
        OutputFile(PATH, "good", "", {}, LATER, "d1"),
        OutputFile(PATH, "good", "", {}, LATER - 999, "d2"),
    )
    step = recovered(same, digest="d1")
    assert (step.verdict, step.attempts) == ("orphan", 1)
    assert recovered(new, digest="d1").status == "complete"
    assert recovered(new, digest=None).digest == "d2"


def test_where_no_digest_was_noted_the_time_of_the_file_says_so() -> None:
    assert recovered(OutputFile(PATH, "good", "", {}, LATER - 63)).verdict == "orphan"


def test_an_output_of_the_very_second_counts() -> None:
    assert recovered(OutputFile(PATH, "good", "", {}, LATER - 60)).status == "complete"
