"""When a rollback must not go on: what somebody writes meanwhile, what nobody keeps, what stands in the way.

It looks at the work tree and changes nothing.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.protocols.restore import file_writes
from checkpoint_git.protocols.restore.entries import Difference, Entry
from checkpoint_git.protocols.restore.scope import Named

Mark = tuple[int, ...] | None  # what tells one state of a path from another, None where nothing is there


def is_half_way(present: Iterable[Entry], wanted: Iterable[Entry], before: Iterable[Entry]) -> bool:
    """Whether a state lies on the way between two: each path is as in one of them, or gone.

    A rollback that was cut off leaves such a state. In another one somebody has worked since, so it must be kept first.
    """
    new = {_outline(entry) for entry in wanted} | {_outline(entry) for entry in before}
    return all(_outline(entry) in new or entry.kind == "absent" or file_writes.is_part(entry.path) for entry in present)


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
            raise _written(path)


def _written(path: str) -> CheckpointError:
    hint = "stop what writes there, then run the same command again"
    return CheckpointError(f"{escape_controls(path)} was changed during the rollback, which stopped before it", hint)


class Watch:
    """The paths as they stood when the rollback was planned. `check` is called right before one is changed."""

    def __init__(self, root: str, found: Iterable[Named]) -> None:
        self._root = root
        self._marks: dict[str, Mark] = {named.path: _mark(named.status) for named in found}

    def check(self, path: str) -> None:
        """Raises CheckpointError where the path is not as it was planned with."""
        if _read_mark(self._root, path) != self._marks.get(path):
            raise _written(path)

    def forget(self, path: str) -> None:
        """The path was removed by us, or stays since it is a folder with content of others."""
        self._marks[path] = _read_mark(self._root, path)


def _mark(status: os.stat_result | None) -> Mark:
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return status.st_ino, stat.S_IFDIR
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_mark(root: str, path: str) -> Mark:
    try:
        return _mark(os.lstat(os.path.join(root, path)))
    except (FileNotFoundError, NotADirectoryError):
        return None


def check_ways(root: str, remove: Sequence[str], restore: Sequence[Difference], present: Iterable[Entry]) -> None:
    """Raises CheckpointError where a rollback could not be done as a whole, before anything is changed."""
    kinds = {entry.path: entry.kind for entry in present}
    gone = frozenset(remove)
    links = frozenset(path for path, kind in kinds.items() if kind == "link")
    making_way = {one.path for one in restore if one.how == "kind"} & links
    for one in restore:
        if not any(one.path.startswith(f"{link}/") for link in making_way):
            file_writes.check_way(root, one.path)
            _check_special(root, one)
        if one.how == "kind" and kinds.get(one.path) == "folder":
            _check_emptied(root, one.path, gone)


def _check_special(root: str, one: Difference) -> None:
    mark = _read_mark(root, one.path) if one.how == "missing" else None
    if mark is not None:
        hint = "no restore point keeps pipes, sockets and devices: move it away, then run the same command again"
        raise CheckpointError(f"what stands where {escape_controls(one.path)} belongs is no file", hint)


def _check_emptied(root: str, path: str, gone: frozenset[str]) -> None:
    top = os.path.join(root, path)
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            below = os.path.relpath(os.path.join(folder, name), root)
            if below not in gone:
                hint = f"no restore point keeps {escape_controls(below)}: move it away, then run the same command again"
                raise CheckpointError(f"a folder stands where {escape_controls(path)} belongs", hint)


def find_staying(root: str, added: Sequence[str]) -> list[str]:
    """Those added folders that hold only what no restore point keeps (ignored, secret, another's .git): they stay."""
    files = [path for path in added if not _is_folder(root, path)]
    return [
        path
        for path in added
        if _is_folder(root, path) and os.listdir(os.path.join(root, path)) and not _has_below(path, files)
    ]


def _is_folder(root: str, path: str) -> bool:
    full = os.path.join(root, path)
    return os.path.isdir(full) and not os.path.islink(full)


def _has_below(path: str, files: Iterable[str]) -> bool:
    return any(file.startswith(f"{path}/") for file in files)


def read_safety(journal: Mapping[str, object] | None, within: Sequence[str] | None) -> str:
    """The safety point of a rollback that was cut off, "" where none was, or where it was of another part."""
    if journal is None or journal.get("within") != (None if within is None else list(within)):
        return ""
    return str(journal["safety"])
