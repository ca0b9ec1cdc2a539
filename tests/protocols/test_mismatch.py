"""How a break of a schema, a value and a place are worded in messages."""

from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import explain_mismatch, name_rows, quote, quote_where


def explain(keyword: str, expected: Any, value: Any, where: str = "/a/0/b") -> str:
    return explain_mismatch(Mismatch(where, keyword, expected, value, "as\x1b[2J the library says"))


def test_every_keyword_has_its_sentence() -> None:
    assert explain("type", "string", None) == "a.0.b must be a text, and is null"
    assert explain("type", ["string", "array"], 1) == "a.0.b must be a text or a list, and is 1"
    assert explain("enum", ["x", "y", "z"], "w") == 'invalid a.0.b "w": expected x, y or z'
    assert explain("enum", ["x"], "w") == 'invalid a.0.b "w": expected x'
    assert explain("minimum", 0, -1) == "a.0.b is -1, and cannot be below 0"
    assert explain("minLength", 1, "") == "a.0.b is empty"
    assert explain("pattern", "^a", "b") == "a.0.b: as\\x1b[2J the library says"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x\x1b[2J", '"x\\x1b[2J"'),
        ("x" * 70, '"' + "x" * 57 + '..."'),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        ({}, "an object"),
        ([], "a list"),
        pytest.param(10**5_000, "a very long number", id="long"),
    ],
)
def test_a_value_is_shown_short_and_safe(value: Any, shown: str) -> None:
    assert quote(value) == shown


def test_a_row_is_named_by_its_id() -> None:
    document = {"rows": [{"id": "a"}, {"id": "b-2"}, {"id": "c d"}, {}, 7], "other": 3}
    wheres = (
        "/rows/1/status",
        "/rows/1",
        "/rows/12/x",
        "/rows/2/x",
        "/rows/3/x",
        "/rows/4/x",
        "/rows",
        "/other/0",
        "",
    )
    findings = [
        Finding("x/y", "error", f"invalid {quote_where(where)} here", where=where)
        for where in wheres
    ]
    assert [finding.message.split(" ", 1)[1] for finding in name_rows(findings, document)] == [
        "rows[b-2].status here",
        "rows[b-2] here",
        "rows.12.x here",
        "rows.2.x here",
        "rows.3.x here",
        "rows.4.x here",
        "rows here",
        "other.0 here",
        "the document here",
    ]


def test_a_row_that_the_message_ends_with_is_named_too() -> None:
    (found,) = name_rows(
        [Finding("x/y", "error", "unknown field in rows.0", where="/rows/0/z")],
        {"rows": [{"id": "a"}]},
    )
    assert found.message == "unknown field in rows[a]"
    assert found.where == "/rows/0/z"


def test_a_place_is_shown_with_dots() -> None:
    assert quote_where("/progress_table/1/status") == "progress_table.1.status"
    assert quote_where("") == "the document"
    assert quote_where("/a\n/b") == "a\\n.b"


def test_a_hint_names_a_row_by_an_id_that_only_it_has() -> None:
    document = {"rows": [{"id": "a"}, {"id": "b"}, {"id": "b"}, {"id": "3"}]}
    findings = [
        Finding(
            "x/y",
            "error",
            f"rows.{at}.x",
            where=f"/rows/{at}/x",
            hint=advise("do", "checkpoint", "update", "n", f"--rows.{at}.x=1"),
        )
        for at in range(4)
    ]
    hints = [str(found.hint).rpartition(" ")[2] for found in name_rows(findings, document)]
    assert hints == ["--rows.a.x=1", "--rows.1.x=1", "--rows.2.x=1", "--rows.3.x=1"]
