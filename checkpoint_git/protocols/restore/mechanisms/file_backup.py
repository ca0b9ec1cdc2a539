"""Files kept as copies below the point's own folder, in the tree they came from. It works without git."""

import os
from collections.abc import Iterator, Sequence

from checkpoint_git.disk.atomic import write_error
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.mechanism import Held, Take, Tell
from checkpoint_git.protocols.restore.read import ChangedError, changing_error, read_entry_at, read_error, read_file
from checkpoint_git.protocols.restore.scope import Named

TYPE = "file_backup"
_TRIES = 3
_CHUNK = 1 << 20


def capture(held: Held, found: Sequence[Named], tell: Tell) -> list[Entry]:
    """Copies every file, and a link as a link. Raises CheckpointError: the disk is full, a file keeps changing."""
    entries, size = [], 0
    for named in found:
        entries.append(_capture_one(held, named))
        size += entries[-1].size
        tell(size)
    return entries


def _capture_one(held: Held, named: Named) -> Entry:
    target = copy_path(held, named.path)
    try:
        if named.kind == "file":
            return _copy_file(held, named.path, target)
        entry = read_entry_at(held.root, named)
        if entry.kind == "link":
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(os.path.join(held.root, named.path)), target)
        return entry
    except OSError as error:
        raise write_error(target, error) from None


def copy_path(held: Held, path: str) -> str:
    """Where the copy of a path lies."""
    return os.path.join(held.folder, layout.CONTENT, path)


def _copy_file(held: Held, path: str, target: str) -> Entry:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    for _ in range(_TRIES):
        with open(target, "wb", opener=_open_private) as stream:
            try:
                entry = read_file(held.root, path, stream.write)
            except ChangedError:
                continue
            stream.flush()
            os.fsync(stream.fileno())
            return entry
    raise changing_error(path)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def read_contents(held: Held, entries: Sequence[Entry], take: Take) -> None:
    """The copies, one after another."""
    for at, entry in enumerate(entries):
        path = copy_path(held, entry.path)
        if entry.kind == "link":
            take(at, _read_link(path))
        elif os.path.isfile(path) and not os.path.islink(path):
            take(at, _read_chunks(path, entry.path))
        else:
            take(at, None)


def _read_link(path: str) -> Iterator[bytes] | None:
    return iter([os.fsencode(os.readlink(path))]) if os.path.islink(path) else None


def _read_chunks(path: str, shown: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise read_error(shown, error) from None
