"""A schema that both sides keep, and that their merge would break: the merge is not clean, and says
where.
"""

from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, vector

MOST = {"properties": {"list": {"maxItems": 2}}}
EITHER = {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
WHEN = {
    "if": {"properties": {"s": {"const": "done"}}, "required": ["s"]},
    "then": {"properties": {"p": {"minimum": 50}}},
}


def ids(*numbers: int) -> Value:
    return [{"id": number} for number in numbers]


def make_law() -> Iterator[Vector]:
    yield from make_broken()
    yield from make_blameless()


def make_broken() -> Iterator[Vector]:
    """schema, base, ours, theirs; the member "z" is edited by one side, and merges whatever else is
    in conflict.
    """
    cases: dict[str, tuple[Value, Value, Value, Value]] = {
        "maxItems": (MOST, {"list": ids(1)}, {"list": ids(1, 2)}, {"list": ids(1, 3)}),
        "minItems": (
            {"properties": {"list": {"minItems": 1}}},
            {"list": ids(1, 2)}, {"list": ids(1)}, {"list": ids(2)},
        ),
        "sum": ({"properties": {"n": {"maximum": 5, "x-merge": {"strategy": "sum"}}}}, {"n": 1}, {"n": 4}, {"n": 3}),
        "anyOf": ({"properties": {"a": EITHER}}, {"a": {"x": 1, "y": 1}}, {"a": {"x": 1}}, {"a": {"y": 1}}),
        "oneOf": (
            {"properties": {"a": {"oneOf": [{"required": ["x"]}, {"required": ["y"]}]}}},
            {"a": {"k": 0}}, {"a": {"k": 0, "x": 1}}, {"a": {"k": 0, "y": 1}},
        ),
        "not": (
            {"properties": {"a": {"not": {"required": ["x", "y"]}}}},
            {"a": {"k": 0}}, {"a": {"k": 0, "x": 1}}, {"a": {"k": 0, "y": 1}},
        ),
        "if": (
            {"properties": {"a": WHEN}},
            {"a": {"s": "", "p": 60}}, {"a": {"s": "done", "p": 60}}, {"a": {"s": "", "p": 1}},
        ),
        "dependent": (
            {"properties": {"a": {"dependentRequired": {"x": ["y"]}}}},
            {"a": {"y": 0}}, {"a": {"y": 0, "x": 1}}, {"a": {}},
        ),
        "maxProperties": (
            {"properties": {"a": {"maxProperties": 1}}}, {"a": {}}, {"a": {"x": 1}}, {"a": {"y": 1}},
        ),
        "minProperties": (
            {"properties": {"a": {"minProperties": 1}}}, {"a": {"x": 1, "y": 1}}, {"a": {"x": 1}}, {"a": {"y": 1}},
        ),
        "reference": (
            {"properties": {"a": {"$ref": "#/$defs/few"}}, "$defs": {"few": {"maxProperties": 1}}},
            {"a": {}}, {"a": {"x": 1}}, {"a": {"y": 1}},
        ),
        "allOf": (
            {"properties": {"a": {"allOf": [{}, {"maxProperties": 1}]}}}, {"a": {}}, {"a": {"x": 1}}, {"a": {"y": 1}},
        ),
        "contains": (
            {"properties": {"list": {"contains": {"properties": {"main": {"const": True}}, "required": ["main"]}}}},
            {"list": [{"id": 1, "main": True}, {"id": 2, "main": True}]},
            {"list": [{"id": 1, "main": True}, {"id": 2}]},
            {"list": [{"id": 1}, {"id": 2, "main": True}]},
        ),
        "unique": (
            {"properties": {"list": {"uniqueItems": True}}},
            {"list": [{"a": 1, "b": 1}, {"a": 2, "b": 2}]},
            {"list": [{"a": 1, "b": 2}, {"a": 2, "b": 2}]},
            {"list": [{"a": 2, "b": 1}, {"a": 2, "b": 2}]},
        ),
        "deep": (
            {"properties": {"list": {"items": {"properties": {"tags": {"maxItems": 1}}}}}},
            {"list": [{"id": 7, "tags": []}]},
            {"list": [{"id": 7, "tags": ids(1)}]},
            {"list": [{"id": 7, "tags": ids(2)}]},
        ),
    }  # fmt: skip
    for name, (schema, base, ours, theirs) in cases.items():
        versions = [{**base, "z": 0}, {**ours, "z": 0}, {**theirs, "z": 1}]
        expect = conflict({**ours, "z": 1}, versions[2])
        yield vector(
            f"law/{name}", f"only the merge breaks the schema: {name}", versions, expect, schema
        )
    schema = {
        "if": {"properties": {"x": {"const": 2}}},
        "then": {"properties": {"y": {"const": 0}}},
    }
    versions = [{"x": 0, "y": 0}, {"x": 1, "y": 1}, {"x": 2, "y": 0}]
    about = "another conflict decided for one side breaks the schema, for the other it does not"
    yield vector("law/decided", about, versions, conflict(versions[1], versions[2]), schema)
    versions = [{"a": 1}, {"a": 1, "b": 1}, {"a": 1, "c": 1}]
    about = "the document as a whole breaks the schema"
    yield vector(
        "law/root", about, versions, conflict(versions[1], versions[2]), {"maxProperties": 2}
    )


def make_blameless() -> Iterator[Vector]:
    """What the schema allows merges; a side that breaks it already is to blame, and not the
    merge.
    """
    versions = [{"list": ids(1)}, {"list": ids(1, 2)}, {"list": ids(1)}]
    yield vector("law/allowed", "the merge keeps the schema", versions, clean(versions[1]), MOST)
    versions = [{"list": ids(1), "z": 0}, {"list": ids(1, 2, 3), "z": 0}, {"list": ids(1), "z": 1}]
    about = "one side breaks the schema already"
    yield vector("law/blame", about, versions, clean({"list": ids(1, 2, 3), "z": 1}), MOST)
    versions = [{"list": ids(1)}, {"list": ids(1, 2, 3)}, {"list": ids(1, 4)}]
    expect = {"list": {"at": "/list", "items": ids(1, 2, 3, 4), "before": []}}
    about = "one side breaks the schema already, at the place that both edit"
    yield vector("law/blame-both", about, versions, expect, MOST)
    schema = {
        "properties": {"a": {"$ref": "https://example.org/no.json"}, "b": {"$ref": "#/$defs/no"}}
    }
    versions = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}]
    about = "a reference that leads nowhere forbids nothing"
    yield vector("law/unknown", about, versions, clean({"a": 2, "b": 2}), schema)
