"""Changed documents keep the bytes of what did not change and take the style around it for what
did.
"""

import copy
from typing import Any

from checkpoint_git.core import jsontext, jsonwrite
from tests.support.rows import rows


def change(text: str, edit: Any) -> str:
    root = jsontext.parse(text)
    value = copy.deepcopy(root.value)
    edit(value)
    return jsonwrite.rewrite(root, value)


def add_item(value: Any) -> None:
    value["list"].append(b"3")


def add_key(value: Any) -> None:
    value["new"] = {"a": [b"1"]}


def drop_key(value: Any) -> None:
    del value["first"]


CASES = [
    ('{"list": [1, 2]}', add_item, '{"list": [1, 2, 3]}'),
    ('{"list":[1,2]}', add_item, '{"list":[1,2,3]}'),
    ('{ "list" : [ 1 , 2 ] }', add_item, '{ "list" : [ 1 , 2 , 3 ] }'),
    ('{"list": []}', add_item, '{"list": [3]}'),
    ('{\n    "list": []\n}\n', add_item, '{\n    "list": [\n        3\n    ]\n}\n'),
    ('{\n\t"list": [\n\t\t1.0\n\t]\n}', add_item, '{\n\t"list": [\n\t\t1.0,\n\t\t3\n\t]\n}'),
    (
        '{\r\n  "list": [\r\n    1\r\n  ]\r\n}\r\n',
        add_item,
        '{\r\n  "list": [\r\n    1,\r\n    3\r\n  ]\r\n}\r\n',
    ),
    ('{\n  "x": 1\n}', add_key, '{\n  "x": 1,\n  "new": {\n    "a": [\n      1\n    ]\n  }\n}'),
    ('{"x": 1}', add_key, '{"x": 1, "new": {"a": [1]}}'),
    ('{\n  "first": 1,\n  "x": 9007199254740993\n}', drop_key, '{\n  "x": 9007199254740993\n}'),
    ('{"first": 1}', drop_key, "{}"),
    ("{}", add_key, '{\n  "new": {\n    "a": [\n      1\n    ]\n  }\n}'),
]


@rows(("before", "edit", "after"), CASES)
def test_a_change_takes_the_style_around_it(before: str, edit: Any, after: str) -> None:
    assert change(before, edit) == after


def test_an_edited_row_leaves_the_other_lines_alone() -> None:
    before = (
        '{\n  "rows": [\n    { "id": "a", "n": 1e3 },\n    { "id": "b", "n": "\\u00e9" }\n  ]\n}\n'
    )

    def edit(value: Any) -> None:
        value["rows"][0]["n"] = b"2"

    assert change(before, edit) == before.replace("1e3", "2")


def test_an_item_taken_from_the_front_leaves_the_rest_as_it_was() -> None:
    before = '{"next": [\n  "one",\n  {"text": "two", "done_when": "x"},\n  "three"\n]}'

    def edit(value: Any) -> None:
        value["next"].pop(0)

    assert change(before, edit) == '{"next": [\n  {"text": "two", "done_when": "x"},\n  "three"\n]}'


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert jsonwrite.render(["\ud800"]) == '[\n  "\\ud800"\n]\n'
