"""Put files, links and folders in their places, so that a kill leaves no half-written file."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import reporting, sync_folder
from checkpoint_git.disk.discover import check_way, find_link
from checkpoint_git.disk.read import open_plain
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.protocols.restore.contents import Chunks, ContentEntry
from checkpoint_git.protocols.restore.layout import is_folder, read_status

_OWNER = 0o700
# an unfinished file beside its place; only if the place is on another file system
_PART = ".checkpoint-part-"
Check = Callable[[str], None]  # called with a path right before it is changed, and may raise


def is_part(path: str) -> bool:
    """Return whether a path is an unfinished file of a killed rollback."""
    return path.rpartition("/")[2].startswith(_PART)


def check_not_folder(root: str, path: str, hint: str = "move it away") -> None:
    """Raise CheckpointError if a folder is where a file belongs."""
    if is_folder(root, path):
        raise CheckpointError(f"a folder is in the place of {escape_controls(path)}", hint)


def remove_path(
    root: str,
    path: str,
    check: Check = lambda path: None,
) -> None:
    """Remove a file, a link or an empty folder; a folder with content stays."""
    check_way(os.path.dirname(path), root)
    full = os.path.join(root, path)
    with _writable(os.path.dirname(full)):
        check(path)
        if is_folder(root, path):
            with suppress(OSError):
                os.rmdir(full)
        else:
            with reporting(path), suppress(FileNotFoundError):
                os.unlink(full)


def remove_emptied(root: str, removed: Iterable[str]) -> None:
    """Remove the folders that have nothing left since these paths were removed."""
    for path in sorted(removed, reverse=True):
        folder = os.path.dirname(path)
        with suppress(OSError):
            while folder and not find_link(folder, root):
                os.rmdir(os.path.join(root, folder))
                folder = os.path.dirname(folder)


def make_folders(root: str, folders: Sequence[ContentEntry]) -> None:
    """Make folders, open to their owner; their modes come last, with set_modes."""
    for entry in sorted(folders, key=lambda entry: entry.path):  # shallow ones first
        check_way(os.path.dirname(entry.path), root)
        if is_folder(root, entry.path):
            continue
        full = os.path.join(root, entry.path)
        with _writable(os.path.dirname(full)), reporting(entry.path):
            try:
                os.makedirs(full, mode=0o777)
            except FileExistsError:
                shown = escape_controls(entry.path)
                message = f"something else is in the place of the folder {shown}"
                hint = "move it away, then run the same command again"
                raise CheckpointError(message, hint) from None


def set_modes(root: str, folders: Sequence[ContentEntry]) -> None:
    """Give folders their modes: deep ones first, since a closed folder lets nobody in."""
    for entry in sorted(folders, key=lambda entry: entry.path, reverse=True):
        with reporting(entry.path):
            os.chmod(os.path.join(root, entry.path), entry.mode)


def sync_folders(root: str, paths: Iterable[str]) -> None:
    """Flush the folders of paths to the disk."""
    for folder in sorted({os.path.dirname(os.path.join(root, path)) for path in paths}):
        if os.path.isdir(folder):
            with reporting(folder):
                sync_folder(folder)


@contextmanager
def workshop(point_folder: str) -> Iterator[str]:
    """Give a private folder, usually on the same file system as the workspace."""
    folder = os.path.join(point_folder, ".workshop")
    shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
    with reporting(folder):
        os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Every file is written in a folder of its point first and then moved into place, so that a kill
# leaves the old one or the new one, and no half-written file among the user's.
def write_path(
    root: str,
    entry: ContentEntry,
    content: Chunks,
    work_folder: str,
    *,
    sync: bool = True,
    check: Check = lambda path: None,
) -> None:
    """Put a file or link in its place; a twin has no content.

    work_folder: as `workshop` gives it. sync: the content is on the disk when it returns.
    """
    check_way(os.path.dirname(entry.path), root)
    full = os.path.join(root, entry.path)
    temporary = os.path.join(work_folder, f"part-{os.urandom(6).hex()}")

    with _writable(os.path.dirname(full)), reporting(entry.path):
        try:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            hint = "it contains files that are not part of the restore point: "
            check_not_folder(root, entry.path, hint + "move them away, then run it again")
            try:
                _write_whole(root, temporary, entry, content, sync=sync)
                check(entry.path)
                os.replace(temporary, full)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_beside(root, entry, temporary, sync=sync, check=check)
        finally:
            remove_quietly(temporary)


def _copy_beside(
    root: str, entry: ContentEntry, temporary: str, *, sync: bool, check: Check
) -> None:
    """Copy a file to its place from a workshop on another file system.

    The copy is made beside the target, and then renamed within its folder.
    """
    full = os.path.join(root, entry.path)
    beside = os.path.join(os.path.dirname(full), f"{_PART}{os.path.basename(temporary)}")
    try:
        _write_whole(root, beside, entry, read_whole(temporary, entry.path), sync=sync)
        check(entry.path)
        os.replace(beside, full)
    finally:
        remove_quietly(beside)


def read_whole(path: str, shown: str) -> Chunks:
    """Yield the content of a file, the target of a link. Raises CheckpointError."""
    with reporting(shown):
        if os.path.islink(path):
            yield os.fsencode(os.readlink(path))
            return
        with open_plain(path) as stream:
            yield from iter(lambda: stream.read(1 << 20), b"")


def _write_whole(
    root: str, temporary: str, entry: ContentEntry, content: Chunks, *, sync: bool
) -> None:
    if entry.twin:
        os.link(os.path.join(root, entry.twin), temporary)
        return

    if entry.kind == "link":
        os.symlink(os.fsdecode(b"".join(content)), temporary)
        return

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "wb") as stream:
        stream.writelines(content)
        stream.flush()
        _keep_owner(stream.fileno(), read_status(os.path.join(root, entry.path)))
        os.fchmod(stream.fileno(), entry.mode & 0o777)  # no point keeps setuid
        if sync:
            os.fsync(stream.fileno())


def _keep_owner(descriptor: int, status: os.stat_result | None) -> None:
    """Give a new file the owner of the one that it replaces. status: of the latter."""
    if status is None or (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid()):
        return
    with suppress(PermissionError):  # only root gives files away; else it belongs to the user
        os.fchown(descriptor, status.st_uid, status.st_gid)


@contextmanager
def _writable(folder: str) -> Iterator[None]:
    """Make a folder writable for its owner during the block."""
    try:
        mode = stat.S_IMODE(os.stat(folder).st_mode)
        if mode & _OWNER != _OWNER:
            os.chmod(folder, mode | _OWNER)
    except OSError:  # not there yet, or not ours: what is done in it says what is wrong
        yield
        return

    try:
        yield
    finally:
        if mode & _OWNER != _OWNER:
            os.chmod(folder, mode)
