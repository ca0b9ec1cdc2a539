"""An SQLite database kept whole while others write, and put back without what a crashed writer left beside it.

A file that is moved back under a leftover `-wal` is undone by it: the database and its side files are one thing here.
"""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from urllib.parse import quote as quote_uri

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import sync_folder, write_error
from checkpoint_git.protocols.restore import file_writes
from checkpoint_git.protocols.restore.artifact import Means, Part, Wanted
from checkpoint_git.protocols.restore.mechanism import Held, Tell
from checkpoint_git.protocols.restore.read import hash_file
from checkpoint_git.protocols.restore.script import quote

SIDES = ("-wal", "-shm", "-journal")
_ASIDE = "aside"  # below the point's folder: what lay in the way
_PATIENCE = 30.0  # seconds that a locked database is waited for
_BUSY_TRIES = 4  # and so often
_CHUNK = 1 << 20


def capture(held: Held, wanted: Wanted, content: str, tell: Tell) -> Part:
    """Copies the database by SQLite's own backup, which is consistent whoever writes; then checks the copy."""
    path = str(wanted.details["path"])
    source, target = os.path.join(held.root, path), os.path.join(held.folder, content)
    file_writes.check_way(held.root, path)
    status = _read_status(source)
    if status is None and wanted.may_lack:
        return Part("sqlite", wanted.name, "", 0, "", {"path": path, "mode": "0600", "logical": ""})
    _check_file(path, status)
    assert status is not None
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    try:
        _back_up(source, target, path, tell)
        logical = hash_content(target, frozen=True)
    except sqlite3.DatabaseError as error:
        if not wanted.may_lack or error.sqlite_errorcode in _PASSING:
            hint = "is it an SQLite database, and whole? is the disk full? `PRAGMA integrity_check` tells more"
            raise CheckpointError(f"{escape_controls(path)} cannot be captured: {error}", hint) from None
        _copy_raw(source, target)
        logical = ""
    _sync(target)
    size, digest = os.path.getsize(target), hash_file(target)
    return Part("sqlite", wanted.name, content, size, digest, {"path": path, "mode": mode, "logical": logical})


# What passes, or says nothing about the database: it is no reason to keep less than all of it.
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def _copy_raw(source: str, target: str) -> None:
    """A file that SQLite cannot read, kept as it lies there."""
    try:
        shutil.copyfile(source, target, follow_symlinks=False)
    except OSError as error:
        raise write_error(target, error) from None


def _read_status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_file(path: str, status: os.stat_result | None) -> None:
    shown = escape_controls(path)
    if status is None:
        raise CheckpointError(f"there is no database {shown}", "name one that is there: sqlite:///path")
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(f"{shown} is no file", "name the database itself, and no link to it")


def _open(path: str, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote_uri(os.fsencode(path))}?{how}", uri=True, isolation_level=None, timeout=_PATIENCE
    )


def _open_source(path: str) -> sqlite3.Connection:
    """A connection that changes nothing: beside a -wal it only reads, since the last to leave would write that back.

    Without a -wal it may write, since a reader would leave empty side files behind.
    """
    return _open(path, "mode=ro" if os.path.lexists(f"{path}-wal") else "mode=rw")


def _back_up(source: str, target: str, path: str, tell: Tell) -> None:
    tries = 0

    def watch(status: int, remaining: int, total: int) -> None:
        nonlocal tries
        tries += 1
        if tries > _BUSY_TRIES:
            shown = escape_controls(path)
            raise CheckpointError(f"{shown} is locked by another process", "try again once that is done")

    _make_private(target)
    with closing(_open_source(source)) as connection, closing(sqlite3.connect(target)) as copy:
        connection.backup(copy, pages=-1, progress=watch)
    tell(os.path.getsize(target))
    with closing(_open(target, "immutable=1")) as copy:
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"it is damaged ({found.splitlines()[0][:200]})")


def _make_private(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _sync(path: str) -> None:
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def hash_content(path: str, *, frozen: bool) -> str:
    """The hash over the schema and all rows of all tables, as SQLite reads them. frozen: side files are not looked at.

    Raises sqlite3.DatabaseError.
    """
    digest = sha256(b"sqlite 1\n")
    with closing(_open(path, "immutable=1") if frozen else _open_source(path)) as connection:
        connection.text_factory = bytearray  # any bytes, and no blob
        for pragma in ("user_version", "application_id", "encoding"):
            digest.update(repr(connection.execute(f"PRAGMA {pragma}").fetchall()).encode())
        schema = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        ).fetchall()
        digest.update(repr(schema).encode())
        for kind, name, _, sql in schema:
            if kind == b"table" and sql and not sql.upper().startswith(b"CREATE VIRTUAL"):
                _hash_rows(connection, name.decode("utf-8", "surrogateescape"), digest.update)
    return digest.hexdigest()


def _hash_rows(connection: sqlite3.Connection, table: str, update: object) -> None:
    """One table's rows, in the order in which they lie."""
    quoted = '"' + table.replace('"', '""') + '"'
    try:
        rows = connection.execute(f"SELECT * FROM {quoted} ORDER BY rowid")  # noqa: S608 - from the catalog, quoted
    except sqlite3.OperationalError:  # WITHOUT ROWID: it lies in the order of its key
        rows = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - the same
    update(f"\n{table}\n".encode("utf-8", "surrogateescape"))  # type: ignore[operator]  # a hash's update
    while batch := rows.fetchmany(1000):
        update(repr(batch).encode())  # type: ignore[operator]  # the same


def find_damage(held: Held, part: Part) -> str:
    """The copy against its hash: SQLite has read the same bytes when they were captured."""
    if not part.content:
        return ""
    path = os.path.join(held.folder, part.content)
    try:
        if os.path.islink(path) or os.path.getsize(path) != part.size or hash_file(path) != part.sha256:
            return "its copy is not what was captured"
    except OSError as error:
        return f"its copy is lost or damaged: {error.strerror}"
    return ""


# going back


def find_users(path: str) -> list[int]:
    """The processes that have a database or one of its side files open, as far as this one may know."""
    marks = {(status.st_dev, status.st_ino) for name in _names(path) if (status := _read_status(name))}
    return sorted({process for process, mark in _read_open_files() if mark in marks}) if marks else []


def _names(path: str) -> list[str]:
    return [path, *(path + side for side in SIDES)]


def _read_open_files() -> Iterator[tuple[int, tuple[int, int]]]:
    """(process, (device, inode)) of every open file. Nothing where the system has no /proc."""
    processes = os.listdir("/proc") if os.path.isdir("/proc/self/fd") else []
    for process in processes:
        if not process.isdecimal():
            continue
        try:
            names = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(f"/proc/{process}/fd/{name}")
            except OSError:
                continue
            yield int(process), (status.st_dev, status.st_ino)


def check_ready(held: Held, part: Part, means: Means) -> None:
    """Nobody may be connected: a connection would go on writing into the file that is replaced."""
    path = str(part.details["path"])
    file_writes.check_way(held.root, path)
    full, shown = os.path.join(held.root, path), escape_controls(path)
    if os.path.isdir(full) or os.path.islink(full):
        raise CheckpointError(f"no database stands at {shown}, but a folder or a link", "move it away")
    users = find_users(full)
    if users:
        named = ", ".join(str(process) for process in users[:5])
        hint = "close its connections, or end them, then run the same command again; nothing was changed"
        raise CheckpointError(f"{shown} is in use by process {named}", hint)
    _check_unlocked(full, shown)


def _check_unlocked(full: str, shown: str) -> None:
    """Asks SQLite itself: where /proc is missing, or hides other users' processes, the locks still tell."""
    if not os.path.lexists(full):
        return
    try:
        with closing(_open(full, "mode=rw")) as connection:
            connection.execute("PRAGMA busy_timeout = 2000")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            hint = "close its connections, then run the same command again; nothing was changed"
            raise CheckpointError(f"{shown} is in use: {error}", hint) from None
    except sqlite3.DatabaseError:
        return  # it is damaged: going back is what mends it


def is_as_kept(held: Held, part: Part, means: Means) -> bool:
    """What SQLite reads now, its side files included, against what was captured."""
    full = os.path.join(held.root, str(part.details["path"]))
    if not part.content or not os.path.lexists(full):
        return not part.content and not os.path.lexists(full)
    if not part.details["logical"]:
        return hash_file(full) == part.sha256
    try:
        return hash_content(full, frozen=False) == str(part.details["logical"])
    except sqlite3.DatabaseError:
        return False


def want_present(held: Held, part: Part, means: Means) -> Wanted | None:
    """The database as it is, or as much of it as there is."""
    return Wanted("sqlite", part.name, {"path": part.details["path"]}, may_lack=True)


def restore(held: Held, part: Part, means: Means) -> list[str]:
    """Replaces the database and clears its side files out of the way; nothing of them is deleted."""
    check_ready(held, part, means)
    path = str(part.details["path"])
    full = os.path.join(held.root, path)
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        temporary = _write_beside(held, part, full) if part.content else ""
        in_the_way = [name for name in _names(full) if os.path.lexists(name) and (name != full or not part.content)]
        told = [_put_aside(held, name) for name in in_the_way]
        if temporary:
            os.replace(temporary, full)
        sync_folder(os.path.dirname(full))
    except OSError as error:
        raise write_error(escape_controls(path), error) from None
    return [f"{escape_controls(os.path.relpath(was, held.root))} was moved to {where}" for was, where in told]


def _write_beside(held: Held, part: Part, full: str) -> str:
    temporary = f"{full}.checkpoint-part-{os.urandom(6).hex()}"
    digest = sha256()
    with open(os.path.join(held.folder, part.content), "rb") as source:
        _make_private(temporary)
        try:
            with open(temporary, "wb") as target:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
                target.flush()
                _dress(target.fileno(), full, int(part.details["mode"], 8))
                os.fsync(target.fileno())
            if digest.hexdigest() != part.sha256:
                raise CheckpointError(f"the copy of {part.name} is damaged", "nothing was changed")
        except BaseException:
            os.unlink(temporary)
            raise
    return temporary


def _dress(descriptor: int, full: str, mode: int) -> None:
    """The mode that was captured, and the owner of what is replaced, where we may give it."""
    status = _read_status(full)
    if status is not None and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # only root gives files away; else it belongs to whoever went back
            os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, mode)


def _put_aside(held: Held, name: str) -> tuple[str, str]:
    """Moves a file out of the way, into the point's folder; beside its place where that is on another disk."""
    folder = os.path.join(held.folder, _ASIDE)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    mark = os.urandom(4).hex()
    target = os.path.join(folder, f"{os.path.basename(name)}.{mark}")
    try:
        os.rename(name, target)
    except OSError:
        target = f"{name}.before-{os.path.basename(held.folder)}.{mark}"
        os.rename(name, target)
    return name, escape_controls(os.path.relpath(target, held.root))


def write_lines(part: Part) -> str:
    """restore.sh: the copy beside its place, the side files out of the way, then the move."""
    if not part.content:
        return ""
    path, content = quote(f"./{part.details['path']}"), quote(part.content)
    return f"sqlite {part.details['mode']} {part.sha256} {path} {content}\n"


def find_prerequisites(part: Part) -> list[str]:
    """Nobody is connected."""
    return [f"no process has {part.details['path']} open: close every connection to it first"]
