"""YAML of strangers: what is refused, what is bounded, what stays text."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.yamltext import MAX_BYTES, YamlTextError, decode, load, locate_all
from tests.support.repos import GitRepo
from tests.support.rows import rows

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)

REFUSED = {
    "an-anchor": ("a: &x 1\n", "yaml/alias"),
    "an-alias-bomb": (LAUGHS, "yaml/alias"),
    "an-object": ("a: !!python/object/apply:os.system ['true']\n", "yaml/tag"),
    "a-harmless-tag": ("a: !!str 1\n", "yaml/tag"),
    "a-local-tag": ("a: !x 1\n", "yaml/tag"),
    "a-tagged-list": ("a: !!set {x}\n", "yaml/tag"),
    "a-key-twice": ("a: 1\nb: 2\na: 3\n", "yaml/duplicate-key"),
    "a-key-twice-in-flow": ("{a: 1, 'a': 2}\n", "yaml/duplicate-key"),
    "two-documents": ("a: 1\n---\nb: 2\n", "yaml/several-documents"),
    "a-merge-key": ("<<: {a: 1}\n", "yaml/key"),
    "a-number-as-key": ("1: a\n", "yaml/key"),
    "a-list-as-key": ("? [a]\n: b\n", "yaml/key"),
    "nothing": ("# a comment\n", "yaml/syntax"),
    "a-tab": ("a:\n\tb: 1\n", "yaml/syntax"),
    "a-long-number": ("a: 1" + "0" * 5000 + "\n", "yaml/syntax"),
    "a-long-base-60": ("a: 1" + ":1" * 100_000 + "\n", "yaml/syntax"),
    "conflict-markers": (
        "<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n",
        "yaml/conflict-markers",
    ),
    "many-brackets": ("[" * 200_000, "yaml/too-deep"),
    "many-dashes": ("- " * 200_000, "yaml/too-deep"),
    "many-braces": ("{a: " * 100_000, "yaml/too-deep"),
}


@rows(("text", "code"), REFUSED.values())
def test_what_is_dangerous_or_unclear_is_refused(text: str, code: str) -> None:
    with pytest.raises(YamlTextError) as caught:
        load(text)
    assert caught.value.code == code
    assert caught.value.message


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"a: \xff\n", "yaml/not-utf8"),
        (b"a: \0\n", "yaml/syntax"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa: b\n", "yaml/syntax"),
        (b"a" * (MAX_BYTES + 1), "yaml/too-large"),
    ],
)
def test_bytes_that_are_no_bounded_text_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(YamlTextError) as caught:
        decode(data)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text", ["2026-03-02", "2026-03-02T09:30:00Z", "2026-03-02 09:30:00.5 +01:00"]
)
def test_instants_stay_texts(text: str) -> None:
    assert load(f"a: {text}\n") == {"a": text}


def test_plain_words_and_numbers_are_what_yaml_1_1_takes_them_for() -> None:
    assert load("{a: yes, b: 0x1F, c: ~, d: 1.5, e: 1:20, f: 010, g: 'no', h: 1_0}\n") == {
        "a": True,
        "b": 31,
        "c": None,
        "d": 1.5,
        "e": 80,
        "f": 8,
        "g": "no",
        "h": 10,
    }


def test_an_equals_sign_alone_is_a_text() -> None:
    assert load("- {b: =}\n- =\n") == [{"b": "="}, "="]


def test_line_ends_and_a_byte_order_mark_make_no_difference() -> None:
    assert load(decode("\ufeffa: 1\r\nb:\r\n- x\r\n".encode())) == {"a": 1, "b": ["x"]}


def test_a_byte_order_mark_within_is_told_with_its_line() -> None:
    with pytest.raises(YamlTextError) as caught:
        decode(b"a: 1\nb:\n\xef\xbb\xbf  c: 2\n")
    assert (caught.value.line, caught.value.column) == (3, 1)
    assert load(decode("a: \ufeffb\n".encode())) == {"a": "\ufeffb"}


def test_a_mistake_is_told_with_its_line_and_column() -> None:
    with pytest.raises(YamlTextError) as caught:
        load("a: 1\nb: c: d\n")
    assert (caught.value.line, caught.value.column) == (2, 5)


def test_values_are_found_in_the_text() -> None:
    text = "a: 1\nb:\n  c:\n  - x\n  - y\n"
    assert locate_all(text, ["/a", "/b/c", "/b/c/1", "/b/d", ""]) == [
        (1, 1),
        (3, 3),
        (5, 5),
        (2, 1),
        (1, 1),
    ]


@given(st.text(max_size=60))
def test_any_text_gives_a_value_or_the_one_error(text: str) -> None:
    with suppress(YamlTextError):
        load(text)


def test_without_the_library_s_c_part_the_answers_are_the_same(
    repo: GitRepo, tmp_path: Path
) -> None:
    program = (
        "import yaml, sys; vars(yaml).pop('CSafeLoader', None)\n"
        "from checkpoint_git.core.yamltext import *\n"
        "print(load('{a: [1, yes], b: {c: 2026-01-01}}'))\n"
        "for text in ('a: &x 1', 'a: !x 1', 'a: 1\\na: 2', '['*500, 'a: b: c'):\n"
        "    try: load(text)\n"
        "    except YamlTextError as error: print(error.code)\n"
    )
    done = repo.run(sys.executable, "-c", program)
    assert done.stdout.decode().splitlines() == [
        "{'a': [1, True], 'b': {'c': '2026-01-01'}}",
        "yaml/alias",
        "yaml/tag",
        "yaml/duplicate-key",
        "yaml/too-deep",
        "yaml/syntax",
    ]


def nested(depth: int, innermost: str) -> str:
    """Block mappings in one another as we write them, the innermost at a depth."""
    return "".join(f"{'  ' * at}a:\n" for at in range(depth)) + innermost.replace("@", "  " * depth)


@rows("innermost", ["@a: 1\n", "@a:\n@- b\n", "@a: []\n", "@a:\n@  b: 1\n"])
@rows("depth", [1, 16, 17, 18, 19, 20, 21, 22, 500, 5000])
def test_what_is_nested_deeper_than_the_limit_is_refused(depth: int, innermost: str) -> None:
    try:
        answer = repr(load(nested(depth, innermost)))
    except YamlTextError as error:
        answer = error.code
    assert (answer == "yaml/too-deep") or depth < 21
    assert answer != "yaml/too-deep" or depth > 17
