"""Savepoints in a database, inside one process."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from checkpoint_git.core.errors import CheckpointError

Execute = Callable[[str], object]


@contextmanager
def savepoint(connection: Any) -> Iterator[str]:
    """Undo in a database what a block did if it raises; yield the savepoint's name.

    SAVEPOINT runs before the block, RELEASE after it, ROLLBACK TO if it raises. The savepoint is
    in that connection and ends with it: what must outlive the process is
    RestorePoints.create(databases=...). connection: a DB-API connection (sqlite3, psycopg, ...) or
    one of SQLAlchemy's Core. Savepoints may be nested. The transaction around it stays the
    caller's: nothing is committed here unless the connection is in autocommit mode, where a block
    that succeeds is kept. Raises CheckpointError if the block ended the transaction itself, so
    that nothing could be undone.
    """
    driver, execute = _open_connection(connection)
    has_begun = _begin(driver, execute)  # then the transaction must be ended here
    name = f"checkpoint_{os.urandom(8).hex()}"
    quoted = f'"{name}"'
    release = f"RELEASE SAVEPOINT {quoted}"

    try:
        execute(f"SAVEPOINT {quoted}")
    except BaseException:
        if has_begun:
            execute("ROLLBACK")
        raise

    try:
        yield name
    except BaseException as error:
        _end(driver, execute, (f"ROLLBACK TO SAVEPOINT {quoted}", release), error)
        if has_begun:
            execute("ROLLBACK")
        raise

    _end(driver, execute, (release,), None)
    if has_begun:
        execute("COMMIT")


def _open_connection(connection: Any) -> tuple[Any, Execute]:
    if hasattr(connection, "exec_driver_sql"):  # SQLAlchemy: it must know of the transaction
        return connection.connection.driver_connection, connection.exec_driver_sql
    if not hasattr(connection, "cursor"):
        hint = "give the connection itself; of an SQLAlchemy session: session.connection()"
        raise CheckpointError(f"a {type(connection).__name__} is not a database connection", hint)

    def execute(sql: str) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(sql)

    return connection, execute


def _begin(driver: Any, execute: Execute) -> bool:
    """Begin a transaction if there is none, and return whether it must be ended here."""
    if isinstance(driver, sqlite3.Connection):
        # It opens one by itself before INSERT and the like only: a savepoint on its own would be
        # the transaction, and RELEASE would commit what the caller may still want to roll back. In
        # autocommit mode that is what is wanted.
        mode = getattr(driver, "autocommit", -1)  # since Python 3.12; -1: by isolation_level
        is_automatic = mode is False or (mode is not True and driver.isolation_level is not None)
        if is_automatic and not driver.in_transaction:
            execute("BEGIN")
        return False

    # psycopg's word for being in a transaction that was opened by hand; 0 is idle
    status = getattr(getattr(driver, "info", None), "transaction_status", 0)
    must_begin = getattr(driver, "autocommit", False) is True and status == 0
    if must_begin:
        execute("BEGIN")
    return must_begin


def _end(
    driver: Any,
    execute: Execute,
    statements: tuple[str, ...],
    error: BaseException | None,
) -> None:
    """End a savepoint. error: of the block, if it raised."""
    try:
        if isinstance(driver, sqlite3.Connection) and not driver.in_transaction:
            raise CheckpointError("the transaction is over")
        for statement in statements:
            execute(statement)
    except Exception as trouble:
        result = "it may be committed already"
        if error is not None:
            result = "what it did could not be undone"
        message = f"the block ended the transaction of its savepoint, and {result} ({trouble})"
        hint = "no commit(), rollback(), executescript() or `with connection:` "
        hint += "inside a savepoint's block"
        raise CheckpointError(message, hint) from (error or trouble)
