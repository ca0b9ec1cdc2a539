"""Restore points: making one of 1,000 files (100 MB) against `git add` of the same, and the guard
against an interpreter that does nothing.

`python -m benchmarks.restore --kills 500` kills create, rollback and drop that often instead, each
at a random instant, and says what was lost, half made, or not brought back by the same command run
again.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.measure import Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
FILES, SIZE = 1000, 100_000
_GUARD = 'printf %s "$1" | "$0" restore-point guard'
_CALL = '{"tool_name": "Edit", "tool_input": {"file_path": "t/f1"}}'
_READ = '{"tool_name": "Read", "tool_input": {"file_path": "t/f1"}}'


def main(words: list[str]) -> None:
    """Print both tables, or the count of kills that were survived."""
    with tempfile.TemporaryDirectory() as folder:
        if words[:1] == ["--kills"]:
            kill_commands(folder, int(words[1]))
            return
        make_files(folder)
        index = os.path.join(folder, ".git/scratch")
        add = ("env", f"GIT_INDEX_FILE={index}", "git", "add", "t")
        contenders = [
            Contender("git add into a scratch index", add, lambda: forget(folder, index)),
            Contender(
                "restore-point create",
                (CHECKPOINT, "rp", "create", "t"),
                lambda: forget(folder, index),
            ),
        ]
        print_table("1,000 files, 100 MB", measure(contenders, folder, 3))
        subprocess.run([CHECKPOINT, "rp", "create", "t", "-q"], cwd=folder, check=True)
        contenders = [
            Contender("python -c pass", (sys.executable, "-c", "pass")),
            Contender("guard: an edit", ("sh", "-c", _GUARD, CHECKPOINT, _CALL)),
            Contender("guard: a read", ("sh", "-c", _GUARD, CHECKPOINT, _READ)),
        ]
        print_table("one tool call", measure(contenders, folder))


def kill_commands(folder: str, kills: int) -> None:
    """Exits with 1 where anything was lost."""
    chance, troubles, hits, acknowledged = random.Random(kills), list[str](), 0, set[str]()  # noqa: S311 - no secret
    subprocess.run(["git", "init", "-q", folder], check=True)
    os.mkdir(os.path.join(folder, "t"))
    kept = write_tree(folder, "kept")
    first = str(ask(folder, "create", "t")["checkpoint_id"])
    acknowledged.add(first)
    began = time.monotonic()
    ask(folder, "rollback", first)
    usual = time.monotonic() - began
    for number in range(kills):
        what = chance.choice(["create", "rollback", "drop"])
        now = write_tree(folder, f"{number}") if what != "drop" else read_tree(folder)
        others = sorted(acknowledged - {first})
        dropped = chance.choice(others) if what == "drop" and others else ""
        words = (
            ["drop", dropped]
            if dropped
            else ["rollback", first]
            if what == "rollback"
            else ["create", "t"]
        )
        process = subprocess.Popen(
            [CHECKPOINT, "rp", *words, "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.1, 1.1) * usual)
        process.send_signal(signal.SIGKILL)
        out = process.communicate()[0]
        hits += process.returncode == -signal.SIGKILL
        acknowledged.discard(dropped)
        if words[0] == "create":
            if read_tree(folder) != now:
                troubles.append(f"{number}: a create changed the files")
            if process.returncode == 0:
                acknowledged.add(json.loads(out)["checkpoint_id"])
        if words[0] == "rollback":
            again = ask(folder, "rollback", first)
            if read_tree(folder) != kept:
                troubles.append(f"{number}: the rollback was not finished")
            safety = again["safety_checkpoint_id"]
            if process.returncode:
                ask(folder, "rollback", str(safety))
                if read_tree(folder) not in (now, kept):
                    troubles.append(f"{number}: what was there before is lost")
        points = ask(folder, "list")["restore_points"]
        listed = {one["id"]: one["state"] for one in points}
        troubles += [
            f"{number}: {one} is gone"
            for one in acknowledged
            if listed.get(one) not in ("active", "restored")
        ]
        troubles += [
            f"{number}: {one} is {state}"
            for one, state in listed.items()
            if state in ("damaged", "foreign")
        ]
        if number % 10 == 9:
            # a drop that was cut off has no ref
            alive = [one for one, state in listed.items() if state != "dropped"]
            troubles += [
                f"{number}: {one} does not verify"
                for one in alive
                if not ask(folder, "verify", one)["verified"]
            ]
            ask(folder, "gc", "--keep", "6")
            acknowledged &= {one["id"] for one in ask(folder, "list")["restore_points"]}
            first = (
                first if first in acknowledged else str(ask(folder, "create", "t")["checkpoint_id"])
            )
            kept = read_tree(folder) if first not in acknowledged else kept
            acknowledged.add(first)
            print(f"{number + 1} commands, {hits} killed, troubles: {troubles}", flush=True)
    whole = ask(folder, "audit", "verify")["findings"]
    print(
        f"{kills} commands, {hits} of them killed: {len(troubles)} troubles, {len(whole)} breaks of the log"
    )
    print("\n".join([*troubles, *(each["message"] for each in whole)]))
    raise SystemExit(1 if troubles else 0)


def ask(folder: str, *words: str) -> dict[str, Any]:
    """The answer as JSON, whatever the exit code says."""
    done = subprocess.run(
        [CHECKPOINT, "rp", *words, "--json"], cwd=folder, capture_output=True, check=False
    )
    try:
        value: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(words)}: {done.stdout!r} {done.stderr!r}") from None
    return value


def write_tree(folder: str, mark: str) -> dict[str, str]:
    """Thirty files with a text each, two of which are one file."""
    for number in range(30):
        with open(os.path.join(folder, "t", f"f{number}"), "w", encoding="ascii") as stream:
            stream.write(f"{mark} {number}\n" * 200)
    if not os.path.exists(os.path.join(folder, "t/twin")):
        os.link(os.path.join(folder, "t/f1"), os.path.join(folder, "t/twin"))
    return read_tree(folder)


def read_tree(folder: str) -> dict[str, str]:
    """Name -> content of each file."""
    found = {}
    for name in sorted(os.listdir(os.path.join(folder, "t"))):
        with open(os.path.join(folder, "t", name), encoding="ascii") as stream:
            found[name] = stream.read()
    return found


def make_files(folder: str) -> None:
    """Half of them words, half of them what nothing makes smaller."""
    chance = random.Random(1)  # noqa: S311 - content, no secret
    words = [chance.randbytes(6).hex() for _ in range(5000)]
    subprocess.run(["git", "init", "-q", folder], check=True)
    os.mkdir(os.path.join(folder, "t"))
    for number in range(FILES):
        text = " ".join(chance.choice(words) for _ in range(SIZE // 13 + 1)).encode()[:SIZE]
        with open(os.path.join(folder, "t", f"f{number}"), "wb") as stream:
            stream.write(chance.randbytes(SIZE) if number % 2 else text)


def forget(folder: str, index: str) -> None:
    """Takes away what an earlier run left, so that each one writes everything."""
    for name in os.listdir(os.path.join(folder, ".git/objects")):
        if len(name) == 2:
            shutil.rmtree(os.path.join(folder, ".git/objects", name))
    shutil.rmtree(os.path.join(folder, ".git/refs/checkpoints"), ignore_errors=True)
    shutil.rmtree(os.path.join(folder, ".checkpoints"), ignore_errors=True)
    if os.path.exists(index):
        os.unlink(index)


if __name__ == "__main__":
    main(sys.argv[1:])
