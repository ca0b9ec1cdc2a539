"""How the files of a point are kept: as blobs in git's object database, or as copies below the point's folder."""

import os
from collections.abc import Iterator, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.atomic import reporting
from checkpoint_git.git import objects, private_objects
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import Chunks, Entry, Location, ScopePath
from checkpoint_git.protocols.restore.mechanisms.file_writes import read_whole
from checkpoint_git.protocols.restore.scope import ChangedError, read_entry_at, read_file

_PLAIN, _EXECUTABLE = objects.FILE_MODES


class LostError(CheckpointError):
    """Content that was kept is not there any more."""


# `git stash` itself is not used: it takes the edits out of the work tree, makes nothing when there are none, and gives
# back another entry when the numbers moved. Here the index, the work tree and the stash are never touched, and no
# filter changes a byte.
def capture(kind: str, location: Location, found: Sequence[ScopePath]) -> list[Entry]:
    """kind: of the point. Raises CheckpointError where the disk is full, ChangedError."""
    if kind == "git_stash":
        return _write_blobs(location, found)
    entries = []
    for one in found:
        target = copy_path(location.folder, one.path)
        with reporting(target):
            entries.append(_copy(location.root, one, target))
    return entries


def read_contents(kind: str, location: Location, entries: Sequence[Entry]) -> Iterator[Chunks | None]:
    """The kept content of each file and link, None where it is lost."""
    if kind == "git_stash":
        with objects.Blobs(location.root, private_objects.quiet_env(location.env)) as blobs:
            yield from blobs.stream_all([entry.blob for entry in entries])
        return
    for entry in entries:
        path = copy_path(location.folder, entry.path)
        kind = "link" if os.path.islink(path) else "file" if os.path.isfile(path) else ""
        yield read_whole(path, entry.path) if kind == entry.kind else None


def _write_blobs(location: Location, found: Sequence[ScopePath]) -> list[Entry]:
    # each is read twice, for its hash and by git: the caller compares, since a file may change in between
    root, env = location.root, location.env
    entries = [read_entry_at(root, one) for one in found]
    files = [entry.path for entry in entries if entry.kind == "file"]
    links = [entry.path for entry in entries if entry.kind == "link"]
    try:
        written = private_objects.write_files(root, [os.path.join(root, path) for path in files], env)
    except private_objects.CutShortError:
        raise ChangedError from None
    targets = [os.fsencode(os.readlink(os.path.join(root, path))) for path in links]
    written += private_objects.write_contents(root, targets, env)
    blobs = dict(zip([*files, *links], written, strict=True))
    return [entry._replace(blob=blobs.get(entry.path, "")) for entry in entries]


def write_commit(
    location: Location,
    message: str,
    entries: Sequence[Entry],
    own_files: dict[str, bytes],
    staged: dict[str, objects.Entry],
    parents: Sequence[str],
) -> str:
    blobs = private_objects.write_contents(location.root, list(own_files.values()), location.env)
    files = staged | {name: objects.Entry(_PLAIN, blob) for name, blob in zip(own_files, blobs, strict=True)}
    for entry in entries:
        if entry.blob:
            mode = objects.SYMLINK if entry.kind == "link" else _EXECUTABLE if entry.mode & 0o100 else _PLAIN
            files[f"{layout.CONTENT}/{entry.path}"] = objects.Entry(mode, entry.blob)
    return private_objects.write_commit(location.root, files, message, parents, location.env)


def copy_path(folder: str, path: str) -> str:
    return os.path.join(folder, layout.CONTENT, path)


def _copy(root: str, found: ScopePath, target: str) -> Entry:
    if found.kind in ("file", "link"):
        os.makedirs(os.path.dirname(target), exist_ok=True)
    if found.kind != "file":
        entry = read_entry_at(root, found)
        if entry.kind == "link":
            os.symlink(os.readlink(os.path.join(root, found.path)), target)
        return entry
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(target, flags, 0o600), "wb") as stream:
        entry = read_file(root, found.path, stream.write)
        stream.flush()
        os.fsync(stream.fileno())
        return entry
