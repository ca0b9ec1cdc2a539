import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.mcp.calls import DEPTH, fit, write

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4)
    ),
    max_leaves=20,
)


def nest(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@given(st.dictionaries(st.text(st.characters()), VALUES, max_size=5))
def test_the_text_is_the_value_as_json_that_utf_8_can_spell(document: dict[str, Any]) -> None:
    fitted = fit(document)
    assert json.loads(fitted.text.encode()) == json.loads(json.dumps(fitted.value))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_nothing_stands_in_the_text_that_nobody_sees(text: str) -> None:
    written = write({"text": text})
    assert json.loads(written) == {"text": text}
    assert not {
        letter
        for letter in written
        if letter < " " or letter in "\x7f\u202e\u2066\u200b\u2028\ufeff"
    }


def test_a_document_that_is_short_enough_stays_as_it_is() -> None:
    assert fit({"a": [1, "zwei", None, {"b": 1.5}]}).value == {"a": [1, "zwei", None, {"b": 1.5}]}


def test_what_is_too_long_is_cut_and_named() -> None:
    fitted = fit({"text": "x" * 300_000, "list": list(range(5)), "a/b": ["y" * 200_000]})
    assert len(fitted.text) <= 100_000
    assert fitted.value["truncated"] == {
        "limit": 100_000,
        "count": 2,
        "places": ["/text", "/a~1b/0"],
    }
    assert fitted.value["text"].endswith("... (300000 characters)")
    assert fitted.value["list"] == [0, 1, 2, 3, 4]


def test_a_long_list_loses_its_end() -> None:
    fitted = fit({"rows": [{"id": str(at)} for at in range(20_000)]})
    assert fitted.value["rows"][0] == {"id": "0"}
    assert fitted.value["truncated"]["places"] == ["/rows"]


def test_what_stays_too_long_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="longer than 100000"):
        fit({f"{at} {'key' * 60}": "value" for at in range(600)})


def test_depths_that_parsers_refuse_are_cut() -> None:
    fitted = fit({"deep": nest(500)})
    assert fitted.text.count("[") < 2 * DEPTH
    assert fitted.value["truncated"]["count"] == 1


@pytest.mark.parametrize(
    "number", [float("inf"), float("nan"), 10**5000], ids=["infinite", "none", "huge"]
)
def test_numbers_that_no_reader_takes_are_null(number: float) -> None:
    assert fit({"number": number}).value == {"number": None}


def test_half_a_pair_is_spelled_out() -> None:
    assert fit({"\ud800": "a\udfff"}).value == {"\\ud800": "a\\udfff"}


def test_an_answer_holds_no_token() -> None:
    token = f"{'gh'}p_aB3dE5gH7jK9mN1pQ2rS4tU6"
    fitted = fit({"a": [{"text": f"use {token}", token: 1}], "b": "x" * 100_000 + token})
    assert token not in fitted.text
