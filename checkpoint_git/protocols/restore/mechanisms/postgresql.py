"""Keep tables of PostgreSQL as of one instant by pg_dump; restore them in one transaction."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.restore.contents import Location, Part
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms.contract import Means, PartRequest, content_path
from checkpoint_git.protocols.restore.mechanisms.postgresql_client import (
    Query,
    make_env,
    open_session,
    read_url,
    run_tool,
    write_url,
)
from checkpoint_git.protocols.restore.rules import CONNECTION
from checkpoint_git.protocols.restore.scope import hash_file

# member of a connection -> option of the client programs
_OPTIONS = {"host": "--host", "port": "--port", "user": "--username", "dbname": "--dbname"}
# kinds of relations -> what DROP calls them, in the order of dropping
_DROPS = {
    "v": "VIEW",
    "m": "MATERIALIZED VIEW",
    "f": "FOREIGN TABLE",
    "rp": "TABLE",
    "S": "SEQUENCE",
}
_SECTIONS = read_own(__file__, "postgresql.sql").split("-- name: ")[1:]
_SQL = dict(section.strip().split("\n", 1) for section in _SECTIONS)


class Relation(NamedTuple):
    """A table (kind "r", "p" or "f"), view ("v"), materialized view ("m") or sequence ("S")."""

    schema: str
    name: str
    kind: str

    @property
    def quoted(self) -> str:
        return f"{_quote(self.schema)}.{_quote(self.name)}"


def request_database(url: str, tables: Sequence[str]) -> PartRequest:
    """Return a request for some tables of a database, all if none are named."""
    connection, password = read_url(url)
    details = {"connection": connection, "password": password, "asked": list(tables)}
    return PartRequest("postgresql", write_url(connection), details)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _read_relations(query: Query) -> list[Relation]:
    # all that is asked after this is read as of the instant at which this transaction begins
    query(_SQL["begin"])
    return sorted(Relation(*row) for row in json.loads(query(_SQL["relations"])))


def _choose(
    relations: Sequence[Relation],
    tables: Sequence[Sequence[str]] | None,
) -> list[Relation]:
    """Return the relations of some tables. tables: (schema, name, kind); None for all."""
    if tables is None:
        return list(relations)
    names = {(schema, name) for schema, name, _ in tables}
    return [relation for relation in relations if (relation.schema, relation.name) in names]


def _find_relation(relations: Sequence[Relation], name: str) -> Relation:
    """Return the relation that a user names. Raises CheckpointError.

    name: with its schema or without.
    """
    found = [relation for relation in relations if relation.name == name]
    if not found:
        found = [relation for relation in relations if name in _list_spellings(relation)]
    shown = escape_controls(shorten(name, 60))
    if not found:
        hint = "names are matched as they are written, case and all"
        raise CheckpointError(f"no such table: {shown}", hint)

    if len(found) > 1:
        named = ", ".join(f"{relation.schema}.{relation.name}" for relation in found[:5])
        message = f"there are several tables {shown}: {escape_controls(named)}"
        raise CheckpointError(message, "name the schema too: schema.table")

    return found[0]


def _list_spellings(relation: Relation) -> list[str]:
    """Return how a relation may be written with its schema, each part quoted or not."""
    spellings = []
    for schema in (relation.schema, _quote(relation.schema)):
        spellings.append(f"{schema}.{relation.name}")
        spellings.append(f"{schema}.{_quote(relation.name)}")
    return spellings


def _ask_of(query: Query, question: str, relations: Sequence[Relation]) -> list[list[str]]:
    """Return the rows of a query of postgresql.sql about some relations."""
    quoted = [_literal(relation.quoted) for relation in relations]
    names = ", ".join(f"{name}::pg_catalog.regclass::oid" for name in quoted)
    rows: list[list[str]] = json.loads(query(_SQL[question].format(oids=f"ARRAY[{names}]::oid[]")))
    return rows


def _check_closed(query: Query, relations: Sequence[Relation]) -> None:
    """Raise CheckpointError if other relations depend on these."""
    depending = _ask_of(query, "depending", relations)
    if not depending:
        return
    sentences = sorted({f"{other} {how} {table}" for other, how, table in depending})
    message = f"these tables cannot be put back alone: {', '.join(sentences[:5])}"
    others = sorted({row[0] for row in depending})
    named = " ".join(f"--table {shlex.quote(other)}" for other in others[:5])
    hint = f"name these too: {named}; or no tables, for the whole database"
    raise CheckpointError(escape_controls(message), escape_controls(hint))


def _hash_relations(query: Query, relations: Sequence[Relation], *, with_owned: bool) -> str:
    """Return a hash over definitions and rows. with_owned: of what they own, too."""
    owned = _ask_of(query, "owned", relations) if with_owned and relations else []
    digest = sha256(b"postgresql 1\n")
    for relation in sorted([*relations, *(Relation(*row) for row in owned)]):
        digest.update(json.dumps(relation).encode())
        if relation.kind == "S":
            sql = f"SELECT last_value, is_called FROM {relation.quoted}"  # noqa: S608 - quoted
            answers = [query(sql)]
        else:
            answers = [query(_SQL["definition"].format(name=_literal(relation.quoted)))]
        if relation.kind == "r":
            answers.append(query(_SQL["rows"].format(name=relation.quoted)))
        digest.update(json.dumps(answers).encode())

    return digest.hexdigest()


def capture(location: Location, request: PartRequest, content: str) -> Part:
    """Dump the tables as of one instant, hash them as of the same, and read the dump."""
    connection = request.details["connection"]
    target = os.path.join(location.folder, content)
    env = make_env(location.env, connection, request.details["password"])

    with open_session(env) as query:
        present = _read_relations(query)
        tables = _find_tables(present, request)
        chosen = _choose(present, tables)
        if tables is not None and chosen and not request.may_lack:
            _check_closed(query, chosen)
        logical = _hash_relations(query, chosen, with_owned=tables is not None)
        version = query("SHOW server_version")
        if chosen or tables is None:
            snapshot = query("SELECT pg_catalog.pg_export_snapshot()")
            dumped = None if tables is None else chosen
            _dump(target, snapshot, dumped, env)

    details = {
        "connection": connection,
        "tables": tables,
        "held": [list(relation) for relation in chosen],
        "logical": logical,
        "server_version": version,
    }
    if not os.path.exists(target):
        return Part("postgresql", request.name, "", 0, "", details)
    run_tool("pg_restore", ["--file", os.devnull, target], env)  # reads all of it
    size = os.path.getsize(target)
    return Part("postgresql", request.name, content, size, hash_file(target), details)


def _find_tables(
    present: Sequence[Relation],
    request: PartRequest,
) -> list[list[str]] | None:
    """Return the tables that are to be kept, as (schema, name, kind); None for all."""
    if "tables" in request.details:  # those of an older point are taken as it names them
        tables: list[list[str]] | None = request.details["tables"]
        return tables
    # a user names tables and views; their sequences come along
    named = [relation for relation in present if relation.kind != "S"]
    found = sorted({_find_relation(named, name) for name in request.details["asked"]})
    return [list(relation) for relation in found] or None


def _dump(
    target: str,
    snapshot: str,
    tables: Sequence[Relation] | None,
    env: Mapping[str, str],
) -> None:
    """Dump tables, None for all, as of a snapshot of the server."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    words = ["--format=custom", "--no-password", "--lock-wait-timeout=30000"]
    words.append(f"--snapshot={snapshot}")
    words += [f"--table={relation.quoted}" for relation in tables or ()]
    run_tool("pg_dump", [*words, "--file", target], env)
    with open(target, "rb") as stream:
        os.fsync(stream.fileno())


def _env_of(location: Location, part: Part, means: Means) -> dict[str, str]:
    password = means.passwords.get(part.name)
    return make_env(location.env, part.details["connection"], password)


def check_ready(location: Location, part: Part, means: Means) -> None:
    env = _env_of(location, part, means)
    with open_session(env) as query:
        query("SELECT 1")
    if part.content:
        run_tool("pg_restore", ["--list", content_path(location, part)], env)


def is_as_kept(location: Location, part: Part, means: Means) -> bool:
    tables = part.details["tables"]
    with open_session(_env_of(location, part, means)) as query:
        chosen = _choose(_read_relations(query), tables)
        present = _hash_relations(query, chosen, with_owned=tables is not None)
    return present == str(part.details["logical"])


def request_present(location: Location, part: Part, means: Means) -> PartRequest | None:
    details = {
        "connection": part.details["connection"],
        "password": means.passwords.get(part.name),
        "tables": part.details["tables"],
    }
    return PartRequest("postgresql", part.name, details, may_lack=True)


def restore(location: Location, part: Part, means: Means) -> list[str]:
    # the drops and the dump in one transaction: all of it or nothing
    env = _env_of(location, part, means)
    tables = part.details["tables"]
    with open_session(env) as query:
        present = _choose(_read_relations(query), tables)
        version = query("SHOW server_version")

    with file_writes.workshop(location.folder) as folder:
        drops = os.path.join(folder, "1.sql")
        dump = os.path.join(folder, "2.sql")
        with open(drops, "w", encoding="utf-8") as stream:
            stream.write(_write_drops(present, cascade=tables is None))
        words = ["-X", "-q", "--no-password", "-v", "ON_ERROR_STOP=1", "--single-transaction"]
        words += ["-f", drops]
        if part.content:
            kept = content_path(location, part)
            run_tool("pg_restore", ["--clean", "--if-exists", "--file", dump, kept], env)
            words += ["-f", dump]
        run_tool("psql", words, env)

    captured_from = str(part.details["server_version"])
    if version.partition(".")[0] == captured_from.partition(".")[0]:
        return []
    sentence = f"{part.name} was captured from PostgreSQL {captured_from}, "
    return [sentence + f"and restored into {version}"]


def _write_drops(relations: Sequence[Relation], *, cascade: bool) -> str:
    """Return SQL that drops relations in any order. cascade: and all that depends on them."""
    statements = []
    ending = " CASCADE" if cascade else ""
    for kinds, word in _DROPS.items():
        groups = [relation.quoted for relation in relations if relation.kind in kinds]
        if word == "TABLE" and groups:
            groups = [", ".join(groups)]  # tables refer to one another in circles
        statements += [f"DROP {word} IF EXISTS {group}{ending}" for group in groups]

    literals = ", ".join(_literal(statement) for statement in statements)
    body = _SQL["drop_all"].format(statements=literals)
    return f"SET standard_conforming_strings = on;\nDO {_literal(body)};\n"


def write_lines(part: Part) -> str:
    connection = part.details["connection"]
    options = []
    for name, option in _OPTIONS.items():
        if name in connection:
            options.append(f"{option}={quote_word(connection[name])}")

    variables = ""
    for name, value in connection.items():
        if name.startswith("ssl"):
            variables += f"{CONNECTION[name]}={quote_word(value)} "

    content = quote_word(part.content)
    return f"{variables}postgresql {part.sha256} {content} {' '.join(options)}\n"


def find_prerequisites(part: Part) -> list[str]:
    major = str(part.details["server_version"]).partition(".")[0]
    tables = "restore.sh leaves tables that were made since, "
    tables += "and restores nothing where they depend on what it replaces"
    return [
        f"pg_restore of PostgreSQL {major} or newer, and {part.name} within reach",
        f"the password of {part.name}, if it asks for one, in PGPASSWORD or ~/.pgpass",
        f"no other session has locked the tables of {part.name}",
        tables,
    ]
