"""How a break of a schema, a value and a place are worded in messages."""

from typing import Any

import pytest

from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import explain_mismatch, quote, quote_where


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


def test_a_place_is_shown_with_dots() -> None:
    assert quote_where("/progress_table/1/status") == "progress_table.1.status"
    assert quote_where("") == "the document"
    assert quote_where("/a\n/b") == "a\\n.b"
