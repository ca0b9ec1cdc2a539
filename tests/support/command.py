"""The installed commands, run as a user runs them."""

import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def run_checkpoint(
    *words: str, cwd: Path, stdin: bytes = b"", env: dict[str, str] | None = None, command: str = "checkpoint"
) -> subprocess.CompletedProcess[str]:
    """`checkpoint WORDS` as a process of its own: no terminal, output decoded. env is added to the environment."""
    return subprocess.run(
        [str(BIN / command), *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin.decode(),
        capture_output=True,
        text=True,
        timeout=120,
    )
