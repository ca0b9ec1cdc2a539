"""Pipeline records: one listed, read and written, and ten thousand listed, against an interpreter
that does nothing.

`python -m benchmarks.pipeline --kills 500` kills a writer that often instead, and says whether
anything was lost.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks.measure import Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
MANY = 10_000
RUNS = 100
_IDS = ("--ticket-id", "OMN-2144", "--run-id", "a1b2c3d4", "--phase", "implement")
_PAYLOAD = json.dumps(
    {"branch_name": "feat/x", "commit_sha": "a1b2c3d", "files_changed": ["src/foo.py"]}
)
# Writes records one after another and says each on stdout as soon as the write has returned.
_WRITER = """
import sys, time
from checkpoint_git.protocols.pipeline import records
run = records.open_run(sys.argv[1], "OMN-2144", "a1b2c3d4")
draft = records.Draft("implement", {"branch_name": "x", "commit_sha": "a1b2c3d", "files_changed": []}, {}, ["a" * 4000])
print("ready", flush=True)
while True:
    print(records.write_record(run, draft, None, int(time.time())).path, flush=True)
"""


def main(words: list[str]) -> None:
    """Print the table, or the count of kills that were survived."""
    with tempfile.TemporaryDirectory() as folder:
        if words[:1] == ["--kills"]:
            kill_writers(folder, int(words[1]))
            return
        one, many = os.path.join(folder, "one"), os.path.join(folder, "many")
        write(one)
        fill(many)
        print_table(
            f"Pipeline records; the long list has {MANY}",
            measure(list_contenders(one, many), folder, 9),
            "pipeline",
        )
        print(
            f"\n  wall clock, best of 5: list of one {wall('list', one):.0f} ms, write {wall('write', one):.0f} ms"
        )
        print(f"  list of {MANY}: {wall('list', many):.0f} ms, at most {peak(many):.0f} MB")


def list_contenders(one: str, many: str) -> list[Contender]:
    """The base, and an action each."""
    names = {"list, one record": ("list", one), "read": ("read", one), "write": ("write", one)}
    names[f"list, {MANY} records"] = ("list", many)
    actions = [Contender(name, command(*what)) for name, what in names.items()]
    return [Contender("python -c pass", [sys.executable, "-c", "pass"]), *actions]


def command(action: str, base: str) -> list[str]:
    """The words of an action."""
    ids = _IDS[:2] if action == "list" else _IDS
    return [
        CHECKPOINT,
        "pipeline",
        action,
        "--base",
        base,
        *ids,
        *(["--payload", _PAYLOAD] if action == "write" else []),
    ]


def write(base: str) -> None:
    """One record, written by the command."""
    subprocess.run(command("write", base), check=True, stdout=subprocess.DEVNULL)


def fill(base: str) -> None:
    """MANY records in RUNS runs, put there by hand: as many writes would wait for the disk for
    minutes.
    """
    from checkpoint_git.core.yamlblock import write_block
    from checkpoint_git.protocols.pipeline import records

    for number in range(RUNS):
        run = records.open_run(base, "OMN-2144", f"run-{number}")
        folder = os.path.join(base, run.ticket_id, run.run_id)
        os.makedirs(folder)
        draft = records.RecordDraft(
            "implement",
            json.loads(_PAYLOAD),
            {"web": "a1b2c3d"},
            ["src/foo.py", "tests/test_foo.py"],
        )
        for attempt in range(1, MANY // RUNS + 1):
            with open(
                os.path.join(folder, f"phase_1_implement_a{attempt}.yaml"), "w", encoding="utf-8"
            ) as file:
                file.write(write_block(records.make_value(run, draft, attempt, int(time.time()))))


def wall(action: str, base: str) -> float:
    """Milliseconds from start to end, the best of five."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command(action, base), check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def peak(base: str) -> float:
    """The most memory that a list took, in megabytes."""
    process = os.posix_spawn(CHECKPOINT, command("list", base), os.environ, file_actions=_QUIET)
    return os.wait4(process, 0)[2].ru_maxrss / 1024


_QUIET = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


def kill_writers(folder: str, kills: int) -> None:
    """Kills a writer at random instants. Raises AssertionError where a record is broken, lost or
    left half done.
    """
    base = os.path.join(folder, "base")
    instants = random.Random(1)  # noqa: S311 (when to kill a process is no secret)
    told: set[str] = set()
    for _ in range(kills):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, base], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(instants.uniform(0, 0.03))
        writer.send_signal(signal.SIGKILL)
        lines = writer.communicate()[0]
        told |= set(lines.split("\n")[: lines.count("\n")])
    write(base)
    listed = json.loads(
        subprocess.run(command("list", base), check=True, stdout=subprocess.PIPE).stdout
    )
    left = [name for _, _, names in os.walk(base) for name in names if not name.endswith(".yaml")]
    lost = told - {each["checkpoint_path"] for each in listed["checkpoints"]}
    assert (listed["skipped"], left, lost) == ([], [], set()), (listed["skipped"], left, lost)
    print(
        f"{kills} kills: {listed['count']} records, {len(told)} told of, none lost, none broken, nothing left over"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
