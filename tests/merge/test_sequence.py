"""Lists whose items have no key, in documents without a schema: every row holds with the sides
swapped, too.
"""

import json
from typing import Any

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.conflicts import Held, decide_all, list_conflicts
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.items import identify, item_key
from checkpoint_git.merge.result import items_of
from checkpoint_git.merge.sequence import ListSide, follow_renames
from tests.support.merging import merge_texts
from tests.support.rows import rows

PORT = ["serve", "--port", "8080"]
CELLS = [{"kind": "code", "source": [text]} for text in "abc"]

# what it is about, base, ours, theirs; the merged list, or the places of the conflicts
ROWS: list[tuple[str, Any, Any, Any, Any]] = [
    ("a port that both changed", PORT, [*PORT[:2], "9090"], [*PORT[:2], "7070"], {"/list/2"}),
    (
        "neighbours",
        ["-y", "a@1", "/data"],
        ["-y", "a@2", "/data"],
        ["-y", "a@1", "/home"],
        ["-y", "a@2", "/home"],
    ),
    ("equal numbers", [0, 0, 0], [5, 0, 0], [0, 5, 0], [5, 5, 0]),
    ("a size", [800, 600], [1024, 600], [1280, 600], {"/list/0"}),
    ("one more number", [255, 128, 0], [255, 128, 0, 64], [255, 64, 0], [255, 64, 0, 64]),
    ("flags with values", ["-e", "A"], ["-e", "A", "-e", "B"], ["-e", "A", "-e", "C"], {"/list/2"}),
    ("additions at one place", ["a"], ["a", "y", "z"], ["a", "b"], ["a", "b", "y", "z"]),
    ("one text at two places", ["b"], ["l", "b"], ["b", "l"], ["l", "b", "l"]),
    ("an addition, and more of it", ["a"], ["a", "x"], ["a", "x", "y"], ["a", "x", "y"]),
    ("removed here, edited there", ["a", "b", "c"], ["a", "c"], ["a", "B", "c"], {"/list/1"}),
    (
        "removed here, the next edited there",
        ["a", "b", "c"],
        ["b", "c"],
        ["a", "B", "c"],
        ["B", "c"],
    ),
    (
        "added inside what the other removed",
        ["a", "b", "c"],
        ["c"],
        ["a", "x", "b", "c"],
        {"/list/0"},
    ),
    ("replaced by two here, by one there", ["a"], ["x", "y"], ["z"], {"/list/0"}),
    (
        "moved here, edited there",
        ["a", "b", "c"],
        ["c", "a", "b"],
        ["a", "b", "C"],
        ["C", "a", "b"],
    ),
    (
        "moved to two places",
        ["a", "b", "c", "d"],
        ["c", "a", "b", "d"],
        ["a", "b", "d", "c"],
        {"/list"},
    ),
    (
        "moves of two items",
        ["a", "b", "c", "d"],
        ["b", "a", "c", "d"],
        ["a", "b", "d", "c"],
        ["b", "a", "d", "c"],
    ),
    (
        "moved to two places, beside repeated items",
        [*"-a-bcd"],
        [*"d-a-bc"],
        [*"-ad-bc"],
        {"/list"},
    ),
    (
        "a repeated item, removed here and moved there",
        ["a", "d", "a"],
        ["a"],
        ["a", "a", "d"],
        {"/list/1"},
    ),
    (
        "one addition at two places, around a move",
        ["d", "b"],
        ["b", "n", "d"],
        ["n", "d", "y"],
        {"/list"},
    ),
    (
        "added by both, the next removed here",
        ["a", "b", "c"],
        ["a", "x", "c"],
        ["a", "x", "b", "c"],
        ["a", "x", "c"],
    ),
    (
        "added by both, the last replaced here",
        ["a", "b"],
        ["q", "x", "b"],
        ["a", "x", "b"],
        ["q", "x", "b"],
    ),
    ("added by both, beside what repeats", [*"rrab"], [*"xra"], [*"xrab"], {"/list/1"}),
    (
        "added by both around a move, the next edited here",
        [*"abcde"],
        [*"aebcxD"],
        [*"aebcxd"],
        {"/list"},
    ),
    (
        "a list added by both at two places",
        [["a"], ["b"]],
        [["x"], ["a"], ["b"]],
        [["a"], ["b"], ["x"]],
        {"/list"},
    ),
    ("two cells", CELLS, [{**CELLS[0], "run": 1}, *CELLS[1:]], [*CELLS[1:]], {"/list/0"}),
    (
        "a cell before an edited one",
        CELLS,
        [{"kind": "text", "source": ["new"]}, *CELLS],
        [{**CELLS[0], "run": 1}, *CELLS[1:]],
        [{"kind": "text", "source": ["new"]}, {**CELLS[0], "run": 1}, *CELLS[1:]],
    ),
    (
        "two lines of one cell",
        CELLS,
        [{**CELLS[0], "source": ["A"]}, *CELLS[1:]],
        [{**CELLS[0], "run": 1}, *CELLS[1:]],
        [{"kind": "code", "source": ["A"], "run": 1}, *CELLS[1:]],
    ),
    ("insertions of which one has the other", [0, 9], [0, 1, 2, 9], [0, 1, 9], [0, 1, 2, 9]),
    ("insertions that share nothing", [0, 9], [0, 5, 9], [0, 3, 9], [0, 3, 5, 9]),
    ("insertions that share something", [0, 9], [0, 1, 2, 9], [0, 2, 3, 9], {"/list/1"}),
    ("a list that both began", None, ["--port", "1"], ["--port", "2"], {"/list"}),
    ("coordinates that both began", None, [10, 20], [10, 21], {"/list"}),
]


def merged(base: Any, ours: Any, theirs: Any, schema: Any = None) -> Merged:
    texts = [
        json.dumps({} if items is None else {"list": items}, indent=2)
        for items in (base, ours, theirs)
    ]
    return merge_texts(texts[0], texts[1], texts[2], schema)


def find_wrong(rows: list[tuple[str, Any, Any, Any, Any]]) -> list[tuple[str, Any, Any]]:
    """Return what a row is about, its sides and what came of them, if it is not as the row
    expects.
    """
    wrong = []
    for about, base, ours, theirs, expected in rows:
        for sides in ((ours, theirs), (theirs, ours)):
            result = merged(base, *sides)
            found: Any = {conflict.where for conflict in list_conflicts(result)}
            if not found:
                found = json.loads(result.text)["list"]
            if found != expected:
                wrong.append((about, sides, found))
    return wrong


def test_a_list_without_keys_is_merged_by_what_each_side_touched() -> None:
    assert find_wrong(ROWS) == []


def test_taking_one_side_of_a_part_takes_all_of_its_items() -> None:
    result = merged(["a", "b"], ["x", "y", "z", "b"], ["q", "b"])
    (conflict,) = list_conflicts(result)
    assert conflict.sides[0] is not None
    assert conflict.sides[2] is not None
    assert (conflict.sides[0].value, conflict.sides[2].value) == (["x", "y", "z"], ["q"])


def test_a_part_of_one_item_shows_the_item_and_not_a_list() -> None:
    result = merged(["a", "b"], ["b"], ["x", "b"])
    (conflict,) = list_conflicts(result)
    assert conflict.sides == (None, Held("a"), Held("x"))


def test_what_both_sides_put_at_the_ends_of_a_part_is_kept_whichever_side_is_taken() -> None:
    result = merged(["a"], ["head", "x", "y", "tail"], ["head", "z", "tail"])
    assert [conflict.where for conflict in list_conflicts(result)] == ["/list/1"]
    for side, middle in enumerate([["x", "y"], ["a"], ["z"]]):
        assert json.loads(decide_all(result, side).text)["list"] == ["head", *middle, "tail"]


# the name of the member that tells records apart, base, ours, theirs, merged
TASK = {"taskId": 4, "title": "plan", "score": 3}
OTHER = {"taskId": 5, "title": "build", "score": 3}
PLUGIN = {"name": "lint", "version": 1, "source": "./lint"}
RECORDS: list[tuple[str, Any, Any, Any, Any]] = [
    (
        "any member that is there once",
        [TASK, OTHER],
        [{**TASK, "score": 8}, OTHER],
        [{**TASK, "title": "plan it"}, OTHER, {"taskId": 6, "title": "ship", "score": 1}],
        [
            {"taskId": 4, "title": "plan it", "score": 8},
            OTHER,
            {"taskId": 6, "title": "ship", "score": 1},
        ],
    ),
    (
        "renamed here, edited there",
        [PLUGIN],
        [{**PLUGIN, "name": "lint-2"}],
        [{**PLUGIN, "version": 2}],
        [{"name": "lint-2", "version": 2, "source": "./lint"}],
    ),
    (
        "replaced here, edited there",
        [PLUGIN],
        [{"name": "format", "version": 7, "source": "./format"}],
        [{**PLUGIN, "version": 2}],
        {"/list/1"},
    ),
    (
        "a member that both edited tells nothing apart",
        [{"line": "a"}, {"line": "b"}],
        [{"line": "x"}, {"line": "b"}],
        [{"line": "y"}, {"line": "b"}],
        {"/list/0/line"},
    ),
    (
        "one title, begun on both sides",
        None,
        [{"title": "Write docs", "done": False}],
        [{"title": "Write docs", "done": True}, {"title": "Ship", "done": False}],
        {"/list/0"},
    ),
]


def test_records_are_known_by_a_member_that_no_side_edits() -> None:
    assert find_wrong(RECORDS) == []


def test_a_schema_says_whether_a_list_is_read_by_position_in_order_or_as_a_set() -> None:
    def read(schema: dict[str, Any], base: Any, ours: Any, theirs: Any) -> Any:
        result = merged(base, ours, theirs, {"properties": {"list": schema}})
        return None if result.conflicts else json.loads(result.text)["list"]

    as_tuple = (["A", "A", "B"], ["A", "B", "B"], ["B", "A", "A"])
    assert read({"x-merge": {"strategy": "tuple"}}, *as_tuple) == ["B", "B", "A"]
    assert read({"prefixItems": [{}, {}, {}]}, *as_tuple) == ["B", "B", "A"]
    assert read({"minItems": 3, "maxItems": 3}, *as_tuple) == ["B", "B", "A"]
    assert read({"x-merge": {"strategy": "tuple"}}, ["A"], ["A", "B"], ["C"]) is None
    sums = {"prefixItems": [{}, {"x-merge": {"strategy": "sum"}}]}
    assert read(sums, ["a", 1], ["a", 3], ["a", 2]) == ["a", 4]

    assert read({"x-merge": {"strategy": "sequence"}}, [1, 2], [5, 2], [1, 5]) == [5, 5]
    assert read({"x-merge": {"strategy": "sequence"}}, [1, 2], [0, 1, 2], [1, 2, 3]) == [0, 1, 2, 3]
    assert read({"uniqueItems": True}, ["A"], ["A", "X"], ["X", "A"]) in (["A", "X"], ["X", "A"])
    # objects stay in order: an edit of one does not make another item of it
    edited = ([{"a": 1, "b": 1}], [{"a": 2, "b": 1}], [{"a": 1, "b": 2}])
    assert read({"uniqueItems": True}, *edited) == [{"a": 2, "b": 2}]
    assert read({"uniqueItems": True}, *[["A", *items] for items in edited]) == [
        "A",
        {"a": 2, "b": 2},
    ]


def test_an_item_that_moved_to_an_end_has_a_neighbour_on_one_side_only() -> None:
    base = items_of(parse('["a", "b", "c", "d"]'))

    def neighbours(text: str) -> tuple[str, str]:
        side = ListSide(base, items_of(parse(text)))
        (moved,) = side.moved
        return side.neighbours(moved)

    a, b, c, d = [item_key(item.value, ()) for item in base]
    assert neighbours('["d", "a", "b", "c"]') == ("", a)
    assert neighbours('["b", "c", "d", "a"]') == (d, "")
    assert neighbours('["a", "c", "d", "b"]') == (d, "")
    assert neighbours('["b", "c", "a", "d"]') == (c, d)
    assert neighbours('["a", "d", "b", "c"]') == (a, b)


@rows(
    ("other", "is_followed"),
    [
        ({"x": 1, "y": 2}, True),
        ({"x": 1, "y": 9}, True),  # half of the members
        ({"x": 8, "y": 9}, False),
        ({"x": 1, "y": 2, "z": 3, "v": 4}, True),
        ({"x": 1, "y": 9, "z": 3}, False),
        ({}, False),
    ],
)
def test_a_renamed_item_is_followed_if_half_of_it_is_as_it_was(
    other: dict[str, Any], is_followed: bool
) -> None:
    def identify_text(**members: Any) -> Any:
        return identify(items_of(parse(json.dumps([members]))), ("id",), set())

    old = identify_text(id="a", x=1, y=2)
    renamed = identify_text(id="b", **other)
    followed = follow_renames(old, renamed, old, "id")
    assert list(followed) == list(old if is_followed else renamed)
