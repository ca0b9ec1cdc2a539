"""What each driver reaches, as a table: `python -m conformance.scorecard [--npm FOLDER]`.

FOLDER: where `npm install git-json-merge git-json-resolver` was run. Each driver runs as its own page says.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from conformance.__main__ import read_profiles, read_vectors, run
from conformance.judge import both_ways

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
        drivers[f"{name} {_version(Path(str(npm)), name)}"] = (["node", str(script.resolve()), *versions], None)
    return drivers


def _version(npm: Path, name: str) -> str:
    words = ["node", "-p", f"require('{npm.resolve()}/node_modules/{name}/package.json').version"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.scorecard", description=__doc__)
    parser.add_argument("--npm", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    drivers = list_drivers(args.npm)
    print("| profile | vectors |", " | ".join(drivers), "|")
    print("|---|---|" + "---|" * len(drivers))
    for profile in read_profiles():
        vectors = both_ways(read_vectors(profile))
        cells = []
        for command, with_schema in drivers.values():
            if "schema" not in vectors[0]:
                parts = [one for one in vectors if "schema" not in one], [one for one in vectors if "schema" in one]
            else:
                parts = [], vectors
            failed = sum(bool(why) for _, why in run(parts[0], command, os.cpu_count() or 2))
            if with_schema:
                failed += sum(bool(why) for _, why in run(parts[1], with_schema, os.cpu_count() or 2))
            of = len(parts[0]) + (len(parts[1]) if with_schema else 0)
            cells.append(f"{of - failed} of {of}" if of else "-")
        print(f"| {profile} | {len(vectors)} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
