"""How a result is written: which side's layout stays, what stands between members, what comes over
from a side that is written in another way.
"""

import itertools
import json
from collections.abc import Iterator

from conformance.building import Value, Vector, place
from conformance.make_layout import WRITERS, edited, of_texts

MANY_LINES = ("two", "four", "tab", "crlf", "spaced")


def make_writing() -> Iterator[Vector]:
    yield from make_kept_layouts()
    yield from make_ends()
    yield from make_brought()
    yield from make_gaps()
    yield from make_filled()
    yield from make_spelled()


def with_schema(made: Vector, schema: Value) -> Vector:
    return {**made, "schema": schema}


def make_kept_layouts() -> Iterator[Vector]:
    """One side writes a container in another way, the other edits it: both happen, unless it is one
    value.
    """
    old = '{\n  "k": %s,\n  "z": 0\n}\n'
    layouts = {
        "object": (
            '{"x": 1, "y": 2}',
            '{ "x":1,\n    "y" :2 }',
            '{"x": 9, "y": 2}',
            '{ "x":9,\n    "y" :2 }',
        ),
        "list": ("[1, 2]", "[ 1 ,2 ]", "[1, 9]", "[ 1 ,9 ]"),
        "deep": (
            '{"x": {"y": [1]}}',
            '{ "x":{ "y" :[ 1 ] } }',
            '{"x": {"y": [7]}}',
            '{ "x":{ "y" :[ 7 ] } }',
        ),
        "taken": ('[{"x": [1]}]', '[ { "x" : [ 1 ] } ]', '[{"x": [7]}]', '[ {"x": [7]} ]'),
        "item": ("[1, 2]", "[ 1,2 ]", "[1, 2, 3]", "[ 1,2,3 ]"),
        "longer": ("[1, 2]", "[ 1 ,2 ]", "[1, 2, 3]", "[ 1 ,2 ,3 ]"),
    }
    for name, texts in layouts.items():
        about = f"{name}: written in another way here, edited there"
        yield of_texts(f"kept-{name}", about, [old % text for text in texts])
    for name in ("object", "list"):
        texts = layouts[name]
        about = f"{name}, one value: written in another way here, another value there"
        made = of_texts(
            f"kept-atomic-{name}", about, [old % text for text in (*texts[:3], texts[2])]
        )
        yield with_schema(made, place({"strategy": "atomic"}, "k"))


def make_ends() -> Iterator[Vector]:
    """What is behind the value, where one side has other line ends."""
    texts = ['{\n  "a": 1,\n  "b": 1\n}', '{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 3,\n  "b": 1\n}']
    base, ours, theirs = texts
    both = '{\n  "a": 3,\n  "b": 2\n}'
    for number, (end, other) in enumerate(itertools.permutations(("", "\n", "\n\n"), 2)):
        about = "other line ends here, another end of the file there"
        result = (both + other).replace("\n", "\r\n")
        versions = [base + end, (ours + end).replace("\n", "\r\n"), theirs + other, result]
        yield of_texts(f"ends-{number}", about, versions)
    one_line = [
        '{"a": 1, "b": 1}\n',
        '{"a": 1, "b": 2}\n',
        '{"a": 3, "b": 1}\r\n',
        '{"a": 3, "b": 2}\r\n',
    ]
    yield of_texts("ends-line", "on one line a line end is kept as it is", one_line)


def make_brought() -> Iterator[Vector]:
    """One side writes the document anew, the other adds to it in the old way: what comes over is
    written in the new.
    """
    for (old, new), edit in itertools.product(
        itertools.permutations(MANY_LINES, 2), ("member", "nested", "item")
    ):
        if {old, new} == {"two", "spaced"}:
            continue  # one indentation in both: what comes over is copied, colons and all
        before, after = WRITERS[old], WRITERS[new]
        texts = [
            before(edited()),
            after(edited("removed")),
            before(edited(edit)),
            after(edited("removed", edit)),
        ]
        about = f"written anew here ({old}, then {new}), {edit} there"
        yield of_texts(f"brought-{old}-{new}-{edit}", about, texts)
    for old in ("two", "four", "tab", "crlf"):
        before, after = WRITERS[old], WRITERS["line"]
        texts = [
            before(edited()),
            after(edited("removed")),
            before(edited("member")),
            after(edited("removed", "member")),
        ]
        about = f"written on one line here ({old} before), a member added there"
        yield of_texts(f"brought-{old}-line", about, texts)
    for new in MANY_LINES:
        before, after = WRITERS["line"], WRITERS[new]
        value = edited("member")["new"]
        written = after({**edited("removed"), "new": "HERE"}).replace('"HERE"', json.dumps(value))
        texts = [before(edited()), after(edited("removed")), before(edited("member")), written]
        about = f"written in lines here ({new}), a member added on one line there: it stays on one"
        yield of_texts(f"brought-line-{new}", about, texts)


def make_gaps() -> Iterator[Vector]:
    """What is put together anew has the gaps of its container: before the first, between two, after
    the last.
    """
    rows = {
        "object": ('{ "a" :1 ,  "b" :1 }', '{ "a" :1 ,  "b" :1 ,  "c" :2 }', '{ "b" :1 }', '{ "b" :1 ,  "c" :2 }'),
        "list": ('[ "a" ,  "b" ]', '[ "a" ,  "b" ,  "c" ]', '[ "b" ]', '[ "b" ,  "c" ]'),
        "wide": ('[\n\n "a",\n\n "b"\n\n]', '[\n\n "a",\n\n "b",\n\n "c"\n\n]',
                 '[\n\n "b"\n\n]', '[\n\n "b",\n\n "c"\n\n]'),
        "one": ('[ "a" ]', '[ "a" , "b" ]', '[ "z" ]', '[ "z" , "b" ]'),
    }  # fmt: skip
    for name, texts in rows.items():
        about = f"the gaps of a container are kept ({name})"
        documents = [f'{{\n  "k": {text},\n  "n": 0\n}}\n' for text in texts]
        yield of_texts(f"gaps-{name}", about, documents)


def make_filled() -> Iterator[Vector]:
    """An empty container of the side whose layout stays is filled by the other side."""
    shapes = {
        "line": ('{"x": 1}', '{"x": 1}'),
        "lines": ('{\n    "x": 1\n  }', '{\n\t\t"x": 1\n\t}'),
        "list": ("[1, 2]", "[1, 2]"),
        "list-lines": ("[\n    1,\n    2\n  ]", "[\n\t\t1,\n\t\t2\n\t]"),
    }
    for name, (there, result) in shapes.items():
        empty = "[]" if "list" in name else "{}"
        texts = [
            f'{{\n  "e": {empty},\n  "z": 0\n}}\n',
            f'{{\n\t"e": {empty},\n\t"z": 1\n}}\n',
            f'{{\n  "e": {there},\n  "z": 0\n}}\n',
            f'{{\n\t"e": {result},\n\t"z": 1\n}}\n',
        ]
        yield of_texts(
            f"filled-{name}", "an empty container is filled, as it was written there", texts
        )


def make_spelled() -> Iterator[Vector]:
    """A member that comes over keeps the spelling of its key, and gets the document's space around
    the colon.
    """
    keys = ('"\\u0061b"', '"caf\\u00e9"', '"x\\/y"')
    for number, key in enumerate(keys):
        about = "the key of a new member is copied as it is spelled"
        texts = [
            '{\n  "a": 1,\n  "z": 0\n}\n',
            '{\n    "a": 2,\n    "z": 0\n}\n',
            f'{{\n  "a": 1,\n  {key}  :   1.50,\n  "z": 0\n}}\n',
            f'{{\n    "a": 2,\n    {key}: 1.50,\n    "z": 0\n}}\n',
        ]
        yield of_texts(f"spelled-{number}", about, texts)
