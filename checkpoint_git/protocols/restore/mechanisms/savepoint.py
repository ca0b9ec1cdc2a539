"""A savepoint around a block of work on one open connection: what the block did is undone when it raises.

It lives in that connection and dies with it: what must outlive the process is `create --database URL`.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from checkpoint_git.core.errors import CheckpointError

Execute = Callable[[str], object]


@contextmanager
def savepoint(connection: Any) -> Iterator[str]:
    """SAVEPOINT before the block, RELEASE after it, ROLLBACK TO where it raises; the savepoint's name.

    connection: a DB-API connection (sqlite3, psycopg, ...) or one of SQLAlchemy's Core. Savepoints may be nested. The
    transaction around it stays the caller's: nothing is committed here unless the connection is in autocommit mode,
    where a block that succeeds is kept. Raises CheckpointError where the block ended the transaction itself, so that
    nothing could be undone.
    """
    driver, execute = _open(connection)
    own = _begin(driver, execute)
    name = f"checkpoint_{os.urandom(8).hex()}"
    quoted = f'"{name}"'
    try:
        execute(f"SAVEPOINT {quoted}")
    except BaseException:
        if own:
            execute("ROLLBACK")
        raise
    try:
        yield name
    except BaseException as error:
        _end(driver, execute, (f"ROLLBACK TO SAVEPOINT {quoted}", f"RELEASE SAVEPOINT {quoted}"), error)
        if own:
            execute("ROLLBACK")
        raise
    _end(driver, execute, (f"RELEASE SAVEPOINT {quoted}",), None)
    if own:
        execute("COMMIT")


def _open(connection: Any) -> tuple[Any, Execute]:
    """(the driver's connection, how to run SQL on it). Raises CheckpointError for what is no connection."""
    if hasattr(connection, "exec_driver_sql"):  # SQLAlchemy: it must know of the transaction, so it is asked
        return connection.connection.driver_connection, connection.exec_driver_sql
    if not hasattr(connection, "cursor"):
        hint = "give the connection itself; of an SQLAlchemy session: session.connection()"
        raise CheckpointError(f"a {type(connection).__name__} is no database connection", hint)

    def execute(sql: str) -> None:
        cursor = connection.cursor()
        try:
            cursor.execute(sql)
        finally:
            cursor.close()

    return connection, execute


def _begin(driver: Any, execute: Execute) -> bool:
    """Opens the transaction that a savepoint needs. Returns whether it must be ended here, being nobody else's.

    sqlite3 opens one by itself before INSERT and the like only: a savepoint on its own would be the transaction, and
    RELEASE would commit what the caller may still want to roll back.
    """
    if isinstance(driver, sqlite3.Connection):
        if not driver.in_transaction and _is_automatic(driver):
            execute("BEGIN")
        return False  # in autocommit mode the savepoint itself is the transaction
    if getattr(driver, "autocommit", False) is not True or _is_inside(driver):
        return False
    execute("BEGIN")
    return True


def _is_automatic(driver: sqlite3.Connection) -> bool:
    """Whether sqlite3 opens transactions by itself and leaves it to the caller to commit."""
    mode = getattr(driver, "autocommit", -1)  # since Python 3.12; -1 is the old way, by isolation_level
    return mode is False or (mode is not True and driver.isolation_level is not None)


def _is_inside(driver: Any) -> bool:
    """Whether a connection in autocommit mode is in a transaction that was opened by hand."""
    status: int = getattr(getattr(driver, "info", None), "transaction_status", 0)  # psycopg's; 0 is idle
    return status != 0


def _end(driver: Any, execute: Execute, statements: tuple[str, ...], error: BaseException | None) -> None:
    try:
        if isinstance(driver, sqlite3.Connection) and not driver.in_transaction:
            raise CheckpointError("the transaction is over")
        for statement in statements:
            execute(statement)
    except Exception as trouble:
        what = "what it did could not be undone" if error else "it may be committed already"
        hint = "no commit(), rollback(), executescript() or `with connection:` inside a savepoint's block"
        message = f"the block ended the transaction of its savepoint, and {what} ({trouble})"
        raise CheckpointError(message, hint) from (error or trouble)
