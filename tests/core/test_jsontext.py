"""Strict reading of JSON text, the lossless tree, and places in it."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.jsontext import JsonTextError, Node
from tests.support.rows import rows

REFUSED = [
    ("", "json/syntax", 1, 1),
    ("  \n ", "json/syntax", 1, 1),
    ('{"a": 1, "a": 2}', "json/duplicate-key", 1, 10),
    ('{"a": 1, "\\u0061": 2}', "json/duplicate-key", 1, 10),
    ('{"a": NaN}', "json/not-a-number", 1, 7),
    ("[-Infinity]", "json/not-a-number", 1, 2),
    ("[1,]", "json/syntax", 1, 4),
    ('{"a" 1}', "json/syntax", 1, 6),
    ("{'a': 1}", "json/syntax", 1, 2),
    ('{\n  "a": 1', "json/syntax", 2, 9),
    ('{"a": "x\ny"}', "json/syntax", 1, 9),
    ('["\\x"]', "json/syntax", 1, 3),
    ("[1] 2", "json/syntax", 1, 5),
    ("[01]", "json/syntax", 1, 3),
    ("[1.]", "json/syntax", 1, 3),
    ("tru", "json/syntax", 1, 1),
    ('{"a": 1,\n<<<<<<< ours\n"b": 2}', "json/conflict-markers", 2, 1),
    ("[" * 101 + "]" * 101, "json/too-deep", 1, None),
    ("[" * 100_000, "json/too-deep", 1, None),
    ('{"a":' * 100_000, "json/too-deep", 1, None),
]


@rows(("text", "code", "line", "column"), REFUSED)
@rows("read", [jsontext.load, jsontext.parse])
def test_what_is_not_strict_json_is_refused_with_its_place(
    read: Any, text: str, code: str, line: int, column: int | None
) -> None:
    with pytest.raises(JsonTextError) as caught:
        read(text)
    assert (caught.value.code, caught.value.line) == (code, line)
    assert column is None or caught.value.column == column


def test_a_depth_at_the_limit_is_read() -> None:
    text = "[" * 100 + "]" * 100
    assert jsontext.parse(text).source == text
    assert jsontext.load(text) == json.loads(text)


def test_numbers_are_tokens_in_the_tree_and_numbers_when_loaded() -> None:
    text = '{"a": 1.0, "b": 9007199254740993, "c": 1e400, "d": -0}'
    assert jsontext.parse(text).value == {
        "a": b"1.0",
        "b": b"9007199254740993",
        "c": b"1e400",
        "d": b"-0",
    }
    assert jsontext.load(text)["b"] == 9007199254740993


def test_an_integer_of_five_thousand_digits_is_ordinary_input() -> None:
    digits = "7" * 5000
    assert jsontext.parse(f"[{digits}]").value == [digits.encode()]
    assert jsontext.load(f"[{digits}]") == [float("inf")]


def test_a_byte_order_mark_is_kept_and_passed_over() -> None:
    text = jsontext.decode(b"\xef\xbb\xbf[1]")
    assert text[0] == jsontext.BYTE_ORDER_MARK
    assert jsontext.load(text) == [1]
    assert jsonwrite.rewrite(jsontext.parse(text), [b"1", b"2"])[0] == jsontext.BYTE_ORDER_MARK


@pytest.mark.parametrize("data", [b'{"a": "\xff"}', "[1]".encode("utf-16"), b'\xc3("'])
def test_bytes_that_are_not_utf8_are_refused(data: bytes) -> None:
    with pytest.raises(JsonTextError) as caught:
        jsontext.decode(data)
    assert caught.value.code == "json/not-utf8"


def test_a_file_beyond_the_limit_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(JsonTextError) as caught:
        jsontext.decode(b" " * (jsontext.MAX_BYTES + 1))
    assert caught.value.code == "json/too-large"


def _every_node(node: Node) -> list[Node]:
    children = list(node.members.values()) if isinstance(node.members, dict) else node.members or []
    return [node, *(found for child in children for found in _every_node(child))]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(value=json_values, indent=layouts, ascii_only=st.booleans())
def test_every_node_of_a_tree_is_its_source(value: Any, indent: Any, ascii_only: bool) -> None:
    text = (
        json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        .encode("utf-8", "surrogatepass")
        .decode("utf-8", "replace")
    )
    for node in _every_node(jsontext.parse(text)):
        assert json.loads(node.source, parse_int=str.encode, parse_float=str.encode) == node.value


@given(value=json_values, indent=layouts)
def test_rewriting_a_document_to_its_own_value_changes_no_byte(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    root = jsontext.parse(text)
    assert jsonwrite.rewrite(root, root.value) == text


@given(before=json_values, after=json_values, indent=layouts)
def test_a_rewritten_document_holds_the_new_value(before: Any, after: Any, indent: Any) -> None:
    text = jsonwrite.rewrite(
        jsontext.parse(json.dumps(before, indent=indent)), jsontext.to_tokens(after)
    )
    assert json.loads(text) == after


@given(value=json_values)
def test_fresh_text_holds_the_value(value: Any) -> None:
    assert json.loads(jsonwrite.render(value)) == value


@given(text=st.text(alphabet='{}[]",:0123456789.eE+-\\ntrufalsN \n', max_size=40))
def test_the_strict_reader_agrees_with_json_on_what_is_json(text: str) -> None:
    def no_constant(token: str) -> None:
        raise ValueError(token)

    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("twins")
        return dict(pairs)

    try:
        expected = json.loads(text, parse_constant=no_constant, object_pairs_hook=no_twins)
    except ValueError:
        with pytest.raises(JsonTextError):
            jsontext.load(text)
    else:
        assert jsontext.load(text) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_refused_when_written(value: float) -> None:
    with pytest.raises(ValueError, match="not a JSON number"):
        jsontext.to_tokens([value])


def test_depth_is_counted_whatever_is_nested() -> None:
    limit = jsontext.MAX_DEPTH
    shapes = [("[", "]"), ('{"a":', "}"), ('[{"a": ', "}]"), ('{"a": [', "]}")]
    for opening, closing in shapes:
        levels = limit // (opening.count("[") + opening.count("{"))
        deepest = opening * levels + "0" + closing * levels
        assert jsontext.load(deepest) == jsontext.load(f"\n {deepest} \n")
        for text in (f"[{deepest}]", f'{{"a":{deepest}}}', f" [{deepest}]", f'["[", {deepest}]'):
            with pytest.raises(jsontext.JsonTextError) as caught:
                jsontext.load(text)
            assert caught.value.code == "json/too-deep"


def test_many_containers_are_not_deep() -> None:
    text = "[" + ", ".join(['{"a": [[]]}'] * 500) + "]"
    assert jsontext.load(text) == [{"a": [[]]}] * 500


def test_an_interpreter_without_the_c_scanner_reads_the_same() -> None:
    program = """import sys; sys.modules["_json"] = None
from checkpoint_git.core import jsontext
print(jsontext.load("[1, 2.5]"), jsontext.parse('{"a": [1.0]}').value)"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[1, 2.5] {'a': [b'1.0']}\n"
