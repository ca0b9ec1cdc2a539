"""Functions that fork often: `thick_functions.txt` names those that are left, a list that may only
shrink.

ruff's C901 counts statements alone; here conditional expressions, comprehensions, `and` and `or`
count, too.
"""

from pathlib import Path

from tests.architecture.figures import MOST_FORKS, read_functions

NAMED = Path(__file__).with_name("thick_functions.txt")


def test_no_function_forks_more_than_fifteen_times_but_those_that_are_named() -> None:
    thick = sorted(function.name for function in read_functions() if function.forks > MOST_FORKS)
    named = NAMED.read_text("utf-8").splitlines()
    assert [name for name in thick if name not in named] == [], "too thick: take them apart"
    assert [name for name in named if name not in thick] == [], (
        f"no longer thick: remove them from {NAMED.name}"
    )
