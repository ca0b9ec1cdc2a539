"""The laws of the merge over many generated histories.

    python -m benchmarks.laws [--histories N] [--seed S] [--first NUMBER]

Each history is a base and two sessions of known operations on it, made from the seed and its number
alone. Exit code 1, with the smallest history that still breaks the law, when one is broken.
"""

import argparse
import copy
import json
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks import sequence_laws
from checkpoint_git.core.jsontext import decode, parse, scan_tokens
from checkpoint_git.core.jsonwrite import rewrite
from checkpoint_git.merge.file import Merged
from checkpoint_git.protocols.registry import schema_path
from checkpoint_git.protocols.validate import check_document
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.operations import KINDS, Operation, Value, apply_operations, start, text_of
from tests.merge.test_items import is_kept
from tests.support.merging import TAKEN, judge_texts, merge_texts

PATH = ".checkpoints/build.checkpoint.json"
NOW = 1_790_000_000
CHUNK = 200
MOST_OPERATIONS = 8
MOST_DONE = 10
OVERTAKEN = '"in_progress"'  # of a row that the other side completed
LAYOUTS = (2, 2, 2, 2, 4, 1, "\t", None)
KIND_NAMES = sorted(KINDS)

Merge = Callable[[str, str, str], Merged]


class History(NamedTuple):
    """What happened before the sides parted, what both did alike (a cherry-pick), and what each did
    alone.
    """

    before: list[Operation]
    shared: list[Operation]
    ours: list[Operation]
    theirs: list[Operation]
    layouts: tuple[int | str | None, int | str | None, int | str | None]


class Case(NamedTuple):
    """A history played, and its merge in both orientations; kept: the values of one when each side
    is chosen.
    """

    values: tuple[Value, Value, Value]
    texts: tuple[str, str, str]
    one: Merged
    other: Merged
    kept: tuple[Value, Value]


class Violation(NamedTuple):
    """A law that a history breaks. number: the history's."""

    law: str
    number: int
    detail: str


# histories


def make_history(seed: int, number: int) -> History:
    """The history of this number, always the same."""
    source = random.Random(f"{seed}/{number}")  # noqa: S311 (a test's choices, not a secret)
    before, shared = (
        _make_operations(source, side, source.choice((0, 0, 1, 3))) for side in ("b", "s")
    )
    ours, theirs = (_make_session(source, side) for side in ("o", "t"))
    layout = source.choice(LAYOUTS)
    layouts = [layout if source.random() < 0.8 else source.choice(LAYOUTS) for _ in range(2)]
    return History(before, shared, ours, theirs, (layout, layouts[0], layouts[1]))


def _make_session(source: random.Random, side: str) -> list[Operation]:
    """Mostly one that says when it was, as every command does; the same instant on both sides
    happens.
    """
    operations = _make_operations(source, side, source.randint(0, MOST_OPERATIONS))
    stamp = (
        [Operation("bump", source.randint(0, 9), side)]
        if operations and source.random() < 0.8
        else []
    )
    return [*operations, *stamp]


def _make_operations(source: random.Random, side: str, count: int) -> list[Operation]:
    marks = source.sample(range(100), count)
    return [
        Operation(source.choice(KIND_NAMES), source.randint(0, 8), f"{side}{mark:02}")
        for mark in marks
    ]


def play(history: History, merge: Merge) -> Case:
    """The three versions of a history, merged."""
    base = apply_operations(start(), history.before)
    ours, theirs = (
        apply_operations(base, [*history.shared, *side]) for side in (history.ours, history.theirs)
    )
    values = zip((base, ours, theirs), history.layouts, strict=True)
    first, second, third = (text_of(value, layout) for value, layout in values)
    one, other = merge(first, second, third), merge(first, third, second)
    kept = json.loads(keep_side(one.text, OURS)), json.loads(keep_side(one.text, THEIRS))
    return Case((base, ours, theirs), (first, second, third), one, other, kept)


# laws: each yields what is wrong, nothing where all is well


def check_one_side(case: Case, merge: Merge) -> Iterator[str]:
    """A side alone is the result, byte for byte."""
    base, ours, theirs = case.texts
    for changed in (ours, theirs):
        for sides in ((changed, base), (base, changed), (changed, changed)):
            merged = merge(base, *sides)
            if merged.conflicts or merged.text != changed:
                yield "the result is not the changed side's text"


def check_symmetry(case: Case, merge: Merge) -> Iterator[str]:
    """The sides swapped give the same content and as many conflicts."""
    if len(case.one.conflicts) != len(case.other.conflicts):
        yield f"{len(case.one.conflicts)} conflicts, {len(case.other.conflicts)} with the sides swapped"
    if not case.one.conflicts and case.one.text != case.other.text:
        yield "clean, but another text with the sides swapped"
    swapped = (
        json.loads(keep_side(case.other.text, THEIRS)),
        json.loads(keep_side(case.other.text, OURS)),
    )
    if case.kept != swapped:
        yield "other content with the sides swapped"


def check_no_loss(case: Case, merge: Merge) -> Iterator[str]:
    """What a side wrote is in the result or in a conflict, but for what is declared to follow one
    side.
    """
    base, *sides = case.values
    found = find_scalars(case.kept[0]) | find_scalars(case.kept[1])
    for side in sides:
        is_cut = max(len(value["recently_done"]) for value in case.kept) >= MOST_DONE
        lost = (
            find_scalars(_without_declared(side, is_cut)) - find_scalars(base) - found - {OVERTAKEN}
        )
        if lost:
            yield f"gone: {sorted(lost)}"


def check_no_resurrection(case: Case, merge: Merge) -> Iterator[str]:
    """What one side took away, and the other left alone, stays away: rows, blockers, decisions."""
    base, ours, theirs = (_items_by_list(value) for value in case.values)
    for name, before in base.items():
        for side, other in ((ours[name], theirs[name]), (theirs[name], ours[name])):
            away = {
                key for key, item in before.items() if key not in side and other.get(key) == item
            }
            back = (
                away & _items_by_list(case.kept[0])[name].keys()
                | away & _items_by_list(case.kept[1])[name].keys()
            )
            if back:
                yield f"back in {name}: {sorted(back)}"


def check_finished_work(case: Case, merge: Merge) -> Iterator[str]:
    """No action that one side took off the queue, and the other left alone, is offered again, in a
    conflict neither.
    """
    base, ours, theirs = (_count_actions(value) for value in case.values)
    for side, other, holder in ((ours, theirs, case.values[1]), (theirs, ours, case.values[2])):
        if "next_actions" not in holder:
            continue  # the whole field was removed, which says nothing of its actions
        finished = {key for key, count in base.items() if key not in side and other[key] == count}
        for value in case.kept:
            back = finished & _count_actions(value).keys()
            if back:
                yield f"to do again: {sorted(back)}"


def _count_actions(value: Value) -> Counter[str]:
    return Counter(_key(action) for action in value.get("next_actions", []))


def check_no_invention(case: Case, merge: Merge) -> Iterator[str]:
    """Whatever the result holds, one of the three versions holds, but for sums and the list of what
    gave way.
    """
    known = {"superseded"} | {scalar for value in case.values for scalar in find_scalars(value)}
    for value in case.kept:
        invented = find_scalars({**value, "cost": None}) - known - {"null"}
        if invented:
            yield f"in no version: {sorted(invented)}"


def check_no_doubling(case: Case, merge: Merge) -> Iterator[str]:
    """No item stands more often in a list of the result than in one of the sides."""
    lists = [_item_counts(value) for value in case.values]
    for value in case.kept:
        for place, count in _item_counts(value).items():
            if count > max(counts[place] for counts in lists):
                yield f"{count} times: {place}"


def check_order(case: Case, merge: Merge) -> Iterator[str]:
    """Two items stand as a side has them, where nobody has them otherwise, unless what one side
    moved forbids it.
    """
    for name in ("next_actions", "progress_table"):
        base, ours, theirs = ([_key(item) for item in value.get(name, [])] for value in case.values)
        if any(len(set(version)) < len(version) for version in (base, ours, theirs)):
            continue
        result = [_key(item) for item in case.kept[0].get(name, [])]
        sides = [[item for item in version if item in result] for version in (ours, theirs)]
        if not case.one.conflicts and not is_kept(
            result, [item for item in base if item in result], *sides
        ):
            yield f"{name}: {result}"


def check_limit(case: Case, merge: Merge) -> Iterator[str]:
    """What a list with a limit loses is not newer than what it keeps."""
    for value in case.kept:
        kept = [str(entry["at"]) for entry in value["recently_done"]]
        base, *sides = [
            {_key(entry): str(entry["at"]) for entry in each["recently_done"]}
            for each in case.values
        ]
        cut = (
            {key: at for side in sides for key, at in side.items() if key not in base}
            if len(kept) >= MOST_DONE
            else {}
        )
        for key in map(_key, value["recently_done"]):
            cut.pop(key, None)
        if any(at > min(kept) for at in cut.values()):
            yield f"cut: {cut}"


def check_costs(case: Case, merge: Merge) -> Iterator[str]:
    """Costs add up: what both sides spent, once where both recorded the same."""
    base, ours, theirs = (value["cost"]["total_usd"] for value in case.values)
    expected = ours if ours == theirs else ours + theirs - base
    for value in case.kept:
        if abs(value["cost"]["total_usd"] - expected) > 1e-9:
            yield f"cost is {value['cost']['total_usd']}, not {expected}"


def check_validity(case: Case, merge: Merge) -> Iterator[str]:
    """Valid sides give a valid checkpoint when clean, and when one side of all conflicts is chosen
    in an editor; but no side says what is next where both finished the rest of the queue.
    """
    for side in (OURS, THEIRS):
        findings = check_document(PATH, keep_side(case.one.text, side).encode(), now=NOW).findings
        is_open = bool(case.one.conflicts) and not case.kept[side // 2].get("next_actions")
        open_code = "skill/next-actions-empty" if is_open else ""
        errors = [
            finding.message
            for finding in findings
            if finding.level == "error" and finding.code != open_code
        ]
        if errors:
            yield f"{'clean result' if not case.one.conflicts else f'side {side} chosen'}: {errors[0]}"


def check_verdicts(case: Case, merge: Merge) -> Iterator[str]:
    """`audit --all` finds nothing lost, duplicated, mixed up, back or written anew, whatever side
    is chosen.
    """
    for side in (OURS, THEIRS):
        found = judge_texts(*case.texts, keep_side(case.one.text, side), SCHEMA)
        wrong = [entry for entry in found.entries if entry.verdict not in ("decided", *TAKEN)]
        if wrong:
            yield f"{wrong[0].verdict}: {wrong[0].name}"
        if not case.one.conflicts and found.count("decided"):
            yield "clean, and yet something was decided"


LAWS: dict[str, Callable[[Case, Merge], Iterator[str]]] = {
    "one side alone is kept byte for byte": check_one_side,
    "the sides can be swapped": check_symmetry,
    "nothing is lost": check_no_loss,
    "nothing removed comes back": check_no_resurrection,
    "nothing finished comes back": check_finished_work,
    "nothing is invented": check_no_invention,
    "nothing is duplicated": check_no_doubling,
    "an order that nobody contradicts is kept": check_order,
    "a limit takes the oldest": check_limit,
    "costs add up": check_costs,
    "a merged list absorbs its sides": sequence_laws.check_absorption,
    "a list keeps an order that nobody contradicts": sequence_laws.check_sequence_order,
    "nothing removed from a list comes back": sequence_laws.check_sequence_removal,
    "nothing in a list is duplicated": sequence_laws.check_sequence_counts,
    "the judge finds nothing lost": check_verdicts,
    "results are valid, each side of conflicts too": check_validity,
}


def find_scalars(value: Any) -> set[str]:
    """Every scalar in a document as text, keys included."""
    if isinstance(value, dict):
        return set(value) | {leaf for child in value.values() for leaf in find_scalars(child)}
    if isinstance(value, list):
        return {leaf for child in value for leaf in find_scalars(child)}
    return {json.dumps(value)}


def _without_declared(value: Value, is_cut: bool) -> Value:
    state = {
        key: field
        for key, field in value["skill_state"].items()
        if key not in ("last_run", "streak")
    }
    declared = ("updated_at", "cost", *(["recently_done"] if is_cut else []))
    return {
        key: field for key, field in {**value, "skill_state": state}.items() if key not in declared
    }


def _items_by_list(value: Value) -> dict[str, dict[str, Any]]:
    return {
        "progress_table": {row["id"]: row for row in value["progress_table"]},
        "blockers": {row["id"]: row for row in value["blockers"]},
        "key_decisions": {text: text for text in value["context_primer"]["key_decisions"]},
    }


def _item_counts(value: Value) -> Counter[tuple[str, str]]:
    state, primer = value["skill_state"], value["context_primer"]
    lists = {
        **{
            name: value.get(name, [])
            for name in ("progress_table", "blockers", "next_actions", "recently_done")
        },
        **{name: primer[name] for name in ("key_decisions", "generated_files", "user_preferences")},
        **{name: state[name] for name in ("run_history", "merged_prs")},
    }
    return Counter((name, _key(item)) for name, items in lists.items() for item in items)


def _key(item: Any) -> str:
    return (
        str(item["id"])
        if isinstance(item, dict) and "id" in item
        else json.dumps(item, sort_keys=True)
    )


# merges


def load_schema() -> dict[str, Any]:
    """The schema as the driver reads it."""
    path = schema_path(PATH)
    assert path is not None
    with open(path, "rb") as file:
        schema: dict[str, Any] = scan_tokens(decode(file.read()))
    return schema


SCHEMA = load_schema()


def merge_well(base: str, ours: str, theirs: str) -> Merged:
    """The merge as it is."""
    return merge_texts(base, ours, theirs, SCHEMA)


def merge_badly(base: str, ours: str, theirs: str) -> Merged:
    """A broken merge, to see that the laws notice: the private state comes whole from the newer
    side, always.
    """
    roots = [parse(text) for text in (ours, theirs)]
    newer = max(roots, key=lambda root: str(root.value["updated_at"])).value["skill_state"]
    sides = [rewrite(root, {**copy.deepcopy(root.value), "skill_state": newer}) for root in roots]
    return merge_texts(base, sides[0], sides[1], SCHEMA)


MERGES: dict[str, Merge] = {"well": merge_well, "badly": merge_badly}


# running


class Counts(NamedTuple):
    """How many histories were merged, how many conflicted, how many operations they held; the first
    violation.
    """

    histories: int
    conflicted: int
    operations: int
    violation: Violation | None


class Work(NamedTuple):
    """A run of history numbers for one process."""

    seed: int
    numbers: range
    merge: str


def find_violation(
    number: int, history: History, merge: Merge
) -> tuple[Case | None, Violation | None]:
    """The first law that a history breaks, if any; a merge that fails altogether breaks the first
    of laws.
    """
    try:
        case = play(history, merge)
    except Exception as error:
        return None, Violation("a merge answers", number, f"{type(error).__name__}: {error}")
    for law, check in LAWS.items():
        detail = next(check(case, merge), None)
        if detail is not None:
            return case, Violation(law, number, detail)
    return case, None


def run_chunk(work: Work) -> Counts:
    """Plays and checks a run of histories, up to the first violation."""
    conflicted = operations = 0
    for done, number in enumerate(work.numbers):
        history = make_history(work.seed, number)
        case, violation = find_violation(number, history, MERGES[work.merge])
        if violation is not None:
            return Counts(done + 1, conflicted, operations, violation)
        conflicted += bool(case and case.one.conflicts)
        operations += (
            len(history.before) + len(history.shared) + len(history.ours) + len(history.theirs)
        )
    return Counts(len(work.numbers), conflicted, operations, None)


def run_all(seed: int, numbers: range, processes: int, merge: str) -> Counts:
    """Return the counts of these histories, spread over processes; it ends at the first
    violation.
    """
    works = [
        Work(seed, numbers[start : start + CHUNK], merge) for start in range(0, len(numbers), CHUNK)
    ]
    total = Counts(0, 0, 0, None)
    with multiprocessing.Pool(processes) as pool:
        for counts in pool.imap(run_chunk, works):
            sums = [old + new for old, new in zip(total[:3], counts[:3], strict=True)]
            total = Counts(sums[0], sums[1], sums[2], counts.violation)
            if counts.violation is not None:
                break
            _show_progress(total.histories, len(numbers))
    return total


def _show_progress(done: int, count: int) -> None:
    step = max(count // 20, 1)
    if done // step != max(done - CHUNK, 0) // step:
        print(f"{done} of {count}", file=sys.stderr, flush=True)


def shrink(violation: Violation, history: History, merge: Merge) -> History:
    """The history without every operation that the violation does not need."""
    for name in ("before", "shared", "ours", "theirs"):
        at = 0
        while at < len(getattr(history, name)):
            operations = list(getattr(history, name))
            del operations[at]
            smaller = History(**{**history._asdict(), name: operations})
            _, found = find_violation(violation.number, smaller, merge)
            if found is not None and found.law == violation.law:
                history = smaller
            else:
                at += 1
    return history


def describe(violation: Violation, seed: int, merge: Merge) -> str:
    """The violation as a few lines: the law, how to see it again, and the smallest history that
    shows it.
    """
    history = shrink(violation, make_history(seed, violation.number), merge)
    _, smallest = find_violation(violation.number, history, merge)
    detail = violation.detail if smallest is None else smallest.detail
    lines = [
        f"BROKEN: {violation.law}: {detail}",
        f"seed {seed}, history {violation.number}, made small:",
    ]
    for name, operations in history._asdict().items():
        shown = operations if name == "layouts" else [tuple(operation) for operation in operations]
        lines.append(f"  {name}: {shown}")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Run, print the counts, and answer 1 where a law was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.laws", description="the laws of the merge, at length"
    )
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, metavar="NUMBER", help="of the histories: where to begin"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--merge",
        choices=MERGES,
        default="well",
        help="badly: a broken merge, which must be found out",
    )
    args = parser.parse_args(words)
    began = time.monotonic()
    numbers = range(args.first, args.first + args.histories)
    total = run_all(args.seed, numbers, args.processes, args.merge)
    print(
        f"{total.histories} histories (seed {args.seed}), {total.operations} operations, {len(LAWS)} laws each"
    )
    print(f"{total.histories - total.conflicted} clean, {total.conflicted} with conflicts")
    print(f"{time.monotonic() - began:.0f} seconds in {args.processes} processes")
    if total.violation is None:
        print("no law was broken")
        return 0
    print(describe(total.violation, args.seed, MERGES[args.merge]))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
