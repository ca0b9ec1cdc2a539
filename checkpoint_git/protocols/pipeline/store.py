"""Find and list pipeline records on disk, and make their folders.

Nothing that has a record's name is ever changed, replaced or removed.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import (
    Place,
    check_way,
    find_repository,
    is_inside,
    relative_path,
)
from checkpoint_git.git.settings import PIPELINE_DIR, find_setting
from checkpoint_git.protocols.pipeline import layout
from checkpoint_git.protocols.pipeline.layout import RecordName


class Skipped(NamedTuple):
    path: str
    reason: str


class RunState(NamedTuple):
    """A run and its records.

    phases: those with a record, in order. attempts: the number of records. folder: relative to the
    project if inside it.
    """

    ticket_id: str
    run_id: str
    phases: list[str]
    attempts: int
    folder: str


def find_base(wished: str | None, cwd: str, env: Mapping[str, str]) -> str:
    """Return the folder of all records: as wished, as the setting names it, or the usual one."""
    if wished is not None:
        return wished
    named = read_setting(cwd, env, PIPELINE_DIR)
    if named:
        return named

    home = env.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        hint = "name the folder of the records: --base DIR"
        raise CheckpointError("the home folder is unknown", hint)
    return os.path.join(home, layout.BASE)


def read_setting(cwd: str, env: Mapping[str, str], name: str) -> str:
    from checkpoint_git.git.repository import read_all_settings
    from checkpoint_git.git.run import GitMissingError, run_git

    with suppress(GitMissingError):
        value = find_setting(read_all_settings(cwd, env), name)
        if not value or name != PIPELINE_DIR:
            return value
        # git resolves a ~ in it
        words = ["config", "--null", "--type=path", "--get", name]
        return os.fsdecode(run_git(words, cwd, env=env).out[:-1])

    return ""


def find_bases(place: Place, env: Mapping[str, str]) -> list[str]:
    """Return the folders of records that belong to a project, absolute."""
    bases = []
    for named in (layout.BASE, read_setting(place.top, env, PIPELINE_DIR)):
        base = os.path.normpath(os.path.join(place.top, named))
        if not named or base in bases or not os.path.isdir(base):
            continue
        # what a branch has linked elsewhere is not the project's
        is_below = base.startswith(f"{place.top}{os.sep}")
        if not is_below or is_inside(base, place.top):
            bases.append(base)

    return bases


def read_base(base: str, top: str) -> list[RunState]:
    runs = []
    for ticket in sorted(_list_folder(base, "", [])):
        if layout.find_ticket_trouble(ticket):
            continue
        for run in list_runs(base, ticket, []):
            names = list_names(base, ticket, run, [])
            phases = list(dict.fromkeys(name.phase for name in names))
            folder = relative_path(os.path.join(base, ticket, run), top)
            runs.append(RunState(ticket, run, phases, len(names), folder))

    return runs


def check_base(base: str) -> None:
    trouble = layout.find_base_trouble(base)
    if trouble:
        message = f'"{escape_controls(base)}" cannot be the base of the records: {trouble}'
        hint = "give an absolute path, such as ~/.claude/checkpoints written out"
        raise CheckpointError(message, hint)

    repository = find_repository(base)
    if repository:  # what a branch brings leads nowhere else
        check_way(base, repository[0])
    if os.path.lexists(base) and not os.path.isdir(base):
        message = f"{escape_controls(base)} is not a folder"
        raise CheckpointError(message, "name another with --base")


def list_runs(base: str, ticket_id: str, skipped: list[Skipped]) -> list[str]:
    """Return the runs that have a folder, sorted.

    skipped: gets other folders that contain records.
    """
    runs = []
    for name in sorted(_list_folder(base, ticket_id, skipped)):
        folder = f"{ticket_id}/{name}"
        if layout.is_run_folder(name):
            runs.append(name)
        elif any(layout.looks_like_record(file) for file in _list_folder(base, folder, [])):
            reason = "it contains records, but its name is not the UUID of a run"
            skipped.append(Skipped(folder, reason))

    return runs


def list_names(base: str, ticket_id: str, run_id: str, skipped: list[Skipped]) -> list[RecordName]:
    """Return the records of a run by their files' names, in order.

    skipped: gets files that only look like records.
    """
    folder = f"{ticket_id}/{run_id}"
    names = []
    for file_name in sorted(_list_folder(base, folder, skipped)):
        name = layout.parse_path(f"{folder}/{file_name}")
        if name is not None:
            names.append(name)
        elif layout.looks_like_record(file_name):
            reason = "its name is not phase_<ordinal>_<phase>_a<attempt>.yaml of a known phase"
            skipped.append(Skipped(f"{folder}/{file_name}", reason))

    return sorted(names, key=lambda name: (name.ordinal, name.phase, name.attempt))


def _list_folder(base: str, folder: str, skipped: list[Skipped]) -> list[str]:
    path = os.path.join(base, folder)
    is_link = os.path.islink(path) or os.path.islink(os.path.dirname(path))
    if is_link and not is_inside(path, base):
        skipped.append(Skipped(folder, "it is a symbolic link that leads out of the base"))
        return []

    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        skipped.append(Skipped(folder, "it is not a folder"))
    except OSError as error:
        skipped.append(Skipped(folder, f"it cannot be read: {error.strerror}"))

    return []


def prepare_folder(base: str, ticket_id: str, run_id: str) -> None:
    """Make a run's folder, for this user alone. Raises CheckpointError."""
    from checkpoint_git.disk import atomic

    folder = os.path.join(base, ticket_id, run_id)
    check_way(folder, base)
    atomic.make_folder(folder, layout.FOLDER_MODE)
    check_way(folder, base)  # again: somebody may have put a link there meanwhile
