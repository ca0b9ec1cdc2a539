"""The index of long histories: an SQLite database, one file in the git directory that all work trees share."""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

if not hasattr(sqlite3.Connection, "serialize"):
    raise ImportError("SQLite was built without its deserialize interface")

_FORMAT = 2  # another number makes every older file worthless
_SMALLEST = 512  # bytes of a database
# SQLite leaves the header's "user version" to whoever owns the file: here it is the checksum of all other bytes.
_CHECKSUM = slice(60, 64)
_OLD = 600  # seconds after which a file that is still being written is taken for a killed process's
_MOST_LINES = 4  # the newest are kept
# A line is the history of one commit, its tip. A run is some of its commits, see index.Run.
_TABLES = """
CREATE TABLE line (line INTEGER PRIMARY KEY, tip TEXT, size INTEGER, last INTEGER, state TEXT);
CREATE TABLE excluded (line INTEGER, id BLOB);
CREATE TABLE run (line INTEGER, run INTEGER, ids BLOB, names BLOB, PRIMARY KEY (line, run)) WITHOUT ROWID;
"""


class Line(NamedTuple):
    number: int
    tip: str
    size: int  # commits
    last: int  # the highest number of a run that was added to it


# The file is read whole and replaced whole, under a checksum; in between the database is worked on in memory. So a
# kill, a full disk, damage and several processes at once cost time and never an answer. It asks no git.
class Database:
    def __init__(self, path: str) -> None:
        self._path = path
        self._sql = sqlite3.connect(":memory:", isolation_level=None)
        data = _read_whole(path)
        if data is None:
            self._sql.executescript(_TABLES)
        else:
            self._sql.deserialize(data)

    def __del__(self) -> None:
        self._sql.close()  # from Python 3.13 on a connection that nobody closed is warned of

    def list_lines(self, state: str) -> list[Line]:
        """The newest first. state: of the clone in which they were read."""
        query = "SELECT line, tip, size, last FROM line WHERE state = ? ORDER BY line DESC"
        return [Line(*row) for row in self._sql.execute(query, (state,))]

    def read_excluded(self, line: int) -> frozenset[bytes]:
        return frozenset(row[0] for row in self._sql.execute("SELECT id FROM excluded WHERE line = ?", (line,)))

    def read_ids(self, line: int, run: int) -> bytes:
        query = "SELECT ids FROM run WHERE line = ? AND run = ?"
        return bytes(*(self._sql.execute(query, (line, run)).fetchone() or ()))

    def read_names(self, line: int) -> Iterator[tuple[int, bytes]]:
        """(run, what its commits name), the newest run first."""
        yield from self._sql.execute("SELECT run, names FROM run WHERE line = ? ORDER BY run DESC", (line,))

    def add_line(self, tip: str, state: str, size: int) -> int:
        query = "INSERT INTO line (tip, size, last, state) VALUES (?, ?, 0, ?)"
        number = self._sql.execute(query, (tip, size, state)).lastrowid
        assert number is not None
        old = self._sql.execute("SELECT line FROM line ORDER BY line DESC LIMIT -1 OFFSET ?", (_MOST_LINES,)).fetchall()
        for row in old:
            self.remove_line(*row)
        return number

    def remove_line(self, line: int) -> None:
        for table in ("run", "excluded", "line"):
            self._sql.execute(f"DELETE FROM {table} WHERE line = ?", (line,))  # noqa: S608 (our own names)
        self._sql.execute("VACUUM")

    def move_line(self, line: Line, excluded: Iterable[bytes]) -> None:
        number, *values = line
        self._sql.execute("UPDATE line SET tip = ?, size = ?, last = ? WHERE line = ?", (*values, number))
        self._sql.execute("DELETE FROM excluded WHERE line = ?", (number,))
        self._sql.executemany("INSERT INTO excluded VALUES (?, ?)", ((number, one) for one in excluded))

    def add_run(self, line: int, run: int, ids: bytes, names: bytes) -> None:
        self._sql.execute("INSERT INTO run VALUES (?, ?, ?, ?)", (line, run, ids, names))

    def save(self) -> None:
        """No effect where that is not possible, or another process is doing it."""
        data = bytearray(self._sql.serialize())
        data[_CHECKSUM] = _find_checksum(data)
        temporary = f"{self._path}.tmp"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError:
            with suppress(OSError):
                if time.time() - os.stat(temporary).st_mtime > _OLD:
                    os.unlink(temporary)
            return
        with suppress(OSError):
            with open(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(temporary, self._path)
            return
        with suppress(OSError):  # another process, that makes the index anew, may have removed it
            os.unlink(temporary)


def _read_whole(path: str) -> bytes | None:
    """None where there is no file, or a byte of it is not as it was written."""
    data, flags = b"", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError), open(os.open(path, flags), "rb") as stream:
        data = stream.read()
    return data if len(data) >= _SMALLEST and data[_CHECKSUM] == _find_checksum(data) else None


def _find_checksum(data: bytes | bytearray) -> bytes:
    view = memoryview(data)
    return crc32(view[_CHECKSUM.stop :], crc32(view[: _CHECKSUM.start], _FORMAT)).to_bytes(4, "big")
