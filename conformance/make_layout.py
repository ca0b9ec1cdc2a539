"""Documents as text: each side edits one layout, or gives the document another; the result is
written as a whole.
"""

import copy
import itertools
import json
from collections.abc import Callable, Iterator

from conformance.building import VERSIONS, Value, Vector, vector

Write = Callable[[Value], str]


def writer(eol: str = "\n", **options: Value) -> Write:
    def write(document: Value) -> str:
        return (json.dumps(document, ensure_ascii=False, **options) + "\n").replace("\n", eol)

    return write


WRITERS: dict[str, Write] = {
    "two": writer(indent=2),
    "four": writer(indent=4),
    "tab": writer(indent="\t"),
    "crlf": writer("\r\n", indent=2),
    "line": writer(),
    "packed": writer(separators=(",", ":")),
    "spaced": writer(indent=2, separators=(",", " : ")),
}

DOCUMENT: Value = {
    "one": 1,
    "deep": {"list": [{"id": 1, "v": 1}, {"id": 2, "v": 1}], "two": 2},
    "last": [1.5, None],
}
EDITS: dict[str, Callable[[Value], None]] = {
    "member": lambda document: document.update(new={"x": [1, {"y": 2}], "z": {}}),
    "nested": lambda document: document["deep"].update(added=[True, "text"]),
    "item": lambda document: document["deep"]["list"].append({"id": 3, "v": [1, 2]}),
    "removed": lambda document: document.pop("one"),
    "value": lambda document: document["deep"].update(two="deux"),
    "first": lambda document: document["deep"]["list"].insert(0, {"id": 0, "v": {"w": None}}),
    "emptied": lambda document: document["last"].clear(),
}


def edited(*names: str) -> Value:
    document = copy.deepcopy(DOCUMENT)
    for name in names:
        EDITS[name](document)
    return document


def of_texts(name: str, about: str, texts: list[str]) -> Vector:
    """texts: base, ours, theirs and the result."""
    *versions, result = texts
    sides = dict(zip(VERSIONS, versions, strict=True))
    return {"id": f"format/{name}", "about": about, **sides, "expect": {"bytes": result}}


def make_layouts() -> Iterator[Vector]:
    for (layout, write), (mine, yours) in itertools.product(
        WRITERS.items(), itertools.combinations(EDITS, 2)
    ):
        texts = [write(edited(*names)) for names in ((), (mine,), (yours,), (mine, yours))]
        about = f"{mine} here, {yours} there, written as the document is"
        if {mine, yours} != {"item", "first"}:
            yield of_texts(f"edits-{layout}-{mine}-{yours}", about, texts)
    for (old, before), (new, after) in itertools.permutations(WRITERS.items(), 2):
        texts = [
            before(edited()),
            after(edited("removed")),
            before(edited("value")),
            after(edited("removed", "value")),
        ]
        about = f"one side writes the document anew ({old}, then {new}), the other edits it"
        yield of_texts(f"anew-{old}-{new}", about, texts)
    for layout, write in WRITERS.items():
        documents: list[Value] = [
            {"a": 0, "e": {"old": 0}},
            {"a": 0, "e": {}},
            {"a": 1, "e": {"old": 0, "new": 1}},
        ]
        texts = [write(document) for document in (*documents, {"a": 1, "e": {"new": 1}})]
        about = "an object loses its only member here, and gets another there"
        yield of_texts(f"refilled-{layout}", about, texts)
    yield from make_edges()
    yield from make_key_order()


def make_edges() -> Iterator[Vector]:
    """What stands around the value: one side changes it, the other the document."""
    text, more, other = ('{"a": %d, "b": %d}' % numbers for numbers in ((1, 1), (2, 1), (1, 3)))  # noqa: UP031
    both = '{"a": 2, "b": 3}'
    edges = [("", ""), ("", "\n"), ("\ufeff", ""), ("\ufeff", "\n"), ("\n", "\n"), ("", "\n\n")]
    for number, (old, new) in enumerate(itertools.permutations(edges, 2)):
        texts = [
            old[0] + text + old[1],
            new[0] + more + new[1],
            old[0] + other + old[1],
            new[0] + both + new[1],
        ]
        about = "a byte order mark, lines around the document"
        yield of_texts(f"edge-{number}", about, texts)


def make_key_order() -> Iterator[Vector]:
    """Where a new member stands: behind the one that it was written behind; at one place by its
    name.
    """
    base = ["m", "x"]
    names = ["b", "z", "B", "10", "9", "é", "\uffff", "😀"]
    for number, (mine, yours) in enumerate(itertools.permutations(names, 2)):
        for at in range(3):
            ours, theirs = [[*base[:at], name, *base[at:]] for name in (mine, yours)]
            result = [*base[:at], *sorted((mine, yours)), *base[at:]]
            texts = [
                json.dumps(dict.fromkeys(keys, 0), indent=1) + "\n"
                for keys in (base, ours, theirs, result)
            ]
            about = "two new members at one place, by code point"
            if mine < yours:
                yield of_texts(f"new-{number}-{at}", about, texts)
    for number, (one, other) in enumerate(itertools.permutations(range(3), 2)):
        ours, theirs = [[*base[:at], name, *base[at:]] for at, name in ((one, "o"), (other, "t"))]
        result = list(base)
        for at, name in sorted(((one, "o"), (other, "t")), reverse=True):
            result.insert(at, name)
        texts = [
            json.dumps(dict.fromkeys(keys, 0), indent=1) + "\n"
            for keys in (base, ours, theirs, result)
        ]
        yield of_texts(f"places-{number}", "two new members at two places", texts)


# choices: how much a conflict marks


def make_marked() -> Iterator[Vector]:
    """A conflict marks the lines that differ, and no others."""
    versions: Value
    around: Value
    around = {f"k{number}": number for number in range(4)}
    for at in range(5):
        names = [*list(around)[:at], "both", *list(around)[at:]]
        versions = [
            {name: around.get(name, value) for name in names} for value in ("old", "mine", "yours")
        ]
        yield marked(f"member-{at}", "one member", versions, 2)
        versions = [
            {name: around.get(name, value) for name in names}
            for value in ({}, {"x": 1, "y": 1}, {"x": 2, "y": 1})
        ]
        yield marked(f"deep-{at}", "a member of a member that both added", versions, 2)
    long = [{"id": number, "v": "v", "w": "w"} for number in range(5)]
    versions = [
        {"list": [*long[:2], {**long[2], "v": value}, *long[3:]]}
        for value in ("old", "mine", "yours")
    ]
    yield marked("record", "a member of a record", versions, 2)
    group = {
        "properties": {name: {"x-merge": {"strategy": "group", "name": "g"}} for name in ("a", "c")}
    }
    versions = [{"a": value, "b": "same", "c": value} for value in ("old", "mine", "yours")]
    yield marked(
        "bridge", "two members of one conflict, and a line between them", versions, 6, group
    )
    versions = [{"a": value, "b": [1, 2, 3], "c": value} for value in ("old", "mine", "yours")]
    yield marked("apart", "two members of one conflict, and lines between them", versions, 4, group)
    versions = [{"a": {"x": 0}, "z": 0}, {"a": {"x": 0, "new": 1}, "z": 0}, {"z": 0}]
    yield marked("removed", "a member is removed here and edited there", versions, 4)
    for number, last in enumerate(([], ["z"])):
        versions = [{"list": [*items, *last]} for items in (["A"], ["X", "Y"], ["P", "Q", "R"])]
        yield marked(f"items-{number}", "items of a list", versions, 5)


def marked(name: str, about: str, versions: Value, most: int, schema: Value = None) -> Vector:
    return vector(f"choices/lines-{name}", about, versions, {"lines": most}, schema)
