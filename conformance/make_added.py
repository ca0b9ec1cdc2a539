"""Lists without a key in which both sides added an equal item: one that came to both, or two."""

from collections.abc import Iterator

from conformance.building import Value, Vector, clean, conflict, either, in_list
from conformance.make_items import of_lists


def make_added() -> Iterator[Vector]:
    yield from make_touching()
    yield from make_apart()


def make_touching() -> Iterator[Vector]:
    """Both added X, and one of them changed the item beside it: X is there once."""
    base = ["A", "B", "C", "D"]
    added = ["A", "X", "B", "C", "D"]
    for name, theirs, about in (
        (
            "removed",
            ["A", "X", "C", "D"],
            "an item that both added, before one that one side removed",
        ),
        (
            "replaced",
            ["A", "X", "Q", "C", "D"],
            "an item that both added, before one that one side replaced",
        ),
        (
            "removed-before",
            ["X", "B", "C", "D"],
            "an item that both added, behind one that one side removed",
        ),
        (
            "replaced-before",
            ["Q", "X", "B", "C", "D"],
            "an item that both added, behind one that one side replaced",
        ),
    ):
        yield of_lists(
            f"sequence/both-added-{name}", about, base, added, theirs, clean(in_list(theirs))
        )

    base = ["A", "B", "C", "D", "E"]
    ours, theirs = ["A", "E", "B", "C", "X", "D2"], ["A", "E", "B", "C", "X", "D"]
    about = "an item that both moved, one that both added, and the one behind it edited here"
    yield of_lists(
        "sequence/both-added-moved",
        about,
        base,
        ours,
        theirs,
        either(ours, ours=ours, theirs=theirs),
    )


def make_apart() -> Iterator[Vector]:
    """Both added an equal item, at two places."""
    base: Value
    new: Value
    for name, make in (("list", lambda text: [text]), ("object", lambda text: {"at": [text]})):
        base = [make(text) for text in "ABC"]
        new = make("X")
        ours, theirs = [new, *base], [*base, new]
        about = f"an equal {name} that both added at two places is one that somebody moved"
        expect = conflict(in_list(ours), in_list(theirs))
        yield of_lists(f"sequence/both-added-apart-{name}", about, base, ours, theirs, expect)
        base = [base[0], *base]
        ours, theirs = [new, *base], [*base, new]
        about = f"an equal {name} that both added at two places of a list that repeats items"
        expect = either([new, *base, new], ours=ours, theirs=theirs)
        yield of_lists(
            f"sequence/both-added-apart-{name}-repeated", about, base, ours, theirs, expect
        )

    records: Value = [{"at": [text], "lines": [text], "runs": 0} for text in "ABC"]
    edited = {"at": ["A"], "lines": ["A"], "runs": 1}
    ours = [{"at": ["X"], "lines": ["X"], "runs": 0}, edited, records[2]]
    theirs = [edited, *records[1:]]
    about = "an item inserted and one removed, where the edit of a third is on both sides: the places are no pairs"
    yield of_lists(
        "sequence/both-added-shifted",
        about,
        records,
        ours,
        theirs,
        conflict(in_list(ours), in_list(theirs)),
    )

    about = "an equal number that both added, one of them in the place of another: two numbers"
    base, ours, theirs = [255, 128, 0], [255, 128, 0, 64], [255, 64, 0]
    yield of_lists(
        "sequence/both-added-number", about, base, ours, theirs, clean(in_list([255, 64, 0, 64]))
    )
