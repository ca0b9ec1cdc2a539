"""The changes that init and uninstall have planned, made; and their steps as lines for a person and as data."""

import os
from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.outcome import Line, Style
from checkpoint_git.disk.atomic import make_folder, remove_file, write_error, write_file
from checkpoint_git.disk.lock import remove_lock
from checkpoint_git.git.history.index import remove_index
from checkpoint_git.git.repository import Repository, remove_settings, write_setting
from checkpoint_git.tools.setup.steps import (
    Change,
    Deed,
    RemoveFile,
    RemoveFolder,
    RemoveIndex,
    RemoveLock,
    RemoveSettings,
    Step,
    WriteFile,
    WriteSetting,
)

_WORDS: dict[Deed, tuple[str, str, Style]] = {
    "add": ("added", "would add", "good"),
    "update": ("updated", "would update", "good"),
    "remove": ("removed", "would remove", "good"),
    "keep": ("already there", "already there", "dim"),
    "skip": ("left alone", "would leave alone", "warn"),
    "advise": ("for you to do", "for you to do", "warn"),
}


def apply_steps(steps: Sequence[Step], place: Repository | None) -> None:
    """Makes every change in order. place: None outside git, where no step changes a setting."""
    for step in steps:
        if step.change is not None:
            _apply_change(step.change, place)


def describe_steps(steps: Sequence[Step], *, dry_run: bool) -> list[Line]:
    """One line a step."""
    return [_describe(step, dry_run) for step in steps]


def steps_data(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The same as JSON: what was done ("add", "update", "remove", "keep", "skip", "advise"), to what, and details."""
    return [{"deed": step.deed, "what": step.what, "text": step.text} for step in steps]


def _describe(step: Step, dry_run: bool) -> Line:
    done, planned, style = _WORDS[step.deed]
    words = f"{planned if dry_run else done}: {step.what}"
    return Line(f"{words} ({step.text})" if step.text else words, style)


def _apply_change(change: Change, place: Repository | None) -> None:
    match change:
        case WriteFile(path, data, executable):
            make_folder(os.path.dirname(path))
            write_file(path, data)
            if executable:
                _make_executable(path)
        case RemoveFile(path, folder):
            remove_file(path)
            _remove_empty_folders(os.path.dirname(path), folder)
        case RemoveFolder(path):
            _remove_empty_folders(path, 1)
        case RemoveLock(path):
            remove_lock(path)
        case RemoveIndex(folder):
            remove_index(folder)
        case WriteSetting(key, value):
            assert place is not None
            write_setting(place, key, value)
        case RemoveSettings(keys):
            assert place is not None
            remove_settings(place, keys)


def _make_executable(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
        os.chmod(path, mode | (mode & 0o444) >> 2)
    except OSError as error:
        raise write_error(path, error) from None


def _remove_empty_folders(path: str, count: int) -> None:
    for _ in range(count):
        try:
            os.rmdir(path)
        except OSError:
            return  # something else lies in it, which is none of ours
        path = os.path.dirname(path)
