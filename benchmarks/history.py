"""What the history merged, asked of long histories: without an index, and with one; beside git reading the subjects.

The last table is of a dense history: every message names eight pull requests and tickets of two thousand.

`python -m benchmarks.history 10000 100000 1000000` names the lengths; a million commits take a few minutes and 1 GB.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from benchmarks.files import make_checkpoint, text_of, write_text
from benchmarks.measure import HERMETIC, Contender, measure, print_table
from checkpoint_git.git.history.index import INDEX_FILE

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
LENGTHS = (10_000, 100_000)
KEPT = {100_000: "history", 1_000_000: "history-long"}
DENSE = 60_000
ROUNDS = 15
ASK = """
import sys
from checkpoint_git.git.history.merged import read_merged
first, count = int(sys.argv[1]), int(sys.argv[2])
read_merged(".", {f"#{number}" for number in range(first, first + 7 * count, 7)} | {"ABC-70"})
"""
WORDS = ("search", "sorting", "the parser", "sign-in", "cache keys", "the x86-64 build", "UTF-8 paths", "retries")
FOLDERS = 40
FILES = 25  # a folder

Message = Callable[[int], Iterable[str]]  # the parts of a commit's message, by its number


def main(lengths: list[int]) -> None:
    """Print a table for each length, and one of dense messages."""
    for length in lengths:
        with tempfile.TemporaryDirectory() as folder:
            make_repository(folder, length)
            figures = measure(list_contenders(folder), folder, ROUNDS)
            doctors = measure(list_doctors(), folder, ROUNDS)
        print_table(f"What {length:,} commits merged", figures, KEPT.get(length, ""))
        print_table(
            "The doctor, with its index and what it tried", doctors, "history-doctor" if length == 100_000 else ""
        )
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder, DENSE, list_dense_message)
        figures = measure(list_contenders(folder), folder, ROUNDS)
    print_table(f"What {DENSE:,} commits with dense messages merged", figures, "history-dense")


def list_contenders(folder: str) -> list[Contender]:
    """The base, and the questions: of one reference and of many, of the index and before there is one."""
    words = [sys.executable, "-c", ASK, "63"]

    def forget() -> None:
        pathlib.Path(folder, ".git", INDEX_FILE).unlink(missing_ok=True)  # what the doctor tried is remembered

    return [
        Contender("git log --format=%s", ["git", "log", "--format=%s"]),
        Contender("1 reference, no index", [*words, "1"], forget),
        Contender("1 reference, index", [*words, "1"]),
        Contender("200 references, no index", [*words, "200"], forget),
        Contender("200 references, index", [*words, "200"]),
    ]


def list_doctors() -> list[Contender]:
    """The base, one check, and all."""
    one_check = [CHECKPOINT, "doctor", "--check", "drift/action-shipped"]
    return [
        Contender("git log --format=%s", ["git", "log", "--format=%s"]),
        Contender("doctor --check drift/action-shipped", one_check, codes=(0, 1)),
        Contender("doctor", [CHECKPOINT, "doctor"], codes=(0, 1)),
    ]


def make_repository(folder: str, length: int, make_message: Message | None = None) -> None:
    """A repository of some length, with one checkpoint in its last commit that asks for a merged pull request."""
    run(folder, "init", "-q", "-b", "main")
    words = ["git", "-C", folder, "fast-import", "--quiet"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, **HERMETIC}) as process:
        assert process.stdin is not None
        write_history(process.stdin, length, make_message=make_message)
        process.stdin.close()
    run(folder, "reset", "-q", "--hard")
    document = make_checkpoint("build", folder)
    document["next_actions"] = ["Get PR #63 merged", "Review PR #70"]
    write_text(os.path.join(folder, ".checkpoints", "build.checkpoint.json"), text_of(document))
    subprocess.run([CHECKPOINT, "init", "-q"], cwd=folder, check=True, env={**os.environ, **HERMETIC})
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", "State")


def run(folder: str, *words: str) -> None:
    """A git command that must succeed."""
    subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, **HERMETIC})


def write_history(
    stream: IO[bytes], length: int, start: int = 1_000_000_000, make_message: Message | None = None
) -> None:
    """A history as `git fast-import` reads it: one line of commits, each changes a file; some remove one.

    start: when it begins, seconds since 1970; a commit every five minutes.
    """
    for number in range(length):
        message = "".join((make_message or list_message)(number)).encode()
        when = start + 300 * number
        stream.write(b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n" % when)
        stream.write(b"data %d\n%s\n" % (len(message), message))
        path = b"src/%d/%d.py" % (number % FOLDERS, number // FOLDERS % FILES)
        if number % 50 == 49:
            stream.write(b"D %s\n" % path)
        else:
            content = b"# %d\n" % number
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content))


def list_message(number: int) -> Iterator[str]:
    """The parts of a commit's message: squash merges, merge commits, tickets, closing keywords, trailers, reverts."""
    title = f"Improve {WORDS[number % 8]} for {WORDS[number // 8 % 8]}"
    kind = number % 10
    if number % 211 == 210:
        yield f'Revert "{title} (#{number - 1})"'
    elif kind < 6:
        yield f"{title} (#{number})"
    elif kind == 6:
        yield f"Merge pull request #{number} from ada/topic-{number}\n\n{title}"
    else:
        yield f"ABC-{number}: {title}" if kind == 7 else title
    if number % 3:
        yield "\n\nWhy this is done, what it was like before and how it was tried\n"
        yield "is told in a line or two; see docs/notes.md.\n"
    if number % 5 == 4:
        yield f"\nCloses #{number * 7919 % (number + 1)}\n"
    if number % 2:
        yield "\nReviewed-by: Grace <grace@example.org>\nSigned-off-by: Ada <ada@example.org>\n"


def list_dense_message(number: int) -> list[str]:
    """A message that names much: what it merged, what it closes, what it is about."""
    some = [number * prime % 1_999 + 1 for prime in (7, 11, 13, 17, 19, 23, 29, 31)]
    return [
        f"Improve {WORDS[number % 8]} (#{some[0]})\n\n",
        f"Closes #{some[1]}, refs #{some[2]} and #{some[3]}; see ABC-{some[4]}, ABC-{some[5]}.\n",
        f"Fixes: #{some[6]}\nPart of #{some[7]}\n",
    ]


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(LENGTHS))
