"""Commits merged in memory beside the real `git merge` with the driver: `python -m
benchmarks.merged_commits`.

--histories N of them (default 300), from --seed on; about a tenth of a second of CPU each. Exit
code 1, with the seeds, where a tree differs or one is clean and the other is not.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import HERMETIC
from checkpoint_git.git.driver_settings import Choices
from tests.scenarios.driven import drive
from tests.support.beside import compare_merges
from tests.support.histories import write_history
from tests.support.repos import GitRepo
from tests.support.streams import Stream


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--narrative", choices=("conflict", "newest"), default="conflict")
    args = parser.parse_args()
    os.environ.update(HERMETIC)
    clean = crossed = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        repo = GitRepo.create(Path(folder) / "repo")
        drive(repo, choices=Choices(args.narrative))
        repo.commit("start")
        for seed in range(args.seed, args.seed + args.histories):
            stream = Stream()
            crossed += write_history(stream, f"s{seed}", seed)
            stream.write(repo)
            compared = compare_merges(repo, f"s{seed}/ours", f"s{seed}/theirs")
            clean += compared.is_clean
            wrong += [seed] if compared.differences else []
    print(f"{args.histories} histories, {crossed} of them criss-cross; {clean} merge cleanly")
    print(f"different: {wrong or 'none'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
