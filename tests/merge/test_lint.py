"""What is refused in a schema's merge strategies, and that the shipped schema has nothing of it."""

from typing import Any

import pytest

from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.merge.strategy import STRATEGIES
from tests.merge.schemas import skill_schema


def lint(**rule: Any) -> list[tuple[str, str]]:
    """The codes and places of what is wrong with one property's x-merge."""
    return codes({"properties": {"a": {"x-merge": rule}}})


def codes(schema: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in lint_schema(schema)]


def test_the_shipped_schema_is_clean() -> None:
    assert lint_schema(skill_schema()) == []


def test_a_schema_without_strategies_is_clean() -> None:
    assert codes({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}) == []
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


def test_a_misspelt_strategy_is_refused_with_the_near_one() -> None:
    (finding,) = lint_schema({"x-merge": {"strategy": "raws"}})
    assert (finding.code, finding.where) == ("schema/unknown-strategy", "/x-merge/strategy")
    assert finding.hint == "did you mean rows?"


@pytest.mark.parametrize("rule", [{}, "rows", None, {"strategy": 7}, []])
def test_a_keyword_without_a_strategy_is_refused(rule: Any) -> None:
    assert codes({"x-merge": rule}) == [("schema/no-strategy", "/x-merge")]


def test_an_unknown_option_is_refused() -> None:
    assert lint(strategy="set", key="/id") == [("schema/unknown-option", "/properties/a/x-merge/key")]
    assert lint(strategy="rows", key="/id", kye="/id") == [("schema/unknown-option", "/properties/a/x-merge/kye")]


@pytest.mark.parametrize("strategy", ["rows", "queue", "max", "newest", "group"])
def test_a_missing_option_is_refused(strategy: str) -> None:
    assert lint(strategy=strategy) == [("schema/missing-option", "/properties/a/x-merge")]


@pytest.mark.parametrize("key", ["id", "/", "", "/a/b", "/a~1b", 7, [], ["/a", "/a"], ["/a", "b"], None])
def test_a_key_that_names_no_member_is_refused(key: Any) -> None:
    assert lint(strategy="rows", key=key) == [("schema/bad-option", "/properties/a/x-merge/key")]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "10", True, None, b"0", b"1.0", b"-3"])
def test_a_limit_that_is_no_positive_whole_number_is_refused(limit: Any) -> None:
    assert lint(strategy="log", limit=limit) == [("schema/bad-option", "/properties/a/x-merge/limit")]


@pytest.mark.parametrize("limit", [1, 10, b"10"])
def test_a_positive_limit_is_taken_as_number_and_as_token(limit: Any) -> None:
    assert lint(strategy="log", limit=limit, sort="/at", key=["/text", "/at"]) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains"])
def test_a_strategy_where_the_merge_does_not_look_is_refused(keyword: str) -> None:
    hidden = {"properties": {"b": {"x-merge": {"strategy": "set"}}}}
    found = codes({"properties": {"a": {keyword: [hidden] if keyword.endswith("Of") else hidden}}})
    assert [code for code, _ in found] == ["schema/hidden-strategy"]
    assert found[0][1].endswith("/properties/b/x-merge")


def test_a_strategy_beside_a_condition_is_read() -> None:
    assert codes({"anyOf": [{"type": "array"}, {"type": "null"}], "x-merge": {"strategy": "set"}}) == []


def test_a_strategy_beside_a_reference_is_refused() -> None:
    schema = {"$ref": "#/$defs/a", "x-merge": {"strategy": "set"}, "$defs": {"a": {"type": "array"}}}
    assert codes(schema) == [("schema/hidden-strategy", "/x-merge")]


@pytest.mark.parametrize("pattern", ["merged", "^a.*", "^a$", "^(a|b)", "^a[0-9]", "^\\w", "a^"])
def test_a_pattern_that_is_no_beginning_is_refused(pattern: str) -> None:
    found = codes({"patternProperties": {pattern: {"items": {"x-merge": {"strategy": "set"}}}}})
    assert [code for code, _ in found] == ["schema/pattern"]


def test_a_pattern_without_strategies_is_nobodys_business() -> None:
    assert codes({"patternProperties": {"^a.*$": {"type": "string"}, "^ab": {"x-merge": {"strategy": "set"}}}}) == []


@pytest.mark.parametrize("reference", ["other.json", "https://example.org/schema", "#anchor", "#", 7])
def test_a_reference_out_of_the_file_is_refused(reference: Any) -> None:
    assert codes({"items": {"$ref": reference}}) == [("schema/foreign-reference", "/items/$ref")]


def test_a_reference_that_leads_nowhere_is_refused() -> None:
    assert codes({"items": {"$ref": "#/$defs/gone"}}) == [("schema/dead-reference", "/items/$ref")]


def test_a_part_of_another_schema_refers_to_the_whole() -> None:
    part: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/mine"}}, "$defs": {"mine": {"type": "array"}}}
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


@pytest.mark.parametrize(
    "requirement", [[{"where": "/a"}], [{"where": "a", "non_empty_when": {"/b": 1}}], {}, ["/a"], [None]]
)
def test_a_requirement_of_another_form_is_refused(requirement: Any) -> None:
    assert [code for code, _ in codes({"x-merge-require": requirement})] == ["schema/requirement"]
