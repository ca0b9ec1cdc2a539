"""How many agents one ref can serve: a small simulation, fed by costs that are measured here and
checked against them.

    python -m benchmarks.fleet_model                     measure the costs, check the model, and
    look further python -m benchmarks.fleet_model --costs FILE        with costs that were measured
    before python -m benchmarks.fleet_model --check 10 5        clones and updates of the run that
    it is checked against

What it knows: an attempt fetches, merges and pushes, and succeeds if the ref is still what was
fetched; else it waits as `checkpoint sync` waits. Work shares the processors equally. What it
leaves out: delays of the network unless given, memory, disks that are slower under load, histories
that grow.
"""

import argparse
import heapq
import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.fleet import (
    SKILL,
    Fleet,
    _change,
    environment,
    git,
    make_clones,
    run_fleet,
    serve,
    sync_words,
)
from benchmarks.measure import Figure, keep
from checkpoint_git.tools.sync.run import LOOK_EVERY, backoff

# ("work", processor seconds on the server or the shared machine), ("wait", seconds)
Step = tuple[str, float]
Agent = Generator[Step, None, None]


class Costs(NamedTuple):
    """Processor seconds. start: until the remote is asked. fetch, push: both ends together;
    push_server, fetch_server: of that the server's. merge: between the two. lost: a push that is
    turned away. look: one look at the branch.
    """

    update: float
    start: float
    fetch: float
    fetch_server: float
    merge: float
    push: float
    push_server: float
    lost: float
    look: float
    look_server: float


class Found(NamedTuple):
    """What a simulation came to. waits: seconds from the wish to sync to its end."""

    seconds: float
    done: int
    pushes: int
    waits: list[float]

    @property
    def per_second(self) -> float:
        """Updates that arrived."""
        return self.done / self.seconds if self.seconds else 0.0


class Machine:
    """Time, and processors that all work shares equally."""

    def __init__(self, cores: float) -> None:
        self.cores = cores
        self.now = self.shared = 0.0  # shared: the work that each job has got so far
        self._order = itertools.count()
        self._working: list[tuple[float, int, Agent]] = []
        self._waiting: list[tuple[float, int, Agent]] = []

    def begin(self, agent: Agent, after: float = 0.0) -> None:
        """Lets an agent begin later."""
        heapq.heappush(self._waiting, (self.now + after, next(self._order), agent))

    def run(self, until: float) -> None:
        """Until nobody has anything left to do, or the time is over."""
        while (self._working or self._waiting) and self.now < until:
            pace = min(1.0, self.cores / len(self._working)) if self._working else 0.0
            ends = (
                self.now + (self._working[0][0] - self.shared) / pace
                if self._working
                else float("inf")
            )
            wakes = self._waiting[0][0] if self._waiting else float("inf")
            moment = max(self.now, min(ends, wakes))
            self.shared += (moment - self.now) * pace
            self.now = moment
            self._advance(heapq.heappop(self._working if ends <= wakes else self._waiting)[2])

    def _advance(self, agent: Agent) -> None:
        step = next(agent, None)
        if step is None:
            return
        kind, amount = step
        queue, base = (self._working, self.shared) if kind == "work" else (self._waiting, self.now)
        heapq.heappush(queue, (base + amount, next(self._order), agent))


class Ref:
    """A branch: how often it has changed."""

    def __init__(self) -> None:
        self.version = 0


class Setting(NamedTuple):
    """own: agents have processors of their own, and share only the server's. delay: seconds of one
    network round trip; a fetch and a push take three each.
    """

    costs: Costs
    own: bool
    delay: float = 0.0


def act(
    machine: Machine,
    ref: Ref,
    setting: Setting,
    luck: random.Random,
    tally: list[float],
    pushes: list[int],
) -> Agent:
    """One sync, until its push has arrived."""
    costs, own, delay = setting
    asked = machine.now
    lost = 0
    yield from _mixed(costs.start, 0.0, own, 0.0)
    while True:
        began = machine.now
        yield from _mixed(costs.fetch - costs.fetch_server, costs.fetch_server, own, 3 * delay)
        seen = ref.version
        yield from _mixed(costs.merge, 0.0, own, 2 * delay)
        if ref.version == seen:
            yield from _mixed(costs.push - costs.push_server, costs.push_server, own, delay)
        else:
            yield from _mixed(costs.lost / 2, costs.lost / 2, own, delay)
        pushes[0] += 1
        if ref.version == seen:
            ref.version += 1
            tally.append(machine.now - asked)
            return
        lost += 1
        yield from _pause(
            machine, ref, setting, luck, backoff(lost, machine.now - began, luck.random())
        )


def _mixed(client: float, server: float, own: bool, delay: float) -> Agent:
    if delay or (own and client):
        yield "wait", delay + (client if own else 0.0)
    work = server if own else client + server
    if work:
        yield "work", work


def _pause(
    machine: Machine, ref: Ref, setting: Setting, luck: random.Random, pause: float
) -> Agent:
    over = machine.now + pause
    last = -1
    costs = setting.costs
    while (left := over - machine.now) > 0:
        if left <= LOOK_EVERY:
            yield "wait", left
            return
        yield "wait", LOOK_EVERY * (0.75 + luck.random() / 2)
        yield from _mixed(
            costs.look - costs.look_server, costs.look_server, setting.own, 2 * setting.delay
        )
        if ref.version == last:
            return
        last = ref.version


def simulate_storm(fleet: Fleet, setting: Setting, cores: float, seed: int = 1) -> Found:
    """The measured benchmark: every clone updates and syncs without a rest, on one machine."""
    machine, ref = Machine(cores), Ref()
    tally: list[float] = []
    pushes = [0]

    def clone(number: int) -> Agent:
        luck = random.Random(f"{seed} {number}")  # noqa: S311 (no secret)
        for _ in range(fleet.updates):
            yield "work", setting.costs.update
            yield from act(machine, ref, setting, luck, tally, pushes)

    for number in range(fleet.clones):
        machine.begin(clone(number))
    machine.run(1e9)
    return Found(machine.now, len(tally), pushes[0], tally)


def simulate_agents(
    agents: int,
    every: float,
    refs: int,
    setting: Setting,
    cores: float,
    seconds: float,
    seed: int = 1,
) -> Found:
    """Agents with machines of their own that sync every so many seconds on average, spread over
    refs.
    """
    machine = Machine(cores)
    branches = [Ref() for _ in range(refs)]
    tally: list[float] = []
    pushes = [0]

    def agent(number: int) -> Agent:
        luck = random.Random(f"{seed} {number}")  # noqa: S311 (no secret)
        yield "wait", luck.random() * every
        while True:
            yield from act(machine, branches[number % refs], setting, luck, tally, pushes)
            yield "wait", luck.expovariate(1 / every)

    for number in range(agents):
        machine.begin(agent(number))
    machine.run(seconds)
    return Found(machine.now, len(tally), pushes[0], tally)


# measuring the costs


def measure_costs(rounds: int = 15) -> Costs:
    """Medians over rounds, on a server of this machine. What the server takes is half of a push and
    of a fetch's work beyond what the client alone is seen to take.
    """
    folder = Path(tempfile.mkdtemp(prefix="fleet-costs-"))
    try:
        with serve(folder) as address:
            return _measure(folder, address, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(folder: Path, address: str, rounds: int) -> Costs:
    one, two = make_clones(folder, address, 2)
    taken: dict[str, list[float]] = {}

    def take(name: str, cwd: Path, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        taken.setdefault(name, []).append(_spend(cwd, words, codes))

    for turn in range(rounds):
        taken.setdefault("update", []).append(_timed(lambda turn=turn: _change(one, 0, turn)))  # type: ignore[misc]  # a default is no parameter
        take("sync", one, *sync_words("own"))
        take("current", one, *sync_words("own"))
        take("look", two, "git", "ls-remote", "-q", "origin", "refs/heads/main")
        take("lost", two, "git", "push", "-q", "--force-with-lease=refs/heads/main:" + "1" * 40, "origin",
             "HEAD:refs/heads/main", codes=(1,))  # fmt: skip
        take("fetch", two, "git", "fetch", "-q", "origin", "+refs/heads/main:refs/x")
        commit = git("commit-tree", "-p", "refs/x", "-m", "x", "refs/x^{tree}", cwd=two)
        take("push", two, "git", "push", "-q", "origin", f"{commit}:refs/heads/side")
        git("push", "-q", "origin", ":refs/heads/side", cwd=two)
    middle = {name: median(values) for name, values in taken.items()}
    start = max(middle["current"] - middle["fetch"], 0.0) * 0.75
    merge = max(middle["sync"] - middle["fetch"] - middle["push"] - start, 0.0)
    # The daemon's own share cannot be waited for from here: what it starts is git of the same kind
    # and size.
    return Costs(
        middle["update"], start, 2 * middle["fetch"], middle["fetch"], merge, 2 * middle["push"], middle["push"],
        2 * middle["lost"], 2 * middle["look"], middle["look"],
    )  # fmt: skip


def _timed(task: Callable[[], Any]) -> float:
    import resource

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    task()
    return spent() - before


def _spend(cwd: Path, words: tuple[str, ...], codes: tuple[int, ...]) -> float:
    def run() -> None:
        done = subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, check=False)
        if done.returncode not in codes:
            raise RuntimeError(f"{words}: {done.returncode} {done.stderr.decode()}")

    return _timed(run)


# what is asked of it


def check_model(costs: Costs, fleet: Fleet) -> None:
    """The measured run beside the simulated one."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-check-"))
    try:
        measured, _ = run_fleet(folder, fleet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    cores = max(0.2, min(2.0, measured.cpu / measured.seconds))
    print(
        f"\nchecked against {fleet.clones} clones x {fleet.updates} updates, {cores:.2f} processors to be had"
    )
    compare(costs, fleet, cores, measured.seconds, measured.pushes)


def compare(costs: Costs, fleet: Fleet, cores: float, seconds: float, pushes: int) -> None:
    """One line of measured figures, one of simulated ones; kept for the pages."""
    found = [simulate_storm(fleet, Setting(costs, own=False), cores, seed) for seed in range(5)]
    print(f"  {'':10} {'wall s':>8} {'pushes an update':>18}")
    print(f"  {'measured':10} {seconds:8.1f} {pushes / (fleet.clones * fleet.updates):18.2f}")
    wall, tries = (
        median(each.seconds for each in found),
        median(each.pushes / each.done for each in found),
    )
    print(f"  {'simulated':10} {wall:8.1f} {tries:18.2f}")
    known = Figure(
        "measured",
        0.0,
        0.0,
        more={"wall": seconds, "tries": pushes / (fleet.clones * fleet.updates)},
    )
    keep("fleet-check", [known, Figure("simulated", 0.0, 0.0, more={"wall": wall, "tries": tries})])


def look_further(costs: Costs, cores: float, delay: float) -> None:
    """Ten thousand agents, one ref and several; kept for the pages."""
    setting = Setting(costs, own=True, delay=delay)
    print(
        f"\nagents with machines of their own, a server of {cores:g} processors, {delay * 1000:.0f} ms a round trip"
    )
    rows = list[Figure]()
    names = ("agents", "sync every", "refs", "wished/s", "done/s", "pushes", "median s", "95% s")
    print(
        "  "
        + " ".join(
            f"{name:>{width}}" for name, width in zip(names, (7, 11, 6, 9, 8, 7, 9, 7), strict=True)
        )
    )
    for agents, every, refs in PLANS:
        found = simulate_agents(agents, every, refs, setting, cores, min(4 * every, 900.0))
        waits = sorted(found.waits) or [0.0]
        row = f"  {agents:7} {every:9.0f} s {refs:6} {agents / every:9.1f} {found.per_second:8.1f}"
        tries, last = found.pushes / max(found.done, 1), waits[int(len(waits) * 0.95)]
        print(f"{row} {tries:7.2f} {median(waits):9.2f} {last:7.1f}")
        more = {"done": found.per_second, "pushes": tries, "median": median(waits), "slow": last}
        more = {name: round(one, 2) for name, one in more.items()}
        rows.append(
            Figure(
                f"{agents}/{every:.0f}/{refs}",
                0.0,
                0.0,
                more={name: round(one, 2) for name, one in more.items()},
            )
        )
    keep("fleet-model", rows)


PLANS = [
    (100, 60.0, 1),
    (300, 60.0, 1),
    (10_000, 600.0, 1),
    (10_000, 600.0, 10),
    (10_000, 60.0, 1_000),
]


def main() -> int:
    """Costs, check, outlook."""
    parser = argparse.ArgumentParser(description="what one ref can serve")
    parser.add_argument(
        "--costs", type=Path, help="costs as JSON; they are measured where it is missing"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--check", type=int, nargs=2, metavar=("CLONES", "UPDATES"), default=(10, 5)
    )
    parser.add_argument("--known", type=float, nargs=3, metavar=("PROCESSORS", "SECONDS", "PUSHES"))
    parser.add_argument("--server-cores", type=float, default=8.0)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds of a round trip")
    args = parser.parse_args()
    if args.costs and args.costs.exists():
        costs = Costs(**json.loads(args.costs.read_text()))
    else:
        began = time.monotonic()
        costs = measure_costs(args.rounds)
        print(f"costs measured in {time.monotonic() - began:.0f} s, for {SKILL}")
        if args.costs:
            args.costs.write_text(json.dumps(costs._asdict()))
    print(
        "processor milliseconds:",
        ", ".join(f"{name} {value * 1000:.0f}" for name, value in costs._asdict().items()),
    )
    fleet = Fleet(*args.check)
    if args.known:
        compare(costs, fleet, args.known[0], args.known[1], int(args.known[2]))
    else:
        check_model(costs, fleet)
    look_further(costs, args.server_cores, args.delay)
    return 0


if __name__ == "__main__":
    sys.exit(main())
