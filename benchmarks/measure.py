"""CPU time of whole processes: programs take turns, so that a noisy machine is as noisy for each of
them.

Figures are the median over rounds; a ratio is taken within each round before its median is.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

ROUNDS = 21


class Contender(NamedTuple):
    """A program to measure.

    words: what is run, without a shell. prepare: called before each run, not measured. codes: exit
    codes that count as having done the work; None takes any.
    """

    name: str
    words: Sequence[str]
    prepare: Callable[[], None] = lambda: None
    codes: tuple[int, ...] | None = (0,)


class Figure(NamedTuple):
    """What was measured: milliseconds of CPU (user and system, children included), and the ratio to
    the first. more: what else is kept of it, such as its peak in MB.
    """

    name: str
    milliseconds: float
    ratio: float
    note: str = ""
    more: Mapping[str, float] = {}


KEPT = os.path.join(os.path.dirname(__file__), "figures.json")


def keep(key: str, figures: Sequence[Figure]) -> None:
    """Write figures into figures.json, with what they were measured on."""
    with open(KEPT, encoding="utf-8") as stream:
        kept = json.load(stream)
    kept[key] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "rows": {
            one.name: {"ms": round(one.milliseconds, 1), "ratio": round(one.ratio, 3), **one.more}
            for one in figures
        },
    }
    with open(KEPT, "w", encoding="utf-8") as stream:
        json.dump(kept, stream, indent=2, sort_keys=True)
        stream.write("\n")


def measure(contenders: Sequence[Contender], cwd: str, rounds: int = ROUNDS) -> list[Figure]:
    """Figures in the order given; the first contender is the base of the ratios. One unmeasured
    round goes first.
    """
    times: list[list[float]] = [[] for _ in contenders]
    for turn in range(rounds + 1):
        for index, contender in enumerate(contenders):
            seconds = run_once(contender, cwd)
            if turn:
                times[index].append(seconds)
    return [
        Figure(
            contender.name,
            statistics.median(taken) * 1000,
            statistics.median(mine / base for mine, base in zip(taken, times[0], strict=True)),
        )
        for contender, taken in zip(contenders, times, strict=True)
    ]


def run_once(contender: Contender, cwd: str) -> float:
    """One run's CPU seconds. Raises RuntimeError for an exit code that is not among the
    contender's.
    """
    contender.prepare()
    process = os.fork()
    if process == 0:
        _become(contender.words, cwd)
    _, status, usage = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if contender.codes is not None and code not in contender.codes:
        raise RuntimeError(
            f"{contender.name} ended with exit code {code}: {' '.join(contender.words)}"
        )
    return usage.ru_utime + usage.ru_stime


def _become(words: Sequence[str], cwd: str) -> None:
    try:
        os.chdir(cwd)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "PYTHON"))
        }
        os.execvpe(words[0], list(words), {**env, **HERMETIC})  # noqa: S606 (no shell: that is wanted)
    finally:
        os._exit(127)


HERMETIC = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_EDITOR": "true",
}


def print_table(title: str, figures: Sequence[Figure], key: str = "") -> None:
    """A title and one line a figure. key: under which they are kept in figures.json, for the pages
    that show them.
    """
    if key:
        keep(key, figures)
    width = max(len(figure.name) for figure in figures)
    print(f"\n{title}")
    print(f"  {'':{width}}  CPU ms   ratio")
    for figure in figures:
        line = f"  {figure.name:{width}}  {figure.milliseconds:6.1f}  {figure.ratio:6.2f}  {figure.note}"
        print(line.rstrip())
