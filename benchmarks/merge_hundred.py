"""`git merge` of a hundred checkpoints, set up as `checkpoint init` sets a clone up, beside the
script for Node.

The base of the ratios is Node's. It takes minutes and is not part of `make bench`: python -m
benchmarks.merge_hundred
"""

import os
import shutil
import sys
import tempfile

import checkpoint_git
from benchmarks.driver import PEER
from benchmarks.many_files import FILES, contender, make_repository
from benchmarks.measure import Figure, measure, print_table
from checkpoint_git.git.driver_settings import DRIVER, Choices, plan_settings

ROUNDS = 7


def main() -> int:
    """Print the table; 2 where there is no Node to compare with."""
    node = shutil.which("node")
    if node is None:
        print("node is not installed: nothing to compare with", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder)
        contenders = [
            contender(name, folder, driver) for name, driver in list_drivers(node).items()
        ]
        figures = measure(contenders, folder, ROUNDS)
    print_table(
        f"git merge, {FILES} files of 16 KB that both sides changed; base: node",
        [_noted(f) for f in figures],
        "merge",
    )
    return 0


def list_drivers(node: str) -> dict[str, str]:
    """Driver commands by name: the peer's, ours with its fallback as init writes it, one that
    leaves ours alone.
    """
    package = os.path.dirname(checkpoint_git.__file__)
    return {
        "node, peers/merge.js": f"'{node}' '{PEER}' %O %A %B",
        "checkpoint driver": plan_settings(sys.executable, package, Choices())[DRIVER],
        "/bin/true": "/bin/true",
    }


def _noted(figure: Figure) -> Figure:
    return figure._replace(
        note=f"{figure.milliseconds / FILES:.1f} ms a file, git's own work included"
    )


if __name__ == "__main__":
    sys.exit(main())
