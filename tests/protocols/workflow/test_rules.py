"""What each of the two files must mean: the example folders, one for each finding."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import checkpoint_git.protocols.workflow as room
from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch, explain
from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import explain_mismatch
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow import rules
from checkpoint_git.protocols.workflow.layout import PHASES
from checkpoint_git.protocols.workflow.tasks import OutputFile
from tests.architecture.imports import ROOT
from tests.support.rows import rows
from tests.support.verbs import NOON, seconds
from tests.support.workflows import OUTPUTS, execution, phase, task, text_of

EXAMPLES = ROOT / "tests/examples/workflow"
VALID = sorted((EXAMPLES / "valid").glob("*/*.json"))
INVALID = sorted(
    path for path in (EXAMPLES / "invalid").glob("*/*.json") if path.name != "expected.json"
)
FOLDER = Path(room.__file__).parent
SCHEMAS = {
    name: json.loads((FOLDER / name).read_text("utf-8"))
    for name in ("schema.json", "execution_schema.json")
}
ELSEWHERE = {"workflow/shape", "workflow/not-begun", "workflow/task-running", "workflow/task-complete",
             "workflow/unknown-task", "workflow/output-missing", "workflow/output-outside", "workflow/output-invalid",
             "workflow/two-workflows", "workflow/stale", "workflow/output-changed", "workflow/tasks-behind",
             "workflow/phase-missing", "workflow/execution-missing", "workflow/not-approved",
             "workflow/tasks-open", "workflow/archived-tasks"}  # fmt: skip


def check(path: Path) -> Document:
    return check_document(f"memory/state/{path.name}", path.read_bytes(), now=seconds(NOON))


@rows("path", VALID)
def test_a_valid_example_has_no_findings(path: Path) -> None:
    assert check(path).findings == []


@rows("path", INVALID)
def test_an_invalid_example_has_exactly_the_findings_it_names(path: Path) -> None:
    found = check(path).findings
    assert [
        {
            "level": each.level,
            "code": each.code,
            "where": each.where,
            "line": each.line,
            "column": each.column,
        }
        for each in found
    ] == json.loads(path.with_name("expected.json").read_text("utf-8"))
    assert all(
        each.message.isprintable() and each.path == f"memory/state/{path.name}" for each in found
    )


def test_every_code_has_an_example_or_is_about_more_than_one_file() -> None:
    sources = [path.read_text("utf-8") for path in FOLDER.glob("*.py")]
    named = {code for text in sources for code in re.findall(r'"(workflow/[a-z0-9-]+)"', text)}
    expected = [json.loads(path.with_name("expected.json").read_text("utf-8")) for path in INVALID]
    assert named == {each["code"] for findings in expected for each in findings} | ELSEWHERE


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_sound_and_its_merge_strategies_are_known(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert lint_schema(SCHEMAS[name]) == []


def test_the_schema_and_the_table_name_the_same_phases() -> None:
    members = SCHEMAS["schema.json"]["properties"]
    ranks = members["current_phase"]["x-merge"]["rank"]
    orders = [members["current_phase"]["enum"], SCHEMAS["schema.json"]["$defs"]["phase"]["enum"], ranks[0]["order"],
              SCHEMAS["schema.json"]["x-merge-require"][1]["order"]]  # fmt: skip
    assert orders == [list(PHASES)] * 4
    assert members["phase_status"]["enum"] == ["pending", "in_progress", "complete", "failed"]


@pytest.mark.parametrize("kind", ["workflow-phase", "workflow-execution"])
def test_the_schemas_are_in_force(kind: str) -> None:
    value = phase() if kind == "workflow-phase" else execution(task())
    assert explain(open_room(kind).schema, value) == []
    assert explain(open_room(kind).schema, {}) != []


def test_the_examples_of_the_readme_are_valid() -> None:
    first, second = re.findall(
        r"```json\n(.*?)```", (FOLDER / "README.md").read_text("utf-8"), re.DOTALL
    )
    for name, text in (("phase", first), ("execution", second)):
        assert (
            check_document(f"memory/state/{name}.json", text.encode(), now=seconds(NOON)).findings
            == []
        )


def test_five_minutes_ahead_is_still_fine() -> None:
    text = text_of(phase(last_updated="2026-03-02T12:05:00Z")).encode()
    assert check_document("memory/state/phase.json", text, now=seconds(NOON)).findings == []
    assert check_document("memory/state/phase.json", text, now=seconds(NOON) - 1).findings != []


# the rules themselves, by values

NOW = seconds(NOON)
INSTANT_HINT = "write it as 2026-03-31T14:00:00Z"
DONE = phase("VERIFICATION")["completed_phases"]


def find(value: dict[str, Any], now: int = NOW) -> list[Finding]:
    """The findings about one of the two files, which its members tell apart."""
    skill = "execution" if "tasks" in value else "phase"
    return rules.check(value, skill=skill, size=1, now=now)


@rows(
    ("value", "code", "level", "where", "message", "hint"),
    [
        (
            phase(last_updated="soon"),
            "timestamp",
            "error",
            "/last_updated",
            'last_updated is "soon": invalid timestamp',
            INSTANT_HINT,
        ),
        (
            execution(task(started_at="soon")),
            "timestamp",
            "error",
            "/tasks/0/started_at",
            'started_at is "soon": invalid timestamp',
            INSTANT_HINT,
        ),
        (
            phase(last_updated="2026-03-02T12:05:01Z"),
            "in-future",
            "warning",
            "/last_updated",
            f'last_updated is "2026-03-02T12:05:01Z", and now is {NOON}: it is in the future',
            "was a clock wrong?",
        ),
        (
            phase("ARCHITECTURE", completed_phases=[DONE[0], DONE[0]]),
            "phase-twice",
            "error",
            "/completed_phases/1/phase",
            "REQUIREMENTS is completed twice",
            "remove one of the rows",
        ),
        (
            phase("ARCHITECTURE", completed_phases=[DONE[1]]),
            "phase-order",
            "error",
            "/completed_phases/0/phase",
            "ARCHITECTURE is completed where REQUIREMENTS comes first",
            f"the order is {', '.join(PHASES)}",
        ),
        (
            phase("VERIFICATION", completed_phases=DONE[:2]),
            "phase-skipped",
            "error",
            "/current_phase",
            "current_phase is VERIFICATION, but IMPLEMENTATION is not among the completed phases",
            "phases cannot be skipped",
        ),
        (
            phase("ARCHITECTURE", "complete", completed_phases=DONE),
            "phase-behind",
            "error",
            "/current_phase",
            "current_phase is ARCHITECTURE, but IMPLEMENTATION is completed already",
            "completed phases come before the current one",
        ),
        (
            phase("ARCHITECTURE", started_at="2026-03-01T09:00:01Z"),
            "time-order",
            "error",
            "/completed_phases/0/completed_at",
            "completed_phases.0.completed_at is before started_at",
            INSTANT_HINT,
        ),
        (
            phase(interruption_safe=False),
            "interrupted",
            "note",
            "/interruption_safe",
            "interruption_safe is false: a write was interrupted, or is in progress",
            "check the content; the next workflow command that writes sets it",
        ),
        (
            execution(task("a"), task("b"), task("a")),
            "task-id-twice",
            "error",
            "/tasks/2/id",
            'two tasks have the id "a"; the first is tasks.0',
            "give one of them another id",
        ),
        (
            execution(tasks={"a/b": "soon"}),
            "unknown-task-status",
            "warning",
            "/tasks/a~1b/status",
            (
                'status is "soon", which is none of pending, running, complete, failed, blocked; '
                "it is kept, and waits on you"
            ),
            "",
        ),
        (
            execution(
                task(
                    status="complete",
                    started_at="2026-03-02T10:00:00Z",
                    completed_at="2026-03-02T09:59:59Z",
                )
            ),
            "time-order",
            "error",
            "/tasks/0/completed_at",
            "completed_at is before started_at",
            INSTANT_HINT,
        ),
        (
            execution(task(status="running", attempts=2, max_attempts=2)),
            "attempts-used-up",
            "warning",
            "/tasks/0/attempts",
            "2 of 2 attempts failed, but the status is running",
            "checkpoint workflow task retry ID gives it new ones",
        ),
        (
            {"tasks": []},
            "handwritten",
            "warning",
            "/workflow_id",
            "workflow_id is missing",
            "checkpoint workflow save writes it in the usual form",
        ),
    ],
)
def test_a_finding_names_the_place_and_its_value_and_says_what_to_do(
    value: dict[str, Any], code: str, level: str, where: str, message: str, hint: str
) -> None:
    (found,) = find(value)
    assert (found.code, found.level, found.where) == (f"workflow/{code}", level, where)
    assert (found.message, str(found.hint)) == (message, hint)


@rows(
    "value",
    [
        phase("ARCHITECTURE", "complete", completed_phases=DONE[:2]),
        phase("REFLECTION", "complete"),
        phase("ARCHITECTURE", started_at="2026-03-01T09:00:00Z"),
        # an empty instant, or none, is the schema's business
        phase(last_updated=""),
        phase(last_updated=...),
        phase(started_at=7),
        # what a time without an offset means is not known to fourteen hours
        phase("ARCHITECTURE", started_at="2026-03-01T23:00:00"),
        phase(last_updated="2026-03-03T02:00:00"),
        execution(task(status="running", attempts=2)),
        execution(task(status="failed", attempts=3)),
        execution(task(status="running", attempts=True, max_attempts=1)),
        execution(task(status="running", started_at=NOON, completed_at="2026-03-01T12:00:00Z")),
        execution(task(status="complete", started_at=NOON, completed_at=NOON)),
        execution(task(status="complete", completed_at=NOON)),
        execution(task(status="complete", started_at=NOON)),
    ],
)
def test_what_may_be_has_no_findings(value: dict[str, Any]) -> None:
    assert find(value) == []


def test_a_time_without_an_offset_is_wrong_where_no_offset_explains_it() -> None:
    for value, code in (
        (phase("ARCHITECTURE", started_at="2026-03-01T23:00:01"), "workflow/time-order"),
        (phase(last_updated="2026-03-03T02:00:01"), "workflow/in-future"),
    ):
        assert [finding.code for finding in find(value)] == [code]


def test_another_file_is_not_checked() -> None:
    assert rules.check({"current_phase": "REFLECTION"}, skill="", size=1, now=NOW) == []


@rows(
    ("mismatch", "code", "level"),
    [
        (Mismatch("/workflow_id", "required", "", None, ""), "missing-field", "error"),
        (Mismatch("/current_phase", "enum", ["A", "B"], "x", ""), "unknown-phase", "error"),
        (
            Mismatch("/user_checkpoints/12/phase", "enum", ["A"], "x", ""),
            "unknown-phase",
            "error",
        ),
        (
            Mismatch("/user_checkpoints/12/phase", "required", "", None, ""),
            "missing-field",
            "error",
        ),
        (Mismatch("/phase_status", "type", "string", 7, ""), "unknown-status", "error"),
        (Mismatch("/tasks/0/status", "type", "string", 7, ""), "wrong-type", "error"),
        (Mismatch("/tasks/0/id", "minLength", 1, "", ""), "empty-field", "error"),
        (Mismatch("/tasks/0/attempts", "minimum", 0, -1, ""), "negative-amount", "error"),
        (Mismatch("/tasks/0", "const", "", "", "it is odd"), "shape", "error"),
        (Mismatch("/last_updated", "required", "", None, ""), "handwritten", "warning"),
    ],
)
def test_a_break_of_the_schema_has_the_code_of_its_place_or_its_keyword(
    mismatch: Mismatch, code: str, level: str
) -> None:
    found = rules.describe(mismatch)
    assert (found.code, found.level, found.where) == (f"workflow/{code}", level, mismatch.where)
    assert found.message == explain_mismatch(mismatch)
    save = "checkpoint workflow save writes it in the usual form"
    fresh = (
        "correct it there, or start fresh; checkpoint workflow resume offers to archive the state"
    )
    assert str(found.hint) == (save if level == "warning" else fresh)


# the outputs


def test_every_output_is_listed_with_the_command_that_makes_it_again() -> None:
    found = rules.list_outputs(
        phase("VERIFICATION", completed_phases=[DONE[0], {**DONE[1], "output": None}, DONE[2]]),
        execution(
            task("a", "done", output="a.json", digest="d"),
            task("b", "running", output="b.json"),
            task("c", "complete"),
        ),
    )
    # that of IMPLEMENTATION is execution.json itself
    assert found == [
        rules.NamedOutput(
            "phase",
            "/completed_phases/0/output",
            f'the output "{OUTPUTS["REQUIREMENTS"]}" of REQUIREMENTS',
            OUTPUTS["REQUIREMENTS"],
            ("checkpoint", "workflow", "back", "REQUIREMENTS"),
            None,
        ),
        rules.NamedOutput(
            "execution",
            "/tasks/0/output",
            'the output "a.json" of task a',
            "a.json",
            ("checkpoint", "workflow", "task", "retry", "a"),
            "d",
        ),
    ]


@rows(
    ("output", "digest", "code", "message"),
    [
        (OutputFile("a", "missing"), "d", "output-missing", "X is not there"),
        (OutputFile("a", "outside", "it leads out"), "d", "output-outside", "X: it leads out"),
        (OutputFile("a", "failed", "says failed"), "d", "output-invalid", "X says failed"),
        (
            OutputFile("a", "unreadable", "no JSON"),
            "d",
            "output-invalid",
            "X cannot be read: no JSON",
        ),
    ],
)
def test_an_output_that_is_of_no_use_is_an_error(
    output: OutputFile, digest: str, code: str, message: str
) -> None:
    found = rules.check_output(output, "X", "/tasks/0/output", "do it again", digest)
    assert found == Finding(
        f"workflow/{code}", "error", message, where="/tasks/0/output", hint="do it again"
    )


def test_an_output_that_has_changed_is_a_warning_if_its_digest_was_recorded() -> None:
    output = OutputFile("a", "good", digest="d")
    for digest in ("d", None, 7):
        assert rules.check_output(output, "X", "/p", "hint", digest) is None
    assert rules.check_output(output, "X", "/p", "hint") is None
    found = rules.check_output(output, "X", "/p", "hint", "e")
    assert found is not None
    assert (found.code, found.level, found.where) == ("workflow/output-changed", "warning", "/p")
    assert found.message == "X has changed since it was recorded"
    assert str(found.hint) == "see what changed: git diff; git log"


# the two files together


def test_two_files_of_one_workflow_do_not_contradict_each_other() -> None:
    for state, tasks in (
        (phase(), execution()),
        (phase("VERIFICATION"), execution(task(status="complete"))),
        (phase(workflow_id=...), execution(workflow_id="other")),
        (phase(), {"tasks": []}),
    ):
        assert rules.check_together(state, tasks) == []


@rows(
    ("state", "tasks", "code", "where", "message", "hint"),
    [
        (
            None,
            execution(),
            "phase-missing",
            "",
            "no phase.json beside it: the phase of these tasks is not known",
            "bring memory/state/phase.json back, or start over: checkpoint workflow resume --fresh",
        ),
        (
            phase(),
            execution(workflow_id="other"),
            "two-workflows",
            "/workflow_id",
            'it belongs to the workflow "other", and phase.json to "login"',
            "restore both from one commit",
        ),
        (
            phase("VERIFICATION"),
            execution(tasks={"a": "running", "b": "complete"}),
            "tasks-behind",
            "/tasks",
            "IMPLEMENTATION is finished, but 1 task is open: a",
            "checkpoint workflow back IMPLEMENTATION",
        ),
    ],
)
def test_what_two_files_contradict_is_an_error(
    state: dict[str, Any] | None,
    tasks: dict[str, Any],
    code: str,
    where: str,
    message: str,
    hint: str,
) -> None:
    (found,) = rules.check_together(state, tasks)
    assert (found.code, found.level, found.where) == (f"workflow/{code}", "error", where)
    assert (found.message, str(found.hint)) == (message, hint)


@rows(
    ("state", "is_missed"),
    [
        (phase(), False),
        (phase("ARCHITECTURE"), False),
        (phase("IMPLEMENTATION", "pending"), False),
        (phase("IMPLEMENTATION"), True),
        (phase("VERIFICATION", "pending"), True),
        (phase("REFLECTION"), True),
        (phase(earlier_results=[]), True),
    ],
)
def test_the_tasks_are_missed_once_they_were_begun(state: dict[str, Any], is_missed: bool) -> None:
    found = rules.check_together(state, None)
    assert len(found) == int(is_missed)
    for finding in found:
        code, level = "workflow/execution-missing", "error"
        assert (finding.code, finding.level, finding.where) == (code, level, "")
        assert finding.message == "no execution.json beside it: the tasks are not known"
        assert str(finding.hint) == (
            "bring memory/state/execution.json back, or start over: "
            "checkpoint workflow resume --fresh; "
            "if there were none: checkpoint workflow task add ID"
        )


def test_a_workflow_is_stale_after_its_days_to_the_second() -> None:
    state = phase(started_at=NOON)
    assert rules.check_age(state, NOW + 2 * DAY - 1, 2) == []
    (found,) = rules.check_age(state, NOW + 2 * DAY, 2)
    assert (found.code, found.level, found.where) == ("workflow/stale", "warning", "/started_at")
    assert found.message == "the workflow was started 2d ago: its state may be out of date"
    assert str(found.hint) == (
        "checkpoint workflow resume --fresh archives it and starts over; --yes continues"
    )


@rows(
    ("started", "age"),
    [(NOON, 7), ("2026-03-02T12:00:07", 0), ("2026-03-02T12:00:08Z", 0), ("soon", 0), (..., 0)],
)
def test_an_age_is_known_from_the_start_and_never_below_nothing(started: Any, age: int) -> None:
    assert rules.find_age(phase(started_at=started), NOW + 7) == age
