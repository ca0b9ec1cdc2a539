"""Writes the vectors: `python -m conformance.make`.

What is expected comes from rules that are simpler than any merge: three-way choice of single
values, edits of different places applied one after the other, replacements in a text, instants
sorted. No merge is asked.
"""

import base64
import copy
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from conformance.building import (
    ABSENT,
    CONFLICT,
    VERSIONS,
    Value,
    Vector,
    clean,
    conflict,
    either,
    in_list,
    listed,
    member,
    place,
    say,
    three_way,
    vector,
    with_items,
)
from conformance.make_added import make_added
from conformance.make_aligned import make_aligned, make_chosen_orders, make_key_rules
from conformance.make_items import make_identities, make_keys, make_parts
from conformance.make_law import make_law
from conformance.make_layout import make_layouts, make_marked
from conformance.make_lines import make_lines
from conformance.make_places import make_schema
from conformance.make_rules import make_grouped, make_logs, make_require
from conformance.make_seldom import make_code_points, make_instant_forms, make_two_things
from conformance.make_unsaid import (
    make_laid_out_tuples,
    make_loose_sorts,
    make_open_entries,
    make_unchanged,
)
from conformance.make_writing import make_writing

FOLDER = Path(__file__).parent / "vectors"
VERSION = "1.0"


# core: objects and single values


def make_core() -> Iterator[Vector]:
    yield from make_two_things()
    for number, triple in enumerate(itertools.product((ABSENT, None, 1, 2), repeat=3)):
        versions = tuple({"first": True, **member(value), "last": [True]} for value in triple)
        result = three_way(*triple)
        about = f"one member: {', '.join(map(say, triple))}; absent and null are two things"
        if result is CONFLICT:
            expect = conflict(versions[1], versions[2])
        else:
            expect = clean({"first": True, **member(result), "last": [True]})
        yield vector(f"core/member-{number}", about, versions, expect)
    kinds: list[Value] = [None, False, 0, "", "text", 1.5, [], {}]
    for number, (old, new) in enumerate(itertools.permutations(kinds, 2)):
        base = {"k": old, "other": {"x": 1}}
        versions = (base, {**base, "k": new}, {**base, "more": "theirs"})
        about = f"one side changes {say(old)} to {say(new)}, the other adds a member"
        yield vector(
            f"core/kind-{number}",
            about,
            versions,
            clean({"k": new, "other": {"x": 1}, "more": "theirs"}),
        )
    yield from make_places()
    yield from make_twice()
    yield from make_identities()


DOCUMENT = {
    "name": "n",
    "a": {"b": {"c": 1, "d": 2}, "e": [1, 2, 3]},
    "list": ["x", "y"],
    "text": "old",
    "empty": {},
    "null": None,
}
Edit = tuple[tuple[str, ...], Value]
EDITS: list[Edit] = [
    (("name",), "m"),
    (("a", "b", "c"), 9),
    (("a", "b", "d"), ABSENT),
    (("a", "b", "new"), {"deep": [None]}),
    (("a", "b"), "no object any more"),
    (("a", "b"), ABSENT),
    (("a", "e"), ABSENT),
    (("a",), ABSENT),
    (("list",), {"now": "an object"}),
    (("text",), ""),
    (("empty", "first"), 0),
    (("null",), False),
    (("null",), ABSENT),
    (("added",), {"x": 1}),
    (("added",), {"x": 2}),
]


def edited(document: Value, edit: Edit) -> Value:
    result = copy.deepcopy(document)
    *path, last = edit[0]
    place = result
    for key in path:
        place = place[key]
    if edit[1] is ABSENT:
        del place[last]
    else:
        place[last] = edit[1]
    return result


def make_places() -> Iterator[Vector]:
    """Two edits: of different places both happen, of one place or of a place and what holds it they
    conflict.
    """
    for number, (one, other) in enumerate(itertools.combinations(EDITS, 2)):
        ours, theirs = edited(DOCUMENT, one), edited(DOCUMENT, other)
        depth = min(len(one[0]), len(other[0]))
        nested = one[0][:depth] == other[0][:depth]
        about = f"{'/'.join(one[0])} here, {'/'.join(other[0])} there"
        expect = conflict(ours, theirs) if nested else clean(edited(ours, other))
        yield vector(f"core/places-{number}", about, (DOCUMENT, ours, theirs), expect)


def make_twice() -> Iterator[Vector]:
    for number, edit in enumerate(EDITS):
        both = edited(DOCUMENT, edit)
        yield vector(
            f"core/alike-{number}",
            "both sides made the same edit",
            (DOCUMENT, both, both),
            clean(both),
        )
        more = edited(both, (("mine",), 1))
        about = "both sides made the same edit, and one of them another"
        yield vector(f"core/alike-more-{number}", about, (DOCUMENT, more, both), clean(more))


# keyed: lists of records


def make_keyed() -> Iterator[Vector]:
    schema = {"properties": {"list": {"x-merge": {"strategy": "rows", "key": "/sku"}}}}
    for key, rules in (("id", None), ("sku", schema)):
        yield from make_rows(key, rules, f"keyed/{key}")
    for key in ("id", "number", "name", "sha", "path"):
        rows = [{key: n if key == "number" else f"r{n}", "a": 1, "b": 1} for n in range(3)]
        ours, theirs, both = copy.deepcopy(rows), copy.deepcopy(rows), copy.deepcopy(rows)
        ours[1]["a"] = both[1]["a"] = 2
        theirs[1]["b"] = both[1]["b"] = 3
        about = f"records that {key} tells apart: two members of one record"
        yield vector(
            f"keyed/leaf-{key}",
            about,
            ({"l": rows}, {"l": ours}, {"l": theirs}),
            clean({"l": both}),
        )
        about = "one side moves a record, the other edits it"
        moved = {"l": [rows[1], rows[0], rows[2]]}
        merged = {"l": [theirs[1], rows[0], rows[2]]}
        yield vector(
            f"keyed/moved-{key}", about, ({"l": rows}, moved, {"l": theirs}), clean(merged)
        )
        ours[1][key] = 77 if key == "number" else "renamed"
        about = "one side gives a record another name, the other leaves it alone"
        yield vector(
            f"keyed/renamed-{key}",
            about,
            ({"l": rows}, {"l": ours}, {"l": rows}),
            clean({"l": ours}),
        )
    new = [{"id": name, "v": 1} for name in "xy"]
    rows = [{"id": name, "v": 1} for name in "abc"]
    for mine, yours in itertools.product(range(4), repeat=2):
        lists = [rows[:mine] + new[:1] + rows[mine:], rows[:yours] + new[1:] + rows[yours:]]
        about = "each side adds a record"
        yield listed(f"keyed/added-{mine}-{yours}", about, rows, lists[0], lists[1])
    yield from make_keys()
    yield from make_key_rules()
    yield from make_chosen_orders()


def make_rows(key: str, schema: Value, name: str) -> Iterator[Vector]:
    """One record between two others: absent, one content, another."""
    states: list[Value] = [ABSENT, {key: "k", "v": 1}, {key: "k", "v": 2}]
    for number, triple in enumerate(itertools.product(states, repeat=3)):
        around = [{key: "first", "v": 0}, {key: "last", "v": 0}]
        versions = [
            {"list": [around[0], *([] if one is ABSENT else [one]), around[1]]} for one in triple
        ]
        result = three_way(*triple)
        about = f"a record: {', '.join(map(say, triple))}"
        if result is CONFLICT:
            expect = conflict(versions[1], versions[2])
        else:
            expect = clean(
                {"list": [around[0], *([] if result is ABSENT else [result]), around[1]]}
            )
        yield vector(f"{name}-{number}", about, tuple(versions), expect, schema)


# order: what nobody contradicts is kept


def is_possible(before: Value) -> bool:
    left = {json.dumps(item) for pair in before for item in pair}
    pairs = [(json.dumps(one), json.dumps(other)) for one, other in before]
    while left:
        first = next(
            (item for item in sorted(left) if not any(b == item and a in left for a, b in pairs)),
            None,
        )
        if first is None:
            return False
        left.remove(first)
    return True


def list_changes(base: list[str], new: str) -> dict[str, list[str]]:
    changes = {"as it was": base}
    changes |= {
        f"new order {' '.join(p)}": list(p) for p in itertools.permutations(base) if list(p) != base
    }
    changes |= {
        f"{new} added at {at}": [*base[:at], new, *base[at:]] for at in range(len(base) + 1)
    }
    return changes | {f"{item} removed": [one for one in base if one != item] for item in base}


def make_order() -> Iterator[Vector]:
    yield from make_lists("order", None, ["A", "B", "C"])
    for number, (base, ours, theirs) in enumerate(
        (
            ("", "21", "1"),
            ("D", "FTD", "TD"),
            ("ABC", "CAB", "ABCD"),
            ("AB", "ABXY", "ABX"),
            ("AB", "XYAB", "YAB"),
            ("ABCD", "BACD", "ABXCD"),
            ("", "ABC", "AC"),
            ("M", "AMZ", "MZ"),
            ("ABCD", "BCD", "ABDC"),
            ("ABCDE", "EABCD", "ABCE"),
        )
    ):
        about = "an order that nobody contradicts is kept"
        yield listed(f"order/agreed-{number}", about, list(base), list(ours), list(theirs))


def make_lists(name: str, schema: Value, base: list[str], whole: bool = False) -> Iterator[Vector]:
    mine, yours = list_changes(base, "X"), list_changes(base, "Y")
    for number, ((what, ours), (else_what, theirs)) in enumerate(
        itertools.product(mine.items(), yours.items())
    ):
        made = listed(
            f"{name}/list-{number}", f"{what} here, {else_what} there", base, ours, theirs, schema
        )
        reordered = all(sorted(side) == sorted(base) and side != base for side in (ours, theirs))
        if is_possible(made["expect"]["list"]["before"]) and not (
            whole and reordered and ours != theirs
        ):
            yield made


# sequence: lists whose items have no key


def sequence(
    name: str,
    about: str,
    base: Value,
    ours: Value,
    theirs: Value,
    expect: Value,
    schema: Value = None,
) -> Vector:
    return vector(f"sequence/{name}", about, map(in_list, (base, ours, theirs)), expect, schema)


EXAMPLES: dict[str, Value] = {
    "arguments": ["-y", "server@1.0.0", "/data", "--port", "8080"],
    "lines": ["import os\n", "\n", "def run():\n", "    pass\n", "\n"],
    "steps": [["build", 1], ["test", 1], ["build", 1], ["deploy", 2], ["report", 0]],
    "cells": [
        {"kind": kind, "source": [text]} for kind, text in zip("ttctc", "abcde", strict=True)
    ],
    "numbers": [12.5, 0, 0, 7, 0],
}


def make_sequence() -> Iterator[Vector]:
    for kind, base in EXAMPLES.items():
        yield from make_edits(kind, base)
    yield from make_additions()
    yield from make_moves()
    yield from make_tuples()
    yield from make_parts()
    yield from make_added()
    yield from make_laid_out_tuples()
    yield from make_aligned()


def make_edits(kind: str, base: Value) -> Iterator[Vector]:
    """Each pair of items, edited or removed by one side each; and the same item, edited by both."""
    mine: Value
    yours: Value
    mine, yours = (1000, 2000) if kind == "numbers" else ("MINE", "YOURS")
    for one, other in itertools.product(range(len(base)), repeat=2):
        ours, theirs = with_items(base, (one, mine)), with_items(base, (other, yours))
        if one == other:
            about = f"{kind}: item {one}, edited by both"
            yield sequence(
                f"{kind}-both-{one}",
                about,
                base,
                ours,
                theirs,
                conflict(in_list(ours), in_list(theirs)),
            )
            continue
        both = with_items(base, (one, mine), (other, yours))
        about = f"{kind}: item {one} edited here, item {other} there"
        yield sequence(
            f"{kind}-edits-{one}-{other}", about, base, ours, theirs, clean(in_list(both))
        )
        if base.count(base[other]) == 1:
            theirs = base[:other] + base[other + 1 :]
            both = [item for index, item in enumerate(ours) if index != other]
            about = f"{kind}: item {one} edited here, item {other} removed there"
            yield sequence(
                f"{kind}-removal-{one}-{other}", about, base, ours, theirs, clean(in_list(both))
            )


def make_additions() -> Iterator[Vector]:
    base = ["A", "B", "C"]
    for one, other in itertools.product(range(len(base) + 1), repeat=2):
        ours, theirs = (
            [*base[:one], "X", "Y", *base[one:]],
            [*base[:other], "M", "N", *base[other:]],
        )
        about = f"two items added at {one} here, and at {other} there"
        if one != other:
            low, high = sorted((one, other))
            first, second = (["X", "Y"], ["M", "N"]) if one < other else (["M", "N"], ["X", "Y"])
            both = [*base[:low], *first, *base[low:high], *second, *base[high:]]
            yield sequence(
                f"additions-{one}-{other}", about, base, ours, theirs, clean(in_list(both))
            )
            continue
        runs = [
            [*base[:one], *run, *base[one:]] for run in (["X", "Y", "M", "N"], ["M", "N", "X", "Y"])
        ]
        expect = either(*runs, ours=ours, theirs=theirs)
        yield sequence(f"additions-{one}-{other}", about, base, ours, theirs, expect)

    base = ["-e", "A=1"]
    ours, theirs = [*base, "-e", "B=2"], [*base, "-e", "C=3"]
    expect = either([*ours, "-e", "C=3"], [*theirs, "-e", "B=2"], ours=ours, theirs=theirs)
    yield sequence(
        "flags", "a flag that both add, each with a value of its own", base, ours, theirs, expect
    )

    ours, theirs = ["lint", "build"], ["build", "lint"]
    expect = either(["lint", "build", "lint"], ours=ours, theirs=theirs)
    yield sequence(
        "twice", "one text that both add, at two places", ["build"], ours, theirs, expect
    )

    expect = either(["A", "B", "C"], ["A", "B", "B", "C"], ours=["A", "B"], theirs=["B", "C"])
    yield sequence("overlap", "additions that share an item", [], ["A", "B"], ["B", "C"], expect)

    expect = clean(in_list(["A", "X", "Y"]))
    yield sequence(
        "more",
        "the same addition, and more of it on one side",
        ["A"],
        ["A", "X"],
        ["A", "X", "Y"],
        expect,
    )

    ours, theirs = ["X", "Y"], ["Z"]
    expect = conflict(in_list(ours), in_list(theirs))
    yield sequence(
        "part", "one item that both replaced, by two items and by one", ["A"], ours, theirs, expect
    )


def make_moves() -> Iterator[Vector]:
    base = ["A", "B", "C", "D"]
    for index in (0, 1, 3):
        moved = [item for item in base if item != "C"]
        moved.insert(index, "C")
        for edited in base:
            theirs = [item if item != edited else "NEW" for item in base]
            both = [item if item != edited else "NEW" for item in moved]
            about = f"C moved to {index} here, {edited} edited there"
            name = f"move-{index}-{edited}"
            yield sequence(
                name, about, base, moved, theirs, either(both, ours=moved, theirs=theirs)
            )
    ours, theirs = ["C", "A", "B", "D"], ["A", "B", "D", "C"]
    expect = conflict(in_list(ours), in_list(theirs))
    yield sequence("moves", "one item, moved to two places", base, ours, theirs, expect)


def make_tuples() -> Iterator[Vector]:
    by_position = {
        "strategy": place({"strategy": "tuple"}),
        "prefix": {"properties": {"list": {"prefixItems": [{}, {}, {}]}}},
        "length": {"properties": {"list": {"minItems": 3, "maxItems": 3}}},
    }
    base = ["A", "A", "B"]
    for name, schema in by_position.items():
        ours, theirs = ["A", "B", "B"], ["B", "A", "A"]
        expect = clean(in_list(["B", "B", "A"]))
        yield sequence(
            f"tuple-{name}", "by position, as the schema says", base, ours, theirs, expect, schema
        )
        expect = conflict(in_list(["X", "A", "B"]), in_list(["Y", "A", "B"]))
        versions = (base, ["X", "A", "B"], ["Y", "A", "B"])
        yield sequence(
            f"tuple-{name}-both", "one position that both changed", *versions, expect, schema
        )

    as_sequence = place({"strategy": "sequence"})
    expect = clean(in_list([1, 5, 2, 3, 4]))
    about = "numbers in order, as the schema says"
    yield sequence(
        "numbers-inserted", about, [1, 2, 3], [1, 5, 2, 3], [1, 2, 3, 4], expect, as_sequence
    )

    unique = {"properties": {"list": {"uniqueItems": True}}}
    expect = {"list": {"at": "/list", "items": ["A", "X", "Y", "Z"], "before": []}}
    about = "a set, as the schema says: what both added is there once"
    yield sequence("set", about, ["A"], ["A", "X", "Y"], ["Z", "X", "A"], expect, unique)


# queue, log, values: what a schema can say


def make_queue() -> Iterator[Vector]:
    schema = place({"strategy": "queue", "key": "/text"})
    yield from make_lists("queue", schema, ["A", "B", "C"], whole=True)
    yield from make_queue_end()
    item = {"text": "T", "done_when": "make test"}
    for number, triple in enumerate(itertools.product((ABSENT, "T", item), repeat=3)):
        versions = [
            {"list": ["first", *([] if one is ABSENT else [one]), "last"]} for one in triple
        ]
        result = three_way(*triple)
        about = f"an action that is done, edited or left: {', '.join(map(say, triple))}"
        kept = {"list": ["first", *([] if result is ABSENT else [result]), "last"]}
        expect = conflict(versions[1], versions[2]) if result is CONFLICT else clean(kept)
        yield vector(f"queue/item-{number}", about, tuple(versions), expect, schema)
    for number, (one, other) in enumerate(itertools.combinations(itertools.permutations("ABC"), 2)):
        if list("ABC") not in (list(one), list(other)):
            versions = [{"list": list(each)} for each in ("ABC", one, other)]
            expect = conflict(versions[1], versions[2])
            yield vector(
                f"queue/orders-{number}", "two new orders", tuple(versions), expect, schema
            )


def make_queue_end() -> Iterator[Vector]:
    """Both sides finish the rest of a queue that must not end: what is left is the empty list, and
    a question.
    """
    require = [
        {"where": "/list", "non_empty_when": {"/state": "open"}, "empty_with": {"/state": "closed"}}
    ]
    schema = {**place({"strategy": "queue", "key": "/text"}), "x-merge-require": require}

    def document(state: str, *items: Value) -> Value:
        return {"state": state, "list": list(items)}

    base, asked = document("open", "A", "B"), conflict(document("open"), document("open"))
    cases = [
        ("the rest is finished on both sides", document("open", "B"), document("open", "A"), asked),
        (
            "an item is added",
            document("open", "B", "C"),
            document("open", "A"),
            clean(document("open", "C")),
        ),
        (
            "closed on one side",
            document("closed", "B"),
            document("open", "A"),
            clean(document("closed")),
        ),
        (
            "closed and finished",
            document("closed"),
            document("open", "A"),
            clean(document("closed")),
        ),
    ]
    for number, (about, ours, theirs, expect) in enumerate(cases):
        yield vector(f"queue/end-{number}", about, (base, ours, theirs), expect, schema)
        yield vector(f"queue/end-{number}-swapped", about, (base, theirs, ours), expect, schema)


def make_log() -> Iterator[Vector]:
    yield from make_open_entries()
    yield from make_loose_sorts()
    for limit, old, mine, yours in itertools.product((None, 3, 5), (0, 2, 4), (0, 1, 2), (0, 1, 2)):
        rule = {
            "strategy": "log",
            "key": "/at",
            "sort": "/at",
            **({"limit": limit} if limit else {}),
        }
        days = itertools.count(1)
        base = [entry(next(days), "base") for _ in range(old)][::-1]
        added = [
            [entry(next(days), who) for _ in range(count)][::-1]
            for who, count in (("ours", mine), ("their", yours))
        ]
        sides = [(more + base)[: max(limit or 99, old)] for more in added]
        everything = sorted(
            base + added[0] + added[1], key=lambda one: str(one["at"]), reverse=True
        )
        most = max(limit, *map(len, sides)) if limit else 99
        versions = tuple({"list": each} for each in (base, *sides))
        about = (
            f"{mine} new entries here, {yours} there, {old} before, limit {limit}: the oldest go"
        )
        name = f"log/limit-{limit}-{old}-{mine}-{yours}"
        yield vector(name, about, versions, clean({"list": everything[:most]}), place(rule))
    twice = [entry(1, "base")] * 2
    versions = ({"list": twice}, {"list": [entry(2, "ours"), *twice]}, {"list": twice})
    about = "an entry that was there twice stays there twice"
    yield vector("log/twice", about, versions, clean(versions[1]), place({"strategy": "log"}))
    yield from make_logs()


def entry(day: int, who: str) -> dict[str, str]:
    return {"at": f"2026-01-{day:02d}T12:00:00Z", "who": who}


def make_values() -> Iterator[Vector]:
    yield from make_sums()
    yield from make_instants()
    yield from make_instant_forms()
    yield from make_code_points()
    yield from make_ranks()
    yield from make_groups()
    yield from make_heads()
    yield from make_grouped()
    for number, (one, other) in enumerate(itertools.permutations((1, 7, 30), 2)):
        versions = [{"list": value} for value in (0, one, other)]
        expect = clean({"list": max(one, other)})
        rule = {"strategy": "max-number"}
        yield vector(
            f"values/max-number-{number}", "the greater number", versions, expect, place(rule)
        )


def make_sums() -> Iterator[Vector]:
    schema = place({"strategy": "sum"})
    starts, mine, yours = (
        ("0", "1.00", "0.1", "9007199254740993"),
        ("0", "1", "0.20", "1e-7"),
        ("0", "2", "0.1"),
    )
    for number, (base, one, other) in enumerate(itertools.product(starts, mine, yours)):
        numbers = [Decimal(base), Decimal(base) + Decimal(one), Decimal(base) + Decimal(other)]
        if len(set(numbers)) == len(numbers):
            texts = [f'{{"list": {token}}}\n' for token in (base, *map(str, numbers[1:]))]
            expect = {"number": {"at": "/list", "is": format(numbers[1] + Decimal(other), "f")}}
            about = {"id": f"values/sum-{number}", "about": "a sum: what both sides added to it"}
            yield {
                **about,
                **dict(zip(VERSIONS, texts, strict=True)),
                "schema": schema,
                "expect": expect,
            }
    versions = [{"list": number} for number in (5, 1, 6)]
    expect = conflict(versions[1], versions[2])
    yield vector("values/sum-reset", "one side fell below the base", versions, expect, schema)


def make_instants() -> Iterator[Vector]:
    instants = {
        "2026-01-01T10:00:00Z": 0,
        "2026-01-01T12:30:00+02:00": 30,
        "2025-12-31T23:00:00-11:59": 59,
    }
    for strategy, pick in (("max-time", max), ("min-time", min)):
        for number, texts in enumerate(itertools.permutations(instants)):
            best = pick(texts[1:], key=lambda text: instants[text])
            versions, about = [{"list": text} for text in texts], "instants are compared, not texts"
            rule = {"strategy": strategy}
            yield vector(
                f"values/{strategy}-{number}", about, versions, clean({"list": best}), place(rule)
            )


def make_ranks() -> Iterator[Vector]:
    order = ["todo", "doing", "done"]
    for number, texts in enumerate(itertools.product([*order, "odd"], repeat=3)):
        result = three_way(*texts)
        if result is CONFLICT and all(text in order for text in texts):
            places = [order.index(text) for text in texts]
            result = order[max(places)] if min(places) == places[0] else CONFLICT
        versions = [{"list": text} for text in texts]
        expect = (
            conflict(versions[1], versions[2]) if result is CONFLICT else clean({"list": result})
        )
        about, rule = f"an order of texts: {', '.join(texts)}", {"strategy": "max", "order": order}
        yield vector(f"values/max-{number}", about, versions, expect, place(rule))


def make_groups() -> Iterator[Vector]:
    schema = {
        "properties": {key: {"x-merge": {"strategy": "group", "name": "g"}} for key in ("a", "b")}
    }
    pairs = (itertools.product((0, new), repeat=2) for new in (1, 2))
    for number, (ours, theirs) in enumerate(itertools.product(*pairs)):
        versions = [{"a": one, "b": two, "c": 0} for one, two in ((0, 0), ours, theirs)]
        leaves = [three_way(0, one, two) for one, two in zip(ours, theirs, strict=True)]
        merged = clean({"a": leaves[0], "b": leaves[1], "c": 0})
        expect = conflict(versions[1], versions[2]) if CONFLICT in leaves else merged
        yield vector(
            f"values/group-{number}",
            "two members that are decided together",
            versions,
            expect,
            schema,
        )


def make_heads() -> Iterator[Vector]:
    """A group that follows the newer side and keeps what it leaves behind, while `same` agrees and
    time is in order.
    """
    rule = {"strategy": "group", "name": "g", "by": "/at", "superseded": "old", "same": ["/state"]}
    names = ("step", "note", "state")
    schema = {
        "properties": {
            "at": {"x-merge": {"strategy": "max-time"}},
            **{name: {"x-merge": rule} for name in names},
        }
    }
    days = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 5)]
    base = {"at": days[1], "step": 0, "note": 0, "state": "on"}
    sides = itertools.product(
        ((2, 3), (3, 2), (3, 3), (0, 3), (1, 2)), (0, 1), (0, 2), ("on", "off")
    )
    for number, ((mine, yours), note, other, state) in enumerate(sides):
        ours = {"at": days[mine], "step": 1, "note": note, "state": "on"}
        theirs = {"at": days[yours], "step": 2, "note": other, "state": state}
        versions = (base, ours, theirs)
        newer, older = (ours, theirs) if mine > yours else (theirs, ours)
        notes = three_way(0, note, other)
        merged = {**newer, "note": newer["note"] if notes is CONFLICT else notes, "old": [older]}
        latest = max(days[1], days[mine], days[yours])
        expect: Value = clean(merged)
        if state == "off" or mine == yours or min(mine, yours) < 2:
            expect = conflict({**ours, "at": latest}, {**theirs, "at": latest})
        yield vector(
            f"values/head-{number}", "members that follow the newer side", versions, expect, schema
        )


# choices: a conflict is as small as it can be, and each choice is a document


LAYOUTS: dict[str, dict[str, Any]] = {"two": {"indent": 2}, "tab": {"indent": "\t"}, "line": {}}


def make_choices() -> Iterator[Vector]:
    kinds: dict[str, tuple[Value, Value, Value]] = {
        "edited": (0, 1, 2),
        "removed": (0, ABSENT, 2),
        "gone": (0, 1, ABSENT),
        "added": (ABSENT, 1, 2),
    }
    for (kind, triple), at, (layout, style) in itertools.product(
        kinds.items(), range(3), LAYOUTS.items()
    ):
        documents: list[Value] = []
        for number, value in enumerate(triple):
            members: list[tuple[str, Value]] = [
                ("a", 0),
                ("b", {"x": 0, "y": number if number == 2 else 0}),
            ]
            members.insert(at, ("k", value))
            documents.append({key: one for key, one in members if one is not ABSENT})
        kept = [copy.deepcopy(one) for one in documents[1:]]
        for one in kept:
            one["b"]["y"] = 2
        about = f"a member {kind} by both at {at}, and an edit elsewhere that merges"
        yield laid_out(
            f"choices/member-{kind}-{at}-{layout}", about, documents, conflict(*kept), style
        )
        rows: list[list[Value]] = [
            [{"id": "a", "v": 0}, {"id": "b", "v": number if number == 2 else 0}]
            for number in range(3)
        ]
        for number, value in enumerate(triple):
            rows[number].insert(at, {"id": "k", "v": value})
        documents = [{"l": [row for row in each if row["v"] is not ABSENT]} for each in rows]
        kept = [copy.deepcopy(one) for one in documents[1:]]
        next(row for row in kept[0]["l"] if row["id"] == "b")["v"] = 2
        about = f"a record {kind} by both at {at}, and an edit elsewhere that merges"
        yield laid_out(
            f"choices/record-{kind}-{at}-{layout}", about, documents, conflict(*kept), style
        )
    yield from make_marked()


def laid_out(
    name: str, about: str, documents: list[Value], expect: Value, style: dict[str, Any]
) -> Vector:
    made = vector(name, about, (documents[0], documents[1], documents[2]), expect)
    return made | {
        key: json.dumps(document, **style) + "\n"
        for key, document in zip(VERSIONS, documents, strict=True)
    }


# format: what nobody changed keeps its bytes


def make_format() -> Iterator[Vector]:
    document = {
        "one": 1,
        "deep": {"list": [1, {"x": "same"}], "empty": {}, "two": 2},
        "last": [1.5, None, True],
    }
    styles: dict[str, dict[str, Any]] = {
        "two": {"indent": 2},
        "four": {"indent": 4},
        "tab": {"indent": "\t"},
        "none": {"indent": 0},
        "line": {},
        "packed": {"separators": (",", ":")},
    }
    for (style, how), eol, end, bom in itertools.product(
        styles.items(), ("\n", "\r\n"), (True, False), (False, True)
    ):
        text = json.dumps(document, **how).replace("\n", eol) + (eol if end else "")
        text = ("\ufeff" if bom else "") + text
        name = f"format/layout-{style}-{'crlf' if eol != chr(10) else 'lf'}{'-bom' * bom}{'' if end else '-open'}"
        colon = ":" if style == "packed" else ": "
        yield replaced(
            name,
            "layout is kept",
            text,
            (f'"one"{colon}1', f'"one"{colon}10'),
            (f'"two"{colon}2', f'"two"{colon}20'),
        )
    tokens = [
        "1.0",
        "1e400",
        "-0",
        "0.1000",
        "1E+2",
        "9007199254740993",
        "1" * 60,
        "1.5e-300",
        "100000000000000000000",
    ]
    tokens += [
        r'"\u00e9"',
        '"é"',
        r'"\/"',
        r'"\ud83d\ude00"',
        '"😀"',
        r'"\u0000"',
        '" "',
        r'"\""',
        r'"\ud800"',
        "[ ]",
        "{ }",
        "[1,2 ,3]",
    ]
    for number, token in enumerate(tokens):
        text = f'{{\n  "a": 1,\n  "kept": {token},\n  "list": [{token}],\n  "b": 1\n}}\n'
        yield replaced(
            f"format/token-{number}",
            f"{token[:30]} is kept as it is written",
            text,
            ('"a": 1', '"a": 2'),
            ('"b": 1', '"b": 3'),
        )
    odd = [
        '{ "b":1,\n\n "a" : [ 1,\n2 ] }\n',
        '{"b":1,"z":0,\n\t"a": {"y": 1}  }',
        '\n\n{"b":1 , "a":1}\n\n',
        '{"b":1,\r\n"a":1}\n',
    ]
    for number, text in enumerate(odd):
        name, about = f"format/odd-{number}", "a layout that no program writes"
        changed = {"base": text, "ours": text.replace('"b":1', '"b":7'), "theirs": text}
        yield {"id": name, "about": about, **changed, "expect": {"bytes": changed["ours"]}}
        changed = {"base": text, "ours": text, "theirs": text.replace('"b":1', '"b":7')}
        yield {
            "id": f"{name}-theirs",
            "about": about,
            **changed,
            "expect": {"bytes": changed["theirs"]},
        }
    keys = ["z", "a", "10", "9", "Z", ""]
    for number, order in enumerate((keys, keys[::-1], sorted(keys))):
        text = json.dumps(dict.fromkeys(order, 0), indent=2) + "\n"
        yield replaced(
            f"format/keys-{number}",
            "the order of members is kept",
            text,
            ('"z": 0', '"z": 1'),
            ('"9": 0', '"9": 2'),
        )
    yield from make_layouts()
    yield from make_unchanged()
    yield from make_writing()


def replaced(
    name: str, about: str, text: str, mine: tuple[str, str], yours: tuple[str, str]
) -> Vector:
    assert text.count(mine[0]) == text.count(yours[0]) == 1, (name, text)
    ours, theirs = text.replace(*mine), text.replace(*yours)
    both = ours.replace(*yours)
    return {
        "id": name,
        "about": about,
        "base": text,
        "ours": ours,
        "theirs": theirs,
        "expect": {"bytes": both},
    }


# text: what is no JSON is never called clean, and costs nobody anything


def make_text() -> Iterator[Vector]:
    good = '{\n  "a": "%s",\n  "b": "%s",\n  "c": 0\n}\n'
    spoilt: dict[str, Callable[[str], str | bytes]] = {
        "twice": lambda text: text.replace('"c": 0', '"c": 0,\n  "c": 1'),
        "comma": lambda text: text.replace('"c": 0', '"c": 0,'),
        "comment": lambda text: text.replace('"c": 0', '"c": 0 // why'),
        "nan": lambda text: text.replace('"c": 0', '"c": NaN'),
        "cut": lambda text: text[:-3],
        "quotes": lambda text: text.replace('"c"', "'c'"),
        "control": lambda text: text.replace('"c": 0', '"c": "a\tb"'),
        "number": lambda text: text.replace('"c": 0', '"c": 01'),
        "more": lambda text: text + "{}\n",
        "latin": lambda text: text.replace('"c": 0', '"c": "é"').encode("latin-1"),
        "markers": lambda text: text.replace(
            '  "c": 0\n', '<<<<<<< x\n  "c": 0\n=======\n  "c": 1\n>>>>>>> y\n'
        ),
    }
    for (kind, spoil), which in itertools.product(spoilt.items(), VERSIONS):
        texts = {
            "base": good % ("0", "0"),
            "ours": good % ("OURS", "0"),
            "theirs": good % ("0", "THEIRS"),
        }
        sides: dict[str, Value] = dict(texts)
        spoiled = spoil(texts[which])
        sides[which] = (
            spoiled if isinstance(spoiled, str) else {"base64": base64.b64encode(spoiled).decode()}
        )
        about = f"{which} is no JSON ({kind})"
        yield {
            "id": f"text/{kind}-{which}",
            "about": about,
            **sides,
            "expect": {"kept": ["OURS", "THEIRS"]},
        }


PROFILES: dict[str, tuple[str, Callable[[], Iterator[Vector]]]] = {
    "core": ("objects and single values; no schema", make_core),
    "keyed": ("lists of records that a member tells apart", make_keyed),
    "order": ("lists of values: what stays, and in which order", make_order),
    "sequence": ("lists whose items have no key: their order counts", make_sequence),
    "choices": ("conflicts: only what conflicts, and every choice is a document", make_choices),
    "format": ("bytes that nobody changed", make_format),
    "text": ("input that is no JSON", make_text),
    "queue": ("lists whose order counts, by a schema", make_queue),
    "log": ("lists that only grow, by a schema", make_log),
    "values": ("single values that a schema knows how to merge", make_values),
    "require": ("conditions that a merge of two good sides must not break", make_require),
    "schema": ("where a schema is read, and which schemas are refused", make_schema),
    "law": ("a schema that both sides keep, and that a merge must not break", make_law),
    "lines": ("JSON Lines: a record a line", make_lines),
}


def main() -> None:
    manifest: dict[str, Any] = {"version": VERSION, "profiles": {}}
    FOLDER.mkdir(exist_ok=True)
    for name, (about, make) in PROFILES.items():
        vectors = list(make())
        assert len({one["id"] for one in vectors}) == len(vectors), name
        lines = ",\n".join(json.dumps(one, ensure_ascii=True) for one in vectors)
        data = f"[\n{lines}\n]\n".encode()
        (FOLDER / f"{name}.json").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        manifest["profiles"][name] = {"about": about, "vectors": len(vectors), "sha256": digest}
    (FOLDER.parent / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(sum(profile["vectors"] for profile in manifest["profiles"].values()), "vectors")


if __name__ == "__main__":
    main()
