"""Name a PostgreSQL database by a URL, and run its client programs.

No password is ever written down or seen in a command line: it comes with the call, from PGPASSWORD
or from ~/.pgpass.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.rules import CONNECTION, is_connection

_EXAMPLE = "postgresql://user@host:5432/name, the password in PGPASSWORD or ~/.pgpass"
# they would lead to another database than the one that the URL names
_UNWANTED = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE")
_LOCK_PATIENCE = "-c lock_timeout=15000"  # milliseconds
# what a program of PostgreSQL prints -> what to do
_HINTS = {
    "server version mismatch": (
        "use a pg_dump that is at least as new as the server: put it first on PATH"
    ),
    "unsupported version": "use a pg_restore at least as new as the pg_dump that made the copy",
    "no password supplied": "give it in PGPASSWORD, or in ~/.pgpass; nothing was changed",
    "password authentication failed": (
        "give the right one in PGPASSWORD, or in ~/.pgpass; nothing was changed"
    ),
    "other objects depend on ": "something made since depends on these tables: remove it first",
    "lock timeout": (
        "another session has locked these tables: end it, then run the same command again"
    ),
}
Query = Callable[[str], str]  # SQL in, what psql prints out


def read_url(url: str) -> tuple[dict[str, str], str | None]:
    """Return (connection, password) of a URL.

    Raises CheckpointError, which never quotes the URL: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise CheckpointError("this is not the URL of a PostgreSQL database", _EXAMPLE) from None

    options = dict(pairs)
    password = options.pop("password", None) or unquote(parts.password or "") or None
    _check_options(options, has_fragment=bool(parts.fragment))

    members = {
        "host": unquote(parts.hostname or ""),
        "port": port,
        "user": unquote(parts.username or ""),
        "dbname": unquote(parts.path.removeprefix("/")),
        **options,
    }
    connection = {name: value for name, value in members.items() if value}
    if not connection.get("dbname"):
        raise CheckpointError("the URL names no database", _EXAMPLE)
    if not is_connection(connection):
        raise CheckpointError("invalid database URL", _EXAMPLE)
    return connection, password


def _check_options(options: Mapping[str, str], *, has_fragment: bool) -> None:
    unknown = [name for name in options if name not in CONNECTION]
    if has_fragment:
        unknown.append("#")
    if unknown:
        shown = escape_controls(shorten(unknown[0] or "#", 40))
        message = f"the URL of the database has {shown}, which is not supported"
        raise CheckpointError(message, _EXAMPLE)


def write_url(connection: Mapping[str, str]) -> str:
    """Return the URL of a connection, without its password."""
    user = ""
    if "user" in connection:
        user = f"{quote(connection['user'], safe='')}@"
    port = ""
    if "port" in connection:
        port = f":{connection['port']}"

    name = quote(connection["dbname"], safe="")
    host = connection.get("host", "")
    if host.startswith("/"):  # a folder of sockets
        return f"postgresql://{user}{port}/{name}?host={quote(host, safe='/')}"
    if ":" in host:  # an IPv6 address
        return f"postgresql://{user}[{host}]{port}/{name}"
    return f"postgresql://{user}{quote(host, safe=':')}{port}/{name}"


def find_tool(name: str, env: Mapping[str, str]) -> str:
    """Return the path of a client program. Raises CheckpointError."""
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        hint = "install PostgreSQL's client programs, at least as new as the server, "
        raise CheckpointError(f"{name} is not installed", hint + "and have them on PATH")
    return path


def make_env(
    env: Mapping[str, str],
    connection: Mapping[str, str],
    password: str | None,
) -> dict[str, str]:
    """Return the environment of a client program."""
    options = f"{env.get('PGOPTIONS', '')} {_LOCK_PATIENCE}".strip()
    made = {"PGCONNECT_TIMEOUT": "15"}
    made.update((name, value) for name, value in env.items() if name not in _UNWANTED)
    made.update((CONNECTION[name], value) for name, value in connection.items())
    if password:
        made["PGPASSWORD"] = password
    return {**made, "PGOPTIONS": options, "LC_ALL": "C"}


def run_tool(name: str, words: Sequence[str], env: Mapping[str, str]) -> None:
    """Run a client program. Raises CheckpointError if it fails."""
    done = subprocess.run(
        [find_tool(name, env), *words],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise _explain_failure(name, done.stderr, env)


def _explain_failure(name: str, output: bytes, env: Mapping[str, str]) -> CheckpointError:
    text = output.decode("utf-8", "replace")
    if env.get("PGPASSWORD"):
        text = text.replace(env["PGPASSWORD"], "***")
    lines = [line.strip().removeprefix(f"{name}: ") for line in text.splitlines() if line.strip()]
    shown = escape_controls(shorten("; ".join(lines[:4]), 500)) or "it printed nothing"
    hint = next((hint for sign, hint in _HINTS.items() if sign in text), "nothing was changed")
    return CheckpointError(f"{name}: {shown}", hint)


@contextmanager
def open_session(env: Mapping[str, str]) -> Iterator[Query]:
    """Give a function that asks a server, over one session of psql."""
    options = ["-X", "-A", "-t", "-q", "--no-password", "-v", "ON_ERROR_STOP=1"]
    words = [find_tool("psql", env), *options]
    mark = os.urandom(16).hex()
    pipe = subprocess.PIPE

    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(words, env=dict(env), stdin=pipe, stdout=pipe, stderr=errors) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin
        stdout = process.stdout

        def query(sql: str) -> str:
            with suppress(BrokenPipeError):  # it has ended, which reading shows
                stdin.write(f"{sql};\n\\echo {mark}\n".encode())
                stdin.flush()

            lines = []
            while (line := stdout.readline()) and line.strip() != mark.encode():
                lines.append(line)
            if not line:
                process.wait()
                errors.seek(0)
                raise _explain_failure("psql", errors.read(1 << 16), env)

            return b"".join(lines).decode("utf-8", "replace").rstrip("\n")

        try:
            yield query
        finally:
            process.kill()  # what it was asked to do is done, or is not wanted any more
            with suppress(BrokenPipeError):  # it may have ended, with a word of ours unread
                stdin.close()
