"""Records of steps, groups with a rank, rows that both sides added: the strategies of a schema made
up for this.
"""

import json
from typing import Any

import pytest

from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.merge.conflicts import decide
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.merge.result import OURS, THEIRS
from checkpoint_git.merge.steps import is_lawful
from tests.support.merging import merge_texts
from tests.support.rows import rows

STEPS = ["plan", "build", "ship"]
LAW = {"steps": "/done", "key": "/step", "at": "/at", "order": STEPS, "current": "/step", "status": "/status",
       "done": "over", "begin": "/began", "end": "/ended"}  # fmt: skip
RANK = [{"at": "/step", "order": STEPS}, {"at": "/status", "order": ["on", "over"]}]
HEAD = {"strategy": "group", "name": "head", "rank": RANK}
SCHEMA: dict[str, Any] = {
    "x-merge-require": [{"same": "/name"}, LAW],
    "properties": {
        "step": {"x-merge": HEAD},
        "status": {"x-merge": HEAD},
        "count": {"x-merge": {"strategy": "max-number"}},
        "done": {
            "items": {"properties": {"at": {"x-merge": {"strategy": "min-time"}}}},
            "x-merge": {"strategy": "rows", "key": "/step", "added": "merge"},
        },
    },
}


def record(done: int, step: str, status: str = "on", day: int = 2, **more: Any) -> dict[str, Any]:
    """A record with so many steps done, each on a day of its own."""
    rows = [
        {"step": name, "at": f"2026-01-{day + at:02}T00:00:00Z"}
        for at, name in enumerate(STEPS[:done])
    ]
    return {
        "name": "w",
        "step": step,
        "status": status,
        "done": rows,
        "began": "2026-01-01T00:00:00Z",
        **more,
    }


def merge(base: Any, ours: Any, theirs: Any) -> Merged:
    texts = [
        None if value is None else json.dumps(value, indent=1) for value in (base, ours, theirs)
    ]
    return merge_texts(texts[0], texts[1] or "", texts[2] or "", to_tokens(SCHEMA))


def clean(base: Any, ours: Any, theirs: Any) -> Any:
    found = [merge(base, *sides) for sides in ((ours, theirs), (theirs, ours))]
    assert [each.conflicts for each in found] == [[], []]
    assert json.loads(found[0].text) == json.loads(found[1].text)
    return json.loads(found[0].text)


def test_the_schema_is_clean() -> None:
    assert lint_schema(SCHEMA) == []


@rows(
    ("value", "lawful"),
    [
        (record(0, "plan"), True),
        (record(1, "build"), True),
        (record(1, "plan", "over"), True),
        (record(1, "plan"), False),
        (record(0, "build"), False),
        (record(2, "plan", "over"), False),
        (record(3, "ship", "over"), True),
        (record(1, "build", ended="2026-01-01T12:00:00Z"), False),
        ({**record(1, "build"), "done": [{"step": "build"}]}, False),
        ({**record(1, "build"), "done": "plan"}, False),
        ({**record(1, "build"), "step": "dance"}, False),
    ],
)
def test_the_law_of_steps(value: dict[str, Any], lawful: bool) -> None:
    places = [
        value.get(str(LAW[name])[1:]) for name in ("steps", "current", "status", "begin", "end")
    ]
    assert is_lawful(LAW, *places) is lawful


def test_a_group_with_a_rank_comes_whole_from_the_side_that_stands_higher() -> None:
    base = record(1, "build")
    merged = clean(base, record(1, "build", "over"), record(2, "ship"))
    assert (merged["step"], merged["status"]) == ("ship", "on")
    assert clean(base, record(1, "build", "over"), base)["status"] == "over"


@pytest.mark.parametrize("status", ["failed", "of its own"])
def test_what_is_in_no_order_or_behind_the_base_is_a_conflict(status: str) -> None:
    assert (
        len(merge(record(1, "build"), record(1, "build", status), record(2, "ship")).conflicts) == 1
    )
    assert (
        len(merge(record(1, "build", status), record(1, "build"), record(2, "ship")).conflicts) == 1
    )
    assert len(merge(record(1, "build"), record(0, "plan"), record(2, "ship")).conflicts) == 1


def test_rows_that_both_sides_added_are_one() -> None:
    merged = clean(record(0, "plan"), record(1, "build"), record(2, "ship", day=1))
    assert [row["at"][8:10] for row in merged["done"]] == ["01", "02"]


def test_two_lawful_sides_that_do_not_fit_together_are_one_conflict_and_either_side_is_lawful() -> (
    None
):
    base, ours, theirs = record(2, "ship"), record(1, "build"), record(3, "ship", "over")
    merged = merge(base, ours, theirs)
    assert len(merged.conflicts) == 1
    for side, wanted in ((OURS, ours), (THEIRS, theirs)):
        assert json.loads(decide(merged, {merged.conflicts[0].where: side}).text) == wanted


def test_a_side_that_breaks_the_law_itself_is_merged_as_ever() -> None:
    assert (
        clean(record(0, "ship"), {**record(0, "ship"), "x": 1}, {**record(0, "ship"), "y": 2})["y"]
        == 2
    )


def test_records_of_two_things_are_one_conflict() -> None:
    base = record(0, "plan")
    merged = merge(base, record(1, "build"), {**base, "name": "other"})
    assert [each.where for each in merged.conflicts] == [""]
    assert clean(base, base, {**base, "name": "other"})["name"] == "other"


@rows(("ours", "theirs", "greater"), [(2, 3, 3), (10, 9, 10), (1.5, 1, 1.5), (1e2, 99, 1e2)])
def test_the_greater_number_counts(ours: float, theirs: float, greater: float) -> None:
    base = record(0, "plan", count=0)
    assert clean(base, {**base, "count": ours}, {**base, "count": theirs})["count"] == greater


def test_what_is_no_number_is_a_conflict() -> None:
    base = record(0, "plan", count=0)
    assert len(merge(base, {**base, "count": "many"}, {**base, "count": 3}).conflicts) == 1


@rows(
    ("schema", "code", "where"),
    [
        (
            {"x-merge": {"strategy": "rows", "key": "/id", "added": "yes"}},
            "bad-option",
            "/x-merge/added",
        ),
        (
            {"properties": {"a": {"x-merge": {**HEAD, "rank": []}}}},
            "bad-option",
            "/properties/a/x-merge/rank",
        ),
        ({"properties": {"a": {"x-merge": HEAD}}}, "group", "/properties/a/x-merge"),
        ({"x-merge-require": [{"same": "name"}]}, "requirement", "/x-merge-require/0"),
        ({"x-merge-require": [{**LAW, "order": []}]}, "requirement", "/x-merge-require/0"),
        ({"x-merge-require": [{"steps": "/done"}]}, "requirement", "/x-merge-require/0"),
    ],
)
def test_a_mistake_in_them_is_refused(schema: dict[str, Any], code: str, where: str) -> None:
    assert (f"schema/{code}", where) in [(each.code, each.where) for each in lint_schema(schema)]
