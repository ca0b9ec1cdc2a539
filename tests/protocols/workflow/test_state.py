"""A workflow as it is on disk: what its two files say together, and what to do next."""

from pathlib import Path
from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow import plan, results
from checkpoint_git.protocols.workflow import state as states
from checkpoint_git.protocols.workflow.layout import TABLE
from checkpoint_git.protocols.workflow.plan import look_ahead
from checkpoint_git.protocols.workflow.state import State
from checkpoint_git.protocols.workflow.store import plan_workflow_place
from tests.support.rows import rows
from tests.support.verbs import seconds
from tests.support.workflows import execution, phase, task, text_of, write_output, write_workflow

NOW = seconds("2026-03-02T12:00:00Z")
STARTED = seconds("2026-03-01T08:00:00Z")
PLACE = Place("/nowhere", "/nowhere/memory/state", None, None)


def state_of(value: Any = ..., tasks: Any = ...) -> State:
    """A state of these two documents; ... is a missing file."""
    documents = []
    for file, content in (("phase", value), ("execution", tasks)):
        path = f"memory/state/{file}.json"
        documents.append(
            None if content is ... else check_document(path, text_of(content).encode(), now=NOW)
        )
    return State(PLACE, documents[0], documents[1])


@rows(
    ("value", "tasks", "name"),
    [
        (phase(), execution(), "login"),
        (..., execution(), "login"),
        (phase(workflow_id=""), execution(workflow_id="other"), "other"),
        (phase(workflow_id=7), ..., ""),
        (..., ..., ""),
    ],
)
def test_a_workflow_has_the_name_that_one_of_its_files_says(
    value: Any, tasks: Any, name: str
) -> None:
    assert state_of(value, tasks).workflow_id == name


@rows(
    ("first", "second", "last"),
    [
        ("2026-03-02T09:00:00Z", "2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z"),
        ("2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z"),
        ("soon", "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z"),
        (7, None, None),
    ],
)
def test_the_last_activity_is_the_later_of_two_instants(
    first: Any, second: Any, last: str | None
) -> None:
    state = state_of(phase(last_updated=first), execution(last_updated=second))
    assert state.last_activity == last
    assert state.data()["last_activity"] == last


@rows(
    ("changes", "notes"),
    [
        ({}, []),
        ({"saved": {"note": "half done"}}, ["Saved: half done"]),
        ({"saved": {"at": "2026-03-02T09:00:00Z"}}, []),
        ({"saved": "half done"}, []),
        ({"went_back": [{"note": "one"}, {"note": "two"}]}, ["Sent back: two"]),
        ({"failure": {"error": "no disk"}}, []),  # it went on since
        ({"failure": {"error": "no disk"}, "phase_status": "failed"}, ["Failed: no disk"]),
        ({"failure": {"error": 7}, "phase_status": "failed"}, []),
    ],
)
def test_notes_are_what_somebody_said_last(changes: dict[str, Any], notes: list[str]) -> None:
    assert state_of(phase(**changes)).notes == notes


LAST = phase("REFLECTION", "complete")
LAST["completed_phases"].append(
    {
        "phase": "REFLECTION",
        "completed_at": "2026-03-02T09:00:00Z",
        "output": "memory/reflection/done.json",
    }
)


@rows(
    ("value", "tasks", "is_over", "is_unfinished"),
    [
        (phase(), execution(), False, True),
        (LAST, execution(), True, False),
        (LAST, ..., True, False),
        (LAST, execution(task(status="pending")), False, True),  # a merge may have brought it
        (LAST, execution(task(status="complete")), True, False),
        ({**LAST, "current_phase": 7}, execution(), False, True),
        (..., execution(), False, False),
        (..., execution(task()), False, True),
        (..., {"tasks": 7}, False, True),
        (..., ..., False, False),
    ],
)
def test_a_workflow_is_over_once_its_last_phase_is_and_nothing_is_open(
    value: Any, tasks: Any, is_over: bool, is_unfinished: bool
) -> None:
    state = state_of(value, tasks)
    assert (state.is_over, state.is_unfinished) == (is_over, is_unfinished)


def test_tasks_that_are_no_list_are_none() -> None:
    assert state_of(phase(), {"tasks": {"t1": 1}}).tasks == []
    assert state_of(phase()).tasks == []


def test_a_missing_phase_leads_to_what_is_left() -> None:
    assert "shows what is left of it" in (
        str(states.missing_workflow(state_of(..., execution())).hint) or ""
    )
    assert "checkpoint workflow start" in (str(states.missing_workflow(state_of()).hint) or "")


def codes(state: State, now: int = NOW) -> list[str]:
    return sorted(finding.code for finding in states.find_trouble(state, now, 7))


def test_everything_against_going_on_is_found_with_its_place(tmp_path: Path) -> None:
    value = phase("ARCHITECTURE")
    write_workflow(tmp_path, value)
    place = plan_workflow_place(str(tmp_path))
    assert codes(states.load_state(place, NOW)) == []

    output = tmp_path / value["completed_phases"][0]["output"]
    output.unlink()
    (finding,) = states.find_trouble(states.load_state(place, NOW), NOW, 7)
    assert (finding.code, finding.path, finding.level) == (
        "workflow/output-missing",
        "memory/state/phase.json",
        "error",
    )
    assert finding.line is not None
    assert finding.line > 1

    output.write_text("changed")
    rows = [{**value["completed_phases"][0], "digest": "0" * 64}]
    write_workflow(tmp_path, {**value, "completed_phases": rows}, execution(workflow_id="other"))
    assert codes(states.load_state(place, NOW)) == [
        "workflow/output-changed",
        "workflow/two-workflows",
    ]
    assert "workflow/stale" in codes(states.load_state(place, NOW), STARTED + 30 * DAY)


def test_a_state_of_the_future_is_an_error() -> None:
    state = state_of(phase(last_updated="2027-03-02T09:30:00Z"))
    assert [(each.code, each.level) for each in states.find_trouble(state, NOW, 7)] == [
        ("workflow/in-future", "error")
    ]


def test_a_result_of_this_run_comes_before_a_failed_and_an_older_one(tmp_path: Path) -> None:
    place = plan_workflow_place(str(tmp_path))
    value = phase()
    assert results.find_output(place, value, "REQUIREMENTS").path == ""
    output = TABLE["REQUIREMENTS"].outputs[0]
    older = write_output(tmp_path, output.replace("*", "0"), at=STARTED - DAY)
    found = results.find_output(place, value, "REQUIREMENTS")
    assert (found.state, found.path) == ("older", str(older.relative_to(tmp_path)))
    write_output(tmp_path, output.replace("*", "1"), at=STARTED + 60)
    assert results.find_output(place, value, "REQUIREMENTS").state == "good"


def test_what_was_rejected_is_known_by_its_digest(tmp_path: Path) -> None:
    place = plan_workflow_place(str(tmp_path))
    path = TABLE["REQUIREMENTS"].outputs[0].replace("*", "1")
    write_output(tmp_path, path, at=STARTED + 60)
    found = results.find_output(place, phase(earlier_results={}), "REQUIREMENTS")
    assert found.state == "good"
    rejected = phase(earlier_results={path: found.digest})
    assert results.find_output(place, rejected, "REQUIREMENTS").state == "older"
    assert results.find_results(place, rejected, [], "REQUIREMENTS") == {}
    write_output(tmp_path, path, {"made": "again"}, at=STARTED + 60)
    assert results.find_output(place, rejected, "REQUIREMENTS").state == "good"
    assert list(results.find_results(place, rejected, [], "REQUIREMENTS")) == [path]


@rows(
    ("tasks", "known"),
    [
        ([], False),
        ([task(status="complete")], True),
        ([task(status="complete"), task("t2")], False),
        ([task(status="complete"), "no task"], True),
    ],
)
def test_the_result_of_the_implementation_is_that_all_its_tasks_are_complete(
    tasks: list[Any], known: bool
) -> None:
    found = results.find_results(PLACE, phase("IMPLEMENTATION"), tasks, "IMPLEMENTATION")
    assert list(found) == (["memory/state/execution.json"] if known else [])


def test_another_result_of_the_tasks_needs_another_approval() -> None:
    found = [
        results.find_results(
            PLACE,
            phase("IMPLEMENTATION"),
            [task(status="complete", digest=digest)],
            "IMPLEMENTATION",
        )
        for digest in ("a", "b")
    ]
    assert found[0] != found[1]


def test_only_a_running_task_is_recovered() -> None:
    running = task("t2", "running", started_at="2026-03-02T09:00:00Z")
    state = state_of(phase("IMPLEMENTATION"), execution(task(), running, task("t3", "complete")))
    (step,) = plan.find_recovery(state, NOW)
    assert (step.row, step.status) == (1, "pending")


@rows(
    ("session", "is_busy", "recovered"),
    [("mine", [], [0]), ("other", [], []), ("", [], [0])],
)
def test_a_task_is_left_to_the_session_that_runs_it(
    session: str, is_busy: list[str], recovered: list[int]
) -> None:
    running = task("t1", "running", started_at="2026-03-02T09:00:00Z", session=session)
    state = state_of(phase("IMPLEMENTATION"), execution(running))
    assert plan.find_busy(state, "other") == is_busy
    assert [step.row for step in plan.find_recovery(state, NOW, "other")] == recovered
    assert [step.row for step in plan.find_recovery(state, NOW)] == [0]


def test_a_task_of_a_process_that_ended_is_nobodys() -> None:
    gone = task("t1", "running", started_at="2026-03-02T09:00:00Z", session="mine", process="1@0")
    state = state_of(phase("IMPLEMENTATION"), execution(gone))
    assert plan.find_busy(state, "other") == []
    assert [step.row for step in plan.find_recovery(state, NOW, "other")] == [0]


@rows(
    ("content", "age", "kind", "default", "has_plan"),
    [
        (text_of(phase()), 0, "resume", "resume", True),
        (text_of(phase()), 8 * DAY, "stale", "resume", True),
        ("{", 0, "corrupt", "stop", False),
    ],
)
def test_what_is_asked_depends_on_the_state(
    tmp_path: Path, content: str, age: int, kind: str, default: str, has_plan: bool
) -> None:
    folder = write_workflow(tmp_path, phase())
    (folder / "phase.json").write_text(content)
    prospect = look_ahead(plan_workflow_place(str(tmp_path)), (), NOW + age, 7)
    assert (prospect.question.kind, prospect.question.by_default) == (kind, default)
    assert (prospect.plan is not None) == has_plan


def test_approvals_are_as_wished_or_the_usual_two(tmp_path: Path) -> None:
    assert plan.read_approvals(PLACE, None, {}) == ("REQUIREMENTS", "ARCHITECTURE")
    assert plan.read_approvals(PLACE, "none", {}) == ()
    assert plan.read_approvals(PLACE, "ARCHITECTURE", {}) == ("ARCHITECTURE",)
