"""Lists of records: a log that one side has as a single record, a limit, and the order."""

import json
from typing import Any

from tests.support.merging import merge_texts
from tests.support.rows import rows

CLASH = "a conflict"


def merge(rule: dict[str, Any], base: Any, ours: Any, theirs: Any) -> Any:
    """What a list becomes, from either side; CLASH for a conflict."""
    schema = {"properties": {"x": {"x-merge": rule}}}
    base, first, second = [json.dumps({"x": value}) for value in (base, ours, theirs)]
    results = []
    for sides in ((first, second), (second, first)):
        merged = merge_texts(base, *sides, schema)
        results.append(CLASH if merged.conflicts else json.loads(merged.text)["x"])
    assert results[0] == results[1]
    return results[0]


def record(name: str, **members: Any) -> dict[str, Any]:
    return {"id": name, **members}


A, B, C = record("a"), record("b"), record("c")


@rows(
    ("base", "ours", "theirs", "result"),
    [
        # the record became a list on one side, and another record on the other
        (A, [A, B], C, [B, C]),
        (A, [A, B], {**A, "x": 1}, CLASH),  # a record is never edited
        ([], [A], B, [A, B]),
        ([A, B], [A, B, C], B, [B, C]),  # the other side removed one
        ([A, B], B, [B], [B]),
        (A, B, C, [B, C]),  # each side put another one in its place
        (A, {**A, "x": 1}, {**A, "x": 2}, CLASH),
        (A, [A, B], "text", CLASH),
    ],
)
def test_a_log_that_one_side_has_as_one_record_is_merged_as_a_list(
    base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    assert merge({"strategy": "log", "key": ["/id"]}, base, ours, theirs) == result


def times(names: str, *, without: str = "") -> list[dict[str, Any]]:
    """Records by their names: a letter, and the day that it was written on."""
    return [
        record(name, **({} if name[0] in without else {"at": f"2026-01-0{name[1]}T00:00:00Z"}))
        for name in names.split()
    ]


def names_of(records: Any) -> str:
    return " ".join(record["id"] for record in records)


@rows(
    ("limit", "base", "ours", "theirs", "result"),
    [
        (3, "b2 a1", "c3 b2 a1", "d4 b2 a1", "d4 c3 b2"),
        (4, "b2 a1", "c3 b2 a1", "d4 b2 a1", "d4 c3 b2 a1"),
        # a side that has more of them already is not cut
        (1, "b2 a1", "d4 c3 b2 a1", "e5 b2 a1", "e5 d4 c3 b2"),
        # an old record that is new here is the one that goes
        (3, "c3 b2", "d4 c3 b2", "a1 c3 b2", "d4 c3 b2"),
        # of one age the later ones in the list go
        (2, "b2", "c2 b2", "a2 b2", "a2 c2"),
    ],
)
def test_a_list_with_a_limit_loses_its_oldest_records(
    limit: int, base: str, ours: str, theirs: str, result: str
) -> None:
    rule = {"strategy": "log", "key": ["/id"], "sort": "/at", "limit": limit}
    assert names_of(merge(rule, times(base), times(ours), times(theirs))) == result


def test_of_records_of_which_one_has_no_instant_those_of_base_are_the_oldest() -> None:
    rule = {"strategy": "log", "key": ["/id"], "sort": "/at", "limit": 3}
    base, ours, theirs = times("b9 a8"), times("c3 b9 a8"), times("d2 b9 a8", without="d")
    assert names_of(merge(rule, base, ours, theirs)) == "c3 d2 b9"


def test_what_is_undecided_stays_in_a_list_that_is_too_long() -> None:
    rule = {"x-merge": {"strategy": "log", "key": ["/id"], "sort": "/at", "limit": 2}}
    base, ours, theirs = times("b2 a1"), times("c3 b2 a1"), times("d4 b2 a1")
    ours[-1]["x"], theirs[-1]["x"] = 1, 2
    texts = [json.dumps({"x": side}) for side in (base, ours, theirs)]
    merged = merge_texts(texts[0], texts[1], texts[2], {"properties": {"x": rule}})
    assert [choice.where for choice in merged.conflicts] == ["/x/3/x"]


def test_new_records_stand_newest_first_to_the_fraction_of_a_second() -> None:
    def at(name: str, seconds: str) -> dict[str, Any]:
        return record(name, at=f"2026-01-01T00:00:{seconds}Z")

    rule = {"strategy": "log", "key": ["/id"], "sort": "/at"}
    first = [at("new", "02"), at("half", "01.5"), at("old", "00")]
    second = [at("more", "01.55"), at("one", "01"), record("never")]
    assert names_of(merge(rule, [], first, second)) == "new more half one old never"
    # of one instant the order is that of their text
    assert names_of(merge(rule, [], [at("b", "01")], [at("a", "01")])) == "a b"
