"""One line a leaf, stable under what does not matter."""

from checkpoint_git.core.leaflines import list_leaves
from tests.support.samples import checkpoint


def test_rows_are_named_by_their_id_and_actions_by_nothing() -> None:
    lines = list_leaves(checkpoint())
    assert "progress_table[sprint-1].status: complete" in lines
    assert "next_actions[]: Write the notes API" in lines
    assert "next_actions[].done_when: make eval" in lines
    assert "blockers: []" in lines


def test_the_order_of_keys_in_the_file_makes_no_difference() -> None:
    value = checkpoint()
    assert list_leaves(dict(reversed(value.items()))) == list_leaves(value)


def test_the_keys_named_come_first() -> None:
    assert list_leaves({"b": "2", "a": "1", "c": "3"}, ["c"]) == ["c: 3", "a: 1", "b: 2"]


def test_an_item_more_is_a_line_more_and_changes_no_other() -> None:
    before = list_leaves({"list": ["a", "c"]})
    after = list_leaves({"list": ["a", "b", "c"]})
    assert [line for line in after if line not in before] == ["list[]: b"]


def test_terminal_escapes_are_shown() -> None:
    assert list_leaves({"step": "\x1b[2J\nx"}) == ["step: \\x1b[2J\\nx"]


def test_numbers_and_words_read_as_they_were_written() -> None:
    assert list_leaves({"a": "true", "b": "True", "c": "null"}) == [
        'a: "true"',
        "b: True",
        'c: "null"',
    ]
    assert list_leaves({"a": b"1.0", "b": True, "c": None, "d": {}}) == [
        "a: 1.0",
        "b: true",
        "c: null",
        "d: {}",
    ]
