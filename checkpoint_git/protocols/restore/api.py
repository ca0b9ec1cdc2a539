"""Restore points for Python, and savepoints inside one process. It prints nothing and asks nobody."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.restore import operations, store
from checkpoint_git.protocols.restore.contents import Means
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms import parts as artifacts
from checkpoint_git.protocols.restore.points import Request
from checkpoint_git.protocols.restore.rollback import Wanted

Objects = list[dict[str, Any]]
Findings = list[Finding]
Ids = list[str]
Execute = Callable[[str], object]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class RestorePoints:
    """The restore points of one workspace: proven ways back, made before anything dangerous.

    root: a folder in it, from which relative scopes start. The workspace is the repository around it; outside git the
    nearest folder upward with .checkpoints, else root itself. now: as for Checkpoints.
    """

    def __init__(self, root: str | os.PathLike[str] = ".", now: int | None = None) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self._now = fix_clock(now)

    @property
    def _workspace(self) -> Workspace:
        return open_workspace(self._root, self._now(), os.environ)

    def create(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        checkpoint_type: str | None = None,
        expiry: str | None = None,
        include: Paths = (),
        absent: bool = True,
    ) -> dict[str, Any]:
        """A new point, read back and rehearsed: the output contract, with its id under checkpoint_id.

        scope: files, folders, patterns. states: key -> a value that JSON can hold, or a pathlib.Path of a JSON file.
        databases: URLs. tables: of the one PostgreSQL database, all where none are named. expiry: "24h", "7d", ...
        include: files to keep although their names are those of secrets. absent: a path that is not there may be
        named, and going back removes what is made at it.
        """
        workspace = self._workspace
        requests = artifacts.request_databases(workspace, list(databases), list(tables))
        requests += artifacts.request_states(workspace, states or {})
        kept = frozenset(operations.find_below(workspace, text) for text in _texts(include))
        request = Request(_texts(scope), reason, parts=requests, include=kept, may_lack=absent)
        return operations.describe(operations.create_point(workspace, request, checkpoint_type, expiry))

    def verify(self, checkpoint_id: str, *, foreign: bool = False) -> Findings:
        """foreign: also a point that this clone did not make, as everywhere here."""
        return operations.verify_point(self._workspace, checkpoint_id, foreign=foreign).findings

    def rollback(
        self,
        checkpoint_id: str,
        scope: Paths | None = None,
        *,
        on_state: Callable[[str, Any], object] | None = None,
        state_to: Mapping[str, str | os.PathLike[str]] | None = None,
        databases: Iterable[str] = (),
        index: bool = False,
        operation: bool = False,
        dry_run: bool = False,
        force: bool = False,
        foreign: bool = False,
        here: bool = False,
        reason: str = "",
    ) -> operations.RolledBackPoint:
        """Goes back, also to an automatic point, and proves it; result.safety is the point of what stood there before.

        scope: only these paths, "state:KEY" or URLs. on_state: takes (key, value) of each state, None where there was
        none. state_to: key -> file. databases: URLs with the passwords that going back needs. index: of git, too.
        operation: HEAD, its branch, and a merge, rebase or cherry-pick under way, with the index. force: although
        expired. here: although another work tree made it.
        """
        workspace = self._workspace
        within = None if scope is None else [operations.find_below(workspace, text) for text in _texts(scope)]
        files = {key: artifacts.place_target(self._root, os.fspath(file)) for key, file in (state_to or {}).items()}
        requests = artifacts.request_databases(workspace, list(databases))
        means = Means(files, on_state, {one.name: str(one.details.get("password") or "") for one in requests})
        wanted, leave = Wanted(within, means, index, operation), operations.Leave(force, foreign, here)
        return operations.roll_back_point(workspace, checkpoint_id, wanted, leave, dry_run=dry_run, reason=reason)

    def list(self) -> Objects:
        """One object a point, oldest first: id, state, type, created_at, expires_at, reason, size, hash, scope, ..."""
        workspace = self._workspace
        return [operations.outline(one, workspace.now) for one in store.list_points(workspace)]

    def show(self, checkpoint_id: str) -> dict[str, Any]:
        manifest = store.load_point(self._workspace, checkpoint_id, foreign=True)
        if manifest.trouble:
            raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", "verify() shows the details")
        return manifest.value

    def drop(self, *checkpoint_ids: str, foreign: bool = False) -> None:
        operations.drop_points(self._workspace, checkpoint_ids, foreign=foreign)

    def gc(self, *, keep: int | None = None, dry_run: bool = False) -> Ids:
        """Clears what has expired; keep: and your own points, except so many of the newest."""
        return [one.id for one in operations.collect_garbage(self._workspace, keep=keep, dry_run=dry_run)]

    @contextmanager
    def guarded(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        on_state: Callable[[str, Any], object] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Makes a point, runs the block, goes back when it raises, and lets the exception on. The point stays.

        on_state: takes the states back; needed for those that were given as values. Raises CheckpointError from the
        block's exception where going back failed: the point is still there then.
        """
        urls = list(databases)
        if on_state is None and any(not isinstance(value, os.PathLike) for value in (states or {}).values()):
            raise CheckpointError("states given as values need somewhere to go back to", "give on_state, or files")
        made = self.create(scope, reason, states=states, databases=urls, tables=tables)
        point = str(made["checkpoint_id"])
        try:
            yield made
        except BaseException as error:
            try:
                self.rollback(point, on_state=on_state, databases=urls)
            except CheckpointError as trouble:
                message = f"the block failed, and going back to {point} did too: {trouble.message}"
                raise CheckpointError(message, trouble.hint) from error
            error.add_note(f"rolled back to restore point {point}")
            raise


def _texts(paths: Paths) -> list[str]:
    return [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]


@contextmanager
def savepoint(connection: Any) -> Iterator[str]:
    """SAVEPOINT before the block, RELEASE after it, ROLLBACK TO where it raises; the savepoint's name.

    It is in that connection and ends with it: what must outlive the process is RestorePoints.create(databases=...).
    connection: a DB-API connection (sqlite3, psycopg, ...) or one of SQLAlchemy's Core. Savepoints may be nested. The
    transaction around it stays the caller's: nothing is committed here unless the connection is in autocommit mode,
    where a block that succeeds is kept. Raises CheckpointError where the block ended the transaction itself, so that
    nothing could be undone.
    """
    driver, execute = _open_connection(connection)
    own = _begin(driver, execute)  # whether the transaction around it must be ended here, being nobody else's
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


def _open_connection(connection: Any) -> tuple[Any, Execute]:
    if hasattr(connection, "exec_driver_sql"):  # SQLAlchemy: it must know of the transaction, so it is asked
        return connection.connection.driver_connection, connection.exec_driver_sql
    if not hasattr(connection, "cursor"):
        hint = "give the connection itself; of an SQLAlchemy session: session.connection()"
        raise CheckpointError(f"a {type(connection).__name__} is not a database connection", hint)

    def execute(sql: str) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(sql)

    return connection, execute


def _begin(driver: Any, execute: Execute) -> bool:
    if isinstance(driver, sqlite3.Connection):
        # It opens one by itself before INSERT and the like only: a savepoint on its own would be the transaction, and
        # RELEASE would commit what the caller may still want to roll back. In autocommit mode that is what is wanted.
        mode = getattr(driver, "autocommit", -1)  # since Python 3.12; -1 is the old way, by isolation_level
        is_automatic = mode is False or (mode is not True and driver.isolation_level is not None)
        if is_automatic and not driver.in_transaction:
            execute("BEGIN")
        return False
    # psycopg's word for being in a transaction that was opened by hand; 0 is idle
    status = getattr(getattr(driver, "info", None), "transaction_status", 0)
    opens = getattr(driver, "autocommit", False) is True and status == 0
    if opens:
        execute("BEGIN")
    return opens


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
