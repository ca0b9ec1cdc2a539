"""What importing a module costs a process that has to start for it: the reason for what the hot
path leaves out.
"""

import importlib.util
import os
import sys

from benchmarks.measure import Contender, measure, print_table

MODULES = (
    "re",
    "json",
    "argparse",
    "typing",
    "pathlib",
    "subprocess",
    "tempfile",
    "dataclasses",
    "importlib.metadata",
    "git",
    "jsonschema",
)


def main() -> None:
    """Print the table; a module that is not installed is left out."""
    found = [name for name in MODULES if importlib.util.find_spec(name)]
    programs = {"pass": "pass", **{f"import {name}": f"import {name}" for name in found}}
    words = [Contender(name, [sys.executable, "-I", "-c", code]) for name, code in programs.items()]
    print_table("python -I -c ...", measure(words, os.getcwd()))


if __name__ == "__main__":
    main()
