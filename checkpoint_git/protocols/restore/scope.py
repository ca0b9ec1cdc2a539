"""From what the user names to the paths that a restore point covers. It reads names and kinds, and no content.

Scopes come from agents and scripts: nothing outside the workspace is looked at, and no symbolic link is followed.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.entries import Kind
from checkpoint_git.protocols.restore.sensitive import is_sensitive

_NEVER = frozenset((".git", ".audit"))  # names of folders that no scope reaches into
_OWN_FOLDER = ".checkpoints"  # its restore points are ours; the checkpoints beside them are the user's files
_MAGIC = frozenset("*?[")


class Named(NamedTuple):
    """One path in a scope. status: of the path itself, None where nothing is there."""

    path: str
    kind: Kind
    status: os.stat_result | None


class Scope(NamedTuple):
    """What a scope comes to.

    found: by path. asked: the scopes as paths or patterns below the workspace. secret: files left out for their names.
    special: devices, sockets and pipes left out.
    """

    found: list[Named]
    asked: list[str]
    secret: list[str]
    special: list[str]


def read_scope(root: str, scopes: Sequence[str], cwd: str | None = None, plain: frozenset[str] = frozenset()) -> Scope:
    """Every path that the scopes name: files, folders with all below them, patterns (`*`, `?`, `[...]`, `**`).

    root: the workspace, absolute. cwd: what relative scopes start from, root where None. plain: those scopes that are
    no patterns, whatever is in their names. A path that is not there is
    in the answer as "absent": going back means removing what is made there. A pattern that matches nothing is an
    error, as is a scope outside the workspace or behind a symbolic link. Raises CheckpointError.
    """
    found: dict[str, Named] = {}
    asked, secret, special = list[str](), list[str](), list[str]()
    for scope in scopes:
        path = _place(root, scope, cwd or root)
        asked.append(path)
        for named in _walk(root, path) if scope in plain else _expand(root, path, scope):
            if named.status and stat.S_IFMT(named.status.st_mode) not in _KINDS:
                special.append(named.path)
            elif named.kind in ("file", "link") and is_sensitive(named.path):
                secret.append(named.path)
            else:
                found[named.path] = named
    ordered = [found[path] for path in sorted(found)]
    return Scope(ordered, asked, sorted(set(secret)), sorted(set(special)))


def _place(root: str, scope: str, cwd: str) -> str:
    """A scope as a path below the workspace, "" for the workspace itself."""
    shown = escape_controls(shorten(scope, 100))
    if not scope or "\0" in scope:
        raise CheckpointError(f'"{shown}" is no path', "name files, folders or patterns inside the workspace")
    path = os.path.normpath(os.path.join(cwd, scope))
    real_root = os.path.realpath(root)
    for wall in (root, real_root):
        if path == wall or path.startswith(wall.rstrip("/") + "/"):
            relative = path[len(wall.rstrip("/")) + 1 :]
            _check_way(real_root, relative, shown)
            return relative
    raise CheckpointError(
        f"{shown} lies outside the workspace {escape_controls(root)}", "restore points stay inside it"
    )


def _check_way(root: str, relative: str, shown: str) -> None:
    """Refuses .git and our own folders, and a way that leads through a symbolic link."""
    parts = relative.split("/") if relative else []
    if any(part in _NEVER for part in parts) or _is_own(relative):
        raise CheckpointError(
            f"{shown} belongs to git or to the restore points themselves", "name the files you work on"
        )
    for at in range(1, len(parts)):
        if os.path.islink(os.path.join(root, *parts[:at])):
            where = escape_controls("/".join(parts[:at]))
            raise CheckpointError(f"{shown} lies behind the symbolic link {where}", "name the place it leads to")


def _is_own(relative: str) -> bool:
    return relative.startswith(f"{_OWN_FOLDER}/chk_")


def _expand(root: str, path: str, scope: str) -> Iterator[Named]:
    full = os.path.join(root, path)
    if not os.path.lexists(full) and _MAGIC.intersection(path):
        matches = list(_match(root, path))
        if not matches:
            shown = escape_controls(shorten(scope, 100))
            raise CheckpointError(
                f"nothing matches {shown}", "a pattern must match something; `**/` reaches below folders"
            )
        for match in matches:
            yield from _walk(root, match)
        return
    yield from _walk(root, path)


def _walk(root: str, path: str) -> Iterator[Named]:
    """The path itself and, for a folder, all that is below it; symbolic links are taken as links."""
    waiting = [path]
    while waiting:
        current = waiting.pop()
        status = _read_status(os.path.join(root, current))
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "absent") if status else "absent"
        if current:
            yield Named(current, kind, status)
        if kind == "folder":
            waiting += [_join(current, name) for name in _list_folder(root, current)]


def _read_status(full: str) -> os.stat_result | None:
    try:
        return os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CheckpointError(f"{escape_controls(full)} cannot be looked at: {error.strerror}", _READABLE) from None


def _list_folder(root: str, path: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(root, path))
    except OSError as error:
        raise CheckpointError(f"{escape_controls(path)} cannot be listed: {error.strerror}", _READABLE) from None
    return [name for name in names if name not in _NEVER and not _is_own(_join(path, name))]


_READABLE = "a restore point must hold all of its scope: make it readable, or leave it out of the scope"


def _match(root: str, pattern: str) -> Iterator[str]:
    """The paths that a pattern names, part by part; `**` stands for any number of folders."""
    parts = pattern.split("/")
    level = {""}
    for at, part in enumerate(parts):
        if part == "**":
            level = {below for start in level for below in _folders_below(root, start)}
            if at == len(parts) - 1:
                level.discard("")
        elif _MAGIC.intersection(part):
            level = {_join(start, name) for start in level for name in _names_matching(root, start, part)}
        else:
            level = {path for start in level if os.path.lexists(os.path.join(root, path := _join(start, part)))}
    yield from sorted(level)


def _names_matching(root: str, start: str, part: str) -> list[str]:
    import re

    if start and not stat.S_ISDIR(os.lstat(os.path.join(root, start)).st_mode):
        return []
    matches = re.compile(translate(part)).match
    return [name for name in _list_folder(root, start) if matches(name) and (part[0] == "." or name[0] != ".")]


def _folders_below(root: str, start: str) -> Iterator[str]:
    waiting = [start]
    while waiting:
        current = waiting.pop()
        yield current
        for name in _list_folder(root, current):
            path = _join(current, name)
            status = _read_status(os.path.join(root, path))
            if status and stat.S_ISDIR(status.st_mode):
                waiting.append(path)


def _join(start: str, name: str) -> str:
    return f"{start}/{name}" if start else name


_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
