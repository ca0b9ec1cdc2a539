"""What `next`, `status` and the doctor cost on a long history, beside the `git log` that they need.

The checkpoint began a month before the last commit and names merged pull requests; the second table
is of one as old as the history, whose whole log is read.

`python -m benchmarks.history 10000 100000` names the lengths.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

from benchmarks.files import make_checkpoint, text_of, write_text
from benchmarks.measure import HERMETIC, Contender, measure, print_table
from checkpoint_git.core.clock import DAY, write_instant

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
LENGTHS = (100_000,)
ROUNDS = 9
START = 1_000_000_000  # seconds since 1970
PACE = 300  # seconds between two commits
MONTH = 30 * DAY
FORMAT = "--format=%H %ct %P%n%s%n%b"
WORDS = (
    "search",
    "sorting",
    "the parser",
    "sign-in",
    "cache keys",
    "the x86-64 build",
    "UTF-8 paths",
    "retries",
)
FOLDERS = 40
FILES = 25  # a folder


def main(lengths: list[int]) -> None:
    """Print two tables for each length."""
    for length in lengths:
        end = START + PACE * length
        for name, began in (("history", end - MONTH), ("history-whole", START)):
            with tempfile.TemporaryDirectory() as folder:
                make_repository(folder, length, began)
                figures = measure(list_contenders(began - DAY), folder, ROUNDS)
            print_table(
                f"{length:,} commits, a checkpoint since {write_instant(began)}", figures, name
            )


def list_contenders(since: int) -> list[Contender]:
    """The base, and the commands that read it."""
    log = ["git", "log", "-z", FORMAT, "--topo-order", f"--since=@{since} +0000"]
    verbs = ("next", "status", "doctor", "doctor --check drift/action-shipped")
    commands = [Contender(verb, [CHECKPOINT, *verb.split()], codes=(0, 1)) for verb in verbs]
    return [Contender("git log --since", log), *commands]


def make_repository(folder: str, length: int, began: int) -> None:
    """A repository of some length, with one checkpoint in its last commit that names merged pull
    requests.
    """
    run(folder, "init", "-q", "-b", "main")
    words = ["git", "-C", folder, "fast-import", "--quiet"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, **HERMETIC}) as process:
        assert process.stdin is not None
        write_history(process.stdin, length)
        process.stdin.close()
    run(folder, "reset", "-q", "--hard")
    document = make_checkpoint("build", folder)
    document |= {"created_at": write_instant(began), "updated_at": write_instant(began)}
    document["next_actions"] = [
        f"Merge PR #{length - 60}",
        f"Review PR #{length - 100}",
        "Finish ABC-7",
    ]
    write_text(os.path.join(folder, ".checkpoints", "build.checkpoint.json"), text_of(document))
    subprocess.run(
        [CHECKPOINT, "init", "-q"], cwd=folder, check=True, env={**os.environ, **HERMETIC}
    )
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", "State")


def run(folder: str, *words: str) -> None:
    """A git command that must succeed."""
    subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, **HERMETIC})


def write_history(stream: IO[bytes], length: int, start: int = START) -> None:
    """A history as `git fast-import` reads it: one line of commits, each changes a file; some
    remove one.

    start: when it begins, seconds since 1970; a commit every five minutes.
    """
    for number in range(length):
        message = "".join(list_message(number)).encode()
        when = start + PACE * number
        stream.write(b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n" % when)
        stream.write(b"data %d\n%s\n" % (len(message), message))
        path = b"src/%d/%d.py" % (number % FOLDERS, number // FOLDERS % FILES)
        if number % 50 == 49:
            stream.write(b"D %s\n" % path)
        else:
            content = b"# %d\n" % number
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content))


def list_message(number: int) -> Iterator[str]:
    """The parts of a commit's message: squash merges, merge commits, tickets, closing keywords,
    trailers, reverts.
    """
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


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(LENGTHS))
