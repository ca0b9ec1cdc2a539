"""What each driver reaches, as a table: `python -m conformance.scorecard [--npm FOLDER] [--every
N]`.

FOLDER: where `npm install git-json-merge git-json-resolver` was run. Each driver runs as its own
page says. N: only each N-th vector that the driver can take, with ours and theirs exchanged in
every second of them; 1: all, both ways.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from conformance.__main__ import read_profiles, read_vectors, run
from conformance.judge import Vector, both_ways, swapped

NPM = ("git-json-merge", "git-json-resolver")


def list_drivers(npm: Path | None) -> dict[str, tuple[list[str], list[str] | None]]:
    """Name -> (the command, the command for vectors with a schema)."""
    own = [sys.executable, "-m", "checkpoint_git", "merge-file", "-q"]
    versions = ["%A", "%O", "%B"]
    drivers: dict[str, tuple[list[str], list[str] | None]] = {
        "checkpoint merge-file": ([*own, *versions], [*own, "--schema", "%S", *versions]),
        "git merge-file (lines)": (["git", "merge-file", "-q", *versions], None),
    }
    for name in NPM if npm else ():
        script = Path(str(npm)) / "node_modules" / ".bin" / name
        drivers[f"{name} {_version(Path(str(npm)), name)}"] = (
            ["node", str(script.resolve()), *versions],
            None,
        )
    return drivers


def _version(npm: Path, name: str) -> str:
    words = ["node", "-p", f"require('{npm.resolve()}/node_modules/{name}/package.json').version"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def choose(vectors: list[Vector], every: int) -> list[Vector]:
    if every == 1:
        return both_ways(vectors)
    return [
        swapped(vector) if number % 2 else vector for number, vector in enumerate(vectors[::every])
    ]


def measure(profile: str, every: int, command: list[str], with_schema: list[str] | None) -> str:
    """Return how many vectors of a profile the driver answers as expected, and of how many."""
    vectors = read_vectors(profile)
    if with_schema is None:
        vectors = [vector for vector in vectors if "schema" not in vector]
    chosen = choose(vectors, every)
    plain = [vector for vector in chosen if "schema" not in vector]
    ruled = [vector for vector in chosen if "schema" in vector]
    processes = os.cpu_count() or 2

    failed = sum(bool(fault) for _, fault in run(plain, command, processes))
    if with_schema:
        failed += sum(bool(fault) for _, fault in run(ruled, with_schema, processes))
    return f"{len(chosen) - failed} of {len(chosen)}" if chosen else "-"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.scorecard", description=__doc__)
    parser.add_argument("--npm", type=Path, metavar="FOLDER")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    args = parser.parse_args()
    drivers = list_drivers(args.npm)
    print("| profile |", " | ".join(drivers), "|")
    print("|---|" + "---|" * len(drivers))
    for profile in read_profiles():
        cells = [measure(profile, args.every, *commands) for commands in drivers.values()]
        print(f"| {profile} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
