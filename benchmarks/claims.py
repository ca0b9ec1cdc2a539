"""Many clones that claim the same few checkpoints at once, and are killed meanwhile: never two
holders, none for ever.

    python -m benchmarks.claims                             50 clones x 20 claims of 5 names, a
    third of them killed python -m benchmarks.claims --clones 20 --claims 5 python -m
    benchmarks.claims --worktrees                 linked work trees of one clone, without a remote

Every worker claims a name for a few seconds. Whoever is told that it holds it works for a moment,
and releases it or leaves it to its end. A part of the commands is ended by SIGKILL at a random
instant. Two that hold one name at the same time are a double holder. At the end a newcomer claims
each name, and has to succeed within one lease and its margin.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from benchmarks.fleet import environment, git, make_clones, serve

COMMAND = [sys.executable, "-m", "checkpoint_git"]
NAMES = 5


class Span(NamedTuple):
    """One holder's time, in seconds since 1970. until: when the claim says that it ends."""

    name: str
    holder: str
    start: float
    end: float
    until: float


class Tally(NamedTuple):
    """What a run came to. stuck: names that nobody could claim after their lease."""

    seconds: float
    claims: int
    held: int
    refused: int
    failed: int
    killed: int
    doubles: int
    stuck: int
    longest_wait: float


def run(
    folder: Path, session: str, words: list[str], kill_after: float | None = None
) -> tuple[int | None, str, str]:
    """The command's exit code, None where it was killed, and what it wrote."""
    env = {**environment(), "CHECKPOINT_SESSION": session}
    with subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return None, "", ""
    return process.returncode, out, err


class Fleet:
    """The workers' shared tally."""

    def __init__(self, kill_rate: float, lease: int, at_once: int) -> None:
        self.kill_rate, self.lease = kill_rate, lease
        self.turns = threading.Semaphore(at_once)
        self.spans: list[Span] = []
        self.codes: list[int | None] = []
        self.errors: list[str] = []
        self.lock = threading.Lock()

    def work(self, folder: Path, number: int, claims: int) -> None:
        """One clone's claims, one after the other."""
        luck = random.Random(number)  # noqa: S311 (no secret)
        for at in range(claims):
            name, session = f"part-{luck.randrange(NAMES)}", f"s{number}"
            kill = luck.uniform(0.02, 1.5) if luck.random() < self.kill_rate else None
            with self.turns:
                code, out, err = run(
                    folder, session, ["claim", name, "--for", f"{self.lease}s", "--json"], kill
                )
            start = time.time()
            with self.lock:
                self.codes.append(code)
                self.errors += [err] if code not in (0, 1, None) else []
            if code != 0:
                time.sleep(luck.uniform(0, 0.3))
                continue
            until = (
                time.mktime(time.strptime(json.loads(out)["claim"]["until"], "%Y-%m-%dT%H:%M:%SZ"))
                - time.timezone
            )
            time.sleep(luck.uniform(0, 0.5))
            end = time.time()  # the work is over before the release begins
            with self.lock:
                self.spans.append(Span(name, f"{number}.{at}", start, min(end, until), until))
            if luck.random() < 0.8:
                with self.turns:
                    run(
                        folder,
                        session,
                        ["release", name],
                        luck.uniform(0.02, 1.0) if luck.random() < 0.2 else None,
                    )


def count_doubles(spans: list[Span]) -> int:
    """Pairs of one name's entries by different clones that overlap."""
    pairs = (
        pair
        for name in {one.name for one in spans}
        for pair in combinations([s for s in spans if s.name == name], 2)
    )
    others = ((a, b) for a, b in pairs if a.holder.split(".")[0] != b.holder.split(".")[0])
    return sum(a.start < b.end and b.start < a.end for a, b in others)


def find_stuck(folder: Path, lease: int) -> tuple[int, float]:
    """(names that a newcomer cannot claim, the longest time that it took)."""
    stuck, longest, begun = 0, 0.0, time.time()
    for at in range(NAMES):
        while (code := run(folder, "newcomer", ["claim", f"part-{at}", "--for", "60s"])[0]) != 0:
            if time.time() - begun > lease * 1.1 + 5 or code not in (0, 1):
                stuck += 1
                break
            time.sleep(0.2)
        longest = max(longest, time.time() - begun)
    return stuck, longest


def measure(
    folder: Path,
    clones: int,
    claims: int,
    kill_rate: float,
    lease: int,
    at_once: int,
    *,
    worktrees: bool,
) -> Tally:
    """A whole run in an empty folder."""
    with serve(folder) as address:
        places = make_clones(folder, address, 1 if worktrees else clones + 1)
        if worktrees:
            for number in range(clones):
                git(
                    "worktree",
                    "add",
                    "-q",
                    "-b",
                    f"topic-{number}",
                    str(folder / f"tree-{number}"),
                    cwd=places[0],
                )
            places = [*(folder / f"tree-{number}" for number in range(clones)), places[0]]
        fleet, begun = Fleet(kill_rate, lease, at_once), time.monotonic()
        with ThreadPoolExecutor(clones) as pool:
            for task in [pool.submit(fleet.work, places[at], at, claims) for at in range(clones)]:
                task.result()
        seconds = time.monotonic() - begun
        stuck, longest = find_stuck(places[-1], lease)
    codes = fleet.codes
    for error in fleet.errors[:5]:
        print(error.strip(), file=sys.stderr)
    counts = (
        codes.count(0),
        codes.count(1),
        sum(code not in (0, 1, None) for code in codes),
        codes.count(None),
    )
    return Tally(seconds, len(codes), *counts, count_doubles(fleet.spans), stuck, longest)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=int, default=50)
    parser.add_argument("--claims", type=int, default=20, help="of each clone")
    parser.add_argument(
        "--kill-rate", type=float, default=0.33, help="the part of claims that is killed"
    )
    parser.add_argument(
        "--lease", type=int, default=30, help="in seconds; others may take it a tenth of that later"
    )
    parser.add_argument(
        "--at-once", type=int, default=1000, help="commands, on a machine that others use too"
    )
    parser.add_argument(
        "--worktrees", action="store_true", help="work trees of one clone in place of clones"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="checkpoint-claims-") as folder:
        tally = measure(
            Path(folder),
            args.clones,
            args.claims,
            args.kill_rate,
            args.lease,
            args.at_once,
            worktrees=args.worktrees,
        )
    for name, value in tally._asdict().items():
        print(f"{name:14}{value:.1f}" if isinstance(value, float) else f"{name:14}{value}")
    return int(tally.doubles + tally.stuck > 0)


if __name__ == "__main__":
    sys.exit(main())
