"""What a URL of a PostgreSQL database says, without the password in it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.artifact import Wanted

# what a connection is made of -> the variable by which the client programs are told
VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
_EXAMPLE = "postgresql://user@host:5432/name, the password in PGPASSWORD or ~/.pgpass"


def want(url: str, tables: Sequence[str]) -> Wanted:
    """A PostgreSQL database to keep. tables: names, with or without schema; () for all. Raises CheckpointError."""
    connection, password = read_url(url)
    details = {"connection": connection, "password": password, "asked": list(tables)}
    return Wanted("postgresql", write_url(connection), details)


def read_url(url: str) -> tuple[dict[str, str], str | None]:
    """(connection, password) of a URL. Raises CheckpointError, which never quotes the URL: it may hold a password."""
    try:
        parts = urlsplit(url)
        port = parts.port
        more = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise CheckpointError("this is no URL of a PostgreSQL database", _EXAMPLE) from None
    password = more.pop("password", None) or (unquote(parts.password) if parts.password else None)
    found = {
        "host": unquote(parts.hostname or ""),
        "port": str(port or ""),
        "user": unquote(parts.username or ""),
        "dbname": unquote(parts.path.removeprefix("/")),
    }
    unknown = next((name for name in more if name not in VARIABLES), None)
    if unknown is not None or parts.fragment:
        shown = escape_controls(shorten(unknown or "#", 40))
        raise CheckpointError(f"the URL of the database says {shown}, which is not understood", _EXAMPLE)
    connection = {name: value for name, value in {**found, **more}.items() if value}
    _check_plain(connection)
    return connection, password


def _check_plain(connection: Mapping[str, str]) -> None:
    """The name of a database can be read as a whole connection string by the client programs, so it must be plain."""
    name = connection.get("dbname", "")
    if not name:
        raise CheckpointError("the URL names no database", _EXAMPLE)
    strange = [value for value in connection.values() if any(ord(letter) < 32 for letter in value)]
    if "=" in name or "://" in name or "," in connection.get("host", "") or strange:
        raise CheckpointError("the URL of the database is not understood", _EXAMPLE)


def write_url(connection: Mapping[str, str]) -> str:
    """The URL without a password: how the database is named, and how it is written down."""
    host = connection.get("host", "")
    user = f"{quote(connection['user'], safe='')}@" if "user" in connection else ""
    port = f":{connection['port']}" if "port" in connection else ""
    place = "" if host.startswith("/") else quote(host, safe=":") if ":" not in host else f"[{host}]"
    text = f"postgresql://{user}{place}{port}/{quote(connection['dbname'], safe='')}"
    return f"{text}?host={quote(host, safe='/')}" if host.startswith("/") else text


def find_options(connection: Mapping[str, str]) -> list[tuple[str, str]]:
    """The options of pg_restore that name the database."""
    options = (("--host", "host"), ("--port", "port"), ("--username", "user"), ("--dbname", "dbname"))
    return [(option, connection[name]) for option, name in options if name in connection]


def is_connection(value: Any) -> bool:
    """Whether a manifest's connection is one that this module could have written."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return False
    try:
        _check_plain(value)
    except CheckpointError:
        return False
    return VARIABLES.keys() >= value.keys()
