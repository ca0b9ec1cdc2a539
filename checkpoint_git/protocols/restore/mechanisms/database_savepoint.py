"""Databases by their URLs: which mechanism keeps one, and what of its URL may be written down. It opens none.

A savepoint of a database lives in one connection and dies with it (savepoint.py); what must outlive the process is a
copy: sqlite.py and postgresql.py make it.
"""

import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.artifact import Wanted
from checkpoint_git.protocols.restore.rules import is_plain_path
from checkpoint_git.protocols.restore.sensitive import is_sensitive

_SQLITE = "sqlite:///"


def want_database(root: str, cwd: str, url: str, tables: Sequence[str] = ()) -> Wanted:
    """A database to keep.

    url: sqlite:///path (from cwd, inside the workspace) or postgresql://user@host/name. tables: of PostgreSQL, all
    where none are named. Raises CheckpointError.
    """
    scheme = url.partition(":")[0].partition("+")[0].lower()
    if scheme in ("postgresql", "postgres"):
        from checkpoint_git.protocols.restore.mechanisms import postgresql_url

        return postgresql_url.want(url, tables)
    if scheme != "sqlite":
        # the rest may hold a password
        shown = escape_controls(shorten(scheme, 40))
        raise CheckpointError(f'databases of the kind "{shown}" are not known', "sqlite:///path or postgresql://...")
    if tables:
        raise CheckpointError("an SQLite database is kept whole, and not by tables", "leave --table out")
    path = find_path(root, cwd, url)
    return Wanted("sqlite", _SQLITE + path, {"path": path})


def find_path(root: str, cwd: str, url: str) -> str:
    """The database's file, below the workspace. Raises CheckpointError."""
    shown = escape_controls(shorten(url, 100))
    named = url.partition(":")[2].removeprefix("///")
    if not url.lower().partition(":")[2].startswith("///") or not named or named == ":memory:" or "?" in named:
        hint = "sqlite:///app.db; sqlite:////srv/work/app.db with an absolute path"
        raise CheckpointError(f"{shown} names no database file", hint)
    full = os.path.normpath(os.path.join(cwd, named))
    walls = [wall.rstrip("/") + "/" for wall in (root, os.path.realpath(root))]
    inside = next((full[len(wall) :] for wall in walls if full.startswith(wall)), None)
    if inside is None or not is_plain_path(inside):
        raise CheckpointError(f"{shown} lies outside the workspace", "restore points stay inside it")
    if is_sensitive(inside):
        raise CheckpointError(f"{shown} holds secrets by its name", "secrets are never copied into a restore point")
    return inside
