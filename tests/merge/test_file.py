"""The one way to merge a file: which version cannot be read, what counts as a base, several merge
bases.
"""

import json
from itertools import product
from typing import Any, NamedTuple

import pytest

from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.merge.markers import say_side
from tests.merge.schemas import skill_schema
from tests.support.rows import rows
from tests.support.samples import checkpoint


class Ancestor(NamedTuple):
    data: bytes | None
    below: "tuple[Ancestor, ...]" = ()


def data_of(**members: Any) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize("broken", ["base", "ours", "theirs"])
def test_an_unreadable_version_is_named(broken: str) -> None:
    versions = {name: b"{" if name == broken else b"{}" for name in ("base", "ours", "theirs")}
    with pytest.raises(JsonTextError) as caught:
        merge_file(versions["base"], versions["ours"], versions["theirs"])
    assert caught.value.version == broken


@pytest.mark.parametrize("base", [None, b""])
def test_no_base_and_an_empty_one_are_a_file_that_both_sides_added(base: bytes | None) -> None:
    assert json.loads(merge_file(base, data_of(a=1), data_of(b=2)).data) == {"a": 1, "b": 2}


@rows("ends", [ends for ends in product(["", "\n", "\r\n"], repeat=3) if len({*ends}) < 3])
@rows(
    "values",
    [('{"a":1}', '{"a":2}', '{"a":1}'), ("1", "1", "2"), ("[1]", "[1]", "[1]"), ("{}", "[]", "{}")],
)
def test_the_end_of_a_one_line_file_merges_like_a_value(
    ends: tuple[str, ...], values: tuple[str, ...]
) -> None:
    base, ours, theirs = (f"{value}{end}".encode() for value, end in zip(values, ends, strict=True))
    end = ends[2] if ends[0] == ends[1] else ends[1]
    value = values[2] if values[0] == values[1] else values[1]
    assert merge_file(base, ours, theirs).text == value + end


def test_an_inner_merge_takes_the_value_of_the_base_and_marks_nothing() -> None:
    merged = merge_file(data_of(a=1), data_of(a=2), data_of(a=3), inner=True)
    assert (json.loads(merged.data), merged.conflicts) == ({"a": 1}, [])
    assert merge_file(b"1", b"2", b"3", inner=True).text == "1"
    # without a base there is no other document, but a member may be left out
    assert merge_file(None, b"2", b"3", inner=True).text == "2"
    merged = merge_file(None, data_of(a=1, b=2), data_of(a=1, b=3), inner=True)
    assert json.loads(merged.data) == {"a": 1}


def test_merge_bases_are_merged_one_after_the_other_over_what_they_have_in_common() -> None:
    old = Ancestor(data_of(a=1, b=1))
    first, second = Ancestor(data_of(a=2, b=1)), Ancestor(data_of(a=1, b=2), (old,))
    assert json.loads(merge_bases([first, second], {}) or b"") == {"a": 2, "b": 2}
    assert merge_bases([], {}) is None
    assert merge_bases([first], {}) == first.data


def test_a_base_without_the_file_counts_as_a_removal() -> None:
    old = Ancestor(data_of(a=1))
    assert merge_bases([Ancestor(None), old._replace(below=(old,))], {}) is None
    assert merge_bases([Ancestor(None), Ancestor(data_of(a=2), (old,))], {}) == data_of(a=2)


def test_of_merge_bases_that_cannot_be_read_the_changed_one_is_taken() -> None:
    old = Ancestor(b"{")
    assert merge_bases([Ancestor(b"{ours"), Ancestor(b"{", (old,))], {}) == b"{ours"
    assert merge_bases([Ancestor(b"{ours"), Ancestor(b"{theirs", (old,))], {}) == b"{theirs"


def test_a_narrative_set_aside_beside_a_conflict_about_its_list_can_be_said() -> None:
    kept = [{"updated_at": "2026-01-01T00:00:00Z", "step": "earlier"}]
    base = checkpoint(superseded=kept)
    ours = {**checkpoint(step="ours", updated_at="2026-04-02T00:00:00Z")}
    theirs = checkpoint(
        step="theirs", updated_at="2026-04-01T00:00:00Z", superseded=[{**kept[0], "step": "edited"}]
    )
    versions = [json.dumps(value, indent=2).encode() for value in (base, ours, theirs)]
    merged = merge_file(versions[0], versions[1], versions[2], skill_schema(), narrative="newest")
    said = [
        say_side(side, 500)
        for conflict in merged.conflicts
        for side in conflict.sides
        if side is not None
    ]
    assert [conflict.where for conflict in merged.conflicts] == ["/superseded"]
    assert any('"step":"theirs"' in text for text in said)
