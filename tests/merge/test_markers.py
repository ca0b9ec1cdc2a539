"""Conflicts as text: only the lines that differ are marked, and each side is said in a few
words.
"""

import json

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.layout import Alternatives
from checkpoint_git.merge.markers import label_of, say_side, split_lines, write_marked
from checkpoint_git.merge.result import Built
from tests.support.growth import assert_linear


def test_only_the_lines_that_differ_stand_between_markers() -> None:
    segments: list[str | Alternatives] = [
        "{\n",
        Alternatives("/a", ("  1,\n  2\n", "  1,\n  0\n", "  1,\n  3\n")),
        "}\n",
    ]
    assert write_marked(segments, 3, "\n") == (
        "{\n  1,\n<<< ours: /a\n  2\n||| base: /a\n  0\n===\n  3\n>>> theirs: /a\n}\n"
    )


def test_lines_at_the_end_that_all_share_stay_outside_the_markers() -> None:
    texts = ["  1,\n  7,\n  8\n", "  0,\n  7,\n  8\n", "  3,\n  7,\n  8\n"]
    assert write_marked([Alternatives("/a", texts)], 3, "\n") == (
        "<<< ours: /a\n  1,\n||| base: /a\n  0,\n===\n  3,\n>>> theirs: /a\n  7,\n  8\n"
    )


def test_sides_that_agree_leave_no_marker() -> None:
    assert (
        write_marked(["[\n", Alternatives("", ("1\n", "0\n", "1\n")), "]\n"], 7, "\n")
        == "[\n1\n]\n"
    )


def test_a_conflict_of_the_whole_document_and_control_characters_have_a_label() -> None:
    assert (label_of(""), label_of("/a\x1b")) == ("/", "/a\\x1b")


def test_a_side_is_said_as_its_value_its_absence_or_another_order() -> None:
    node = parse('{"b": 1, "a": "' + "x" * 80 + '"}')
    assert (say_side(None), say_side(Built(parse("[1]"), []))) == ("(nothing)", "another order")
    assert say_side(node, 20) == '{"a":"xxxxxxxxxxx...'
    assert say_side(parse("1.50")) == "1.50"


def test_lines_end_at_newlines_alone() -> None:
    assert split_lines("a\u2028b\nc") == ["a\u2028b\n", "c"]


def two_parts(between: str) -> str:
    parts: list[str | Alternatives] = [
        Alternatives("/b", ("1", "0", "2")),
        f",\n{between}",
        Alternatives("/b", ("3", "0", "4"), "/d"),
        "\n",
    ]
    return write_marked(parts, 7, "\n")


def test_two_parts_of_one_conflict_with_a_line_between_are_one_region_that_names_both_places() -> (
    None
):
    sides = "1,\nsame\n3\n", "0,\nsame\n0\n", "2,\nsame\n4\n"
    marks = [f"{mark} /b /d\n" for mark in ("<<<<<<< ours:", "||||||| base:", ">>>>>>> theirs:")]
    assert (
        two_parts("same\n")
        == f"{marks[0]}{sides[0]}{marks[1]}{sides[1]}=======\n{sides[2]}{marks[2]}"
    )


def test_a_part_that_stands_alone_says_where_it_is_and_what_it_is_decided_with() -> None:
    lines = two_parts("some\nlines\n").splitlines()
    assert [line for line in lines if line.startswith("<")] == [
        "<<<<<<< ours: /b",
        "<<<<<<< ours: /d with /b",
    ]


def test_a_line_with_thousands_of_conflicts_is_marked_in_linear_time() -> None:
    def write(size: int) -> None:
        base, ours, theirs = (
            json.dumps({f"k{at}": side for at in range(size)}).encode() for side in (1, 2, 3)
        )
        merge_file(base, ours, theirs)

    assert_linear(write, 1_000)
