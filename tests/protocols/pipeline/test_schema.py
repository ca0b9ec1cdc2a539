"""The room's schema as data, and what its README and the docs say of it."""

import json
import re
from pathlib import Path

from jsonschema import Draft202012Validator

import checkpoint_git.protocols.pipeline as room
from checkpoint_git.core import yamltext
from checkpoint_git.core.schema import is_surely_valid
from checkpoint_git.protocols.pipeline import layout, rules
from tests.support.records import RECORD_FIELDS, record

FOLDER = Path(room.__file__).parent
SCHEMA = json.loads((FOLDER / "schema.json").read_text("utf-8"))


def test_the_schema_is_valid_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_knows_the_same_fields_and_phases_as_the_rules() -> None:
    assert tuple(SCHEMA["properties"]) == RECORD_FIELDS
    assert tuple(SCHEMA["$defs"]["phase"]["enum"]) == layout.READ_PHASES
    assert set(layout.READ_PHASES) <= SCHEMA["$defs"].keys()


def test_a_good_record_of_each_phase_is_surely_valid_so_that_jsonschema_stays_unloaded() -> None:
    for phase in layout.READ_PHASES:
        assert is_surely_valid(rules.schema_for(phase), record(phase))
        Draft202012Validator(SCHEMA).validate(record(phase))


def test_the_readme_s_example_is_valid() -> None:
    text = (FOLDER / "README.md").read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    value = yamltext.load(text)
    assert is_surely_valid(rules.schema_for("implement"), value)


def test_the_readme_s_table_of_phases_is_the_one_that_is_used() -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| ([0-9]) \| (.*) \|$", text, re.MULTILINE)
    assert {phase: int(ordinal) for phase, ordinal, _ in rows} == layout.PHASES
    for phase, _, fields in rows:
        assert {"phase", *re.findall(r"`([a-z_]+)`", fields)} == SCHEMA["$defs"][phase][
            "properties"
        ].keys()
