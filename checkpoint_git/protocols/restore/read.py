"""The content of the paths in a scope, read so that a file which changes meanwhile is noticed. It writes nothing."""

import os
import stat
from collections.abc import Callable, Iterable
from hashlib import file_digest, sha256

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.scope import Named

_CHUNK = 1 << 20  # bytes
_TRIES = 3
_PERMISSIONS = 0o777  # not setuid and its kin: who goes back may be somebody else than the file's owner
Keep = Callable[[bytes], object]


class ChangedError(Exception):
    """The file was not the same at the end of reading as at its start."""


def read_entries(root: str, found: Iterable[Named], tell: Callable[[int], None] = lambda size: None) -> list[Entry]:
    """Every path with the hash of its content. tell: called with the bytes read so far. Raises CheckpointError."""
    entries, size = [], 0
    for named in found:
        entries.append(read_entry_at(root, named))
        size += entries[-1].size
        tell(size)
    return entries


def read_entry_at(root: str, named: Named) -> Entry:
    """One path as it stands now; a file that is being written is tried again. Raises CheckpointError."""
    if named.kind == "absent" or named.status is None:
        return Entry(named.path, "absent")
    if named.kind == "folder":
        return Entry(named.path, "folder", stat.S_IMODE(named.status.st_mode))
    if named.kind == "link":
        return _read_link(root, named.path)
    for _ in range(_TRIES):
        try:
            return read_file(root, named.path)
        except ChangedError:
            continue
    raise changing_error(named.path)


def _read_link(root: str, path: str) -> Entry:
    try:
        target = os.fsencode(os.readlink(os.path.join(root, path)))
    except OSError as error:
        raise read_error(path, error) from None
    return Entry(path, "link", 0o777, len(target), sha256(target).hexdigest())


def read_file(root: str, path: str, keep: Keep = lambda chunk: None) -> Entry:
    """A file, chunk by chunk. keep: called with each. Raises ChangedError; CheckpointError where it cannot be read."""
    try:
        descriptor = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise read_error(path, error) from None
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise ChangedError
        digest, size = sha256(), 0
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            keep(chunk)
            size += len(chunk)
            if size > before.st_size:  # somebody appends, perhaps faster than this reads
                raise ChangedError
        after = os.fstat(descriptor)
    except OSError as error:
        raise read_error(path, error) from None
    finally:
        os.close(descriptor)
    if _mark(before) != _mark(after) or size != after.st_size:
        raise ChangedError
    return Entry(path, "file", after.st_mode & _PERMISSIONS, size, digest.hexdigest())


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_mode


def changing_error(path: str) -> CheckpointError:
    """A file that never stands still: what a point held of it would be no state it ever had."""
    hint = "stop what writes it, then make the point again"
    return CheckpointError(f"{escape_controls(path)} changes while it is read", hint)


def read_error(path: str, error: OSError) -> CheckpointError:
    """A path of the scope that cannot be read: the point would not hold it, so none is made."""
    hint = "a restore point must hold all of its scope: make it readable, or leave it out of the scope"
    return CheckpointError(f"{escape_controls(path)} cannot be read: {error.strerror}", hint)


def hash_file(path: str) -> str:
    """The hash of a file of our own, hexadecimal. Raises OSError."""
    with open(path, "rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
