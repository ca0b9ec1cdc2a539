"""A bare repository: what init gives it, which is the drivers, their attributes and one hook that checks pushes."""

import os
from collections.abc import Mapping

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.repository import Repository
from checkpoint_git.git.run import check_git_version, clean_env, read_bare_top, run_git
from checkpoint_git.tools.setup import hook_files
from checkpoint_git.tools.setup.hook_files import SERVER_HOOKS, HookFile
from checkpoint_git.tools.setup.install_plan import (
    Wanted,
    plan_attributes_file,
    plan_hook,
    plan_hook_removal,
    plan_settings_steps,
    shown_path,
)
from checkpoint_git.tools.setup.steps import Step
from checkpoint_git.tools.setup.survey import Survey

# Nobody resolves a conflict where no files are checked out.
_FOR_WORK_TREES = (driver_settings.MERGETOOL, driver_settings.MERGETOOL_TRUST)


def read_bare(start: str, env: Mapping[str, str]) -> Repository | None:
    """The bare repository that a directory belongs to, None for any other. Its work_tree is the directory itself."""
    own = clean_env(env)
    top = read_bare_top(start, own)
    if top is None:
        return None
    check_git_version(start)
    named = env.get("GIT_DIR", "")
    if named and os.path.realpath(os.path.join(start, named)) != os.path.realpath(top):
        raise CheckpointError("GIT_DIR names another repository than this one", "unset GIT_DIR, or go there")
    hooks = run_git(["rev-parse", "--path-format=absolute", "--git-path", "hooks"], top, env=own, check=False)
    return Repository(top, top, top, os.fsdecode(hooks.out).removesuffix("\n"))


def may_be_bare(folder: str) -> bool:
    """Whether it is worth asking git: a bare repository is no folder with a .git, and has its HEAD at the top."""
    while not os.path.exists(os.path.join(folder, ".git")):
        if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
            return True
        if os.path.dirname(folder) == folder:
            return False
        folder = os.path.dirname(folder)
    return False


def plan_bare_install(survey: Survey, wanted: Wanted) -> list[Step]:
    """Every step in the order in which it is to be made; one that is there already is a "keep"."""
    if wanted.hooks == "pre-commit":
        hint = "--hooks native (pre-receive), update or none"
        raise CheckpointError("the pre-commit framework has no place in a bare repository", hint)
    values = {key: value for key, value in wanted.settings.items() if key not in _FOR_WORK_TREES}
    steps = plan_settings_steps(survey, wanted._replace(settings=values))
    return [*steps, _plan_attributes(survey, adopt=wanted.adopt), *_plan_hooks(survey, wanted)]


def find_server_hook(survey: Survey, wanted: Wanted) -> str:
    """The hook that checks pushes here, "" for none: as wanted, else as an earlier init put it."""
    if wanted.hooks == "none" or (wanted.hooks == "auto" and survey.settings.get(driver_settings.HOOKS) == "none"):
        return ""
    if wanted.hooks == "auto":
        there = [hook.name for hook in survey.hooks if _is_there(hook, wanted)]
        return there[0] if there else SERVER_HOOKS[0]
    return "update" if wanted.hooks == "update" else SERVER_HOOKS[0]


def _is_there(hook: HookFile, wanted: Wanted) -> bool:
    return hook_files.find_state(hook, wanted.shims[hook.name]) in _THERE


_THERE = ("ours", "block", "outdated", "not-executable", "no-interpreter", "passed-over")


def _plan_attributes(survey: Survey, *, adopt: bool) -> Step:
    label = shown_path(survey, survey.info.path)
    named = attributes.find_other_driver(survey.info.data or b"")
    if (named or survey.merge_attribute == attributes.OTHER_DRIVER) and not adopt:
        text = f"checkpoints go to the merge driver {attributes.OTHER_DRIVER}, so ours stays unused"
        return Step("skip", label, f"{text}; `checkpoint init --adopt` replaces it")
    return plan_attributes_file(label, survey.info)


def _plan_hooks(survey: Survey, wanted: Wanted) -> list[Step]:
    name = find_server_hook(survey, wanted)
    if not name:
        return [Step("keep", "hooks", "none, as you asked; nothing stops a push of an invalid checkpoint")]
    if survey.folder.place != "repository":
        where = survey.folder.path or "(nothing)"
        text = f"core.hooksPath is {where}, which is not part of this repository; nothing was installed there"
        recipe = hook_files.recipe(name, os.path.join(survey.folder.path or "hooks", name))
        return [Step("skip", "hooks", text), Step("advise", name, recipe)]
    steps = [plan_hook(survey, hook, wanted.shims[name]) for hook in survey.hooks if hook.name == name]
    others = [hook for hook in survey.hooks if hook.name != name]
    return steps + [step for hook in others for step in plan_hook_removal(survey, hook, f"{name} checks pushes now")]
