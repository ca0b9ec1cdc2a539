"""What a command loads: the interpreter itself says it, so that a process of its own is judged as it runs for users."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from tests.support.records import TICKET, put_record
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

ALLOWED_FILE = Path(__file__).with_name("allowed_modules.toml")
TOOL_CALL = '{"tool_name": "Read", "tool_input": {"file_path": "docs/plan.md"}}'  # on stdin, for the guard
# what `python -v` says of each module, whoever asked for it; modules that are part of the executable cost nothing
_REPORTED = re.compile(r"^import '?([\w.]+)'? # (?!.*BuiltinImporter)", re.MULTILINE)


class Start(NamedTuple):
    """How a process is started: the interpreter, its switches, and the program with its words."""

    python: str
    switches: list[str]
    program: list[str]


class Installation(NamedTuple):
    """Where the tested package lives: its interpreter (scripts beside it) and its package folder."""

    python: str
    package: Path

    def command(self, *words: str) -> Start:
        """`checkpoint WORDS`, the installed console script."""
        script = str(Path(self.python).with_name("checkpoint"))
        return Start(self.python, [], [script, *words])

    def file(self, name: str, *words: str) -> Start:
        """A file of the package as git starts it: isolated, without site-packages."""
        return Start(self.python, ["-I", "-S"], [str(self.package / name), *words])


def read_allowed() -> dict[str, set[str]]:
    """The modules that each command may load, its groups written out, from the checked-in list."""
    table = tomllib.loads(ALLOWED_FILE.read_text("utf-8"))
    groups: dict[str, list[str]] = table["groups"]
    return {
        command: {*entry.get("modules", []), *(name for group in entry.get("groups", []) for name in groups[group])}
        for command, entry in table["commands"].items()
    }


def run_start(start: Start, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The process, with the interpreter's import report on its stderr."""
    words = [start.python, *start.switches, "-v", *start.program]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(words, cwd=cwd, env=env, input=TOOL_CALL, capture_output=True, text=True, timeout=120)


def loaded_modules(start: Start, cwd: Path) -> set[str]:
    """What the process imported beyond what this interpreter always loads. It has to end with exit code 0."""
    done = run_start(start, cwd)
    assert done.returncode == 0, f"{start.program}: {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}"
    bare = "import typing" if sys.version_info >= (3, 14) else "pass"  # core.light needs the real one there
    always = run_start(start._replace(program=["-c", bare]), cwd)
    return set(_REPORTED.findall(done.stderr)) - set(_REPORTED.findall(always.stderr))


def find_excess(loaded: set[str], allowed: set[str]) -> list[str]:
    """The loaded modules that no entry allows. An entry "a.*" allows a and everything below it."""
    folders = tuple(entry[:-1] for entry in allowed if entry.endswith(".*"))
    return sorted(name for name in loaded if name not in allowed and not f"{name}.".startswith(folders or "\0"))


def make_repository(path: Path) -> GitRepo:
    """A repository with one valid, fresh checkpoint, committed, and the three versions of a clean merge beside it.

    A pipeline record lies in the home.
    """
    repo = GitRepo.create(path)
    repo.write("docs/plan.md", "# Plan\n")
    sample = {"project_dir": str(path), "updated_at": write_instant(int(time.time()))}
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(**sample))
    put_record(Path(os.environ["HOME"]) / ".claude/checkpoints")
    repo.commit()
    decisions = {"key_decisions": ["SQLite for storage", "Passkeys only", "One worker"]}
    repo.write("base", checkpoint_text(**sample))
    repo.write("ours", checkpoint_text(**{**sample, "context_primer": decisions}))
    repo.write("theirs", checkpoint_text(**{**sample, "skill_state": {"iteration": 2}}))
    return repo


def starts(installation: Installation) -> dict[str, Start]:
    """Every command of the budget on valid input, by the name that the checked-in list has for it."""
    merged = ".checkpoints/build.checkpoint.json"
    words = {
        "status": (),
        "next": (),
        "resume": ("build",),
        "validate": (),
        "list": (),
        "show": ("build",),
        "update": ("build", "--step=sprint-3"),
        "done": ("build",),
        "workflow": ("start", "login"),
        "prime": ("--format=claude",),
        "session": ("stop", "--format", "claude"),
        "pipeline": ("list", "--ticket-id", TICKET),
    }
    return {
        "driver": installation.file("driver.py", "base", "ours", "theirs", "7", merged),
        "textconv": installation.file("textconv.py", merged),
        "guard": installation.command("restore-point", "guard"),
        **{name: installation.command(name, *rest) for name, rest in words.items()},
    }
