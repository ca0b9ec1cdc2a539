"""Our own form of YAML: what is written is what every reader reads."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.yamlblock import MAX_KEY, key_text, write_block
from checkpoint_git.core.yamltext import load

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
    *(
        "1",
        "-1",
        "1.5",
        "1e3",
        "0x1f",
        "0o7",
        "010",
        "1_000",
        "1:20",
        ".inf",
        ".nan",
        "0b11",
        "12e4567",
        "0b1a",
        "---",
    ),
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
    *(
        "https://example.org/a/b?c=d#e",
        "C:\\x",
        "a\\nb",
        "x" * 2000,
        "/",
        "a/b",
        "_",
        "a'b\"c",
        "\ufeff",
        "yes/no",
    ),
]
LETTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.text(LETTERS, max_size=12),
    st.from_regex(r"[a-z0-9_./:-]{1,12}", fullmatch=True),
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
    assert load(text) == value
    assert yaml.safe_load(text) == value
    assert text.isascii()


def test_the_same_value_gives_the_same_text_whoever_writes_it() -> None:
    assert write_block({"b": 1, "a": {"c": ["x"]}}) == "b: 1\na:\n  c:\n  - x\n"
