"""What each of the two files must mean: the example folders, one for each finding."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import checkpoint_git.protocols.workflow as room
from checkpoint_git.core.schema import explain
from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow.layout import PHASES
from tests.architecture.imports import ROOT
from tests.support.rows import rows
from tests.support.verbs import NOON, seconds
from tests.support.workflows import execution, phase, task, text_of

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
