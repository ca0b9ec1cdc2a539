"""How two versions of a workflow's files come together: examples, and the law that valid sides stay
valid.
"""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import has_errors
from checkpoint_git.merge.conflicts import decide
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.result import OURS, THEIRS
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow.layout import PHASES
from tests.support.examples import examples
from tests.support.merging import merge_texts
from tests.support.verbs import seconds
from tests.support.workflows import execution, phase, task, text_of

PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"
SCHEMAS = {path: load_merge_schema(path) for path in (PHASE, EXECUTION)}
NOW = seconds("2026-03-09T00:00:00Z")
Value = dict[str, Any]


def merge(path: str, base: Value | None, ours: Value, theirs: Value) -> Merged:
    return merge_texts(
        None if base is None else text_of(base),
        text_of(ours),
        text_of(theirs),
        SCHEMAS[path],
        inner=False,
    )


def merged_value(path: str, base: Value | None, ours: Value, theirs: Value) -> Value:
    """The clean result, the same with the sides swapped."""
    one, other = merge(path, base, ours, theirs), merge(path, base, theirs, ours)
    assert (one.conflicts, other.conflicts) == ([], [])
    assert json.loads(one.text) == json.loads(other.text)
    value: Value = json.loads(one.text)
    return value


def conflicts(path: str, base: Value | None, ours: Value, theirs: Value) -> list[str]:
    """The places that a person decides, the same with the sides swapped."""
    one, other = (
        [each.where for each in merge(path, base, *sides).conflicts]
        for sides in ((ours, theirs), (theirs, ours))
    )
    assert one == other
    return one


def advanced(state: Value, hour: int) -> Value:
    """The next phase, the one before completed at that hour of the second day."""
    new = copy.deepcopy(state)
    at = PHASES.index(new["current_phase"])
    instant = f"2026-03-02T{hour:02}:00:00Z"
    new["completed_phases"].append(
        {"phase": PHASES[at], "completed_at": instant, "output": "x.json"}
    )
    new.update(current_phase=PHASES[at + 1], phase_status="pending", last_updated=instant)
    return new


def test_the_side_that_is_a_phase_further_is_taken_with_its_status() -> None:
    base = phase("ARCHITECTURE")
    done = {**base, "phase_status": "complete", "last_updated": "2026-03-02T11:00:00Z"}
    merged = merged_value(PHASE, base, advanced(base, 10), done)
    assert (merged["current_phase"], merged["phase_status"]) == ("IMPLEMENTATION", "pending")
    assert merged["last_updated"] == "2026-03-02T11:00:00Z"


def test_two_advances_of_one_phase_are_one_and_the_earlier_instant_counts() -> None:
    base = phase("ARCHITECTURE")
    twice = advanced(advanced(base, 12), 13)
    merged = merged_value(PHASE, base, advanced(base, 10), twice)
    assert merged["current_phase"] == "VERIFICATION"
    assert [row["completed_at"][11:13] for row in merged["completed_phases"]] == ["09", "10", "13"]


def test_approvals_of_both_sides_are_kept() -> None:
    base = phase("ARCHITECTURE", user_checkpoints=[])
    rows = [{"phase": name, "approved_at": "2026-03-02T09:00:00Z"} for name in PHASES[:2]]
    late = [{"phase": PHASES[1], "approved_at": "2026-03-02T09:20:00Z"}]
    merged = merged_value(
        PHASE, base, {**base, "user_checkpoints": rows}, {**base, "user_checkpoints": late}
    )
    assert sorted(merged["user_checkpoints"], key=json.dumps) == sorted(rows, key=json.dumps)


def test_a_failure_against_progress_is_a_question_about_the_whole_head() -> None:
    base = phase("ARCHITECTURE")
    failed = {**base, "phase_status": "failed"}
    assert conflicts(PHASE, base, advanced(base, 10), failed) == ["/completed_phases"]


def test_a_phase_taken_back_against_one_completed_is_a_question() -> None:
    base = phase("IMPLEMENTATION")
    back = phase("ARCHITECTURE", last_updated="2026-03-02T10:00:00Z")
    merged = merge(PHASE, base, back, advanced(base, 10))
    assert len(merged.conflicts) == 1
    for side, wanted in ((OURS, "ARCHITECTURE"), (THEIRS, "VERIFICATION")):
        picked = json.loads(decide(merged, {merged.conflicts[0].where: side}).text)
        assert picked["current_phase"] == wanted


@pytest.mark.parametrize("path", [PHASE, EXECUTION])
def test_two_workflows_are_never_mixed(path: str) -> None:
    base = phase() if path == PHASE else execution(task())
    ours = {**base, "workflow_id": "other"}
    theirs = advanced(phase(), 10) if path == PHASE else execution(task("t1", "running"))
    assert conflicts(path, base, ours, theirs) == [""]
    assert merged_value(path, base, ours, base) == ours


def test_tasks_of_both_sides_are_there_and_the_further_status_wins_whole() -> None:
    base = execution(task("a", "running", started_at="2026-03-02T09:00:00Z"), task("b"))
    ours = execution(
        task(
            "a",
            "complete",
            started_at="2026-03-02T09:00:00Z",
            completed_at="2026-03-02T10:00:00Z",
            output="a.json",
        ),
        task("b"),
        task("c"),
    )
    theirs = execution(
        task("a", "running", started_at="2026-03-02T11:00:00Z", attempts=1),
        task("b", "running"),
        task("d"),
    )
    merged = merged_value(EXECUTION, base, ours, theirs)
    rows = {row["id"]: row for row in merged["tasks"]}
    assert list(rows) == ["a", "b", "c", "d"]
    assert rows["a"] == {**ours["tasks"][0], "attempts": 1}
    assert rows["b"]["status"] == "running"


def test_failed_against_complete_is_a_question_about_one_task() -> None:
    base = execution(task("a", "running"), task("b"))
    ours, theirs = (
        execution(task("a", "failed", attempts=3), task("b")),
        execution(task("a", "complete"), task("b")),
    )
    assert conflicts(EXECUTION, base, ours, theirs) == ["/tasks/0/status"]


def test_unknown_fields_and_statuses_survive() -> None:
    base = execution(task("a", "waiting", cost=1.50), extra={"x": 1})
    ours = execution(task("a", "waiting", cost=1.50, owner="ada"), extra={"x": 1})
    theirs = execution(task("a", "waiting", cost=1.50), task("b"), extra={"x": 1, "y": 2})
    merged = merged_value(EXECUTION, base, ours, theirs)
    assert merged["extra"] == {"x": 1, "y": 2}
    assert merged["tasks"][0] == ours["tasks"][0]


# the law

minutes = st.integers(0, 600)
phase_steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "advance",
                "advance",
                "back",
                "status",
                "approve",
                "restart",
                "retime",
                "unsafe",
                "own",
            ]
        ),
        minutes,
    ),
    max_size=5,
)


def apply_phase_steps(state: Value, steps: list[tuple[str, int]], name: str) -> Value:
    """A history of valid states: every step that would break a rule is left out."""
    for what, minute in steps:
        new = copy.deepcopy(state)
        at = PHASES.index(new["current_phase"])
        instant = write_instant(seconds("2026-03-02T10:00:00Z") + minute * 60)
        new["last_updated"] = max(new["last_updated"], instant)
        if what == "advance":
            new["completed_phases"].append(
                {"phase": PHASES[at], "completed_at": instant, "output": f"{name}.json"}
            )
            new.update(
                current_phase=PHASES[min(at + 1, 4)],
                phase_status="complete" if at == 4 else "pending",
            )
        elif what == "back":
            new["completed_phases"] = new["completed_phases"][: max(at - 1, 0)]
            new.update(current_phase=PHASES[max(at - 1, 0)], phase_status="in_progress")
        elif what == "status":
            new["phase_status"] = ["pending", "in_progress", "complete", "failed"][minute % 4]
        elif what == "approve":
            new["user_checkpoints"].append({"phase": PHASES[at], "approved_at": instant})
        elif what == "restart":
            new.update(
                started_at=instant,
                completed_phases=[],
                current_phase=PHASES[0],
                phase_status="pending",
            )
        elif what == "retime" and new["completed_phases"]:
            new["completed_phases"][-1]["completed_at"] = instant
        elif what == "unsafe":
            new["interruption_safe"] = not new["interruption_safe"]
        else:
            new[f"own_{name}"] = minute
        state = new if is_valid(PHASE, new) else state
    return state


def is_valid(path: str, value: Value | str) -> bool:
    text = value if isinstance(value, str) else text_of(value)
    return not has_errors(check_document(path, text.encode(), now=NOW).findings)


def check_law(path: str, base: Value, ours: Value, theirs: Value) -> None:
    """The result is valid, or becomes valid whichever side each of its conflicts is decided for."""
    merged = merge(path, base, ours, theirs)
    for side in (OURS, THEIRS):
        assert is_valid(path, decide(merged, {each.where: side for each in merged.conflicts}).text)
    for chosen in merged.conflicts:
        mixed = {each.where: THEIRS if each is chosen else OURS for each in merged.conflicts}
        assert is_valid(path, decide(merged, mixed).text)


@given(before=phase_steps, ours=phase_steps, theirs=phase_steps)
@examples(300)
def test_two_valid_phases_never_become_an_invalid_one(
    before: list[tuple[str, int]], ours: list[tuple[str, int]], theirs: list[tuple[str, int]]
) -> None:
    base = apply_phase_steps(phase("ARCHITECTURE"), before, "b")
    check_law(PHASE, base, apply_phase_steps(base, ours, "o"), apply_phase_steps(base, theirs, "t"))


task_steps = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["start", "done", "fail", "block", "reset", "drop", "add"]),
        minutes,
    ),
    max_size=6,
)


def apply_task_steps(state: Value, steps: list[tuple[str, str, int]], name: str) -> Value:
    """The same for execution.json."""
    for which, what, minute in steps:
        new = copy.deepcopy(state)
        instant = write_instant(seconds("2026-03-02T10:00:00Z") + minute * 60)
        row = next((each for each in new["tasks"] if each["id"] == which), None)
        if row is None:
            new["tasks"].append(task(which if what != "add" else f"{which}-{name}"))
        elif what == "start":
            row.update(status="running", started_at=instant)
        elif what == "done":
            row.update(status="complete", completed_at=instant, output=f"{name}.json")
        elif what == "fail":
            row.update(
                status="pending" if row["attempts"] < 2 else "failed",
                attempts=row["attempts"] + 1,
                error=name,
            )
        elif what == "block":
            row.update(status=["blocked", "waiting"][minute % 2])
        elif what == "reset":
            new["tasks"][new["tasks"].index(row)] = task(which)
        elif what == "drop":
            new["tasks"].remove(row)
        state = new if is_valid(EXECUTION, new) else state
    return state


@given(before=task_steps, ours=task_steps, theirs=task_steps)
@examples(300)
def test_two_valid_executions_never_become_an_invalid_one(
    before: list[tuple[str, str, int]],
    ours: list[tuple[str, str, int]],
    theirs: list[tuple[str, str, int]],
) -> None:
    base = apply_task_steps(execution(task("a")), before, "b")
    check_law(
        EXECUTION, base, apply_task_steps(base, ours, "o"), apply_task_steps(base, theirs, "t")
    )


def test_times_of_every_form_are_merged_by_the_instant() -> None:
    base, ours, theirs = (
        phase(last_updated=f"2026-03-02T{rest}") for rest in ("09:30", "10:30:00", "11:30:00+0000")
    )
    assert merged_value(PHASE, base, ours, theirs)["last_updated"] == "2026-03-02T11:30:00+0000"
