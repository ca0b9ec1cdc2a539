"""Whose layout a merged file has: a side that only lays it out anew is heard, whichever side git
calls ours.
"""

import json
from collections.abc import Callable
from typing import Any

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.conflicts import decide_all
from checkpoint_git.merge.layout import lays_out_theirs
from tests.merge.choosing import BASE, OURS, THEIRS, keep_side
from tests.merge.schemas import skill_schema
from tests.support.merging import merge_texts
from tests.support.rows import rows

SCHEMA = skill_schema()


VALUE = {
    "updated_at": "2026-01-01T00:00:00Z",
    "step": "s",
    "blockers": [],
    "depends_on": ["é", "b"],
    "extra": {"b": 1, "a": 2},
}
CHANGED = {**VALUE, "step": "t", "depends_on": ["é", "b", "c"]}


def plain(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


LAYOUTS: dict[str, Callable[[Any], str]] = {
    "indented": lambda value: json.dumps(value, indent=4, ensure_ascii=False) + "\n",
    "sorted": lambda value: json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n",
    "escaped": lambda value: json.dumps(value, indent=2) + "\n",
    "on one line": json.dumps,
    "other line ends": lambda value: plain(value).replace("\n", "\r\n"),
    "a blank line": lambda value: plain(value).replace('"blockers"', '\n  "blockers"'),
    "byte order mark": lambda value: "\ufeff" + plain(value),
}


@rows("name", LAYOUTS)
def test_a_side_that_only_lays_the_file_out_anew_is_heard_from_either_side(name: str) -> None:
    anew = LAYOUTS[name]
    texts = [
        merge_texts(plain(VALUE), *sides, SCHEMA).text
        for sides in ((anew(VALUE), plain(CHANGED)), (plain(CHANGED), anew(VALUE)))
    ]
    assert texts == [anew(CHANGED)] * 2


def step_of(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))["step"]


@rows("name", LAYOUTS)
def test_a_conflict_in_a_file_laid_out_anew_has_the_sides_that_git_gave(name: str) -> None:
    ours, theirs = plain({**CHANGED, "step": "u"}), LAYOUTS[name](CHANGED)
    for sides in ((ours, theirs), (theirs, ours)):
        merged = merge_texts(plain(VALUE), *sides, SCHEMA)
        for side, text in zip((OURS, THEIRS), sides, strict=True):
            assert step_of(keep_side(merged.text, side)) == step_of(text)
        ends = {
            line[-2:] == "\r\n"
            for line in merged.text.splitlines(keepends=True)
            if line.endswith("\n")
        }
        assert len(ends) == 1


def test_items_that_changed_show_the_layout_where_two_lists_are_as_long() -> None:
    base, ours, theirs = map(
        parse,
        (
            '{"list": [{"a": 1, "b": 2}, 3]}',
            '{"list": [{"a": 1, "b": 9}, 3]}',
            '{"list": [{"a": 1,"b": 8}, 3]}',
        ),
    )
    assert lays_out_theirs(base, ours, theirs)
    assert not lays_out_theirs(base, theirs, ours)
    assert not lays_out_theirs(base, ours, parse('{"list": [{"c": 4}, {"a": 1,"b": 8}, 3]}'))


def test_a_value_keeps_its_lines_in_its_own_file_and_loses_them_in_one_without() -> None:
    base = '{"x": {"a": 1}}\n'
    first = '{"x": {"a": 1, "b": [\n  1]}}\n'  # the result is written into the smaller text
    second = '{"x": {"a": 1, "b": {\n  "c": 1}}}\n'
    taken = {OURS: first, BASE: base, THEIRS: '{"x": {"a": 1, "b": {"c": 1}}}\n'}
    merged = merge_texts(base, first, second)
    assert {side: decide_all(merged, side).text for side in taken} == taken
    assert {side: keep_side(merged.text, side) for side in taken} == taken

    turned = merge_texts(base, second, first)
    assert keep_side(turned.text, OURS) == taken[THEIRS]
    assert keep_side(turned.text, THEIRS) == first


def test_a_conflict_between_two_values_in_lines_shows_them_in_lines() -> None:
    def lay_out(**members: Any) -> str:
        return plain({"x": {"a": 1, **members}})

    texts = {OURS: lay_out(b={"c": 1}), BASE: lay_out(), THEIRS: lay_out(b=[2])}
    merged = merge_texts(texts[BASE], texts[OURS], texts[THEIRS])
    assert {side: decide_all(merged, side).text for side in texts} == texts


def test_each_side_of_a_marked_object_has_the_commas_that_it_needs() -> None:
    rows_of_texts = [
        ('{"a": 1}', '{"a": 1, "b": 2}', '{"a": 1, "b": 3}'),
        ('{"a": 1, "b": 1}', '{"a": 2}', '{"b": 2}'),
        ('{"a": 1, "b": 1, "c": 1}', '{"a": 1, "b": 2}', '{"b": 3, "a": 1, "c": 2}'),
        ('{"c": 1}', '{"a": 1, "c": 1, "z": 2}', '{"a": 2, "c": 1, "z": 3}'),
    ]
    for base, ours, theirs in rows_of_texts:
        marked = merge_texts(base, ours, theirs).text
        for side, text in ((OURS, ours), (BASE, base), (THEIRS, theirs)):
            assert json.loads(keep_side(marked, side)) == json.loads(text), (text, marked)
