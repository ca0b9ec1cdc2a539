"""How often git's merge of text fails on telemetry that two branches wrote, by the way it is laid out in files.

`python -m benchmarks.layouts [--merges N] [--seed N]`. Every merge has a base, two sides that each made a few changes,
and an oracle: what any person would want of both. Both sides' changes go together, so every conflict is needless; a
clean merge whose content is not the oracle's is counted as wrong. Files that both sides changed are merged by
`git merge-file` with three versions; what only one side changed, added or removed is taken as git takes it.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.files import make_checkpoint
from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill.events import FIELD, SHARDED, Stored, event_text, read_event
from checkpoint_git.protocols.skill.sharded import join_value, plan_split

Record = dict[str, Any]
Files = dict[str, bytes]
PATH = "build.checkpoint.json"


class Layout(NamedTuple):
    """How records are written to files, and how they are read again (None: they cannot be read)."""

    name: str
    write: Callable[[list[Record], Files], Files]
    read: Callable[[Files], list[Record] | None]


class Mix(NamedTuple):
    """What a side does, in shares of its changes; the rest appends.

    stamped: each write sets updated_at too. shared: both sides may alter one entry, each in a field of its own.
    """

    name: str
    alter: float
    remove: float
    stamped: bool = False
    shared: bool = False


MIXES = (
    Mix("append", 0.0, 0.0),
    Mix("append, remove the oldest", 0.0, 0.15),
    Mix("append, remove, alter", 0.2, 0.15),
    Mix("append, alter the same entries in other fields", 0.2, 0.0, shared=True),
    Mix("append, and stamp the time", 0.0, 0.0, stamped=True),
)


# the changes


def make_record(chance: random.Random, number: int) -> Record:
    """An entry as a list of merged pull requests has it."""
    return {
        "number": number,
        "sha": f"{chance.getrandbits(48):012x}",
        "title": f"change {chance.randrange(10_000)}",
        "state": "merged",
        "checks": chance.choice(["green", "red"]),
    }


def change(chance: random.Random, records: list[Record], mix: Mix, side: int) -> list[Record]:
    """One to four changes of a side. The sides remove different entries and alter different fields."""
    changed = [dict(record) for record in records]
    for turn in range(chance.randint(1, 4)):
        dice = chance.random()
        old = [record for record in changed if record["number"] < 1_000]
        own = [record for record in old if record["number"] % 2 == side]
        if dice < mix.remove and own:
            changed.remove(own[0])
        elif dice < mix.remove + mix.alter and (old if mix.shared else own):
            entry = chance.choice((old if mix.shared else own)[-4:])
            entry["state" if side else "title"] = f"changed {chance.randrange(10_000)}"
        else:
            changed.append(make_record(chance, 1_000 + 100 * side + turn))
    return changed


def join(base: list[Record], ours: list[Record], theirs: list[Record]) -> list[Record]:
    """What both want: each field as the side has it that changed it, without the entries that either removed."""
    versions = [{record["sha"]: record for record in side} for side in (base, ours, theirs)]
    wanted = []
    for sha in dict.fromkeys([*versions[0], *versions[1], *versions[2]]):
        old, left, right = (version.get(sha) for version in versions)
        if old is None:
            wanted.append(left or right or {})
        elif left is not None and right is not None:
            wanted.append({key: right[key] if left[key] == old[key] else left[key] for key in old})
    return wanted


# the layouts


def text_of(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def head(mine: Any) -> dict[str, Any]:
    """The checkpoint with telemetry in it; its own list is taken away."""
    value = make_checkpoint("build", "/srv/tidepool", 1)
    value["skill_state"] = {"iteration": 1, "merged_prs": mine, "mode": "fast"}
    return value


def load(files: Files) -> Any:
    def refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    return json.loads(files[PATH], object_pairs_hook=refuse_doubles)["skill_state"]["merged_prs"]


def write_array(records: list[Record], before: Files) -> Files:
    return {PATH: text_of(head(records))}


def write_keyed(records: list[Record], before: Files) -> Files:
    return {PATH: text_of(head({record["sha"]: record for record in sorted(records, key=lambda one: one["sha"])}))}


def read_keyed(files: Files) -> list[Record]:
    return list(load(files).values())


def write_records(records: list[Record], before: Files) -> Files:
    return {PATH: text_of(head([])), **{f"prs/{record['number']}.json": text_of(record) for record in records}}


def read_records(files: Files) -> list[Record]:
    return [json.loads(data) for path, data in files.items() if path != PATH]


def read_stored(files: Files) -> list[Stored]:
    stored = []
    for path, data in files.items():
        event = read_event(data.decode(), "build") if path != PATH else ""
        if not isinstance(event, str):
            stored.append(Stored(path, event))
    return sorted(stored)


def write_events(records: list[Record], before: Files) -> Files:
    """The sharded layout, by the code that writes it."""
    after = to_tokens({FIELD: SHARDED, **head(records)})
    own = to_tokens({FIELD: SHARDED, **json.loads(before[PATH])}) if before else to_tokens(head([]))
    plan = plan_split("build", own, read_stored(before), after, [])
    files = {path: data for path, data in before.items() if path not in plan.remove}
    files |= {each.name: event_text("build", each.event).encode() for each in plan.create}
    return {**files, PATH: before.get(PATH) or text_of({FIELD: SHARDED, **head([])})}


def read_events(files: Files) -> list[Record]:
    own = to_tokens(json.loads(files[PATH]))
    return [from_tokens(entry) for entry in join_value(own, read_stored(files))["skill_state"]["merged_prs"]]


def from_tokens(entry: Any) -> Any:
    return {key: json.loads(child) if isinstance(child, bytes) else child for key, child in entry.items()}


LAYOUTS = (
    Layout("array in one file", write_array, load),
    Layout("object keyed by id", write_keyed, read_keyed),
    Layout("file per record", write_records, read_records),
    Layout("file per event (sharded)", write_events, read_events),
)


# the merge


def stamp(files: Files, minute: int) -> Files:
    """The files with the time of a write, as `update` leaves it: in the checkpoint, or in an event where that is."""
    value = json.loads(files[PATH])
    return {**files, PATH: text_of({**value, "updated_at": f"2026-03-02T10:{minute:02d}:00Z"})}


def merge(base: Files, ours: Files, theirs: Files, folder: str) -> Files | None:
    """What git makes of three versions of some files, None for a conflict."""
    merged: Files = {}
    for path in sorted({*base, *ours, *theirs}):
        old, left, right = base.get(path), ours.get(path), theirs.get(path)
        if left != old and right != old and left != right:
            if old is None or left is None or right is None:
                return None  # added twice, or changed here and removed there
            left = merge_file(old, left, right, folder)
            if left is None:
                return None
        elif left == old:
            left = right
        if left is not None:
            merged[path] = left
    return merged


def merge_file(old: bytes, left: bytes, right: bytes, folder: str) -> bytes | None:
    names = []
    for name, data in (("ours", left), ("base", old), ("theirs", right)):
        names.append(os.path.join(folder, name))
        with open(names[-1], "wb") as file:
            file.write(data)
    done = subprocess.run(["git", "merge-file", "-p", *names], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def judge(layout: Layout, sides: tuple[list[Record], ...], mix: Mix, folder: str) -> str:
    """How one merge ends: "clean", "conflict" or "wrong"."""
    base = layout.write(sides[0], {})
    written = [layout.write(side, base) for side in sides[1:]]
    if mix.stamped and layout.name != LAYOUTS[-1].name:  # there the time is part of the event
        written = [stamp(files, minute) for minute, files in enumerate(written, 10)]
    merged = merge(base, written[0], written[1], folder)
    if merged is None:
        return "conflict"
    try:
        found = layout.read(merged)
    except (ValueError, KeyError):
        return "wrong"
    wanted = join(*sides)
    return "clean" if sorted(map(repr, found or [])) == sorted(map(repr, wanted)) else "wrong"


def run(merges: int, seed: int) -> None:
    """Prints a table for each mix of changes."""
    with tempfile.TemporaryDirectory() as folder:
        for mix in MIXES:
            chance = random.Random(seed)  # noqa: S311 (the same merges every time)
            counts = {layout.name: {"clean": 0, "conflict": 0, "wrong": 0} for layout in LAYOUTS}
            for _ in range(merges):
                base = [make_record(chance, number) for number in range(chance.randint(0, 30))]
                sides = (base, *(change(chance, base, mix, side) for side in (0, 1)))
                for layout in LAYOUTS:
                    counts[layout.name][judge(layout, sides, mix, folder)] += 1
            print(f"\n{mix.name} ({merges} merges)\n")
            print("| layout | conflict | silently wrong |\n|---|---|---|")
            for name, count in counts.items():
                print(f"| {name} | {count['conflict'] / merges:.1%} | {count['wrong'] / merges:.1%} |")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--merges", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    run(args.merges, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
