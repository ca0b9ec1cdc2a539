"""A repository whose two branches both changed a hundred checkpoints, and their `git merge` as a
program to measure.
"""

import os
import subprocess

from benchmarks.files import make_checkpoint, make_sides, text_of, write_text
from benchmarks.measure import HERMETIC, Contender

FILES = 100


def git(folder: str, *words: str) -> None:
    """git, in the repository, without the user's configuration."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", *words], cwd=folder, check=True, env={**env, **HERMETIC}, stdout=subprocess.DEVNULL
    )


def make_repository(folder: str) -> None:
    """Branches ours and theirs that each changed all files, from one base."""
    git(folder, "init", "-q", "-b", "base")
    write_text(os.path.join(folder, ".gitattributes"), "*.checkpoint.json merge=measured\n")
    bases = {
        f"skill-{number}": make_checkpoint(f"skill-{number}", "/srv/tidepool", number % 90)
        for number in range(FILES)
    }
    sides = {skill: make_sides(base) for skill, base in bases.items()}
    versions = {"base": bases}
    versions["ours"] = {skill: pair[0] for skill, pair in sides.items()}
    versions["theirs"] = {skill: pair[1] for skill, pair in sides.items()}
    for branch, files in versions.items():
        if branch != "base":
            git(folder, "checkout", "-q", "-b", branch, "base")
        for skill, value in files.items():
            write_text(
                os.path.join(folder, ".checkpoints", f"{skill}.checkpoint.json"), text_of(value)
            )
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", branch)


def contender(name: str, folder: str, driver: str) -> Contender:
    """A merge of the two branches by a driver, as a program to measure."""

    def prepare() -> None:
        git(folder, "checkout", "-q", "-f", "--detach", "ours")

    words = ["git", "-c", f"merge.measured.driver={driver}", "merge", "-q", "--no-edit", "theirs"]
    return Contender(name, words, prepare)
