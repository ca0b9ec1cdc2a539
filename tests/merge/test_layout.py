"""Whose layout a merged file has: a side that only lays it out anew is heard, whichever side git
calls ours.
"""

import json
from collections.abc import Callable
from typing import Any

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.layout import lays_out_theirs
from tests.merge.choosing import OURS, THEIRS, keep_side
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
