"""Keep an SQLite database while others write; restore it without a crashed writer's leftovers."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing, suppress
from hashlib import sha256
from urllib.parse import quote as quote_uri

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.disk.atomic import reporting, sync_folder
from checkpoint_git.disk.discover import check_way
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import SQLITE_SIDES, ContentEntry, Location, Part
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms.contract import Means, PartRequest, content_path
from checkpoint_git.protocols.restore.scope import hash_file

_ASIDE = "aside"  # below the point's folder: what was at a file's path
_PATIENCE = 30.0  # seconds that a locked database is waited for
_BUSY_TRIES = 4  # and so often
_BUSY_MILLISECONDS = 2000  # before a rollback
# What passes, or says nothing about the database, is no reason to keep less than all of it.
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def capture(location: Location, request: PartRequest, content: str) -> Part:
    # SQLite's own backup is consistent whoever writes
    path = str(request.details["path"])
    source = os.path.join(location.root, path)
    check_way(os.path.dirname(path), location.root)
    status = layout.read_status(source)
    if status is None and request.may_lack:
        details = {"path": path, "mode": "0600", "logical": ""}
        return Part("sqlite", request.name, "", 0, "", details)

    shown = escape_controls(path)
    if status is None:
        hint = "name an existing file: sqlite:///path"
        raise CheckpointError(f"no such database: {shown}", hint)
    if not stat.S_ISREG(status.st_mode):
        hint = "name the database itself, and no link to it"
        raise CheckpointError(f"{shown} is not a file", hint)

    target = os.path.join(location.folder, content)
    logical = _capture_content(source, target, shown, may_be_damaged=request.may_lack)
    with open(target, "rb") as stream:
        os.fsync(stream.fileno())
    details = {"path": path, "mode": f"{stat.S_IMODE(status.st_mode):04o}", "logical": logical}
    size = os.path.getsize(target)
    return Part("sqlite", request.name, content, size, hash_file(target), details)


def _capture_content(source: str, target: str, shown: str, *, may_be_damaged: bool) -> str:
    """Copy a database, and return a hash over its rows; "" if SQLite cannot read it."""
    try:
        _back_up(source, target, shown)
        return hash_content(target, frozen=True)
    except sqlite3.DatabaseError as error:
        if not may_be_damaged or getattr(error, "sqlite_errorcode", None) in _PASSING:
            hint = "is it an SQLite database, and whole? is the disk full? "
            hint += "`PRAGMA integrity_check` shows the details"
            raise CheckpointError(f"{shown} cannot be captured: {error}", hint) from None
        with reporting(target):
            shutil.copyfile(source, target, follow_symlinks=False)  # kept byte for byte
        return ""


def _open(path: str, how: str) -> sqlite3.Connection:
    uri = f"file:{quote_uri(os.fsencode(path))}?{how}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE)


def _open_source(path: str) -> sqlite3.Connection:
    # beside a -wal it only reads, since the last to leave would write that back; without one it
    # may write, since a reader would leave empty side files behind
    mode = "mode=ro" if os.path.lexists(f"{path}-wal") else "mode=rw"
    return _open(path, mode)


def _back_up(source: str, target: str, shown: str) -> None:
    remaining_tries = iter(range(_BUSY_TRIES))

    def watch(status: int, remaining: int, total: int) -> None:
        if next(remaining_tries, None) is None:
            message = f"{shown} is locked by another process"
            raise CheckpointError(message, "try again once that is done")

    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(_open_source(source)) as connection, closing(sqlite3.connect(target)) as copy:
        # all pages at once: consistent under concurrent writers
        connection.backup(copy, pages=-1, progress=watch)

    with closing(_open(target, "immutable=1")) as copy:
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"it is damaged ({found.splitlines()[0][:200]})")


# Measured: a file that is moved back under a leftover `-wal` is undone by it. The database and its
# side files are one thing here.
def hash_content(path: str, *, frozen: bool) -> str:
    """Return a hash over the schema and all rows, as SQLite reads them.

    frozen: without side files. Raises sqlite3.DatabaseError.
    """
    digest = sha256(b"sqlite 1\n")
    with closing(_open(path, "immutable=1") if frozen else _open_source(path)) as connection:
        connection.text_factory = bytearray  # any bytes, and distinct from a blob
        for pragma in ("user_version", "application_id", "encoding"):
            digest.update(repr(connection.execute(f"PRAGMA {pragma}").fetchall()).encode())
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        schema = connection.execute(query).fetchall()
        digest.update(repr(schema).encode())

        for kind, name, _, sql in schema:
            if kind != b"table" or not sql or sql.upper().startswith(b"CREATE VIRTUAL"):
                continue
            rows = _read_rows(connection, name.decode("utf-8", "surrogateescape"))
            digest.update(b"\n" + name + b"\n")
            while batch := rows.fetchmany(1000):
                digest.update(repr(batch).encode())

    return digest.hexdigest()


def _read_rows(connection: sqlite3.Connection, table: str) -> sqlite3.Cursor:
    """Return the rows of a table in the order of its key."""
    quoted = '"' + table.replace('"', '""') + '"'
    query = f"SELECT * FROM {quoted}"  # noqa: S608 - from the catalog, quoted
    try:
        return connection.execute(f"{query} ORDER BY rowid")
    except sqlite3.OperationalError:  # WITHOUT ROWID: it is in the order of its key
        return connection.execute(query)


def find_users(path: str) -> list[int]:
    """Return the processes that have a database or its side files open, as far as /proc shows."""
    wanted: set[tuple[int, int]] = set()
    for side in ("", *SQLITE_SIDES):
        status = layout.read_status(path + side)
        if status is not None:
            wanted.add((status.st_dev, status.st_ino))

    if not wanted or not os.path.isdir("/proc/self/fd"):
        return []

    processes = [name for name in os.listdir("/proc") if name.isdecimal()]
    return sorted(int(process) for process in processes if _has_open(process, wanted))


def _has_open(process: str, wanted: set[tuple[int, int]]) -> bool:
    folder = f"/proc/{process}/fd"
    with suppress(OSError):  # another user's, or gone
        for name in os.listdir(folder):
            with suppress(OSError):
                status = os.stat(f"{folder}/{name}")
                if (status.st_dev, status.st_ino) in wanted:
                    return True
    return False


def check_ready(location: Location, part: Part, means: Means) -> None:
    path = str(part.details["path"])
    check_way(os.path.dirname(path), location.root)
    full = os.path.join(location.root, path)
    shown = escape_controls(path)
    if os.path.isdir(full) or os.path.islink(full):
        raise CheckpointError(f"{shown} is not a database but a folder or a link", "move it away")

    # a connection would continue to write into the file that is replaced
    users = find_users(full)
    if users:
        named = ", ".join(str(process) for process in users[:5])
        hint = "close its connections, or end them, then run the same command again; "
        hint += "nothing was changed"
        raise CheckpointError(f"{shown} is in use by process {named}", hint)

    if os.path.lexists(full):
        _check_unlocked(full, shown)


def _check_unlocked(full: str, shown: str) -> None:
    # if /proc is missing, or hides other users' processes, the locks still show them
    try:
        with closing(_open(full, "mode=rw")) as connection:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            hint = "close its connections, then run the same command again; nothing was changed"
            raise CheckpointError(f"{shown} is in use: {error}", hint) from None
    except sqlite3.DatabaseError:
        pass  # it is damaged, and the rollback will fix that


def is_as_kept(location: Location, part: Part, means: Means) -> bool:
    full = os.path.join(location.root, str(part.details["path"]))
    is_there = os.path.lexists(full)
    if not part.content or not is_there:
        return not part.content and not is_there
    if not part.details["logical"]:
        return hash_file(full) == part.sha256

    try:
        return hash_content(full, frozen=False) == str(part.details["logical"])
    except sqlite3.DatabaseError:
        return False


def request_present(location: Location, part: Part, means: Means) -> PartRequest | None:
    return PartRequest("sqlite", part.name, {"path": part.details["path"]}, may_lack=True)


def restore(location: Location, part: Part, means: Means) -> list[str]:
    # side files are moved out of the way; nothing of them is deleted
    check_ready(location, part, means)
    path = str(part.details["path"])
    full = os.path.join(location.root, path)
    sentences: list[str] = []

    def clear_way(endings: tuple[str, ...]) -> None:
        for ending in endings:
            if os.path.lexists(full + ending):
                sentences.append(_put_aside(location, full + ending))

    with reporting(path), file_writes.workshop(location.folder) as folder:
        if part.content:
            file_writes.write_path(
                location.root,
                ContentEntry(path, "file", int(part.details["mode"], 8)),
                file_writes.read_whole(content_path(location, part), part.name),
                folder,
                check=lambda _: clear_way(SQLITE_SIDES),
            )
        else:
            clear_way(("", *SQLITE_SIDES))
        sync_folder(os.path.dirname(full))

    return sentences


def _put_aside(location: Location, name: str) -> str:
    """Move a file into the point's folder, or beside its place if that is on another disk.

    Return a sentence about it.
    """
    folder = os.path.join(location.folder, _ASIDE)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    mark = os.urandom(4).hex()
    target = os.path.join(folder, f"{os.path.basename(name)}.{mark}")

    try:
        os.rename(name, target)
    except OSError:
        target = f"{name}.before-{os.path.basename(location.folder)}.{mark}"
        os.rename(name, target)

    was = escape_controls(os.path.relpath(name, location.root))
    return f"{was} was moved to {escape_controls(os.path.relpath(target, location.root))}"


def write_lines(part: Part) -> str:
    path = quote_word(f"./{part.details['path']}")
    content = quote_word(part.content)
    return f"sqlite {part.details['mode']} {part.sha256} {path} {content}\n"


def find_prerequisites(part: Part) -> list[str]:
    return [f"no process has {part.details['path']} open: close every connection to it first"]
