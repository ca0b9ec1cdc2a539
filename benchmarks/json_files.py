"""Additive work of two sides on JSON files of any kind: `python -m benchmarks.json_files
FOLDER...`.

Each FOLDER holds files of one kind. Both sides add what people add, where they add it: members at
the end of an object or in the order of its keys, records and values at the end of a list. The table
says how many of the merges stop, with git's lines and by structure, and whether all that was added
is in the results.
"""

import argparse
import copy
import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.merge.file import merge_file

ROUNDS = 30  # for each file
MOST_FILES = 12  # of one kind


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.json_files", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    print(
        "| kind | files | merges | stop: git's lines | stop: by structure | of git's stops gone | lost |"
    )
    print("|---|---|---|---|---|---|---|")
    for folder in args.folders:
        count, files = Counter[str](), 0
        for path in sorted(folder.glob("*.json"))[:MOST_FILES]:
            text, files = path.read_bytes().decode("utf-8-sig"), files + 1
            for seed in range(ROUNDS):
                chance = random.Random(f"{path.name} {seed}")  # noqa: S311 - nothing secret hangs on it
                count.update(compare(text, chance))
        gone = count["lines"] - count["both"]
        share = f"{gone / count['lines']:.1%}" if count["lines"] else "-"
        cells = (
            folder.name,
            files,
            count["merges"],
            count["lines"],
            count["structure"],
            share,
            count["lost"],
        )
        print("|", " | ".join(map(str, cells)), "|", flush=True)


def compare(text: str, chance: random.Random) -> Counter[str]:
    document = json.loads(text)
    found = re.search(r"\n([ \t]+)\S", text)
    indent = found[1] if found else None
    sides = [copy.deepcopy(document) for _ in range(2)]
    added = [
        list(add(side, chance, name)) for side, name in zip(sides, ("left", "right"), strict=True)
    ]
    base, ours, theirs = (
        json.dumps(each, indent=indent, ensure_ascii=False).encode() for each in (document, *sides)
    )
    lines = stops_by_lines([base, ours, theirs])
    try:
        merged = merge_file(base, ours, theirs)
    except JsonTextError:
        return Counter(merges=1, lines=lines, structure=1, both=lines)
    stops = bool(merged.conflicts)
    lost = sum(name not in merged.text for names in added for name in names)
    return Counter(merges=1, lines=lines, structure=stops, both=lines and stops, lost=lost)


def stops_by_lines(versions: list[bytes]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("base", "ours", "theirs")]
        for path, data in zip(paths, versions, strict=True):
            path.write_bytes(data)
        words = ["git", "merge-file", "-p", "-q", str(paths[1]), str(paths[0]), str(paths[2])]
        return subprocess.run(words, capture_output=True).returncode != 0


def add(document: Any, chance: random.Random, name: str) -> Iterator[str]:
    """One to three additions; the words by which each is known again."""
    for number in range(chance.randint(1, 3)):
        places = list(find_places(document, chance))
        place, word = (
            chance.choice(places[: 1 + len(places) // 4]),
            f"{name}-{number}-{chance.randrange(10**6)}",
        )
        if isinstance(place, dict):
            like = chance.choice(list(place.values()))
            put(place, word, f"value of {word}" if isinstance(like, dict | list) else like)
        elif isinstance(place[-1], dict):
            place.append(make_record(place, word))
        else:
            place.append(word)
        yield word


def find_places(value: Any, chance: random.Random) -> Iterator[Any]:
    """Objects and lists that are not empty, those near the root first; of many below one another a
    few.
    """
    queue = [value]
    while queue:
        place = queue.pop(0)
        below = place.values() if isinstance(place, dict) else place
        if below and not (isinstance(place, list) and isinstance(place[-1], list)):
            yield place
        nested = [one for one in below if isinstance(one, dict | list)]
        queue += chance.sample(nested, min(len(nested), 6))


def put(place: dict[str, Any], word: str, value: Any) -> None:
    keys = list(place)
    at = sum(key < word for key in keys) if keys == sorted(keys) else len(keys)
    members = list(place.items())
    place.clear()
    place.update([*members[:at], (word, value), *members[at:]])


def make_record(place: list[Any], word: str) -> dict[str, Any]:
    record = copy.deepcopy(place[-1])
    for key, value in record.items():
        if isinstance(value, str):
            record[key] = word
        elif key == "id" and isinstance(value, int):
            record[key] = int(word.rpartition("-")[2]) + 10**6
    return record if word in json.dumps(record) else {**record, "title": word}


if __name__ == "__main__":
    main()
