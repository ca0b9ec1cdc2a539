"""Our merge, made wrong on purpose: `python -m conformance.mutants [NAME ...]`. Each mutant must
fail a vector.

A mutant is our code with one text replaced by another, in a copy. Exit code 1 if one of them passes
everything.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "checkpoint_git"
SECONDS = 300  # for all vectors
PARTS = ("core", "merge")  # of the package: what a merge needs


class Mutant(NamedTuple):
    """profile: whose vectors are tried first. file: in the package. old: a text that it has once.
    new: what the mutant has instead.
    """

    name: str
    profile: str
    file: str
    old: str
    new: str


def read_mutants() -> list[Mutant]:
    """Raises ValueError for a mutant that does not apply to the code."""
    mutants = [Mutant(**row) for row in json.loads((HERE / "mutants.json").read_text("utf-8"))]
    for mutant in mutants:
        count = (PACKAGE / mutant.file).read_text("utf-8").count(mutant.old)
        if count != 1:
            raise ValueError(f"{mutant.name}: {mutant.file} has {mutant.old!r} {count} times")
    return mutants


def kill(mutant: Mutant) -> str:
    """Return the first vector that the mutant fails, and how; "" if it passes all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = folder / PACKAGE.name
        for part in PARTS:
            shutil.copytree(
                PACKAGE / part, package / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        (package / "__init__.py").touch()
        (folder / HERE.name).symlink_to(HERE)
        file = package / mutant.file
        file.write_text(file.read_text("utf-8").replace(mutant.old, mutant.new), "utf-8")

        words = [sys.executable, "-B", "-m", "conformance.ours", mutant.profile]
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return "it does not end"
        if done.returncode == 0:
            return ""
        return done.stdout or done.stderr


def kill_each(mutants: list[Mutant], processes: int) -> Iterator[tuple[Mutant, str]]:
    with ThreadPoolExecutor(processes) as pool:
        yield from zip(mutants, pool.map(kill, mutants), strict=True)


def main() -> int:
    """Print each mutant with the vector that it fails."""
    parser = argparse.ArgumentParser(prog="python -m conformance.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2, metavar="N")
    args = parser.parse_args()

    mutants = [mutant for mutant in read_mutants() if not args.names or mutant.name in args.names]
    alive = 0
    for mutant, fault in kill_each(mutants, args.processes):
        alive += not fault
        reason = fault.strip().splitlines()[-1][:90] if fault else "PASSES EVERYTHING"
        print(f"{mutant.name:26} {reason}", flush=True)
    print(f"{len(mutants) - alive} of {len(mutants)} die")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main())
