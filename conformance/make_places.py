"""The profile "schema": each strategy, at each place where a schema is read; and schemas that are
to be refused.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from conformance.building import ABSENT, Value, Vector, clean, conflict, vector
from conformance.make_unsaid import make_seldom_read

LATER, EARLIER, FIRST = (f"2026-01-0{day}T00:00:00Z" for day in (3, 2, 1))
ROOT_TIME = {"at": {"x-merge": {"strategy": "max-time"}}}


class Example(NamedTuple):
    """A value's three versions, and what they become by a rule; without the rule they become
    something else.

    result: the merged value, a list of items in any order where `is_free`, ABSENT for a conflict.
    """

    schema: Value
    versions: tuple[Value, Value, Value]
    result: Value
    is_free: bool = False


class Spot(NamedTuple):
    """A place in a document. wrap: the schema that has another schema there. put: the document with
    a value there.
    """

    wrap: Callable[[Value], Value]
    put: Callable[[Value], Value]
    at: str


def by_rule(strategy: str, **options: Value) -> Value:
    return {"x-merge": {"strategy": strategy, **options}}


def logged(*days: int) -> list[Value]:
    return [{"at": f"2026-02-0{day}T00:00:00Z"} for day in days]


def numbered(*numbers: int) -> list[Value]:
    return [{"v": number} for number in numbers]


GROUP = {"properties": {"a": by_rule("group", name="g"), "b": by_rule("group", name="g")}}

EXAMPLES: dict[str, Example] = {
    "sum": Example(by_rule("sum"), (1, 3, 2), 4),
    "max": Example(by_rule("max", order=["low", "mid", "high"]), ("low", "mid", "high"), "high"),
    "max-number": Example(by_rule("max-number"), (1, 3, 20), 20),
    "max-time": Example(by_rule("max-time"), (FIRST, EARLIER, LATER), LATER),
    "min-time": Example(by_rule("min-time"), (LATER, EARLIER, FIRST), FIRST),
    "newest": Example(
        by_rule("newest", by="/at"),
        ("old", "ours, which is newer", "theirs"),
        "ours, which is newer",
    ),
    "atomic": Example(
        by_rule("atomic"), ({"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 0, "y": 1}), ABSENT
    ),
    "group": Example(GROUP, ({"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 2, "b": 0}), ABSENT),
    "set": Example(
        by_rule("set"), (numbered(1, 2), numbered(3, 2), numbered(4, 2)), numbered(2, 3, 4), True
    ),
    "rows": Example(
        by_rule("rows", key="/k", added="merge"),
        ([], [{"k": 1, "a": 1}], [{"k": 1, "b": 1}]),
        [{"k": 1, "a": 1, "b": 1}],
    ),
    "queue": Example(
        by_rule("queue", key="/text"), (["A"], ["X", "A"], ["A", "X"]), ["A", "X"], True
    ),
    "log": Example(
        by_rule("log", key="/at", sort="/at"),
        (logged(1), logged(6, 3, 1), logged(5, 4, 1)),
        logged(6, 5, 4, 3, 1),
    ),
    "sequence": Example(
        by_rule("sequence"), ([1, 2, 3, 4], [2, 3, 4, 5], [1, 2, 30, 4]), [2, 30, 4, 5]
    ),
    "tuple": Example(
        by_rule("tuple"), (["A", "A", "B"], ["A", "B", "B"], ["B", "A", "A"]), ["B", "B", "A"]
    ),
}

IN_ORDER = {"strategy": "sequence"}


def in_properties(properties: Value) -> Value:
    return {"properties": {**ROOT_TIME, **properties}}


def listed_schema(**keywords: Value) -> Value:
    return in_properties({"l": {"x-merge": IN_ORDER, **keywords}})


def with_definition(schema: Value, definition: Value) -> Value:
    return {
        **schema,
        "$defs": {"place": definition, "again": {"$ref": "#/$defs/place"}, "a/b~c": definition},
    }


def in_member(value: Value) -> Value:
    return {"p": value}


def in_second(value: Value) -> Value:
    return {"l": ["head", value]}


REFERENCE = {"$ref": "#/$defs/place"}
SPOTS: dict[str, Spot] = {
    "properties": Spot(lambda rule: in_properties({"p": rule}), in_member, "/p"),
    "nested": Spot(
        lambda rule: in_properties({"o": in_properties({"p": rule})}),
        lambda v: {"o": {"p": v}},
        "/o/p",
    ),
    "pattern": Spot(
        lambda rule: {
            **in_properties({}),
            "patternProperties": {"^q": by_rule("atomic"), "^p": rule},
        },
        in_member,
        "/p",
    ),
    "additional": Spot(
        lambda rule: {**in_properties({"q": {}}), "additionalProperties": rule}, in_member, "/p"
    ),
    "records": Spot(
        lambda rule: in_properties({"l": {"items": in_properties({"p": rule})}}),
        lambda value: {"l": [{"id": 1, "p": value}]},
        "/l/0/p",
    ),
    "items": Spot(lambda rule: listed_schema(items=rule), in_second, "/l/1"),
    "prefix": Spot(lambda rule: listed_schema(prefixItems=[{}, rule]), in_second, "/l/1"),
    "behind-prefix": Spot(
        lambda rule: listed_schema(prefixItems=[{}], items=rule), in_second, "/l/1"
    ),
    "lists": Spot(
        lambda rule: listed_schema(items={"x-merge": IN_ORDER, "items": rule}),
        lambda value: {"l": [["head", value]]},
        "/l/0/1",
    ),
    "ref": Spot(
        lambda rule: with_definition(in_properties({"p": REFERENCE}), rule), in_member, "/p"
    ),
    "ref-to-ref": Spot(
        lambda rule: with_definition(in_properties({"p": {"$ref": "#/$defs/again"}}), rule),
        in_member,
        "/p",
    ),
    "ref-escaped": Spot(
        lambda rule: with_definition(in_properties({"p": {"$ref": "#/$defs/a~1b~0c"}}), rule),
        in_member,
        "/p",
    ),
    "ref-root": Spot(
        lambda rule: {"$ref": "#/$defs/root", "$defs": {"root": in_properties({"p": rule})}},
        in_member,
        "/p",
    ),
    "ref-pattern": Spot(
        lambda rule: with_definition(
            {**in_properties({}), "patternProperties": {"^p": REFERENCE}}, rule
        ),
        in_member,
        "/p",
    ),
    "ref-additional": Spot(
        lambda rule: with_definition(
            {**in_properties({}), "additionalProperties": REFERENCE}, rule
        ),
        in_member,
        "/p",
    ),
    "ref-items": Spot(
        lambda rule: with_definition(listed_schema(items=REFERENCE), rule), in_second, "/l/1"
    ),
    "ref-prefix": Spot(
        lambda rule: with_definition(listed_schema(prefixItems=[{}, REFERENCE]), rule),
        in_second,
        "/l/1",
    ),
}


def make_schema() -> Iterator[Vector]:
    for (strategy, example), (where, spot) in itertools.product(EXAMPLES.items(), SPOTS.items()):
        yield make_example(f"schema/{strategy}-{where}", f"{strategy} under {where}", example, spot)
    yield from make_precedence()
    yield from make_not_read()
    yield from make_seldom_read()
    yield from make_refused()


def make_example(name: str, about: str, example: Example, spot: Spot) -> Vector:
    times = (FIRST, LATER, EARLIER)  # ours is the newer side
    versions = [
        {"at": time, **spot.put(value)} for time, value in zip(times, example.versions, strict=True)
    ]
    if example.result is ABSENT:
        expect = conflict(*({**version, "at": LATER} for version in versions[1:]))
    elif example.is_free:
        expect = {"list": {"at": spot.at, "items": example.result, "before": []}}
    else:
        expect = clean({"at": LATER, **spot.put(example.result)})
    return vector(name, about, versions, expect, spot.wrap(example.schema))


def make_precedence() -> Iterator[Vector]:
    """One member that several keywords are about: the first counts."""
    total, highest = by_rule("sum"), by_rule("max-number")
    versions = [{"price": number} for number in (1, 3, 20)]
    schemas: dict[str, tuple[Value, int]] = {
        "properties before a pattern": (
            {"properties": {"price": total}, "patternProperties": {"^p": highest}},
            22,
        ),
        "the first pattern": ({"patternProperties": {"^pr": total, "^p": highest}}, 22),
        "the first pattern, if it is the shorter one": (
            {"patternProperties": {"^p": highest, "^pr": total}},
            20,
        ),
        "a pattern before the rest": (
            {"patternProperties": {"^pri": total}, "additionalProperties": highest},
            22,
        ),
        "the rest, if no pattern fits": (
            {"patternProperties": {"^ri": total}, "additionalProperties": highest},
            20,
        ),
        "properties before the rest": (
            {"properties": {"price": total}, "additionalProperties": highest},
            22,
        ),
    }
    for number, (about, (schema, result)) in enumerate(schemas.items()):
        yield vector(f"schema/first-{number}", about, versions, clean({"price": result}), schema)


def make_not_read() -> Iterator[Vector]:
    """Schemas that say nothing of the place: it merges by its form, here as a conflict."""
    total = by_rule("sum")
    versions = [{"p": number} for number in (1, 3, 20)]
    schemas: dict[str, Value] = {
        "another member": {"properties": {"q": total}},
        "a pattern that does not fit": {"patternProperties": {"^q": total}},
        "a member of the member": {"properties": {"p": {"properties": {"p": total}}}},
        "the rest is anything": {"properties": {"q": total}, "additionalProperties": True},
        "a reference that leads nowhere": {
            "properties": {"p": {"$ref": "#/$defs/none"}},
            "$defs": {"p": total},
        },
        "a reference to another file": {
            "properties": {"p": {"$ref": "other.json#/$defs/p"}},
            "$defs": {"p": total},
        },
        "a reference to itself": {"properties": {"p": {"$ref": "#/properties/p"}}},
        "other keywords": {"properties": {"p": {"type": "integer", "minimum": 0}}},
    }
    for number, (about, schema) in enumerate(schemas.items()):
        expect = conflict(versions[1], versions[2])
        # a driver that checks results by the schema cannot apply it
        if about == "a reference to itself":
            expect = {"one_of": [expect, {"refused": True}]}
        yield vector(f"schema/not-read-{number}", about, versions, expect, schema)
    rows = [{"l": [{"id": 1, "p": number}]} for number in (1, 3, 20)]
    schema = {
        "properties": {
            "l": {"prefixItems": [{"properties": {"p": total}}], "x-merge": {"strategy": "tuple"}}
        }
    }
    yield vector(
        "schema/tuple-record",
        "a record by its position",
        rows,
        clean({"l": [{"id": 1, "p": 22}]}),
        schema,
    )


def make_refused() -> Iterator[Vector]:
    """Schemas that a merge would misread. A driver refuses them: it never guesses how to merge."""
    total = by_rule("sum")
    bad: dict[str, Value] = {
        "no strategy": {},
        "a text instead of a rule": "sum",
        "an unknown strategy": {"strategy": "total"},
        "a strategy that is spelled otherwise": {"strategy": "Sum"},
        "an unknown option": {"strategy": "sum", "limit": 3},
        "rows without a key": {"strategy": "rows"},
        "queue without a key": {"strategy": "queue"},
        "max without an order": {"strategy": "max"},
        "newest without a time": {"strategy": "newest"},
        "group without a name": {"strategy": "group"},
        "a key that is no pointer": {"strategy": "rows", "key": "id"},
        "a key that is a number": {"strategy": "rows", "key": 1},
        "a limit of nothing": {"strategy": "log", "limit": 0},
        "a limit that is a text": {"strategy": "log", "limit": "3"},
        "an order with a repetition": {"strategy": "max", "order": ["a", "a"]},
        "an order of one": {"strategy": "max", "order": ["a"]},
        "another way to add": {"strategy": "rows", "key": "/id", "added": "replace"},
        "superseded without a time": {"strategy": "group", "name": "g", "superseded": "old"},
        "a rank of another member": {
            "strategy": "group",
            "name": "g",
            "rank": [{"at": "/q", "order": ["a", "b"]}],
        },
    }
    schemas: dict[str, Value] = {
        about: {"properties": {"p": {"x-merge": rule}}} for about, rule in bad.items()
    }
    for keyword in ("anyOf", "oneOf", "allOf"):
        schemas[f"under {keyword}"] = {"properties": {"p": {keyword: [total]}}}
    for keyword in ("not", "if", "then", "else", "contains", "propertyNames"):
        schemas[f"under {keyword}"] = {"properties": {"p": {keyword: total}}}
    schemas |= {
        "beside a reference": {
            "properties": {"p": {"$ref": "#/$defs/p", **total}},
            "$defs": {"p": {}},
        },
        "under a pattern that is no beginning": {"patternProperties": {"p$": total}},
        "under a pattern with a choice": {"patternProperties": {"^(p|q)": total}},
        "two options of one group": {
            "properties": {
                "p": by_rule("group", name="g"),
                "q": by_rule("group", name="g", by="/at", superseded="old"),
            }
        },
        "a requirement of another form": {"x-merge-require": [{"unless": "/p"}]},
        "requirements that are no list": {"x-merge-require": {"same": "/p"}},
    }
    versions = [{"p": number} for number in (1, 3, 20)]
    for number, (about, schema) in enumerate(schemas.items()):
        yield vector(f"schema/refused-{number}", about, versions, {"refused": True}, schema)
