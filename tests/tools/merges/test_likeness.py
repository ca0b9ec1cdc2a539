"""Records told apart by what they hold: likeness, not identity."""

import json
from typing import Any

import pytest

from checkpoint_git.core.jsontext import Node, parse
from checkpoint_git.tools.merges.likeness import (
    find_foreign,
    find_mixture,
    is_like,
    is_reworded,
    is_telling,
)
from checkpoint_git.tools.merges.lists import make_lists

FIRST = {"id": "a", "text": "the first of two sentences", "owner": "Ann with a long name 1"}
SECOND = {"id": "b", "text": "quite another sentence here", "owner": "Ben with a long name 2"}


def nodes(*items: Any) -> list[Node]:
    members = parse(json.dumps(items)).members
    assert isinstance(members, list)
    return members


@pytest.mark.parametrize(("value", "telling"), [
    ("a whole sentence", True), ("2026-03-01", True), ("complete", False), ("short", False), (b"12", False),
    (["a long list", "of texts"], True), ([], False),
])  # fmt: skip
def test_sentences_dates_and_large_values_are_a_record_s_own(value: Any, telling: bool) -> None:
    assert is_telling(value) is telling


def test_a_row_that_has_another_row_s_sentence_is_found() -> None:
    parents = nodes(FIRST, SECOND)
    lists = make_lists(
        [parents] * 3 + [nodes({**FIRST, "text": SECOND["text"]}, SECOND)] + [parents] * 2, ("id",)
    )
    identity = next(iter(lists.result))
    assert find_foreign(lists, identity) == 'its text is that of "b"'
    assert find_foreign(lists, list(lists.result)[1]) == ""


def test_a_record_made_of_two_that_have_little_in_common_is_a_mixture() -> None:
    blend = nodes({"text": FIRST["text"], "owner": SECOND["owner"]})
    lists = make_lists([[], nodes(FIRST), nodes(SECOND), blend, [], []], ())
    assert find_mixture(lists, blend[0]) == "text from one record, owner from another"
    assert find_mixture(lists, nodes(FIRST)[0]) == ""
    assert find_mixture(lists, nodes({"text": "written by hand in the merge"})[0]) == ""


def test_records_are_alike_that_share_half_of_the_smaller_one() -> None:
    one, other = (
        parse(json.dumps(value)).members for value in ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    )
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert is_like(one, other)


@pytest.mark.parametrize(("lost", "written", "reworded"), [
    ("Write the parser", "Write the parser, with tests", True), ("Write the parser", "Ship the release notes", False),
    ({"id": 1, "text": "a sentence of it"}, {"id": 2, "text": "a sentence of it"}, True), ("", "anything", False),
])  # fmt: skip
def test_a_text_lives_on_in_one_that_contains_or_resembles_it(
    lost: Any, written: Any, reworded: bool
) -> None:
    assert is_reworded(json.dumps(lost), json.dumps(written)) is reworded
