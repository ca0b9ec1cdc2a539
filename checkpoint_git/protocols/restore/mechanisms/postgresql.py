"""Tables of a PostgreSQL database kept by pg_dump at one instant, and restored in one transaction."""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.restore.contents import Artifact, Location, Means, Request
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.rules import CONNECTION, is_connection
from checkpoint_git.protocols.restore.scope import hash_file

_EXAMPLE = "postgresql://user@host:5432/name, the password in PGPASSWORD or ~/.pgpass"
_UNWANTED = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE")  # they would lead to another database than the URL says
_LOCK_PATIENCE = "-c lock_timeout=15000"  # milliseconds
# what a program of PostgreSQL prints -> what to do
_HINTS = {
    "server version mismatch": "use a pg_dump that is at least as new as the server: put it first on PATH",
    "unsupported version": "use a pg_restore at least as new as the pg_dump that made the copy",
    "no password supplied": "give it in PGPASSWORD, or in ~/.pgpass; nothing was changed",
    "password authentication failed": "give the right one in PGPASSWORD, or in ~/.pgpass; nothing was changed",
    "other objects depend on ": "something made since depends on these tables: remove it first",
    "lock timeout": "another session holds locks on these tables: end it, then run the same command again",
}
_OPTIONS = (("--host", "host"), ("--port", "port"), ("--username", "user"), ("--dbname", "dbname"))

_DROPS = (("v", "VIEW"), ("m", "MATERIALIZED VIEW"), ("f", "FOREIGN TABLE"), ("rp", "TABLE"), ("S", "SEQUENCE"))
Query = Callable[[str], str]  # SQL in, what psql prints out


class Relation(NamedTuple):
    """A table (kind "r", "p" or "f"), view ("v"), materialized view ("m") or sequence ("S")."""

    schema: str
    name: str
    kind: str

    @property
    def quoted(self) -> str:
        return f"{_quote(self.schema)}.{_quote(self.name)}"


def request_database(url: str, tables: Sequence[str]) -> Request:
    connection, password = read_url(url)
    details = {"connection": connection, "password": password, "asked": list(tables)}
    return Request("postgresql", write_url(connection), details)


# No password is ever written down or seen in a command line: it comes with the call, from PGPASSWORD or from ~/.pgpass.
def read_url(url: str) -> tuple[dict[str, str], str | None]:
    """(connection, password) of a URL. Raises CheckpointError, which never quotes the URL: it may hold a password."""
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
        more = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise CheckpointError("this is not the URL of a PostgreSQL database", _EXAMPLE) from None
    password = more.pop("password", None) or unquote(parts.password or "") or None
    unknown = next((name for name in more if name not in CONNECTION), "#" if parts.fragment else None)
    if unknown is not None:
        shown = escape_controls(shorten(unknown or "#", 40))
        raise CheckpointError(f"the URL of the database says {shown}, which is not supported", _EXAMPLE)
    host, user, name = (unquote(text or "") for text in (parts.hostname, parts.username, parts.path.removeprefix("/")))
    found = {"host": host, "port": port, "user": user, "dbname": name, **more}
    connection = {name: value for name, value in found.items() if value}
    if not connection.get("dbname"):
        raise CheckpointError("the URL names no database", _EXAMPLE)
    if not is_connection(connection):
        raise CheckpointError("invalid database URL", _EXAMPLE)
    return connection, password


def write_url(connection: Mapping[str, str]) -> str:
    host = connection.get("host", "")
    is_socket = host.startswith("/")
    user = f"{quote(connection['user'], safe='')}@" if "user" in connection else ""
    port = f":{connection['port']}" if "port" in connection else ""
    place = "" if is_socket else quote(host, safe=":") if ":" not in host else f"[{host}]"
    text = f"postgresql://{user}{place}{port}/{quote(connection['dbname'], safe='')}"
    return f"{text}?host={quote(host, safe='/')}" if is_socket else text


def find_tool(name: str, env: Mapping[str, str]) -> str:
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        hint = "install PostgreSQL's client programs, at least as new as the server, and have them on PATH"
        raise CheckpointError(f"{name} is not installed", hint)
    return path


def _make_env(env: Mapping[str, str], connection: Mapping[str, str], password: str | None) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name not in _UNWANTED}
    told = {CONNECTION[name]: value for name, value in connection.items()}
    secret = {"PGPASSWORD": password} if password else {}
    options = f"{env.get('PGOPTIONS', '')} {_LOCK_PATIENCE}".strip()
    return {"PGCONNECT_TIMEOUT": "15", **kept, **told, **secret, "PGOPTIONS": options, "LC_ALL": "C"}


def run_tool(name: str, words: Sequence[str], env: Mapping[str, str]) -> None:
    path = find_tool(name, env)
    done = subprocess.run([path, *words], env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise _explain_failure(name, done.stderr, env)


def _explain_failure(name: str, said: bytes, env: Mapping[str, str]) -> CheckpointError:
    text = said.decode("utf-8", "replace")
    if env.get("PGPASSWORD"):
        text = text.replace(env["PGPASSWORD"], "***")
    lines = [line.strip().removeprefix(f"{name}: ") for line in text.splitlines() if line.strip()]
    shown = escape_controls(shorten("; ".join(lines[:4]), 500)) or "it said nothing"
    hint = next((hint for sign, hint in _HINTS.items() if sign in text), "nothing was changed")
    return CheckpointError(f"{name}: {shown}", hint)


@contextmanager
def open_session(env: Mapping[str, str]) -> Iterator[Query]:
    words = [find_tool("psql", env), "-X", "-A", "-t", "-q", "--no-password", "-v", "ON_ERROR_STOP=1"]
    mark = os.urandom(16).hex()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(words, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def query(sql: str) -> str:
            with suppress(BrokenPipeError):  # it is gone, which reading shows
                stdin.write(f"{sql};\n\\echo {mark}\n".encode())
                stdin.flush()
            lines = []
            while (line := stdout.readline()) and line.strip() != mark.encode():
                lines.append(line)
            if not line:
                process.wait()
                said.seek(0)
                raise _explain_failure("psql", said.read(1 << 16), env)
            return b"".join(lines).decode("utf-8", "replace").rstrip("\n")

        try:
            yield query
        finally:
            process.kill()  # what it was told to do is done, or is not wanted any more
            with suppress(BrokenPipeError):  # it may be gone since, with a word of ours unread
                stdin.close()


_SECTIONS = read_own(__file__, "postgresql.sql").split("-- name: ")[1:]
_SQL = dict(section.strip().split("\n", 1) for section in _SECTIONS)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _read_relations(query: Query) -> list[Relation]:
    # all that is asked after this is read as of the instant at which this transaction begins
    query(_SQL["begin"])
    return sorted(Relation(*row) for row in json.loads(query(_SQL["relations"])))


def _choose(relations: Sequence[Relation], tables: Sequence[Sequence[str]] | None) -> list[Relation]:
    names = None if tables is None else {(schema, name) for schema, name, _ in tables}
    return [one for one in relations if names is None or (one.schema, one.name) in names]


def _find_one(relations: Sequence[Relation], name: str) -> Relation:
    found = [one for one in relations if one.name == name] or [
        one
        for one in relations
        if name in [f"{a}.{b}" for a in (one.schema, _quote(one.schema)) for b in (one.name, _quote(one.name))]
    ]
    shown = escape_controls(shorten(name, 60))
    if not found:
        raise CheckpointError(f"no such table: {shown}", "names are matched as they are written, case and all")
    if len(found) > 1:
        named = escape_controls(", ".join(f"{one.schema}.{one.name}" for one in found[:5]))
        raise CheckpointError(f"there are several tables {shown}: {named}", "name the schema too: schema.table")
    return found[0]


def _ask_of(query: Query, question: str, relations: Sequence[Relation]) -> list[list[str]]:
    names = ", ".join(f"{_literal(one.quoted)}::pg_catalog.regclass::oid" for one in relations)
    rows: list[list[str]] = json.loads(query(_SQL[question].format(oids=f"ARRAY[{names}]::oid[]")))
    return rows


def _check_closed(query: Query, relations: Sequence[Relation]) -> None:
    depending = _ask_of(query, "depending", relations)
    if depending:
        told = ", ".join(sorted({f"{other} {how} {own}" for other, how, own in depending})[:5])
        named = " ".join(f"--table {shlex.quote(other)}" for other in sorted({row[0] for row in depending})[:5])
        hint = f"name these too: {named}; or no tables, for the whole database"
        raise CheckpointError(escape_controls(f"these tables cannot be put back alone: {told}"), escape_controls(hint))


def _hash_relations(query: Query, relations: Sequence[Relation], *, with_owned: bool) -> str:
    owned = _ask_of(query, "owned", relations) if with_owned and relations else []
    digest = sha256(b"postgresql 1\n")
    for one in sorted([*relations, *(Relation(*row) for row in owned)]):
        digest.update(json.dumps(one).encode())
        if one.kind == "S":
            answers = [query(f"SELECT last_value, is_called FROM {one.quoted}")]  # noqa: S608 - quoted
        else:
            answers = [query(_SQL["definition"].format(name=_literal(one.quoted)))]
        if one.kind == "r":
            answers.append(query(_SQL["rows"].format(name=one.quoted)))
        digest.update(json.dumps(answers).encode())
    return digest.hexdigest()


def capture(location: Location, request: Request, content: str) -> Artifact:
    """Dumps the tables as of one instant, hashes them as of the same, and reads the dump through."""
    connection, target = request.details["connection"], os.path.join(location.folder, content)
    env = _make_env(location.env, connection, request.details["password"])
    with open_session(env) as query:
        there = _read_relations(query)
        if "tables" in request.details:  # those of an older point are taken as it names them, there or not
            tables = request.details["tables"]
        else:  # a user names tables and views; their sequences come along
            named = [one for one in there if one.kind != "S"]
            found = sorted({_find_one(named, name) for name in request.details["asked"]})
            tables = [list(one) for one in found] or None
        chosen = _choose(there, tables)
        if tables is not None and chosen and not request.may_lack:
            _check_closed(query, chosen)
        logical = _hash_relations(query, chosen, with_owned=tables is not None)
        version = query("SHOW server_version")
        if chosen or tables is None:
            snapshot = query("SELECT pg_catalog.pg_export_snapshot()")
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            words = ["--format=custom", "--no-password", "--lock-wait-timeout=30000", f"--snapshot={snapshot}"]
            words += [] if tables is None else [f"--table={one.quoted}" for one in chosen]
            run_tool("pg_dump", [*words, "--file", target], env)
            with open(target, "rb") as stream:
                os.fsync(stream.fileno())
    details = {
        "connection": connection,
        "tables": tables,
        "held": [list(one) for one in chosen],
        "logical": logical,
        "server_version": version,
    }
    if not os.path.exists(target):
        return Artifact("postgresql", request.name, "", 0, "", details)
    run_tool("pg_restore", ["--file", os.devnull, target], env)  # reads all of it
    return Artifact("postgresql", request.name, content, os.path.getsize(target), hash_file(target), details)


def _env_of(location: Location, artifact: Artifact, means: Means) -> dict[str, str]:
    return _make_env(location.env, artifact.details["connection"], means.passwords.get(artifact.name))


def check_ready(location: Location, artifact: Artifact, means: Means) -> None:
    env = _env_of(location, artifact, means)
    with open_session(env) as query:
        query("SELECT 1")
    if artifact.content:
        run_tool("pg_restore", ["--list", os.path.join(location.folder, artifact.content)], env)


def is_as_kept(location: Location, artifact: Artifact, means: Means) -> bool:
    tables = artifact.details["tables"]
    with open_session(_env_of(location, artifact, means)) as query:
        now = _hash_relations(query, _choose(_read_relations(query), tables), with_owned=tables is not None)
    return now == str(artifact.details["logical"])


def request_present(location: Location, artifact: Artifact, means: Means) -> Request | None:
    kept = {"connection": artifact.details["connection"], "password": means.passwords.get(artifact.name)}
    return Request("postgresql", artifact.name, {**kept, "tables": artifact.details["tables"]}, may_lack=True)


def restore(location: Location, artifact: Artifact, means: Means) -> list[str]:
    # the drops and the dump in one transaction: all of it or nothing
    env, tables = _env_of(location, artifact, means), artifact.details["tables"]
    with open_session(env) as query:
        present = _choose(_read_relations(query), tables)
        version = query("SHOW server_version")
    with file_writes.workshop(location.folder) as folder:
        drops, dump = os.path.join(folder, "1.sql"), os.path.join(folder, "2.sql")
        with open(drops, "w", encoding="utf-8") as stream:
            stream.write(_write_drops(present, cascade=tables is None))
        words = ["-X", "-q", "--no-password", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", drops]
        if artifact.content:
            kept = os.path.join(location.folder, artifact.content)
            run_tool("pg_restore", ["--clean", "--if-exists", "--file", dump, kept], env)
            words += ["-f", dump]
        run_tool("psql", words, env)
    then = str(artifact.details["server_version"])
    if version.partition(".")[0] == then.partition(".")[0]:
        return []
    return [f"{artifact.name} was captured from PostgreSQL {then}, and restored into {version}"]


def _write_drops(relations: Sequence[Relation], *, cascade: bool) -> str:
    """Whatever depends on what among them. cascade: and all else that depends on them."""
    statements = []
    for kinds, words in _DROPS:
        names = [one.quoted for one in relations if one.kind in kinds]
        groups = [", ".join(names)] if words == "TABLE" and names else names  # tables refer to one another in circles
        statements += [f"DROP {words} IF EXISTS {group}{' CASCADE' if cascade else ''}" for group in groups]
    body = _SQL["drop_all"].format(statements=", ".join(_literal(one) for one in statements))
    return f"SET standard_conforming_strings = on;\nDO {_literal(body)};\n"


def write_lines(artifact: Artifact) -> str:
    connection = artifact.details["connection"]
    options = " ".join(f"{option}={quote_word(connection[name])}" for option, name in _OPTIONS if name in connection)
    secured = {CONNECTION[name]: value for name, value in connection.items() if name.startswith("ssl")}
    variables = "".join(f"{name}={quote_word(value)} " for name, value in secured.items())
    return f"{variables}postgresql {artifact.sha256} {quote_word(artifact.content)} {options}\n"


def find_prerequisites(artifact: Artifact) -> list[str]:
    major = str(artifact.details["server_version"]).partition(".")[0]
    return [
        f"pg_restore of PostgreSQL {major} or newer, and {artifact.name} within reach",
        f"the password of {artifact.name}, if it asks for one, in PGPASSWORD or ~/.pgpass",
        f"no other session holds locks on the tables of {artifact.name}",
        "restore.sh leaves tables that were made since, and restores nothing where they depend on what it replaces",
    ]
