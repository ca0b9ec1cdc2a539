"""Show more than a screen in the user's pager.

It is found as git finds its own: GIT_PAGER, core.pager, PAGER, less.
"""

import subprocess
from collections.abc import Sequence

from checkpoint_git.cli.render.screen import encode_text
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.git.run import run_git

_NOT_FOUND = 127  # the shell knows no such command
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}  # what git gives its pagers


def show_paged(text: str, height: int, invocation: Invocation) -> Sequence[str]:
    """Show a text that is longer than the terminal in the pager; return what is still to be
    printed.
    """
    if text.count("\n") < height:
        return [text]
    pager = find_pager(invocation)
    if pager in ("", "cat"):
        return [text]

    invocation.stdout.flush()
    env = {**_DEFAULTS, **invocation.env}
    try:
        with subprocess.Popen(
            ["sh", "-c", pager], cwd=invocation.cwd, env=env, stdin=subprocess.PIPE
        ) as process:
            _feed(process, encode_text(text, invocation.stdout.encoding))
    except OSError:  # there is no shell
        return [text]

    if process.returncode == _NOT_FOUND:
        return [text]
    return []


def find_pager(invocation: Invocation) -> str:
    """Return the command of the pager, as git would start it; "" for none."""
    try:
        found = run_git(["var", "GIT_PAGER"], invocation.cwd, env=invocation.env, check=False)
    except CheckpointError:  # git is missing
        return invocation.env.get("PAGER", "")
    if found.code != 0:
        return ""
    return found.out.decode("utf-8", "surrogateescape").strip()


def _feed(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    """Write to the pager until it ends. Ctrl-C is the pager's: it does not end us."""
    rest: bytes | None = data
    while True:
        try:
            process.communicate(rest)
            return
        except KeyboardInterrupt:
            rest = None  # communicate continues with what it has
