"""States and databases as a user names them, read into what a restore point is asked to keep."""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore.artifact import Wanted
from checkpoint_git.protocols.restore.mechanisms.database_savepoint import want_database
from checkpoint_git.protocols.restore.mechanisms.state_snapshot import MAX_SIZE, PREFIX, check_key, want_state
from checkpoint_git.protocols.restore.points import World
from checkpoint_git.protocols.restore.rules import is_plain_path
from checkpoint_git.protocols.restore.sensitive import is_sensitive


def split_scope(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(paths, keys of states) of the operands. A file of such a name is written with ./ before it."""
    keys = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
    return [word for word in words if not word.startswith(PREFIX)], keys


def read_states(world: World, given: Sequence[str], keys: Sequence[str], stdin: TextIO) -> list[Wanted]:
    """The states of `--state KEY=FILE` ("-" is standard input). keys: those that the scope names, which must be given.

    Raises CheckpointError.
    """
    pairs = [_split_pair(word, "--state") for word in given]
    missing = [key for key in keys if key not in {name for name, _ in pairs}]
    if missing:
        key = check_key(missing[0])
        raise CheckpointError(
            f"the state {key} is not given", f"say what it is: --state {key}=FILE, or {key}=- for stdin"
        )
    if [file for _, file in pairs].count("-") > 1:
        raise CheckpointError("standard input can give one state only", "write the others into files")
    return [_read_state(world, key, file, stdin) for key, file in pairs]


def _split_pair(word: str, option: str) -> tuple[str, str]:
    key, equals, file = word.partition("=")
    if not equals or not file:
        shown = escape_controls(shorten(word, 60))
        raise CheckpointError(f'{option} takes KEY=FILE, not "{shown}"', f"write it like {option} run=state.json")
    return check_key(key), file


def _read_state(world: World, key: str, file: str, stdin: TextIO | None) -> Wanted:
    if file == "-" and stdin is not None:
        return want_state(key, os.fsencode(stdin.read(MAX_SIZE + 1)))
    path, shown = os.path.normpath(os.path.join(world.cwd, file)), escape_controls(file)
    if is_sensitive(path):
        raise CheckpointError(f"{shown} holds secrets by its name", "secrets are never copied into a restore point")
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_SIZE + 1)
            mode = os.fstat(stream.fileno()).st_mode
    except OSError as error:
        raise CheckpointError(f"{shown} cannot be read: {error.strerror}", "name a file that holds the state") from None
    return want_state(key, data, _find_home(world.root, path), stat.S_IMODE(mode))


def _find_home(root: str, path: str) -> str | None:
    """The path below the workspace that a state goes back to; None where it lies elsewhere or behind a link."""
    for wall in (root, os.path.realpath(root)):
        below = path.removeprefix(wall.rstrip("/") + "/")
        if below != path and is_plain_path(below):
            here = os.path.join(os.path.realpath(root), below)
            return below if os.path.realpath(here) == here and os.path.isfile(here) else None
    return None


def read_targets(world: World, given: Sequence[str]) -> dict[str, str]:
    """`--state-to KEY=FILE` as key -> absolute path, its folder's links followed. Raises CheckpointError."""
    pairs = dict(_split_pair(word, "--state-to") for word in given)
    return {key: place_target(world.cwd, file) for key, file in pairs.items()}


def place_target(cwd: str, file: str) -> str:
    """Where a state is written to. Raises CheckpointError where its folder is not there."""
    path = os.path.normpath(os.path.join(cwd, file))
    folder = os.path.realpath(os.path.dirname(path))
    if not os.path.isdir(folder):
        raise CheckpointError(f"the folder of {escape_controls(file)} is not there", "make it first")
    return os.path.join(folder, os.path.basename(path))


def find_databases(world: World, urls: Sequence[str], tables: Sequence[str]) -> list[Wanted]:
    """The databases of `--database URL`. tables: of the one PostgreSQL database among them. Raises CheckpointError."""
    if tables and len(urls) != 1:
        raise CheckpointError("--table goes with one --database", "make one restore point for each database")
    return [want_database(world.root, world.cwd, url, tables) for url in urls]


def find_passwords(world: World, urls: Sequence[str]) -> dict[str, str]:
    """Name of a database -> the password that its URL holds. Raises CheckpointError for what is no URL."""
    wanted = find_databases(world, urls, ())
    return {one.name: str(one.details["password"]) for one in wanted if one.details.get("password")}


def keep_states(world: World, states: Mapping[str, Any]) -> list[Wanted]:
    """States that a caller has as values, or as paths of files. Raises CheckpointError where one cannot be JSON."""
    return [
        _read_state(world, check_key(key), os.fspath(value), None)
        if isinstance(value, os.PathLike)
        else want_state(key, _write_value(value))
        for key, value in states.items()
    ]


def _write_value(value: Any) -> bytes:
    import json

    try:
        return (json.dumps(value, allow_nan=False, indent=1) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"a state cannot be JSON: {error}", "give texts, numbers, lists and mappings") from None
