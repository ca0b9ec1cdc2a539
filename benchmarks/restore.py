"""Restore points: making one of 1,000 files (100 MB) against `git add` of the same, and the guard against an
interpreter that does nothing.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

from benchmarks.measure import Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
FILES, SIZE = 1000, 100_000
_GUARD = 'printf %s "$1" | "$0" restore-point guard'
_CALL = '{"tool_name": "Edit", "tool_input": {"file_path": "t/f1"}}'
_READ = '{"tool_name": "Read", "tool_input": {"file_path": "t/f1"}}'


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder)
        index = os.path.join(folder, ".git/scratch")
        add = ("env", f"GIT_INDEX_FILE={index}", "git", "add", "t")
        contenders = [
            Contender("git add into a scratch index", add, lambda: forget(folder, index)),
            Contender("restore-point create", (CHECKPOINT, "rp", "create", "t"), lambda: forget(folder, index)),
        ]
        print_table("1,000 files, 100 MB", measure(contenders, folder, 3))
        subprocess.run([CHECKPOINT, "rp", "create", "t", "-q"], cwd=folder, check=True)
        contenders = [
            Contender("python -c pass", (sys.executable, "-c", "pass")),
            Contender("guard: an edit", ("sh", "-c", _GUARD, CHECKPOINT, _CALL)),
            Contender("guard: a read", ("sh", "-c", _GUARD, CHECKPOINT, _READ)),
        ]
        print_table("one tool call", measure(contenders, folder))


def make_files(folder: str) -> None:
    """Half of them words, half of them what nothing makes smaller."""
    chance = random.Random(1)  # noqa: S311 - content, no secret
    words = [chance.randbytes(6).hex() for _ in range(5000)]
    subprocess.run(["git", "init", "-q", folder], check=True)
    os.mkdir(os.path.join(folder, "t"))
    for number in range(FILES):
        text = " ".join(chance.choice(words) for _ in range(SIZE // 13 + 1)).encode()[:SIZE]
        with open(os.path.join(folder, "t", f"f{number}"), "wb") as stream:
            stream.write(chance.randbytes(SIZE) if number % 2 else text)


def forget(folder: str, index: str) -> None:
    """Takes away what an earlier run left, so that each one writes everything."""
    for name in os.listdir(os.path.join(folder, ".git/objects")):
        if len(name) == 2:
            shutil.rmtree(os.path.join(folder, ".git/objects", name))
    shutil.rmtree(os.path.join(folder, ".git/refs/checkpoints"), ignore_errors=True)
    shutil.rmtree(os.path.join(folder, ".checkpoints"), ignore_errors=True)
    if os.path.exists(index):
        os.unlink(index)


if __name__ == "__main__":
    main()
