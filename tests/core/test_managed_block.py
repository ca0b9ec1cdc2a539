"""A marked block goes into a file and out of it to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import (
    MARKDOWN,
    find_block,
    has_block,
    has_new_folder,
    is_damaged,
    put_block,
    remove_block,
    take_block,
)
from tests.support.rows import rows

LINES = st.lists(st.sampled_from([b"", b"a b", b"# note", b"\xff\xfe", b"x" * 200]), max_size=6)
FILES = st.builds(
    lambda lines, end, ended: end.join(lines) + (end if ended and lines else b""),
    LINES,
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)


@rows("data", [b"a\r", b"a\n\r", b"a\r\nb\r", b"a\r\nb", b"\r", b"a\rb"])
def test_a_file_that_ends_in_a_lone_carriage_return_keeps_it(data: bytes) -> None:
    assert remove_block(put_block(data, b"ours\n")) == data


@given(FILES)
def test_put_in_at_the_end_and_taken_out_again_leaves_every_byte(data: bytes) -> None:
    assert remove_block(put_block(data, b"ours\n")) == data


@given(FILES)
def test_put_in_below_the_first_line_and_taken_out_again_leaves_every_byte(data: bytes) -> None:
    at = data.find(b"\n") + 1 or len(data)
    assert remove_block(put_block(data, b"ours\n", at)) == data


@given(FILES)
def test_a_replaced_block_is_taken_out_as_well(data: bytes) -> None:
    changed = put_block(put_block(data, b"ours\n"), b"ours\nanew\n")
    block = find_block(changed)
    assert block is not None
    assert block.body == b"ours\nanew\n"
    assert remove_block(changed) == data


def test_notes_survive_a_replacement() -> None:
    changed = put_block(put_block(None, b"x\n", notes=("new folder",)), b"y\n")
    block = find_block(changed)
    assert block is not None
    assert block.notes == ("new file", "new folder")
    assert has_new_folder(changed)


def test_a_file_that_was_made_for_the_block_is_gone_when_nothing_was_added() -> None:
    made = put_block(None, b"x\n", head=b"#!/bin/sh\n")
    assert made.startswith(b"#!/bin/sh\n# >>> checkpoint-git (new file) >>>\n")
    assert take_block(made, b"#!/bin/sh\n") is None
    assert take_block(made + b"more\n", b"#!/bin/sh\n") == b"#!/bin/sh\nmore\n"
    assert take_block(put_block(b"", b"x\n")) == b""


def test_what_follows_an_unended_line_and_our_block_keeps_a_line_of_its_own() -> None:
    assert remove_block(put_block(b"a", b"ours\n") + b"b\n") == b"a\nb\n"


@rows(
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


@rows("before", [b"", b"# Notes\n", b"no end", b"a\r\nb\r\n", b"\xef\xbb\xbf# Notes\n"])
def test_in_markdown_the_marks_are_comments_and_come_out_again(before: bytes) -> None:
    after = put_block(before, b"## Ours\n", comment=MARKDOWN)
    assert b"<!-- >>> checkpoint-git" in after
    assert b"\n# >>>" not in after
    assert remove_block(after) == before
    renewed = put_block(after, b"## New\n", comment=MARKDOWN)
    assert b"<!-- <<< checkpoint-git <<< -->" in renewed
    assert remove_block(renewed) == before
