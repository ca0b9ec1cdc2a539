"""Many clones that sync one skill through one server, all at once: nothing lost, nothing invalid,
and what it costs.

    python -m benchmarks.fleet                                   50 clones x 4 updates, and two
    bases of bare pushes python -m benchmarks.fleet --no-bases --clones 10 --updates 5 --kill-rate
    0.2    a fifth of the syncs killed python -m benchmarks.fleet --no-bases --clones 10 --updates 5
    --pace none        another policy of waiting

Every clone changes the checkpoint, then runs `checkpoint sync` until it answers 0. The server is
`git daemon` on this machine. Each update adds an entry of its own, and an amount of its own to a
sum, so that a lost update and one that is counted twice both show. With --kill-rate a part of the
syncs is ended by SIGKILL at a random instant and started again. These runs, with each policy of
`--pace`, are kept for the pages.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measure import HERMETIC, Figure, keep
from checkpoint_git.protocols.validate import check_document

SKILL = ".checkpoints/build.checkpoint.json"
ROOT = Path(__file__).resolve().parent.parent
_MOST_RUNS = 400  # syncs of one update, before it is called stuck
START: dict[str, Any] = {
    "protocol_version": "1.0",
    "skill": "build",
    "project": "fleet",
    "project_dir": "/srv/fleet",
    "created_at": "2026-03-01T08:00:00Z",
    "updated_at": "2026-03-01T08:00:00Z",
    "phase": "build",
    "step": "all",
    "status": "in_progress",
    "progress_summary": "The fleet works.",
    "progress_table": [{"id": "all", "label": "All", "status": "in_progress"}],
    "context_primer": {"key_decisions": [], "generated_files": [], "user_preferences": []},
    "blockers": [],
    "next_actions": ["Go on"],
    "skill_state": {"run_history": []},
    "cost": {"total_usd": 0},
}

# How long to wait after a lost race: (races lost in a row, seconds that the attempt took, luck) ->
# seconds.
PACES: dict[str, str] = {
    "own": "",
    "none": "lambda lost, took, luck: 0.0",
    "fixed": "lambda lost, took, luck: 0.1 * luck",
    "gentle": "lambda lost, took, luck: min(took * 1.4 ** min(lost, 16), 20.0) * luck",
    "steep": "lambda lost, took, luck: min(took * 4.0 ** min(lost, 6), 20.0) * luck",
    "late": "lambda lost, took, luck: min(took * 2.0 ** min(lost, 8), 20.0) * (0.5 + luck / 2)",
    "blind": "lambda lost, took, luck: min(max(took, 0.05) * 2 ** min(lost, 8), 20.0) * luck",
    "short": "lambda lost, took, luck: min(0.05 * 2.0 ** min(lost, 8), 5.0) * luck",
}


class Fleet(NamedTuple):
    """What a run is made of. kill_rate: the part of syncs that is killed, 0 to 1."""

    clones: int
    updates: int
    kill_rate: float = 0.0
    pace: str = "own"


class Tally(NamedTuple):
    """What a run came to. seconds: wall clock; cpu: of all processes together. pushes: begun by
    syncs that ended.
    """

    seconds: float
    cpu: float
    syncs: int
    killed: int
    pushes: int
    lost_races: int
    median_sync: float
    slowest: float


class Verdict(NamedTuple):
    """What is true of the branch afterwards. missing, invalid, shrunk: none, if all is well.
    excess: of the sum, 0.
    """

    entries: int
    missing: list[str]
    commits: int
    invalid: list[str]
    shrunk: list[str]
    excess: int
    strays: list[str]


def git(*words: str, cwd: Path, check: bool = True) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise RuntimeError(f"git {words}: {done.stderr}")
    return done.stdout.strip()


def environment() -> dict[str, str]:
    """A clean one: no settings but ours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "PYTHON", "CHECKPOINT_"))
    }
    return {**kept, **HERMETIC, "PYTHONPATH": str(ROOT)}


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """`git daemon` for the repositories in a folder, with pushes allowed; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        "git",
        "daemon",
        "--reuseaddr",
        "--listen=127.0.0.1",
        f"--port={port}",
        f"--base-path={folder}",
    ]
    words += [
        "--export-all",
        "--enable=receive-pack",
        "--max-connections=0",
        "--init-timeout=60",
        str(folder),
    ]
    with subprocess.Popen(
        words, env=environment(), stderr=subprocess.DEVNULL, start_new_session=True
    ) as daemon:
        try:
            _wait_for(port)
            yield f"git://127.0.0.1:{port}"
        finally:
            daemon.terminate()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("git daemon does not listen")


def make_clones(folder: Path, address: str, clones: int) -> list[Path]:
    """The hub with one checkpoint on main, and the clones of it."""
    hub = folder / "hub.git"
    git("init", "-q", "--bare", "-b", "main", str(hub), cwd=folder)
    first = folder / "first"
    git("init", "-q", "-b", "main", str(first), cwd=folder)
    (first / ".checkpoints").mkdir()
    (first / SKILL).write_text(json.dumps(START, indent=2) + "\n")
    (first / "code.txt").write_text("code\n")
    git("add", "-A", cwd=first)
    git("commit", "-q", "-m", "Begin", cwd=first)
    git("push", "-q", str(hub), "main", cwd=first)
    paths = [folder / f"clone-{number:03}" for number in range(clones)]
    for path in paths:
        git("clone", "-q", str(hub), str(path), cwd=folder)
        git("remote", "set-url", "origin", f"{address}/hub.git", cwd=path)
    return paths


# the fleet


class _Counts:
    """What all workers add to."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.syncs = self.killed = self.pushes = self.lost = 0
        self.times: list[float] = []
        self.slowest = 0.0

    def add(self, seconds: float, answer: dict[str, Any] | None) -> None:
        """One sync that ran; answer: None where it was killed."""
        with self.lock:
            self.syncs += 1
            if answer is None:
                self.killed += 1
                return
            self.times.append(seconds)
            self.slowest = max(self.slowest, seconds)
            self.pushes += answer.get("attempts", 0)
            self.lost += answer.get("lost", 0)


def sync_words(pace: str) -> list[str]:
    """The command line of one sync, waiting by the policy of that name."""
    if not PACES[pace]:
        return [sys.executable, "-P", "-m", "checkpoint_git", "sync", "--json"]
    program = (
        "import sys; from checkpoint_git.tools.sync import run as running; from checkpoint_git.cli import app; "
        f"running.backoff = {PACES[pace]}; running.LOOK_EVERY = 1e9; "
        "sys.exit(app.main(['sync', '--json']))"
    )
    return [sys.executable, "-P", "-c", program]


def run_fleet(folder: Path, fleet: Fleet, seed: int = 1) -> tuple[Tally, Verdict]:
    """The whole of it in an empty folder."""
    counts = _Counts()
    with serve(folder) as address:
        clones = make_clones(folder, address, fleet.clones)
        began, before = time.monotonic(), _cpu()
        with ThreadPoolExecutor(fleet.clones) as pool:
            for done in [
                pool.submit(_work, number, path, fleet, counts, seed)
                for number, path in enumerate(clones)
            ]:
                done.result()
        seconds = time.monotonic() - began
    cpu = _cpu() - before
    middle = median(counts.times) if counts.times else 0.0
    tally = Tally(
        seconds,
        cpu,
        counts.syncs,
        counts.killed,
        counts.pushes,
        counts.lost,
        middle,
        counts.slowest,
    )
    return tally, judge(folder, fleet, clones)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _work(number: int, clone: Path, fleet: Fleet, counts: _Counts, seed: int) -> None:
    luck = random.Random(f"{seed} {number}")  # noqa: S311 (no secret)
    for update in range(fleet.updates):
        _change(clone, number, update)
        for _ in range(_MOST_RUNS):
            if _sync(clone, fleet, counts, luck):
                break
        else:
            raise RuntimeError(f"{clone} cannot sync update {update}")


def entry_of(number: int, update: int) -> str:
    """What a clone writes at one update."""
    return f"clone {number} update {update}"


def amount_of(number: int, update: int) -> int:
    """What it adds: no two clones come to the same sum, which a merge would take for one and the
    same change.
    """
    return random.Random(f"{number} {update}").randrange(10**9)  # noqa: S311 (no secret)


def _change(clone: Path, number: int, update: int) -> None:
    """One update by the command that agents use."""
    value = json.loads((clone / SKILL).read_text())
    total = value["cost"]["total_usd"] + amount_of(number, update)
    words = [sys.executable, "-P", "-m", "checkpoint_git", "update", "build"]
    words += [
        f"--context_primer.key_decisions+={entry_of(number, update)}",
        f"--cost.total_usd:json={total}",
    ]
    done = subprocess.run(
        words, cwd=clone, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"update: {done.stdout}{done.stderr}")


def _sync(clone: Path, fleet: Fleet, counts: _Counts, luck: random.Random) -> bool:
    """Runs one sync, and perhaps kills it. Returns whether it answered 0."""
    began = time.monotonic()
    dies = luck.random() < fleet.kill_rate
    out, err = subprocess.PIPE, subprocess.PIPE
    with subprocess.Popen(
        sync_words(fleet.pace), cwd=clone, env=environment(), stdout=out, stderr=err
    ) as process:
        if dies:
            # most syncs wait for a while: there a kill hits nothing
            span = min(counts.times) if counts.times else 0.2
            timer = threading.Timer(
                luck.random() * span * 1.3, process.send_signal, [signal.SIGKILL]
            )
            timer.start()
        said, trouble = process.communicate()
        if dies:
            timer.cancel()
    if process.returncode == -signal.SIGKILL:
        counts.add(0, None)
        return False
    if process.returncode not in (0, 1):
        raise RuntimeError(
            f"sync ended with {process.returncode}: {said.decode()} {trouble.decode()}"
        )
    answer = json.loads(said)
    if any(finding["code"] == "sync/conflict" for finding in answer["findings"]):
        raise RuntimeError(f"a conflict that nobody made: {said.decode()}")
    counts.add(time.monotonic() - began, answer)
    return process.returncode == 0


def judge(folder: Path, fleet: Fleet, clones: list[Path]) -> Verdict:
    """Walks every commit of the branch."""
    hub = folder / "hub.git"
    commits = git("rev-list", "--reverse", "--topo-order", "main", cwd=hub).split()
    invalid, sizes = [], dict[str, int]()
    for commit in commits:
        data = git("show", f"{commit}:{SKILL}", cwd=hub).encode()
        document = check_document(SKILL, data, now=int(time.time()) + 3600)
        if not document.is_valid:
            invalid.append(commit)
            continue
        entries = (document.value or {})["context_primer"]["key_decisions"]
        sizes[commit] = len(entries)
    parents = [line.split() for line in git("rev-list", "--parents", "main", cwd=hub).split("\n")]
    shrunk = [
        row[0]
        for row in parents
        for parent in row[1:]
        if sizes.get(row[0], 0) < sizes.get(parent, 0)
    ]
    turns = [(number, update) for number in range(fleet.clones) for update in range(fleet.updates)]
    tip = json.loads(git("show", f"main:{SKILL}", cwd=hub))
    entries = tip["context_primer"]["key_decisions"]
    missing = sorted({entry_of(*turn) for turn in turns} - set(entries))
    excess = tip["cost"]["total_usd"] - sum(amount_of(*turn) for turn in turns)
    return Verdict(
        len(entries), missing, len(commits), invalid, shrunk, excess, find_strays(clones)
    )


def find_strays(clones: list[Path]) -> list[str]:
    """What killed syncs left behind: temporary files, refs of what is on its way, locks of git."""
    strays = []
    for clone in clones:
        strays += [
            str(path) for path in (clone / ".checkpoints").iterdir() if path.name.endswith(".tmp")
        ]
        strays += [
            str(path)
            for path in (clone / ".git").rglob("*.lock")
            if not path.name.startswith("checkpoint")
        ]
        strays += [
            name
            for name in git("for-each-ref", "--format=%(refname)", cwd=clone).split("\n")
            if "/queue/" in name
        ]
    return strays


# the bases


def push_in_turn(folder: Path, pushes: int) -> tuple[float, float, int]:
    """(wall, CPU, pushes): seconds of bare pushes, one after another: nothing else is counted."""
    with serve(folder) as address:
        (clone,) = make_clones(folder, address, 1)
        commits = []
        for number in range(pushes):
            (clone / "counter.txt").write_text(f"{number}\n")
            git("add", "-A", cwd=clone)
            git("commit", "-q", "-m", "count", cwd=clone)
            commits.append(git("rev-parse", "HEAD", cwd=clone))
        began, before = time.monotonic(), _cpu()
        for commit in commits:
            git("push", "-q", "origin", f"{commit}:refs/heads/main", cwd=clone)
        seconds = time.monotonic() - began
    return seconds, _cpu() - before, pushes


def push_in_a_storm(folder: Path, clones: int, updates: int) -> tuple[float, float, int]:
    """(wall, CPU, pushes) of plain git by many clones at once: commit, push, and `pull --rebase`
    until it goes through.

    Every clone has a file of its own, so that nothing ever conflicts.
    """
    pushes = 0
    lock = threading.Lock()

    def work(number: int, clone: Path) -> None:
        nonlocal pushes
        luck = random.Random(number)  # noqa: S311 (no secret)
        for update in range(updates):
            (clone / f"own-{number}.txt").write_text(f"{update}\n")
            git("add", "-A", cwd=clone)
            git("commit", "-q", "-m", "own", cwd=clone)
            lost = 0
            while subprocess.run(
                ["git", "push", "-q", "origin", "HEAD:refs/heads/main"], cwd=clone, env=environment(),
                capture_output=True, check=False,
            ).returncode:  # fmt: skip
                lost += 1
                time.sleep(luck.random() * min(0.1 * 2 ** min(lost, 8), 20.0))
                # a crowded server resets some
                git("pull", "-q", "--rebase", "origin", "main", cwd=clone, check=False)
            with lock:
                pushes += lost + 1

    with serve(folder) as address:
        paths = make_clones(folder, address, clones)
        began, before = time.monotonic(), _cpu()
        with ThreadPoolExecutor(clones) as pool:
            for done in [pool.submit(work, number, path) for number, path in enumerate(paths)]:
                done.result()
        seconds = time.monotonic() - began
    return seconds, _cpu() - before, pushes


def _in_folder(task: Callable[[Path], Any]) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    try:
        return task(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """The run that was asked for, as a table; 1 where an update was lost or a state invalid."""
    parser = argparse.ArgumentParser(description="many clones that sync one skill")
    parser.add_argument("--clones", type=int, default=50)
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--kill-rate", type=float, default=0.0)
    parser.add_argument("--pace", choices=sorted(PACES), default="own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-bases", action="store_true")
    args = parser.parse_args()
    fleet = Fleet(args.clones, args.updates, args.kill_rate, args.pace)
    total = fleet.clones * fleet.updates
    print(
        f"{fleet.clones} clones x {fleet.updates} updates, kill rate {fleet.kill_rate}, pace {fleet.pace}"
    )
    print(f"{'':36} {'wall s':>8} {'CPU s':>8} {'pushes':>7} {'per update':>11}", flush=True)
    bases: list[tuple[float, float, int]] = []
    is_usual = (fleet.clones, fleet.updates, fleet.pace) == (50, 4, "own")
    if not args.no_bases:
        bases.append(_in_folder(lambda folder: push_in_turn(folder, total)))
        _row("bare pushes, one after another", *bases[-1], total)
        bases.append(
            _in_folder(lambda folder: push_in_a_storm(folder, fleet.clones, fleet.updates))
        )
        _row("plain commit, push, pull --rebase", *bases[-1], total)
    tally, verdict = _in_folder(lambda folder: run_fleet(folder, fleet, args.seed))
    _row("updates and syncs", tally.seconds, tally.cpu, tally.pushes, total)
    if is_usual and bases:
        keep("fleet", list_figures(tally, verdict, bases))
    elif (fleet.clones, fleet.updates) == (10, 5):
        keep(
            "fleet-killed" if fleet.kill_rate else f"fleet-pace-{fleet.pace}",
            list_figures(tally, verdict, bases),
        )
    for name, (seconds, cpu, _) in zip(("bare pushes", "the plain storm"), bases, strict=False):
        print(f"{f'  times {name}':36} {tally.seconds / seconds:8.2f} {tally.cpu / cpu:8.2f}")
    return report(tally, verdict, total)


def list_figures(
    tally: Tally, verdict: Verdict, bases: Sequence[tuple[float, float, int]]
) -> list[Figure]:
    """ratio: how many times its processor time the updates and syncs took; times: of its wall
    clock.
    """
    more = {
        "wall": tally.seconds,
        "pushes": tally.pushes,
        "slowest": tally.slowest,
        "median": tally.median_sync,
    }
    more |= {
        "each": tally.cpu * 1000 / max(verdict.entries, 1),
        "tries": tally.pushes / max(verdict.entries, 1),
    }
    more |= {
        "syncs": tally.syncs,
        "killed": tally.killed,
        "commits": verdict.commits,
        "entries": verdict.entries,
    }
    found = [
        Figure(
            "updates and syncs",
            tally.cpu * 1000,
            1.0,
            more={key: round(one, 2) for key, one in more.items()},
        )
    ]
    for name, (seconds, cpu, pushes) in zip(("bare pushes", "pull --rebase"), bases, strict=False):
        times = {
            "wall": round(seconds, 1),
            "pushes": pushes,
            "times": round(tally.seconds / seconds, 2),
        }
        found.append(Figure(name, cpu * 1000, tally.cpu / cpu, more=times))
    return found


def report(tally: Tally, verdict: Verdict, total: int) -> int:
    """The verdict, said; 0 where it is good."""
    times = f"median {tally.median_sync:.2f} s, slowest {tally.slowest:.2f} s"
    print(f"a sync: {times}; {tally.lost_races} races lost; {tally.killed} of {tally.syncs} killed")
    print(
        f"entries {verdict.entries} of {total}, missing {len(verdict.missing)}, excess of the sum {verdict.excess}"
    )
    found = f"invalid {len(verdict.invalid)}, shrunk {len(verdict.shrunk)}, strays {verdict.strays}"
    print(f"{verdict.commits} commits, {found}")
    is_whole = not (verdict.missing or verdict.invalid or verdict.shrunk or verdict.strays)
    return 0 if is_whole and not verdict.excess and verdict.entries == total else 1


def _row(name: str, seconds: float, cpu: float, pushes: int, total: int) -> None:
    print(
        f"{name:36} {seconds:8.1f} {cpu:8.1f} {pushes:7} {cpu / total * 1000:8.0f} ms", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
