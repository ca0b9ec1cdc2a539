"""What few documents need, and an implementation easily leaves out: records that changed into
others, instants in every form, texts beyond the basic plane.
"""

import itertools
from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, place, vector

NATURAL_KEYS = ("id", "number", "name", "sha", "path")

# An instant in each form, with the seconds from the first to it
INSTANTS = {
    "2028-02-29T10:00:00Z": 0,
    "2028-02-29t10:00:01z": 1,
    "2028-02-29 10:00:02Z": 2,
    "2028-02-29T10:00:03": 3,
    "2028-02-29T12:00:04+0200": 4,
    "2028-02-29T08:00:05-02:00": 5,
    "2028-02-29T10:01Z": 60,
    "2028-02-29T10:01:60Z": 120,
    "2028-02-29T10:02:00.25Z": 120.25,
    "2028-03-01T09:59:06+23:59": 6,
}
NO_INSTANTS = (
    "2027-02-29T10:00:00Z",
    "2028-02-29T24:00:00Z",
    "2028-02-29T10:60:00Z",
    "2028-02-29T10:00:61Z",
    "2028-13-01T10:00:00Z",
    "0000-01-01T10:00:00Z",
    "2028-02-29T10:00:00+24:00",
    "soon",
)


def make_two_things() -> Iterator[Vector]:
    """An object that both sides made another thing, by the member that names it, is one conflict.
    Nothing is mixed.
    """
    for key in NATURAL_KEYS:
        for old in ({key: "x"}, {}):
            records = [
                {**old, "a": 0, "b": 0},
                {key: "y", "a": 1, "b": 0},
                {key: "z", "a": 0, "b": 2},
            ]
            versions = [{"k": record, "other": 0} for record in records]
            about = f"two things, by their {key}, and {'another' if old else 'none'} before"
            name = f"core/two-things-{key}" + ("" if old else "-new")
            yield vector(name, about, versions, conflict(versions[1], versions[2]))

        records = [
            {key: "x", "a": 0, "b": 0},
            {key: "y", "a": 1, "b": 0},
            {key: "x", "a": 0, "b": 2},
        ]
        versions = [{"k": record, "other": 0} for record in records]
        expect = clean({"k": {key: "y", "a": 1, "b": 2}, "other": 0})
        yield vector(f"core/one-thing-{key}", f"one side alone changed {key}", versions, expect)


def make_instant_forms() -> Iterator[Vector]:
    """The later of two instants, in all forms; and what is none, which is a conflict."""
    schema = place({"strategy": "max-time"}, "at")
    for number, (one, other) in enumerate(itertools.combinations(INSTANTS, 2)):
        versions: Value = [{"at": text} for text in ("2020-01-01T00:00:00Z", one, other)]
        later = max((one, other), key=lambda text: INSTANTS[text])
        about = f"the later of {one} and {other}"
        yield vector(f"values/forms-{number}", about, versions, clean({"at": later}), schema)

    for number, text in enumerate(NO_INSTANTS):
        versions = [{"at": at} for at in ("2020-01-01T00:00:00Z", text, "2028-02-29T10:00:00Z")]
        expect = conflict(versions[1], versions[2])
        yield vector(
            f"values/no-instant-{number}", f"{text} is no instant", versions, expect, schema
        )


def make_code_points() -> Iterator[Vector]:
    """Two new items for one place stand in the order of their code points, which is not that of
    UTF-16 units.
    """
    schema = place({"strategy": "set"})
    for number, (one, other) in enumerate(
        (("\uffff", "\U0001f600"), ("a\ufb01", "a\U00010000"), ("Z", "a"))
    ):
        versions: Value = [{"list": items} for items in ([], [other], [one])]
        about = "two texts in the order of their code points"
        yield vector(
            f"values/code-points-{number}", about, versions, clean({"list": [one, other]}), schema
        )
