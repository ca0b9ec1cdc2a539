"""The user's schema is law: of two valid sides no clean result is invalid, and the conflict is
where it is wrong.
"""

import json
from typing import Any

import pytest

from checkpoint_git.core.jsontext import JsonTextError, parse, scan_tokens
from checkpoint_git.core.user_schema import make_judge
from checkpoint_git.merge.conflicts import decide_all, list_conflicts
from checkpoint_git.merge.file import Merged, merge_file
from tests.support.rows import rows


def merge(schema: dict[str, Any], base: Any, ours: Any, theirs: Any, **options: Any) -> Merged:
    tokens = scan_tokens(json.dumps(schema))
    data = [json.dumps(version).encode() for version in (base, ours, theirs)]
    return merge_file(data[0], data[1], data[2], tokens, judge=make_judge(tokens), **options)


def ids(*numbers: int) -> list[dict[str, int]]:
    return [{"id": number} for number in numbers]


MOST = {"properties": {"list": {"maxItems": 2}, "other": {}}}
SUM = {"properties": {"n": {"maximum": 5, "x-merge": {"strategy": "sum"}}}}
EITHER = {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
WHEN = {
    "if": {"properties": {"s": {"const": "done"}}},
    "then": {"properties": {"p": {"minimum": 50}}},
}
ROWS = {"properties": {"rows": {"items": {"properties": {"names": {"uniqueItems": True}}}}}}
FIRST = {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}


@rows("schema, base, ours, theirs, where", [
    (MOST, {"list": ids(1)}, {"list": ids(1, 2)}, {"list": ids(1, 3)}, "/list"),
    (SUM, {"n": 1, "z": 1}, {"n": 4, "z": 1}, {"n": 3, "z": 2}, "/n"),
    ({"additionalProperties": EITHER}, *({"a": one} for one in ({"x": 1, "y": 1}, {"x": 1}, {"y": 1})), "/a"),
    ({"items": WHEN}, *([{"id": 7, "s": s, "p": p}] for s, p in (("", 60), ("done", 60), ("", 1))), "/0"),
    ({"maxProperties": 2}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "c": 1}, ""),
    ({"properties": {"o": {"$ref": "#/$defs/o"}}, "$defs": {"o": {"maxProperties": 1}}},
     {"o": {}}, {"o": {"a": 1}}, {"o": {"b": 1}}, "/o"),
])  # fmt: skip
def test_what_only_the_merge_makes_invalid_is_a_conflict_there(
    schema: dict[str, Any], base: Any, ours: Any, theirs: Any, where: str
) -> None:
    judge = make_judge(scan_tokens(json.dumps(schema)))
    for first, second in ((ours, theirs), (theirs, ours)):
        merged = merge(schema, base, first, second)
        assert [conflict.where for conflict in list_conflicts(merged)] == [where]
        for side in (0, 2):
            assert judge(parse(decide_all(merged, side).text).value) == []


def test_what_is_beside_the_conflict_is_merged() -> None:
    merged = merge(
        MOST,
        {"list": [], "other": 0},
        {"list": ids(1, 2), "other": 0},
        {"list": ids(3), "other": 1},
    )
    assert json.loads(decide_all(merged, 0).text) == {"list": ids(1, 2), "other": 1}


@rows("ours, theirs", [(ids(1, 2, 3), ids(1, 4)), (ids(1, 4), ids(1, 2, 3))])
def test_a_side_that_is_invalid_itself_is_to_blame_and_not_the_merge(
    ours: Any, theirs: Any
) -> None:
    merged = merge(MOST, {"list": ids(1)}, {"list": ours}, {"list": theirs})
    assert not merged.conflicts
    assert len(json.loads(merged.text)["list"]) == 4


def test_many_wrong_places_are_one_conflict_of_the_document() -> None:
    def lists(number: int) -> dict[str, Any]:
        return {str(name): ids(1, number) for name in range(9)}

    merged = merge(
        {"additionalProperties": {"maxItems": 2}},
        dict.fromkeys("012345678", ids(1)),
        lists(2),
        lists(3),
    )
    assert [conflict.where for conflict in list_conflicts(merged)] == [""]


def test_a_merge_of_merge_bases_takes_the_value_of_the_base() -> None:
    merged = merge(MOST, {"list": ids(1)}, {"list": ids(1, 2)}, {"list": ids(1, 3)}, inner=True)
    assert json.loads(merged.text) == {"list": ids(1)}


@rows("schema, document, wrong", [
    (FIRST, ["a", 1], []),
    (FIRST, ["a", 1, 2], [""]),
    ({"uniqueItems": False, "maxItems": 2}, [1, 1], []),
    ({"uniqueItems": True}, [{"a": 1, "b": [1]}, {"b": [1.0], "a": 1}], [""]),
    ({"uniqueItems": True}, [1, True, [0], [False], {}, []], []),
    ({"properties": {"a": {"$ref": "#/no"}, "b": {"$ref": "file:///etc/passwd"}}, "required": ["c"]}, {"a": 1}, ["/c"]),
    ({"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}, "b": {"$ref": "other.json"}}}, {"a": 1, "b": 2}, []),
    ({"$id": "http://127.0.0.1:9/x", "$schema": "http://x", "properties": {"a": {"$ref": "#"}}}, {"a": {}}, []),
    ({"patternProperties": {"^a": {"const": 1}, "(b+)+$": {}}, "additionalProperties": False}, {"c": 1}, []),
    ({"patternProperties": {"^a": {"const": 1}}, "additionalProperties": False}, {"ab": 2}, ["/ab"]),
    ({"not": {"pattern": "x"}, "oneOf": [{"pattern": "x"}, {}], "properties": {"pattern": {"const": 1}}},
     {"pattern": 2}, ["/pattern"]),
    ({"items": [{"const": 1}]}, [2], []),
])  # fmt: skip
def test_a_schema_means_what_it_says_and_fetches_nothing(
    schema: Any, document: Any, wrong: list[str]
) -> None:
    judge = make_judge(scan_tokens(json.dumps(schema)))
    assert judge(scan_tokens(json.dumps(document))) == wrong


def test_a_pattern_is_never_tried_on_what_a_branch_brings() -> None:
    slow = {
        "pattern": "^(a+)+$",
        "patternProperties": {"^(a+)+$": False},
        "propertyNames": {"pattern": "^(a+)+$"},
    }
    text = "a" * 5_000 + "!"  # an hour is not enough for it
    judge = make_judge(
        scan_tokens(json.dumps({"additionalProperties": slow, **slow, "multipleOf": 1}))
    )
    assert judge({text: text, "x": {text: text}}) == []


@rows("schema", [{"$ref": "#"}, {"allOf": 1}, {"type": 7}])
def test_a_schema_that_cannot_be_applied_is_an_error_and_no_verdict(schema: dict[str, Any]) -> None:
    with pytest.raises(JsonTextError) as caught:
        make_judge(scan_tokens(json.dumps(schema)))({"a": b"1"})
    assert caught.value.code == "schema/unusable"
