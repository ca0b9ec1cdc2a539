"""The plan of `checkpoint init`: from what is there and what is wanted to the steps that are missing. Pure."""

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import Note, has_block, is_damaged
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git import attributes
from checkpoint_git.git import driver_settings as settings
from checkpoint_git.tools.setup import framework, hook_files
from checkpoint_git.tools.setup.hook_files import HookFile
from checkpoint_git.tools.setup.steps import RemoveFile, RemoveSettings, Step, WriteFile, WriteSetting
from checkpoint_git.tools.setup.survey import FileState, Survey

HookChoice = Literal["auto", "native", "pre-commit", "none", "update"]  # update: of a bare repository

_SHOWN = 72  # characters of a setting in the report
_TRACKED = "part of the work tree: commit it, and the others get it too"


class Wanted(NamedTuple):
    """What the installation should look like.

    settings: git configuration by key. shims: the body of each hook's block, by name. adopt: take over files that
    another checkpoint merge driver handles now.
    """

    settings: Mapping[str, str]
    shims: Mapping[str, bytes]
    hooks: HookChoice = "auto"
    adopt: bool = False


def plan_install(survey: Survey, wanted: Wanted) -> list[Step]:
    """Every step in the order in which it is to be made; one that is there already is a "keep"."""
    return [*plan_settings_steps(survey, wanted), *plan_attributes(survey, wanted), *plan_hooks(survey, wanted)]


def plan_settings_steps(survey: Survey, wanted: Wanted) -> list[Step]:
    """The settings key by key; a driver or tool that somebody else defined under our name is left alone."""
    foreign = settings.foreign_sections(survey.settings)
    text = "is defined by something else; remove it with `git config --unset` and run this again"
    taken = [key for key in settings.COMMANDS if key.startswith(foreign or "\0")]
    steps = [Step("skip", key, text) for key in taken]
    values = {key: value for key, value in wanted.settings.items() if not key.startswith(foreign or "\0")}
    steps += [_setting_step(survey.settings.get(key), key, value) for key, value in values.items()]
    steps += _hooks_note_steps(survey, wanted)
    data = survey.git_config.data or b""
    if data and not data.endswith(b"\n") and any(step.change for step in steps):
        note = WriteSetting(settings.UNENDED_SIZE, str(len(data)))
        steps.append(Step("add", settings.UNENDED_SIZE, "the configuration's last line had no end", note))
    return steps


def _hooks_note_steps(survey: Survey, wanted: Wanted) -> list[Step]:
    """That no hooks are wanted is noted, so that neither the doctor nor the next init has to be told again."""
    noted = survey.settings.get(settings.HOOKS)
    if wanted.hooks == "none":
        return [_setting_step(noted, settings.HOOKS, "none")]
    if wanted.hooks != "auto" and noted is not None:
        return [Step("remove", settings.HOOKS, change=RemoveSettings((settings.HOOKS,)))]
    return []


def plan_attributes(survey: Survey, wanted: Wanted) -> list[Step]:
    """The lines in .gitattributes, and in info/attributes for branches that are older than those lines."""
    named = [
        f"{label}:{line.number}"
        for label, state in _attribute_files(survey)
        for line in attributes.find_other_driver(state.data or b"")
    ]
    other = named or survey.merge_attribute == attributes.OTHER_DRIVER
    if other and not wanted.adopt:
        where = ", ".join(named) or "an attributes file"
        text = f"{where} gives checkpoints to the merge driver {attributes.OTHER_DRIVER}, so ours stays unused"
        return [Step("skip", attributes.FILE, f"{text}; `checkpoint init --adopt` replaces it")]
    return [plan_attributes_file(label, state) for label, state in _attribute_files(survey)]


def plan_hooks(survey: Survey, wanted: Wanted) -> list[Step]:
    """The hooks where git looks for them, or advice where they are somebody else's business."""
    choice = wanted.hooks if wanted.hooks != "auto" else find_hook_choice(survey)
    if choice == "none":
        return [
            Step("keep", "hooks", "none, as you asked; nothing stops an invalid checkpoint but `checkpoint validate`")
        ]
    steps = [_framework_step(survey.framework), *_framework_reach(survey)] if choice == "pre-commit" else []
    if survey.folder.place in ("outside", "nowhere"):
        return [*steps, *_advise_on_hooks(survey, choice)]
    for hook in survey.hooks:
        if hook.name == "pre-commit" and choice == "pre-commit":
            steps += plan_hook_removal(survey, hook, "the pre-commit framework runs it now")
        else:
            steps.append(plan_hook(survey, hook, wanted.shims[hook.name]))
    return steps


def find_hook_choice(survey: Survey) -> HookChoice:
    """How hooks are installed unless somebody says otherwise, or said so to an earlier init."""
    if survey.settings.get(settings.HOOKS) == "none":
        return "none"
    return "native" if survey.framework.data is None and not survey.framework.blocked else "pre-commit"


def plan_hook_removal(survey: Survey, hook: HookFile, why: str = "") -> list[Step]:
    """The steps that take our block out of one hook, and out of the copy that the pre-commit framework keeps."""
    steps = []
    for path, data in ((hook.path, hook.data), (f"{hook.path}.legacy", hook.legacy)):
        label = shown_path(survey, path)
        if data is not None and has_block(data):
            steps.append(_removal_step(label, path, data, why))
        elif data is not None and b"checkpoint-git" in data and is_damaged(data):
            steps.append(Step("skip", label, "the marks of our block in it are damaged: take it out by hand"))
    return steps


def shown_path(survey: Survey, path: str) -> str:
    """A path as people read it: relative to the work tree where it lies there."""
    return path.removeprefix(survey.place.work_tree + os.sep)


def attributes_label(survey: Survey) -> tuple[str, str]:
    """How the two attributes files are called in a report."""
    return attributes.FILE, shown_path(survey, survey.info.path)


def _setting_step(present: str | None, key: str, value: str) -> Step:
    if present == value:
        return Step("keep", key)
    return Step("add" if present is None else "update", key, shorten(value, _SHOWN), WriteSetting(key, value))


def _attribute_files(survey: Survey) -> list[tuple[str, FileState]]:
    return list(zip(attributes_label(survey), (survey.attributes, survey.info), strict=True))


def plan_attributes_file(label: str, state: FileState) -> Step:
    """The step that brings our lines into one file; label: how the file is called in the report."""
    lines = "; ".join(attributes.attribute_lines())
    if state.blocked:
        return Step("skip", label, f"{state.blocked}; add to it: {lines}")
    try:
        after = _attributes_after(state)
    except CheckpointError as error:
        return Step("skip", label, f"{error.message}: {error.hint}")
    if after == state.data:
        return Step("keep", label)
    told = lines if state.lost is None else "it was deleted: as git has it, with our lines"
    return Step("update" if state.data else "add", label, told, WriteFile(state.path, after))


def _attributes_after(state: FileState) -> bytes:
    data = state.lost if state.data is None else state.data
    if data is None:
        return attributes.add_attributes(None, () if state.has_folder else ("new folder",))
    adopted = attributes.adopt_lines(data)
    by_hand = attributes.has_attributes(data) and not has_block(data)
    return adopted if by_hand else attributes.add_attributes(adopted)


def _framework_step(state: FileState) -> Step:
    entry = " / ".join(framework.entry_body().decode().splitlines())
    if state.blocked or is_damaged(state.data or b""):
        return Step("advise", framework.FILE, f"{state.blocked or 'our marks are damaged'}; add to its repos: {entry}")
    if state.data is None:
        return Step("add", framework.FILE, _TRACKED, WriteFile(state.path, framework.new_file()))
    if framework.has_entry(state.data) and framework.is_current(state.data):
        return Step("keep", framework.FILE)
    after = framework.add_entry(state.data)
    if after is None:
        return Step("advise", framework.FILE, f"its list of repos is written in a way we do not edit; add: {entry}")
    return Step("update", framework.FILE, f"a hook checkpoint-validate; {_TRACKED}", WriteFile(state.path, after))


def _framework_reach(survey: Survey) -> list[Step]:
    if any(hook.name == "pre-commit" and hook_files.is_framework_hook(hook) for hook in survey.hooks):
        return []
    return [
        Step("advise", "pre-commit", "the framework is configured but not installed here: run `pre-commit install`")
    ]


def _advise_on_hooks(survey: Survey, choice: HookChoice) -> list[Step]:
    where = survey.folder.path or "(nothing)"
    why = f"core.hooksPath is {where}, which is not part of this repository; nothing was installed there"
    names = [name for name in hook_files.HOOKS if not (name == "pre-commit" and choice == "pre-commit")]
    recipes = [hook_files.recipe(name, os.path.join(survey.folder.path or "hooks", name)) for name in names]
    return [
        Step("skip", "hooks", why),
        *(Step("advise", name, text) for name, text in zip(names, recipes, strict=True)),
    ]


def plan_hook(survey: Survey, hook: HookFile, body: bytes) -> Step:
    """The step that brings our block into one hook. body: what the block holds."""
    label, state = shown_path(survey, hook.path), hook_files.find_state(hook, body)
    if state in ("ours", "block"):
        return Step("keep", label)
    if state == "moved":
        return Step("keep", label, "the pre-commit framework runs ours from its .legacy copy")
    if state == "damaged":
        return Step("skip", label, "the marks of our block in it are damaged: take it out by hand and run this again")
    ours = hook.present and hook_files.is_ours_below(hook.data or b"")
    reason = "" if state == "missing" or ours else hook_files.why_not_extend(hook)
    if reason:
        return Step("skip", label, f"{reason}; {hook_files.recipe(hook.name, label)}")
    notes: tuple[Note, ...] = () if survey.folder.exists else ("new folder",)
    after = hook_files.put_into(hook.data, body, notes)
    if ours and not hook.interpreter:
        after = hook_files.renew_first_line(after)
    text = _TRACKED if survey.folder.place == "work tree" else ""
    text = text if state != "foreign" else "; ".join(filter(None, ["above what is there, which still runs", text]))
    text = text or ("to the top: a line above it ended the script" if state == "passed-over" else "")
    executable = state == "missing" or ours
    return Step("add" if state == "missing" else "update", label, text, WriteFile(hook.path, after, executable))


def _removal_step(label: str, path: str, data: bytes, why: str) -> Step:
    after = hook_files.take_out_of(data)
    if after is None:
        return Step("remove", label, why, RemoveFile(path, hook_files.made_folder(data)))
    return Step("remove", label, why or "our lines; the rest stays", WriteFile(path, after))
