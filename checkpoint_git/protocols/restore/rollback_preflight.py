"""When a rollback must not go on: what somebody writes meanwhile, what no point keeps, what is in the way.

It looks at the work tree and changes nothing.
"""

import os
import stat
from collections.abc import Iterable, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.protocols.restore import file_writes, layout
from checkpoint_git.protocols.restore.contents import Difference, Entry, ScopePath

Version = tuple[int, ...] | None  # what distinguishes one state of a path from another, None where nothing is there


def is_half_way(present: Iterable[Entry], wanted: Iterable[Entry], before: Iterable[Entry]) -> bool:
    """Whether a state is on the way between two, as a rollback that was cut off leaves it."""
    # in any other state somebody has worked since, so it must be kept first
    known = {_outline(entry) for entry in (*wanted, *before)}
    return all(
        _outline(entry) in known or entry.kind == "absent" or file_writes.is_part(entry.path) for entry in present
    )


def _outline(entry: Entry) -> tuple[str, ...]:
    mode = f"{entry.mode:o}" if entry.kind == "file" else ""  # folders are opened on the way
    return entry.path, entry.kind, mode, entry.sha256


def check_kept(present: Iterable[Entry], changing: Iterable[str], safety: Iterable[Entry]) -> None:
    """Raises CheckpointError where something that will be changed or removed is not what the safety point holds."""
    kept = {_outline(entry) for entry in safety}
    there = {entry.path: entry for entry in present if entry.kind != "absent"}
    for path in changing:
        entry = there.get(path)
        if entry is not None and _outline(entry) not in kept and not file_writes.is_part(path):
            raise _written_error(path)


def _written_error(path: str) -> CheckpointError:
    hint = "stop what writes there, then run the same command again"
    return CheckpointError(f"{escape_controls(path)} was changed during the rollback, which stopped before it", hint)


class Watch:
    """The paths as they were when the rollback was planned. `check` is called right before one is changed."""

    def __init__(self, root: str, found: Iterable[ScopePath]) -> None:
        self._root = root
        self._versions = {one.path: _version(one.status) for one in found}

    def check(self, path: str) -> None:
        if _read_version(self._root, path) != self._versions.get(path):
            raise _written_error(path)

    def forget(self, path: str) -> None:
        self._versions[path] = _read_version(self._root, path)


def _version(status: os.stat_result | None) -> Version:
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return status.st_ino, stat.S_IFDIR
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_version(root: str, path: str) -> Version:
    return _version(layout.read_status(os.path.join(root, path)))


def check_ways(root: str, remove: Sequence[str], restore: Sequence[Difference], present: Iterable[Entry]) -> None:
    """Raises CheckpointError where a rollback could not be done as a whole, before anything is changed."""
    kinds = {entry.path: entry.kind for entry in present}
    gone = frozenset(remove)
    # a link that is itself replaced by a folder is not a blocker for what was below that folder
    replaced = tuple(f"{one.path}/" for one in restore if one.how == "kind" and kinds.get(one.path) == "link")
    for path, how in restore:
        if not path.startswith(replaced):
            file_writes.check_way(root, path)
            if how == "missing" and _read_version(root, path) is not None:
                hint = "no restore point keeps pipes, sockets or devices: move it away, then run the same command again"
                raise CheckpointError(f"what stands where {escape_controls(path)} belongs is not a file", hint)
        if how == "kind" and kinds.get(path) == "folder":
            _check_emptied(root, path, gone)


def _check_emptied(root: str, path: str, gone: frozenset[str]) -> None:
    for folder, folders, files in os.walk(os.path.join(root, path)):
        for name in (*folders, *files):
            below = os.path.relpath(os.path.join(folder, name), root)
            if below not in gone:
                hint = f"no restore point keeps {escape_controls(below)}: move it away, then run the same command again"
                file_writes.check_not_folder(root, path, hint)


def find_staying(root: str, added: Sequence[str]) -> list[str]:
    """Those added folders that hold only what no restore point keeps (ignored, secret, another's .git): they stay."""
    folders = [path for path in added if layout.is_folder(root, path)]
    files = set(added).difference(folders)
    return [
        path
        for path in folders
        if os.listdir(os.path.join(root, path)) and not any(file.startswith(f"{path}/") for file in files)
    ]
