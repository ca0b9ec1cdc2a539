"""A marked block goes into a file and out of it to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import (
    MARKDOWN,
    find_block,
    has_block,
    insert_block,
    is_damaged,
    remove_block,
    replace_block,
)

LINES = st.lists(st.sampled_from([b"", b"a b", b"# note", b"\xff\xfe", b"x" * 200]), max_size=6)
FILES = st.builds(
    lambda lines, end, ended: end.join(lines) + (end if ended and lines else b""),
    LINES,
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)


@given(FILES)
def test_put_in_at_the_end_and_taken_out_again_leaves_every_byte(data: bytes) -> None:
    assert remove_block(insert_block(data, len(data), b"ours\n")) == data


@given(FILES)
def test_put_in_below_the_first_line_and_taken_out_again_leaves_every_byte(data: bytes) -> None:
    at = data.find(b"\n") + 1 or len(data)
    assert remove_block(insert_block(data, at, b"ours\n")) == data


@given(FILES)
def test_a_replaced_block_is_taken_out_as_well(data: bytes) -> None:
    changed = replace_block(insert_block(data, len(data), b"ours\n"), b"ours\nanew\n")
    block = find_block(changed)
    assert block is not None
    assert block.body == b"ours\nanew\n"
    assert remove_block(changed) == data


def test_notes_survive_a_replacement() -> None:
    changed = replace_block(insert_block(b"", 0, b"x\n", ("new file", "new folder")), b"y\n")
    block = find_block(changed)
    assert block is not None
    assert block.notes == ("new file", "new folder")


def test_what_follows_an_unended_line_and_our_block_keeps_a_line_of_its_own() -> None:
    assert remove_block(insert_block(b"a", 1, b"ours\n") + b"b\n") == b"a\nb\n"


@pytest.mark.parametrize(
    "data",
    [
        b"# >>> checkpoint-git >>>\n",
        b"# <<< checkpoint-git <<<\n",
        b"# <<< checkpoint-git <<<\n# >>> checkpoint-git >>>\n",
        2 * b"# >>> checkpoint-git >>>\n# <<< checkpoint-git <<<\n",
    ],
)
def test_damaged_marks_are_never_guessed_at(data: bytes) -> None:
    assert is_damaged(data)
    assert not has_block(data)
    with pytest.raises(CheckpointError, match="damaged"):
        remove_block(data)


@pytest.mark.parametrize("before", [b"", b"# Notes\n", b"no end", b"a\r\nb\r\n", b"\xef\xbb\xbf# Notes\n"])
def test_in_markdown_the_marks_are_comments_and_come_out_again(before: bytes) -> None:
    after = insert_block(before, len(before), b"## Ours\n", (), b"", MARKDOWN)
    assert b"<!-- >>> checkpoint-git" in after
    assert b"\n# >>>" not in after
    assert remove_block(after) == before
    renewed = replace_block(after, b"## New\n")
    assert b"<!-- <<< checkpoint-git <<< -->" in renewed
    assert remove_block(renewed) == before
