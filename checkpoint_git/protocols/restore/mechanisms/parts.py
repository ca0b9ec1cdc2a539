"""Keep and restore the states and databases of a point, which the user names."""

import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.disk.discover import path_below
from checkpoint_git.disk.read import open_plain
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import (
    SQLITE_SIDES,
    TYPES,
    Location,
    Part,
    read_part,
)
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import state
from checkpoint_git.protocols.restore.mechanisms.contract import (
    Job,
    Means,
    MechanismPlan,
    PartMechanism,
    PartRequest,
    content_path,
)
from checkpoint_git.protocols.restore.mechanisms.state import (
    MAX_SIZE,
    PREFIX,
    check_key,
    request_state,
)
from checkpoint_git.protocols.restore.rules import check_not_sensitive, is_plain_path
from checkpoint_git.protocols.restore.scope import hash_file

# kind of a part -> ending of the file that keeps it
_ENDINGS = {"state": "json", "sqlite": "sqlite", "postgresql": "dump"}
_DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3", ".db3")
_WARNED = 3


def open_mechanism(kind: str) -> PartMechanism:
    """Return the module for a kind of part. It is imported only when a point has such a part."""
    if kind == "state":
        return state
    if kind == "sqlite":
        from checkpoint_git.protocols.restore.mechanisms import sqlite

        return sqlite

    from checkpoint_git.protocols.restore.mechanisms import postgresql

    return postgresql


class _Parts:
    """The parts of some kinds, as a rollback uses them (see contract.Mechanism)."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds

    def check_ready(self, job: Job) -> None:
        for part in job.parts:
            if part.kind in self._kinds:
                open_mechanism(part.kind).check_ready(job.location, part, job.wanted.means)

    def restore(self, job: Job, plan: MechanismPlan) -> list[str]:
        sentences = []
        for part in plan.parts:
            if part.kind in self._kinds:
                mechanism = open_mechanism(part.kind)
                sentences += mechanism.restore(job.location, part, job.wanted.means)
        return sentences


DATABASES = _Parts("sqlite", "postgresql")
STATES = _Parts("state")


def is_part_name(word: str) -> bool:
    """Return whether a word names a state or a database, rather than a path."""
    return word.startswith(PREFIX) or "://" in word


def read_states(
    workspace: Workspace,
    given: Iterable[str],
    keys: Iterable[str],
    stdin: TextIO,
) -> list[PartRequest]:
    """Return what `--state KEY=FILE` asks for; FILE "-" is stdin. keys: which must be given."""
    pairs = [split_pair(word, "--state") for word in given]
    names = [key for key, _ in pairs]
    for key in keys:
        if key not in names:
            hint = f"name its file: --state {check_key(key)}=FILE, or {key}=- for stdin"
            raise CheckpointError(f"the state {key} is not given", hint)

    if [file for _, file in pairs].count("-") > 1:
        message = "standard input can give one state only"
        raise CheckpointError(message, "write the others into files")

    requests = []
    for key, file in pairs:
        if file == "-":
            requests.append(request_state(key, os.fsencode(stdin.read(MAX_SIZE + 1))))
        else:
            requests.append(_read_state(workspace, key, file))

    return requests


def request_states(workspace: Workspace, states: Mapping[str, Any]) -> list[PartRequest]:
    """Return requests for states. states: key -> a JSON value, or the path of a JSON file."""
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
    """Return (key, file) of KEY=FILE. Raises CheckpointError."""
    key, _, file = word.partition("=")
    if not file:
        message = f'{option} takes KEY=FILE, not "{escape_controls(shorten(word, 60))}"'
        raise CheckpointError(message, f"write it like {option} run=state.json")
    return check_key(key), file


def _read_state(workspace: Workspace, key: str, file: str) -> PartRequest:
    path = os.path.normpath(os.path.join(workspace.cwd, file))
    check_not_sensitive(path, file)
    try:
        with open_plain(os.path.realpath(path)) as stream:
            data = stream.read(MAX_SIZE + 1)
            mode = os.fstat(stream.fileno()).st_mode
    except OSError as error:
        why = error.strerror
        # of a pipe that a shell names in /dev/fd, realpath is the name of nothing
        if os.path.exists(path) and not os.path.isfile(path):
            why = "it is not a regular file"
        hint = f"name a file with the state, or --state {key}=- for standard input"
        raise CheckpointError(f"{escape_controls(file)} cannot be read: {why}", hint) from None

    place = _find_place(workspace.root, path)
    return request_state(key, data, place, stat.S_IMODE(mode))


def _find_place(root: str, path: str) -> str | None:
    """Return where a state goes back to, below the workspace; None if outside or behind a link."""
    below = path_below(root, path)
    if below is None or not is_plain_path(below):
        return None
    full = os.path.join(os.path.realpath(root), below)
    if os.path.realpath(full) != full or not os.path.isfile(full):
        return None
    return below


def place_target(cwd: str, file: str) -> str:
    """Return the absolute path of a file, with no links in it: nothing is written through one."""
    path = os.path.normpath(os.path.join(cwd, file))
    folder = os.path.realpath(os.path.dirname(path))
    if not os.path.isdir(folder):
        message = f"the folder of {escape_controls(file)} is not there"
        raise CheckpointError(message, "create it first")
    return os.path.join(folder, os.path.basename(path))


def request_databases(
    workspace: Workspace,
    urls: Sequence[str],
    tables: Sequence[str] = (),
) -> list[PartRequest]:
    """Return requests for databases. tables: of the one PostgreSQL database; none for all.

    urls: sqlite:///path (from cwd, inside the workspace) or postgresql://user@host/name.
    """
    if tables and len(urls) != 1:
        hint = "make one restore point for each database"
        raise CheckpointError("--table goes with one --database", hint)
    return [_request_database(workspace, url, tables) for url in urls]


def _request_database(workspace: Workspace, url: str, tables: Sequence[str]) -> PartRequest:
    scheme = url.partition(":")[0].partition("+")[0].lower()
    if scheme in ("postgresql", "postgres"):
        from checkpoint_git.protocols.restore.mechanisms import postgresql

        return postgresql.request_database(url, tables)

    if scheme != "sqlite":
        shown = escape_controls(shorten(scheme, 40))  # the rest may hold a password
        message = f'databases of the kind "{shown}" are not known'
        raise CheckpointError(message, "sqlite:///path or postgresql://...")

    if tables:
        message = "an SQLite database is kept whole, and not by tables"
        raise CheckpointError(message, "leave --table out")

    return _request_sqlite(workspace, url)


def _request_sqlite(workspace: Workspace, url: str) -> PartRequest:
    shown = escape_controls(shorten(hide_in_value(url), 100))
    rest = url.partition(":")[2]
    named = rest.removeprefix("///")
    has_options = "?" in named and not os.path.isfile(os.path.join(workspace.cwd, named))
    if not rest.startswith("///") or not named or named == ":memory:" or has_options:
        hint = "write sqlite:///app.db, or sqlite:////srv/app.db"
        raise CheckpointError(f"{shown} names no database file", hint)

    path = path_below(workspace.root, os.path.normpath(os.path.join(workspace.cwd, named)))
    if path is None or not is_plain_path(path):
        message = f"{shown} is outside the workspace"
        raise CheckpointError(message, "restore points stay inside it")

    check_not_sensitive(path, url)
    return PartRequest("sqlite", f"sqlite:///{path}", {"path": path})


def read_parts(manifest: Mapping[str, Any], within: Sequence[str] | None = None) -> list[Part]:
    """Return the parts of a manifest, databases first. within: their names; None for all."""
    found = [read_part(value) for value in manifest.get("parts", [])]
    if within is not None:
        found = [part for part in found if part.name in within]
    return sorted(found, key=lambda part: part.kind == "state")


def find_claimed(parts: Iterable[Part | PartRequest]) -> frozenset[str]:
    """Return the files of SQLite databases: only SQLite knows when they are whole."""
    claimed: set[str] = set()
    for part in parts:
        if part.kind == "sqlite":
            path = str(part.details["path"])
            claimed.add(path)
            claimed.update(path + side for side in SQLITE_SIDES)
    return frozenset(claimed)


def find_warnings(root: str, requests: Iterable[PartRequest], files: Sequence[str]) -> list[str]:
    """Return warnings about passwords, and about databases among the files of a scope."""
    warnings = []
    for request in requests:
        if request.details.get("password") and not request.may_lack:
            warning = f"the password of {request.name} is not kept, and going back needs it in "
            warning += "PGPASSWORD or ~/.pgpass; "
            warning += "in a command line other users of this machine can read it"
            warnings.append(warning)

    known = frozenset(files)
    databases = []
    for path in files:
        has_sides = not known.isdisjoint(path + side for side in SQLITE_SIDES)
        if has_sides or _is_database(os.path.join(root, path)):
            databases.append(path)

    for path in databases[:_WARNED]:
        shown = escape_controls(shorten(path, 100))
        warnings.append(
            "kept as files, which are inconsistent while being written: "
            f"--database sqlite:///{shown} keeps the database itself"
        )

    return warnings


def _is_database(path: str) -> bool:
    if not path.endswith(_DATABASE_ENDINGS):
        return False
    with suppress(OSError), open_plain(path) as stream:
        return stream.read(16) == b"SQLite format 3\0"
    return False


def choose_type(requests: Iterable[PartRequest]) -> str:
    """Return the type of a point that holds only these parts."""
    types = {TYPES[request.kind] for request in requests}
    if "database_savepoint" in types:
        return "database_savepoint"
    return "state_snapshot"


def capture(location: Location, requests: Sequence[PartRequest]) -> list[Part]:
    """Keep states and databases in a point's folder, databases first. Raises CheckpointError."""
    names = [request.name for request in requests]
    for name in names:
        if names.count(name) > 1:
            hint = "name each state and each database once"
            raise CheckpointError(f"{name} is named twice", hint)

    if requests:
        os.mkdir(os.path.join(location.folder, layout.PARTS), 0o700)

    parts = []
    ordered = sorted(requests, key=lambda request: request.kind == "state")
    for number, request in enumerate(ordered):
        content = f"{layout.PARTS}/{number:02d}.{_ENDINGS[request.kind]}"
        parts.append(open_mechanism(request.kind).capture(location, request, content))

    return parts


def find_damage(location: Location, parts: Iterable[Part]) -> list[str]:
    """Return the names of parts whose content is lost or changed."""
    return [part.name for part in parts if part.content and not _is_whole(location, part)]


def _is_whole(location: Location, part: Part) -> bool:
    path = content_path(location, part)
    with suppress(OSError):
        if not os.path.isfile(path) or os.path.islink(path):
            return False
        return os.path.getsize(path) == part.size and hash_file(path) == part.sha256
    return False


def find_differing(location: Location, parts: Iterable[Part], means: Means) -> list[Part]:
    """Return the parts that are not there now as the point holds them."""
    differing = []
    for part in parts:
        if not open_mechanism(part.kind).is_as_kept(location, part, means):
            differing.append(part)
    return differing


def find_comparable(parts: Iterable[Part], means: Means) -> list[str]:
    """Return the names of parts that can be compared; a state that is handed over cannot."""
    is_handed_over = means.hand_over is not None
    return [part.name for part in parts if part.kind != "state" or not is_handed_over]


def request_present(location: Location, parts: Iterable[Part], means: Means) -> list[PartRequest]:
    """Return requests for what is there now, as far as that can be known."""
    requests = []
    for part in parts:
        request = open_mechanism(part.kind).request_present(location, part, means)
        if request:
            requests.append(request)
    return requests


def find_prerequisites(parts: Iterable[Part]) -> list[str]:
    """Return what must be true before parts can be restored, in sentences."""
    sentences = []
    for part in parts:
        sentences += open_mechanism(part.kind).find_prerequisites(part)
    return sentences
