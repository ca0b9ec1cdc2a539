"""The order of merged lists, checked exhaustively on small ones."""

import itertools

import pytest

from checkpoint_git.merge.items import merge_order

ITEMS = "abcd"


def arrangements(items: str) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(items) + 1) for chosen in itertools.permutations(items, size)]


def staying(base: tuple[str, ...], ours: tuple[str, ...], theirs: tuple[str, ...]) -> list[list[str]]:
    kept = [item for item in base if item in ours and item in theirs]
    return [kept, *([item for item in side if item not in base or item in kept] for side in (ours, theirs))]


@pytest.mark.parametrize("whole_runs", [False, True])
def test_every_small_triple_merges_the_same_from_both_sides(whole_runs: bool) -> None:
    small = arrangements("abc")
    with_more = arrangements(ITEMS)
    for base in ((), ("a",), ("a", "b"), ("a", "b", "c")):
        for ours, theirs in itertools.product(with_more, small):
            kept, left, right = staying(base, ours, theirs)
            order, other = merge_order(kept, left, right, str, whole_runs)
            swapped, swapped_other = merge_order(kept, right, left, str, whole_runs)
            assert sorted(order) == sorted(set(left) | set(right))
            assert (order, other) == ((swapped, None) if swapped_other is None else (swapped_other, swapped))


def test_survivors_keep_the_order_of_the_side_that_moved_them() -> None:
    assert merge_order("abc", "cab", "abc", str) == (list("cab"), None)
    assert merge_order("abc", "abc", "cab", str) == (list("cab"), None)


def test_two_different_orders_are_both_returned() -> None:
    assert merge_order("abc", "cab", "bac", str) == (list("cab"), list("bac"))


def test_a_new_item_follows_its_nearest_surviving_predecessor() -> None:
    assert merge_order("ac", "axc", "acy", str) == (list("axcy"), None)


def test_competing_runs_are_merged_by_rank_or_kept_whole() -> None:
    assert merge_order("", "ad", "bc", str) == (list("abcd"), None)
    assert merge_order("", "ad", "bc", str, whole_runs=True) == (list("adbc"), None)
    assert merge_order("", "bd", "ac", str, whole_runs=True) == (list("acbd"), None)
