"""Find the paths that a restore point covers by what the user names, and read their content."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from errno import EDQUOT, ENOSPC
from fnmatch import filter as keep_matching
from hashlib import file_digest, sha256
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, join_some, shorten
from checkpoint_git.disk.discover import find_link, path_below
from checkpoint_git.disk.read import open_plain
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import ContentEntry, Kind, ScopePath, match_twins
from checkpoint_git.protocols.restore.rules import is_plain_path, is_sensitive

_MAGIC = frozenset("*?[")
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
_CHUNK = 1 << 20  # bytes
_TRIES = 3
_PERMISSIONS = 0o777  # not setuid and its kin: another user than the file's owner may roll back
_READABLE = (
    "a restore point must contain all of its scope: make it readable, or exclude it from the scope"
)


class Scope(NamedTuple):
    """The paths that were named, by what may be done with them."""

    found: list[ScopePath]  # by path
    asked: list[str]  # the scopes as paths or patterns below the workspace
    secret: list[ScopePath]  # files whose names are those of secrets
    special: list[str]  # devices, sockets and pipes left out


# Scopes come from agents and scripts: nothing outside the workspace is looked at, and no symbolic
# link is followed.
def read_scope(
    root: str,
    scopes: Sequence[str],
    cwd: str | None = None,
    plain: frozenset[str] = frozenset(),
    *,
    may_lack: bool = True,
) -> Scope:
    """Return every path that scopes name.

    A scope is a file, a folder with all below it, or a pattern (`*`, `?`, `[...]`, `**`). plain:
    scopes that are not patterns, whatever is in their names. may_lack: a path that does not exist
    is "absent", so rolling back means removing what is made there. Raises CheckpointError for a
    path that does not exist otherwise, a pattern that matches nothing, and for a scope outside the
    workspace or behind a symbolic link.
    """
    found: dict[str, ScopePath] = {}
    secret: dict[str, ScopePath] = {}
    special: set[str] = set()
    asked = []
    for scope in scopes:
        path = _place(root, scope, cwd or root)
        asked.append(path)
        for start in _find_starts(root, scope, path, may_lack=may_lack, is_plain=scope in plain):
            for scope_path in _walk(root, start):
                if _is_special(scope_path):
                    special.add(scope_path.path)
                elif scope_path.kind in ("file", "link") and is_sensitive(scope_path.path):
                    secret[scope_path.path] = scope_path
                else:
                    found[scope_path.path] = scope_path

    return Scope(_by_path(found), asked, _by_path(secret), sorted(special))


def _find_starts(
    root: str,
    scope: str,
    path: str,
    *,
    may_lack: bool,
    is_plain: bool,
) -> list[str]:
    """Return the paths that a scope names, without what is below them. Raises CheckpointError.

    path: of the scope, below the workspace.
    """
    shown = escape_controls(shorten(scope, 100))
    is_there = os.path.lexists(os.path.join(root, path))
    starts = [path]
    if not is_plain and not is_there and _MAGIC.intersection(path):
        starts = match(root, path)
    if not starts:
        hint = "a pattern must match something; `**/` matches subfolders"
        raise CheckpointError(f"nothing matches {shown}", hint)

    if starts == [path] and path and not is_there and not may_lack:
        hint = "check the spelling; --absent accepts a missing path: "
        hint += "a rollback removes what is created there"
        raise CheckpointError(f"{shown} does not exist", hint)

    return starts


def _is_special(found: ScopePath) -> bool:
    return found.status is not None and stat.S_IFMT(found.status.st_mode) not in _KINDS


def _by_path(found: dict[str, ScopePath]) -> list[ScopePath]:
    return [found[path] for path in sorted(found)]


def _place(root: str, scope: str, cwd: str) -> str:
    """Return a scope as a path below the workspace. Raises CheckpointError outside it."""
    shown = escape_controls(shorten(scope, 100))
    if not scope or "\0" in scope:
        hint = "name files, folders or patterns inside the workspace"
        raise CheckpointError(f'"{shown}" is not a path', hint)

    path = path_below(root, os.path.normpath(os.path.join(cwd, scope)))
    if path is None:
        message = f"{shown} is outside the workspace {escape_controls(root)}"
        raise CheckpointError(message, "restore points stay inside it")

    if path and not is_plain_path(path):
        message = f"{shown} belongs to git or to the restore points themselves"
        raise CheckpointError(message, "name the files you work on")

    link = find_link(os.path.dirname(path), root)
    if link:
        message = f"{shown} is behind the symbolic link {escape_controls(link)}"
        raise CheckpointError(message, "name the place it leads to")

    return path


def _walk(root: str, path: str) -> Iterator[ScopePath]:
    waiting = [path]
    while waiting:
        current = waiting.pop()
        found = look_at(root, current)
        if current:
            yield found
        if found.kind == "folder":
            waiting += [_join(current, name) for name in _list_folder(root, current)]


def look_at(root: str, path: str) -> ScopePath:
    """Return what is at a path; a special file is "absent". Raises CheckpointError."""
    try:
        status = layout.read_status(os.path.join(root, path))
    except OSError as error:
        message = f"{escape_controls(path)} cannot be inspected: {error.strerror}"
        raise CheckpointError(message, _READABLE) from None
    if status is None:
        return ScopePath(path, "absent", None)
    return ScopePath(path, _KINDS.get(stat.S_IFMT(status.st_mode), "absent"), status)


def _list_folder(root: str, path: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(root, path))
    except OSError as error:
        message = f"{escape_controls(path)} cannot be listed: {error.strerror}"
        raise CheckpointError(message, _READABLE) from None
    kept = []
    for name in names:
        if is_plain_path(_join(path, name)):
            kept.append(name)
    return kept


def match(root: str, pattern: str) -> list[str]:
    """Return the paths that fit a pattern, level by level."""
    level = {""}
    parts = pattern.split("/")
    for number, part in enumerate(parts, 1):
        before = level
        level = set()
        if part == "**":
            for start in before:
                level.update(found.path for found in _walk(root, start) if found.kind == "folder")
            if number < len(parts):
                level |= before & {""}
            continue
        for start in before:
            if start and not layout.is_folder(root, start):
                continue
            for name in keep_matching(_list_folder(root, start), part):
                if part[0] == "." or name[0] != ".":
                    level.add(_join(start, name))

    return sorted(level)


def _join(start: str, name: str) -> str:
    if not start:
        return name
    return f"{start}/{name}"


class ChangedError(Exception):
    """Raised if a file was not the same at the end of reading as at its start."""


def read_entry_at(root: str, found: ScopePath) -> ContentEntry:
    """Return the entry of a path; a file that is being written is tried again.

    Raises CheckpointError.
    """
    if found.kind == "absent" or found.status is None:
        return ContentEntry(found.path, "absent")
    if found.kind == "folder":
        return ContentEntry(found.path, "folder", stat.S_IMODE(found.status.st_mode))
    if found.kind == "link":
        try:
            target = os.fsencode(os.readlink(os.path.join(root, found.path)))
        except OSError as error:
            raise read_error(found.path, error) from None
        return ContentEntry(found.path, "link", 0o777, len(target), sha256(target).hexdigest())

    for _ in range(_TRIES):
        with suppress(ChangedError):
            return read_file(root, found.path)

    raise changing_error(found.path)


def mark_twins(entries: Iterable[ContentEntry], found: Iterable[ScopePath]) -> list[ContentEntry]:
    """Return entries with the first name of each file that has several among them."""
    first_names: dict[tuple[int, int], str] = {}
    twins: dict[str, str] = {}
    for path, kind, status in found:
        if kind == "file" and status and status.st_nlink > 1:
            twins[path] = first_names.setdefault((status.st_dev, status.st_ino), path)
    return match_twins(entry._replace(twin=twins.get(entry.path, "")) for entry in entries)


def read_entries(root: str, found: Sequence[ScopePath]) -> list[ContentEntry]:
    """Return the entries of paths as they are now. Raises CheckpointError."""
    entries = [read_entry_at(root, scope_path) for scope_path in found]
    return mark_twins(entries, found)


def read_file(
    root: str,
    path: str,
    keep: Callable[[bytes], object] = lambda chunk: None,
) -> ContentEntry:
    """Return the entry of a file. keep: called with each chunk.

    Raises ChangedError; CheckpointError if it is unreadable; OSError for a full disk.
    """
    digest = sha256()
    size = 0
    try:
        with open_plain(os.path.join(root, path)) as stream:
            before = os.fstat(stream.fileno())
            # if somebody appends, perhaps faster than this reads, it stops
            while size <= before.st_size and (chunk := stream.read(_CHUNK)):
                digest.update(chunk)
                keep(chunk)
                size += len(chunk)
            after = os.fstat(stream.fileno())
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT):  # reading fills no disk, so that was `keep`
            raise error from None
        raise read_error(path, error) from None

    if _version(before) != _version(after) or size != after.st_size:
        raise ChangedError
    return ContentEntry(path, "file", after.st_mode & _PERMISSIONS, size, digest.hexdigest())


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_mode


def changing_error(path: str) -> CheckpointError:
    hint = "stop what writes it, then make the point again"
    return CheckpointError(f"{escape_controls(path)} changes while it is read", hint)


def read_error(path: str, error: OSError) -> CheckpointError:
    return CheckpointError(f"{escape_controls(path)} cannot be read: {error.strerror}", _READABLE)


def hash_file(path: str) -> str:
    with open(path, "rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def list_some(paths: Iterable[str]) -> str:
    return join_some([escape_controls(shorten(path, 100)) for path in paths], 10)
