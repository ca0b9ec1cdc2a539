"""The resume table: for each phase what is there, and what is to be done about it."""

from typing import Any

from checkpoint_git.protocols.workflow.layout import PHASES
from checkpoint_git.protocols.workflow.progress import find_behind, is_approved
from checkpoint_git.protocols.workflow.tasks import OutputFile
from checkpoint_git.protocols.workflow.transitions import (
    MOVES,
    TRANSITIONS,
    Facts,
    WorkflowPlan,
    move,
    plan_resume,
)
from tests.support.rows import rows
from tests.support.workflows import OUTPUTS, phase, task

MISSING, OLDER = OutputFile(), OutputFile("x.json", "older")
INVALID = OutputFile("x.json", "unreadable", "line 1: broken")
DRAFTS = ("memory/reports/designs/a.json", "memory/reports/designs/b.md")


def valid(name: str) -> OutputFile:
    return OutputFile(OUTPUTS[name], "good")


def plan(state: dict[str, Any], facts: Facts) -> WorkflowPlan:
    return plan_resume(state, facts)


def approved(name: str, status: str = "in_progress") -> dict[str, Any]:
    """A state in that phase whose current phase is approved too."""
    state = phase(name, status)
    state["user_checkpoints"].append({"phase": name, "approved_at": "2026-03-02T09:00:00Z"})
    return state


TABLE: list[tuple[str, Facts, str, str]] = [
    # current phase, facts, action, agent
    ("REQUIREMENTS", Facts(valid("REQUIREMENTS")), "advance", ""),
    ("REQUIREMENTS", Facts(MISSING), "spawn", "PM"),
    ("REQUIREMENTS", Facts(INVALID), "spawn", "PM"),
    ("REQUIREMENTS", Facts(OLDER), "spawn", "PM"),
    ("ARCHITECTURE", Facts(valid("ARCHITECTURE"), DRAFTS), "advance", ""),
    ("ARCHITECTURE", Facts(MISSING, DRAFTS), "spawn", "Roundtable"),
    ("ARCHITECTURE", Facts(MISSING), "spawn", "Architects"),
    ("IMPLEMENTATION", Facts(MISSING, (), [task()]), "continue_tasks", "Executor"),
    (
        "IMPLEMENTATION",
        Facts(MISSING, (), [task("a", "complete"), task("b", "running")]),
        "continue_tasks",
        "Executor",
    ),
    ("IMPLEMENTATION", Facts(MISSING), "continue_tasks", "Executor"),
    ("IMPLEMENTATION", Facts(MISSING, (), [task("a", "complete")]), "advance", ""),
    ("IMPLEMENTATION", Facts(MISSING, (), [task("a", "complete"), task("b", "failed")]), "ask", ""),
    ("IMPLEMENTATION", Facts(MISSING, (), [task("a", "of its own")]), "ask", ""),
    ("VERIFICATION", Facts(valid("VERIFICATION")), "advance", ""),
    ("VERIFICATION", Facts(MISSING), "spawn", "QA"),
    ("REFLECTION", Facts(valid("REFLECTION")), "complete", ""),
    ("REFLECTION", Facts(MISSING), "spawn", "Reflector"),
]


@rows("status", ["in_progress", "pending", "complete"])
@rows(("name", "facts", "action", "agent"), TABLE)
def test_the_table_says_what_to_do_whether_the_phase_was_begun_or_called_complete(
    name: str, facts: Facts, action: str, agent: str, status: str
) -> None:
    found = plan(approved(name, status), facts)
    assert (found.action, found.agent) == (action, agent)
    assert found.reason


def test_designs_that_wait_for_approval_are_presented_again_and_the_architects_are_not_run_again() -> (
    None
):
    facts = Facts(MISSING, DRAFTS, waits=True)
    found = plan(phase("ARCHITECTURE"), facts)
    assert (found.action, found.options) == ("ask_approval", DRAFTS)
    assert plan(phase("ARCHITECTURE"), facts._replace(waits=False)).action == "spawn"


@rows("name", PHASES)
def test_a_result_that_waits_for_approval_is_confirmed_again(name: str) -> None:
    facts = Facts(valid(name), tasks=[task("a", "complete")], waits=True)
    assert plan(phase(name), facts).action == "ask_approval"
    assert plan(phase(name), facts._replace(waits=False)).action in ("advance", "complete")


@rows(
    ("noted", "there", "holds"),
    [
        ({"a": "1"}, {"a": "1"}, True),
        ({"a": "1"}, {"a": "2"}, False),
        ({"a": "1"}, {"b": "1"}, False),
        ({"a": "1"}, {"a": "1", "b": "1"}, False),
        (
            {f"{DRAFTS[0]}": "1"},
            {OUTPUTS["ARCHITECTURE"]: "2"},
            True,
        ),  # made from the approved designs
        ({OUTPUTS["ARCHITECTURE"]: "1"}, {"memory/reports/designs/final_design.json": "2"}, False),
        (None, {"a": "1"}, True),
    ],
)
def test_an_approval_holds_for_what_was_approved(
    noted: Any, there: dict[str, str], holds: bool
) -> None:
    state = phase("ARCHITECTURE", user_checkpoints=[{"phase": "ARCHITECTURE", "results": noted}])
    assert is_approved("ARCHITECTURE", state, there) is holds
    assert not is_approved("VERIFICATION", state, there)


def test_open_tasks_behind_the_implementation_are_asked_about() -> None:
    rows = {"tasks": [task("a", "complete"), task("b"), task("c", "skipped"), task("d", "failed")]}
    assert find_behind(phase("IMPLEMENTATION"), rows) == ()
    assert find_behind(phase("VERIFICATION"), rows) == ("b", "d")
    state = phase("VERIFICATION")
    state["completed_phases"][2]["left_open"] = ["b", "d"]
    assert find_behind(state, rows) == ()
    found = plan(phase("REFLECTION"), Facts(valid("REFLECTION"), behind=("b", "d")))
    assert (found.action, found.tasks) == ("ask", ("b", "d"))


def test_a_result_that_says_failed_is_asked_about() -> None:
    found = plan(phase("VERIFICATION"), Facts(OutputFile("v.json", "failed", "says failed")))
    assert (found.action, "v.json says failed" in found.reason) == ("ask", True)


@rows("name", PHASES)
def test_a_failed_phase_is_asked_about(name: str) -> None:
    assert plan(approved(name, "failed"), Facts(valid(name))).action == "ask"


def test_the_hole_between_two_phases_is_no_fresh_start() -> None:
    state = phase(
        "ARCHITECTURE", "complete", completed_phases=phase("IMPLEMENTATION")["completed_phases"]
    )
    found = plan(state, Facts(MISSING))
    assert (found.action, found.reason) == (
        "advance",
        "ARCHITECTURE is complete, and IMPLEMENTATION was not begun",
    )


def test_every_phase_has_a_row_that_always_holds_and_only_the_last_is_completed() -> None:
    for name in PHASES:
        rows_of_phase = [row for row in TRANSITIONS if name in row.phases]
        assert plan(approved(name), Facts(MISSING)).action in {row.action for row in rows_of_phase}
        assert ("complete" in {row.action for row in rows_of_phase}) is (name == PHASES[-1])


def test_a_verb_changes_the_statuses_that_its_row_names_and_no_other() -> None:
    for verb, row in MOVES.items():
        for status in ("pending", "in_progress", "complete", "failed"):
            state = {"current_phase": "REQUIREMENTS", "phase_status": status}
            move(state, verb, "ARCHITECTURE")
            expected = row.after if not row.before or status in row.before else status
            assert state == {"current_phase": "ARCHITECTURE", "phase_status": expected}, verb
