"""What the tests cost: the ten dearest, the total in CPU seconds and the memory of a worker,
printed with `--costs`.

CPU seconds of this process and of the programs that it started; the machine's load does not change
them much.
"""

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_SHOWN = 10


def spent() -> float:
    """Return the CPU seconds that this process and the programs it waited for have used."""
    return sum(os.times()[:4])


def measure_peak() -> float:
    """Return the most memory that this process has had, in MB; 0 on Windows."""
    if sys.platform == "win32":
        return 0.0

    import resource  # here, because Windows has none

    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Costs:
    """Adds up what each test used, also on xdist's workers, and prints the dearest."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: dict[str, float] = {}
        self.workers = 0.0
        self.peak = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        item.stash[_BEGAN] = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        now = spent()
        report.cpu = now - item.stash[_BEGAN]  # xdist sends a report's attributes to the controller
        item.stash[_BEGAN] = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] = self.tests.get(report.nodeid, 0.0) + getattr(report, "cpu", 0.0)

    def pytest_sessionfinish(self) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["cpu"] = spent()
            output["peak"] = measure_peak()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self.workers += output.get("cpu", 0.0)
        self.peak = max(self.peak, output.get("peak", 0.0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if hasattr(self.config, "workerinput"):
            return

        total = spent() if not self.workers else self.workers + sum(os.times()[:2])
        peak = self.peak or measure_peak()
        dearest = sorted(self.tests.items(), key=lambda pair: -pair[1])

        terminalreporter.section(f"{_SHOWN} dearest tests, CPU seconds")
        for name, seconds in dearest[:_SHOWN]:
            terminalreporter.line(f"{seconds:8.2f}  {name}")
        terminalreporter.line(
            f"{total:8.2f}  in all, with collecting; {sum(self.tests.values()):.2f} in tests"
        )
        terminalreporter.line(f"{peak:8.0f}  MB at most in one process")

        if path := os.environ.get("TEST_COSTS"):
            rows = (f"{seconds:.3f}\t{name}\n" for name, seconds in dearest)
            Path(path).write_text("".join(rows))


_BEGAN = pytest.StashKey[float]()
