"""Every promise in docs/promises.md names a test that is there, and can be broken as benchmarks/
says.
"""

import re

from benchmarks.mutants import BROKEN, READ, Change, read_changes, read_promises
from tests.architecture.imports import ROOT
from tests.support.rows import rows

PAGE = (ROOT / "docs/promises.md").read_text().split("\n## What each command does\n")[0]
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]
PROMISES = [row for row in ROWS if row != "| promise | test |"]
CHANGES = read_changes(BROKEN.read_text())


def test_there_are_promises_and_not_more_than_one_can_read() -> None:
    assert 40 < len(PROMISES) <= 60


@rows("row", PROMISES)
def test_a_promise_names_a_test_that_is_there(row: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
    assert named, row
    assert row.endswith("` |"), row
    assert all(f"def {test}(" in (ROOT / file).read_text() for file, test in named)


def count_places(change: Change) -> int:
    """Return how often a file has the lines that the change replaces; 0 where there is no such
    file.
    """
    path = ROOT / change.path
    if not path.is_file():
        return 0

    wanted = change.old.splitlines()
    lines = [line.strip() for line in path.read_text().splitlines()]
    return sum(lines[start : start + len(wanted)] == wanted for start in range(len(lines)))


@rows("change", [change for change, _ in [*CHANGES, *read_changes(READ.read_text())]])
def test_a_change_to_try_has_one_place_in_the_code(change: Change) -> None:
    assert count_places(change) == 1


def test_each_promise_is_broken_and_nothing_else() -> None:
    promises = read_promises(PAGE)
    broken = {test for _, test in CHANGES}

    assert broken <= {test for tests in promises.values() for test in tests}
    assert [promise for promise, tests in promises.items() if broken.isdisjoint(tests)] == []
