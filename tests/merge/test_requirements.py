"""A merge never breaks what a schema requires of a document as a whole: a list that must not become
empty.
"""

import json
from typing import Any

from tests.support.merging import merge_texts
from tests.support.rows import rows

SCHEMA: dict[str, Any] = {
    "properties": {"todo": {"x-merge": {"strategy": "set"}}},
    "x-merge-require": [{"where": "/todo", "non_empty_when": {"/status": "open"}}],
}


def document(status: str | None, todo: str | None, **members: Any) -> str:
    """A document with a status and a list of letters; None leaves them out."""
    value = {"status": status, "todo": None if todo is None else list(todo), **members}
    return json.dumps({key: member for key, member in value.items() if member is not None})


def merge(base: tuple[Any, Any], ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> Any:
    """What the versions become: (status, list), or the places that conflict together."""
    texts = [document(*version) for version in (base, ours, theirs)]
    merged = merge_texts(texts[0], texts[1], texts[2], SCHEMA)
    if merged.conflicts:
        return [choice.where for choice in merged.conflicts]
    value = json.loads(merged.text)
    return value.get("status"), "".join(value.get("todo", []))


@rows(
    ("base", "ours", "theirs", "result"),
    [
        # each side removed the half that the other one kept
        (("open", "ab"), ("open", "a"), ("open", "b"), ["/todo"]),
        # something is left
        (("open", "abc"), ("open", "ab"), ("open", "bc"), ("open", "b")),
        # one side is done: it asks for nothing
        (("open", "ab"), ("done", "a"), ("done", "b"), ("done", "")),
        (("shut", "ab"), ("shut", "a"), ("shut", "b"), ("shut", "")),
        # what is next is asked, and the status is merged
        (("shut", "a"), ("open", "a"), ("shut", ""), ["/todo"]),
        (("shut", "a"), ("shut", ""), ("open", "a"), ["/todo"]),
        (("shut", "a"), ("shut", None), ("open", "a"), ["/todo"]),
        # the status is a conflict already: the list is decided with it
        (("shut", "ab"), ("open", "a"), ("gone", "b"), ["/status"]),
        # a side that broke it before is to blame, not the merge
        (("open", "a"), ("open", ""), ("open", "a"), ("open", "")),
        (("open", "ab"), ("open", ""), ("open", "b"), ("open", "")),
        # no version has anything to fill it with
        (("shut", None), ("open", None), ("shut", ""), ("open", "")),
    ],
)
def test_a_list_that_must_not_be_empty_conflicts_where_a_merge_would_empty_it(
    base: tuple[Any, Any], ours: tuple[Any, Any], theirs: tuple[Any, Any], result: Any
) -> None:
    assert merge(base, ours, theirs) == result


def test_a_conflict_about_a_list_that_the_merge_left_out_is_where_it_was() -> None:
    texts = [
        json.dumps({"a": 1, "todo": ["x"], "status": "shut", "b": 1}, indent=2),
        json.dumps({"a": 1, "status": "shut", "b": 1}, indent=2),
        json.dumps({"a": 1, "todo": ["x"], "status": "open", "b": 1}, indent=2),
    ]
    merged = merge_texts(texts[0], texts[1], texts[2], SCHEMA)
    assert [choice.where for choice in merged.conflicts] == ["/todo"]
    assert merged.text.index('"a"') < merged.text.index('"todo"') < merged.text.index('"b"')
    # it is merged, and only the list is asked for
    assert merged.text.count('"status": "open"') == 1
    assert '"x"' not in merged.text  # what one side finished is not offered


def test_a_side_that_is_only_laid_out_anew_is_no_record_of_another_thing() -> None:
    schema = {"x-merge-require": [{"same": "/skill"}]}
    base, renamed = '{"skill": 1, "a": 1}', '{"skill": 2, "a": 1}'
    laid_out = '{\n  "skill": 1,\n  "a": 1\n}\n'
    for ours, theirs in ((laid_out, renamed), (renamed, laid_out)):
        merged = merge_texts(base, ours, theirs, schema)
        assert merged.conflicts == []
        assert json.loads(merged.text) == {"skill": 2, "a": 1}
    assert merge_texts(base, '{"skill": 3, "a": 1}', renamed, schema).conflicts[0].where == ""
