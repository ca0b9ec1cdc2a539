"""What base, ours and theirs become at one place: who changed it, what its rule says, and which
members go together.
"""

import json
from typing import Any

from tests.support.merging import merge_texts
from tests.support.rows import rows

CLASH = "a conflict"


def merge(
    schema: dict[str, Any], base: Any, ours: Any, theirs: Any, narrative: str = "auto"
) -> Any:
    """What a place becomes: its value, CLASH for a conflict, ... where it is absent. ... is also an
    absent version.
    """
    texts = [json.dumps({} if value is ... else {"x": value}) for value in (base, ours, theirs)]
    merged = merge_texts(texts[0], texts[1], texts[2], {"properties": {"x": schema}}, narrative)
    if merged.conflicts:
        return CLASH
    return json.loads(merged.text).get("x", ...)


def merge_both_ways(
    schema: dict[str, Any], base: Any, ours: Any, theirs: Any, narrative: str = "auto"
) -> Any:
    result = merge(schema, base, ours, theirs, narrative)
    assert merge(schema, base, theirs, ours, narrative) == result
    return result


@rows(
    ("base", "ours", "theirs", "result"),
    [
        (1, 1, 1, 1),
        (1, 2, 1, 2),
        (1, 1, 2, 2),
        (1, 2, 2, 2),
        (1, 2, 3, CLASH),
        (1, ..., 1, ...),
        (1, ..., ..., ...),
        (1, ..., 2, CLASH),
        (..., 1, ..., 1),
        (..., 1, 2, CLASH),
        (1, None, 1, None),  # null is a value, not absence
        (..., None, ..., None),
        (None, None, 1, 1),
        (None, ..., 1, CLASH),
        (1, "a", [2], CLASH),
        ([1], {"a": 1}, [1, 2], CLASH),
    ],
)
def test_one_sides_change_wins_and_two_different_ones_conflict(
    base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    assert merge_both_ways({}, base, ours, theirs) == result


@rows(
    ("rule", "base", "ours", "theirs", "result"),
    [
        ({}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}),
        (
            {"strategy": "object"},
            {"a": 1, "b": 1},
            {"a": 2, "b": 1},
            {"a": 1, "b": 2},
            {"a": 2, "b": 2},
        ),
        ({"strategy": "atomic"}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, CLASH),
        ({"strategy": "atomic"}, {"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}),
        ({"strategy": "max"}, 1, 2, 3, CLASH),  # no order
        ({"strategy": "max-number"}, 1, 2, 3, 3),
        ({"strategy": "max-number"}, 1, "2", 3, CLASH),
        ({"strategy": "max-number"}, 1, ..., 3, CLASH),
        ({"strategy": "log"}, {"id": "a"}, {"id": "b"}, {"id": "c"}, CLASH),
    ],
)
def test_what_both_sides_changed_merges_by_the_rule(
    rule: Any, base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    assert merge_both_ways({"x-merge": rule}, base, ours, theirs) == result


def test_the_side_with_the_newer_root_wins_and_never_conflicts() -> None:
    rule = {"x-merge": {"strategy": "newest", "by": "/at"}}
    schema = {"properties": {"x": rule, "at": {"x-merge": {"strategy": "max-time"}}}}

    def newest(ours: Any, theirs: Any, our_time: str = "09", their_time: str = "10") -> Any:
        values = [(0, "08"), (ours, our_time), (theirs, their_time)]
        texts = [
            json.dumps({"at": f"2026-03-01T{time}:00:00Z", "x": value}) for value, time in values
        ]
        merged = merge_texts(texts[0], texts[1], texts[2], schema)
        assert not merged.conflicts
        return json.loads(merged.text)["x"]

    assert newest(1, 2) == 2
    assert newest(2, 1) == 1
    assert newest(1, 2, "10", "09") == 1
    assert newest(1, 2, "09", "09") == newest(2, 1, "09", "09") == 1  # a tie: the smaller text
    assert newest([1, 2], [3, 4]) == [3, 4]  # never mixed


@rows(("ours", "theirs", "result"), [(..., 2, 2), (1, ..., 1)])
def test_a_place_that_follows_the_newer_side_keeps_what_one_side_still_has(
    ours: Any, theirs: Any, result: Any
) -> None:
    assert merge({"x-merge": {"strategy": "newest", "by": "/at"}}, 0, ours, theirs) == result


@rows(
    ("base", "ours", "theirs", "result"),
    [
        ({"id": 1}, {"id": 2, "a": 1}, {"id": 3, "b": 1}, CLASH),  # different records by now
        (..., {"id": 2, "a": 1}, {"id": 3, "b": 1}, CLASH),
        ({"id": 1}, {"id": 2, "a": 1}, {"id": 2, "b": 1}, {"id": 2, "a": 1, "b": 1}),
        ({"id": 1}, {"id": 1, "a": 1}, {"id": 3, "b": 1}, {"id": 3, "a": 1, "b": 1}),
        ({"id": 1}, {"id": 1, "a": 1}, {"b": 1}, {"a": 1, "b": 1}),
    ],
)
def test_two_records_with_identities_of_their_own_are_not_mixed(
    base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    assert merge_both_ways({}, base, ours, theirs) == result


@rows(
    ("ours", "theirs", "result"),
    [
        ('{\n  "a": 1,\n  "b": 1\n}\n', '{"a": 1, "b": 2}', '{\n  "a": 1,\n  "b": 2\n}\n'),
        ('{"a": 1, "b": 1}', '{"a": 1, "b": 2}', '{"a": 1, "b": 2}'),
        ('{\n  "a": 1,\n  "b": 1\n}\n', "[1]\n", "[1]\n"),  # nothing of it is left
        ('{\n  "a": 1,\n  "b": 1\n}\n', "1\n", "1\n"),
    ],
)
def test_a_change_goes_into_the_layout_that_the_other_side_gave_the_file(
    ours: str, theirs: str, result: str
) -> None:
    assert merge_texts('{"a": 1, "b": 1}', ours, theirs).text == result


def group(**rule: Any) -> dict[str, Any]:
    member = {"x-merge": {"strategy": "group", "name": "g", **rule}}
    return {"properties": {"a": member, "b": member}}


@rows(
    ("base", "ours", "theirs", "result"),
    [
        ("11", "21", "12", "22"),
        ("11", "21", "11", "21"),
        ("11", "22", "22", "22"),
        ("11", "21", "31", CLASH),
        ("11", "22", "13", CLASH),  # b conflicts, so that a does too
    ],
)
def test_members_of_a_group_merge_one_by_one_and_conflict_together(
    base: str, ours: str, theirs: str, result: str
) -> None:
    pairs = [{"a": word[0], "b": word[1]} for word in (base, ours, theirs)]
    expected = result if result == CLASH else {"a": result[0], "b": result[1]}
    assert merge_both_ways(group(), pairs[0], pairs[1], pairs[2]) == expected


def test_a_conflict_of_a_group_offers_what_each_side_had_whole() -> None:
    texts = [json.dumps(dict(zip("ab", word, strict=True))) for word in ("11", "22", "13")]
    merged = merge_texts(texts[0], texts[1], texts[2], group())
    assert len(merged.conflicts) == 1
    assert merged.conflicts[0].group == "#g"
    assert merged.conflicts[0].where == "/a"
    inner = merge_texts(texts[0], texts[1], texts[2], group(), inner=True)
    assert json.loads(inner.text) == {"a": "1", "b": "1"}


RANK = [{"at": "/a", "order": ["draft", "open", "closed"]}, {"at": "/b", "order": ["low", "high"]}]


@rows(
    ("base", "ours", "theirs", "result"),
    [
        ("draft low", "open low", "closed low", "closed low"),
        ("draft low", "open high", "closed low", "closed low"),  # the first that differs decides
        ("draft low", "open low", "draft high", "open low"),  # both touched it: one side, whole
        ("open low", "draft low", "closed low", CLASH),  # one fell behind
        ("draft low", "gone low", "closed low", CLASH),  # in no order
        ("gone low", "open low", "closed low", CLASH),
        ("draft low", "open low", "draft low", "open low"),
        ("open low", "draft low", "open low", "draft low"),  # one side alone may go back
    ],
)
def test_a_ranked_group_goes_forward_whole(base: str, ours: str, theirs: str, result: str) -> None:
    values = [dict(zip("ab", text.split(), strict=True)) for text in (base, ours, theirs)]
    expected = result if result == CLASH else dict(zip("ab", result.split(), strict=True))
    assert merge_both_ways(group(rank=RANK), values[0], values[1], values[2]) == expected


def test_a_ranked_group_that_is_new_on_both_sides_takes_the_further_one() -> None:
    ours, theirs = {"a": "open", "b": "low"}, {"a": "open", "b": "high"}
    assert merge_both_ways(group(rank=RANK), {}, ours, theirs) == theirs


@rows(
    ("ours", "theirs", "result"),
    [
        ("2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z", "theirs"),
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z", CLASH),
        ("soon", "2026-03-01T09:00:00Z", CLASH),
        (None, "2026-03-01T09:00:00Z", CLASH),
    ],
)
def test_a_group_with_an_instant_comes_whole_from_its_newer_side(
    ours: Any, theirs: Any, result: Any
) -> None:
    base, left, right = (
        {"a": {"at": at}, "b": b}
        for at, b in (("then", "base"), (ours, "ours"), (theirs, "theirs"))
    )
    merged = merge_both_ways(group(newest="/a/at"), base, left, right)
    assert (merged if result == CLASH else merged["b"]) == result


def narrative(
    base: str, ours: str, theirs: str, how: str = "auto", same: tuple[str, ...] = ()
) -> Any:
    """What a narrative becomes. Versions: hour, a, b, c; a and b are the group, c must agree where
    `same` names it.
    """
    rule = {"superseded": "old", "by": "/at", "same": list(same)}
    member = {"x-merge": {"strategy": "group", "name": "g", **rule}}
    schema = {"properties": {"at": {"x-merge": {"strategy": "max-time"}}, "a": member, "b": member}}
    texts = []
    for version in (base, ours, theirs):
        hour, a, b = version.split()
        texts.append(json.dumps({"at": f"2026-03-01T{hour}:00:00Z", "a": a, "b": b}))
    merged = merge_texts(texts[0], texts[1], texts[2], schema, how)
    if merged.conflicts:
        return CLASH
    value = json.loads(merged.text)
    return f"{value['a']} {value['b']}"


@rows(
    ("base", "ours", "theirs", "how", "same", "result"),
    [
        ("08 1 1", "09 2 2", "10 3 3", "auto", (), "3 3"),
        ("08 1 1", "10 2 2", "09 3 3", "auto", (), "2 2"),
        ("08 1 1", "09 2 2", "09 3 3", "auto", (), CLASH),  # the same instant
        (
            "08 1 1",
            "08 2 2",
            "09 3 3",
            "auto",
            (),
            CLASH,
        ),  # ours is no later than base: a revert, a copy
        ("08 1 1", "10 2 2", "07 3 3", "auto", (), CLASH),
        ("08 1 1", "10 2 2", "07 3 3", "newest", (), "2 2"),
        ("08 1 1", "09 2 2", "10 3 3", "conflict", (), CLASH),
        ("08 1 1", "09 2 2", "10 3 1", "auto", (), "3 2"),  # what one side alone wrote stays
        ("08 1 1", "09 2 1", "10 3 3", "auto", ("/b",), CLASH),
        ("08 1 1", "09 2 4", "10 3 4", "auto", ("/b",), "3 4"),
    ],
)
def test_a_narrative_follows_the_newer_side_where_the_instants_can_be_believed(
    base: str, ours: str, theirs: str, how: str, same: tuple[str, ...], result: str
) -> None:
    assert narrative(base, ours, theirs, how, same) == result
