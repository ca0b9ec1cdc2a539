"""Pipeline records on disk: finding, reading, and creating them once and for all. It judges no content.

Nothing that has a record's name is ever changed, replaced or removed here.
"""

import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.core.yamltext import MAX_BYTES
from checkpoint_git.disk.discover import is_inside
from checkpoint_git.protocols.pipeline import layout
from checkpoint_git.protocols.pipeline.layout import RecordName

FileContent = bytes | OSError


class Entry(NamedTuple):
    """One name in a run's folder. path: relative to the base. name: None where no record can have it."""

    path: str
    name: RecordName | None
    content: FileContent = b""


class Skipped(NamedTuple):
    """What was passed over, and why. path: relative to the base."""

    path: str
    reason: str


# finding


def check_base(base: str) -> None:
    """Raises CheckpointError where a path cannot be the base, or something else than a folder stands there."""
    trouble = layout.find_base_trouble(base)
    if trouble:
        hint = "give an absolute path, such as ~/.claude/checkpoints written out"
        raise CheckpointError(f"{escape_controls(base)} cannot be the base of the records: {trouble}", hint)
    if os.path.lexists(base) and not os.path.isdir(base):
        raise CheckpointError(f"{escape_controls(base)} is not a folder", "name another with --base")


def list_tickets(base: str) -> list[str]:
    """The tickets that have a folder, sorted; [] where the base cannot be read."""
    return sorted(name for name in _list_folder(base, "", []) if not layout.find_ticket_trouble(name))


def list_runs(base: str, ticket_id: str, skipped: list[Skipped]) -> list[str]:
    """The runs of a ticket that have a folder, sorted; [] where the ticket has none.

    Another folder that holds records is added to skipped.
    """
    names = sorted(_list_folder(base, ticket_id, skipped))
    for name in names:
        strange = [] if layout.is_run_folder(name) else _list_folder(base, f"{ticket_id}/{name}", [])
        if any(map(layout.looks_like_record, strange)):
            skipped.append(Skipped(f"{ticket_id}/{name}", "it holds records, and its name is no run's UUID"))
    return [name for name in names if layout.is_run_folder(name)]


def list_names(base: str, ticket_id: str, run_id: str, skipped: list[Skipped]) -> list[RecordName]:
    """The records of a run by their files' names, in order; what only looks like one is added to skipped."""
    folder = f"{ticket_id}/{run_id}"
    names = []
    for file_name in sorted(_list_folder(base, folder, skipped)):
        name = layout.parse_path(f"{folder}/{file_name}")
        if name is not None:
            names.append(name)
        elif layout.looks_like_record(file_name):
            reason = "its name is not phase_<ordinal>_<phase>_a<attempt>.yaml of a known phase"
            skipped.append(Skipped(f"{folder}/{file_name}", reason))
    return sorted(names, key=layout.order_key)


def _list_folder(base: str, folder: str, skipped: list[Skipped]) -> list[str]:
    path = os.path.join(base, folder)
    linked = os.path.islink(path) or os.path.islink(os.path.dirname(path))
    if linked and not is_inside(path, base):
        skipped.append(Skipped(folder, "it is a symbolic link that leads out of the base"))
        return []
    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        skipped.append(Skipped(folder, "it is not a folder"))
    except OSError as error:
        skipped.append(Skipped(folder, f"it cannot be read: {error.strerror}"))
    return []


# reading


def read_content(base: str, path: str) -> FileContent:
    """A record's bytes, or the error of reading it. path: relative to the base.

    A symbolic link out of the base is ELOOP, a file over the size limit EFBIG, anything that is no file EISDIR. Nothing
    is opened that could block.
    """
    full = os.path.join(base, path)
    try:
        if os.path.islink(full) and not is_inside(full, base):
            return OSError(errno.ELOOP, "it is a symbolic link that leads out of the base")
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return OSError(errno.EISDIR, "it is not a regular file")
        if status.st_size > MAX_BYTES:
            return OSError(errno.EFBIG, f"it has {status.st_size} bytes, and {MAX_BYTES} is the limit")
        return _read_all(descriptor)
    except OSError as error:
        return error
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    chunks = list(iter(lambda: os.read(descriptor, MAX_BYTES + 1), b""))
    return b"".join(chunks)


def read_contents(base: str, ticket_id: str, runs: list[str], skipped: list[Skipped]) -> Iterator[Entry]:
    """The records of runs one after another, each with its content; only one is held at a time."""
    for run in runs:
        for name in list_names(base, ticket_id, run, skipped):
            yield Entry(name.path, name, read_content(base, name.path))


# writing


def prepare_folder(base: str, ticket_id: str, run_id: str) -> str:
    """The folder of a run, made with those above it where they are missing; what killed writers left is cleared.

    Raises CheckpointError where it cannot be made, or would lie outside the base.
    """
    from checkpoint_git.disk import atomic

    folder = os.path.join(base, ticket_id, run_id)
    _refuse_outside(folder, base)
    if not os.path.isdir(folder):
        _make_folders(folder)
        _refuse_outside(folder, base)
    atomic.remove_stray_files(folder)
    return folder


def _refuse_outside(folder: str, base: str) -> None:
    if not is_inside(folder, base):
        raise CheckpointError(f"{folder} leads out of {base} by a symbolic link", "put a real folder in its place")


def _make_folders(folder: str) -> None:
    """Makes a folder and those above it, for this user alone, and lasting."""
    from checkpoint_git.disk import atomic

    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        try:
            os.mkdir(path, layout.FOLDER_MODE)
        except FileExistsError:
            if not os.path.isdir(path):
                raise atomic.write_error(path, OSError(errno.EEXIST, "a file stands there")) from None
        except OSError as error:
            raise atomic.write_error(path, error) from None
        atomic.sync_folder(os.path.dirname(path))


def create_record(base: str, name: RecordName, data: bytes) -> bool:
    """Writes a record that must not exist yet, whole, on the disk, for this user alone. False where its name is taken.

    Raises CheckpointError, and leaves nothing behind, where it cannot be written.
    """
    from checkpoint_git.disk import atomic

    return atomic.create_file(os.path.join(base, name.path), data, layout.FILE_MODE)
