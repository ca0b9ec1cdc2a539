"""What is refused in a schema's merge strategies, and that the shipped schema has nothing of it."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from checkpoint_git import merge
from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.merge.strategy import LEAF_STRATEGIES, STRATEGIES
from checkpoint_git.protocols.registry import KINDS, Kind, schema_path
from tests.architecture.imports import ROOT
from tests.merge.schemas import skill_schema


def lint(**rule: Any) -> list[tuple[str, str]]:
    """The codes and places of what is wrong with one property's x-merge."""
    return codes({"properties": {"a": {"x-merge": rule}}})


def codes(schema: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in lint_schema(schema)]


def test_the_shipped_schema_is_clean() -> None:
    assert lint_schema(skill_schema()) == []


def test_a_schema_without_strategies_is_clean() -> None:
    assert (
        codes(
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": False,
            }
        )
        == []
    )
    assert codes(True) == []


def test_every_strategy_is_known_with_the_options_it_needs() -> None:
    needed: dict[str, dict[str, Any]] = {
        "max": {"order": ["a", "b"]},
        "newest": {"by": "/at"},
        "rows": {"key": "/id"},
        "queue": {"key": "/text"},
        "group": {"name": "g"},
    }
    assert [name for name in STRATEGIES if lint(strategy=name, **needed.get(name, {}))] == []


def read_vocabulary() -> dict[str, set[str]]:
    """Return the options of each strategy as the schema of x-merge has them."""
    vocabulary = json.loads((ROOT / "checkpoint_git/merge/x_merge_schema.json").read_text("utf-8"))
    options: dict[str, set[str]] = {}
    for form in vocabulary["$defs"]["rule"]["oneOf"]:
        named = form["properties"]["strategy"]
        for name in named.get("enum", [named.get("const")]):
            assert name not in options, f"{name} is there twice"
            options[name] = form["properties"].keys() - {"strategy"}
    return options


def read_page() -> dict[str, set[str]]:
    """Return the options of each strategy as docs/x-merge.md has them."""
    page = (ROOT / "docs/x-merge.md").read_text("utf-8")
    _, _, values = page.partition("\n## Values\n")
    values, _, lists = values.partition("\n## Lists\n")
    lists, _, _ = lists.partition("\n## ")
    values, _, of_groups = values.partition("| option | effect |")

    options: dict[str, set[str]] = {}
    for strategies, _, rest in read_cells(values):
        names, _, needed = strategies.partition(" with ")
        for name in read_words(names):
            options[name] = read_words(needed)
        assert rest == ""
    for first, *_ in read_cells(of_groups):
        options["group"] |= read_words(first)
    for strategies, listed, *_ in read_cells(lists):
        for name in read_words(strategies):
            options[name] = read_words(listed)
    return options


def read_cells(table: str) -> list[list[str]]:
    """Return the cells of the rows of a table that begin with a word of JSON."""
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [line.removeprefix("| ").split("|") for line in rows]


def read_words(cell: str) -> set[str]:
    return set(re.findall(r"`([\w-]+)`", cell))


def test_table_vocabulary_page_and_vectors_have_the_same_strategies_and_options() -> None:
    vocabulary = read_vocabulary()
    assert sorted(vocabulary) == sorted(STRATEGIES)
    assert read_page() == vocabulary

    # "object" is what merges without a rule, too
    order = (ROOT / "conformance/ORDER.md").read_text("utf-8")
    assert set(STRATEGIES) - read_words(order) == {"object"}
    _, _, values = order.partition("\n## 9. Single values with a rule\n")
    rows_of_values = read_cells(values.partition("\n## ")[0])
    single = {name for first, *_ in rows_of_values for name in read_words(first)}
    assert single == {*LEAF_STRATEGIES, "newest"}
    vectors = (ROOT / "conformance").glob("vectors/**/*.json")
    used = {
        name
        for path in vectors
        for name in re.findall(r'"strategy": ?"([\w-]+)"', path.read_text("utf-8"))
    }
    assert set(STRATEGIES) - used == {"object"}


def test_a_misspelt_strategy_is_refused_with_the_near_one() -> None:
    (finding,) = lint_schema({"x-merge": {"strategy": "raws"}})
    assert (finding.code, finding.where) == ("schema/unknown-strategy", "/x-merge/strategy")
    assert str(finding.hint) == "did you mean rows?"


@pytest.mark.parametrize("rule", [{}, "rows", None, {"strategy": 7}, []])
def test_a_keyword_without_a_strategy_is_refused(rule: Any) -> None:
    assert codes({"x-merge": rule}) == [("schema/no-strategy", "/x-merge")]


def test_an_unknown_option_is_refused() -> None:
    assert lint(strategy="set", key="/id") == [
        ("schema/unknown-option", "/properties/a/x-merge/key")
    ]
    assert lint(strategy="rows", key="/id", kye="/id") == [
        ("schema/unknown-option", "/properties/a/x-merge/kye")
    ]


@pytest.mark.parametrize("strategy", ["rows", "queue", "max", "newest", "group"])
def test_a_missing_option_is_refused(strategy: str) -> None:
    assert lint(strategy=strategy) == [("schema/missing-option", "/properties/a/x-merge")]


@pytest.mark.parametrize(
    "key", ["id", "/", "", "/a/b", "/a~1b", 7, [], ["/a", "/a"], ["/a", "b"], None]
)
def test_a_key_that_names_no_member_is_refused(key: Any) -> None:
    assert lint(strategy="rows", key=key) == [("schema/bad-option", "/properties/a/x-merge/key")]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "10", True, None, b"0", b"1.0", b"-3"])
def test_a_limit_that_is_no_positive_whole_number_is_refused(limit: Any) -> None:
    assert lint(strategy="log", limit=limit) == [
        ("schema/bad-option", "/properties/a/x-merge/limit")
    ]


@pytest.mark.parametrize("limit", [1, 10, b"10"])
def test_a_positive_limit_is_taken_as_number_and_as_token(limit: Any) -> None:
    assert lint(strategy="log", limit=limit, sort="/at", key=["/text", "/at"]) == []


@pytest.mark.parametrize(
    "keyword", ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains"]
)
def test_a_strategy_where_the_merge_does_not_look_is_refused(keyword: str) -> None:
    hidden = {"properties": {"b": {"x-merge": {"strategy": "set"}}}}
    found = codes({"properties": {"a": {keyword: [hidden] if keyword.endswith("Of") else hidden}}})
    assert [code for code, _ in found] == ["schema/hidden-strategy"]
    assert found[0][1].endswith("/properties/b/x-merge")


def test_a_strategy_beside_a_condition_is_read() -> None:
    assert (
        codes({"anyOf": [{"type": "array"}, {"type": "null"}], "x-merge": {"strategy": "set"}})
        == []
    )


def test_a_strategy_beside_a_reference_is_refused() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "x-merge": {"strategy": "set"},
        "$defs": {"a": {"type": "array"}},
    }
    assert codes(schema) == [("schema/hidden-strategy", "/x-merge")]


@pytest.mark.parametrize("pattern", ["merged", "^a.*", "^a$", "^(a|b)", "^a[0-9]", "^\\w", "a^"])
def test_a_pattern_that_is_no_beginning_is_refused(pattern: str) -> None:
    found = codes({"patternProperties": {pattern: {"items": {"x-merge": {"strategy": "set"}}}}})
    assert [code for code, _ in found] == ["schema/pattern"]


def test_a_pattern_without_strategies_is_nobodys_business() -> None:
    assert (
        codes(
            {
                "patternProperties": {
                    "^a.*$": {"type": "string"},
                    "^ab": {"x-merge": {"strategy": "set"}},
                }
            }
        )
        == []
    )


@pytest.mark.parametrize(
    "reference", ["other.json", "https://example.org/schema", "#anchor", "#", 7]
)
def test_a_reference_out_of_the_file_is_refused(reference: Any) -> None:
    assert codes({"items": {"$ref": reference}}) == [("schema/foreign-reference", "/items/$ref")]


def test_a_reference_that_leads_nowhere_is_refused() -> None:
    assert codes({"items": {"$ref": "#/$defs/gone"}}) == [("schema/dead-reference", "/items/$ref")]


def test_a_part_of_another_schema_refers_to_the_whole() -> None:
    part: dict[str, Any] = {
        "properties": {"a": {"$ref": "#/$defs/mine"}},
        "$defs": {"mine": {"type": "array"}},
    }
    whole = {"properties": {"skill_state": part}}
    assert lint_schema(part) == []
    assert [finding.code for finding in lint_schema(part, whole)] == ["schema/dead-reference"]


def test_leaves_of_a_group_must_say_the_same() -> None:
    first = {"strategy": "group", "name": "g", "newest": "/a/at"}
    second = {"strategy": "group", "name": "g"}
    schema = {"properties": {"a": {"x-merge": first}, "b": {"x-merge": second}}}
    assert codes(schema) == [("schema/group", "/properties/b/x-merge")]
    schema = {"properties": {name: {"x-merge": {**first, "newest": "/c/at"}} for name in "ab"}}
    assert [code for code, _ in codes(schema)] == ["schema/group"] * 2


def test_members_of_a_group_behind_references_agree_as_well() -> None:
    first, second = (
        {"x-merge": {"strategy": "group", "name": "g", **more}} for more in ({}, {"by": "/at"})
    )
    places = {"a": {"$ref": "#/$defs/first"}, "b": {"$ref": "#/$defs/second"}}
    schema = {"$defs": {"first": first, "second": second}, "properties": places}
    assert "schema/group" in [code for code, _ in codes(schema)]


@pytest.mark.parametrize(
    "requirement",
    [[{"where": "/a"}], [{"where": "a", "non_empty_when": {"/b": 1}}], {}, ["/a"], [None]],
)
def test_a_requirement_of_another_form_is_refused(requirement: Any) -> None:
    assert [code for code, _ in codes({"x-merge-require": requirement})] == ["schema/requirement"]


META_SCHEMA = json.loads(files(merge).joinpath("x_merge_schema.json").read_text("utf-8"))
SEEN_IN_ONE_PLACE = {
    "schema/no-strategy",
    "schema/unknown-strategy",
    "schema/unknown-option",
    "schema/missing-option",
}
SEEN_IN_ONE_PLACE |= {"schema/bad-option", "schema/requirement"}
VALUES: list[Any] = [
    "/id",
    "/a/b",
    "x",
    "",
    "/a~1b",
    ["/a", "/b"],
    ["a", "b"],
    ["a"],
    [],
    0,
    7,
    True,
    None,
    "merge",
    {},
]
RANKS: list[Any] = [[{"at": "/a", "order": ["x", "y"]}], [{"at": "/a"}]]
OPTIONS = [
    "key",
    "sort",
    "limit",
    "order",
    "by",
    "name",
    "superseded",
    "newest",
    "added",
    "rank",
    "other",
]
RULES = st.builds(
    lambda strategy, options: {"strategy": strategy, **options},
    st.sampled_from([*STRATEGIES, "rowz", 7]),
    st.dictionaries(st.sampled_from(OPTIONS), st.sampled_from(VALUES + RANKS), max_size=3),
)
FORMS: list[Any] = [
    [{"where": "/a", "non_empty_when": {"/b": 1}}],
    [{"where": "/a", "non_empty_when": {}}],
    [{"where": "/a", "non_empty_when": {"b": 1}}],
    [{"same": "/a"}, {"same": "a"}],
    [{"same": "/a"}],
    [{"same": "/a", "where": "/b"}],
    [{}],
    {},
    [None],
]


def agree(schema: Any) -> None:
    refused = [
        each
        for each in lint_schema(schema)
        if each.code in SEEN_IN_ONE_PLACE or "needs" in each.message
    ]
    assert Draft202012Validator(META_SCHEMA).is_valid(schema) == (not refused)


@given(RULES)
def test_the_meta_schema_refuses_what_the_lint_refuses(rule: dict[str, Any]) -> None:
    agree({"properties": {"a": {"x-merge": rule}}})


@pytest.mark.parametrize("requirements", FORMS)
def test_the_meta_schema_knows_the_forms_of_requirements(requirements: Any) -> None:
    agree({"x-merge-require": requirements})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_shipped_schema_keeps_to_the_vocabulary(kind: Kind) -> None:
    path = schema_path(kind.pattern.replace("*", "x"))
    assert path is not None
    found = Draft202012Validator(META_SCHEMA).iter_errors(json.loads(Path(path).read_text("utf-8")))
    assert [error.message for error in found] == []


def test_the_meta_schema_is_a_schema_of_whole_schemas() -> None:
    Draft202012Validator.check_schema(META_SCHEMA)
    assert not Draft202012Validator(META_SCHEMA).is_valid(
        {"properties": {"a": {"type": "nonsense"}}}
    )


def test_requirements_belong_to_the_root_of_a_document() -> None:
    part = {"x-merge-require": [{"where": "/a", "non_empty_when": {"/b": 1}}]}
    assert lint_schema(part) == []
    (finding,) = lint_schema(part, root={"properties": {"part": part}})
    assert (finding.code, finding.where) == ("schema/requirement", "/x-merge-require")
