"""Facts about an installation, as git and the file system tell them; it neither judges nor changes any."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.repository import Repository
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.tools.setup import framework
from checkpoint_git.tools.setup.hook_files import State, find_state, load_shims
from checkpoint_git.tools.setup.survey import (
    HooksFolder,
    HooksPlace,
    read_bare_survey,
    read_file,
    read_hooks,
    read_hooks_folder,
    read_merge_attribute,
)


class InstalledHook(NamedTuple):
    """One hook. state: "ours" (a script of ours), "block" (our lines in another's script), "moved" (the pre-commit
    framework runs ours from NAME.legacy), "outdated" (ours, of another version), "not-executable" (ours, and git skips
    it), "no-interpreter" (ours, and its first line names nothing that is there), "passed-over" (ours, below a line that
    ends the script), "foreign" (another's, without us), "damaged" (our marks are broken), "missing".
    """

    name: str
    path: str
    state: State


class Installation(NamedTuple):
    """What is installed in a work tree's repository.

    driver, base_driver, recursive, textconv: git's configuration of any scope, "" when not set. parts: the driver
    command taken apart, None when it is not one that init wrote. python, package: what the hooks use; driver_exists
    says whether the driver's file is there. merge_attribute: what git answers for a
    checkpoint in the work tree. attributes_in_*: whether all our lines are in that file (head: as committed).
    hooks_path: the folder where hooks go, "" where core.hooksPath is set to nothing. framework, framework_entry:
    whether there is a .pre-commit-config.yaml, and whether it runs our hook.
    """

    driver: str
    base_driver: str
    recursive: str
    textconv: str
    parts: driver_settings.Installed | None
    python: str
    package: str
    driver_exists: bool
    merge_attribute: str
    attributes_in_work_tree: bool
    attributes_in_head: bool
    attributes_in_info: bool
    hooks_path: str
    hooks_place: HooksPlace
    hooks: tuple[InstalledHook, ...]
    framework: bool
    framework_entry: bool


def read_installation(work_tree: str, env: Mapping[str, str] | None = None) -> Installation:
    """The facts for a work tree (its top folder). env: the caller's environment, this process's own by default.

    Raises CheckpointError when it is no work tree of a git repository.
    """
    own = clean_env(os.environ if env is None else env)
    place = _read_place(work_tree, own)
    values = _read_values(work_tree, own)
    parts = driver_settings.read_driver_command(values.get(driver_settings.DRIVER, ""))
    python, package = values.get(driver_settings.PYTHON, ""), values.get(driver_settings.PACKAGE, "")
    folder = read_hooks_folder(place)
    config = read_file(os.path.join(work_tree, framework.FILE)).data
    return Installation(
        driver=values.get(driver_settings.DRIVER, ""),
        base_driver=values.get(driver_settings.BASE_DRIVER, ""),
        recursive=values.get(driver_settings.RECURSIVE, ""),
        textconv=values.get(driver_settings.TEXTCONV, ""),
        parts=parts,
        python=python,
        package=package,
        driver_exists=parts is not None and os.path.isfile(parts.driver),
        merge_attribute=read_merge_attribute(work_tree, own),
        attributes_in_work_tree=_holds_lines(read_file(os.path.join(work_tree, attributes.FILE)).data),
        attributes_in_head=_holds_lines(_read_committed(work_tree, attributes.FILE, own)),
        attributes_in_info=_holds_lines(read_file(os.path.join(place.common_dir, "info", "attributes")).data),
        hooks_path=folder.path,
        hooks_place=folder.place,
        hooks=_read_hook_states(folder),
        framework=config is not None,
        framework_entry=config is not None and framework.has_entry(config),
    )


def read_bare_installation(bare: Repository, env: Mapping[str, str]) -> Installation:
    """The same for a bare repository (as repo.setup.bare finds it), where one of a server's hooks is enough."""
    own = clean_env(env)
    values = _read_values(bare.git_dir, own)
    parts = driver_settings.read_driver_command(values.get(driver_settings.DRIVER, ""))
    survey = read_bare_survey(bare, values, env)
    bodies = load_shims(_package())
    hooks = [InstalledHook(hook.name, hook.path, find_state(hook, bodies[hook.name])) for hook in survey.hooks]
    ours = [hook for hook in hooks if hook.state not in ("missing", "foreign")]
    return Installation(
        driver=values.get(driver_settings.DRIVER, ""),
        base_driver=values.get(driver_settings.BASE_DRIVER, ""),
        recursive=values.get(driver_settings.RECURSIVE, ""),
        textconv=values.get(driver_settings.TEXTCONV, ""),
        parts=parts,
        python=values.get(driver_settings.PYTHON, ""),
        package=values.get(driver_settings.PACKAGE, ""),
        driver_exists=parts is not None and os.path.isfile(parts.driver),
        merge_attribute=survey.merge_attribute,
        attributes_in_work_tree=True,  # what is committed is the business of who commits
        attributes_in_head=True,
        attributes_in_info=_holds_lines(survey.info.data),
        hooks_path=survey.folder.path,
        hooks_place=survey.folder.place,
        hooks=tuple(ours or hooks[:1]),
        framework=False,
        framework_entry=False,
    )


def _package() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _read_hook_states(folder: HooksFolder) -> tuple[InstalledHook, ...]:
    shims = load_shims(_package())
    hooks = read_hooks(folder)
    return tuple(InstalledHook(hook.name, hook.path, find_state(hook, shims[hook.name])) for hook in hooks)


def _read_place(work_tree: str, env: Mapping[str, str]) -> Repository:
    words = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"]
    top, git_dir, common_dir = _lines(run_git(words, work_tree, env=env).out)
    hooks = run_git(["rev-parse", "--path-format=absolute", "--git-path", "hooks"], top, env=env, check=False)
    return Repository(top, git_dir, common_dir, _lines(hooks.out)[0] if hooks.code == 0 else "")


def _read_values(work_tree: str, env: Mapping[str, str]) -> dict[str, str]:
    records = run_git(["config", "--null", "--list"], work_tree, env=env).out.split(b"\0")
    pairs = (os.fsdecode(record).partition("\n") for record in records if record)
    return {key: value for key, _, value in pairs}


def read_setting(work_tree: str, key: str, env: Mapping[str, str]) -> str:
    """One setting of any scope, "" where it is not set."""
    return os.fsdecode(run_git(["config", "--get", key], work_tree, env=env, check=False).out).rstrip("\n")


def _read_committed(work_tree: str, name: str, env: Mapping[str, str]) -> bytes | None:
    result = run_git(["cat-file", "blob", f"HEAD:{name}"], work_tree, env=env, check=False)
    return result.out if result.code == 0 else None


def _holds_lines(data: bytes | None) -> bool:
    return data is not None and attributes.has_attributes(data)


def _lines(out: bytes) -> list[str]:
    return os.fsdecode(out).removesuffix("\n").split("\n")
