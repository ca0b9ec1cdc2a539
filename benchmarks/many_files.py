"""`git merge` where both sides changed a hundred checkpoints: our driver, one that does nothing, a script for Node.

This one is slow (a minute or more) and not part of `make bench`.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import checkpoint_git
from benchmarks.driver import PEER
from benchmarks.files import make_checkpoint, make_sides, text_of, write_text
from benchmarks.measure import HERMETIC, Contender, measure, print_table

FILES = 100
ROUNDS = 5
DRIVER = os.path.join(os.path.dirname(checkpoint_git.__file__), "driver.py")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder)
        contenders = [contender(name, folder, driver) for name, driver in list_drivers().items()]
        figures = measure(contenders, folder, ROUNDS)
    print_table(f"git merge, {FILES} files of 16 KB that both sides changed", figures)


def list_drivers() -> dict[str, str]:
    """Driver commands by name, as git's configuration has them."""
    drivers = {"true": "true", "checkpoint driver": f"'{sys.executable}' -I -S '{DRIVER}' %O %A %B %L %P"}
    if shutil.which("node"):
        drivers["node, peers/merge.js"] = f"node '{PEER}' %O %A %B"
    return drivers


def git(folder: str, *words: str) -> None:
    """git, in the repository, without the user's configuration."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *words], cwd=folder, check=True, env={**env, **HERMETIC}, stdout=subprocess.DEVNULL)


def make_repository(folder: str) -> None:
    """Branches ours and theirs that each changed all files, from one base."""
    git(folder, "init", "-q", "-b", "base")
    write_text(os.path.join(folder, ".gitattributes"), "*.checkpoint.json merge=measured\n")
    bases = {
        f"skill-{number}": make_checkpoint(f"skill-{number}", "/srv/tidepool", number % 90) for number in range(FILES)
    }
    sides = {skill: make_sides(base) for skill, base in bases.items()}
    versions = {"base": bases}
    versions["ours"] = {skill: pair[0] for skill, pair in sides.items()}
    versions["theirs"] = {skill: pair[1] for skill, pair in sides.items()}
    for branch, files in versions.items():
        if branch != "base":
            git(folder, "checkout", "-q", "-b", branch, "base")
        for skill, value in files.items():
            write_text(os.path.join(folder, ".checkpoints", f"{skill}.checkpoint.json"), text_of(value))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", branch)


def contender(name: str, folder: str, driver: str) -> Contender:
    """A merge of the two branches by a driver, as a program to measure."""

    def prepare() -> None:
        git(folder, "checkout", "-q", "-f", "--detach", "ours")

    words = ["git", "-c", f"merge.measured.driver={driver}", "merge", "-q", "--no-edit", "theirs"]
    return Contender(name, words, prepare)


if __name__ == "__main__":
    main()
