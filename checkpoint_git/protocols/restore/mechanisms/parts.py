"""The states and databases of a point: as the user names them, and all together kept, checked, compared, restored."""

import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import path_below
from checkpoint_git.disk.read import open_plain
from checkpoint_git.protocols.restore import contents, layout
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import state as state_snapshot
from checkpoint_git.protocols.restore.mechanisms.state import MAX_SIZE, PREFIX, check_key, request_state
from checkpoint_git.protocols.restore.rules import check_not_sensitive, is_plain_path
from checkpoint_git.protocols.restore.scope import hash_file

_ENDINGS = {"state": "json", "sqlite": "sqlite", "postgresql": "dump"}


def open_mechanism(kind: str) -> contents.ArtifactMechanism:
    if kind == "state":
        return state_snapshot
    if kind == "sqlite":
        from checkpoint_git.protocols.restore.mechanisms import sqlite

        return sqlite
    from checkpoint_git.protocols.restore.mechanisms import postgresql

    return postgresql


def is_part_name(word: str) -> bool:
    return word.startswith(PREFIX) or "://" in word


def read_states(
    workspace: Workspace, given: Iterable[str], keys: Iterable[str], stdin: TextIO
) -> list[contents.Request]:
    """`--state KEY=FILE` ("-" is standard input). keys: of the scope, which must be given."""
    pairs = [split_pair(word, "--state") for word in given]
    names, files = [key for key, _ in pairs], [file for _, file in pairs]
    for key in keys:
        if key not in names:
            hint = f"say what it is: --state {check_key(key)}=FILE, or {key}=- for stdin"
            raise CheckpointError(f"the state {key} is not given", hint)
    if files.count("-") > 1:
        raise CheckpointError("standard input can give one state only", "write the others into files")
    return [
        request_state(key, os.fsencode(stdin.read(MAX_SIZE + 1))) if file == "-" else _read_state(workspace, key, file)
        for key, file in pairs
    ]


def request_states(workspace: Workspace, states: Mapping[str, Any]) -> list[contents.Request]:
    requests = []
    for key, value in states.items():
        if isinstance(value, os.PathLike):
            requests.append(_read_state(workspace, check_key(key), os.fspath(value)))
            continue
        try:
            text = json.dumps(value, allow_nan=False, indent=1) + "\n"
        except (TypeError, ValueError, RecursionError) as error:
            hint = "give texts, numbers, lists and mappings"
            raise CheckpointError(f"a state cannot be JSON: {error}", hint) from None
        requests.append(request_state(key, text.encode()))
    return requests


def split_pair(word: str, option: str) -> tuple[str, str]:
    key, _, file = word.partition("=")
    if not file:
        shown = escape_controls(shorten(word, 60))
        raise CheckpointError(f'{option} takes KEY=FILE, not "{shown}"', f"write it like {option} run=state.json")
    return check_key(key), file


def _read_state(workspace: Workspace, key: str, file: str) -> contents.Request:
    path = os.path.normpath(os.path.join(workspace.cwd, file))
    check_not_sensitive(path, file)
    try:
        with open_plain(os.path.realpath(path)) as stream:
            data, mode = stream.read(MAX_SIZE + 1), os.fstat(stream.fileno()).st_mode
    except OSError as error:
        # of a pipe that a shell names in /dev/fd, realpath is the name of nothing
        why = "it is not a regular file" if os.path.exists(path) and not os.path.isfile(path) else error.strerror
        hint = f"name a file that holds the state, or --state {key}=- for standard input"
        raise CheckpointError(f"{escape_controls(file)} cannot be read: {why}", hint) from None
    # it goes back there, unless that is outside the workspace or behind a link
    below = path_below(workspace.root, path)
    full = os.path.join(os.path.realpath(workspace.root), below or "")
    goes_back = below is not None and is_plain_path(below) and os.path.realpath(full) == full and os.path.isfile(full)
    return request_state(key, data, below if goes_back else None, stat.S_IMODE(mode))


def place_target(cwd: str, file: str) -> str:
    """The file, absolute, its folder without links, since nothing is written through one."""
    path = os.path.normpath(os.path.join(cwd, file))
    folder = os.path.realpath(os.path.dirname(path))
    if not os.path.isdir(folder):
        raise CheckpointError(f"the folder of {escape_controls(file)} is not there", "create it first")
    return os.path.join(folder, os.path.basename(path))


def request_databases(workspace: Workspace, urls: Sequence[str], tables: Sequence[str] = ()) -> list[contents.Request]:
    """urls: sqlite:///path (from cwd, inside the workspace) or postgresql://user@host/name. tables: of PostgreSQL."""
    if tables and len(urls) != 1:
        raise CheckpointError("--table goes with one --database", "make one restore point for each database")
    requests = []
    for url in urls:
        scheme = url.partition(":")[0].partition("+")[0].lower()
        if scheme in ("postgresql", "postgres"):
            from checkpoint_git.protocols.restore.mechanisms import postgresql

            requests.append(postgresql.request_database(url, tables))
        elif scheme != "sqlite":
            shown = escape_controls(shorten(scheme, 40))  # the rest may hold a password
            message = f'databases of the kind "{shown}" are not known'
            raise CheckpointError(message, "sqlite:///path or postgresql://...")
        elif tables:
            raise CheckpointError("an SQLite database is kept whole, and not by tables", "leave --table out")
        else:
            requests.append(_request_sqlite(workspace, url))
    return requests


def _request_sqlite(workspace: Workspace, url: str) -> contents.Request:
    shown = escape_controls(shorten(url, 100))
    rest = url.partition(":")[2]
    named = rest.removeprefix("///")
    has_options = "?" in named and not os.path.isfile(os.path.join(workspace.cwd, named))
    if not rest.startswith("///") or not named or named == ":memory:" or has_options:
        raise CheckpointError(f"{shown} names no database file", "write sqlite:///app.db, or sqlite:////srv/app.db")
    path = path_below(workspace.root, os.path.normpath(os.path.join(workspace.cwd, named)))
    if path is None or not is_plain_path(path):
        raise CheckpointError(f"{shown} is outside the workspace", "restore points stay inside it")
    check_not_sensitive(path, url)
    return contents.Request("sqlite", f"sqlite:///{path}", {"path": path})


def read_artifacts(manifest: Mapping[str, Any], within: Sequence[str] | None = None) -> list[contents.Artifact]:
    found = [contents.read_artifact(value) for value in manifest.get("parts", [])]
    return sorted([one for one in found if within is None or one.name in within], key=lambda one: one.kind == "state")


def find_claimed(artifacts: Iterable[contents.Artifact | contents.Request]) -> frozenset[str]:
    # a database owns these files: it alone knows when they are whole
    paths = [str(one.details["path"]) for one in artifacts if one.kind == "sqlite"]
    return frozenset(path + side for path in paths for side in ("", *contents.SQLITE_SIDES))


def find_warnings(root: str, requests: Iterable[contents.Request], files: Sequence[str]) -> list[str]:
    there = frozenset(files)
    databases = [
        path
        for path in files
        if not there.isdisjoint(path + side for side in contents.SQLITE_SIDES) or _is_database(os.path.join(root, path))
    ]
    return [
        *(
            f"the password of {one.name} is not kept, and going back needs it in PGPASSWORD or ~/.pgpass; in a command "
            "line other users of this machine can read it"
            for one in requests
            if one.details.get("password") and not one.may_lack
        ),
        *(
            "kept as files, which are inconsistent while being written: "
            f"--database sqlite:///{escape_controls(shorten(path, 100))} keeps the database itself"
            for path in databases[:3]
        ),
    ]


def _is_database(path: str) -> bool:
    if not path.endswith((".db", ".sqlite", ".sqlite3", ".db3")):
        return False
    with suppress(OSError), open_plain(path) as stream:
        return stream.read(16) == b"SQLite format 3\0"
    return False


def choose_type(requests: Iterable[contents.Request]) -> str:
    types = {contents.TYPES[one.kind] for one in requests}
    return "database_savepoint" if "database_savepoint" in types else "state_snapshot"


def capture(location: contents.Location, requests: Sequence[contents.Request]) -> list[contents.Artifact]:
    names = [one.name for one in requests]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CheckpointError(f"{twice} is named twice", "name each state and each database once")
    if requests:
        os.mkdir(os.path.join(location.folder, layout.PARTS), 0o700)
    artifacts = []
    for number, one in enumerate(sorted(requests, key=lambda each: each.kind == "state")):
        content = f"{layout.PARTS}/{number:02d}.{_ENDINGS[one.kind]}"
        artifacts.append(open_mechanism(one.kind).capture(location, one, content))
    return artifacts


def find_damage(location: contents.Location, artifacts: Iterable[contents.Artifact]) -> list[str]:
    return [one.name for one in artifacts if one.content and not _is_whole(location, one)]


def _is_whole(location: contents.Location, artifact: contents.Artifact) -> bool:
    path = os.path.join(location.folder, artifact.content)
    with suppress(OSError):
        is_file = os.path.isfile(path) and not os.path.islink(path)
        return is_file and os.path.getsize(path) == artifact.size and hash_file(path) == artifact.sha256
    return False


def find_differing(
    location: contents.Location, artifacts: Iterable[contents.Artifact], means: contents.Means
) -> list[contents.Artifact]:
    return [one for one in artifacts if not open_mechanism(one.kind).is_as_kept(location, one, means)]


def find_prerequisites(artifacts: Iterable[contents.Artifact]) -> list[str]:
    return [text for one in artifacts for text in open_mechanism(one.kind).find_prerequisites(one)]
