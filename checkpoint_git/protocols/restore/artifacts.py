"""The parts of a point together: kept, checked, compared, put back in one order. The how is the mechanisms'."""

import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.restore import store
from checkpoint_git.protocols.restore.artifact import (
    FOLDER,
    TYPES,
    Means,
    Part,
    PartMechanism,
    Wanted,
    is_within,
    read_part,
)
from checkpoint_git.protocols.restore.mechanism import Held, Tell

_ENDINGS = {"state": "json", "sqlite": "sqlite", "postgresql": "dump"}
_SIDES = ("", "-wal", "-shm", "-journal")


def open_part_mechanism(kind: str) -> PartMechanism:
    """The module that keeps parts of this kind."""
    if kind == "state":
        from checkpoint_git.protocols.restore.mechanisms import state_snapshot

        return state_snapshot
    if kind == "sqlite":
        from checkpoint_git.protocols.restore.mechanisms import sqlite

        return sqlite
    from checkpoint_git.protocols.restore.mechanisms import postgresql

    return postgresql


def read_parts(manifest: store.Manifest, within: Sequence[str] | None = None) -> list[Part]:
    """The parts that a trusted manifest tells of, in the order in which they are put back."""
    found = [read_part(value) for value in manifest.value.get("parts", [])]
    chosen = [part for part in found if is_within(part.name, within)]
    return sorted(chosen, key=lambda part: part.kind == "state")


def find_claimed(parts: Sequence[Part | Wanted]) -> frozenset[str]:
    """The files that are no files of the scope, since a database owns them: it alone knows when they are whole."""
    paths = [str(part.details["path"]) for part in parts if part.kind == "sqlite"]
    return frozenset(path + side for path in paths for side in _SIDES)


def find_warnings(wanted: Sequence[Wanted]) -> list[str]:
    """What a user should know of what is asked for."""
    text = "the password of {} is not kept, and going back needs it in PGPASSWORD or ~/.pgpass; {}"
    seen = "in a command line other users of this machine can read it"
    return [text.format(one.name, seen) for one in wanted if one.details.get("password") and not one.may_lack]


def find_half_kept(root: str, paths: Sequence[str]) -> list[str]:
    """A warning where SQLite databases are among the files of a scope: a writer may leave them half written there."""
    there = set(paths)
    found = [path for path in paths if any(path + side in there for side in _SIDES[1:]) or _is_database(root, path)]
    text = "kept as files, which are not whole while somebody writes: --database sqlite:///{} keeps the database itself"
    return [text.format(escape_controls(shorten(path, 100))) for path in found[:3]]


def _is_database(root: str, path: str) -> bool:
    if not path.endswith((".db", ".sqlite", ".sqlite3", ".db3")):
        return False
    try:
        with open(os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            return stream.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def choose_type(parts: Sequence[Wanted]) -> str:
    """The type of a point that holds no files."""
    types = {TYPES[part.kind] for part in parts}
    return "database_savepoint" if "database_savepoint" in types else "state_snapshot"


def capture_parts(held: Held, wanted: Sequence[Wanted], tell: Tell) -> list[Part]:
    """Keeps them all, databases before states. Raises CheckpointError for two of one name."""
    names = [one.name for one in wanted]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CheckpointError(f"{twice} is named twice", "name each state and each database once")
    if wanted:
        os.mkdir(os.path.join(held.folder, FOLDER), 0o700)
    parts = []
    for number, one in enumerate(sorted(wanted, key=lambda each: each.kind == "state")):
        content = f"{FOLDER}/{number:02d}.{_ENDINGS[one.kind]}"
        parts.append(open_part_mechanism(one.kind).capture(held, one, content, tell))
    return parts


def read_small_contents(held: Held, parts: Sequence[Part]) -> dict[str, bytes]:
    """The states' content, which goes into git beside the manifest; databases do not (name -> bytes)."""
    contents = {}
    for part in parts:
        if part.kind == "state" and part.content:
            with open(os.path.join(held.folder, part.content), "rb") as stream:
                contents[part.content] = stream.read()
    return contents


def find_damage(held: Held, parts: Sequence[Part]) -> dict[str, str]:
    """What is wrong with kept parts: name -> a sentence."""
    troubles = {part.name: open_part_mechanism(part.kind).find_damage(held, part) for part in parts}
    return {name: trouble for name, trouble in troubles.items() if trouble}


def check_ready(held: Held, parts: Sequence[Part], means: Means) -> None:
    """Raises CheckpointError where one of them could not be put back now."""
    for part in parts:
        open_part_mechanism(part.kind).check_ready(held, part, means)


def find_differing(held: Held, parts: Sequence[Part], means: Means) -> list[Part]:
    """Those that are not as they were kept."""
    return [part for part in parts if not open_part_mechanism(part.kind).is_as_kept(held, part, means)]


def want_present(held: Held, parts: Sequence[Part], means: Means) -> list[Wanted]:
    """How to keep what is there now in their places."""
    found = [open_part_mechanism(part.kind).want_present(held, part, means) for part in parts]
    return [one for one in found if one is not None]


def restore_parts(held: Held, parts: Sequence[Part], means: Means, *, states: bool) -> list[str]:
    """Puts back the states, or the databases. Returns sentences on what the user should know."""
    told: list[str] = []
    for part in parts:
        if (part.kind == "state") == states:
            told += open_part_mechanism(part.kind).restore(held, part, means)
    return told


def write_lines(parts: Sequence[Part], *, states: bool) -> str:
    """The lines of restore.sh for the states, or for the databases."""
    return "".join(
        open_part_mechanism(part.kind).write_lines(part) for part in parts if (part.kind == "state") == states
    )


def find_prerequisites(parts: Sequence[Part]) -> list[str]:
    """What must hold before they are put back."""
    return [text for part in parts for text in open_part_mechanism(part.kind).find_prerequisites(part)]
