"""`checkpoint doctor` over many checkpoints and a long history, beside git reading the subjects and
files being read.

`python -m benchmarks.doctor 10000 100000` names how many checkpoints and commits; it takes some
minutes and 300 MB. Peaks are those of the process itself, git's apart.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from benchmarks.files import make_checkpoint, text_of
from benchmarks.history import CHECKPOINT, run, write_history
from benchmarks.measure import HERMETIC, Contender, Figure, measure, print_table

SIZES = (10_000, 100_000)  # checkpoints, commits
ROUNDS = 9
PACE = 300  # seconds between two commits, as write_history has it
READ = """
import json, os, subprocess, sys
subprocess.run(["git", "log", "--format=%s"], stdout=subprocess.DEVNULL, check=True)
read = json.loads if sys.argv[1] == "parse" else len
for name in sorted(os.listdir(".checkpoints")):
    if name.endswith(".json"):
        with open(os.path.join(".checkpoints", name), "rb") as stream:
            read(stream.read())
"""


def main(files: int, commits: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        make_repository(folder, files, commits)
        figures = measure(list_contenders(), folder, ROUNDS)
        key = "doctor" if (files, commits) == SIZES else ""
        print_table(f"{files:,} checkpoints and {commits:,} commits", figures, key)
        print_peaks(folder, files, commits)


def print_peaks(folder: str, files: int, commits: int) -> None:
    """The memory of commands, from one run of each, and the time of another."""
    words = (["status"], ["status", "--json"], ["next"], ["prime", "--format=claude"])
    contenders = [Contender(" ".join(each), [CHECKPOINT, *each]) for each in words]
    contenders = [*contenders, *list_contenders()[2:]]
    figures = measure(contenders, folder, rounds=1)
    figures = [
        add_peak(one, contender, folder) for one, contender in zip(figures, contenders, strict=True)
    ]
    print_table("Their memory", figures, "memory" if (files, commits) == SIZES else "")


def add_peak(figure: Figure, contender: Contender, folder: str) -> Figure:
    """With the peak of one run, of its own process."""
    contender.prepare()
    peak = round(read_peak(contender.words, folder) / 1024, 1)
    return figure._replace(note=f"{peak:.0f} MB", more={"mb": peak})


def list_contenders() -> list[Contender]:
    """Return the base, the same with parsing, and the doctor."""
    read = [sys.executable, "-I", "-S", "-c", READ]
    return [
        Contender("git log --format=%s, files read", [*read, "plain"]),
        Contender("git log --format=%s, files read and parsed", [*read, "parse"]),
        Contender("doctor", [CHECKPOINT, "doctor"]),
    ]


def read_peak(words: Sequence[str], folder: str) -> int:
    """The most memory that a run took in its own process, in kB."""
    env, none = {**os.environ, **HERMETIC}, subprocess.DEVNULL
    with subprocess.Popen(words, cwd=folder, env=env, stdin=none, stdout=none) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, _read_high_water(process.pid))
            time.sleep(0.002)
    return peak


def _read_high_water(process: int) -> int:
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream)
    except (OSError, ValueError):
        return 0
    return int(lines.get("VmHWM", "0 kB").split()[0])


def make_repository(folder: str, files: int, commits: int) -> None:
    """A repository with a history that ends now, and checkpoints written an hour ago whose files
    are there.
    """
    run(folder, "init", "-q", "-b", "main")
    end = int(time.time()) - 60
    words = ["git", "-C", folder, "fast-import", "--quiet"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, **HERMETIC}) as process:
        assert process.stdin is not None
        write_history(process.stdin, commits, end - PACE * commits)
        write_checkpoints(process.stdin, folder, files, commits, end)
        process.stdin.close()
    run(folder, "reset", "-q", "--hard")
    subprocess.run([CHECKPOINT, "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", "Install")


def write_checkpoints(stream: IO[bytes], folder: str, files: int, commits: int, end: int) -> None:
    """One commit with all checkpoints, about 5 KB each; next actions wait for pull requests that
    nobody merged yet.
    """
    stream.write(
        b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata 5\nState\n" % end
    )
    for number in range(files):
        name = f"skill-{number:05}"
        document = make_checkpoint(name, folder, number % 90)
        document["created_at"], document["updated_at"] = (
            stamp(end - PACE * commits),
            stamp(end - 3_600),
        )
        document["context_primer"]["key_decisions"] = document["context_primer"]["key_decisions"][
            :8
        ]
        document["context_primer"]["generated_files"] = [
            f"src/{(number + at) % 9}/{at}.py" for at in range(3)
        ]
        document["skill_state"]["run_history"] = document["skill_state"]["run_history"][:5]
        document["skill_state"]["merged_prs"] = document["skill_state"]["merged_prs"][:5]
        document["recently_done"] = []
        document["next_actions"] = ["Write the next part", f"Get #{commits + number} merged"]
        data = text_of(document).encode()
        stream.write(
            b"M 100644 inline .checkpoints/%s.checkpoint.json\ndata %d\n%s\n"
            % (name.encode(), len(data), data)
        )


def stamp(instant: int) -> str:
    """Seconds since 1970 as checkpoints write an instant."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(instant))


if __name__ == "__main__":
    main(*([int(word) for word in sys.argv[1:]] or SIZES))
