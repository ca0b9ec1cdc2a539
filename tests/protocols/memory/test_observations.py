from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.memory.observations import group, join_files, parse, write, write_all


@given(st.text())
def test_what_is_written_is_read_back(value: str) -> None:
    assert parse(write("next_action", value)).value == value.strip()


@given(st.text())
def test_any_text_is_an_observation(text: str) -> None:
    found = parse(text)
    assert found.text == text
    assert found.key == "" or text.startswith(f"{found.key}:")


def test_addresses_and_sentences_are_no_fields() -> None:
    assert [parse(text).key for text in ("http://x", "a note: b", "plain", ":x", "9a:b")] == [""] * 5


def test_values_are_grouped_in_their_order_and_only_once() -> None:
    assert group(["a:1", "b:2", "a: 1", "a:3"]) == {"a": ["1", "3"], "b": ["2"]}


def test_known_fields_come_first() -> None:
    assert write_all({"zebra": "z", "phase": "p", "initiative": "i"}) == ["initiative:i", "phase:p", "zebra:z"]


def test_a_comma_in_a_path_is_no_separator() -> None:
    assert join_files(["a,b", "c%d", "e"]) == "a%2Cb,c%25d,e"
