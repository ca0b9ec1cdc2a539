"""The order of merged lists, checked exhaustively on small ones."""

import itertools

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.items import (
    canonical_rank,
    find_natural_key,
    find_stable_key,
    identify,
    item_key,
    merge_order,
)
from tests.support.rows import rows


def arrangements(items: str) -> list[tuple[str, ...]]:
    return [
        chosen for size in range(len(items) + 1) for chosen in itertools.permutations(items, size)
    ]


def staying(
    base: tuple[str, ...], ours: tuple[str, ...], theirs: tuple[str, ...]
) -> list[list[str]]:
    kept = [item for item in base if item in ours and item in theirs]
    return [
        kept,
        *([item for item in side if item not in base or item in kept] for side in (ours, theirs)),
    ]


def is_kept(order: list[str], kept: list[str], left: list[str], right: list[str]) -> bool:
    """Whether no pair that a side orders, and nobody else orders otherwise, is turned round; or all
    of them cannot be kept together with what one side moved.
    """
    pairs = {pair for side in (left, right) for pair in itertools.combinations(side, 2)}
    agreed = {pair for pair in pairs if pair[::-1] not in pairs}
    moved = {pair for pair in pairs - agreed if pair[::-1] in itertools.combinations(kept, 2)}
    turned = {
        pair
        for pair in itertools.permutations(order, 2)
        if order.index(pair[0]) > order.index(pair[1])
    }
    return not agreed & turned or not is_possible(agreed | moved, order)


def is_possible(pairs: set[tuple[str, str]], items: list[str]) -> bool:
    left = set(items)
    while free := {item for item in left if not any((other, item) in pairs for other in left)}:
        left -= free
    return not left


@rows("whole_runs", [False, True])
@rows(("items", "part"), [("abc", 1), ("abcd", 41)])
def test_every_small_triple_merges_the_same_from_both_sides_and_keeps_orders_that_nobody_contradicts(
    items: str, part: int, whole_runs: bool
) -> None:
    versions = arrangements(items)
    for base, ours, theirs in itertools.islice(
        itertools.product(versions, versions, versions), 0, None, part
    ):
        kept, left, right = staying(base, ours, theirs)
        order, other = merge_order(kept, left, right, str, whole_runs)
        swapped, swapped_other = merge_order(kept, right, left, str, whole_runs)
        assert sorted(order) == sorted(set(left) | set(right))
        assert (order, other) == (
            (swapped, None) if swapped_other is None else (swapped_other, swapped)
        )
        assert other is not None or is_kept(order, kept, left, right), (base, ours, theirs, order)


def test_survivors_keep_the_order_of_the_side_that_moved_them() -> None:
    assert merge_order("abc", "cab", "abc", str) == (list("cab"), None)
    assert merge_order("abc", "abc", "cab", str) == (list("cab"), None)


def test_two_different_orders_of_a_plan_are_both_returned_and_others_combined() -> None:
    assert merge_order("abc", "cab", "bac", str, whole_runs=True) == (list("cab"), list("bac"))
    assert merge_order("abc", "cab", "bac", str) == (list("cba"), None)


def test_a_new_item_follows_the_last_anchor_that_it_follows() -> None:
    assert merge_order("ac", "axc", "acy", str) == (list("axcy"), None)
    assert merge_order("abc", "cab", "abcd", str) == (list("cabd"), None)
    assert merge_order("", "ba", "a", str, whole_runs=True) == (list("ba"), None)


def test_competing_runs_are_merged_by_rank_or_kept_whole() -> None:
    assert merge_order("", "ad", "bc", str) == (list("abcd"), None)
    assert merge_order("", "ad", "bc", str, whole_runs=True) == (list("adbc"), None)
    assert merge_order("", "bd", "ac", str, whole_runs=True) == (list("acbd"), None)


@rows(
    ("texts", "key"),
    [
        (['[{"id": 1}, {"id": 2}]'], "id"),
        (['[{"id": 1}, {"id": 1}]'], ""),
        (['[{"id": [1]}, {"id": [2]}]'], ""),  # a container names nothing
        (['[{"id": {}}]'], ""),
        (['[{"id": 1}, {"name": 2}]'], ""),
        (['[{"id": 1}, "text"]'], ""),
        (['[{"id": 1}]', '[{"id": 1}, {"id": 1}]'], ""),
        (["[]", '[{"id": null}]'], "id"),
    ],
)
def test_a_natural_key_names_every_item_of_every_list_once(texts: list[str], key: str) -> None:
    assert find_natural_key([parse(text).children for text in texts]) == key


def test_items_of_a_repeated_key_stand_for_themselves() -> None:
    nodes = parse('[{"id": 1, "a": 1}, {"id": 1, "a": 2}, {"id": 2}]').children
    plain = identify(nodes, ("id",))
    assert [number for _, number in plain] == [0, 1, 0]
    assert len({key for key, _ in plain}) == 2
    apart = identify(nodes, ("id",), {next(iter(plain))[0]})
    assert [number for _, number in apart] == [0, 0, 0]
    assert len({key for key, _ in apart}) == 3
    assert list(apart)[2] == list(plain)[2]  # the other keys stay what they are


def test_values_of_every_kind_have_one_order() -> None:
    disordered = parse(
        '[{"a": 1, "b": 2}, [2], [1], "é", "b", "a", "", 10, 2, 1.5, -1, true, false, null]'
    ).value
    ordered = parse(
        '[null, false, true, -1, 1.5, 2, 10, "", "a", "b", "é", [1], [2], {"a": 1, "b": 2}]'
    ).value
    assert sorted(disordered, key=canonical_rank) == ordered
    same = [parse(text).value for text in ('{"a": 1, "b": 2}', '{"b":2,"a":1}')]
    assert canonical_rank(same[0]) == canonical_rank(same[1])


def test_a_bare_text_is_the_item_that_has_it_as_its_one_name() -> None:
    record, text, other = parse('[{"text": "Write", "x": 1}, "Write", "Read"]').value
    assert item_key(text, ("text",)) == item_key(record, ("text",)) != item_key(other, ("text",))
    assert item_key(text, ("text", "by")) == item_key(text, ())  # which of the two would it be?
    assert item_key(record, ("text", "by")) == item_key(record, ()) != item_key(text, ())
    assert item_key({"text": "Write", "by": "a"}, ("text", "by")) != item_key(record, ())
    assert item_key(parse("[1]").value, ("text",)) == item_key(parse("[1]").value, ())


@rows(
    ("base", "ours", "theirs", "key"),
    [
        # x was edited by a side, y by nobody
        ("x1y1 x2y2", "x1y1 x3y2", "x1y1 x2y2", "y"),
        ("x1y1 x2y2", "x1y1 x2y2", "x1y1 x3y2", "y"),
        # items that a side only added, or only removed, say nothing against a member
        ("x1y1 x2y2", "x1y1 x2y2 x3y3", "x2y2", "x"),
        ("x1y1 x2y2", "x1y1 x2y2", "x1y1 x2y2", "x"),
        ("x1y1 x2y2", "x1y1 x3y3", "x1y1 x2y2", ""),
        # a member that does not tell the items apart
        ("x1y1 x1y2", "x1y1 x1y2", "x1y1 x1y2", "y"),
        ("x1y1 x1y1", "x1y1", "x1y1", ""),
        ("", "", "", ""),
    ],
)
def test_a_stable_key_is_a_member_that_no_side_edited(
    base: str, ours: str, theirs: str, key: str
) -> None:
    lists = [
        [parse(f'{{"x": {item[1]}, "y": {item[3]}}}') for item in side.split()]
        for side in (base, ours, theirs)
    ]
    assert find_stable_key(lists) == key


def test_without_a_base_only_a_title_is_a_stable_key() -> None:
    def find(*sides: str) -> str:
        return find_stable_key([[], *[list(parse(side).children) for side in sides]])

    assert find('[{"x": 1, "title": "a"}]', '[{"x": 1, "title": "b"}]') == "title"
    assert find('[{"x": 1}]', '[{"x": 2}]') == ""
    assert find('[{"title": "a"}, {"title": "a"}]', "[]") == ""
    assert find('["a"]', '["b"]') == ""
