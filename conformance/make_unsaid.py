"""What a merge must not do unsaid: rewrite what one side alone wrote, drop a conflict, leave out
part of a schema.
"""

import itertools
import json
from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, in_list, place, vector

DAYS = [f"2028-02-{day:02}T10:00:00Z" for day in range(1, 10)]


def make_unchanged() -> Iterator[Vector]:
    """One side did nothing: the other side's bytes are the result, however they are laid out."""
    base = '{\n  "a": {\n    "b": 1\n  },\n  "list": [\n    1,\n    2\n  ]\n}\n'
    added = ',\n\t"new": {\n\t\t"x": [\n\t\t\t1\n\t\t]\n\t}\n}\n'
    layouts = {
        "a member in another unit": base.removesuffix("\n}\n") + added,
        "a member with other line ends": base.removesuffix("\n}\n")
        + added.replace("\n", "\r\n").replace("\t", "  "),
        "mixed line ends": base.replace("\n", "\r\n", 3).replace("1", "10", 1),
        "another unit": base.replace("  ", "\t").replace("1", "10", 1),
        "one line": json.dumps({"a": {"b": 10}, "list": [1, 2]}),
        "a mark, and no final newline": "\ufeff" + base.replace("1", "10", 1).rstrip("\n"),
        "new line ends alone": base.replace("\n", "\r\n"),
        "new gaps alone": base.replace(": ", " :  "),
    }
    for (number, (how, text)), old in itertools.product(
        enumerate(layouts.items()), (base, base.replace("\n", "\r\n"))
    ):
        name = f"format/unchanged-{number}{'-crlf' if old != base else ''}"
        about = f"one side alone wrote, with {how}"
        yield {
            "id": name,
            "about": about,
            "base": old,
            "ours": old,
            "theirs": text,
            "expect": {"bytes": text},
        }


def make_laid_out_tuples() -> Iterator[Vector]:
    """A tuple that one side lays out anew, and the other makes longer, is the other's."""
    versions = {
        "base": '{"list": [1, "a"]}',
        "ours": '{"list": [ 1,  "a" ]}',
        "theirs": '{"list": [1, "a", 2]}',
    }
    schemas: dict[str, Value] = {
        "strategy": place({"strategy": "tuple"}),
        "prefix": {"properties": {"list": {"prefixItems": [{}, {}]}}},
    }
    for name, schema in schemas.items():
        expect = clean(in_list([1, "a", 2]))
        about = "a tuple, laid out anew here, longer there"
        yield {
            "id": f"sequence/tuple-anew-{name}",
            "about": about,
            **versions,
            "schema": schema,
            "expect": expect,
        }


def make_open_entries() -> Iterator[Vector]:
    """A limit does not drop an entry that is in conflict: somebody's change would go, and nobody
    would be asked.
    """
    rule = place({"strategy": "log", "key": "/id", "sort": "/at", "limit": 2})
    old = [{"id": 2, "at": DAYS[2], "v": 0}, {"id": 1, "at": DAYS[1], "v": 0}]
    edited = [{**old[1], "v": value} for value in (1, 2)]
    new = [{"id": number, "at": DAYS[number], "v": 0} for number in (3, 4)]
    kept = [new[1], new[0], old[0]]
    for name, mine in (("edited", [edited[0]]), ("removed", [])):
        ours, theirs = [new[0], old[0], *mine], [new[1], old[0], edited[1]]
        about = f"the oldest entry of a full log, {name} here, edited there"
        expect = conflict(in_list([*kept, *mine]), in_list([*kept, edited[1]]))
        yield vector(
            f"log/limit-open-{name}", about, map(in_list, (old, ours, theirs)), expect, rule
        )


def make_loose_sorts() -> Iterator[Vector]:
    """Entries are sorted by instants in every form that other rules read."""
    rule = place({"strategy": "log", "key": "/id", "sort": "/at", "limit": 3})
    times = [
        "2028-02-01T10:00Z",
        "2028-02-01 11:00:00Z",
        "2028-02-01T14:00:00+0200",
        "2028-02-01T13:00:00",
    ]
    entries = [{"id": number, "at": at} for number, at in enumerate(times)]
    for mine, yours in itertools.combinations(range(4), 2):
        third = max({0, 1, 2, 3} - {mine, yours})
        rest = [entries[third]]
        versions = map(in_list, (rest, [entries[mine], *rest], [entries[yours], *rest]))
        kept = [entries[number] for number in sorted((mine, yours, third), reverse=True)]
        about = f"entries of {times[mine]} and {times[yours]}"
        expect: Value = {
            "list": {"at": "/list", "items": kept, "before": [[entries[yours], entries[mine]]]}
        }
        yield vector(f"log/loose-{mine}-{yours}", about, versions, expect, rule)

    base = [entries[number] for number in (2, 1, 0)]
    newest = entries[3]
    versions = map(
        in_list, (base, [newest, *base[:2]], [*base[:2], {"id": 9, "at": "2028-02-01T09:00"}])
    )
    about = "a full log drops the earliest, which has neither seconds nor offset"
    yield vector("log/loose-limit", about, versions, clean(in_list([newest, *base[:2]])), rule)


def make_seldom_read() -> Iterator[Vector]:
    """Parts of a schema that are read at places where they are easily left out."""
    schema: Value = {"properties": {"list": {"x-merge": {"strategy": "sequence"}}}}
    schema["properties"]["list"]["prefixItems"] = [
        {},
        {"properties": {"n": {"x-merge": {"strategy": "sum"}}}},
    ]
    rows = [{"at": [name], "n": 1} for name in "abcd"]
    ours = [rows[0], {**rows[1], "n": 3}, *rows[2:]]
    theirs = [rows[0], {**rows[1], "n": 6}, rows[3], rows[2]]
    about = "prefixItems in a list in which one side moved another item"
    expect = clean(in_list([rows[0], {**rows[1], "n": 8}, rows[3], rows[2]]))
    yield vector("schema/prefix-moved", about, map(in_list, (rows, ours, theirs)), expect, schema)

    group: Value = {"x-merge": {"strategy": "group", "name": "pair"}}
    schema = {
        "$defs": {"part": group},
        "properties": {name: {"$ref": "#/$defs/part"} for name in ("a", "b")},
    }
    base = {"a": 0, "b": 0, "c": 0}
    mine, yours = {"a": 1, "b": 0, "c": 1}, {"a": 2, "b": 2, "c": 0}
    about = "members whose rule, a group, is behind a reference: one conflict"
    yield vector(
        "schema/group-behind-reference",
        about,
        (base, mine, yours),
        conflict(mine, {**yours, "c": 1}),
        schema,
    )
