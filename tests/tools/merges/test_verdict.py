"""The verdict on one place, from its four versions alone."""

import json
from typing import Any

import pytest

from checkpoint_git.core.jsontext import parse
from checkpoint_git.tools.merges.verdict import (
    PlaceVersions,
    compare,
    is_two_records,
    judge,
    judge_record,
)


def sides(*values: Any) -> PlaceVersions:
    """Versions as values; ... for an absent one."""
    nodes = [None if value is ... else parse(json.dumps(value)) for value in values]
    return PlaceVersions(*nodes)


@pytest.mark.parametrize(("versions", "expected"), [
    ((1, 2, 2, 2), ("agreed", "both")), ((1, 2, 2, 1), ("lost", "both")), ((1, ..., ..., 1), ("resurrected", "both")),
    ((1, 1, 2, 2), ("second", "second")), ((1, 2, 1, 1), ("lost", "first")), ((1, ..., 1, 1), ("resurrected", "first")),
    ((1, 2, 1, 9), ("edited", "")), ((1, 2, 3, 2), ("decided", "first")), ((1, 2, 3, 3), ("decided", "second")),
    ((1, 2, 3, 9), ("edited", "")), ((1, 2, 3, ...), ("lost", "both")), ((..., 1, ..., ...), ("lost", "first")),
])  # fmt: skip
def test_a_place_of_which_no_rule_says_anything(
    versions: tuple[Any, ...], expected: tuple[str, str]
) -> None:
    assert compare(sides(*versions))[:2] == expected


@pytest.mark.parametrize(("versions", "expected"), [
    ((1, 3, 2, 4, 4, 4), ("combined", "")),  # a sum
    ((1, 3, 2, 3, 4, 4), ("lost", "second")),
    ((1, 3, 2, 9, 4, 4), ("edited", "")),
    ((1, 3, 2, 3, 3, 3), ("first", "first")),  # the later of two times
    ((1, 3, 2, 2, 3, 3), ("lost", "first")),
    ((1, 3, 2, 2, 3, 2), ("decided", "second")),  # a conflict
    ((1, 2, 1, 1, 1, 1), ("second", "second")),  # one side comes whole
    ((1, 2, 2, ..., ..., ...), ("combined", "")),
])  # fmt: skip
def test_what_the_rules_make_of_a_place_decides(
    versions: tuple[Any, ...], expected: tuple[str, str]
) -> None:
    assert judge(sides(*versions))[:2] == expected


def test_records_with_identities_of_their_own_are_two_and_a_mixture_of_them_is_blended() -> None:
    first, second = {"id": 1, "a": "x", "b": "x"}, {"id": 2, "a": "y", "b": "y"}
    assert is_two_records(sides({}, first, second, ...))
    assert not is_two_records(sides({"id": 1}, first, second, ...))
    assert (
        judge_record(
            sides(..., first, second, {"id": 1, "a": "x", "b": "y"}, first, second)
        ).verdict
        == "mixed-up"
    )
    assert (
        judge_record(sides(..., first, second, {"id": 1, "a": "new"}, first, second)).verdict
        == "edited"
    )
