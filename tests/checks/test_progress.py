from typing import Any

import pytest

from checkpoint_git.checks.progress import (
    count_rows,
    describe_budget,
    find_age,
    find_gate,
    is_over_budget,
    is_stale,
    is_unstarted,
)
from checkpoint_git.core.clock import DAY, read_instant
from tests.support.samples import checkpoint

WRITTEN = (read_instant("2026-03-02T09:30:00Z") or (0, ""))[0]


@pytest.mark.parametrize(
    ("field", "text", "at_gate"),
    [
        ("step", "sprint-2-review", True),
        ("step", "awaiting-approval", True),
        ("step", "sign-off", True),
        ("step", "waiting for sign_off", True),
        ("phase", "gate", True),
        ("phase", "Quality Gate 2", True),
        ("step", "spec-approved", False),
        ("step", "gate-passed", False),
        ("step", "review-merged", False),
        ("step", "navigate", False),
        ("step", "sign-in", False),
        ("phase", "build-loop", False),
    ],
)
def test_a_phase_or_step_is_at_a_gate_when_it_names_one_that_is_ahead(field: str, text: str, at_gate: bool) -> None:
    assert find_gate(checkpoint(**{field: text})) == (text if at_gate else "")


def test_a_step_that_says_its_gate_is_over_speaks_for_its_phase() -> None:
    assert find_gate(checkpoint(phase="gate", step="gate-passed")) == ""
    assert find_gate(checkpoint(phase="gate", step="tests-done")) == "gate"


def test_rows_are_counted_whatever_else_is_in_the_table() -> None:
    assert count_rows(checkpoint()) == (2, 3)
    assert count_rows(checkpoint(progress_table=["x", None, {"status": "complete"}])) == (1, 1)
    assert count_rows(checkpoint(progress_table={"status": "complete"})) == (0, 0)


def test_work_is_unstarted_when_there_are_rows_and_none_was_begun() -> None:
    assert is_unstarted(checkpoint(progress_table=[{"status": "not_started"}]))
    assert not is_unstarted(checkpoint(progress_table=[{"status": "not_started"}, {"status": "in_progress"}]))
    assert not is_unstarted(checkpoint(progress_table=[]))


@pytest.mark.parametrize(
    ("status", "age", "stale"),
    [
        ("in_progress", 7 * DAY, False),
        ("in_progress", 7 * DAY + 1, True),
        ("blocked", 30 * DAY, False),
        ("complete", 30 * DAY, False),
    ],
)
def test_only_work_in_progress_goes_stale_and_after_more_than_seven_days(status: str, age: int, stale: bool) -> None:
    assert is_stale(checkpoint(status=status), WRITTEN + age) == stale


def test_an_age_needs_an_instant() -> None:
    assert find_age(checkpoint(), WRITTEN + 5) == 5
    assert find_age(checkpoint(updated_at="2026-13-45"), WRITTEN) is None
    assert find_age(checkpoint(updated_at="2026-03-02T10:30:00+01:00"), WRITTEN) == 0


@pytest.mark.parametrize(
    ("cost", "over"),
    [
        ({"total_usd": 2.5, "budget_usd": 2}, True),
        ({"total_usd": 2, "budget_usd": 2}, False),
        ({"total_usd": "9", "budget_usd": 2}, False),
        ({"total_usd": True, "budget_usd": 0}, False),
        ({"total_usd": 9}, False),
        ([9, 2], False),
        (..., False),
    ],
)
def test_over_budget_is_a_total_above_its_budget(cost: Any, over: bool) -> None:
    assert is_over_budget(checkpoint(cost=cost)) == over


@pytest.mark.parametrize(
    ("total", "told"), [(12.5, "12.5"), (9, "9"), (10**400, "10000000000000000..."), (float("inf"), "inf")]
)
def test_by_how_much_the_budget_was_exceeded_is_told(total: float, told: str) -> None:
    assert describe_budget(checkpoint(cost={"total_usd": total, "budget_usd": 1})) == f"over budget ({told} of 1 USD)"
