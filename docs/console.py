"""Console examples in a page: run as they stand, held against what the page shows, or written into
it.

`python -m docs.console PAGE` runs a page's examples in a scratch folder and writes what they print
into the page.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "\x01"
# what differs from run to run
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?"), "INSTANT"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"chk_\d{8}_\d{6}_[a-z0-9]{6}"), "POINT"),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "COMMIT"),
    (re.compile(r"\b\d+ (seconds?|s) ago\b|\b\d+s\b"), "SOON"),
    (re.compile(r"\b\d+ checks:"), "CHECKS"),  # which grow in number
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"  +"), "  "),
)


class Example(NamedTuple):
    """A command as a page has it, its lines joined, and what is shown below it."""

    command: str
    shown: str


def find_examples(page: str) -> list[Example]:
    """The commands of all console blocks in order. A command begins with `$ ` and goes on over
    lines with `> `.
    """
    return [example for block in _BLOCK.findall(page) for example in _split(block)]


def _split(block: str) -> Iterator[Example]:
    command, shown = "", list[str]()
    for line in [*block.splitlines(keepends=True), "$ "]:
        if line.startswith("$ "):
            if command:
                yield Example(command, "".join(shown))
            command, shown = line[2:].rstrip("\n"), []
        elif line.startswith("> ") and not shown:
            command += "\n" + line[2:].rstrip("\n")
        else:
            shown.append(line)


def run_examples(examples: list[Example], folder: Path, env: Mapping[str, str]) -> list[str]:
    """What each command prints, stderr too, all run in turn by one shell that starts in a
    folder.
    """
    script = "".join(
        f"printf '{_MARK}'\n{{ {one.command}\n}} 2>&1 </dev/null\n" for one in examples
    )
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.stderr:
        raise RuntimeError(done.stderr)
    return done.stdout.replace(str(folder), "/home/you").split(_MARK)[1:]


def level(text: str) -> str:
    """A text with what differs from run to run taken out."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether a command printed what a page shows; a line `...` in the page stands for any
    lines.
    """
    parts = [re.escape(level(part)) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(parts), level(printed), re.DOTALL) is not None


def write_outputs(page: str, printed: list[str]) -> str:
    """The page with what its commands printed below them, where it shows something else."""
    answers = iter(printed)

    def rewrite(block: re.Match[str]) -> str:
        examples = list(_split(block[1]))
        return "```console\n" + "".join(_write(one, next(answers)) for one in examples) + "```"

    return _BLOCK.sub(rewrite, page)


def _write(example: Example, printed: str) -> str:
    first, *more = example.command.split("\n")
    shown = example.shown if is_as_shown(example.shown, printed) else printed
    return "".join([f"$ {first}\n", *(f"> {line}\n" for line in more), shown])


def make_env(folder: Path) -> dict[str, str]:
    """The environment of a newcomer: an empty home, a name for git, and our commands on PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in _PERSON.items()
    }
    return {
        "PATH": path,
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        **who,
    }


_PERSON = {"NAME": "You", "EMAIL": "you@example.org"}

if __name__ == "__main__":
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch).resolve()
        text = target.read_text("utf-8")
        target.write_text(
            write_outputs(text, run_examples(find_examples(text), home, make_env(home))), "utf-8"
        )
