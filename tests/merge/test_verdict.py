"""The verdict on one place, from its four versions alone."""

import json
from typing import Any

import pytest

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.verdict import Judgement, Sides, is_two_records, judge, judge_by_rule, judge_record


def sides(*values: Any) -> Sides:
    """Versions as values; ... for an absent one."""
    nodes = [None if value is ... else parse(json.dumps(value)) for value in values]
    return Sides(*nodes)


@pytest.mark.parametrize(("versions", "expected"), [
    ((1, 2, 2, 2), ("agreed", "both")), ((1, 2, 2, 1), ("lost", "both")), ((1, ..., ..., 1), ("resurrected", "both")),
    ((1, 1, 2, 2), ("second", "second")), ((1, 2, 1, 1), ("lost", "first")), ((1, ..., 1, 1), ("resurrected", "first")),
    ((1, 2, 1, 9), ("edited", "")), ((1, 2, 3, 2), ("decided", "first")), ((1, 2, 3, 3), ("decided", "second")),
    ((1, 2, 3, 9), ("edited", "")), ((1, 2, 3, ...), ("lost", "both")), ((..., 1, ..., ...), ("lost", "first")),
])  # fmt: skip
def test_a_place_without_a_strategy(versions: tuple[Any, ...], expected: tuple[str, str]) -> None:
    assert judge(sides(*versions))[:2] == expected


def test_a_strategy_decides_what_both_parents_changed() -> None:
    total = sides(1, 3, 2, 4)
    assert judge_by_rule({"strategy": "sum"}, total, total) == Judgement("combined", "", "sum")
    older = sides("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z")
    assert judge_by_rule({"strategy": "max-time"}, older, older) == Judgement("lost", "first", "against max-time")


def test_newest_asks_which_document_is_newer() -> None:
    roots = sides({}, {"at": "2026-01-02T00:00:00Z"}, {"at": "2026-01-01T00:00:00Z"}, {})
    rule = {"strategy": "newest", "by": "/at"}
    assert judge_by_rule(rule, sides(1, 2, 3, 2), roots) == Judgement("first", "first", "newest")
    assert judge_by_rule(rule, sides(1, 2, 3, 3), roots) == Judgement("lost", "first", "against newest")


def test_records_with_identities_of_their_own_are_two_and_a_mixture_of_them_is_blended() -> None:
    first, second = {"id": 1, "a": "x", "b": "x"}, {"id": 2, "a": "y", "b": "y"}
    assert is_two_records(sides({}, first, second, ...))
    assert not is_two_records(sides({"id": 1}, first, second, ...))
    assert judge_record(sides(..., first, second, {"id": 1, "a": "x", "b": "y"})).verdict == "mixed-up"
    assert judge_record(sides(..., first, second, {"id": 1, "a": "new"})).verdict == "edited"
