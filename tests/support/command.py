"""The installed commands, run as a user runs them."""

import io
import json
import os
import pty
import subprocess
import sys
import termios
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from checkpoint_git.cli.app import main
from tests.support.repos import environ_in, name_bare

BIN = Path(sys.executable).parent


def run_checkpoint(
    *words: str,
    cwd: Path,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    command: str = "checkpoint",
) -> subprocess.CompletedProcess[str]:
    """`checkpoint WORDS` as a process of its own: no terminal, output decoded. env is added to the
    environment.
    """
    return subprocess.run(
        [str(BIN / command), *words],
        cwd=cwd,
        env={**environ_in(cwd), **(env or {})},
        input=stdin.decode(),
        capture_output=True,
        text=True,
        timeout=120,
    )


def run_here(
    *words: str, cwd: Path, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same in this process: for tests that are about what a command does, and not about how it
    starts.
    """
    written = io.BytesIO(), io.BytesIO()
    out, err = (
        io.TextIOWrapper(stream, "utf-8", "surrogateescape", write_through=True)
        for stream in written
    )
    code = _run_main(words, cwd, stdin, env or {}, out, err)
    texts = [stream.getvalue().decode("utf-8", "surrogateescape") for stream in written]
    return subprocess.CompletedProcess(list(words), code, *texts)


def show_here(*words: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What a command in this process writes to a screen, as run_on_terminal has it, but nobody
    answers.
    """
    written = io.BytesIO()
    screen = _Screen(written, "utf-8", "surrogateescape", write_through=True)
    _run_main(
        words,
        cwd,
        b"",
        {"TERM": "xterm", "COLUMNS": "80", "LINES": "", **(env or {})},
        screen,
        screen,
    )
    return written.getvalue().decode()


class _Screen(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def _run_main(
    words: tuple[str, ...],
    cwd: Path,
    stdin: bytes,
    env: dict[str, str],
    out: io.TextIOWrapper,
    err: io.TextIOWrapper,
) -> int:
    given = type(out)(io.BytesIO(stdin), "utf-8", "surrogateescape")
    with ExitStack() as stack:
        stack.enter_context(chdir(cwd))
        stack.enter_context(patch.dict(os.environ, {**name_bare(cwd), **env}))
        stack.enter_context(
            patch.multiple(sys, argv=["checkpoint", *words], stdin=given, stdout=out, stderr=err)
        )
        return main(list(words))


def ask_json(folder: Path, *words: str, code: int | None = 0, stdin: bytes = b"") -> dict[str, Any]:
    """What a command answers with --json; it must end with this code, None for any."""
    done = run_here(*words, "--json", cwd=folder, stdin=stdin)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def open_terminal() -> tuple[int, int]:
    """Both ends of a pseudo terminal; skips the test where a machine, such as a bare chroot, has
    none.
    """
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"there is no terminal here: {error}")


def run_on_terminal(
    *words: str, cwd: Path, env: dict[str, str] | None = None, answer: bytes = b""
) -> str:
    """What `checkpoint WORDS` writes to a terminal, 80 columns wide unless env says otherwise.
    answer: typed when it asks. Nothing is typed before, and nothing is echoed: a terminal echoes
    when it gets to it, in the midst of a line.
    """
    ours, theirs = open_terminal()
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    process = subprocess.Popen(
        [BIN / "checkpoint", *words],
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **(env or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
            if answer and said.endswith((b"? ", b"] ")):
                os.write(ours, answer)
                answer = b""
    except OSError:  # Linux says so when the other end is closed
        pass
    process.wait(60)
    os.close(ours)
    return said.decode()
