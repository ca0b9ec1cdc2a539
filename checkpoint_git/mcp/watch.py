"""What lies in the folder of checkpoints, and what changed since it was looked at last. It opens no checkpoint."""

import os
from typing import NamedTuple
from urllib.parse import quote, unquote

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import skill_layout

SCHEME = "checkpoint://"
MIME_TYPE = "application/json"
MOST = 10_000  # checkpoints that are told of

# size of a file, its time and number: another write changes one of them
Mark = tuple[int, int, int]
Snapshot = dict[str, Mark]


class Change(NamedTuple):
    """listed: whether skills came or went. skills: those whose file is new, gone or another."""

    listed: bool
    skills: list[str]


def find_uri(skill: str) -> str:
    """The resource of a skill's checkpoint."""
    return SCHEME + quote(skill, safe="")


def find_skill(uri: str) -> str:
    """The skill that a URI names, "" where it is none of ours."""
    if not uri.startswith(SCHEME):
        return ""
    name = unquote(uri.removeprefix(SCHEME).rstrip("/"))
    return "" if skill_layout().find_name_trouble(name) else name


def take_snapshot(cwd: str) -> Snapshot:
    """Every checkpoint by its skill; {} where there is no folder, or it cannot be read."""
    try:
        place = find_place(cwd)
        entries = sorted(os.scandir(place.directory), key=lambda entry: entry.name)
    except (CheckpointError, OSError):
        return {}
    found: Snapshot = {}
    for entry in entries:
        skill = skill_layout().find_skill(entry.name)
        if not skill or skill_layout().find_name_trouble(skill) or len(found) >= MOST:
            continue
        try:
            state = entry.stat()
        except OSError:  # it went meanwhile
            continue
        found[skill] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found


def find_change(before: Snapshot, after: Snapshot) -> Change:
    """What is different."""
    skills = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return Change(before.keys() != after.keys(), skills)
