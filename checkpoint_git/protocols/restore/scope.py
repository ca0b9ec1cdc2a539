"""From what the user names to the paths that a restore point covers, and what each of them holds now."""

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
from checkpoint_git.protocols.restore.contents import Entry, Kind, ScopePath, match_twins
from checkpoint_git.protocols.restore.rules import is_plain_path, is_sensitive

_MAGIC = frozenset("*?[")
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
_CHUNK = 1 << 20  # bytes
_TRIES = 3
_PERMISSIONS = 0o777  # not setuid and its kin: another user than the file's owner may roll back
_READABLE = "a restore point must hold all of its scope: make it readable, or leave it out of the scope"


class Scope(NamedTuple):
    found: list[ScopePath]  # by path
    asked: list[str]  # the scopes as paths or patterns below the workspace
    secret: list[ScopePath]  # files whose names are those of secrets
    special: list[str]  # devices, sockets and pipes left out


# Scopes come from agents and scripts: nothing outside the workspace is looked at, and no symbolic link is followed.
def read_scope(
    root: str,
    scopes: Sequence[str],
    cwd: str | None = None,
    plain: frozenset[str] = frozenset(),
    *,
    may_lack: bool = True,
) -> Scope:
    """Every path that the scopes name: files, folders with all below them, patterns (`*`, `?`, `[...]`, `**`). plain:
    those that are no patterns, whatever is in their names. may_lack: a path that is not there is "absent", so rolling
    back means removing what is made there. Raises CheckpointError for a path that is not there, a pattern that matches
    nothing, and for a scope outside the workspace or behind a symbolic link.
    """
    found: dict[str, ScopePath] = {}
    asked, secret, special = list[str](), dict[str, ScopePath](), set[str]()
    for scope in scopes:
        path = _place(root, scope, cwd or root)
        asked.append(path)
        starts = [path]
        if scope not in plain and _MAGIC.intersection(path) and not os.path.lexists(os.path.join(root, path)):
            starts = match(root, path)
        if not starts:
            message = f"nothing matches {escape_controls(shorten(scope, 100))}"
            raise CheckpointError(message, "a pattern must match something; `**/` matches subfolders")
        if not may_lack and starts == [path] and path and not os.path.lexists(os.path.join(root, path)):
            hint = "check the spelling; --absent accepts a missing path: a rollback removes what is created there"
            raise CheckpointError(f"{escape_controls(shorten(scope, 100))} does not exist", hint)
        for each in (found for start in starts for found in _walk(root, start)):
            if each.status and stat.S_IFMT(each.status.st_mode) not in _KINDS:
                special.add(each.path)
            elif each.kind in ("file", "link") and is_sensitive(each.path):
                secret[each.path] = each
            else:
                found[each.path] = each
    plain_ones, secret_ones = ([each[path] for path in sorted(each)] for each in (found, secret))
    return Scope(plain_ones, asked, secret_ones, sorted(special))


def _place(root: str, scope: str, cwd: str) -> str:
    shown = escape_controls(shorten(scope, 100))
    if not scope or "\0" in scope:
        raise CheckpointError(f'"{shown}" is not a path', "name files, folders or patterns inside the workspace")
    path = path_below(root, os.path.normpath(os.path.join(cwd, scope)))
    if path is None:
        message, hint = f"is outside the workspace {escape_controls(root)}", "restore points stay inside it"
    elif path and not is_plain_path(path):
        message, hint = "belongs to git or to the restore points themselves", "name the files you work on"
    elif link := find_link(os.path.dirname(path), root):
        message, hint = f"is behind the symbolic link {escape_controls(link)}", "name the place it leads to"
    else:
        return path
    raise CheckpointError(f"{shown} {message}", hint)


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
    """Special files are "absent" with a status. Raises CheckpointError."""
    try:
        status = layout.read_status(os.path.join(root, path))
    except OSError as error:
        raise CheckpointError(f"{escape_controls(path)} cannot be inspected: {error.strerror}", _READABLE) from None
    return ScopePath(path, _KINDS.get(stat.S_IFMT(status.st_mode), "absent") if status else "absent", status)


def _list_folder(root: str, path: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(root, path))
    except OSError as error:
        raise CheckpointError(f"{escape_controls(path)} cannot be listed: {error.strerror}", _READABLE) from None
    return [name for name in names if is_plain_path(_join(path, name))]


def match(root: str, pattern: str) -> list[str]:
    level, parts = {""}, pattern.split("/")
    for at, part in enumerate(parts, 1):
        before, level = level, set[str]()
        if part == "**":
            level.update(one.path for start in before for one in _walk(root, start) if one.kind == "folder")
            level |= before & {""} if at < len(parts) else set()
            continue
        for start in before:
            names = _list_folder(root, start) if not start or layout.is_folder(root, start) else []
            level.update(_join(start, name) for name in keep_matching(names, part) if part[0] == "." or name[0] != ".")
    return sorted(level)


def _join(start: str, name: str) -> str:
    return f"{start}/{name}" if start else name


class ChangedError(Exception):
    """A file was not the same at the end of reading as at its start."""


def read_entry_at(root: str, found: ScopePath) -> Entry:
    # A file that is being written is tried again. Raises CheckpointError
    if found.kind == "absent" or found.status is None:
        return Entry(found.path, "absent")
    if found.kind == "folder":
        return Entry(found.path, "folder", stat.S_IMODE(found.status.st_mode))
    if found.kind == "link":
        try:
            target = os.fsencode(os.readlink(os.path.join(root, found.path)))
        except OSError as error:
            raise read_error(found.path, error) from None
        return Entry(found.path, "link", 0o777, len(target), sha256(target).hexdigest())
    for _ in range(_TRIES):
        with suppress(ChangedError):
            return read_file(root, found.path)
    raise changing_error(found.path)


def mark_twins(entries: Iterable[Entry], found: Iterable[ScopePath]) -> list[Entry]:
    leads, twins = dict[tuple[int, int], str](), dict[str, str]()
    for one in found:
        if one.kind == "file" and one.status and one.status.st_nlink > 1:
            twins[one.path] = leads.setdefault((one.status.st_dev, one.status.st_ino), one.path)
    return match_twins(one._replace(twin=twins.get(one.path, "")) for one in entries)


def read_entries(root: str, found: Sequence[ScopePath]) -> list[Entry]:
    return mark_twins([read_entry_at(root, one) for one in found], found)


def read_file(root: str, path: str, keep: Callable[[bytes], object] = lambda chunk: None) -> Entry:
    """keep: called with each chunk. Raises ChangedError; CheckpointError where unreadable; OSError for a full disk."""
    digest, size = sha256(), 0
    try:
        with open_plain(os.path.join(root, path)) as stream:
            before = os.fstat(stream.fileno())
            # where somebody appends, perhaps faster than this reads, it stops
            while size <= before.st_size and (chunk := stream.read(_CHUNK)):
                digest.update(chunk)
                keep(chunk)
                size += len(chunk)
            after = os.fstat(stream.fileno())
    except OSError as error:
        # reading fills no disk, so that was keep
        raise error if error.errno in (ENOSPC, EDQUOT) else read_error(path, error) from None
    versions = {(status.st_size, status.st_mtime_ns, status.st_mode) for status in (before, after)}
    if len(versions) > 1 or size != after.st_size:
        raise ChangedError
    return Entry(path, "file", after.st_mode & _PERMISSIONS, size, digest.hexdigest())


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
