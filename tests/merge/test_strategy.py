"""What a schema says of a place, and how single values merge by it."""

from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.jsontext import Node
from checkpoint_git.merge.result import Fresh
from checkpoint_git.merge.strategy import LEAF_STRATEGIES, Strategies, key_names, list_strategy
from tests.support.rows import rows


def node(text: str) -> Node:
    return jsontext.parse(text)


def merged(rule: dict[str, Any], base: str | None, ours: str, theirs: str) -> Any:
    """What a rule makes of three JSON texts: the text that wins, or None for a conflict."""
    old = None if base is None else node(base)
    result = LEAF_STRATEGIES[rule["strategy"]](rule, old, node(ours), node(theirs))
    if isinstance(result, Fresh):
        return result.value.decode()
    return None if result is None else result.source


@rows(
    ("strategy", "ours", "theirs", "result"),
    [
        ("max-time", '"2026-03-01T08:00:00Z"', '"2026-03-01T08:00:01Z"', '"2026-03-01T08:00:01Z"'),
        ("max-time", '"2026-03-01T08:00:01Z"', '"2026-03-01T08:00:00Z"', '"2026-03-01T08:00:01Z"'),
        ("min-time", '"2026-03-01T08:00:00Z"', '"2026-03-01T08:00:01Z"', '"2026-03-01T08:00:00Z"'),
        ("min-time", '"2026-03-01T08:00:01Z"', '"2026-03-01T08:00:00Z"', '"2026-03-01T08:00:00Z"'),
        (
            "max-time",
            '"2026-03-01T08:00:00.0Z"',
            '"2026-03-01T08:00:00Z"',
            '"2026-03-01T08:00:00Z"',
        ),
        ("max-time", '"yesterday"', '"2026-03-01T08:00:00Z"', None),
        ("min-time", '"2026-03-01T08:00:00Z"', "7", None),
    ],
)
def test_instants_merge_to_the_later_or_earlier_and_conflict_where_one_is_none(
    strategy: str, ours: str, theirs: str, result: str | None
) -> None:
    assert merged({"strategy": strategy}, None, ours, theirs) == result


ORDER = {"strategy": "max", "order": ["not_started", "in_progress", "complete"]}


@rows(
    ("base", "ours", "theirs", "result"),
    [
        ("not_started", "in_progress", "complete", "complete"),
        ("not_started", "complete", "in_progress", "complete"),
        (None, "not_started", "complete", "complete"),
        ("in_progress", "in_progress", "complete", "complete"),
        ("in_progress", "not_started", "complete", None),  # one side fell behind
        ("in_progress", "complete", "not_started", None),
        ("failed", "in_progress", "complete", None),  # base is in no order
        ("not_started", "failed", "complete", None),
        ("not_started", "complete", "failed", None),
    ],
)
def test_a_value_in_an_order_moves_forward_and_never_back(
    base: str | None, ours: str, theirs: str, result: str | None
) -> None:
    quoted = [None if word is None else f'"{word}"' for word in (base, ours, theirs, result)]
    assert merged(ORDER, quoted[0], quoted[1] or "", quoted[2] or "") == quoted[3]


@rows(
    ("ours", "theirs", "result"),
    [
        ("2", "10", "10"),
        ("10", "2", "10"),
        ("1.5", "1.50", "1.5"),
        ("1e1", "10", "10"),
        ("-2", "-10", "-2"),
        ('"7"', "8", None),
        ("true", "8", None),
    ],
)
def test_the_greater_number_wins_and_the_shorter_of_two_spellings(
    ours: str, theirs: str, result: str | None
) -> None:
    assert merged({"strategy": "max-number"}, None, ours, theirs) == result


@rows(
    ("base", "ours", "theirs", "result"),
    [
        ("1", "3", "4", "6"),
        (None, "3", "4", "7"),
        ("0.1", "0.3", "0.20", "0.40"),
        ("5", "5", "7", "7"),
        ("5", "4", "7", None),  # ours was reset
        ("5", "7", "4", None),
        ("5", "5", "5", "5"),
        ('"5"', "7", "8", None),
        ("5", "[7]", "8", None),
    ],
)
def test_a_counter_adds_what_both_sides_added_and_conflicts_where_one_was_reset(
    base: str | None, ours: str, theirs: str, result: str | None
) -> None:
    assert merged({"strategy": "sum"}, base, ours, theirs) == result


SCHEMA: dict[str, Any] = {
    "$defs": {
        "name": {"type": "string"},
        "alias": {"$ref": "#/$defs/name"},
        "circle": {"$ref": "#/$defs/circle"},
        "text": "no schema",
    },
    "properties": {"id": {"$ref": "#/$defs/alias"}},
    "patternProperties": {"^x_": {"const": "x"}, "y_": {"const": "y"}},
    "additionalProperties": {"$ref": "#/$defs/name"},
}


@rows(
    ("schema", "resolved"),
    [
        ({"const": 1}, {"const": 1}),
        ({"$ref": "#/$defs/name"}, {"type": "string"}),
        ({"$ref": "#/$defs/alias"}, {"type": "string"}),
        ({"$ref": "#/$defs/missing"}, {}),
        ({"$ref": "#/$defs/text"}, {}),
        ({"$ref": "#/$defs/text/deeper"}, {}),
        ({"$ref": "other.json#/a"}, {"$ref": "other.json#/a"}),
        ({"$ref": 7}, {"$ref": 7}),
        ({"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/circle"}),  # it ends
    ],
)
def test_a_reference_leads_to_its_schema_or_to_none(
    schema: dict[str, Any], resolved: dict[str, Any]
) -> None:
    assert Strategies(SCHEMA).resolve(schema) == resolved


def test_eight_references_are_followed_and_no_more() -> None:
    chain: dict[str, Any] = {str(number): {"$ref": f"#/{number + 1}"} for number in range(9)}
    chain["8"] = {"const": "end"}
    strategies = Strategies(chain)
    assert strategies.resolve(chain["0"]) == {"const": "end"}
    assert strategies.resolve({"$ref": "#/0"}) == {"$ref": "#/8"}


@rows(
    ("key", "schema"),
    [
        ("id", {"type": "string"}),
        ("x_mine", {"const": "x"}),
        ("y_mine", {"type": "string"}),  # a pattern that is no plain beginning is not read
        ("_x_", {"type": "string"}),
        ("other", {"type": "string"}),
    ],
)
def test_a_member_has_the_schema_of_its_name_its_beginning_or_of_all_others(
    key: str, schema: dict[str, Any]
) -> None:
    assert Strategies(SCHEMA).member(SCHEMA, key) == schema


@rows(
    "schema",
    [{}, {"additionalProperties": False}, {"additionalProperties": True}, {"properties": {}}],
)
def test_a_member_that_no_schema_is_about_has_none(schema: dict[str, Any]) -> None:
    assert Strategies(schema).member(schema, "id") == {}


@rows(
    ("index", "schema"),
    [(0, {"const": "first"}), (1, {}), (2, {"const": "rest"}), (3, {"const": "rest"})],
)
def test_an_item_has_the_schema_of_its_index_else_of_all_items(
    index: int, schema: dict[str, Any]
) -> None:
    place = {"prefixItems": [{"const": "first"}, True], "items": {"const": "rest"}}
    assert Strategies(place).item_at(place, index) == schema


def test_items_without_a_schema_have_none() -> None:
    assert Strategies({}).items({}) == {}
    assert Strategies({}).items({"items": False}) == {}
    assert Strategies({}).item_at({"prefixItems": {}}, 0) == {}


@rows(
    ("schema", "strategy"),
    [
        ({}, ""),
        ({"x-merge": {"strategy": "log"}, "uniqueItems": True}, "log"),
        ({"x-merge": {}, "uniqueItems": True}, "set"),
        ({"uniqueItems": True}, "set"),
        ({"uniqueItems": 1}, ""),
        ({"prefixItems": [{}]}, "tuple"),
        ({"minItems": 2, "maxItems": 2}, "tuple"),
        ({"minItems": 2, "maxItems": 3}, ""),
        ({"minItems": 2}, ""),
        ({"minItems": 2, "maxItems": 2, "uniqueItems": True}, "tuple"),
    ],
)
def test_a_list_merges_by_its_rule_else_by_what_its_keywords_say(
    schema: dict[str, Any], strategy: str
) -> None:
    assert list_strategy(schema) == strategy


@rows(
    ("rule", "names"),
    [({}, ()), ({"key": "/id"}, ("id",)), ({"key": ["/rubric", "/at"]}, ("rubric", "at"))],
)
def test_a_key_is_one_member_or_several(rule: dict[str, Any], names: tuple[str, ...]) -> None:
    assert key_names(rule) == names


def test_a_group_lists_the_members_that_a_version_has() -> None:
    group = {"x-merge": {"strategy": "group", "name": "where"}}
    other = {"x-merge": {"strategy": "group", "name": "who"}}
    places = {
        "phase": group,
        "step": {"$ref": "#/$defs/where"},
        "note": group,
        "owner": other,
        "free": {},
    }
    schema = {"$defs": {"where": group}, "properties": places}
    strategies = Strategies(schema)
    versions: list[dict[str, Node]] = [{"phase": node("1"), "free": node("1")}, {"step": node("2")}]
    assert strategies.groups(schema, *versions) == [(group["x-merge"], ["phase", "step"])]
    assert strategies.groups({}, *versions) == []
