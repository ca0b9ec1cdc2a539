"""Merges of lists without a schema, built so that the right result is known: how many are right,
and how many wrong.

    python -m benchmarks.lists [--edits 5000] [--seed 1] [--show 3]

Each case is a list of one of several kinds (arguments, lines, numbers, records without a key, lists
of lists), and an edit of each side: items replaced, inserted, removed or moved, and members of
records changed. Every value that is put anywhere is new, and an item that the list repeats is left
alone, so the right result follows from what each side did. A conflict is right where both sides
touched one item, or added something at one place, and false anywhere else. A clean result that
differs from every right one is wrong.
"""

import argparse
import collections
import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from checkpoint_git.merge.file import merge_file

Item = tuple[int, Any]  # an identity that the merge does not see, and the value


class Edit(NamedTuple):
    """kind: "replace", "change", "insert", "remove" or "move". at: an item of base, or the gap
    before it.
    """

    kind: str
    at: int
    to: int
    values: tuple[Any, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--show", type=int, default=3, help="how many wrong results and false conflicts to print"
    )
    arguments = parser.parse_args()

    counts: collections.Counter[str] = collections.Counter()
    shown: collections.Counter[str] = collections.Counter()
    chooser = random.Random(arguments.seed)  # noqa: S311 (a generator of test cases)
    for number in range(arguments.edits):
        kind, base = build_list(chooser, number)
        edits = [build_edit(chooser, kind, base, f"{side}{number}") for side in ("ours", "theirs")]
        verdict, versions, merged = judge(base, edits[0], edits[1])
        counts[verdict] += 1
        counts[f"{verdict}: {kind}, {edits[0].kind} and {edits[1].kind}"] += verdict in (
            "wrong",
            "false conflict",
        )
        if verdict in ("wrong", "false conflict") and shown[verdict] < arguments.show:
            shown[verdict] += 1
            print(
                f"{verdict}: {kind} {edits}\n  "
                + "\n  ".join(json.dumps(value) for value in (*versions, merged))
            )

    for name, count in sorted(counts.items()):
        if count:
            print(f"{count:6} {100 * count / arguments.edits:5.1f} %  {name}")


def build_list(chooser: random.Random, number: int) -> tuple[str, list[Any]]:
    """Return a kind of list and an example of it: 3 to 9 items, some of them alike."""
    kind = chooser.choice(["texts", "arguments", "lines", "numbers", "records", "lists", "mixed"])
    size = chooser.randrange(3, 10)
    marks = [f"{kind}-{number}-{index}" for index in range(size)]
    if kind == "texts":
        return kind, marks
    if kind == "arguments":
        return kind, [text for mark in marks[: size // 2 + 1] for text in ("-e", mark)][:6]
    if kind == "lines":
        return kind, repeat_some(chooser, marks, ["", "}"])
    if kind == "numbers":
        return kind, repeat_some(chooser, [index + 1.5 for index in range(size)], [0])
    if kind == "lists":
        return kind, [[chooser.choice([1, 2]), mark] for mark in marks]
    if kind == "mixed":
        return kind, repeat_some(chooser, marks, [True, None, {"a": 1}, ["b"]])
    return kind, [
        {"kind": "cell", "lines": [mark, "end"], "run": chooser.choice([1, 2])} for mark in marks
    ]


def repeat_some(chooser: random.Random, items: list[Any], often: list[Any]) -> list[Any]:
    """Put values that many lists repeat in the place of up to three of the items."""
    found = list(items)
    for _ in range(3):
        found[chooser.randrange(len(found))] = chooser.choice(often)
    return found


def build_edit(chooser: random.Random, kind: str, base: list[Any], mark: str) -> Edit:
    single = [index for index, value in enumerate(base) if base.count(value) == 1]
    kinds = ["insert"]
    if single:
        kinds += ["replace", "remove", "change"]
    if len(single) == len(base) and kind != "numbers":  # numbers of one length are read by position
        kinds.append("move")
    what = chooser.choice(kinds)
    at = chooser.randrange(len(base) + 1) if what == "insert" else chooser.choice(single)
    fresh: list[Any] = [f"{mark}-{index}" for index in range(chooser.choice([1, 1, 2]))]
    if kind == "numbers":
        fresh = [1000 + abs(hash(value)) % 10**6 for value in fresh]
    elif kind == "records":
        fresh = [{"kind": "cell", "lines": [value, "end"], "run": 1} for value in fresh]
    elif kind == "lists":
        fresh = [[1, value] for value in fresh]
    elif kind == "arguments" and what == "insert":
        fresh = [text for value in fresh for text in ("-f", value)]
    if what == "replace":
        fresh = fresh[:1]
    return Edit(what, at, chooser.randrange(len(base)), tuple(fresh))


def apply(items: list[Item], edit: Edit, side: int) -> list[Item]:
    """Return the items after an edit; new ones have identities of the side's own."""
    found = list(items)
    if edit.kind == "insert":
        place = next(
            (number for number, item in enumerate(found) if item[0] == edit.at), len(found)
        )
        found[place:place] = [
            (side * 1000 + number, value) for number, value in enumerate(edit.values)
        ]
        return found
    place = next(number for number, item in enumerate(found) if item[0] == edit.at)
    if edit.kind == "remove":
        del found[place]
    elif edit.kind == "move":
        item = found.pop(place)
        found.insert(min(edit.to, len(found)), item)
    else:
        found[place] = (edit.at, change(found[place][1], edit))
    return found


def change(value: Any, edit: Edit) -> Any:
    changed = copy.deepcopy(value)
    if edit.kind == "change" and type(value) is dict and "lines" in value:
        changed["lines"][0] = edit.values[0]["lines"][0]
        return changed
    if edit.kind == "change" and type(value) is list and len(value) == 2:
        changed[1] = edit.values[0][1] if type(edit.values[0]) is list else edit.values[0]
        return changed
    return edit.values[0]


def judge(base: list[Any], ours: Edit, theirs: Edit) -> tuple[str, list[Any], Any]:
    """Return the verdict, the three versions as lists, and the merged list (None for a
    conflict).
    """
    items = list(enumerate(base))
    sides = [items, apply(items, ours, 1), apply(items, theirs, 2)]
    versions = [[value for _, value in side] for side in sides]
    texts = [json.dumps({"list": version}, indent=1).encode() for version in versions]
    merged = merge_file(texts[0], texts[1], texts[2])
    result = None if merged.conflicts else json.loads(merged.text)["list"]

    if versions[1] == versions[2] or versions[0] in versions[1:]:
        is_right = result in versions
        return "right" if is_right else "wrong", versions, result
    if result is None:
        return ("conflict" if meet(base, ours, theirs) else "false conflict"), versions, None
    if is_lawful(sides, result):
        return "right", versions, result
    return "wrong", versions, result


def is_lawful(sides: list[list[Item]], result: list[Any]) -> bool:
    """Return whether a result has what both sides made of each item, in an order that a side has or
    nobody contradicts.

    Equal values can be any of the items that have them: it is enough that one way to tell them
    apart is lawful.
    """
    expected = find_expected(sides)
    if expected is None:
        return False
    places: dict[str, list[int]] = collections.defaultdict(list)
    for identity, value in expected.items():
        places[json.dumps(value, sort_keys=True)].append(identity)
    if sorted(json.dumps(value, sort_keys=True) for value in result) != sorted(
        json.dumps(value, sort_keys=True) for value in expected.values()
    ):
        return False
    ordered = [find_order(sides, identities) for identities in name_items(result, places)]
    return any(ordered)


def name_items(result: list[Any], places: dict[str, list[int]]) -> Iterator[list[int]]:
    keys = [json.dumps(value, sort_keys=True) for value in result]
    names = list(places)
    for orders in itertools.product(*(itertools.permutations(places[name]) for name in names)):
        remaining = {name: list(order) for name, order in zip(names, orders, strict=True)}
        yield [remaining[key].pop() for key in keys]


def find_expected(sides: list[list[Item]]) -> dict[int, Any] | None:
    """Return the value of each item that is to be there, None where both sides changed one in two
    ways.
    """
    base, ours, theirs = [dict(side) for side in sides]
    expected = {}
    for identity in {**base, **ours, **theirs}:
        was, mine, yours = [version.get(identity, "absent") for version in (base, ours, theirs)]
        if was not in (mine, yours) and mine != yours:
            return None
        value = yours if mine == was else mine
        if value != "absent":
            expected[identity] = value
    return expected


def find_order(sides: list[list[Item]], identities: list[int]) -> bool:
    """Return whether each pair is in an order that a side gave it, or that base has if no side
    changed it.
    """
    ranks = [{identity: number for number, (identity, _) in enumerate(side)} for side in sides]
    for first, second in itertools.combinations(identities, 2):
        before = [rank[first] < rank[second] for rank in ranks if first in rank and second in rank]
        if not before:
            continue
        in_base = first in ranks[0] and second in ranks[0]
        is_moved = any(
            is_mover(sides, side, identity) for side in (1, 2) for identity in (first, second)
        )
        if in_base and len(before) == 3 and before[1] != before[2]:
            if before[0]:
                return False  # one side moved them
        elif not any(before) and not (is_moved and not in_base):
            return False
    return True


def is_mover(sides: list[list[Item]], side: int, identity: int) -> bool:
    base = [name for name, _ in sides[0]]
    moved = [name for name, _ in sides[side] if name in base]
    return identity in moved and moved != [name for name in base if name in moved]


def meet(base: list[Any], ours: Edit, theirs: Edit) -> bool:
    """Return whether a conflict is right: one item, one place, or a move, which may contradict what
    is beside it.
    """
    spans = []
    for edit in (ours, theirs):
        span = {edit.at, edit.to} if edit.kind == "move" else {edit.at}
        low, high = min(span), max(span)
        while low > 0 and base[low - 1] == base[min(low, len(base) - 1)]:
            low -= 1
        while high + 1 < len(base) and base[high + 1] == base[high]:
            high += 1
        spans.append(set(range(low, high + 1 + (edit.kind == "move"))))
    return bool(spans[0] & spans[1])


if __name__ == "__main__":
    main()
