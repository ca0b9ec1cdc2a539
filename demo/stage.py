"""A scratch repository in which commands are run as a person types them, and shown with what they
print.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Any, Self

BIN = os.path.dirname(sys.executable)


class ExpectationError(Exception):
    """Something did not happen as the demo says it does."""


class Stage:
    """A folder with a home of its own; both are removed at the end of the `with` block."""

    def __init__(self, quiet: bool = False) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="checkpoint-demo-"))
        self.repository = os.path.join(self.folder, "tidepool")
        self.quiet = quiet
        self.env = make_environment(self.folder)
        self.config = ""  # what git's configuration was before `init`
        os.makedirs(os.path.join(self.folder, "home"))
        os.makedirs(self.repository)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def say(self, text: str) -> None:
        """A line for whoever watches."""
        if not self.quiet:
            print(text, flush=True)

    def title(self, text: str) -> None:
        """The heading of a part."""
        self.say(f"\n\n{text}\n{'=' * len(text)}")

    def run(self, command: str, code: int = 0) -> str:
        """Shows and runs a shell command that has to end with the given exit code; what it
        printed.
        """
        self.say(f"\n$ {command}")
        done = self._start(command)
        said = done.stdout.rstrip("\n")
        if said:
            self.say("\n".join(f"  {line}".rstrip() for line in said.split("\n")))
        if code or done.returncode:
            self.say(f"  (exit code {done.returncode})")
        self.expect(done.returncode == code, f"`{command}` should have ended with exit code {code}")
        return said

    def do(self, command: str) -> str:
        """Runs a shell command that only sets the scene; what it printed."""
        done = self._start(command)
        self.expect(done.returncode == 0, f"`{command}` failed:\n{done.stdout}")
        return done.stdout.rstrip("\n")

    def _start(self, command: str) -> subprocess.CompletedProcess[str]:
        words = ["/bin/sh", "-c", command]
        output = subprocess.PIPE
        return subprocess.run(
            words,
            cwd=self.repository,
            env=self.env,
            stdout=output,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
        )

    def expect(self, truth: bool, otherwise: str) -> None:
        """Stops the demo where something is not as expected."""
        if not truth:
            raise ExpectationError(otherwise)

    def write(self, name: str, text: str) -> None:
        """A file in the repository."""
        path = os.path.join(self.repository, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)

    def read(self, name: str) -> str:
        """A file of the repository."""
        with open(os.path.join(self.repository, name), encoding="utf-8") as stream:
            return stream.read()

    def load(self, skill: str) -> dict[str, Any]:
        """A skill's checkpoint as a value."""
        value: dict[str, Any] = json.loads(self.read(f".checkpoints/{skill}.checkpoint.json"))
        return value


def make_environment(folder: str) -> dict[str, str]:
    """An environment with a home below folder, the installed commands first on PATH, and nobody's
    git settings.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "CHECKPOINT_", "XDG_", "PYTHON", "VIRTUAL_ENV"))
    }
    return {
        **kept,
        "HOME": os.path.join(folder, "home"),
        "PATH": os.pathsep.join([BIN, kept.get("PATH", os.defpath)]),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_ADVICE": "0",
        "COLUMNS": "110",
        "LC_ALL": "C.UTF-8",
    }
