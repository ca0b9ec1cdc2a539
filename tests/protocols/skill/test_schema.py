"""The room's schema as data: sound as JSON Schema, and its merge strategies spelled as the engine
knows them.
"""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import checkpoint_git.protocols.skill as room
from checkpoint_git.merge.strategy import STRATEGIES
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.edit import fields
from tests.support.rows import rows

SCHEMA = json.loads((Path(room.__file__).parent / "schema.json").read_text("utf-8"))
OPTIONS = {
    "max": {"order"},
    "newest": {"by"},
    "log": {"key", "sort", "limit"},
    "rows": {"key"},
    "queue": {"key"},
    "group": {"name", "newest", "by", "superseded", "same"},
}


def subschemas(schema: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every object in the schema with its path."""
    if isinstance(schema, list):
        return [
            found for at, child in enumerate(schema) for found in subschemas(child, f"{path}/{at}")
        ]
    if not isinstance(schema, dict):
        return []
    return [(path, schema)] + [
        found for key, child in schema.items() for found in subschemas(child, f"{path}/{key}")
    ]


ANNOTATED = [(path, schema) for path, schema in subschemas(SCHEMA) if "x-merge" in schema]


def at(*keys: str) -> Any:
    """The x-merge keyword of a place, named by its keys; "*" stands for the items."""
    schema = SCHEMA
    for key in keys:
        schema = schema["items"] if key == "*" else schema["properties"][key]
        if "$ref" in schema:
            schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return schema["x-merge"]


def test_the_schema_is_valid_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@rows(("path", "schema"), ANNOTATED)
def test_a_merge_strategy_is_one_that_the_engine_knows(path: str, schema: dict[str, Any]) -> None:
    rule = schema["x-merge"]
    assert rule["strategy"] in STRATEGIES
    assert rule.keys() - {"strategy"} <= OPTIONS.get(rule["strategy"], set())
    assert "$ref" not in schema  # what stands beside a reference is not read
    assert not re.search(r"/(anyOf|oneOf|allOf|not|if)(/|$)", path)


def test_references_stay_in_the_document_and_patterns_are_plain_beginnings() -> None:
    for _, schema in subschemas(SCHEMA):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            assert reference.removeprefix("#/$defs/") in SCHEMA["$defs"]
        if isinstance(schema.get("patternProperties"), dict):
            assert all(
                re.fullmatch(r"\^[a-z_]+", pattern) for pattern in schema["patternProperties"]
            )


@rows(
    ("place", "rule"),
    [
        (("updated_at",), {"strategy": "max-time"}),
        (("created_at",), {"strategy": "min-time"}),
        (("protocol_version",), {"strategy": "max", "order": ["1.0", "1.1"]}),
        (("project_dir",), {"strategy": "newest", "by": "/updated_at"}),
        (
            ("status",),
            {
                "strategy": "group",
                "name": "head",
                "by": "/updated_at",
                "superseded": "superseded",
                "same": ["/phase", "/status"],
            },
        ),
        (("progress_table",), {"strategy": "rows", "key": "/id"}),
        (
            ("progress_table", "*", "status"),
            {"strategy": "max", "order": ["not_started", "in_progress", "complete"]},
        ),
        (("next_actions",), {"strategy": "queue", "key": "/text"}),
        (
            ("recently_done",),
            {"strategy": "log", "key": ["/text", "/at"], "sort": "/at", "limit": 10},
        ),
        (("pm_refs",), {"strategy": "log"}),
        (("eval_scores", "*"), {"strategy": "atomic"}),
        (("cost", "total_usd"), {"strategy": "sum"}),
        (
            ("skill_state", "last_run"),
            {"strategy": "group", "name": "last_run", "newest": "/last_run/at"},
        ),
        (("skill_state", "run_history"), {"strategy": "log"}),
    ],
)
def test_a_place_merges_as_the_protocol_needs(place: tuple[str, ...], rule: dict[str, Any]) -> None:
    assert at(*place) == rule


def test_every_field_of_the_head_is_in_one_group() -> None:
    assert [at(name) for name in ("phase", "step", "status", "progress_summary")] == [
        at("status")
    ] * 4


def test_private_state_is_never_constrained() -> None:
    """The owner's own may be of any type: no keyword but annotations and names of members."""
    for path, schema in subschemas(SCHEMA["properties"]["skill_state"]["properties"]):
        assert path == "" or "/x-merge" in path or set(schema) == {"x-merge"}


def test_the_known_names_are_those_of_the_schema_and_the_ones_without_a_shape() -> None:
    without_shape = {"candidate", "verified_at", "verified_for_sha", "record_updated_at"}
    assert set(SCHEMA["properties"]) - {"$schema"} == names.KNOWN[""] - without_shape
    assert set(SCHEMA["properties"]["skill_state"]["properties"]) == names.SKILL_STATE
    for parent, known in names.KNOWN.items():
        rules = fields.child_rules(SCHEMA, SCHEMA, parent) if parent else {}
        rules = fields.child_rules(SCHEMA, rules, "") if rules.get("type") == "array" else rules
        assert not parent or set(rules["properties"]) == known
