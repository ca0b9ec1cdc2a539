"""Files, links and folders put back as they stood. It is told what to put where, and judges nothing.

Every file is written beside the others of its point first and then moved into place, so that a kill leaves the old one
or the new one, and no half-written file among the user's.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import sync_folder, write_error
from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.mechanism import Chunks

_OWNER = 0o700
_PART = ".checkpoint-part-"  # an unfinished file beside its place; only where the place is on another file system
Check = Callable[[str], None]


def _allow(path: str) -> None:
    """The check of those who work in a folder of their own."""


def is_part(path: str) -> bool:
    """Whether a path is an unfinished file of a rollback that was killed."""
    return path.rpartition("/")[2].startswith(_PART)


def check_way(root: str, path: str) -> None:
    """Refuses a path whose way leads through a symbolic link: it could end outside the workspace. CheckpointError."""
    parts = path.split("/")
    for at in range(1, len(parts)):
        way = os.path.join(root, *parts[:at])
        if os.path.islink(way):
            shown = escape_controls("/".join(parts[:at]))
            hint = "put a folder in its place, then run the same command again"
            raise CheckpointError(f"{shown} is a symbolic link now, and {escape_controls(path)} lies behind it", hint)


def remove_path(root: str, path: str, check: Check = _allow) -> None:
    """Removes a file, a link, or a folder that is empty; what is gone already is fine, a folder with content stays.

    check: called right before, and may raise.
    """
    check_way(root, path)
    full = os.path.join(root, path)
    with _writable(os.path.dirname(full)):
        check(path)
        try:
            if stat.S_ISDIR(os.lstat(full).st_mode):
                os.rmdir(full)
            else:
                os.unlink(full)
        except FileNotFoundError:
            return
        except OSError as error:
            if os.path.isdir(full) and not os.path.islink(full):
                return
            raise _failed(path, error) from None


def make_folders(root: str, folders: Sequence[Entry]) -> None:
    """The folders, shallow ones first, open to their owner; their own modes come last, with set_modes."""
    for entry in sorted(folders, key=lambda one: one.path):
        check_way(root, entry.path)
        full = os.path.join(root, entry.path)
        if os.path.isdir(full) and not os.path.islink(full):
            continue
        with _writable(os.path.dirname(full)):
            try:
                os.makedirs(full, mode=0o777)
            except FileExistsError:
                hint = "move it away, then run the same command again"
                shown = escape_controls(entry.path)
                raise CheckpointError(f"something stands where the folder {shown} belongs", hint) from None
            except OSError as error:
                raise _failed(entry.path, error) from None


def set_modes(root: str, folders: Sequence[Entry]) -> None:
    """The folders' modes, deep ones first, since a closed folder lets nobody in."""
    for entry in sorted(folders, key=lambda one: one.path, reverse=True):
        try:
            os.chmod(os.path.join(root, entry.path), entry.mode)
        except OSError as error:
            raise _failed(entry.path, error) from None


def sync_folders(root: str, paths: Iterable[str]) -> None:
    """Makes new names, and names that are gone, survive a power cut."""
    for folder in sorted({os.path.dirname(os.path.join(root, path)) for path in paths}):
        if os.path.isdir(folder):
            try:
                sync_folder(folder)
            except OSError as error:
                raise _failed(folder, error) from None


def write_path(
    root: str, entry: Entry, content: Chunks, workshop: str, *, sync: bool = True, check: Check = _allow
) -> None:
    """A file or link as it stood.

    workshop: a folder for unfinished files, on the same file system where that goes. sync: its content is on the disk
    when it returns. check: called right before it takes its place, and may raise.
    """
    check_way(root, entry.path)
    full = os.path.join(root, entry.path)
    folder = os.path.dirname(full)
    with _writable(folder):
        try:
            os.makedirs(folder, exist_ok=True)
            _check_free(full, entry.path)
            _write(full, entry, content, workshop, sync, check)
        except OSError as error:
            raise _failed(entry.path, error) from None


def _check_free(full: str, path: str) -> None:
    if os.path.isdir(full) and not os.path.islink(full):
        hint = "it holds files that are not part of the restore point: move them away, then run the same command again"
        raise CheckpointError(f"a folder stands where the file {escape_controls(path)} belongs", hint)


def _write(full: str, entry: Entry, content: Chunks, workshop: str, sync: bool, check: Check) -> None:
    temporary = os.path.join(workshop, f"part-{os.urandom(6).hex()}")
    try:
        _write_whole(temporary, entry, content, sync)
        check(entry.path)
        try:
            os.replace(temporary, full)
        except OSError as error:
            import errno

            if error.errno != errno.EXDEV:
                raise
            _move_between(temporary, full, entry)
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _write_whole(temporary: str, entry: Entry, content: Chunks, sync: bool = True) -> None:
    if entry.kind == "link":
        os.symlink(os.fsdecode(b"".join(content)), temporary)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "wb") as stream:
        stream.writelines(content)
        stream.flush()
        os.fchmod(stream.fileno(), entry.mode)
        if sync:
            os.fsync(stream.fileno())


def _move_between(temporary: str, full: str, entry: Entry) -> None:
    """A rename within the target's folder, where the workshop lies on another file system."""
    beside = os.path.join(os.path.dirname(full), f"{_PART}{os.path.basename(temporary)}")
    try:
        if entry.kind == "link":
            os.symlink(os.readlink(temporary), beside)
        else:
            with open(temporary, "rb") as stream:
                _write_whole(beside, entry, iter(lambda: stream.read(1 << 20), b""))
        os.replace(beside, full)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


@contextmanager
def _writable(folder: str) -> Iterator[None]:
    """Opens a folder of ours that is closed for writing; set_modes gives it its mode back."""
    try:
        mode = stat.S_IMODE(os.stat(folder).st_mode)
    except OSError:
        yield
        return
    if mode & _OWNER == _OWNER:
        yield
        return
    try:
        os.chmod(folder, mode | _OWNER)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.chmod(folder, mode)


def _failed(path: str, error: OSError) -> CheckpointError:
    return write_error(escape_controls(path), error)
