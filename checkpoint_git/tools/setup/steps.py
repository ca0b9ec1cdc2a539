"""The steps of init and uninstall as values, each with a description and at most one change, and
how they are applied.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.hint import AnyHint, command, describe_hint
from checkpoint_git.core.outcome import Line, Style
from checkpoint_git.disk.atomic import (
    create_file,
    make_folder,
    remove_file,
    remove_stray_files,
    reporting,
    write_file,
)
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.disk.lock import hold_passing_lock
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.repository import Repository, remove_settings, write_setting
from checkpoint_git.git.run import clean_env, read_names

Deed = Literal["add", "update", "remove", "keep", "skip", "advise"]


class WriteFile(NamedTuple):
    path: str  # its folder is made
    data: bytes
    executable: bool = False


class RemoveFile(NamedTuple):
    path: str
    folders: int = 0  # how many folders above it go too, once they are empty


class RemoveLock(NamedTuple):
    path: str


class WriteSetting(NamedTuple):
    key: str
    value: str


class RemoveSettings(NamedTuple):
    keys: Sequence[str]


Change = WriteFile | RemoveFile | RemoveLock | WriteSetting | RemoveSettings


class SetupStep(NamedTuple):
    deed: Deed
    what: str  # a file or a key, relative to the work tree where it is inside
    text: str = ""
    change: Change | None = None
    hint: AnyHint = ""  # what the user may do about it


def write_step(what: str, path: str, before: bytes | None, after: bytes, text: str) -> SetupStep:
    """Return the step that gives a file its content; a "keep" if it has that. before: None if
    there is no file.
    """
    if after == before:
        return SetupStep("keep", what)
    deed: Deed = "add" if before is None else "update"
    return SetupStep(deed, what, text, WriteFile(path, after))


def removal_step(
    what: str, path: str, after: bytes | None, text: str = "", *, folders: int = 0
) -> SetupStep:
    """Return the step that removes our part of a file. after: the rest, None to remove the file.
    text: the reason.
    """
    if after is None:
        return SetupStep("remove", what, text, RemoveFile(path, folders))
    return SetupStep("remove", what, text or "our lines; the rest stays", WriteFile(path, after))


def leave_hidden(steps: Sequence[SetupStep], top: str, env: Mapping[str, str]) -> list[SetupStep]:
    """Return the steps, with a "skip" for each new file that git tracks and that is not checked
    out: the step would take its place.
    """
    real = os.path.realpath(top)
    new_files: dict[str, str] = {}
    for step in steps:
        if isinstance(step.change, WriteFile) and not os.path.lexists(step.change.path):
            path = step.change.path
            name = relative_path(os.path.realpath(path), real)
            # the git directory may be elsewhere, and git answers nothing for a path outside
            if not os.path.isabs(name):
                new_files[path] = name
    if not new_files:
        return list(steps)

    words = ["--literal-pathspecs", "ls-files", "-t", "-z", "--", *new_files.values()]
    listed = read_names(words, top, env=clean_env(env), check=False)
    hidden = {line.removeprefix("S ") for line in listed if line.startswith("S ")}

    kept = []
    for step in steps:
        name = ""
        if isinstance(step.change, WriteFile):
            name = new_files.get(step.change.path, "")
        if name in hidden:
            fix = command("git", "sparse-checkout", "add", os.path.dirname(name) or f"/{name}")
            text = "git tracks it, but it is not checked out"
            step = SetupStep("skip", step.what, text, hint=fix)
        kept.append(step)

    return kept


_WORDS: dict[Deed, tuple[str, str, Style]] = {
    "add": ("added", "would add", "good"),
    "update": ("updated", "would update", "good"),
    "remove": ("removed", "would remove", "good"),
    "keep": ("already there", "already there", "dim"),
    "skip": ("left alone", "would leave alone", "warn"),
    "advise": ("for you to do", "for you to do", "warn"),
}


# names of steps that change this clone alone
PRIVATE = re.compile(r"\.git/|(checkpoint|diff|hook|merge|mergetool)\.(?!json\b)")


def describe_steps(steps: Sequence[SetupStep], *, dry_run: bool) -> list[Line]:
    lines = []
    for step in steps:
        done, planned, style = _WORDS[step.deed]
        text = f"{done}: {step.what}"
        if dry_run:
            text = f"{planned}: {step.what}"
        if step.text:
            text = f"{text} ({step.text})"
        lines.append(Line(text, style, hint=step.hint))
    return lines


def steps_data(steps: Sequence[SetupStep]) -> list[dict[str, Any]]:
    """Return the steps as JSON has them; one with a hint has its commands as words too."""
    rows: list[dict[str, Any]] = []
    for step in steps:
        row: dict[str, Any] = {"deed": step.deed, "what": step.what, "text": step.text}
        if step.hint:
            row |= describe_hint(step.hint)
        rows.append(row)
    return rows


# in the git directory that all work trees share, as the configuration is
_LOCK = "checkpoint-setup.lock"
JOURNAL = "checkpoint-setup.journal"  # in a work tree's own git directory
_OURS, _THEIRS = "+", "="  # a folder that goes when it is empty; one that stays


@contextmanager
def setup_lock(repository: Repository | None) -> Iterator[None]:
    """Hold the lock of a set-up, after clearing what a killed one left: an empty folder, half a
    file. repository: None for no lock.

    Sessions of several agents start at once, and each may run init: the steps of two must not mix.
    """
    if repository is None or not os.access(repository.common_dir, os.W_OK):
        yield
        return
    with hold_passing_lock(os.path.join(repository.common_dir, _LOCK)):
        path = os.path.join(repository.git_dir, JOURNAL)
        remove_stray_files(repository.git_dir)
        clear_folders(_list_left(path, repository.work_tree))
        remove_quietly(path)
        yield


def _list_left(journal: str, work_tree: str) -> list[str]:
    """Return the folders of a journal, as clear_folders takes them; [] if there is no journal."""
    folders = []
    for name in os.fsdecode(read_if_there(journal) or b"").split("\0"):
        if name:
            folders.append(name[0] + os.path.normpath(os.path.join(work_tree, name[1:])))
    return folders


def apply_steps(steps: Sequence[SetupStep], repository: Repository | None) -> None:
    """Apply the changes of steps. repository: None outside git, where no step changes a setting.

    A journal has the folders that steps make or empty, so that the next set-up clears them if this
    one is killed.
    """
    folders = find_folders(steps)
    journal = ""
    if repository and folders:
        journal = os.path.join(repository.git_dir, JOURNAL)
        write_file(journal, _write_journal(folders, repository.work_tree))

    try:
        for step in steps:
            if step.change is not None:
                _apply_change(step.change, repository)
    finally:
        clear_folders(folders)
        if journal:
            remove_quietly(journal)


def _write_journal(folders: Sequence[str], work_tree: str) -> bytes:
    entries = [f"{folder[0]}{os.path.relpath(folder[1:], work_tree)}" for folder in folders]
    return os.fsencode("\0".join(entries))


def _apply_change(change: Change, repository: Repository | None) -> None:
    match change:
        case WriteFile(path, data, executable):
            make_folder(os.path.dirname(path))
            if not (executable and create_file(path, data, 0o777)):
                write_file(path, data)
            if executable:
                with reporting(path):
                    mode = os.stat(path).st_mode
                    os.chmod(path, mode | (mode & 0o444) >> 2)
        case RemoveFile(path, folders):
            remove_file(path)
            _remove_empty_folders(os.path.dirname(path), folders)
        case RemoveLock(path):
            with hold_passing_lock(path):
                pass  # and its file is gone
        case WriteSetting(key, value):
            assert repository is not None
            write_setting(repository, key, value)
        case RemoveSettings(keys):
            assert repository is not None
            remove_settings(repository, keys)


def _remove_empty_folders(path: str, count: int) -> None:
    for _ in range(count):
        try:
            os.rmdir(path)
        except OSError:
            return  # not empty: something in it is not ours
        path = os.path.dirname(path)


def find_folders(steps: Sequence[SetupStep]) -> list[str]:
    """Return the folders that steps make or empty, each behind a mark: _OURS or _THEIRS."""
    found = dict[str, str]()
    for step in steps:
        if isinstance(step.change, WriteFile):
            folder = os.path.dirname(step.change.path)
            while not os.path.isdir(folder):
                found[folder] = _OURS
                folder = os.path.dirname(folder)
            found.setdefault(folder, _THEIRS)
        elif isinstance(step.change, RemoveFile):
            folder = os.path.dirname(step.change.path)
            for _ in range(step.change.folders):
                found[folder] = _OURS
                folder = os.path.dirname(folder)

    return [f"{mark}{folder}" for folder, mark in found.items()]


def clear_folders(folders: Sequence[str]) -> None:
    """Remove the temporary files of killed writers, and those of our folders that are empty."""
    for folder in sorted(folders, key=len, reverse=True):  # the inner ones first
        remove_stray_files(folder[1:])
        if folder.startswith(_OURS):
            _remove_empty_folders(folder[1:], 1)
