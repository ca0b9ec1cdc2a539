"""The plans of init and uninstall: from what is there to the steps that are missing, or that remove
what is ours.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, advise, chain
from checkpoint_git.core.managed_block import Note, has_block, has_new_folder, is_damaged
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.leftovers import find_leftovers
from checkpoint_git.disk.read import read_own
from checkpoint_git.git import attributes
from checkpoint_git.git import driver_settings as settings
from checkpoint_git.git.repository import Repository
from checkpoint_git.tools.setup import framework, hook_files
from checkpoint_git.tools.setup.hook_files import SERVER_HOOKS, HookFile
from checkpoint_git.tools.setup.steps import (
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
_TRACKED = "part of the work tree: commit it so that others get it too"
_DAMAGED = "the marks of our block in it are damaged: remove it by hand"
_RECORDED = ("none", "config")
# Nobody resolves a conflict where no files are checked out.
_FOR_WORK_TREES = (settings.MERGETOOL, settings.MERGETOOL_TRUST)


class WantedSetup(NamedTuple):
    settings: Mapping[str, str]  # git configuration by key
    hooks: HookChoice = "auto"
    adopt: bool = False  # take over files that another checkpoint merge driver handles now
    others: tuple[str, ...] = ()  # patterns of JSON files that are not checkpoints
    # of those, here; other clones have the one without a schema
    others_driver: str = attributes.DRIVER
    agreed: str = ""  # the schema of those as .gitattributes names it, for other clones to accept


def plan_uninstall(survey: Survey) -> list[SetupStep]:
    steps = [
        step
        for hook in (*survey.hooks, *survey.left_hooks)
        for step in _plan_hook_removal(survey, hook)
    ]
    if has_block(survey.framework.data or b""):
        path, after = survey.framework.path, framework.remove_entry(survey.framework.data or b"")
        steps.append(removal_step(framework.FILE, path, after))

    for label, state in _attribute_files(survey):
        steps += _plan_attributes_removal(label, state)
    keys = settings.find_own_settings(survey.settings)
    return (
        [*steps, SetupStep("remove", ", ".join(keys), "", RemoveSettings(keys))] if keys else steps
    )


def plan_leftovers(repository: Repository) -> list[SetupStep]:
    """Return the steps that remove what earlier versions cached in the git directories of this work
    tree.
    """
    return [
        SetupStep(
            "remove",
            f".git/{found.name}",
            "a cache of an earlier version",
            RemoveFile(found.path, found.name.count("/")),
        )
        for found in find_leftovers((repository.common_dir, repository.git_dir))
    ]


def plan_settings(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    # A driver or tool that somebody else defined under our name is left alone
    foreign = settings.foreign_sections(survey.settings) or ("\0",)
    left_out = _FOR_WORK_TREES if survey.place.bare else ()
    taken = [key for key in settings.COMMANDS if key.startswith(foreign) and key not in left_out]
    steps = [_leave_setting(survey, key) for key in taken]
    for key, value in wanted.settings.items():
        if not key.startswith(foreign) and key not in left_out:
            steps.append(_plan_setting(survey, key, value))

    # That no hook files are wanted is recorded, for the doctor and for the next init.
    if wanted.hooks in _RECORDED:
        steps.append(_plan_setting(survey, settings.HOOKS, wanted.hooks))
    elif wanted.hooks != "auto" and settings.HOOKS in survey.settings:
        steps.append(SetupStep("remove", settings.HOOKS, change=RemoveSettings((settings.HOOKS,))))

    stale = [key for key in survey.settings if key.startswith(settings.HOOK_SECTION)]
    if stale and wanted.hooks not in ("auto", "config"):
        steps.append(SetupStep("remove", ", ".join(stale), change=RemoveSettings(stale)))
    return steps


def _leave_setting(survey: Survey, key: str) -> SetupStep:
    hint: AnyHint = ""
    if key in survey.settings:
        hint = chain("to use ours", (("git", "config", "--unset-all", key), ("checkpoint", "init")))
    return SetupStep("skip", key, "is defined by something else", hint=hint)


def _plan_setting(survey: Survey, key: str, value: str) -> SetupStep:
    present = survey.settings.get(key)
    if present == value:
        return SetupStep("keep", key)
    return SetupStep(
        "add" if present is None else "update",
        key,
        shorten(value, _SHOWN),
        WriteSetting(key, value),
    )


def plan_attributes(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    # git reads .gitattributes from the side that is checked out: on a branch older than our lines
    # it would never start the driver (measured). info/attributes counts on every branch and in
    # every linked worktree.
    files = _attribute_files(survey)
    lines = ((label, attributes.find_other_driver(state.data or b"")) for label, state in files)
    named = [f"{label}:{number}" for label, numbers in lines for number in numbers]
    if (named or survey.merge_attribute == attributes.OTHER_DRIVER) and not wanted.adopt:
        where = ", ".join(named) or "an attributes file"
        text = f"{where} gives checkpoints to the merge driver {attributes.OTHER_DRIVER}, so ours is not used"
        return [
            SetupStep(
                "skip",
                files[0][0],
                text,
                hint=advise("to replace it", "checkpoint", "init", "--adopt"),
            )
        ]

    steps = []
    for label, state in files:
        others = dict.fromkeys(wanted.others, wanted.others_driver)
        if label == attributes.FILE:
            known = attributes.find_others(state.data or b"")
            shared = f"{attributes.DRIVER} {wanted.agreed}" if wanted.agreed else ""
            others = {
                pattern: shared or known.get(pattern, attributes.DRIVER)
                for pattern in wanted.others
            }
        steps.append(_plan_attributes_file(label, state, others))

    return steps


def _attribute_files(survey: Survey) -> list[tuple[str, FileState]]:
    info = [(shown_path(survey, survey.info.path), survey.info)]
    return info if survey.place.bare else [(attributes.FILE, survey.attributes), *info]


def _plan_attributes_file(label: str, state: FileState, others: Mapping[str, str]) -> SetupStep:
    lines = "; ".join(
        [
            *attributes.attribute_lines(),
            *(f"{name} merge={driver}" for name, driver in others.items()),
        ]
    )
    if state.blocked:
        return SetupStep("skip", label, f"{state.blocked}; add to it: {lines}")
    data = state.lost if state.data is None else state.data
    try:
        if data is None:
            after = attributes.add_attributes(
                None, ("new folder",) if state.missing_folders else (), others
            )
        else:
            after = attributes.adopt_lines(data)
            # else they were written by hand
            if others or has_block(data) or not attributes.has_attributes(data):
                after = attributes.add_attributes(after, others=others)
    except CheckpointError as error:
        return SetupStep("skip", label, f"{error.message}: {error.hint}")

    text = lines if state.lost is None else "it was deleted: as git has it, with our lines"
    return write_step(label, state.path, state.data, after, text)


def _plan_attributes_removal(label: str, state: FileState) -> list[SetupStep]:
    if state.data is None:
        return []
    try:
        after, folders = attributes.remove_attributes(state.data), int(has_new_folder(state.data))
    except CheckpointError as error:
        return [SetupStep("skip", label, f"{error.message}: {error.hint}")]
    return [] if after == state.data else [removal_step(label, state.path, after, folders=folders)]


# No other tool's hook is moved, and core.hooksPath stays: a hook manager that overwrote one had
# eleven failing tests pushed.
def plan_hooks(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    """Return the steps for hooks, or advice if hooks belong to another tool."""
    choice = _find_hook_choice(survey, wanted.hooks)
    is_bare = survey.place.bare
    if choice == "none":
        passes = "an invalid checkpoint but `checkpoint validate`"
        if is_bare:
            passes = "a push of an invalid checkpoint"
        return [SetupStep("keep", "hooks", f"none, as you asked; nothing stops {passes}")]

    steps = list[SetupStep]()
    if is_bare:
        names = [find_server_hook(survey, choice)]
        why = f"{names[0]} checks pushes now"
    else:
        # The framework reads one pushed ref only, and `pre-commit install` installs its pre-commit
        # hook alone: the other hooks stay git's own.
        names = list(hook_files.HOOKS)
        why = "the pre-commit framework runs it now"
        if _is_by_framework(survey, choice):
            names.remove("pre-commit")
            steps += _plan_framework(survey)

    if choice == "config":
        return steps + _plan_configured_hooks(survey, names)
    is_elsewhere = survey.folder.place in ("outside", "nowhere")
    if is_elsewhere or (is_bare and survey.folder.place != "repository"):
        return steps + _advise_hooks(survey, names)

    for hook in survey.hooks:
        if (
            wanted.hooks != "auto"
            and f"{settings.HOOK_SECTION}{hook.name}.command" in survey.settings
        ):
            hook = hook._replace(calls_us=False)  # those settings go now
        if hook.name in names:
            steps.append(_plan_hook(survey, hook))
        else:
            steps += _plan_hook_removal(survey, hook, why)

    return steps


def _find_hook_choice(survey: Survey, wished: HookChoice) -> HookChoice:
    """Return which hooks to install: as wished, for "auto" as an earlier init recorded it."""
    recorded = survey.settings.get(settings.HOOKS)
    if wished != "auto" or recorded not in _RECORDED:
        return wished
    if recorded == "none":
        return "none"
    return "config" if survey.has_configured_hooks else "auto"


def _is_by_framework(survey: Survey, choice: HookChoice) -> bool:
    """Return whether the pre-commit framework is to run the pre-commit hook."""
    has_framework = survey.framework.data is not None or bool(survey.framework.blocked)
    return choice == "pre-commit" or (choice == "auto" and has_framework)


def _plan_framework(survey: Survey) -> list[SetupStep]:
    """Return the steps for the pre-commit framework, with advice if it is not installed."""
    steps = [_plan_framework_entry(survey.framework)]
    for hook in survey.hooks:
        if hook.name == "pre-commit" and hook_files.is_framework_hook(hook):
            return steps
    text = "the framework is configured but not installed here: "
    text += "run `pre-commit install` (or `prek install`)"
    return [*steps, SetupStep("advise", "pre-commit", text)]


def _plan_configured_hooks(survey: Survey, names: Sequence[str]) -> list[SetupStep]:
    """Return the steps for hooks in git's configuration."""
    steps = list[SetupStep]()
    for name in names:
        for key, value in settings.plan_hook(name, survey.shims[name]).items():
            steps.append(_plan_setting(survey, key, value))
    for hook in (*survey.hooks, *survey.left_hooks):
        steps += _plan_hook_removal(survey, hook, "in git's configuration now")
    return steps


def _advise_hooks(survey: Survey, names: Sequence[str]) -> list[SetupStep]:
    """Return advice for hooks whose folder is not part of the repository."""
    where = survey.folder.path or "(nothing)"
    text = f"core.hooksPath is {where}, which is not part of this repository; "
    text += f"nothing was installed there{_offer(survey)}"
    steps = [SetupStep("skip", "hooks", text)]
    folder = survey.folder.path or "hooks"
    calling = {hook.name for hook in survey.hooks if hook.calls_us}
    for name in names:
        if name not in calling:
            recipe = hook_files.write_recipe(name, os.path.join(folder, name))
            steps.append(SetupStep("advise", name, recipe))

    return steps


def find_server_hook(survey: Survey, choice: HookChoice) -> str:
    if choice == "pre-commit":
        hint = "--hooks native (pre-receive), update or none"
        raise CheckpointError("the pre-commit framework has no place in a bare repository", hint)
    there = [
        hook.name
        for hook in survey.hooks
        if hook.state not in ("missing", "foreign", "damaged", "moved")
    ]
    if choice == "auto" and there:
        return there[0]
    return "update" if choice == "update" else SERVER_HOOKS[0]


def _plan_hook(survey: Survey, hook: HookFile) -> SetupStep:
    label = shown_path(survey, hook.path)
    state = hook.state
    if state in ("ours", "block") or (state in ("missing", "foreign") and hook.calls_us):
        return SetupStep("keep", label)
    if state == "moved":
        return SetupStep("keep", label, "the pre-commit framework runs ours from its .legacy copy")
    if state == "damaged":
        return SetupStep("skip", label, f"{_DAMAGED} and run this again")
    is_own = state == "missing" or hook_files.is_own_script(hook.data or b"")
    reason = "" if is_own else hook_files.why_not_extend(hook)
    if reason:
        recipe = hook_files.write_recipe(hook.name, label, hook.data)
        return SetupStep("skip", label, f"{reason}; {recipe}{_offer(survey)}")

    data = _write_hook(survey, hook, is_own=is_own)
    change = WriteFile(hook.path, data, executable=is_own)
    how: Literal["add", "update"] = "add" if state == "missing" else "update"
    return SetupStep(how, label, _explain_hook(survey, hook), change)


def _write_hook(survey: Survey, hook: HookFile, *, is_own: bool) -> bytes:
    """Return a hook's file with our block. is_own: the file is ours, or new."""
    notes: tuple[Note, ...] = () if survey.folder.exists else ("new folder",)
    before = hook.data
    if before is not None and is_own:
        before = before.replace(b"\r\n", b"\n")
    after = hook_files.put_into(before, survey.shims[hook.name], notes)
    if hook.state != "missing" and is_own and not hook.has_interpreter:
        after = hook_files.renew_first_line(after)
    return after


def _explain_hook(survey: Survey, hook: HookFile) -> str:
    """Return what the user should know of a change to a hook."""
    sentences = []
    if hook.state == "foreign":
        sentences.append("above the existing lines, which still run")
    if survey.folder.place == "work tree":
        sentences.append(_TRACKED)
    if hook.state == "passed-over" and not sentences:
        sentences.append("to the top: a line above it ended the script")
    return "; ".join(sentences)


def _offer(survey: Survey) -> str:
    return (
        "; or without hook files: checkpoint init --hooks config"
        if survey.has_configured_hooks
        else ""
    )


def _plan_hook_removal(survey: Survey, hook: HookFile, why: str = "") -> list[SetupStep]:
    steps = []
    for path, data in ((hook.path, hook.data or b""), (f"{hook.path}.legacy", hook.legacy or b"")):
        label = shown_path(survey, path)
        if has_block(data):
            folders = int(has_new_folder(data))
            steps.append(
                removal_step(label, path, hook_files.take_out_of(data), why, folders=folders)
            )
        elif b"checkpoint-git" in data and is_damaged(data):
            steps.append(SetupStep("skip", label, _DAMAGED))
    return steps


def _plan_framework_entry(state: FileState) -> SetupStep:
    entry = " / ".join(framework.entry_body().decode().splitlines())
    if state.blocked or is_damaged(state.data or b""):
        return SetupStep(
            "advise",
            framework.FILE,
            f"{state.blocked or 'our marks are damaged'}; add to its repos: {entry}",
        )

    if state.data is None:
        return SetupStep(
            "add", framework.FILE, _TRACKED, WriteFile(state.path, framework.new_file())
        )
    if framework.has_entry(state.data) and framework.is_current(state.data):
        return SetupStep("keep", framework.FILE)
    after = framework.add_entry(state.data)
    if after is None:
        return SetupStep(
            "advise",
            framework.FILE,
            f"its list of repos is written in a way we do not edit; add: {entry}",
        )

    return SetupStep(
        "update",
        framework.FILE,
        f"a hook checkpoint-validate; {_TRACKED}",
        WriteFile(state.path, after),
    )


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
