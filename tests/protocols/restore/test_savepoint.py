import contextlib
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.savepoint import savepoint
from tests.support.command import run_here
from tests.support.postgres import Server

Open = Callable[[], Any]
MODES: dict[str, dict[str, Any]] = {
    "deferred": {},
    "immediate": {"isolation_level": "IMMEDIATE"},
    "by hand": {"isolation_level": None},
}
if sys.version_info >= (3, 12):
    MODES |= {"autocommit": {"autocommit": True}, "no autocommit": {"autocommit": False}}
AUTOCOMMIT = {"by hand", "autocommit"}


class Oops(Exception):  # noqa: N818 - what goes wrong in a block
    """Whatever may go wrong in a block."""


@pytest.fixture(params=list(MODES))
def mode(request: pytest.FixtureRequest) -> str:
    """Each way in which sqlite3 treats transactions."""
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with an empty table."""
    with closing(sqlite3.connect(tmp_path / "app.db")) as bank, bank:
        bank.execute("CREATE TABLE t (a INTEGER)")
    return tmp_path / "app.db"


@pytest.fixture
def bank(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection to it."""
    with closing(sqlite3.connect(path, **MODES[mode])) as connection:
        yield connection


def rows(connection: Any) -> list[int]:
    """What the table holds, as this connection sees it."""
    cursor = connection.cursor()
    cursor.execute("SELECT a FROM t ORDER BY a")
    found = [row[0] for row in cursor.fetchall()]
    cursor.close()
    return found


def others(path: Path) -> list[int]:
    """What is committed."""
    with closing(sqlite3.connect(path)) as other:
        return rows(other)


def add(connection: Any, number: int) -> None:
    """One row more."""
    cursor = connection.cursor()
    cursor.execute(f"INSERT INTO t VALUES ({number})")  # noqa: S608 - a number of the test's own
    cursor.close()


def fail(
    connection: Any, *numbers: int, error: type[BaseException] = Oops, also: Open = lambda: None
) -> None:
    """A block that adds rows, does something more, and then fails."""
    with savepoint(connection):
        for number in numbers:
            add(connection, number)
        also()
        raise error


def test_a_block_that_raises_is_undone_and_what_was_before_stays(bank: sqlite3.Connection) -> None:
    add(bank, 1)
    with pytest.raises(Oops):
        fail(bank, 2)
    assert rows(bank) == [1]
    with savepoint(bank):
        add(bank, 3)
    assert rows(bank) == [1, 3]


def test_the_transaction_around_stays_the_caller_s(
    bank: sqlite3.Connection, path: Path, mode: str
) -> None:
    with savepoint(bank):
        add(bank, 1)
    assert others(path) == ([1] if mode in AUTOCOMMIT else []), (
        "nothing is committed behind the caller's back"
    )
    bank.rollback()
    assert rows(bank) == ([1] if mode in AUTOCOMMIT else [])
    with savepoint(bank):
        add(bank, 2)
    bank.commit()
    assert 2 in others(path)


def test_definitions_are_undone_too(bank: sqlite3.Connection) -> None:
    changes = ("CREATE TABLE more (a)", "ALTER TABLE t ADD COLUMN b", "INSERT INTO t VALUES (1, 2)")
    with pytest.raises(Oops):
        fail(bank, also=lambda: [bank.execute(change) for change in changes])
    assert rows(bank) == []
    assert bank.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)


def test_savepoints_nest(bank: sqlite3.Connection) -> None:
    with savepoint(bank) as outer:
        add(bank, 1)
        with contextlib.suppress(Oops):
            fail(bank, 2)
        with savepoint(bank) as inner:
            add(bank, 3)
        assert inner != outer
    assert rows(bank) == [1, 3]
    with contextlib.suppress(Oops), savepoint(bank):
        with savepoint(bank):
            add(bank, 4)
        raise Oops
    assert rows(bank) == [1, 3]


@pytest.mark.parametrize("how", ["commit", "script", "with"])
def test_a_block_that_commits_is_told_that_nothing_can_be_undone(path: Path, how: str) -> None:
    ways: dict[str, Callable[[sqlite3.Connection], object]] = {
        "commit": lambda bank: bank.commit(),
        "script": lambda bank: bank.executescript("SELECT 1"),
        "with": lambda bank: bank.__enter__().__exit__(None, None, None),
    }
    with closing(sqlite3.connect(path)) as bank:
        with pytest.raises(CheckpointError, match="could not be undone") as caught:
            fail(bank, 1, also=lambda: ways[how](bank))
        assert isinstance(caught.value.__cause__, Oops)
        with pytest.raises(CheckpointError, match="may be committed already"), savepoint(bank):
            ways[how](bank)


def test_an_interrupt_is_an_exception_like_others(bank: sqlite3.Connection) -> None:
    with pytest.raises(KeyboardInterrupt):
        fail(bank, 1, error=KeyboardInterrupt)
    assert rows(bank) == []


def test_what_is_no_connection_is_said() -> None:
    with (
        pytest.raises(CheckpointError, match="a str is not a database connection"),
        savepoint("app.db"),
    ):
        pass


def test_a_savepoint_across_processes_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    done = run_here("rp", "create", "a", "--type", "database_savepoint", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot outlive its process" in done.stderr
    assert "--database URL" in done.stderr


# PostgreSQL


@pytest.mark.parametrize("autocommit", [False, True])
def test_psycopg_blocks_are_undone_even_after_an_error_of_the_server(
    server: Server, database: str, autocommit: bool
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    server.sql("CREATE TABLE t (a int PRIMARY KEY)", database)
    with psycopg.connect(server.url(database), autocommit=autocommit) as connection:
        with savepoint(connection):
            add(connection, 1)
        with pytest.raises(psycopg.errors.UniqueViolation):
            fail(connection, 2, 1)
        with contextlib.suppress(Oops):
            fail(connection, 3)
        assert rows(connection) == [1]
        assert server.sql("SELECT count(*) FROM t", database) == ("1" if autocommit else "0")
        with connection.transaction(), savepoint(connection):
            add(connection, 4)
        connection.rollback()
    assert server.sql("SELECT count(*) FROM t", database) == ("2" if autocommit else "0")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_sqlalchemy_blocks_are_undone(
    kind: str, path: Path, request: pytest.FixtureRequest
) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    url = f"sqlite:///{path}"
    if kind == "postgresql":
        running, name = request.getfixturevalue("server"), request.getfixturevalue("database")
        running.sql("CREATE TABLE t (a int)", name)
        url = running.url(name).replace("postgresql:", "postgresql+psycopg:")
    engine = sqlalchemy.create_engine(url)
    insert, read = (
        sqlalchemy.text("INSERT INTO t VALUES (:a)"),
        sqlalchemy.text("SELECT a FROM t ORDER BY a"),
    )
    with engine.connect() as connection:
        with savepoint(connection):
            connection.execute(insert, {"a": 1})
        with contextlib.suppress(Oops), savepoint(connection):
            connection.execute(insert, {"a": 2})
            raise Oops
        assert connection.execute(read).scalars().all() == [1]
        connection.rollback()
        assert connection.execute(read).scalars().all() == [], "the transaction stays the caller's"
        with savepoint(connection):
            connection.execute(insert, {"a": 3})
        connection.commit()
    with engine.connect() as connection:
        assert connection.execute(read).scalars().all() == [3]
    engine.dispose()
