"""What the newer side's narrative replaced is kept in the document, once."""

import json
from typing import Any

from checkpoint_git.merge.superseded import tell_superseded
from tests.support.merging import merge_texts
from tests.support.rows import rows

GROUP = {"strategy": "group", "name": "narrative", "superseded": "replaced", "by": "/at"}
SCHEMA: dict[str, Any] = {
    "properties": {
        "at": {"x-merge": {"strategy": "max-time"}},
        "text": {"x-merge": GROUP},
        "next": {"x-merge": GROUP},
        "replaced": {"x-merge": {"strategy": "log"}},
    }
}
BASE = {"at": "2026-03-01T08:00:00Z", "text": "base", "next": "base"}
OURS = {"at": "2026-03-01T09:00:00Z", "text": "ours", "next": "ours"}
THEIRS = {"at": "2026-03-01T10:00:00Z", "text": "theirs", "next": "theirs"}
EARLIER = {"at": "2026-02-01T08:00:00Z", "text": "long ago"}


def merge(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    merged = merge_texts(json.dumps(base), json.dumps(ours), json.dumps(theirs), SCHEMA)
    assert not merged.conflicts
    value: dict[str, Any] = json.loads(merged.text)
    return value


@rows(("ours", "theirs"), [(OURS, THEIRS), (THEIRS, OURS)])
def test_the_older_side_is_kept_whole_with_its_instant(
    ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    assert merge(BASE, ours, theirs) == {**THEIRS, "replaced": [OURS]}


@rows(("ours", "theirs"), [(OURS, THEIRS), (THEIRS, OURS)])
def test_it_goes_behind_what_was_kept_before(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    kept = {"replaced": [EARLIER]}
    assert merge({**BASE, **kept}, {**ours, **kept}, {**theirs, **kept})["replaced"] == [
        EARLIER,
        OURS,
    ]


def test_it_goes_behind_what_one_side_alone_kept() -> None:
    assert merge(BASE, {**OURS, "replaced": [EARLIER]}, THEIRS)["replaced"] == [EARLIER, OURS]
    assert merge(BASE, OURS, {**THEIRS, "replaced": [EARLIER]})["replaced"] == [EARLIER, OURS]


def test_a_list_that_ours_wrote_on_one_line_stays_on_one_line() -> None:
    ours = (
        json.dumps(OURS, indent=2).removesuffix("\n}")
        + f',\n  "replaced": [ {json.dumps(EARLIER)} ]\n}}'
    )
    merged = merge_texts(json.dumps(BASE), ours, json.dumps(THEIRS), SCHEMA)
    assert f'\n  "replaced": [ {json.dumps(EARLIER)}, {json.dumps(OURS)} ]\n' in merged.text


def test_it_goes_behind_what_both_sides_kept() -> None:
    other = {**EARLIER, "text": "longer ago"}
    merged = merge(BASE, {**OURS, "replaced": [EARLIER]}, {**THEIRS, "replaced": [other]})
    assert merged["replaced"][-1] == OURS
    assert sorted(entry["text"] for entry in merged["replaced"]) == [
        "long ago",
        "longer ago",
        "ours",
    ]


@rows("side", ["ours", "theirs", "both"])
def test_the_next_commit_of_a_rebase_takes_the_place_of_the_one_before(side: str) -> None:
    kept = {"replaced": [EARLIER, BASE]}
    ours = {**OURS, **(kept if side != "theirs" else {})}
    theirs = {**THEIRS, **(kept if side != "ours" else {})}
    assert merge(BASE, ours, theirs)["replaced"] == [EARLIER, OURS]


@rows("side", ["ours", "theirs"])
def test_what_is_kept_already_is_not_kept_twice(side: str) -> None:
    kept = {"replaced": [OURS]}
    ours = {**OURS, **(kept if side == "ours" else {})}
    theirs = {**THEIRS, **(kept if side == "theirs" else {})}
    assert merge(BASE, ours, theirs)["replaced"] == [OURS]


@rows(
    ("kept", "result"), [("a text", ["a text", OURS]), (7, [7, OURS]), ({"a": 1}, [{"a": 1}, OURS])]
)
def test_what_is_no_list_is_not_lost(kept: Any, result: list[Any]) -> None:
    other = {"replaced": kept}
    assert merge({**BASE, **other}, {**OURS, **other}, {**THEIRS, **other})["replaced"] == result
    assert merge(BASE, {**OURS, **other}, THEIRS)["replaced"] == result
    assert merge(BASE, OURS, {**THEIRS, **other})["replaced"] == result


def test_a_list_that_conflicts_gets_it_on_both_sides() -> None:
    ours, theirs = {**OURS, "replaced": "mine"}, {**THEIRS, "replaced": [EARLIER]}
    merged = merge_texts(json.dumps(BASE), json.dumps(ours), json.dumps(theirs), SCHEMA)
    assert merged.conflicts
    assert merged.text.count('"text": "ours"') == 2
    assert '"mine"' in merged.text
    assert '"long ago"' in merged.text


def test_a_report_names_the_members_and_what_the_older_side_said() -> None:
    merged = merge_texts(json.dumps(BASE), json.dumps(OURS), json.dumps(THEIRS), SCHEMA)
    (line,) = tell_superseded(merged.context)
    assert line.startswith("both sides changed text and next; the newer side's stays")
    assert line.endswith('kept in /replaced: text "ours", next "ours"')
