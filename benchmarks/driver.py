"""The merge driver as a whole process: a clean merge of 16 KB, against an interpreter that does
nothing.
"""

import os
import shutil
import sys
import tempfile

import checkpoint_git
from benchmarks.files import make_checkpoint, make_sides, text_of, write_text
from benchmarks.measure import Contender, measure, print_table

DRIVER = os.path.join(os.path.dirname(checkpoint_git.__file__), "driver.py")
PEER = os.path.join(os.path.dirname(__file__), "peers", "merge.js")
PATH = ".checkpoints/build.checkpoint.json"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        size = write_versions(folder)
        figures = measure(list_contenders(folder), folder)
    notes = [
        "",
        f"a clean merge of {size / 1000:.1f} KB",
        "conflicts on it: it merges lines",
        "another merge, for scale",
    ]
    print_table(
        "Merge driver, whole process",
        [figure._replace(note=note) for figure, note in zip(figures, notes, strict=False)],
        "driver",
    )


def write_versions(folder: str) -> int:
    """The files base, ours.kept and theirs; the size of base in bytes."""
    base = make_checkpoint("build", "/srv/tidepool")
    ours, theirs = make_sides(base)
    for name, value in (("base", base), ("ours.kept", ours), ("theirs", theirs)):
        write_text(os.path.join(folder, name), text_of(value))
    return len(text_of(base).encode())


def list_contenders(folder: str) -> list[Contender]:
    """The base, the driver, and the peers that are installed here."""

    def restore_ours() -> None:
        shutil.copyfile(os.path.join(folder, "ours.kept"), os.path.join(folder, "ours"))

    git_words = ["git", "merge-file", "-q", "ours", "base", "theirs"]
    found = [
        Contender("python -c pass", [sys.executable, "-c", "pass"]),
        Contender(
            "checkpoint driver",
            [sys.executable, "-I", "-S", DRIVER, "base", "ours", "theirs", "7", PATH],
            restore_ours,
        ),
        Contender("git merge-file (C)", git_words, restore_ours, codes=None),
    ]
    node = shutil.which("node")
    if node:
        found.append(
            Contender("node, peers/merge.js", [node, PEER, "base", "ours", "theirs"], restore_ours)
        )
    return found


if __name__ == "__main__":
    main()
