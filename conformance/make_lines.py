"""JSON Lines: a record a line. Only what a record holds counts, and each record keeps its line."""

import json
from collections.abc import Iterator

from conformance.building import VERSIONS, Value, Vector


def lines_of(*records: Value, eol: str = "\n") -> str:
    return "".join(json.dumps(record) + eol for record in records)


def of_lines(name: str, about: str, versions: list[str], expect: Value) -> Vector:
    return {
        "id": f"lines/{name}",
        "about": about,
        **dict(zip(VERSIONS, versions, strict=True)),
        "expect": expect,
    }


def row(name: str, value: int = 0, other: int = 0) -> Value:
    return {"id": name, "v": value, "w": other}


def make_lines() -> Iterator[Vector]:
    yield from make_records()
    yield from make_contradictions()
    yield from make_line_layouts()
    yield from make_unkeyed()


def make_records() -> Iterator[Vector]:
    base = lines_of(row("a"), row("b"), row("c"))
    changes = {
        "edited": (lines_of(row("a", 1), row("b"), row("c")), lines_of(row("a", 0, 2), row("b"), row("c")),
                   lines_of(row("a", 1, 2), row("b"), row("c"))),
        "neighbours": (lines_of(row("a"), row("b", 1), row("c")), lines_of(row("a"), row("b"), row("c", 1)),
                       lines_of(row("a"), row("b", 1), row("c", 1))),
        "appended": (lines_of(row("a"), row("b"), row("c"), row("x")), lines_of(row("a"), row("b"), row("c"), row("y")),
                     lines_of(row("a"), row("b"), row("c"), row("x"), row("y"))),
        "removed": (lines_of(row("a"), row("c")), lines_of(row("a"), row("b"), row("c", 1)),
                    lines_of(row("a"), row("c", 1))),
        "moved": (lines_of(row("c"), row("a"), row("b")), lines_of(row("a"), row("b", 1), row("c")),
                  lines_of(row("c"), row("a"), row("b", 1))),
        "alike": (lines_of(row("a"), row("b", 5), row("c")), lines_of(row("a"), row("b", 5), row("c"), row("d")),
                  lines_of(row("a"), row("b", 5), row("c"), row("d"))),
    }  # fmt: skip
    for name, (ours, theirs, result) in changes.items():
        yield of_lines(name, f"records {name}", [base, ours, theirs], {"bytes": result})
    ours, theirs = lines_of(row("x"), row("y")), lines_of(row("y"), row("z"))
    result = lines_of(row("x"), row("y"), row("z"))
    yield of_lines("new", "both sides added the file", ["", ours, theirs], {"bytes": result})


def make_contradictions() -> Iterator[Vector]:
    base = lines_of(row("a"), row("b"))
    ours, theirs = lines_of(row("a", 1), row("b")), lines_of(row("a", 2), row("b"), row("c"))
    texts = {"ours": lines_of(row("a", 1), row("b"), row("c")), "theirs": theirs}
    yield of_lines(
        "contradicted", "one member, edited by both", [base, ours, theirs], {"texts": texts}
    )
    ours = lines_of(row("b"))
    texts = {"ours": lines_of(row("b"), row("c")), "theirs": theirs}
    yield of_lines(
        "removed-edited", "removed here, edited there", [base, ours, theirs], {"texts": texts}
    )
    ours, theirs = (
        lines_of(row("a"), row("b"), row("x", 1)),
        lines_of(row("a"), row("b"), row("x", 2)),
    )
    texts = {"ours": ours, "theirs": theirs}
    yield of_lines(
        "added-twice", "one key for two new records", [base, ours, theirs], {"texts": texts}
    )


def make_line_layouts() -> Iterator[Vector]:
    """A record that nobody changed keeps its line, byte for byte; the file keeps its line ends."""
    spaced = '{"id":"a" , "v":0}\n\n  {"id":"b", "v":0}  \n{ "id": "c", "v": 1.0 }\n'
    changed = spaced.replace('"b", "v":0', '"b", "v":7')
    more = spaced + '{"id":"d"}\n'
    result = changed + '{"id":"d"}\n'
    yield of_lines(
        "spaced", "lines as somebody wrote them", [spaced, changed, more], {"bytes": result}
    )
    versions = [
        lines_of(row("a"), row("b"), *extra, eol="\r\n") for extra in ((), (row("x"),), (row("y"),))
    ]
    result = lines_of(row("a"), row("b"), row("x"), row("y"), eol="\r\n")
    yield of_lines("crlf", "line ends of two characters", versions, {"bytes": result})
    base = lines_of(row("a"), row("b"))
    ours, theirs = base.removesuffix("\n"), lines_of(row("a", 1), row("b"))
    result = theirs.removesuffix("\n")
    yield of_lines("open", "the last line loses its end here, a record is edited there", [base, ours, theirs],
                   {"bytes": result})  # fmt: skip


def make_unkeyed() -> Iterator[Vector]:
    """Records without a key, and lists, stand in their order."""
    base = lines_of([1, "a"], [2, "b"], [1, "a"])
    ours, theirs = lines_of([9, "a"], [2, "b"], [1, "a"]), lines_of([1, "a"], [2, "B"], [1, "a"])
    result = lines_of([9, "a"], [2, "B"], [1, "a"])
    yield of_lines("lists", "lines that are lists", [base, ours, theirs], {"bytes": result})
    same = {"event": "ping"}
    base, ours = lines_of(same, same), lines_of(same, same, same)
    theirs = lines_of({"event": "start"}, same, same)
    result = lines_of(same, {"event": "start"}, same, same)
    yield of_lines("equal", "equal records, and a new one before them: two at one place", [base, ours, theirs],
                   {"bytes": result})  # fmt: skip
