"""Plan the steps of init for git's configuration, .gitattributes and the folder of checkpoints."""

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, advise, chain
from checkpoint_git.core.managed_block import Note, has_block, has_new_folder
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.leftovers import find_leftovers
from checkpoint_git.disk.read import read_own
from checkpoint_git.git import attributes
from checkpoint_git.git import driver_settings as settings
from checkpoint_git.git.repository import Repository
from checkpoint_git.tools.setup.steps import (
    Deed,
    RemoveFile,
    RemoveSettings,
    SetupStep,
    WriteFile,
    WriteSetting,
    removal_step,
    write_step,
)
from checkpoint_git.tools.setup.survey import FileState, Survey

README = "README.md"  # in .checkpoints
# update: of a bare repository
HookChoice = Literal["auto", "native", "config", "pre-commit", "none", "update"]

_SHOWN = 72  # characters of a setting in the report
RECORDED = ("none", "config")  # choices that git's configuration keeps
# nobody resolves a conflict where no files are checked out
_FOR_WORK_TREES = (settings.MERGETOOL, settings.MERGETOOL_TRUST)


class WantedSetup(NamedTuple):
    """settings: git configuration by key.
    adopt: take over files that another checkpoint merge driver handles now.
    others: patterns of JSON files that are not checkpoints. others_driver: their merge driver in
    this clone; other clones have the one without a schema.
    agreed: their schema as .gitattributes names it, for other clones to accept; "" for none.
    """

    settings: Mapping[str, str]
    hooks: HookChoice = "auto"
    adopt: bool = False
    others: tuple[str, ...] = ()
    others_driver: str = attributes.DRIVER
    agreed: str = ""


def plan_leftovers(repository: Repository) -> list[SetupStep]:
    """Return the steps that remove what earlier versions cached in the git directories."""
    steps = []
    for found in find_leftovers((repository.common_dir, repository.git_dir)):
        change = RemoveFile(found.path, found.name.count("/"))
        text = "a cache of an earlier version"
        steps.append(SetupStep("remove", f".git/{found.name}", text, change))
    return steps


def plan_settings(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    """Return the steps for git's configuration; a driver or tool that somebody else defined under
    our name is left alone.
    """
    foreign = settings.foreign_sections(survey.settings) or ("\0",)
    left_out = _FOR_WORK_TREES if survey.place.bare else ()
    taken = [key for key in settings.COMMANDS if key.startswith(foreign) and key not in left_out]
    steps = [_leave_setting(survey, key) for key in taken]
    for key, value in wanted.settings.items():
        if not key.startswith(foreign) and key not in left_out:
            steps.append(plan_setting(survey, key, value))

    # the doctor and the next init have to know that no hook files are wanted
    if wanted.hooks in RECORDED:
        steps.append(plan_setting(survey, settings.HOOKS, wanted.hooks))
    elif wanted.hooks != "auto" and settings.HOOKS in survey.settings:
        steps.append(SetupStep("remove", settings.HOOKS, change=RemoveSettings((settings.HOOKS,))))

    stale = [key for key in survey.settings if key.startswith(settings.HOOK_SECTION)]
    if stale and wanted.hooks not in ("auto", "config"):
        steps.append(SetupStep("remove", ", ".join(stale), change=RemoveSettings(stale)))
    return steps


def _leave_setting(survey: Survey, key: str) -> SetupStep:
    hint: AnyHint = ""
    if key in survey.settings:
        unset = ("git", "config", "--unset-all", key)
        hint = chain("to use ours", (unset, ("checkpoint", "init")))
    return SetupStep("skip", key, "is defined by something else", hint=hint)


def plan_setting(survey: Survey, key: str, value: str) -> SetupStep:
    """Return the step that gives a key of git's configuration a value."""
    present = survey.settings.get(key)
    if present == value:
        return SetupStep("keep", key)
    deed: Deed = "add" if present is None else "update"
    return SetupStep(deed, key, shorten(value, _SHOWN), WriteSetting(key, value))


def plan_attributes(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    """Return the steps that give checkpoints, and the wanted other files, to the merge driver.

    git reads .gitattributes from the side that is checked out: on a branch older than our lines
    it would never start the driver (measured). info/attributes counts on every branch and in every
    linked worktree.
    """
    files = attribute_files(survey)
    named = []
    for label, state in files:
        for number in attributes.find_other_driver(state.data or b""):
            named.append(f"{label}:{number}")

    if (named or survey.merge_attribute == attributes.OTHER_DRIVER) and not wanted.adopt:
        where = ", ".join(named) or "an attributes file"
        driver = f"the merge driver {attributes.OTHER_DRIVER}"
        text = f"{where} gives checkpoints to {driver}, so ours is not used"
        hint = advise("to replace it", "checkpoint", "init", "--adopt")
        return [SetupStep("skip", files[0][0], text, hint=hint)]

    steps = []
    for label, state in files:
        others = dict.fromkeys(wanted.others, wanted.others_driver)
        if label == attributes.FILE:
            others = _find_shared_drivers(state, wanted)
        steps.append(_plan_attributes_file(label, state, others))

    return steps


def attribute_files(survey: Survey) -> list[tuple[str, FileState]]:
    """Return the attributes files by the names that are shown; a bare repository has one."""
    info = (shown_path(survey, survey.info.path), survey.info)
    if survey.place.bare:
        return [info]
    return [(attributes.FILE, survey.attributes), info]


def _find_shared_drivers(state: FileState, wanted: WantedSetup) -> dict[str, str]:
    """Return the merge driver that .gitattributes names for each of the other patterns."""
    if wanted.agreed:
        return dict.fromkeys(wanted.others, f"{attributes.DRIVER} {wanted.agreed}")
    known = attributes.find_others(state.data or b"")
    return {pattern: known.get(pattern, attributes.DRIVER) for pattern in wanted.others}


def _plan_attributes_file(label: str, state: FileState, others: Mapping[str, str]) -> SetupStep:
    """Return the step for an attributes file. others: the driver of each other pattern."""
    other_lines = [f"{name} merge={driver}" for name, driver in others.items()]
    lines = "; ".join([*attributes.attribute_lines(), *other_lines])
    if state.blocked:
        return SetupStep("skip", label, f"{state.blocked}; add to it: {lines}")

    try:
        after = _write_attributes(state, others)
    except CheckpointError as error:
        return SetupStep("skip", label, error.message, hint=error.hint)

    text = lines
    if state.lost is not None:
        text = "it was deleted: as git has it, with our lines"
    return write_step(label, state.path, state.data, after, text)


def _write_attributes(state: FileState, others: Mapping[str, str]) -> bytes:
    """Return the file with our lines. Raises CheckpointError if our block's marks are broken."""
    data = state.lost if state.data is None else state.data
    if data is None:
        notes: tuple[Note, ...] = ("new folder",) if state.missing_folders else ()
        return attributes.add_attributes(None, notes, others)

    after = attributes.adopt_lines(data)
    is_by_hand = attributes.has_attributes(data) and not has_block(data)
    if is_by_hand and not others:
        return after
    return attributes.add_attributes(after, others=others)


def plan_attributes_removal(label: str, state: FileState) -> list[SetupStep]:
    """Return the step that removes our lines from an attributes file, if it has any."""
    if state.data is None:
        return []
    try:
        after = attributes.remove_attributes(state.data)
        folders = int(has_new_folder(state.data))
    except CheckpointError as error:
        return [SetupStep("skip", label, error.message, hint=error.hint)]
    if after == state.data:
        return []
    return [removal_step(label, state.path, after, folders=folders)]


def shown_path(survey: Survey, path: str) -> str:
    return path.removeprefix(survey.place.work_tree + os.sep)


def plan_folder(place: Place) -> SetupStep:
    path = os.path.join(place.directory, README)
    label = os.path.relpath(path, place.top)
    if os.path.lexists(path):
        return SetupStep("keep", label)
    return SetupStep("add", label, "", WriteFile(path, load_readme()))


def load_readme() -> bytes:
    return read_own(__file__, "templates", "checkpoints-readme.md").encode()
