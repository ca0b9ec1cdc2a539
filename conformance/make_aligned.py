"""Where the algorithm's page decides between two alignments, two orders or two keys, and a simpler
rule would not.
"""

from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, in_list, place, vector
from conformance.make_items import both, of_lists

MOST_EDITS = 256
MOST_COMPARED = 64


# sequence: which items go on


# Base, ours, theirs and the result, a letter an item: two scripts are as short, and the page says
# which one is taken.
TIES = (
    ("AAB", "A", "YA", "YA"),
    ("BBA", "B", "ZB", "ZB"),
    ("ABA", "AA", "YB", "Y"),
    ("ABA", "AB", "YB", "YB"),
    ("BAB", "YA", "BA", "YA"),
    ("BBA", "ZB", "YB", "YZB"),
    ("AAB", "AA", "AXA", "AXA"),
    ("AAB", "AB", "AXA", "AX"),
    ("ABA", "AA", "AXB", "AX"),
    ("ABA", "BA", "XAA", "XA"),
    ("ABB", "XAB", "BB", "XB"),
    ("BAA", "AA", "XBA", "XA"),
)


def make_aligned() -> Iterator[Vector]:
    for number, (base, ours, theirs, result) in enumerate(TIES):
        about = "two edit scripts of one length"
        expect = clean(in_list(list(result)))
        yield of_lists(
            f"sequence/tie-{number}", about, list(base), list(ours), list(theirs), expect
        )
    yield from make_limits()
    yield from make_patience()


def make_limits() -> Iterator[Vector]:
    """Up to 256 edits the shortest script decides. Of more, only items that both lists have once
    are looked at.
    """
    for edits in (MOST_EDITS - 1, MOST_EDITS, MOST_EDITS + 1):
        for kind, repeated in (("twice", ["d", "d"]), ("once", ["d", "e"])):
            # never as many as are removed: those would be edits one by one
            added = MOST_EDITS // 2 - 2
            removed = edits - 2 - added
            base = [*(f"old {number}" for number in range(removed)), *repeated, "end"]
            ours = [*(f"new {number}" for number in range(added)), *repeated, "END"]
            theirs = [*base[:-2], "between", *base[-2:]]
            about = f"{edits} edits here; there, an item between two that are {kind} in the list"
            is_aligned = edits <= MOST_EDITS or kind == "once"
            merged = [*ours[:-2], "between", *ours[-2:]]
            expect = clean(in_list(merged)) if is_aligned else both(ours, theirs)
            yield of_lists(f"sequence/limit-{edits}-{kind}", about, base, ours, theirs, expect)


def make_patience() -> Iterator[Vector]:
    """Beyond the limit: the longest run of single items that rises in both lists; of two, the one
    that ends first.
    """
    old = [f"old {number}" for number in range(140)]
    new = [f"new {number}" for number in range(141)]
    twice = ["s", "s"]

    base = [*old, "A", *twice, "B", "end"]
    ours = [*new, "B", *twice, "A", "END"]
    theirs = [*old, "A", "s", "between", "s", "B", "end"]
    about = "two single items in the other order: the one that is earlier there goes on, and what is before it does not"
    kept = [*theirs[:-1], *twice, "A", "END"]
    yield of_lists("sequence/patience-tie", about, base, ours, theirs, both(ours, kept))

    base = [*old, "A", "B", *twice, "C", "end"]
    ours = [*new, "C", "A", "B", *twice, "END"]
    theirs = [*old, "A", "B", "s", "between", "s", "C", "end"]
    about = (
        "of three single items the two that are in one order go on, and what is equal behind them"
    )
    expect = clean(in_list([*new, "C", "A", "B", "s", "between", "s", "END"]))
    yield of_lists("sequence/patience-longest", about, base, ours, theirs, expect)


# keyed: which member is the key


def make_key_rules() -> Iterator[Vector]:
    base: Value
    ours: Value
    theirs: Value
    rows: Value

    about = "a key whose value is a list is none: the next member tells the records apart"
    rows = [{"id": [0], "tab": name, "v": 0} for name in "abc"]
    ours, theirs = [rows[2], *rows[:2]], [{**rows[0], "v": 1}, *rows[1:]]
    expect = clean(in_list([rows[2], theirs[0], rows[1]]))
    yield of_lists("keyed/rule-container", about, rows, ours, theirs, expect)

    about = "a key that one list has twice is none: the next one is"
    rows = [{"id": number, "name": name, "v": 0} for number, name in enumerate("abc")]
    ours, theirs = [*rows, {"id": 2, "name": "d", "v": 0}], [rows[2], {**rows[1], "v": 1}, rows[0]]
    expect = clean(in_list([rows[2], theirs[1], rows[0], ours[3]]))
    yield of_lists("keyed/rule-twice", about, rows, ours, theirs, expect)

    about = "a key that one record lacks is none: the next one is"
    ours = [*rows, {"name": "d", "v": 0}]
    yield of_lists(
        "keyed/rule-lacking", about, rows, ours, theirs, clean(in_list([*theirs, ours[3]]))
    )

    about = "the members are tried in the order of base's first record"
    base = [{"one": 1, "two": 1, "v": 0}, {"two": 2, "one": 2, "v": 0}]
    ours = [{"two": 2, "one": 1, "v": 0}, {"two": 1, "one": 2, "v": 0}]
    theirs = [{**base[0], "v": 7}, base[1]]
    expect = clean(in_list([{**ours[0], "v": 7}, ours[1]]))
    yield of_lists("keyed/rule-first", about, base, ours, theirs, expect)

    about = "a side that only removed records did not edit their key"
    rows = [{"tab": name, "v": 0} for name in "abc"]
    ours, theirs = [{**rows[0], "v": 1}, rows[2]], [{**rows[0], "w": 1}, *rows[1:]]
    expect = clean(in_list([{**rows[0], "v": 1, "w": 1}, rows[2]]))
    yield of_lists("keyed/rule-removed", about, rows, ours, theirs, expect)

    about = "an empty list has nothing against a key"
    ours, theirs = [], [rows[0], {**rows[1], "v": 1}, rows[2]]
    named = [{"id": number, "v": 0} for number in range(2)]
    theirs = [named[0], {**named[1], "v": 1}]
    expect = conflict(in_list([]), in_list([theirs[1]]))
    yield of_lists("keyed/rule-empty", about, named, ours, theirs, expect)


# order: which of two orders


def make_chosen_orders() -> Iterator[Vector]:
    """A list that may choose takes the order with the fewest misplaced items, then one that begins
    with a new item.
    """
    rule = place({"strategy": "rows", "key": "/id"})
    cases = (
        ("ABC", "CAB", "ABCD", "CABD", "what is new stands behind the last of what it followed"),
        ("", "TS", "S", "TS", "what both have is an anchor"),
        ("ABC", "CAB", "BAC", "CBA", "both moved, and one order has both moves"),
        ("AB", "AXB", "AYB", "AXYB", "one place, the smaller first"),
        ("ABCD", "ACXBD", "ABCYD", "ACXBYD", "a move, and a new item of each side"),
        ("A", "ZA", "AWZ", "AWZ", "a new item of both, at two places"),
        (
            "A",
            "WA",
            "AW",
            "WA",
            "a new item of both, at two places: first where it is before what stays",
        ),
        ("AB", "AWB", "BA", "BAW", "a move, and a new item behind what moved"),
        ("AB", "ZBA", "AZaB", "ZaBA", "a move, and a new item of both"),
        ("AB", "ABbZ", "ZBA", "BAbZ", "a move, and a new item of both, before and behind"),
        ("AB", "ZAaB", "BAZ", "BAaZ", "a move, and a new item of both, behind and before"),
        ("ABC", "BCAX", "XaAYBC", "BCAXaY", "a move, and items between what moved"),
        ("ABCD", "AaBXCD", "CDBA", "CDBAaX", "three moves, and items between what moved"),
        ("ABC", "XAYBC", "ACBX", "AXYCB", "a move, and a new item of both, and one between"),
        (
            "ABC",
            "SACB",
            "BAC",
            "SACB",
            "two moves that contradict: the order with the smaller items",
        ),
    )
    for number, (base, ours, theirs, result, about) in enumerate(cases):
        lists = [[{"id": name} for name in names] for names in (base, ours, theirs)]
        expect = clean(in_list([{"id": name} for name in result]))
        yield of_lists(f"keyed/orders-{number}", about, lists[0], lists[1], lists[2], expect, rule)
    yield from make_many_moves()


def make_many_moves() -> Iterator[Vector]:
    """Two moves that one order has are made up to 64 items; of more it is not looked for, where
    nobody may choose.
    """
    for count in (MOST_COMPARED, MOST_COMPARED + 1):
        base = [{"id": number} for number in range(count)]
        ours = [base[1], base[0], *base[2:]]
        theirs = [*base[:-2], base[-1], base[-2]]
        merged = [base[1], base[0], *theirs[2:]]
        expect = clean(in_list(merged)) if count <= MOST_COMPARED else both(ours, theirs)
        about = f"two moves in a list of {count} records"
        yield of_lists(f"keyed/moves-{count}", about, base, ours, theirs, expect)


# log: a single record that became a list


def make_single_records() -> Iterator[Vector]:
    """A record that is not yet a list becomes one, with all that stay: no limit drops one then."""
    days = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 6)]
    records = [{"at": at, "v": 0} for at in days]
    rule = {"strategy": "log", "key": "/at", "sort": "/at", "limit": 1}
    about = (
        "a single record here, a list of more there than the limit says: all stay, the newest first"
    )
    versions: list[Value] = [
        {"list": held} for held in (records[0], records[3], [records[2], records[1]])
    ]
    expect = clean(in_list([records[3], records[2], records[1]]))
    yield vector("log/single-limit", about, versions, expect, place(rule))

    about = "two records of two keys and none before: both stay"
    versions = [{}, {"list": records[1]}, {"list": records[2]}]
    yield vector(
        "log/single-new", about, versions, clean(in_list([records[2], records[1]])), place(rule)
    )

    about = "two single records of one key are one object"
    versions = [
        {"list": {"at": days[0], "v": 0, "w": 0}},
        {"list": {"at": days[0], "v": 1, "w": 0}},
    ]
    versions.append({"list": {"at": days[0], "v": 0, "w": 1}})
    expect = clean(in_list({"at": days[0], "v": 1, "w": 1}))
    yield vector("log/single-object", about, versions, expect, place(rule))

    about = "a list within its limit, and one beyond it: the oldest go"
    versions = [{"list": held} for held in (records[:1], [records[1]], [records[2], records[0]])]
    yield vector(
        "log/list-limit", about, versions, clean(in_list([records[2], records[1]])), place(rule)
    )
