"""What the schema's own rules do is nobody's fault, and what they would not have done still is."""

from typing import Any

import pytest
from hypothesis import given

from checkpoint_git.merge.conflicts import decide
from checkpoint_git.merge.result import OURS, THEIRS
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.tools.merges.judge import Judged
from tests.protocols.workflow.test_merge import (
    EXECUTION,
    PHASE,
    advanced,
    apply_phase_steps,
    apply_task_steps,
    phase_steps,
    task_steps,
)
from tests.support.examples import examples
from tests.support.merging import judge_texts, merge_texts
from tests.support.workflows import execution, phase, task, text_of

Value = dict[str, Any]


def explained(path: str, base: Value, first: Value, second: Value, result: str | Value) -> Judged:
    text = result if isinstance(result, str) else text_of(result)
    return judge_texts(
        text_of(base), text_of(first), text_of(second), text, load_merge_schema(path)
    )


def check_own_merge(path: str, base: Value, ours: Value, theirs: Value) -> None:
    """Our own merge, its conflicts decided for either side, is not a failure."""
    merged = merge_texts(text_of(base), text_of(ours), text_of(theirs), load_merge_schema(path))
    for side in (OURS, THEIRS):
        result = decide(merged, {each.where: side for each in merged.conflicts}).text
        assert not explained(path, base, ours, theirs, result).has_failed


@given(before=phase_steps, ours=phase_steps, theirs=phase_steps)
@examples(60)
def test_our_own_merge_of_two_phases_fails_nowhere(before: Any, ours: Any, theirs: Any) -> None:
    base = apply_phase_steps(phase("ARCHITECTURE"), before, "b")
    check_own_merge(
        PHASE, base, apply_phase_steps(base, ours, "o"), apply_phase_steps(base, theirs, "t")
    )


@given(before=task_steps, ours=task_steps, theirs=task_steps)
@examples(60)
def test_our_own_merge_of_two_executions_fails_nowhere(before: Any, ours: Any, theirs: Any) -> None:
    base = apply_task_steps(execution(task("a")), before, "b")
    check_own_merge(
        EXECUTION, base, apply_task_steps(base, ours, "o"), apply_task_steps(base, theirs, "t")
    )


def test_a_task_that_only_one_side_added_is_still_lost() -> None:
    base, ours, theirs = (
        execution(task("a")),
        execution(task("a"), task("b")),
        execution(task("a"), task("c")),
    )
    found = explained(EXECUTION, base, ours, theirs, ours)
    assert [(entry.verdict, entry.name) for entry in found.entries if entry.verdict == "lost"] == [
        ("lost", "tasks[c]")
    ]


def test_the_lower_rank_goes_by_the_rules_and_the_higher_one_is_lost() -> None:
    base = phase("ARCHITECTURE")
    ours, theirs = advanced(base, 10), {**base, "phase_status": "complete"}
    found = explained(PHASE, base, ours, theirs, ours)
    assert not found.has_failed
    assert explained(PHASE, base, ours, theirs, theirs).has_failed


@pytest.mark.parametrize("side", [OURS, THEIRS])
def test_what_a_person_had_to_decide_is_decided(side: int) -> None:
    base = phase("ARCHITECTURE")
    ours, theirs = advanced(base, 10), {**base, "phase_status": "failed"}
    found = explained(PHASE, base, ours, theirs, ours if side == OURS else theirs)
    assert not found.has_failed
    assert found.is_doubtful
