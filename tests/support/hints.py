"""What a finding advises, followed as a user would."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.support.command import BIN, run_here

COMMAND = re.compile(r"(?:^|.*: )((?:checkpoint|git|mv) .*)")
# Stands for `checkpoint` and notes the words that the shell made of the line.
_NOTE = '#!/bin/sh\nprintf \'%s\\0\' "$@" > "$NOTED_WORDS"\n'


def follow(cwd: Path, line: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, the user's words in place of the dots."""
    line = (
        line.replace("{...}", "{}").replace("...", answer) if "..." in line else f"{line} {answer}"
    )
    return run_line(cwd, line)


def run_line(cwd: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell. Of a single call of `checkpoint`, the shell makes the words and this
    process runs it.
    """
    if line.startswith("checkpoint ") and not re.search("[;&|<>]", line):
        words = _read_words(cwd, line)
        return run_here(*words, cwd=cwd, env={"GIT_EDITOR": "true"})
    return _run_in_shell(cwd, line, str(BIN), {})


def _read_words(cwd: Path, line: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        program, noted = Path(folder, "checkpoint"), Path(folder, "words")
        program.write_text(_NOTE)
        program.chmod(0o755)
        done = _run_in_shell(cwd, line, folder, {"NOTED_WORDS": str(noted)})
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return noted.read_text().split("\0")[:-1]


def _run_in_shell(
    cwd: Path, line: str, programs: str, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """programs: the folder that comes first in PATH."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "GIT_EDITOR": "true", **env}
    return subprocess.run(
        ["sh", "-c", line], cwd=cwd, env=env, capture_output=True, text=True, timeout=120
    )
