"""A commit that touches no checkpoint: how many Pythons the hooks start, and what it costs beside
one without hooks.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from benchmarks.files import make_checkpoint, text_of, write_text
from benchmarks.measure import HERMETIC, Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
COMMIT = ["git", "commit", "-q", "--allow-empty", "-m", "a change", "notes.txt"]


def main() -> None:
    """Print how many Pythons a commit starts, and the table of times."""
    with tempfile.TemporaryDirectory() as folder:
        plain, hooked = os.path.join(folder, "plain"), os.path.join(folder, "hooked")
        for repository in (plain, hooked):
            make_repository(repository)
        run(hooked, CHECKPOINT, "init")
        commit_all(hooked)
        started = count_pythons(hooked)
        figures = measure(
            [contender("commit without hooks", plain), contender("commit with hooks", hooked)],
            folder,
        )
    print_table("A commit that touches no checkpoint", figures, "hooks")
    shown = "not counted: strace is not installed" if started is None else str(started)
    print(f"  Python processes that the hooks started: {shown}")


def run(repository: str, *words: str) -> None:
    """A program that must succeed, in a repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        words, cwd=repository, check=True, env={**env, **HERMETIC}, stdout=subprocess.DEVNULL
    )


def make_repository(repository: str) -> None:
    """A repository that has one checkpoint and a file beside it."""
    text = text_of(make_checkpoint("build", repository))
    write_text(os.path.join(repository, ".checkpoints", "build.checkpoint.json"), text)
    write_text(os.path.join(repository, "notes.txt"), "one\n")
    run(repository, "git", "init", "-q", "-b", "main")
    commit_all(repository)


def commit_all(repository: str) -> None:
    """Everything staged and committed."""
    run(repository, "git", "add", "-A")
    run(repository, "git", "commit", "-q", "-m", "state")


def change(repository: str) -> None:
    """One more line in the file beside the checkpoint."""
    with open(os.path.join(repository, "notes.txt"), "a", encoding="utf-8") as stream:
        stream.write("one more\n")


def contender(name: str, repository: str) -> Contender:
    """A commit in a repository, as a program to measure."""
    return Contender(name, ["git", "-C", repository, *COMMIT[1:]], lambda: change(repository))


def count_pythons(repository: str) -> int | None:
    """How many Python processes one such commit starts; None where that cannot be seen."""
    if not shutil.which("strace"):
        return None
    change(repository)
    report = os.path.join(os.path.dirname(repository), "calls")
    run(repository, "strace", "-f", "-qq", "-e", "trace=execve", "-o", report, *COMMIT)
    with open(report, encoding="utf-8", errors="replace") as stream:
        calls = [line for line in stream if "execve(" in line and line.rstrip().endswith("= 0")]
    names = [os.path.basename(call.split('execve("')[1].split('"')[0]) for call in calls]
    return sum(name.startswith(("python", "checkpoint", "git-checkpoint")) for name in names)


if __name__ == "__main__":
    main()
