"""The quick check against jsonschema, whose word is law."""

import copy
import json
import random
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import checkpoint_git.protocols.skill as room
from checkpoint_git.core.schema import MOST_ERRORS, Schema, explain, is_surely_valid, load_schema
from checkpoint_git.protocols.contract import open_room
from tests.support.examples import examples
from tests.support.rows import rows
from tests.support.samples import checkpoint

SCHEMA_TEXT = (Path(room.__file__).parent / "schema.json").read_text("utf-8")
SCHEMA = open_room("skill").schema
VALIDATOR = Draft202012Validator(json.loads(SCHEMA_TEXT))

FULL = checkpoint(
    protocol_version="1.1",
    recently_done=[{"text": "Plan", "at": "2026-03-01T09:00:00Z"}],
    blockers=[
        {"id": "b1", "description": "No key", "needs": "user_decision", "blocking": "sprint-2"}
    ],
    pm_refs=[
        {"provider": "linear", "id": "PLAT-1", "role": "source", "url": "https://example.org/1"}
    ],
    depends_on=["plan"],
    cost={"total_usd": 1.5, "by_phase": {"build": 1}, "by_model": {}, "currency": "USD"},
    eval_scores=[{"rubric": "quality", "score": 7.5, "max": 10}],
    telemetry_handle={"enabled": True, "id": "t1"},
    handoffs=[{"id": "h1"}],
    findings=[],
    superseded=[],
    skill_state={"merged_prs": [{"number": 1}], "carried_debt": 3, "streak": None},
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.just("complete"),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values below a value."""
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [
        found
        for key, child in children
        for found in [(*path, key), *places_in(child, (*path, key))]
    ]


def change(value: Any, path: tuple[Any, ...], junk: Any, remove: bool) -> Any:
    """A copy with one place replaced or removed."""
    result = copy.deepcopy(value)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    if remove:
        del parent[path[-1]]
    else:
        parent[path[-1]] = junk
    return result


def test_the_full_sample_is_surely_valid() -> None:
    assert is_surely_valid(SCHEMA, FULL)
    assert explain(SCHEMA, FULL) == []


@examples(600, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_surely_valid_is_valid_to_jsonschema(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places_in(FULL)))
    changed = change(FULL, path, data.draw(JUNK), data.draw(st.booleans()))
    assert is_surely_valid(SCHEMA, changed) == VALIDATOR.is_valid(changed)


@examples(300)
@given(JUNK)
def test_junk_is_judged_as_jsonschema_does(junk: Any) -> None:
    assert is_surely_valid(SCHEMA, junk) == VALIDATOR.is_valid(junk)


CORPUS = Path(__file__).parents[2].parent / "shared/corpus/versions"
ODD_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.0,
    -0.5,
    1e400,
    "",
    " ",
    "1.1",
    "complete",
    "zzz",
    [],
    [None],
    [[]],
    {},
    {"id": ""},
]


def mutate(value: Any, chance: random.Random) -> Any:
    """A copy with one to three places changed: another value or type, a member lost, renamed or
    added.
    """
    result = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        places = places_in(result)
        if not places:
            break
        *path, key = chance.choice(places)
        parent = result
        for step in path:
            parent = parent[step]
        kind = chance.randrange(4)
        if kind == 0:
            del parent[key]
        elif kind == 1 and isinstance(parent, dict):
            parent[chance.choice(["id", "status", "text", "needs", "Status", ""])] = parent.pop(key)
        elif kind == 2:
            parent[key] = copy.deepcopy(chance.choice([parent, *ODD_VALUES]))
        else:
            parent[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    return result


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not on this machine")
def test_real_files_and_what_becomes_of_them_are_judged_as_jsonschema_does() -> None:
    chance = random.Random(20261121)  # noqa: S311 (nothing secret: the same changes on every run)
    for path in sorted(CORPUS.glob("*.checkpoint.json")):
        real = json.loads(path.read_bytes())
        for value in (real, *(mutate(real, chance) for _ in range(12))):
            assert is_surely_valid(SCHEMA, value) == VALIDATOR.is_valid(value), path.name


SMALL_SCHEMAS = [
    {"type": "integer"},
    {"type": ["number", "null"]},
    {"type": ["string", "null", "boolean"]},
    {"const": "complete"},
    {"minItems": 1, "maxItems": 2},
    {"minLength": 1, "maxLength": 2, "pattern": "^c"},
    {"minimum": 0, "exclusiveMinimum": -1},
    {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
    {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "number"}},
    {
        "items": {"$ref": "#/$defs/x"},
        "$defs": {"x": {"items": {"$ref": "#/$defs/x"}, "type": ["array", "string"]}},
    },
    {"patternProperties": {"^a": {"type": "string"}, "b$": True}, "additionalProperties": False},
    {"required": ["a"], "properties": {"a": True, "c": False}},
    {"required": ["a"], "properties": {"a": {"type": ["null", "string"]}}},
    {
        "required": ["a"],
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"type": "object"}},
    },
    {
        "$ref": "#/$defs/x",
        "maxLength": 1,
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"type": ["string", "array"]}},
    },
    {
        "$defs": {"x": {"properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}},
        "$ref": "#/$defs/x",
    },
    {"type": ["integer", "array"], "minimum": 0, "items": {"type": "integer"}},
    {"type": "number", "enum": ["a"]},
    {"type": ["string", "number"], "enum": ["complete", ""], "minLength": 1},
    {"enum": ["complete"], "minimum": 3, "required": ["a"]},
    {"additionalProperties": {"items": {"additionalProperties": {"type": "null"}}}},
    {"pattern": "["},
    {"type": "strange"},
    {"not": {"type": "string"}},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"items": False},
    {"$ref": "#/$defs/missing"},
    {"enum": [1, None]},
    {"minimum": 0.5},
    {"dependentRequired": {"a": ["b"]}},
]


@pytest.mark.parametrize("document", SMALL_SCHEMAS, ids=json.dumps)
@examples(60)
@given(value=JUNK)
def test_a_keyword_is_never_judged_more_kindly_than_by_jsonschema(
    document: dict[str, Any], value: Any
) -> None:
    schema = load_schema(json.dumps(document))
    if is_surely_valid(schema, value):
        assert Draft202012Validator(document).is_valid(value)


HOSTILE = [
    "'); import os; os.abort()  # \\n",
    '"); import os; os.abort()',
    "\n    import os; os.abort()",
    "{0}",
    "\\",
]


@rows("text", HOSTILE)
def test_text_in_a_schema_is_never_run(text: str) -> None:
    document = {
        "required": [text],
        "properties": {text: {"enum": [text]}},
        "patternProperties": {"^x": {"const": text}},
    }
    assert is_surely_valid(load_schema(json.dumps(document)), {text: text})
    assert not is_surely_valid(load_schema(json.dumps(document)), {text: "x"})


def test_a_schema_that_is_nested_deeply_is_checked_and_one_deeper_than_python_goes_is_never_sure() -> (
    None
):
    inner: dict[str, Any] = {"type": "null"}
    for _ in range(60):
        inner = {"items": inner}
    assert is_surely_valid(Schema(lambda: inner), [[]])
    for _ in range(10_000):
        inner = {"items": inner}
    assert not is_surely_valid(Schema(lambda: inner), [])


def test_an_unknown_keyword_is_never_sure() -> None:
    assert not is_surely_valid(load_schema('{"minProperties": 1}'), {"a": 1})


def test_annotations_do_not_matter() -> None:
    assert is_surely_valid(
        load_schema('{"title": "t", "x-merge": {"strategy": "set"}, "format": "date-time"}'),
        "no date",
    )


def test_every_missing_field_is_named() -> None:
    found = explain(SCHEMA, checkpoint(phase=..., step=...))
    assert [(each.where, each.keyword, each.expected) for each in found] == [
        ("/phase", "required", "phase"),
        ("/step", "required", "step"),
    ]


def test_places_are_json_pointers() -> None:
    found = explain(SCHEMA, checkpoint(cost={"by_phase": {"a/b~c": -1}}))
    assert [(each.where, each.keyword, each.value) for each in found] == [
        ("/cost/by_phase/a~1b~0c", "minimum", -1)
    ]


def test_a_definition_that_is_nothing_but_itself_is_not_sure() -> None:
    schema = Schema(lambda: {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})
    assert not is_surely_valid(schema, "x")


def test_of_a_document_with_endless_errors_the_first_are_explained() -> None:
    schema = Schema(lambda: {"type": "array", "items": {"type": "string"}})
    assert len(explain(schema, [1] * 200_000)) == MOST_ERRORS


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_what_is_explained_is_what_jsonschema_finds(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places_in(FULL)))
    value = change(FULL, path, data.draw(JUNK), data.draw(st.booleans()))
    expected = {
        (*error.absolute_path,)
        for error in VALIDATOR.iter_errors(value)
        if error.validator != "required"
    }
    found = {one.where for one in explain(SCHEMA, value) if one.keyword != "required"}
    assert found == {
        "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path)
        for path in expected
    }


@rows(
    ("schema", "value", "wheres"),
    [
        ({"items": False}, [1, 2], [""]),
        ({"items": True}, [1], []),
        (
            {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            ["a", 1, "b"],
            ["/2"],
        ),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], [""]),
        ({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, ["a", None, 3], ["/2"]),
        (
            {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"const": 1}}}},
            [[1], [1, 2]],
            ["/1/1"],
        ),
        ({"items": {"type": "string"}}, "text", []),
    ],
)
def test_items_of_every_form_are_explained(
    schema: dict[str, Any], value: Any, wheres: list[str]
) -> None:
    assert [one.where for one in explain(Schema(lambda: schema), value)] == wheres


def test_items_that_are_right_are_not_shown_to_jsonschema() -> None:
    def count_calls(rows: int) -> int:
        calls = list[str]()

        def note(frame: FrameType, event: str, argument: object) -> None:
            if event == "call" and "jsonschema" in frame.f_code.co_filename:
                calls.append(frame.f_code.co_name)

        row = {"id": "a", "label": "x", "status": "complete"}
        value = checkpoint(
            progress_table=[row] * rows + [{**row, "status": "odd"}],
            next_actions=["a"] * rows + [3],
        )
        sys.setprofile(note)
        try:
            assert len(explain(SCHEMA, value)) == 2
        finally:
            sys.setprofile(None)
        return len(calls)

    count_calls(1)  # what is made once
    assert count_calls(500) == count_calls(5)
