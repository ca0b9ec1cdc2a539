"""Lists without a rule: what tells their items apart, and what is a conflict of one part of
them.
"""

import itertools
from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, either, in_list, place, vector

NATURAL = ("id", "number", "name", "sha", "path")
TITLES = ("key", "title", "subject", "content", "description", "text", "label")


def of_lists(
    name: str,
    about: str,
    base: Value,
    ours: Value,
    theirs: Value,
    expect: Value,
    schema: Value = None,
) -> Vector:
    return vector(name, about, map(in_list, (base, ours, theirs)), expect, schema)


def both(ours: Value, theirs: Value) -> Value:
    return conflict(in_list(ours), in_list(theirs))


# keyed: which member is the key


def make_keys() -> Iterator[Vector]:
    yield from make_natural()
    yield from make_stable()
    yield from make_titles()
    yield from make_renames()
    yield from make_repeated()


def make_natural() -> Iterator[Vector]:
    """Two members could be the key: the first of the known names is. One side exchanges the values
    of the other one.
    """
    for first, second in itertools.combinations(NATURAL, 2):
        base = [{second: "a", first: 1, "v": 0}, {second: "b", first: 2, "v": 0}]
        ours = [{**base[0], second: "b"}, {**base[1], second: "a"}]
        theirs = [{**base[0], "v": 1}, base[1]]
        expect = clean(in_list([{**ours[0], "v": 1}, ours[1]]))
        about = f"{first} tells the records apart, not {second}"
        yield of_lists(f"keyed/first-{first}-{second}", about, base, ours, theirs, expect)


def make_stable() -> Iterator[Vector]:
    """Without a known name, a member that tells all items apart and that no side edited is the
    key.
    """
    base: Value
    ours: Value
    theirs: Value
    rows: Value
    rows = [{"kind": "x", "tab": name, "v": 0} for name in "abc"]
    edited = [{**rows[0], "v": 1}, *rows[1:]]
    for at in range(4):
        ours = [*rows[:at], {"kind": "x", "tab": "new", "v": 0}, *rows[at:]]
        expect = clean(in_list([edited[0] if row is rows[0] else row for row in ours]))
        about = "a record is added here, another is edited there"
        yield of_lists(f"keyed/stable-added-{at}", about, rows, ours, edited, expect)
    about = "a record is removed here, another is edited there"
    expect = clean(in_list(edited[:2]))
    yield of_lists("keyed/stable-removed", about, rows, rows[:2], edited, expect)
    about = "the records are in another order here, one is edited there"
    expect = clean(in_list([rows[2], edited[0], rows[1]]))
    yield of_lists("keyed/stable-moved", about, rows, [rows[2], *rows[:2]], edited, expect)
    about = "each side adds a record of the same key: a contradiction"
    ours, theirs = [[*rows, {"kind": "x", "tab": "new", "v": v}] for v in (1, 2)]
    yield of_lists("keyed/stable-twice", about, rows, ours, theirs, both(ours, theirs))

    base = [{"a": 1, "b": 1, "v": 0}, {"a": 2, "b": 2, "v": 0}]
    ours = [{"a": 3, "b": 1, "v": 0}, {"a": 4, "b": 2, "v": 0}]
    theirs = [{**base[1], "v": 5}, base[0]]
    expect = clean(in_list([{**ours[1], "v": 5}, ours[0]]))
    about = "a member that one side edited is no key: the next one is"
    yield of_lists("keyed/stable-next", about, base, ours, theirs, expect)

    ours, theirs = [ours[1], ours[0]], [base[0], {**base[1], "v": 5}]
    expect = clean(in_list([{**ours[0], "v": 5}, ours[1]]))
    about = "a member that one side edited is no key, and the records are in another order"
    yield of_lists("keyed/stable-next-moved", about, base, ours, theirs, expect)

    base = [{"k": name, "v": name} for name in ("x", "x", "z")]
    ours, theirs = [{"k": "x", "v": "new"}, *base[1:]], [*base[:2], {"k": "z", "v": "edited"}]
    about = "a member whose value repeats is no key: the list merges in its order"
    expect = clean(in_list([ours[0], base[1], theirs[2]]))
    yield of_lists("keyed/stable-repeats", about, base, ours, theirs, expect)


def make_titles() -> Iterator[Vector]:
    """Both sides added the list: records of one title are one record."""
    ours: Value
    theirs: Value
    versions: Value
    for title in (*NATURAL, *TITLES):
        ours = [{title: "a", "done": True}, {title: "b", "done": False}]
        theirs = [{title: "b", "done": False}, {title: "c", "done": False}]
        expect = {
            "list": {
                "at": "/list",
                "items": [*ours, theirs[1]],
                "before": [[ours[0], ours[1]], theirs],
            }
        }
        versions = ({}, in_list(ours), in_list(theirs))
        yield vector(f"keyed/new-{title}", f"both added the list: {title}", versions, expect)
        theirs = [{title: "a", "done": False}]
        versions = ({}, in_list(ours), in_list(theirs))
        expect = conflict(in_list(ours), in_list([*theirs, ours[1]]))
        about = f"both added a record of one {title}, with other content"
        yield vector(f"keyed/new-{title}-twice", about, versions, expect)
    for first, second in itertools.combinations(TITLES, 2):
        ours, theirs = [{second: "x", first: "a"}], [{second: "y", first: "a"}]
        about = f"{first} is the title, not {second}"
        expect = both(ours, theirs)
        yield vector(
            f"keyed/title-{first}-{second}", about, ({}, in_list(ours), in_list(theirs)), expect
        )
    ours, theirs = [{"color": "red", "v": 1}], [{"color": "blue", "v": 1}]
    about = "both added the list, and no member is a title"
    yield vector(
        "keyed/new-untitled", about, ({}, in_list(ours), in_list(theirs)), both(ours, theirs)
    )


def make_renames() -> Iterator[Vector]:
    """A record that one side gives another key, and that the other side edits, is one record."""
    rows = [{"id": name, "a": 1, "b": 1, "c": 1} for name in ("first", "second", "third")]
    edited = [rows[0], {**rows[1], "c": 2}, rows[2]]
    renamed = [rows[0], {**rows[1], "id": "other"}, rows[2]]
    expect = clean(in_list([rows[0], {**renamed[1], "c": 2}, rows[2]]))
    yield of_lists("keyed/rename", "renamed here, edited there", rows, renamed, edited, expect)
    rule = place({"strategy": "rows", "key": "/id"})
    yield of_lists(
        "keyed/rename-rule",
        "renamed here, edited there, by a rule",
        rows,
        renamed,
        edited,
        expect,
        rule,
    )

    replaced = [rows[0], {"id": "other", "a": 7, "b": 7, "c": 7}, rows[2]]
    about = "another record stands in the place of one that is edited there"
    kept = [rows[0], replaced[1], edited[1], rows[2]], [rows[0], edited[1], replaced[1], rows[2]]
    lawful = [conflict(in_list(replaced), in_list(items)) for items in kept]
    yield of_lists("keyed/rename-replaced", about, rows, replaced, edited, {"one_of": lawful})


def make_repeated() -> Iterator[Vector]:
    """A key that a list has twice tells no record from another: none is mixed with another."""
    rule = place({"strategy": "rows", "key": "/sku"})
    base = [{"sku": "k", "v": 1}, {"sku": "k", "v": 2}]
    ours = [*base, {"sku": "m", "v": 0}]
    theirs = [{"sku": "n", "v": 0}, *base]
    expect = clean(in_list([theirs[0], *ours]))
    yield of_lists(
        "keyed/repeated", "two records of one key stay two", base, ours, theirs, expect, rule
    )
    ours, theirs = [base[1], base[0]], [*base, {"sku": "m", "v": 0}]
    expect = clean(in_list([base[1], base[0], theirs[2]]))
    about = "two records of one key, exchanged"
    yield of_lists("keyed/repeated-moved", about, base, ours, theirs, expect, rule)
    ours, theirs = [{"sku": "k", "v": 9}, base[1]], [base[0], {"sku": "k", "v": 8}]
    about = "two records of one key, one edited by each side: both edits are there"
    items = [{"sku": "k", "v": 9}, {"sku": "k", "v": 8}]
    expect = {"list": {"at": "/list", "items": items, "before": []}}
    yield of_lists("keyed/repeated-edited", about, base, ours, theirs, expect, rule)
    ours, theirs = [base[1]], [base[0], {"sku": "k", "v": 3}]
    about = "two records of one key: one removed here, the other edited there"
    expect = clean(in_list([theirs[1]]))
    yield of_lists("keyed/repeated-removed", about, base, ours, theirs, expect, rule)
    ours, theirs = [{"sku": "k", "a": 1}], [{"sku": "k", "b": 1}]
    about = "both added a record of one key, with other members: never a blend"
    yield of_lists("keyed/added-both", about, [], ours, theirs, both(ours, theirs), rule)
    pair = place({"strategy": "rows", "key": ["/a", "/b"]})
    base = [{"a": 1, "b": 1, "v": 0, "w": 0}, {"a": 1, "b": 2, "v": 0, "w": 0}]
    ours, theirs = [{**base[0], "v": 1}, base[1]], [base[1], {**base[0], "w": 1}]
    expect = clean(in_list([base[1], {**base[0], "v": 1, "w": 1}]))
    yield of_lists("keyed/two-members", "two members are the key", base, ours, theirs, expect, pair)


def make_identities() -> Iterator[Vector]:
    """An object whose identity both sides changed, each otherwise, is two things: nothing of them
    is mixed.
    """
    for name in NATURAL:
        base = {"k": {name: 1, "a": 0, "b": 0}}
        ours, theirs = {"k": {name: 2, "a": 1, "b": 0}}, {"k": {name: 3, "a": 0, "b": 1}}
        yield vector(
            f"core/identity-{name}",
            "two things by now",
            (base, ours, theirs),
            conflict(ours, theirs),
        )
        ours = {"k": {name: 1, "a": 1, "b": 0}}
        expect = clean({"k": {name: 3, "a": 1, "b": 1}})
        yield vector(
            f"core/identity-{name}-one", "one side renames it", (base, ours, theirs), expect
        )


# sequence: parts of a list


def make_parts() -> Iterator[Vector]:
    yield from make_exact()
    yield from make_alike()
    yield from make_regions()
    yield from make_moved()
    yield from make_positions()
    yield from make_sets()


def make_alike() -> Iterator[Vector]:
    """Both sides did the same at one place, and one of them something elsewhere."""
    base = ["0", "A", "B", "C", "D", "E", "E"]
    changes: dict[str, list[str]] = {
        "removed": [],
        "replaced by one": ["X"],
        "replaced by two": ["X", "Y"],
        "replaced by three": ["X", "Y", "Z"],
        "inserted": ["B", "X", "C"],
    }
    for number, (what, items) in enumerate(changes.items()):
        about = f"two items {what} by both, alike, and an edit of one side elsewhere"
        theirs = ["0", "A", *items, "D", "E", "E"]
        last = [*theirs[:-1], "END"]
        yield of_lists(f"sequence/alike-{number}", about, base, last, theirs, clean(in_list(last)))
        first = ["START", *theirs[1:]]
        yield of_lists(
            f"sequence/alike-first-{number}", about, base, first, theirs, clean(in_list(first))
        )


def make_regions() -> Iterator[Vector]:
    """A conflict is of the items that both replaced, and nothing else."""
    base: Value
    ours: Value
    theirs: Value
    versions: Value
    base = ["A", "B", "B", "C", "D", "D"]
    ours, theirs = ["A", "X", "C", "D", "D"], ["A", "Y", "Y", "Y", "C", "D", "END"]
    expect = conflict(in_list([*ours[:4], "END"]), in_list(theirs))
    about = "two items replaced by one here and by three there; an edit elsewhere merges"
    yield of_lists("sequence/region", about, base, ours, theirs, expect)
    ours, theirs = ["A", "X", "SAME", "C", "D", "D"], ["A", "Y", "Y", "SAME", "C", "D", "D"]
    base = ["A", "B", "B", "B", "C", "D", "D"]
    yield of_lists(
        "sequence/region-shared",
        "both put the same item last",
        base,
        ours,
        theirs,
        both(ours, theirs),
    )
    base = ["A", "B", "C", "D", "D"]
    ours, theirs = ["A", "X", "B", "C", "D", "D"], ["A", "Q", "C", "D", "D"]
    expect = clean(in_list(["A", "X", "Q", "C", "D", "D"]))
    about = "an insertion beside an item that the other side replaced"
    yield of_lists("sequence/beside-before", about, base, ours, theirs, expect)
    ours = ["A", "B", "X", "C", "D", "D"]
    expect = clean(in_list(["A", "Q", "X", "C", "D", "D"]))
    yield of_lists("sequence/beside-behind", about, base, ours, theirs, expect)
    ours, theirs = ["A", "C", "D", "D"], ["A", "B", "D", "D"]
    expect = clean(in_list(["A", "D", "D"]))
    yield of_lists(
        "sequence/removals", "two neighbours, one removed by each side", base, ours, theirs, expect
    )
    base = ["A", "B", "C", "D", "A"]
    ours, theirs = ["A", "D", "A"], ["A", "B", "X", "D", "A"]
    about = "two items removed here, one of them replaced there"
    yield of_lists("sequence/removed-edited", about, base, ours, theirs, both(ours, theirs))
    for number, value in enumerate((None, "text", 1, {}, {"a": 1})):
        ours, theirs = ["A"], ["B"]
        versions = ({"list": value}, in_list(ours), in_list(theirs))
        about = "two lists in the place of another value"
        yield vector(f"sequence/base-{number}", about, versions, both(ours, theirs))
    versions = ({}, in_list(["A", "B"]), in_list(["B", "A"]))
    about = "both added the list, in two orders"
    yield vector("sequence/new", about, versions, both(["A", "B"], ["B", "A"]))
    base = [[1, "a"], [2, "a"], [1, "a"]]
    ours, theirs = [[1, "b"], *base[1:]], [base[0], [2, "c"], base[2]]
    expect = clean(in_list([ours[0], theirs[1], base[2]]))
    yield of_lists("sequence/lists", "lists in a list", base, ours, theirs, expect)
    base = [{"x": 0, "y": 0}, {"x": 0, "y": 0}, "text"]
    ours, theirs = [{"x": 1, "y": 0}, *base[1:]], [{"x": 0, "y": 1}, *base[1:]]
    expect = clean(in_list([{"x": 1, "y": 1}, *base[1:]]))
    yield of_lists("sequence/members", "one item, two of its members", base, ours, theirs, expect)
    base = [f"item {number}" for number in range(300)] + ["same", "same"]
    ours, theirs = ["new", *base], [base[0], "edited", *base[2:], "end"]
    expect = clean(in_list(["new", base[0], "edited", *base[2:], "end"]))
    yield of_lists("sequence/long", "edits in a long list", base, ours, theirs, expect)


def make_exact() -> Iterator[Vector]:
    """What no side decides, and still must not depend on which of them is ours."""
    base: Value = ["A"]
    ours: Value = ["A", "X", "Y"]
    theirs: Value = ["A", "M", "Z"]
    about = "two runs at one place: the one with the smaller first item first"
    expect = clean(in_list(["A", "M", "Z", "X", "Y"]))
    yield of_lists("sequence/runs", about, base, ours, theirs, expect)
    expect = clean(in_list(["A", "M", "X", "Y", "Z"]))
    about = "two runs at one place in a set: always the smaller of the next two"
    yield of_lists(
        "sequence/runs-set", about, base, ours, theirs, expect, place({"strategy": "set"})
    )
    about = "two runs at one place, whichever document is smaller"
    versions = [
        {"a": number, "list": items} for number, items in ((0, base), (0, ours), (1, theirs))
    ]
    expect = clean({"a": 1, "list": ["A", "M", "Z", "X", "Y"]})
    queue = place({"strategy": "queue", "key": "/text"})
    for name, schema in (("free", None), ("queue", queue)):
        yield vector(f"sequence/runs-{name}", about, versions, expect, schema)
    about = "two runs at one place that share an item: it could be one or two"
    ours, theirs = ["A", "X", "S"], ["A", "S", "Y"]
    yield of_lists("sequence/runs-shared", about, base, ours, theirs, both(ours, theirs))

    base = [{"id": 0}]
    ours, theirs = [*base, {"id": 9, "v": 1}], [*base, {"id": 9, "v": 2}]
    about = "records in their order, as the schema says: no member is a key"
    expect = clean(in_list([*ours, theirs[1]]))
    yield of_lists(
        "sequence/not-keyed", about, base, ours, theirs, expect, place({"strategy": "sequence"})
    )

    base, ours, theirs = ["A", "B", "C", "D"], ["A", "X", "Y", "D"], ["A", "B", "NEW", "C", "D"]
    about = "two neighbours edited here, an item between them there"
    yield of_lists(
        "sequence/between", about, base, ours, theirs, clean(in_list(["A", "X", "NEW", "Y", "D"]))
    )
    base = ["S", "a", "a", "b", "b", "T"]
    ours, theirs = ["P", "P2", *base[1:5], "Q"], [*base[:3], "NEW", *base[3:]]
    about = "items that repeat, between edits"
    expect = clean(in_list(["P", "P2", "a", "a", "NEW", "b", "b", "Q"]))
    yield of_lists("sequence/repeating", about, base, ours, theirs, expect)
    about = "numbers that look like a move: by position, and a contradiction at one"
    base, ours, theirs = [1, 2, 3], [2, 3, 1], [1, 2, 7]
    expect = both([2, 3, 1], [2, 3, 7])
    yield of_lists("sequence/position-moved", about, base, ours, theirs, expect)

    base = ["a", "a", "b"]
    ours, theirs = ["c", "a", "a", "b"], ["a", "a"]
    about = "a value that is there twice stays there twice"
    expect = clean(in_list(["c", "a", "a"]))
    yield of_lists(
        "sequence/set-twice", about, base, ours, theirs, expect, place({"strategy": "set"})
    )


def make_moved() -> Iterator[Vector]:
    base: Value
    ours: Value
    theirs: Value
    base = ["A", "B", "C", "D"]
    strict = place({"strategy": "sequence"})
    for name, schema in (("free", None), ("strategy", strict)):
        # B before A here, and C before B there: no order has both and leaves A before C
        ours, theirs = ["B", "A", "C", "D"], ["A", "C", "B", "D"]
        about = "two moves that no order has both of"
        yield of_lists(
            f"sequence/orders-{name}", about, base, ours, theirs, both(ours, theirs), schema
        )
        ours, theirs = ["D", "A", "B", "C"], ["A", "B", "C", "D", "E"]
        expect = clean(in_list(["D", "A", "B", "C", "E"]))
        about = "one item moved here, one added there"
        yield of_lists(f"sequence/moved-added-{name}", about, base, ours, theirs, expect, schema)
        ours, theirs = ["D", "A", "B", "C"], ["A", "B", "C"]
        expect = clean(in_list(["A", "B", "C"]))
        about = "one item moved here, and removed there"
        yield of_lists(f"sequence/moved-removed-{name}", about, base, ours, theirs, expect, schema)
    base = ["R", "R", "A", "B", "D"]
    ours, theirs = ["D", "R", "R", "A", "B"], ["R", "R", "D", "A", "B"]
    about = "one item that both moved, in a list that has another twice"
    yield of_lists("sequence/moved-repeated", about, base, ours, theirs, both(ours, theirs))
    base = ["A", "B", "C", "D"]
    ours, theirs = ["D", "A", "X", "Y", "C"], ["A", "Z", "Z2", "Z3", "C", "D"]
    about = "a move, and one item that both replaced by several"
    yield of_lists("sequence/moved-rewritten", about, base, ours, theirs, both(ours, theirs))
    ours, theirs = ["D", "A", "NEW", "B", "C"], ["A", "B", "C", "NEW", "D"]
    about = "a move, and one item that both added, at two places"
    yield of_lists("sequence/moved-new", about, base, ours, theirs, both(ours, theirs))


def make_positions() -> Iterator[Vector]:
    base: Value
    ours: Value
    theirs: Value
    versions: Value
    base = [0, 0, 0]
    for one, other in itertools.permutations(range(3), 2):
        ours, theirs, result = [list(base) for _ in range(3)]
        ours[one] = result[one] = 5
        theirs[other] = result[other] = 7
        about = "numbers, as many in all three versions: by position"
        yield of_lists(
            f"sequence/position-{one}-{other}", about, base, ours, theirs, clean(in_list(result))
        )
    about = "numbers by position that look like a move"
    expect = clean(in_list([2, 1, 9]))
    yield of_lists("sequence/position-exchanged", about, [1, 2, 3], [2, 1, 3], [1, 2, 9], expect)
    about = "texts do not merge by position: an item moved"
    expect = clean(in_list(["B", "A", "X"]))
    yield of_lists("sequence/texts", about, list("ABC"), list("BAC"), list("ABX"), expect)
    about = "texts, one removed and one added by one side, as many as before"
    expect = clean(in_list(["X", "C", "D"]))
    yield of_lists("sequence/texts-shifted", about, list("ABC"), list("BCD"), list("AXC"), expect)
    rule = place({"strategy": "tuple"})
    ours, theirs = ["A", "B", "X"], ["A", "B", "Y"]
    about = "a tuple that grew on both sides"
    yield of_lists("sequence/tuple-grew", about, ["A", "B"], ours, theirs, both(ours, theirs), rule)
    ours, theirs = ["X", "B"], ["A", "B", "Y"]
    about = "a tuple that grew on one side"
    yield of_lists(
        "sequence/tuple-one-grew", about, ["A", "B"], ours, theirs, both(ours, theirs), rule
    )
    numbers = place({"strategy": "tuple"})
    about = "new tuples of both sides"
    versions = ({}, in_list([1, 2]), in_list([1, 3]))
    yield vector("sequence/tuple-new", about, versions, both([1, 2], [1, 3]), numbers)


def make_sets() -> Iterator[Vector]:
    """Lists that a schema calls unique."""
    base: Value
    ours: Value
    theirs: Value
    schema = {"properties": {"list": {"uniqueItems": True}}}
    changes = [["A"], ["A", "B", "C"], ["C", "A", "B"], ["B"], ["A", "B", "D"], []]
    base = ["A", "B"]
    for number, (ours, theirs) in enumerate(itertools.permutations(changes, 2)):
        items = [item for item in base if item in ours and item in theirs]
        items += [item for item in dict.fromkeys(ours + theirs) if item not in base]
        expect = {"list": {"at": "/list", "items": items, "before": []}}
        yield of_lists(
            f"sequence/set-{number}", "unique values", base, ours, theirs, expect, schema
        )
    records = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}]
    mine, yours = [{"a": 5, "b": 1}, *records[1:]], [{"a": 1, "b": 7}, *records[1:]]
    about = "unique records are edited, too: two members of one"
    expect = clean(in_list([{"a": 5, "b": 7}, *records[1:]]))
    yield of_lists("sequence/set-records", about, records, mine, yours, expect, schema)
    schema = {"properties": {"list": {"uniqueItems": False}}}
    ours, theirs = ["X", "A"], ["A", "X"]
    about = "values that need not be unique, one added by both at two places"
    expect = either(["X", "A", "X"], ours=ours, theirs=theirs)
    yield of_lists("sequence/not-unique", about, ["A"], ours, theirs, expect, schema)
