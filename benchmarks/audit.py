"""What merges did to checkpoints, asked of histories full of merges; beside git reading the
subjects.

`python -m benchmarks.audit` makes two: one in which both sides of every merge changed the same
checkpoint, and one in which few did.
"""

import copy
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.files import make_checkpoint, text_of
from benchmarks.measure import HERMETIC, Contender, measure, print_table
from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.protocols.merge_schema import load_merge_schema
from tests.support.merging import merge_texts

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
PATH = ".checkpoints/build.checkpoint.json"
CASES = ((475, 1), (1_000, 12))  # merges, and of how many one has both sides in the same checkpoint
ROUNDS = 9


def main() -> None:
    """Print a table for each history."""
    for merges, one_in in CASES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["git", "init", "-q", "-b", "main"],
                cwd=folder,
                check=True,
                env={**os.environ, **HERMETIC},
            )
            stream = b"".join(list_commits(folder, merges, one_in))
            words = ["git", "fast-import", "--quiet"]
            subprocess.run(
                words, cwd=folder, input=stream, check=True, env={**os.environ, **HERMETIC}
            )
            figures = measure(list_contenders(), folder, ROUNDS)
        print_table(
            f"{merges:,} merges, one in {one_in} of which joined two versions of a checkpoint",
            figures,
        )


def list_contenders() -> list[Contender]:
    """The base, the audit of the whole history, and the explanation of every merge, which tells
    more.
    """
    return [
        Contender("git log --format=%s", ["git", "log", "--format=%s"]),
        Contender("git log --merges -p --cc", ["git", "log", "--merges", "-p", "--cc"]),
        Contender("audit", [CHECKPOINT, "audit"]),
        Contender("audit HEAD --all", [CHECKPOINT, "audit", "--range", "HEAD"]),
    ]


def list_commits(folder: str, merges: int, one_in: int) -> Iterator[bytes]:
    """The commits in git fast-import's words; every merge is what the driver makes."""
    schema = load_merge_schema(PATH)
    value = make_checkpoint("build", folder)
    yield write_commit(1, [], PATH, text_of(value))
    tip = 1
    for number in range(merges):
        left, right = copy.deepcopy(value), copy.deepcopy(value)
        left["context_primer"]["key_decisions"] = [f"of main, {number}"]
        right["next_actions"] = [f"of the branch, {number}"]
        joined = number % one_in == 0
        mark = 2 + 3 * number
        yield write_commit(
            mark, [tip], PATH if joined else "code", text_of(left) if joined else f"{number}\n"
        )
        yield write_commit(mark + 1, [tip], PATH, text_of(right))
        text = text_of(right)
        if joined:
            text = merge_texts(text_of(value), text_of(left), text_of(right), schema).text
            right["context_primer"]["key_decisions"] = left["context_primer"]["key_decisions"]
        yield write_commit(mark + 2, [mark, mark + 1], PATH, text)
        value, tip = right, mark + 2


def write_commit(mark: int, parents: list[int], path: str, text: str) -> bytes:
    """One commit with one file."""
    data = text.encode()
    start = "".join(f"{'merge' if at else 'from'} :{parent}\n" for at, parent in enumerate(parents))
    head = f"commit refs/heads/main\nmark :{mark}\ncommitter a <a@b> {1_700_000_000 + mark} +0000\ndata 6\nchange\n"
    return f"{head}{start}M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


if __name__ == "__main__":
    try:
        main()
    except JsonTextError as error:
        sys.exit(f"a document of the benchmark is none: {error.message}")
