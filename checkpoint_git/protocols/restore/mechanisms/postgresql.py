"""Tables of a PostgreSQL database kept by pg_dump at one instant, and put back in one transaction.

No password is ever written down: it comes with the call, from PGPASSWORD or from ~/.pgpass.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from checkpoint_git.protocols.restore.artifact import Means, Part, Wanted
from checkpoint_git.protocols.restore.mechanism import Held, Tell
from checkpoint_git.protocols.restore.mechanisms import postgresql_catalog as catalog
from checkpoint_git.protocols.restore.mechanisms.postgresql_catalog import Relation
from checkpoint_git.protocols.restore.mechanisms.postgresql_tools import Ask, find_env, open_session, run_tool
from checkpoint_git.protocols.restore.mechanisms.postgresql_url import find_options
from checkpoint_git.protocols.restore.read import hash_file
from checkpoint_git.protocols.restore.script import quote


def capture(held: Held, wanted: Wanted, content: str, tell: Tell) -> Part:
    """Dumps the tables as of one instant, hashes them as of the same, and reads the dump through."""
    connection, password = wanted.details["connection"], wanted.details["password"]
    env, target = find_env(held.env, connection, password), os.path.join(held.folder, content)
    with open_session(env) as ask:
        ask(catalog.BEGIN)
        there = catalog.read_relations(ask)
        asked = _find_scope(there, wanted)
        chosen = there if asked is None else _keep_named(there, asked)
        if asked is not None and chosen and not wanted.may_lack:
            catalog.check_closed(ask, chosen)
        logical = catalog.hash_relations(ask, _with_owned(ask, asked, chosen))
        version = ask("SHOW server_version")
        if chosen or asked is None:
            _dump(env, target, ask("SELECT pg_catalog.pg_export_snapshot()"), () if asked is None else chosen)
    details = {
        "connection": connection,
        "tables": None if asked is None else [list(one) for one in asked],
        "held": [list(one) for one in chosen],
        "logical": logical,
        "server_version": version,
    }
    if not os.path.exists(target):
        return Part("postgresql", wanted.name, "", 0, "", details)
    run_tool("pg_restore", ["--file", os.devnull, target], env)  # reads all of it
    size = os.path.getsize(target)
    tell(size)
    return Part("postgresql", wanted.name, content, size, hash_file(target), details)


def _find_scope(there: Sequence[Relation], wanted: Wanted) -> list[Relation] | None:
    """The tables in scope, None for all. Those of an older point are taken as it names them, there or not."""
    if "tables" in wanted.details:
        tables = wanted.details["tables"]
        return None if tables is None else [Relation(*one) for one in tables]
    names = wanted.details["asked"]
    return catalog.find_asked(there, names) if names else None


def _keep_named(there: Sequence[Relation], asked: Sequence[Relation]) -> list[Relation]:
    names = {(one.schema, one.name) for one in asked}
    return [one for one in there if (one.schema, one.name) in names]


def _with_owned(ask: Ask, asked: Sequence[Relation] | None, chosen: Sequence[Relation]) -> list[Relation]:
    """What the hash covers: of chosen tables the sequences of their columns too."""
    return list(chosen) if asked is None or not chosen else [*chosen, *catalog.read_owned(ask, chosen)]


def _dump(env: Mapping[str, str], target: str, snapshot: str, chosen: Sequence[Relation]) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    tables = [f"--table={one.quoted}" for one in chosen]
    words = ["--format=custom", "--no-password", "--lock-wait-timeout=30000", f"--snapshot={snapshot}", *tables]
    run_tool("pg_dump", [*words, "--file", target], env)
    with open(target, "rb") as stream:
        os.fsync(stream.fileno())


def find_damage(held: Held, part: Part) -> str:
    """The dump against its hash; the database itself is not asked."""
    if not part.content:
        return ""
    path = os.path.join(held.folder, part.content)
    try:
        if os.path.islink(path) or os.path.getsize(path) != part.size or hash_file(path) != part.sha256:
            return "its dump is not what was captured"
    except OSError as error:
        return f"its dump is lost: {error.strerror}"
    return ""


# going back


def _env_of(held: Held, part: Part, means: Means) -> dict[str, str]:
    return find_env(held.env, part.details["connection"], means.passwords.get(part.name))


def check_ready(held: Held, part: Part, means: Means) -> None:
    """The server answers, the programs are there, and this pg_restore can read the dump."""
    env = _env_of(held, part, means)
    with open_session(env) as ask:
        ask("SELECT 1")
    if part.content:
        run_tool("pg_restore", ["--list", os.path.join(held.folder, part.content)], env)


def _find_present(part: Part, there: Sequence[Relation]) -> list[Relation]:
    """What stands in the scope now."""
    if part.details["tables"] is None:
        return list(there)
    names = {(schema, name) for schema, name, _ in part.details["tables"]}
    return [one for one in there if (one.schema, one.name) in names]


def is_as_kept(held: Held, part: Part, means: Means) -> bool:
    """Definitions, rows and sequences now against those that were captured."""
    with open_session(_env_of(held, part, means)) as ask:
        ask(catalog.BEGIN)
        present = _find_present(part, catalog.read_relations(ask))
        asked = None if part.details["tables"] is None else present
        return catalog.hash_relations(ask, _with_owned(ask, asked, present)) == str(part.details["logical"])


def want_present(held: Held, part: Part, means: Means) -> Wanted | None:
    """The same tables as they are, as many of them as there are."""
    kept = {"connection": part.details["connection"], "password": means.passwords.get(part.name)}
    return Wanted("postgresql", part.name, {**kept, "tables": part.details["tables"]}, may_lack=True)


def restore(held: Held, part: Part, means: Means) -> list[str]:
    """Takes away what stands in the scope and puts the dump in its place, in one transaction: all of it or nothing."""
    env = _env_of(held, part, means)
    with open_session(env) as ask:
        ask(catalog.BEGIN)
        present = _find_present(part, catalog.read_relations(ask))
        version = ask("SHOW server_version")
    drops = catalog.write_drops(present, cascade=part.details["tables"] is None)
    words = ["-X", "-q", "--no-password", "-v", "ON_ERROR_STOP=1", "--single-transaction"]
    with ExitStack() as stack:
        for name, text in (("1.sql", drops), ("2.sql", None)):
            path = os.path.join(held.folder, f".workshop-{name}")
            stack.callback(_remove, path)
            _write_sql(held, part, path, text, env)
            words += ["-f", path]
        run_tool("psql", words, env)
    then = str(part.details["server_version"])
    if version.partition(".")[0] == then.partition(".")[0]:
        return []
    return [f"{part.name} was captured from PostgreSQL {then}, and put back into {version}"]


def _write_sql(held: Held, part: Part, path: str, text: str | None, env: Mapping[str, str]) -> None:
    with open(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "w"
    ) as stream:
        stream.write(text or "")
    if text is None and part.content:
        kept = os.path.join(held.folder, part.content)
        run_tool("pg_restore", ["--clean", "--if-exists", "--file", path, kept], env)


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def write_lines(part: Part) -> str:
    """restore.sh: pg_restore in one transaction."""
    if not part.content:
        return ""
    connection = part.details["connection"]
    options = " ".join(f"{option}={quote(value)}" for option, value in find_options(connection))
    variables = "".join(
        f"PG{name.upper()}={quote(value)} " for name, value in connection.items() if name.startswith("ssl")
    )
    return f"{variables}postgresql {part.sha256} {quote(part.content)} {options}\n"


def find_prerequisites(part: Part) -> list[str]:
    """Programs, password, and what may stand in the way."""
    major = str(part.details["server_version"]).partition(".")[0]
    return [
        f"pg_restore of PostgreSQL {major} or newer, and {part.name} within reach",
        f"the password of {part.name}, if it asks for one, in PGPASSWORD or ~/.pgpass",
        f"nobody holds locks on the tables of {part.name}",
        "restore.sh leaves tables that were made since, and restores nothing where they depend on what it replaces",
    ]
