"""What a finding advises, followed as a user would."""

import os
import re
import subprocess
from pathlib import Path

from tests.support.command import BIN

COMMAND = re.compile(r"(?:^|.*: )((?:checkpoint|git|mv) .*)")


def follow(cwd: Path, line: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, the user's words in place of the dots."""
    line = line.replace("{...}", "{}").replace("...", answer) if "..." in line else f"{line} {answer}"
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "GIT_EDITOR": "true"}
    return subprocess.run(["sh", "-c", line], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
