"""`checkpoint ci premerge` of a pull request, beside the `git merge` that a person would have run
with the driver.

The base of the ratios is git's merge of a hundred checkpoints: python -m benchmarks.premerge
"""

import os
import sys
import tempfile
from pathlib import Path

import checkpoint_git
from benchmarks.many_files import FILES, contender, make_repository
from benchmarks.measure import Contender, measure, print_table
from checkpoint_git.git.driver_settings import DRIVER, Choices, plan_settings

ROUNDS = 9


def main() -> int:
    """Print the table."""
    package = os.path.dirname(checkpoint_git.__file__)
    driver = plan_settings(sys.executable, package, Choices())[DRIVER]
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder)
        contenders = [
            contender("git merge with the driver", folder, driver),
            Contender("ci premerge --dry-run", _words("--dry-run")),
            Contender("ci premerge", _words("--no-push")),
        ]
        figures = measure(contenders, folder, ROUNDS)
    print_table(f"a pull request of {FILES} checkpoints of 16 KB that both sides changed", figures)
    return 0


def _words(*more: str) -> list[str]:
    script = str(Path(sys.executable).parent / "checkpoint")
    return [script, "ci", "merge", "--base", "theirs", "--head", "ours", *more]


if __name__ == "__main__":
    sys.exit(main())
