"""Which known field an unknown one was probably meant to be."""

import pytest

from checkpoint_git.protocols.skill.names import ROOT, ROW, count_edits, find_near_miss, is_misplaced_operator
from tests.support.growth import assert_linear


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("nextActions", "next_actions"),
        ("next-actions", "next_actions"),
        ("next actions", "next_actions"),
        ("next.action", "next_actions"),
        ("Status", "status"),
        ("blocker", "blockers"),
        ("handofs", "handoffs"),
        ("contxet_primer", "context_primer"),
        ("progres_tabel", "progress_table"),
        ("stap", None),  # a short word is one letter away from too many
        ("statue_of_liberty", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_misspelt_name_is_recognized(key: str, meant: str | None) -> None:
    assert find_near_miss(key, ROOT) == meant


def test_shorter_names_count_where_it_is_asked_for() -> None:
    assert find_near_miss("stp", ROOT) is None
    assert find_near_miss("stpe", ROOT, shortest=4) == "step"
    assert find_near_miss("lable", ROW) == "label"


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "abcd", 1), ("abc", "xyz", None)],
)
def test_edits_are_counted_up_to_a_limit(first: str, second: str, edits: int | None) -> None:
    assert count_edits(first, second, 2) == edits == count_edits(second, first, 2)


@pytest.mark.parametrize("key", ["merged_prs+", "a:json", "a+:json", "--step", "a=b"])
def test_a_part_of_an_update_is_an_operator(key: str) -> None:
    assert is_misplaced_operator(key)


@pytest.mark.parametrize("key", ["step", "a-b", "c++x", "json", "field"])
def test_an_ordinary_key_is_none(key: str) -> None:
    assert not is_misplaced_operator(key)


def test_many_names_are_looked_at_in_linear_time() -> None:
    assert_linear(lambda size: [find_near_miss(f"handof{size}x{at}", ROOT) for at in range(size)], 200)
