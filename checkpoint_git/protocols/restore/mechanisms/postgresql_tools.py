"""PostgreSQL's own client programs, run so that no password is seen: not in a command line, a message or a file."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.mechanisms.postgresql_url import VARIABLES

Ask = Callable[[str], str]
_UNWANTED = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE")  # they would lead to another database than the URL says
_LOCK_PATIENCE = "-c lock_timeout=15000"  # milliseconds


def find_tool(name: str, env: Mapping[str, str]) -> str:
    """The path of a client program. Raises CheckpointError where it is not installed."""
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        hint = "install PostgreSQL's client programs, at least as new as the server, and have them on PATH"
        raise CheckpointError(f"{name} is not installed", hint)
    return path


def find_env(env: Mapping[str, str], connection: Mapping[str, str], password: str | None) -> dict[str, str]:
    """The environment in which a client program finds the database."""
    kept = {name: value for name, value in env.items() if name not in _UNWANTED}
    told = {VARIABLES[name]: value for name, value in connection.items()}
    secret = {"PGPASSWORD": password} if password else {}
    options = f"{env.get('PGOPTIONS', '')} {_LOCK_PATIENCE}".strip()
    return {"PGCONNECT_TIMEOUT": "15", **kept, **told, **secret, "PGOPTIONS": options, "LC_ALL": "C"}


def run_tool(name: str, words: Sequence[str], env: Mapping[str, str]) -> str:
    """What a client program prints. env: as find_env gives it. Raises CheckpointError with what it said."""
    path = find_tool(name, env)
    done = subprocess.run([path, *words], env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise tool_error(name, done.stderr, env)
    return done.stdout.decode("utf-8", "replace")


def tool_error(name: str, said: bytes, env: Mapping[str, str]) -> CheckpointError:
    """What went wrong in a client program, in its own words, and what to do."""
    text = said.decode("utf-8", "replace")
    if env.get("PGPASSWORD"):
        text = text.replace(env["PGPASSWORD"], "***")
    lines = [line for line in text.splitlines() if line.strip()]
    shown = escape_controls(shorten("; ".join(lines[:4]), 500)) or "it said nothing"
    hint = next((hint for sign, hint in _HINTS if sign in text), "nothing was changed")
    return CheckpointError(f"{name}: {shown}", hint)


_HINTS = (
    ("server version mismatch", "use a pg_dump that is at least as new as the server: put it first on PATH"),
    ("unsupported version", "use a pg_restore at least as new as the pg_dump that made the copy"),
    ("no password supplied", "give it in PGPASSWORD, or in ~/.pgpass; nothing was changed"),
    ("password authentication failed", "give the right one in PGPASSWORD, or in ~/.pgpass; nothing was changed"),
    ("other objects depend on it", "something made since depends on these tables: take it away first"),
    ("lock timeout", "somebody holds locks on these tables: end that transaction, then run the same command again"),
)


@contextmanager
def open_session(env: Mapping[str, str]) -> Iterator[Ask]:
    """One connection that answers questions: SQL in, what psql prints out. Raises CheckpointError."""
    words = ["-X", "-A", "-t", "-q", "--no-password", "-v", "ON_ERROR_STOP=1"]
    mark = os.urandom(16).hex()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [find_tool("psql", env), *words], env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(sql: str) -> str:
            with suppress(BrokenPipeError):  # it is gone, which reading tells
                stdin.write(f"{sql};\n\\echo {mark}\n".encode())
                stdin.flush()
            lines = []
            while (line := stdout.readline()) and line.strip() != mark.encode():
                lines.append(line)
            if not line:
                process.wait()
                said.seek(0)
                raise tool_error("psql", said.read(1 << 16), env)
            return b"".join(lines).decode("utf-8", "replace").rstrip("\n")

        try:
            yield ask
        finally:
            process.kill()  # what it was told to do is done, or is not wanted any more
            with suppress(BrokenPipeError):  # it may be gone since, with a word of ours unread
                stdin.close()
