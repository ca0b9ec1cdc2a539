"""Real shells at a real terminal: the Tab key is pressed, and what the shell has typed is read
back.
"""

import fcntl
import os
import re
import select
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from checkpoint_git.cli.completion import shells
from checkpoint_git.cli.completion.complete import find_start
from checkpoint_git.cli.completion.shells import SHELLS
from checkpoint_git.disk.read import read_own
from tests.support.command import open_terminal

BIN = Path(sys.executable).parent
START = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOAD = {
    "bash": 'eval "$(checkpoint completion bash)"',
    "zsh": 'autoload -U compinit && compinit -u -D && eval "$(checkpoint completion zsh)"',
    "fish": "checkpoint completion fish | source",
}


class Terminal:
    """A shell at a pseudo terminal."""

    def __init__(self, shell: str, cwd: Path) -> None:
        self.master, follower = open_terminal()
        path = f"{BIN}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(cwd), "TERM": "dumb", "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            START[shell],
            cwd=cwd,
            env=env,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(
                0, termios.TIOCSCTTY, 0
            ),  # fish wants a terminal that is its own
        )
        os.close(follower)
        self.seen = ""

    def type(self, text: str, until: str, seconds: float = 60) -> str:
        """Types some keys and reads on until a pattern is there; what came since then."""
        start = len(self.seen)
        os.write(self.master, text.encode())
        deadline = time.monotonic() + seconds
        while not re.search(until, self.seen[start:]) and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:  # the shell is gone: what it said tells why
                    break
        return self.seen[start:]

    def close(self) -> None:
        """Ends the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_a_verb_a_skill_and_a_value(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    (folder / "builder.checkpoint.json").write_text('{"status": "in_progress"}')
    terminal = Terminal(shell, tmp_path)
    try:
        terminal.type(f"{LOAD[shell]}; echo rea''dy\n", "ready")
        shown = terminal.type("checkpoint upda\t", r"checkpoint update ")
        shown += terminal.type("buil\t", "builder ")
        shown += terminal.type("--status=in_pr\t", "in_progress")
    finally:
        terminal.close()
    assert "update" in shown
    assert "builder" in shown
    assert "in_progress" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_is_sound_to_the_shell_that_reads_it(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    done = subprocess.run(
        [shell, "-n"],
        input=read_own(shells.__file__, f"checkpoint.{shell}"),
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_is_given_only_what_it_replaces() -> None:
    assert find_start("--status=", " \t\n\"'><=;|&(:") == len("--status=")
    assert find_start("--status=", "") == 0
