"""How the files of a point are kept: as blobs in git's object database, or as copies below the point's folder.

`git stash` itself is not used: it takes the edits out of the work tree, makes nothing when there are none, and gives
back another entry when the numbers moved. Here the index, the work tree and the stash are never touched, and no filter
changes a byte.
"""

import os
from collections.abc import Iterator, Sequence

from checkpoint_git.git import objects, private_objects
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import Chunks, Entry, Location, Progress, ScopePath
from checkpoint_git.protocols.restore.file_writes import reporting
from checkpoint_git.protocols.restore.scope import ChangedError, changing_error, read_entry_at, read_error, read_file

_TRIES = 3
_CHUNK = 1 << 20
_PLAIN, _EXECUTABLE = objects.FILE_MODES


def open_mechanism(name: str) -> "GitStash | FileBackup":
    # points without files hold no entries, so any one does for them
    return GitStash() if name == "git_stash" else FileBackup()


class GitStash:
    def capture(self, location: Location, found: Sequence[ScopePath], progress: Progress) -> list[Entry]:
        """Writes every file and link as a blob; the caller reads them back, since a file may change in between."""
        for _ in range(_TRIES):
            try:
                entries = _write_blobs(location, found)
            except private_objects.CutShortError:
                continue
            progress(sum(entry.size for entry in entries))
            return entries
        changed = next((one for one in found if _is_changed(location, one)), found[0])
        raise changing_error(changed.path)

    def read_contents(self, location: Location, entries: Sequence[Entry]) -> Iterator[Chunks | None]:
        with objects.Blobs(location.root, private_objects.quiet_env(location.env)) as blobs:
            yield from blobs.stream_all([entry.blob for entry in entries])


def _is_changed(location: Location, found: ScopePath) -> bool:
    try:
        now = os.lstat(os.path.join(location.root, found.path))
    except OSError:
        return True
    before = found.status
    return before is None or (before.st_mtime_ns, before.st_size) != (now.st_mtime_ns, now.st_size)


def _write_blobs(location: Location, found: Sequence[ScopePath]) -> list[Entry]:
    entries = [read_entry_at(location.root, one) for one in found]
    files = [entry.path for entry in entries if entry.kind == "file"]
    links = [entry.path for entry in entries if entry.kind == "link"]
    full = [os.path.join(location.root, path) for path in files]
    written = private_objects.write_files(location.root, full, location.env)
    targets = [os.fsencode(os.readlink(os.path.join(location.root, path))) for path in links]
    blobs = dict(zip(files, written, strict=True))
    blobs.update(zip(links, private_objects.write_contents(location.root, targets, location.env), strict=True))
    return [entry._replace(blob=blobs.get(entry.path, "")) for entry in entries]


def write_commit(location: Location, message: str, entries: Sequence[Entry], own_files: dict[str, bytes]) -> str:
    """A commit of all entries' blobs and of the point's own files (name -> content); its id."""
    blobs = private_objects.write_contents(location.root, list(own_files.values()), location.env)
    files = {name: objects.Entry(_PLAIN, blob) for name, blob in zip(own_files, blobs, strict=True)}
    for entry in entries:
        if entry.blob:
            mode = objects.SYMLINK if entry.kind == "link" else _EXECUTABLE if entry.mode & 0o100 else _PLAIN
            files[f"{layout.CONTENT}/{entry.path}"] = objects.Entry(mode, entry.blob)
    return private_objects.write_commit(location.root, files, message, location.env)


class FileBackup:
    def capture(self, location: Location, found: Sequence[ScopePath], progress: Progress) -> list[Entry]:
        """Copies every file, and a link as a link. Raises CheckpointError: the disk is full, a file keeps changing."""
        entries, size = [], 0
        for one in found:
            entries.append(_copy_path(location, one))
            size += entries[-1].size
            progress(size)
        return entries

    def read_contents(self, location: Location, entries: Sequence[Entry]) -> Iterator[Chunks | None]:
        for entry in entries:
            path = copy_path(location, entry.path)
            if entry.kind == "link":
                yield iter([os.fsencode(os.readlink(path))]) if os.path.islink(path) else None
            else:
                yield _read_chunks(path, entry.path) if os.path.isfile(path) and not os.path.islink(path) else None


def copy_path(location: Location, path: str) -> str:
    return os.path.join(location.folder, layout.CONTENT, path)


def _copy_path(location: Location, found: ScopePath) -> Entry:
    target = copy_path(location, found.path)
    with reporting(target):
        if found.kind == "file":
            return _copy_file(location, found.path, target)
        entry = read_entry_at(location.root, found)
        if entry.kind == "link":
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(os.path.join(location.root, found.path)), target)
        return entry


def _copy_file(location: Location, path: str, target: str) -> Entry:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    for _ in range(_TRIES):
        with open(os.open(target, flags, 0o600), "wb") as stream:
            try:
                entry = read_file(location.root, path, stream.write)
            except ChangedError:
                continue
            stream.flush()
            os.fsync(stream.fileno())
            return entry
    raise changing_error(path)


def _read_chunks(path: str, shown: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise read_error(shown, error) from None
