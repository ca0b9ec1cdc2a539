import random

from checkpoint_git.merge.alignment import align, find_hunks, find_single


def longest_common(one: str, other: str) -> int:
    """The length of the longest common subsequence, by the plain table."""
    row = [0] * (len(other) + 1)
    for letter in one:
        above, row = row, [0]
        for index, found in enumerate(other):
            row.append(above[index] + 1 if letter == found else max(above[index + 1], row[-1]))
    return row[-1]


def test_an_alignment_pairs_equal_items_in_one_order_and_as_many_as_there_are() -> None:
    chooser = random.Random(7)  # noqa: S311 (lists to compare)
    for _ in range(3000):
        one, other = ("".join(chooser.choices("abcd", k=chooser.randrange(10))) for _ in range(2))
        pairs = align(one, other)
        assert all(one[old] == other[new] for old, new in pairs), (one, other)
        assert pairs == sorted(pairs), (one, other)
        assert len({new for _, new in pairs}) == len(pairs) == longest_common(one, other), (
            one,
            other,
        )
        assert [new for _, new in pairs] == sorted(new for _, new in pairs), (one, other)


def test_hunks_rebuild_the_version_from_base() -> None:
    chooser = random.Random(8)  # noqa: S311
    for _ in range(3000):
        base, version = ("".join(chooser.choices("abc", k=chooser.randrange(10))) for _ in range(2))
        rebuilt, done = "", 0
        for hunk in find_hunks(align(base, version), len(base), len(version)):
            assert done <= hunk.start, (base, version)
            rebuilt += base[done : hunk.start] + version[hunk.first : hunk.last]
            done = hunk.end
        assert rebuilt + base[done:] == version, (base, version)


def test_as_many_new_items_as_old_ones_stand_for_them_one_by_one() -> None:
    hunks = find_hunks(align("abcd", "axyd"), 4, 4)
    assert [(hunk.start, hunk.end, hunk.first, hunk.last) for hunk in hunks] == [
        (1, 2, 1, 2),
        (2, 3, 2, 3),
    ]
    hunks = find_hunks(align("abcd", "axyzd"), 4, 5)
    assert [(hunk.start, hunk.end, hunk.first, hunk.last) for hunk in hunks] == [(1, 3, 1, 4)]


def test_a_long_rewrite_is_still_aligned_by_the_items_that_are_there_once() -> None:
    base = [f"line {number}" for number in range(2000)]
    version = [line if number % 3 else f"new {number}" for number, line in enumerate(base)]
    assert align(base, version) == [(number, number) for number in range(2000) if number % 3]


def test_what_says_nothing_counts_as_replaced_after_many_edits() -> None:
    assert align("ab" * 400, "cd" * 400 + "b") == [(799, 800)]


def test_an_item_that_is_there_twice_is_not_single() -> None:
    assert find_single("abca") == {"b": 1, "c": 2}


def test_items_between_two_anchors_are_aligned_too() -> None:
    base = [f"old {number}" for number in range(300)] + ["first", "x", "x", "second"]
    version = [f"new {number}" for number in range(300)] + ["first", "x", "y", "x", "second"]
    assert align(base, version) == [(300, 300), (301, 301), (302, 303), (303, 304)]
    ends = [f"gone {number}" for number in range(300)]
    base, version = (
        ["first", "x", "x", "second", *ends, "last"],
        ["first", "x", "y", "x", "second", "z", "last"],
    )
    pairs = [(0, 0), (1, 1), (2, 3), (3, 4), (304, 6)]
    assert align(["a", *base, "b"], ["c", *version, "d"]) == [
        (old + 1, new + 1) for old, new in pairs
    ]


def test_the_anchors_of_a_long_rewrite_are_as_many_as_are_in_one_order() -> None:
    def rewrite(kept: str, mark: str) -> list[str]:
        lines = []
        for name in kept:
            lines += [f"{mark} {name} {number}" for number in range(130)]
            lines.append(name)
        return [*lines, f"{mark} at the end"]

    base = rewrite("xyz", "old")
    places = {name: base.index(name) for name in "xyz"}
    for kept, aligned in (("zxy", "xy"), ("zyx", "z"), ("x", "x")):
        version = rewrite(kept, "new")
        wanted = [(places[name], version.index(name)) for name in aligned]
        assert align(base, version) == wanted


def test_items_behind_the_last_anchor_are_aligned_too() -> None:
    base = [*(f"old {number}" for number in range(300)), "x", "1", "d", "d", "2"]
    version = [*(f"new {number}" for number in range(300)), "x", "3", "d", "d", "4"]
    assert align(base, version) == [(300, 300), (302, 302), (303, 303)]
