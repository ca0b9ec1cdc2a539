"""Places found in a text without a tree: the tree's own answer is the measure."""

import json
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core import jsonplace, jsontext
from tests.support.examples import examples

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=4),
    ),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def _locate(text: str, where: str) -> tuple[int, int]:
    return jsonplace.locate_all(text, [where])[0]


def pointers_in(value: Any, where: str = "") -> list[str]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    below = [pointers_in(child, jsontext.join_pointer(where, key)) for key, child in children]
    return [where, *(pointer for pointers in below for pointer in pointers)]


@examples(300)
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.sampled_from(["", "\ufeff", "\n "]))
def test_every_place_is_where_the_tree_says(
    value: Any, indent: "int | str | None", lead: str
) -> None:
    text = lead + json.dumps(value, indent=indent) + "\n"
    root = jsontext.parse(text)
    for where in pointers_in(value):
        for place in (where, f"{where}/missing", f"{where}/0", f"{where}/99/x"):
            assert _locate(text, place) == jsontext.position_of(
                text, jsontext.find_node(root, place).key_start
            )


def test_few_and_many_places_are_answered_alike() -> None:
    text = json.dumps({"a": list(range(20)), "b": {"c": None}}, indent=2)
    places = [f"/a/{index}" for index in range(20)] + ["/b/c", ""]
    assert jsonplace.locate_all(text, places) == [_locate(text, where) for where in places]


def test_a_place_is_found_by_its_pointer() -> None:
    text = '{\n  "a~b": [1,\n    {"c/d": 2}]\n}'
    assert _locate(text, "/a~0b/1/c~1d") == (3, 6)
    assert _locate(text, "/a~0b/0") == (2, 11)
    assert _locate(text, "") == (1, 1)


def test_a_missing_place_is_found_at_its_nearest_parent() -> None:
    text = '{\n  "a": {"b": 1}\n}'
    assert _locate(text, "/a/missing/deep") == (2, 3)
    assert _locate(text, "/nothing") == (1, 1)


def test_places_in_a_text_of_brackets_take_little_memory() -> None:
    text = '{"x": [' + "[]," * 100_000 + '[]], "y": 1}'
    tracemalloc.start()
    try:
        assert jsonplace.locate_all(text, ["", "/y", "/x/99999"]) == [
            (1, 1),
            (1, 300013),
            (1, 300005),
        ]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(text)
