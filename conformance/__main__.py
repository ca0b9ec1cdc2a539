"""Runs any merge driver on the vectors: `python -m conformance -- CMD %O %A %B`. README.md says all
of it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conformance.judge import Answer, Vector, both_ways, data_of, judge

HERE = Path(__file__).parent
GAVE_UP = 255
SECONDS = 60  # for one merge


def read_vectors(profile: str) -> list[Vector]:
    vectors: list[Vector] = json.loads((HERE / "vectors" / f"{profile}.json").read_text("utf-8"))
    return vectors


def read_profiles() -> dict[str, Any]:
    profiles: dict[str, Any] = json.loads((HERE / "manifest.json").read_text("utf-8"))["profiles"]
    return profiles


def with_absolute_paths(command: list[str]) -> list[str]:
    """Return the command with each word that names a file made absolute, since the driver runs in
    another folder.
    """
    program, *words = command
    if os.sep in program:
        program = os.path.abspath(program)
    return [program, *(os.path.abspath(word) if os.path.isfile(word) else word for word in words)]


def answer(vector: Vector, command: list[str]) -> Answer:
    """The command's answer, in a folder of its own. %O %A %B: base, ours and theirs; %L: the size
    of markers; %P: the file's name in the repository; %S: the schema's file.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for sign, name in (("%O", "base"), ("%A", "ours"), ("%B", "theirs")):
            paths[sign] = os.path.join(folder, f"{name}.json")
            Path(paths[sign]).write_bytes(data_of(vector[name]))
        more = {"%L": "7", "%P": "data.json", "%S": os.path.join(folder, "schema.json")}
        Path(more["%S"]).write_text(json.dumps(vector.get("schema", {})))
        words = []
        for word in command:
            for sign, text in (paths | more).items():
                word = word.replace(sign, text)
            words.append(word)
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return Answer(GAVE_UP, b"")
        code = done.returncode if done.returncode >= 0 else GAVE_UP
        known = {*paths.values(), more["%S"]}
        beside = [
            path.read_bytes()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and str(path) not in known
        ]
        return Answer(
            code, Path(paths["%A"]).read_bytes(), b"".join(beside), _last_line(done.stderr)
        )


def _last_line(data: bytes) -> str:
    lines = data.decode(errors="replace").strip().splitlines()
    return "".join(letter for letter in lines[-1] if letter.isprintable())[:200] if lines else ""


def run(vectors: list[Vector], command: list[str], processes: int) -> Iterator[tuple[Vector, str]]:
    """Yield each vector with what is wrong with the command's answer, "" for nothing."""
    absolute = with_absolute_paths(command)

    def find_fault(vector: Vector) -> str:
        answered = answer(vector, absolute)
        fault = judge(vector, answered)
        if not fault:
            return ""
        written = f": {answered.last_line}" if answered.last_line else ""
        return f"{fault} (exit code {answered.code}{written})"

    with ThreadPoolExecutor(processes) as pool:
        yield from zip(vectors, pool.map(find_fault, vectors), strict=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "command", nargs="+", metavar="CMD", help="the driver, with %%O %%A %%B where its files go"
    )
    parser.add_argument(
        "--with-schema", metavar="CMD", help="for vectors with a schema, %%S where its file goes"
    )
    parser.add_argument(
        "--profile", action="append", choices=list(read_profiles()), help="only these"
    )
    parser.add_argument(
        "--one-way", action="store_true", help="not with ours and theirs exchanged as well"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2, metavar="N")
    args = parser.parse_args()
    result: dict[str, Any] = {}
    for profile in args.profile or read_profiles():
        vectors = read_vectors(profile)
        command, without = args.command, [one for one in vectors if "schema" not in one]
        if len(without) < len(vectors) and args.with_schema:
            command, without = args.with_schema.split(), vectors
        chosen = without if args.one_way else both_ways(without)
        failed = {one["id"]: why for one, why in run(chosen, command, args.processes) if why}
        skipped = (len(vectors) - len(without)) * (1 if args.one_way else 2)
        result[profile] = {
            "passed": len(chosen) - len(failed),
            "of": len(chosen),
            "skipped": skipped,
            "failed": failed,
        }
        if not args.json:
            _print(profile, result[profile])
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        total = Counter[str]()
        for profile in result.values():
            total.update({key: profile[key] for key in ("passed", "of", "skipped")})
        print(f"{total['passed']} of {total['of']} as expected, {total['skipped']} skipped")
    return int(any(profile["failed"] for profile in result.values()))


def _print(name: str, found: dict[str, Any]) -> None:
    note = f"  ({found['skipped']} need a schema)" if found["skipped"] else ""
    print(f"{name:10} {found['passed']:5} of {found['of']}{note}")
    for number, (failed, why) in enumerate(found["failed"].items()):
        if number == 10:
            print(f"    and {len(found['failed']) - 10} more; --json has them all")
            break
        print(f"    {failed}: {why}")


if __name__ == "__main__":
    sys.exit(main())
