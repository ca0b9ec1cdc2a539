"""The plan of `checkpoint uninstall`: what of ours is there, and the step that takes each of it away. Pure."""

import os
from collections.abc import Iterable

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import find_block, has_block
from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.history.index import INDEX_FOLDER
from checkpoint_git.tools.setup import framework
from checkpoint_git.tools.setup.install_plan import attributes_label, plan_hook_removal
from checkpoint_git.tools.setup.steps import RemoveFile, RemoveIndex, RemoveLock, RemoveSettings, Step, WriteFile
from checkpoint_git.tools.setup.survey import FileState, Survey

# What other commands leave behind: a lock between writers.
_LEFT_FILES = (
    "checkpoint.lock",
    "checkpoint-restore.lock",
    ".lock",
)  # in a git directory; in .checkpoints, outside git
# in a git directory, made again when they are next needed
_MEMORIES = ("checkpoint/sheets.json", "checkpoint/merges", "checkpoint/primed.json")
_SESSIONS = "checkpoint/sessions"
_BACKUPS = "checkpoint/backups"


def plan_uninstall(survey: Survey) -> list[Step]:
    """Every step in the order in which it is to be made; nothing of ours there is an empty plan."""
    hooks = [step for hook in (*survey.hooks, *survey.left_hooks) for step in plan_hook_removal(survey, hook)]
    files = zip(attributes_label(survey), (survey.attributes, survey.info), strict=True)
    lines = [step for label, state in files for step in _plan_attributes_removal(label, state)]
    return [*hooks, *_plan_framework_removal(survey.framework), *lines, *_plan_settings_removal(survey)]


def plan_left_files(git_dir: str, names: list[str]) -> list[Step]:
    """The files that other commands left in a folder of ours; names: what lies in it."""
    left = [name for name in _LEFT_FILES if name in names]
    return [Step("remove", name, "", RemoveLock(os.path.join(git_dir, name))) for name in left]


def plan_memory_removal(common_dir: str, git_dir: str) -> list[Step]:
    """What was remembered to be quicker goes; what was replaced by mends stays, and is named.

    common_dir: the git directory that all work trees share. git_dir: this work tree's own.
    """
    places = dict.fromkeys((common_dir, git_dir))
    files = [(name, os.path.join(place, name)) for place in places for name in _MEMORIES]
    steps = [Step("remove", name, "", RemoveFile(path, folder=True)) for name, path in files if os.path.isfile(path)]
    folder = os.path.join(common_dir, INDEX_FOLDER)
    steps += _plan_sessions_removal(dict.fromkeys(places))
    steps += [Step("remove", INDEX_FOLDER, "", RemoveIndex(folder))] if os.path.isdir(folder) else []
    kept = "what `doctor --fix` replaced stays here until you delete it"
    return steps + [Step("keep", _BACKUPS, kept) for place in places if os.path.isdir(os.path.join(place, _BACKUPS))]


def _plan_sessions_removal(places: Iterable[str]) -> list[Step]:
    """The times of agents' sessions, see commands/session/record.py."""
    folders = [os.path.join(place, _SESSIONS) for place in places]
    files = [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
    names = [f"{_SESSIONS}/{os.path.basename(file)}" for file in files]
    return [Step("remove", name, "", RemoveFile(file, folder=2)) for name, file in zip(names, files, strict=True)]


def restored_config(data: bytes, unended: str) -> bytes | None:
    """The configuration as it was before git ended its last line for us; None when there is nothing to restore.

    unended: its length then, as init wrote it down.
    """
    size = int(unended) if unended.isdecimal() else -1
    return data[:-1] if data.endswith(b"\n") and len(data) == size + 1 else None


def _plan_attributes_removal(label: str, state: FileState) -> list[Step]:
    if state.data is None:
        return []
    try:
        block, after = find_block(state.data), attributes.remove_attributes(state.data)
    except CheckpointError as error:
        return [Step("skip", label, f"{error.message}: {error.hint}")]
    if after is None:
        folder = block is not None and "new folder" in block.notes
        return [Step("remove", label, "", RemoveFile(state.path, folder))]
    if after == state.data:
        return []
    return [Step("remove", label, "our lines; the rest stays", WriteFile(state.path, after))]


def _plan_framework_removal(state: FileState) -> list[Step]:
    if state.data is None or not has_block(state.data):
        return []
    after = framework.remove_entry(state.data)
    if after is None:
        return [Step("remove", framework.FILE, "", RemoveFile(state.path))]
    return [Step("remove", framework.FILE, "our entry; the rest stays", WriteFile(state.path, after))]


def _plan_settings_removal(survey: Survey) -> list[Step]:
    keys = driver_settings.find_own_settings(survey.settings)
    return [Step("remove", ", ".join(keys), "", RemoveSettings(keys))] if keys else []
