"""JSON Lines: merged like the list of their records, written with a line for each, untouched lines
to the byte.
"""

import json
from random import Random
from typing import Any

import pytest

from checkpoint_git.core.jsonlines import parse_lines
from checkpoint_git.core.jsontext import JsonTextError, parse
from checkpoint_git.merge.conflicts import decide_all, list_conflicts
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.lines import are_lines
from tests.support.rows import rows

A, B, C, D = '{"id": 1, "x": 1.0}', '{ "id":2,"x":"\\u00e9" }', '{"id": 3}', '{"id": 4, "x": [1,2]}'


def lines(*records: str, end: str = "\n") -> bytes:
    return "".join(record + end for record in records).encode()


def merge(base: bytes, ours: bytes, theirs: bytes, path: str = "") -> str:
    """The text of a merge, which is the same with its sides swapped."""
    merged = merge_file(base, ours, theirs, path=path)
    assert not merged.conflicts
    assert merge_file(base, theirs, ours, path=path).text == merged.text
    return merged.text


@rows(
    ("versions", "expected"),
    [
        ([lines(A, B), b"", lines(A)], True),
        ([lines(A, B), lines(C), b"\n"], True),
        ([lines(A), lines(B), b""], False),  # documents
        ([lines(A, B), b"text\n", b""], False),
        ([lines(A, B), b"\xff\n", b""], False),
    ],
)
def test_versions_are_lines_if_one_is_no_document_and_each_begins_with_a_record(
    versions: list[bytes], expected: bool
) -> None:
    assert are_lines(versions) == expected


def test_records_merge_by_their_key_and_untouched_lines_keep_their_bytes() -> None:
    edited = A.replace("1.0", "2.0")
    both = merge(lines(A, B, C), lines(edited, B, C), lines(A, B, D))
    assert both.encode() == lines(edited, B, D)


def test_members_of_one_record_merge_on_its_line() -> None:
    ours, theirs = A.replace("1.0", '{"deep": []}'), A.replace("}", ', "y": {}}')
    both = merge(lines(A, B), lines(ours, B), lines(theirs, B))
    assert both.encode() == lines('{"id": 1, "x": {"deep": []}, "y": {}}', B)


@rows("end", ["\n", "\r\n", "\n\n", " \n"])
def test_line_ends_and_empty_lines_stay(end: str) -> None:
    edited = A.replace("1.0", "2.0")
    base, ours, theirs = (
        lines(A, B, C, end=end),
        lines(edited, B, C, end=end),
        lines(A, B, D, end=end),
    )
    merged = merge_file(base, ours, theirs).text
    assert merged.split(end)[:2] == [edited, B]
    assert parse_lines(merged).value == parse_lines(lines(edited, B, D).decode()).value
    assert ("\r" in merged) == ("\r" in end)


@rows("side", [0, 1])
def test_a_final_newline_that_one_side_changed_is_kept(side: int) -> None:
    base, other = lines(A, B), lines(A, B, C)
    bare = lines(A.replace("1.0", "2"), B)[:-1]
    ours, theirs = (bare, other) if side else (other, bare)
    assert merge(base, ours, theirs).encode() == lines(A.replace("1.0", "2"), B, C)[:-1]


def test_without_a_key_appended_records_of_both_sides_are_kept_as_runs() -> None:
    log, mine, yours = '{"at": 1}', ['{"at": 2}', '{"at": 2}'], ['{"at": 3}']
    both = merge(lines(log, log), lines(log, log, *mine), lines(log, log, *yours))
    assert both.encode() == lines(log, log, *mine, *yours)


def test_a_conflict_is_about_the_line_alone_and_either_side_is_json_lines() -> None:
    ours, theirs = A.replace("1.0", "2"), A.replace("1.0", "3")
    merged = merge_file(lines(B, A, C), lines(B, ours, C), lines(B, theirs, C))
    assert [conflict.where for conflict in list_conflicts(merged)] == ["/1/x"]
    marked = merged.text.splitlines()
    assert (marked[0], marked[-1]) == (B, C)
    assert marked[1:-1] == [
        "<<<<<<< ours: /1/x",
        ours,
        "||||||| base: /1/x",
        A,
        "=======",
        theirs,
        ">>>>>>> theirs: /1/x",
    ]
    assert decide_all(merged, 0).data == lines(B, ours, C)


def test_a_file_of_one_record_is_json_lines_by_its_name_alone() -> None:
    assert json.loads(merge(b"", b'{"a": 1}\n', b'{"b": 2}\n', "x.json")) == {"a": 1, "b": 2}
    assert merge(b"", b'{"a": 1}\n', b'{"b": 2}\n', "x.jsonl") == '{"a": 1}\n{"b": 2}\n'
    assert merge(b"", b'{"a": 1}\n', b'{"b": 2}\n', "x.ndjson") == '{"a": 1}\n{"b": 2}\n'


def test_a_document_under_the_name_of_json_lines_merges_as_a_document() -> None:
    assert json.loads(
        merge(b'{\n"a": 1\n}', b'{\n"a": 2\n}', b'{\n"a": 1, "b": 1\n}', "x.jsonl")
    ) == {"a": 2, "b": 1}


def test_an_emptied_file_and_an_empty_base_have_no_records() -> None:
    assert merge(lines(A, B), b"", lines(A, B)) == ""
    assert merge(b"", lines(A, B), lines(C, D)) in (
        lines(A, B, C, D).decode(),
        lines(C, D, A, B).decode(),
    )


@rows("broken, message, line", [
    (b"{\n", "the file ends inside an object: it was cut off", 2),
    (b"12\n", "a line of JSON Lines is an object or a list", 2),
    (b'{"a": 1, "a": 2}\n', "the key 'a' appears twice in one object", 2),
    (b"// no\n", "expected a value, found '// no'", 2),
    (b'\xef\xbb\xbf{"a": 1}\n', "a byte order mark is only allowed at the start of the file", 2),
    (b"<<<<<<< x\n", "the file has conflict markers: a merge was not finished here", 2),
    (b"[" * 101 + b"]" * 101, "nested more than 100 levels deep", 2),
])  # fmt: skip
def test_a_line_that_is_not_a_record_is_named(broken: bytes, message: str, line: int) -> None:
    with pytest.raises(JsonTextError) as caught:
        merge_file(lines(A, B), lines(A, B, C), lines(A) + broken)
    assert (caught.value.message, caught.value.line, caught.value.version) == (
        message,
        line,
        "theirs",
    )


@rows("text", [b"1\n2\n", b"hello\nworld\n", b'{"a": 1,\n"b": 2\n', b'"a"\n"b"\n'])
def test_other_lines_are_not_taken_for_json_lines(text: bytes) -> None:
    with pytest.raises(JsonTextError) as caught:
        merge_file(text, text, text + b"3\n")
    assert "JSON Lines" not in caught.value.message


def test_a_merge_of_merge_bases_has_no_markers() -> None:
    ours, theirs = A.replace("1.0", "2"), A.replace("1.0", "3")
    assert merge_file(lines(A, B), lines(ours, B), lines(theirs, B), inner=True).data == lines(A, B)


def make_record(random: Random, identity: int | None) -> dict[str, Any]:
    values: list[Any] = [1, 2, "x", [1, 2], {"p": 1}, {}, []]
    record: dict[str, Any] = {} if identity is None else {"id": identity}
    return record | {name: random.choice(values) for name in "abc" if random.random() < 0.6}


def edit(random: Random, records: list[Any], is_keyed: bool) -> list[Any]:
    edited = json.loads(json.dumps(records))
    for _ in range(random.randint(0, 3)):
        act = random.random()
        if act < 0.4 or not edited:
            place = random.choice([len(edited), random.randint(0, len(edited))])
            edited.insert(place, make_record(random, random.randint(10, 15) if is_keyed else None))
        elif act < 0.7:
            random.choice(edited)[random.choice("abc")] = random.choice(
                [1, 3, "z", {"p": 2}, {"p": 1, "q": 1}, [3]]
            )
        else:
            record = edited.pop(random.randrange(len(edited)))
            if act > 0.85:
                edited.insert(random.randint(0, len(edited)), record)
    return list(edited)


def test_they_merge_as_the_list_of_their_records_does() -> None:
    seen = set()
    for seed in range(300):
        random = Random(seed)  # noqa: S311 (the same histories in every run)
        is_keyed = random.random() < 0.6
        base = [
            make_record(random, number if is_keyed else None)
            for number in range(random.randint(0, 6))
        ]
        versions = [base, edit(random, base, is_keyed), edit(random, base, is_keyed)]
        texts = [lines(*map(json.dumps, version)) for version in versions]
        merged = merge_file(texts[0], texts[1], texts[2], path="x.jsonl")
        whole = [json.dumps(version).encode() for version in versions]
        expected = merge_file(whole[0], whole[1], whole[2])
        assert find_places(merged) == find_places(expected), seed
        for side in (0, 2):
            text = decide_all(merged, side).text
            assert parse_lines(text).value == parse(decide_all(expected, side).text).value, seed
            assert "\n\n" not in text, seed
        swapped = merge_file(texts[0], texts[2], texts[1], path="x.jsonl")
        assert merged.conflicts or swapped.text == merged.text, seed
        seen.add(bool(merged.conflicts))
    assert seen == {True, False}


def find_places(merged: Merged) -> list[str]:
    return [conflict.where for conflict in list_conflicts(merged)]


def test_two_documents_are_not_blended_into_lines_where_the_base_is_blank() -> None:
    with pytest.raises(JsonTextError):
        merge_file(b" \n", b'{"a": 1}\n', b'{"b": 2}\n')
