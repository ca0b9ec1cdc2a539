"""Our own form of YAML: what is written is what every reader reads, and what we read fast the library reads alike."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_git.core.yamlblock import MAX_KEY, key_text, read_block, write_block
from checkpoint_git.core.yamltext import YamlTextError, load_by_library

NASTY = [
    *(
        "",
        " ",
        "a ",
        " a",
        "-",
        "- a",
        "a:",
        "a: b",
        "a #b",
        "#a",
        "a#b",
        "'",
        '"',
        "''",
        "it's",
        "!x",
        "&x",
        "*x",
        "%x",
    ),
    *(
        "@x",
        "`x",
        "|",
        ">",
        "?",
        "? x",
        "[a]",
        "{a}",
        ",",
        "~",
        "null",
        "Null",
        "true",
        "YES",
        "off",
        "n",
        "Y",
        "=",
        "<<",
    ),
    *("1", "-1", "1.5", "1e3", "0x1f", "0o7", "010", "1_000", "1:20", ".inf", ".nan", "0b11", "12e4567", "0b1a", "---"),
    *(
        "...",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "1.0.0",
        "a\nb",
        "a\tb",
        "\x07",
        "\x7f",
        "\x85",
        "\u2028",
        "ä",
        "😀",
    ),
    *("https://example.org/a/b?c=d#e", "C:\\x", "a\\nb", "x" * 2000, "/", "a/b", "_", "a'b\"c", "\ufeff", "yes/no"),
]
LETTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.sampled_from(NASTY), st.text(LETTERS, max_size=12), st.from_regex(r"[a-z0-9_./:-]{1,12}", fullmatch=True)
)
KEYS = TEXTS.filter(lambda text: len(key_text(text)) <= MAX_KEY)
SCALARS = st.one_of(TEXTS, st.integers(0, 10**17))
VALUES = st.recursive(
    st.one_of(SCALARS, st.lists(SCALARS, max_size=4)),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)


@given(MAPPINGS)
def test_what_is_written_is_read_again_by_the_library(value: dict[str, Any]) -> None:
    text = write_block(value)
    assert load_by_library(text) == value
    assert yaml.safe_load(text) == value
    assert text.isascii()


@given(MAPPINGS)
def test_the_fast_reader_reads_what_is_written_or_leaves_it_to_the_library(value: dict[str, Any]) -> None:
    assert read_block(write_block(value)) in (value, None)


@pytest.mark.parametrize("text", [text for text in NASTY if text.isascii() and text.isprintable()])
def test_the_fast_reader_knows_every_printable_text_that_is_written(text: str) -> None:
    assert read_block(write_block({"a": text, "b": [text]})) == {"a": text, "b": [text]}


@given(MAPPINGS, st.data())
@settings(max_examples=300)
def test_whatever_the_fast_reader_reads_the_library_reads_alike(value: dict[str, Any], data: st.DataObject) -> None:
    text = write_block(value)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 3))
    changed = (
        text[:at] + data.draw(st.sampled_from([*NASTY, "\n", "\n  ", ": ", "- ", "  ", "\n- "])) + text[at + cut :]
    )
    fast = read_block(changed)
    if fast is not None:
        assert load_by_library(changed) == fast


SHORT = st.text(st.sampled_from("ab01:-.'\" #[]{}yn~e_x/@=<&*!|>%,?f9"), max_size=5)
LINES = st.builds("{}{}\n".format, st.sampled_from(["a: ", "b: ", "c:", "- ", "  - ", "  d: ", "", "'e': "]), SHORT)


@given(st.lists(LINES, max_size=4).map("".join))
@settings(max_examples=500)
def test_short_texts_are_never_read_otherwise_than_by_the_library(text: str) -> None:
    fast = read_block(text)
    if fast is not None:
        assert load_by_library(text) == fast


@given(MAPPINGS)
def test_the_library_s_own_writing_is_read_alike(value: dict[str, Any]) -> None:
    text = yaml.safe_dump(value, sort_keys=False)
    fast = read_block(text)
    assert fast is None or fast == value


def test_the_library_s_writing_of_a_record_needs_no_library_to_be_read() -> None:
    value = {
        "schema_version": "1.0.0",
        "run_id": "4fa2159f-9c61-5f8b-9ae5-28692b46cbd7",
        "timestamp_utc": "2026-03-02T09:30:00Z",
        "repo_commit_map": {"web": "0a1b2c3"},
        "artifact_paths": ["src/foo.py"],
        "attempt_number": 1,
        "empty": [],
    }
    assert read_block(yaml.safe_dump(value, sort_keys=False)) == value


def test_the_same_value_gives_the_same_text_whoever_writes_it() -> None:
    assert write_block({"b": 1, "a": {"c": ["x"]}}) == "b: 1\na:\n  c:\n  - x\n"


@pytest.mark.parametrize(
    "text", ["a: 1", "a: yes\n", "yes: 1\n", "a:\n", "a: 1\na: 2\n", "a: 1\n b: 2\n", "a:\n   b: 1\n", ""]
)
def test_what_is_not_surely_our_form_is_left_to_the_library(text: str) -> None:
    assert read_block(text) is None


def test_no_text_that_the_library_refuses_is_read_fast() -> None:
    for text in ("a: b: c\n", "a: 'x\n", "a: 1\n- b\n", "a: [\n", "a: x #\n  y: z\n"):
        try:
            load_by_library(text)
        except YamlTextError:
            assert read_block(text) is None
