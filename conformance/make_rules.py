"""Rules of a schema that need more than one place: requirements, groups, logs with a limit."""

import itertools
from collections.abc import Iterator

from conformance.building import (
    ABSENT,
    CONFLICT,
    VERSIONS,
    Value,
    Vector,
    clean,
    conflict,
    place,
    say,
    three_way,
    vector,
)
from conformance.make_aligned import make_single_records

DAYS = [f"2026-03-{day:02d}T08:00:00Z" for day in range(1, 10)]
SET = {"x-merge": {"strategy": "set"}}


# require: what two good sides must not become together


def make_require() -> Iterator[Vector]:
    yield from make_non_empty()
    yield from make_same()
    yield from make_steps()


def make_non_empty() -> Iterator[Vector]:
    """A list that must not be empty while the state is "on": three values, each three-way, then the
    condition.
    """
    schema = {
        "properties": {"list": SET},
        "x-merge-require": [{"where": "/list", "non_empty_when": {"/state": "on"}}],
    }
    lists: list[Value] = [["A"], ["B"], ["A", "B"], [], ABSENT]
    states = ("on", "off")
    number = 0
    for base, ours, theirs in itertools.product(itertools.product(lists, states), repeat=3):
        if base[0] != ["A", "B"] or ours == theirs:
            continue
        number += 1
        versions = [make_record(*version) for version in (base, ours, theirs)]
        expect = expect_non_empty(versions)
        about = f"never empty while on: {say(versions[0])}, {say(versions[1])}, {say(versions[2])}"
        yield vector(f"require/non-empty-{number}", about, versions, expect, schema)
    versions = [{"list": list(items), "state": "on", "other": items} for items in ("AB", "A", "B")]
    expect = conflict(*[{**version, "list": []} for version in versions[1:]])
    about = "the condition, and a conflict elsewhere"
    yield vector("require/non-empty-other", about, versions, expect, schema)

    versions[1] = {**versions[1], "other": versions[0]["other"]}
    open_question = {"list": [], "state": "on", "other": "B"}
    about = "the condition, and an edit elsewhere that merges"
    yield vector(
        "require/non-empty-edit", about, versions, conflict(open_question, open_question), schema
    )


def make_record(items: Value, state: str) -> Value:
    return {**({} if items is ABSENT else {"list": items}), "state": state}


def is_good(record: Value) -> bool:
    return record["state"] == "off" or bool(record.get("list"))


def expect_non_empty(versions: Value) -> Value:
    """Expect what the values come to; where the merge alone empties the list, a question that no
    side answers.
    """
    base, ours, theirs = versions
    state = three_way(base["state"], ours["state"], theirs["state"])
    items = merge_sets(*(version.get("list", ABSENT) for version in versions))
    if items is CONFLICT:  # the list is removed here and changed there
        return conflict({**ours, "state": state}, {**theirs, "state": state})

    merged = make_record(items, state)
    if is_good(merged) or not (is_good(ours) and is_good(theirs)):
        return clean(merged)
    open_question = {"list": [], "state": state}
    return conflict(open_question, open_question)


def merge_sets(base: Value, ours: Value, theirs: Value) -> Value:
    decided = three_way(base, ours, theirs)
    if decided is not CONFLICT or ABSENT in (ours, theirs):
        return decided
    return [item for item in base if item in ours and item in theirs]


def make_same() -> Iterator[Vector]:
    """Two documents about two things are not mixed."""
    schema = {"x-merge-require": [{"same": "/who"}]}
    names = ("x", "y", ABSENT)
    number = 0
    for old, mine, yours in itertools.product(names, repeat=3):
        for has_edits in (True, False):
            number += 1
            base: Value = {"a": 0, "b": 0}
            edits = [{"a": 1}, {"b": 2}] if has_edits else [{}, {}]
            versions = [
                {**base, **edit, **({} if name is ABSENT else {"who": name})}
                for name, edit in zip((old, mine, yours), ({}, *edits), strict=True)
            ]
            if versions[0] in versions[1:]:
                expect = clean(three_way(*versions))
            elif mine != yours:
                expect = conflict(versions[1], versions[2])
            else:
                expect = clean({**versions[1], **edits[1]})
            about = f"who it is about: {say(old)}, {say(mine)}, {say(yours)}"
            yield vector(f"require/same-{number}", about, versions, expect, schema)

    about = "a side that is only laid out anew goes with the other, whoever that is about"
    was, now = {"a": 0, "who": "x"}, {"a": 1, "who": "y"}
    laid_out = vector("require/same-laid-out", about, (was, was, now), clean(now), schema)
    yield {**laid_out, "ours": '{"a": 0, "who": "x"}\n'}


ORDER = ["plan", "build", "ship"]
STEPS: Value = {
    "properties": {
        "rows": {"x-merge": {"strategy": "rows", "key": "/name"}},
        "now": {"x-merge": {"strategy": "max", "order": ORDER}},
        "state": {"x-merge": {"strategy": "max", "order": ["open", "closed"]}},
        "end": {"x-merge": {"strategy": "max-time"}},
    },
    "x-merge-require": [
        {
            "steps": "/rows",
            "key": "/name",
            "at": "/at",
            "order": ORDER,
            "current": "/now",
            "status": "/state",
            "done": "closed",
            "begin": "/begin",
            "end": "/end",
        }
    ],
}


def record_of(*days: int, end: int | None = None, note: int = 0) -> Value:
    """A lawful record: the first steps are done, one on each of the days."""
    rows = [{"name": name, "at": DAYS[day]} for name, day in zip(ORDER, days, strict=False)]
    is_over = len(days) == len(ORDER)
    record = {
        "rows": rows,
        "now": ORDER[min(len(days), 2)],
        "state": "closed" if is_over else "open",
        "note": note,
    }
    return {**record, "begin": DAYS[0], **({} if end is None else {"end": DAYS[end]})}


def make_steps() -> Iterator[Vector]:
    """Steps that are done one after the other: what both sides agree on merges, two histories are
    one conflict.
    """
    rows: dict[str, tuple[Value, Value, Value, Value]] = {
        "one side goes on": (
            record_of(1),
            record_of(1, 2),
            record_of(1, note=5),
            record_of(1, 2, note=5),
        ),
        "both sides did the same step": (
            record_of(1),
            record_of(1, 2),
            record_of(1, 2, 3, end=4),
            record_of(1, 2, 3, end=4),
        ),
        "a step at two times": (record_of(1), record_of(1, 2), record_of(1, 3), CONFLICT),
        "a step at two times, and one side went on": (
            record_of(1),
            record_of(1, 4),
            record_of(1, 2, 3),
            CONFLICT,
        ),
        "one side took a step back": (
            record_of(1, 2),
            record_of(1),
            record_of(1, 2, 3, end=3),
            CONFLICT,
        ),
        "one side ended before the other's last step": (
            record_of(1, 2),
            record_of(1, 2, end=3),
            record_of(1, 2, 5),
            CONFLICT,
        ),
        "an earlier beginning": (
            record_of(2),
            {**record_of(2), "begin": DAYS[1]},
            record_of(2, 4),
            {**record_of(2, 4), "begin": DAYS[1]},
        ),
        "a beginning behind the other's first step": (
            record_of(),
            {**record_of(), "begin": DAYS[3]},
            record_of(1),
            CONFLICT,
        ),
    }
    for number, (about, (base, ours, theirs, merged)) in enumerate(rows.items()):
        if merged is CONFLICT:
            note = three_way(base["note"], ours["note"], theirs["note"])
            expect = conflict({**ours, "note": note}, {**theirs, "note": note})
        else:
            expect = clean(merged)
        yield vector(f"require/steps-{number}", about, (base, ours, theirs), expect, STEPS)

    # a side that is unlawful by itself is to blame, and not the merge
    base, ours, theirs = record_of(1), {**record_of(1, 2), "now": "plan"}, record_of(1, note=3)
    expect = clean({**ours, "note": 3})
    yield vector(
        "require/steps-unlawful", "a side that breaks the rule", (base, ours, theirs), expect, STEPS
    )


# groups: members that come from one side together


def make_grouped() -> Iterator[Vector]:
    yield from make_rank()
    yield from make_two_ranks()
    yield from make_newest_group()
    yield from make_superseded()
    yield from make_ties()


def grouped(*names: str, **options: Value) -> Value:
    return {
        "properties": {
            name: {"x-merge": {"strategy": "group", "name": "g", **options}} for name in names
        }
    }


def make_rank() -> Iterator[Vector]:
    """A group that comes from the side that is further along."""
    order = ["todo", "doing", "done"]
    schema = grouped("state", "note", rank=[{"at": "/state", "order": order}])
    states = [*order, "odd"]
    for number, (old, mine, yours) in enumerate(itertools.product(states, repeat=3)):
        base = {"state": old, "note": 0, "free": 0}
        ours = {"state": mine, "note": 1, "free": 1}
        theirs = {"state": yours, "note": 2, "free": 0}
        expect = conflict(ours, {**theirs, "free": 1})
        if "odd" not in (old, mine, yours) and mine != yours:
            places = [order.index(state) for state in (old, mine, yours)]
            winner = ours if places[1] > places[2] else theirs
            if min(places) == places[0]:
                expect = clean({**winner, "free": 1})
        about = f"further along: {old}, {mine}, {yours}"
        yield vector(f"values/rank-{number}", about, (base, ours, theirs), expect, schema)
    base = {"state": "todo", "note": 0}
    ours, theirs = {"state": "done", "note": 0}, {"state": "todo", "note": 7}
    about = (
        "one side is further along, the other changed another member of the group: nothing is mixed"
    )
    yield vector("values/rank-whole", about, (base, ours, theirs), clean(ours), schema)
    ours = {**base, "note": 3}
    about = "one side changed the group, the other did not"
    other = {**base, "free": 1}
    yield vector("values/rank-one", about, (base, ours, other), clean({**ours, "free": 1}), schema)
    added: Value = ({}, {"state": "doing", "note": 1}, {"state": "done", "note": 2})
    yield vector("values/rank-added", "both sides added the group", added, clean(added[2]), schema)


def make_two_ranks() -> Iterator[Vector]:
    """Of two ranks the first that differs decides."""
    rank = [{"at": "/big", "order": ["a", "b"]}, {"at": "/small", "order": ["x", "y"]}]
    schema = grouped("big", "small", "note", rank=rank)
    base = {"big": "a", "small": "x", "note": 0}
    values = list(itertools.product("ab", "xy"))
    for number, (mine, yours) in enumerate(itertools.permutations(values, 2)):
        ours = {"big": mine[0], "small": mine[1], "note": 1}
        theirs = {"big": yours[0], "small": yours[1], "note": 2}
        winner = ours if mine > yours else theirs
        about = f"two ranks: {' '.join(mine)} here, {' '.join(yours)} there"
        yield vector(f"values/ranks-{number}", about, (base, ours, theirs), clean(winner), schema)


def make_newest_group() -> Iterator[Vector]:
    """A record and a number that come whole from the side whose record is newer."""
    schema = grouped("run", "streak", newest="/run/at")
    base = {"run": {"at": DAYS[1], "by": "base"}, "streak": 1}
    for number, (mine, yours) in enumerate(itertools.product((2, 3, 4), repeat=2)):
        ours = {"run": {"at": DAYS[mine], "by": "ours"}, "streak": 2}
        theirs = {"run": {"at": DAYS[yours], "by": "theirs"}, "streak": 0}
        expect = (
            conflict(ours, theirs) if mine == yours else clean(ours if mine > yours else theirs)
        )
        yield vector(
            f"values/newest-group-{number}",
            "the newer record",
            (base, ours, theirs),
            expect,
            schema,
        )
        theirs = {"run": {"at": DAYS[yours], "by": "theirs"}, "streak": 1}
        expect = (
            conflict(ours, theirs) if mine == yours else clean(ours if mine > yours else theirs)
        )
        about = "the newer record comes whole: not with the other side's number"
        yield vector(f"values/newest-whole-{number}", about, (base, ours, theirs), expect, schema)
    ours, theirs = {**base, "streak": 5}, {**base, "run": {"at": DAYS[2], "by": "theirs"}}
    about = "each side changed another member: no question is open"
    expect = clean({"run": theirs["run"], "streak": 5})
    yield vector("values/newest-apart", about, (base, ours, theirs), expect, schema)
    ours, theirs = [{"run": {"by": who}, "streak": 3} for who in ("ours", "theirs")]
    yield vector(
        "values/newest-timeless",
        "no record has a time",
        (base, ours, theirs),
        conflict(ours, theirs),
        schema,
    )
    ours = {**ours, "run": {"by": "ours", "at": DAYS[5]}}
    about = "one record has a time"
    yield vector(
        "values/newest-one-time", about, (base, ours, theirs), conflict(ours, theirs), schema
    )


def make_superseded() -> Iterator[Vector]:
    """What a newer side replaced is kept in a list, behind what the list has."""
    schema = grouped("step", "note", by="/at", superseded="old")
    schema["properties"]["at"] = {"x-merge": {"strategy": "max-time"}}
    schema["properties"]["old"] = {"x-merge": {"strategy": "log"}}
    entries = [{"at": DAYS[0], "step": f"before {name}", "note": 0} for name in "xy"]
    base = {"at": DAYS[1], "step": 0, "note": 0, "old": []}
    ours = {"at": DAYS[2], "step": 1, "note": 0, "old": entries[:1]}
    theirs = {"at": DAYS[3], "step": 2, "note": 2, "old": []}
    left_behind = {"at": DAYS[2], "step": 1, "note": 0}
    expect = clean({**theirs, "old": [*entries[:1], left_behind]})
    about = "the list has an entry of one side"
    yield vector("values/superseded-one", about, (base, ours, theirs), expect, schema)
    theirs = {**theirs, "old": entries[1:]}
    expect = {
        "list": {
            "at": "/old",
            "items": [*entries, left_behind],
            "before": [[e, left_behind] for e in entries],
        }
    }
    yield vector(
        "values/superseded-both",
        "the list has entries of both sides",
        (base, ours, theirs),
        expect,
        schema,
    )
    known = {"at": DAYS[1], "step": 0, "note": 0}
    base, ours, theirs = [{**version, "old": [known]} for version in (base, ours, theirs)]
    expect = clean({**theirs, "old": [left_behind]})
    about = "what base left behind is replaced: a rebase replays commit after commit"
    yield vector("values/superseded-again", about, (base, ours, theirs), expect, schema)
    for number, (mine, yours) in enumerate(
        [("soon", DAYS[3]), (ABSENT, DAYS[3]), (DAYS[0], DAYS[3])]
    ):
        schema = grouped("step", by="/at", superseded="old")
        schema["properties"]["at"] = {"x-merge": {"strategy": "newest", "by": "/at"}}
        base = {"at": DAYS[1], "step": 0}
        ours = {**({} if mine is ABSENT else {"at": mine}), "step": 1}
        theirs = {"at": yours, "step": 2}
        about = f"time proves nothing: {say(mine)}"
        expect = conflict({"at": yours, "step": 1}, {"at": yours, "step": 2})
        yield vector(
            f"values/superseded-time-{number}", about, (base, ours, theirs), expect, schema
        )


def make_ties() -> Iterator[Vector]:
    """What decides where a rule finds both sides equal: never which of them is ours."""
    versions: Value
    spellings = ["2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00+01:00"]
    for number, (one, other) in enumerate(itertools.permutations(spellings, 2)):
        versions = [{"list": text} for text in (DAYS[0], one, other)]
        expect = clean({"list": min((one, other), key=lambda text: (len(text), text))})
        for strategy in ("max-time", "min-time"):
            about = "one instant in two spellings: the shorter, then the smaller text"
            yield vector(
                f"values/tie-{strategy}-{number}",
                about,
                versions,
                expect,
                place({"strategy": strategy}),
            )
    for strategy in ("max-time", "min-time", "max-number", "sum"):
        versions = [{"list": text} for text in ("a", "b", "c")]
        about = "values that the rule cannot read"
        expect = conflict(versions[1], versions[2])
        yield vector(
            f"values/unread-{strategy}", about, versions, expect, place({"strategy": strategy})
        )
    texts = [f'{{"list": {token}}}\n' for token in ("1", "2.0", "2.00")]
    sides = dict(zip(VERSIONS, texts, strict=True))
    about = "one number in two spellings: the shorter text"
    expect = {"bytes": texts[1]}
    schema = place({"strategy": "max-number"})
    yield {
        "id": "values/tie-max-number",
        "about": about,
        **sides,
        "schema": schema,
        "expect": expect,
    }
    schema = place({"strategy": "newest", "by": "/at"})
    for number, at in enumerate((DAYS[1], "soon", None)):
        versions = [{"at": at, "list": text} for text in ("old", "b", "a")]
        about = "neither side is newer: the smaller text"
        yield vector(f"values/tie-newest-{number}", about, versions, clean(versions[2]), schema)
    versions = [{"a": number, "list": text} for number, text in ((0, "old"), (0, "b"), (1, "a"))]
    about = "neither side is newer: the smaller text, whichever document is smaller"
    yield vector("values/tie-newest-document", about, versions, clean(versions[2]), schema)


# logs


def make_logs() -> Iterator[Vector]:
    yield from make_fractions()
    yield from make_undated()
    yield from make_old_first()
    yield from make_log_keys()
    yield from make_single_records()


def make_fractions() -> Iterator[Vector]:
    """New entries stand newest first, by instants of any precision and offset."""
    schema = place({"strategy": "log", "key": "/at", "sort": "/at"})
    instants = [
        "2026-03-01T10:00:00.5Z",
        "2026-03-01T10:00:00.55Z",
        "2026-03-01T10:00:00Z",
        "2026-03-01T12:30:00+02:00",
        "2026-03-01T08:59:59-01:00",
    ]
    seconds = [0.5, 0.55, 0, 1800, -1]
    for number, (one, other) in enumerate(itertools.permutations(range(len(instants)), 2)):
        versions = [
            {"list": [{"at": instants[i]} for i in numbers]} for numbers in ((), (one,), (other,))
        ]
        newest = sorted((one, other), key=lambda i: seconds[i], reverse=True)
        expect = clean({"list": [{"at": instants[i]} for i in newest]})
        yield vector(
            f"log/instants-{number}", "newest first, by instants", versions, expect, schema
        )
    versions = [
        {"list": [{"at": at} for at in texts]} for texts in ((), ("no time",), (instants[0],))
    ]
    expect = clean({"list": [{"at": instants[0]}, {"at": "no time"}]})
    yield vector(
        "log/no-time",
        "an entry without an instant stands behind those with one",
        versions,
        expect,
        schema,
    )


def make_undated() -> Iterator[Vector]:
    """Limits where entries have no instants: what base has goes first, of it the last in the
    list.
    """
    for limit in (2, 3, 4):
        schema = place({"strategy": "log", "key": "/name", "limit": limit})
        base = [{"name": name} for name in "ab"]
        ours, theirs = (
            [{"name": "c"}, *base][: max(limit, 2)],
            [{"name": "d"}, *base][: max(limit, 2)],
        )
        items = [{"name": name} for name in "cdab"]
        versions = [{"list": items} for items in (base, ours, theirs)]
        expect = clean({"list": items[: max(limit, len(ours), len(theirs))]})
        yield vector(
            f"log/undated-{limit}", "a limit without a time to sort by", versions, expect, schema
        )
    schema = place({"strategy": "log", "key": "/name", "sort": "/at", "limit": 2})
    base = [{"name": "undated"}, {"name": "dated", "at": DAYS[0]}]
    ours, theirs = [{"name": "x", "at": DAYS[2]}, base[1]], [{"name": "y", "at": DAYS[3]}, base[0]]
    versions = [{"list": items} for items in (base, ours, theirs)]
    expect = clean({"list": [theirs[0], ours[0]]})
    yield vector(
        "log/undated-some", "a limit where one entry has no instant", versions, expect, schema
    )
    about = "a list that one side let grow beyond the limit keeps that length"
    schema = place({"strategy": "log", "key": "/name", "sort": "/at", "limit": 2})
    rows = [{"name": str(day), "at": DAYS[day]} for day in range(6)][::-1]
    versions = [{"list": items} for items in (rows[3:], rows[1:], [rows[0], *rows[3:]])]
    yield vector("log/longer", about, versions, clean({"list": rows[:5]}), schema)


def make_old_first() -> Iterator[Vector]:
    """The oldest entry goes, wherever it stands."""
    schema = place({"strategy": "log", "key": "/at", "sort": "/at", "limit": 3})
    entries = [{"at": at} for at in DAYS]
    base = [entries[0], entries[4]]
    versions = [{"list": items} for items in (base, [entries[5], *base], [entries[6], *base])]
    expect = clean({"list": [entries[6], entries[5], entries[4]]})
    yield vector("log/old-first", "the oldest entry stands before others", versions, expect, schema)


def make_log_keys() -> Iterator[Vector]:
    """What identifies an entry: one member, several, or all of it."""
    one = [{"a": 1, "b": 1, "v": 1}]
    versions: list[Value]
    versions = [{"list": items} for items in ([], [*one], [{"a": 1, "b": 2, "v": 2}])]
    both = [{"a": 1, "b": 1, "v": 1}, {"a": 1, "b": 2, "v": 2}]
    about = "two members identify an entry"
    rule = {"strategy": "log", "key": ["/a", "/b"]}
    yield vector("log/keys-two", about, versions, clean({"list": both}), place(rule))
    about = "one member identifies an entry, and two differ under it"
    expect = conflict(versions[1], versions[2])
    yield vector("log/keys-one", about, versions, expect, place({"strategy": "log", "key": "/a"}))
    about = "the whole entry"
    yield vector(
        "log/keys-none", about, versions, clean({"list": both}), place({"strategy": "log"})
    )
    single = {"k": 1, "v": 0}
    versions = [
        {"list": entries} for entries in (single, [single, {"k": 2, "v": 0}], {"k": 3, "v": 0})
    ]
    about = "a single record counts as a log of one"
    expect = {"list": {"at": "/list", "items": [{"k": 2, "v": 0}, {"k": 3, "v": 0}], "before": []}}
    yield vector("log/single", about, versions, expect, place({"strategy": "log", "key": "/k"}))
    versions = [{"list": entries} for entries in (single, [{"k": 1, "v": 1}], {"k": 1, "v": 2})]
    expect = conflict(versions[1], versions[2])
    about = "a single record, and a list with another version of it"
    yield vector(
        "log/single-edited", about, versions, expect, place({"strategy": "log", "key": "/k"})
    )
