"""Plan what init and uninstall do about hooks: files, git's configuration, or the pre-commit
framework.
"""

import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, advise, command, join_hints
from checkpoint_git.core.managed_block import Note, has_block, has_new_folder, is_damaged
from checkpoint_git.git import driver_settings as settings
from checkpoint_git.tools.setup import framework, hook_files
from checkpoint_git.tools.setup.hook_files import SERVER_HOOKS, HookFile
from checkpoint_git.tools.setup.plan import (
    RECORDED,
    HookChoice,
    WantedSetup,
    plan_setting,
    shown_path,
)
from checkpoint_git.tools.setup.steps import Deed, SetupStep, WriteFile, removal_step
from checkpoint_git.tools.setup.survey import FileState, Survey

_TRACKED = "part of the work tree: commit it so that others get it too"
_DAMAGED = "the marks of our block in it are damaged: remove it by hand"


def plan_hooks(survey: Survey, wanted: WantedSetup) -> list[SetupStep]:
    """Return the steps for hooks, or advice if hooks belong to another tool.

    No other tool's hook is moved, and core.hooksPath stays: a hook manager that overwrote one had
    eleven failing tests pushed.
    """
    choice = _find_hook_choice(survey, wanted.hooks)
    is_bare = survey.place.bare
    if choice == "none":
        text = "none, as you asked; nothing stops "
        if is_bare:
            return [SetupStep("keep", "hooks", f"{text}a push of an invalid checkpoint")]
        hint = advise("to check them yourself", "checkpoint", "validate")
        return [SetupStep("keep", "hooks", f"{text}an invalid checkpoint", hint=hint)]

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
        configured = f"{settings.HOOK_SECTION}{hook.name}.command"
        if wanted.hooks != "auto" and configured in survey.settings:
            hook = hook._replace(calls_us=False)  # the setting is removed now
        if hook.name in names:
            steps.append(_plan_hook(survey, hook))
        else:
            steps += plan_hook_removal(survey, hook, why)

    return steps


def _find_hook_choice(survey: Survey, wished: HookChoice) -> HookChoice:
    """Return which hooks to install: as wished, for "auto" as an earlier init recorded it."""
    recorded = survey.settings.get(settings.HOOKS)
    if wished != "auto" or recorded not in RECORDED:
        return wished
    if recorded == "none":
        return "none"
    if survey.has_configured_hooks:
        return "config"
    return "auto"


def _is_by_framework(survey: Survey, choice: HookChoice) -> bool:
    """Whether the pre-commit framework is to run the pre-commit hook."""
    if choice == "auto":
        return survey.framework.data is not None or bool(survey.framework.blocked)
    return choice == "pre-commit"


def _plan_framework(survey: Survey) -> list[SetupStep]:
    """Return the steps for the pre-commit framework, with advice if it is not installed."""
    steps = [_plan_framework_entry(survey.framework)]
    for hook in survey.hooks:
        if hook.name == "pre-commit" and hook_files.is_framework_hook(hook):
            return steps
    text = "the framework is configured but not installed here"
    hint = join_hints(command("pre-commit", "install"), advise("or", "prek", "install"))
    return [*steps, SetupStep("advise", "pre-commit", text, hint=hint)]


def _plan_configured_hooks(survey: Survey, names: Sequence[str]) -> list[SetupStep]:
    """Return the steps for hooks in git's configuration."""
    steps = list[SetupStep]()
    for name in names:
        for key, value in settings.plan_hook(name, survey.shims[name]).items():
            steps.append(plan_setting(survey, key, value))
    for hook in (*survey.hooks, *survey.other_hooks):
        steps += plan_hook_removal(survey, hook, "in git's configuration now")
    return steps


def _advise_hooks(survey: Survey, names: Sequence[str]) -> list[SetupStep]:
    """Return advice for hooks whose folder is not part of the repository."""
    where = survey.folder.path or "(nothing)"
    text = f"core.hooksPath is {where}, which is not part of this repository; "
    text += "nothing was installed there"
    steps = [SetupStep("skip", "hooks", text, hint=_offer(survey))]
    folder = survey.folder.path or "hooks"
    calling = {hook.name for hook in survey.hooks if hook.calls_us}
    for name in names:
        if name not in calling:
            recipe = hook_files.write_recipe(name, os.path.join(folder, name))
            steps.append(SetupStep("advise", name, recipe))

    return steps


def find_server_hook(survey: Survey, choice: HookChoice) -> str:
    """Return the hook that checks pushes in a bare repository. Raises CheckpointError for a choice
    that needs a work tree.
    """
    if choice == "pre-commit":
        hint = "--hooks native (pre-receive), update or none"
        raise CheckpointError("the pre-commit framework has no place in a bare repository", hint)
    if choice == "update":
        return "update"
    if choice == "auto":
        for hook in survey.hooks:
            if hook.state not in ("missing", "foreign", "damaged", "moved"):
                return hook.name
    return SERVER_HOOKS[0]


def _plan_hook(survey: Survey, hook: HookFile) -> SetupStep:
    """Return the step for one hook file: ours, a block of ours in another tool's, or advice."""
    label = shown_path(survey, hook.path)
    state = hook.state
    if state in ("ours", "block") or (state in ("missing", "foreign") and hook.calls_us):
        return SetupStep("keep", label)
    if state == "moved":
        return SetupStep("keep", label, "the pre-commit framework runs ours from its .legacy copy")
    if state == "damaged":
        return SetupStep("skip", label, f"{_DAMAGED} and run this again")

    is_own = state == "missing" or hook_files.is_own_script(hook.data or b"")
    if not is_own:
        reason = hook_files.why_not_extend(hook)
        if reason:
            recipe = hook_files.write_recipe(hook.name, label, hook.data)
            return SetupStep("skip", label, f"{reason}; {recipe}", hint=_offer(survey))

    data = _write_hook(survey, hook, is_own=is_own)
    change = WriteFile(hook.path, data, executable=is_own)
    deed: Deed = "add" if state == "missing" else "update"
    return SetupStep(deed, label, _explain_hook(survey, hook), change)


def _write_hook(survey: Survey, hook: HookFile, *, is_own: bool) -> bytes:
    """Return a hook's file with our block. is_own: the file is ours, or new."""
    notes: tuple[Note, ...] = ()
    if not survey.folder.exists:
        notes = ("new folder",)
    before = hook.data
    if before is not None and is_own:
        before = before.replace(b"\r\n", b"\n")
    after = hook_files.put_into(before, survey.shims[hook.name], notes)
    if hook.state != "missing" and is_own and not hook.has_interpreter:
        after = hook_files.renew_first_line(after)
    return after


def _explain_hook(survey: Survey, hook: HookFile) -> str:
    """Return what the user should know about a change to a hook."""
    sentences = []
    if hook.state == "foreign":
        sentences.append("above the existing lines, which still run")
    if survey.folder.place == "work tree":
        sentences.append(_TRACKED)
    if hook.state == "passed-over" and not sentences:
        sentences.append("to the top: a line above it ended the script")
    return "; ".join(sentences)


def _offer(survey: Survey) -> AnyHint:
    """Return the way to hooks without files, "" if this git has none."""
    if not survey.has_configured_hooks:
        return ""
    return advise("or without hook files", "checkpoint", "init", "--hooks", "config")


def plan_hook_removal(survey: Survey, hook: HookFile, why: str = "") -> list[SetupStep]:
    """Return the steps that remove our block from a hook, and from the copy that the framework
    made of it.
    """
    steps = []
    for path, data in ((hook.path, hook.data or b""), (f"{hook.path}.legacy", hook.legacy or b"")):
        label = shown_path(survey, path)
        if has_block(data):
            folders = int(has_new_folder(data))
            after = hook_files.take_out_of(data)
            steps.append(removal_step(label, path, after, why, folders=folders))
        elif b"checkpoint-git" in data and is_damaged(data):
            steps.append(SetupStep("skip", label, _DAMAGED))
    return steps


def _plan_framework_entry(state: FileState) -> SetupStep:
    entry = " / ".join(framework.entry_body().decode().splitlines())
    if state.blocked or is_damaged(state.data or b""):
        reason = state.blocked or "our marks are damaged"
        return SetupStep("advise", framework.FILE, f"{reason}; add to its repos: {entry}")

    if state.data is None:
        change = WriteFile(state.path, framework.new_file())
        return SetupStep("add", framework.FILE, _TRACKED, change)
    if framework.has_entry(state.data) and framework.is_current(state.data):
        return SetupStep("keep", framework.FILE)

    after = framework.add_entry(state.data)
    if after is None:
        text = f"its list of repos is written in a way we do not edit; add: {entry}"
        return SetupStep("advise", framework.FILE, text)
    text = f"a hook checkpoint-validate; {_TRACKED}"
    return SetupStep("update", framework.FILE, text, WriteFile(state.path, after))
