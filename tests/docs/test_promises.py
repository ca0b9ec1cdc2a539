"""Every promise in docs/promises.md names a test that is there."""

import re

from tests.architecture.imports import ROOT
from tests.support.rows import rows

PAGE = (ROOT / "docs/promises.md").read_text().split("\n## What each command does\n")[0]
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]
PROMISES = [row for row in ROWS if row != "| promise | test |"]


def test_there_are_promises_and_not_more_than_one_can_read() -> None:
    assert 40 < len(PROMISES) <= 60


@rows("row", PROMISES)
def test_a_promise_names_a_test_that_is_there(row: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
    assert named, row
    assert row.endswith("` |"), row
    assert all(f"def {test}(" in (ROOT / file).read_text() for file, test in named)
