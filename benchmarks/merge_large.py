"""The merge of large checkpoints: how time and memory grow with the rows, in a process and as the
whole driver.

`python -m benchmarks.merge_large`. 10,000 rows are about 1 MB; both sides change, add and remove
rows all over.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from math import log
from typing import Any, NamedTuple

from benchmarks.driver import DRIVER, PATH
from benchmarks.files import make_checkpoint, text_of, write_text

ROWS = (2_500, 5_000, 10_000, 20_000)
ROUNDS = 7
NAMES = ("base", "ours.kept", "theirs")

# Run in a fresh process each time: what was allocated before would hide what the merge needs.
IN_PROCESS = """
import gc, json, resource, sys, time
from benchmarks.laws import merge_well
texts = [open(name, encoding="utf-8").read() for name in sys.argv[1:]]
gc.disable()
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
merged = merge_well(*texts)
seconds = time.process_time() - began
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(merged.conflicts)]))
"""


class Cost(NamedTuple):
    """seconds: of CPU. kilobytes: the most memory that was held, for a whole process with the
    interpreter's own.
    """

    seconds: float
    kilobytes: float


def main() -> None:
    """Print the table."""
    print("\nThe merge of large checkpoints, Python's garbage collector off as in the driver")
    print(
        "      rows   size   in process     more memory   whole driver   its memory   per row and log(rows)"
    )
    first: float | None = None
    for rows in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            size = write_versions(folder, rows)
            inside, whole = _measure(folder)
        unit = inside.seconds / (rows * log(rows))
        first = first or unit
        print(
            f"  {rows:8} {size / 1e6:5.2f}M {inside.seconds * 1000:8.0f} ms {inside.kilobytes / 1024:11.0f} MB"
            f" {whole.seconds * 1000:11.0f} ms {whole.kilobytes / 1024:9.0f} MB {unit / first:14.2f}"
        )


def make_large_sides(rows: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A checkpoint with that many rows, and two sides that touched every tenth row, each its
    own.
    """
    base = make_checkpoint("build", "/srv/tidepool")
    base["progress_table"] = [_row(number, "not_started") for number in range(rows)]
    sides = []
    for side, offset in (("ours", 0), ("theirs", 5)):
        changed = {**base, "progress_table": list(base["progress_table"])}
        table = changed["progress_table"]
        for number in range(offset, rows, 10):
            table[number] = _row(number, "complete")
        del table[offset + 3]
        table.insert(rows // 2, _row(rows + offset, "in_progress"))
        table.append({**_row(rows + offset + 1, "not_started"), "label": side})
        sides.append(changed)
    return base, sides[0], sides[1]


def _row(number: int, status: str) -> dict[str, Any]:
    return {"id": f"row-{number}", "label": f"Row {number}: one of many", "status": status}


def write_versions(folder: str, rows: int) -> int:
    """The three versions in a folder; the size of the first in bytes."""
    texts = [text_of(value) for value in make_large_sides(rows)]
    for name, text in zip(NAMES, texts, strict=True):
        write_text(os.path.join(folder, name), text)
    return len(texts[0].encode())


def _measure(folder: str) -> tuple[Cost, Cost]:
    inside, whole = [], []
    for _ in range(ROUNDS):
        inside.append(_run_inside(folder))
        whole.append(_run_driver(folder))
    return _median(inside), _median(whole)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.kilobytes for cost in costs),
    )


def _run_inside(folder: str) -> Cost:
    words = [sys.executable, "-c", IN_PROCESS, *(os.path.join(folder, name) for name in NAMES)]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    seconds, kilobytes, conflicts = (float(word) for word in out.strip("[]\n").split(","))
    if conflicts:
        raise RuntimeError("the large merge is not clean")
    return Cost(seconds, kilobytes)


def _run_driver(folder: str) -> Cost:
    shutil.copyfile(os.path.join(folder, "ours.kept"), os.path.join(folder, "ours"))
    words = [sys.executable, "-I", "-S", DRIVER, "base", "ours", "theirs", "7", PATH]
    process = subprocess.Popen(words, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the driver ended with exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


if __name__ == "__main__":
    main()
