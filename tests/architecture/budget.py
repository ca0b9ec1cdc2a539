"""What a command loads: the interpreter itself says it, so that a process of its own is judged as
it runs for users.
"""

import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from tests.scenarios.driven import drive
from tests.support.records import TICKET, put_record
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

# What no everyday command loads on valid input: each costs more than all of the command's own work.
HEAVY = {
    "asyncio",
    "checkpoint_git.mcp",
    "git",
    "importlib.metadata",
    "jsonschema",
    "mcp",
    "sqlite3",
    "ssl",
    "yaml",
}
HEAVY |= {
    "checkpoint_git.net",
    "dataclasses",
    "inspect",
    "logging",
    "pathlib",
    "tempfile",
    "urllib",
}
# git starts these for every file: of the standard library only the C part of json, and what is
# built in.
STARTED_BY_GIT = {"driver"}
HEAVY_FOR_GIT = {
    "argparse",
    "collections",
    "datetime",
    "decimal",
    "json",
    "os",
    "re",
    "shutil",
    "subprocess",
    "typing",
}
# Commands that start with every session, prompt or tool call.
FLAGS_ALONE = {"guard", "next", "prime", "status", "validate"}
HEAVY_WITH_FLAGS = {"decimal", "json", "locale", "shlex", "shutil", "subprocess"}
CHECKED_COMMANDS: tuple[str, ...] = (
    "done",
    "driver",
    "guard",
    "next",
    "pipeline",
    "prime",
    "resume",
    "session",
    "show",
)
CHECKED_COMMANDS += ("status", "update", "validate", "workflow")
# on stdin, for the guard
TOOL_CALL = '{"tool_name": "Read", "tool_input": {"file_path": "docs/plan.md"}}'
# what `python -v` says of each module, whoever asked for it; modules that are part of the
# executable cost nothing
_REPORTED = re.compile(r"^import '?([\w.]+)'? # (?!.*BuiltinImporter)", re.MULTILINE)


class Start(NamedTuple):
    """How a process is started: the interpreter, its switches, and the program with its words."""

    python: str
    switches: list[str]
    program: list[str]


class Installation(NamedTuple):
    """Where the tested package lives: its interpreter (scripts beside it) and its package
    folder.
    """

    python: str
    package: Path

    def command(self, *words: str) -> Start:
        """`checkpoint WORDS`, the installed console script."""
        script = str(Path(self.python).with_name("checkpoint"))
        return Start(self.python, [], [script, *words])

    def file(self, name: str, *words: str) -> Start:
        """A file of the package as git starts it: isolated, without site-packages."""
        return Start(self.python, ["-I", "-S"], [str(self.package / name), *words])


def find_forbidden(command: str, loaded: set[str]) -> list[str]:
    """The modules that a command must not load on valid input, and did."""
    tops = (HEAVY - {"yaml"} if command == "pipeline" else HEAVY) | (
        HEAVY_FOR_GIT
        if command in STARTED_BY_GIT
        else HEAVY_WITH_FLAGS
        if command in FLAGS_ALONE
        else set()
    )
    return sorted(
        name for name in loaded if any(name == top or name.startswith(f"{top}.") for top in tops)
    )


def run_start(start: Start, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The process, with the interpreter's import report on its stderr."""
    words = [start.python, *start.switches, "-v", *start.program]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        words, cwd=cwd, env=env, input=TOOL_CALL, capture_output=True, text=True, timeout=120
    )


def loaded_modules(start: Start, cwd: Path) -> set[str]:
    """What the process imported beyond what this interpreter always loads. It has to end with exit
    code 0.
    """
    done = run_start(start, cwd)
    assert done.returncode == 0, (
        f"{start.program}: {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}"
    )
    always = run_start(start._replace(program=["-c", "pass"]), cwd)
    return set(_REPORTED.findall(done.stderr)) - set(_REPORTED.findall(always.stderr))


def make_repository(path: Path) -> GitRepo:
    """A repository with one valid, fresh checkpoint, committed, and the three versions of a clean
    merge beside it.

    A pipeline record lies in the home.
    """
    repo = GitRepo.create(path)
    drive(repo)
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
    """Every command of the budget on valid input, by its name."""
    merged = ".checkpoints/build.checkpoint.json"
    words = {
        "status": (),
        "next": (),
        "resume": ("build",),
        "validate": (),
        "show": ("build",),
        "update": ("build", "--step=sprint-3"),
        "done": ("build",),
        "workflow": ("start", "login"),
        "prime": ("--format=claude",),
        "session": ("stop", "--format", "claude"),
        "pipeline": ("list", "--ticket-id", TICKET),
    }
    found = {
        "driver": installation.file("driver.py", "base", "ours", "theirs", "7", merged),
        "guard": installation.command("restore-point", "guard"),
        **{name: installation.command(name, *rest) for name, rest in words.items()},
    }
    assert sorted(found) == list(CHECKED_COMMANDS)
    return found
