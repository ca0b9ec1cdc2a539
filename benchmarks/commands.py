"""validate, status, next, prime and update over twelve checkpoints, against an interpreter that
does nothing.

The repository is set up, as `checkpoint init` leaves it: without the merge driver each command asks
git for its configuration. The checkpoints are committed, and each names a pull request, so that
`next` has to know what is merged. Files named on the command line are measured in place of the
generated ones: `python -m benchmarks.commands FILE...`. prime runs as a hook does, as JSON, when it
was told once what is merged.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from benchmarks.files import make_checkpoint, text_of, write_text
from benchmarks.measure import HERMETIC, Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
MANY = 1_000
SKILLS = (
    "analyse",
    "audit",
    "build",
    "deploy",
    "design",
    "docs",
    "migrate",
    "monitor",
    "plan",
    "release",
    "review",
    "spec",
)


def main(paths: list[str]) -> None:
    """Print the table for the files at paths, or for generated ones."""
    with tempfile.TemporaryDirectory() as folder:
        count, size = copy_files(paths, folder) if paths else generate_files(folder)
        git, env = "git", {**os.environ, **HERMETIC}
        for words in (
            [git, "init", "-q"],
            [CHECKPOINT, "init", "-q"],
            [git, "add", "-A"],
            [git, "commit", "-qm", "All"],
        ):
            subprocess.run(words, cwd=folder, check=True, env=env, stdout=subprocess.DEVNULL)
        figures = measure(list_contenders(), folder)
        if not paths:  # by itself, since the others would see a file that changes
            update = Contender(
                "checkpoint update", [CHECKPOINT, "update", "build", "--step=sprint-8"]
            )
            figures += measure([list_contenders()[0], update], folder)[1:]
    print_table(
        f"Commands over {count} files, {size / 1000:.0f} KB together",
        figures,
        "" if paths else "commands",
    )
    if not paths:
        measure_many()


def measure_many() -> None:
    """Time `validate` over a thousand valid files, against a process that reads them and calls
    json.loads.
    """
    with tempfile.TemporaryDirectory() as folder:
        for number in range(MANY):
            skill = f"skill-{number}"
            path = os.path.join(folder, ".checkpoints", f"{skill}.checkpoint.json")
            write_text(path, text_of(make_checkpoint(skill, folder, number % 90)))
        subprocess.run(
            ["git", "init", "-q"], cwd=folder, check=True, env={**os.environ, **HERMETIC}
        )
        contenders = [
            Contender("read and json.loads", [sys.executable, "-c", _READ_ALL]),
            Contender("checkpoint validate", [CHECKPOINT, "validate"]),
        ]
        print_table(f"{MANY} files of 16 KB", measure(contenders, folder), "many-files")


_READ_ALL = """
import json, os
for name in os.listdir(".checkpoints"):
    with open(f".checkpoints/{name}", encoding="utf-8") as stream:
        json.loads(stream.read())
"""


def generate_files(folder: str) -> tuple[int, int]:
    """Twelve checkpoints; their number and their size in bytes."""
    total = 0
    for seed, skill in enumerate(SKILLS):
        text = text_of(make_checkpoint(skill, folder, seed))
        write_text(os.path.join(folder, ".checkpoints", f"{skill}.checkpoint.json"), text)
        total += len(text.encode())
    return len(SKILLS), total


def copy_files(paths: list[str], folder: str) -> tuple[int, int]:
    """The named files under their own names (what stands before "__" is left out); their number and
    size.
    """
    target = os.path.join(folder, ".checkpoints")
    os.makedirs(target)
    for path in paths:
        shutil.copyfile(path, os.path.join(target, os.path.basename(path).rpartition("__")[2]))
    names = os.listdir(target)
    return len(names), sum(os.path.getsize(os.path.join(target, name)) for name in names)


def list_contenders() -> list[Contender]:
    """The base and the four commands; findings in the named files are no failure."""
    commands = [
        Contender(f"checkpoint {verb}", [CHECKPOINT, verb], codes=(0, 1))
        for verb in ("validate", "status", "next")
    ]
    hook = Contender("checkpoint prime", [CHECKPOINT, "prime", "--format=claude"])
    return [Contender("python -c pass", [sys.executable, "-c", "pass"]), *commands, hook]


if __name__ == "__main__":
    main(sys.argv[1:])
