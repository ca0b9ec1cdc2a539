"""`checkpoint uninstall`: remove what init added; every other byte stays, checkpoints included."""

import argparse
import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.core.managed_block import has_block, take_block
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place, refuse_links
from checkpoint_git.git import driver_settings
from checkpoint_git.git.repository import Repository, read_repository
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.agents.plan import read_agent_removal
from checkpoint_git.tools.setup import framework, schema
from checkpoint_git.tools.setup.forge_files import plan_forges_removal
from checkpoint_git.tools.setup.plan import (
    README,
    attribute_files,
    load_readme,
    plan_attributes_removal,
)
from checkpoint_git.tools.setup.plan_hooks import plan_hook_removal
from checkpoint_git.tools.setup.steps import (
    RemoveFile,
    RemoveLock,
    RemoveSettings,
    SetupStep,
    apply_steps,
    describe_steps,
    removal_step,
    setup_lock,
    steps_data,
)
from checkpoint_git.tools.setup.survey import Survey, read_file, read_survey

HELP = """\
remove what init added to this repository; checkpoints stay

examples:
  checkpoint uninstall --dry-run         only show what would be removed
  checkpoint uninstall                   remove it
"""

# Locks between writers: in a git directory, or in .checkpoints outside git.
_LOCKS = ("checkpoint.lock", "checkpoint-restore.lock", "checkpoint-sync.lock", ".lock")
# in a git directory: caches, made again when they are next needed, and backups
_OWN_FOLDER = "checkpoint"
_BACKUPS = "backups"  # a folder in _OWN_FOLDER


class UninstallResult(NamedTuple):
    work_tree: str | None  # None outside git and in a bare repository
    steps: list[SetupStep]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be removed, and change nothing"
    )


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    # schemas first, while the folder around them exists
    steps: list[SetupStep] = []
    place = _read_place(invocation.cwd)
    if place:
        steps += schema.remove_schemas(place, invocation.now, dry_run=args.dry_run)
    result = uninstall(invocation.cwd, invocation.env, dry_run=args.dry_run)
    steps += result.steps
    data = {"work_tree": result.work_tree, "dry_run": args.dry_run, "steps": steps_data(steps)}
    lines = describe_steps(steps, dry_run=args.dry_run)
    return Outcome(data, lines or [Line("nothing of checkpoint-git is installed here")])


def uninstall(cwd: str, env: Mapping[str, str], *, dry_run: bool = False) -> UninstallResult:
    """Remove what init added to a repository, or to a folder outside git, and return what was
    done.
    """
    repository = read_repository(cwd, env)
    with setup_lock(None if dry_run else repository):
        steps: list[SetupStep] = []
        if repository is None or not repository.bare:
            steps += _plan_work_tree(repository, cwd)
        if repository:
            steps += _plan_repository(read_survey(repository, env))
            steps += _plan_git_dirs(repository)
        if repository and not repository.bare:
            steps += _plan_exclusion(repository, env)
            steps += plan_forges_removal(repository.work_tree)
        if not dry_run:
            apply_steps(steps, repository)

    if repository is None or repository.bare:
        return UninstallResult(None, steps)
    return UninstallResult(repository.work_tree, steps)


def _plan_work_tree(repository: Repository | None, cwd: str) -> list[SetupStep]:
    """Return the steps for the folder of checkpoints and for coding agents."""
    place = _read_place(cwd)
    if place is None:
        top = repository.work_tree if repository else os.path.abspath(cwd)
        return read_agent_removal([top], top)

    steps: list[SetupStep] = []
    if not place.git_dir:
        steps += _plan_locks(place.directory)
    path = os.path.join(place.directory, README)
    if (read_file(path).data or b"").replace(b"\r\n", b"\n") == load_readme():
        label = os.path.relpath(path, place.top)
        steps.append(SetupStep("remove", label, "", RemoveFile(path, folders=1)))

    top = repository.work_tree if repository else place.root
    folders = [top]
    if not os.path.samefile(place.root, top):
        folders = [place.root, top]
    return steps + read_agent_removal(folders, top)


def _plan_repository(survey: Survey) -> list[SetupStep]:
    """Return the steps for hooks, attributes and git's configuration."""
    steps: list[SetupStep] = []
    for hook in (*survey.hooks, *survey.other_hooks):
        steps += plan_hook_removal(survey, hook)

    entries = survey.framework.data or b""
    if has_block(entries):
        after = framework.remove_entry(entries)
        steps.append(removal_step(framework.FILE, survey.framework.path, after))

    for label, state in attribute_files(survey):
        steps += plan_attributes_removal(label, state)
    keys = driver_settings.find_own_settings(survey.settings)
    if keys:
        steps.append(SetupStep("remove", ", ".join(keys), "", RemoveSettings(keys)))
    return steps


def _plan_locks(folder: str) -> list[SetupStep]:
    steps = []
    for name in _LOCKS:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            steps.append(SetupStep("remove", name, "", RemoveLock(path)))
    return steps


_DROP_POINTS = SetupStep(
    "keep",
    "CHECKPOINT_HEAD",
    "automatic restore points",
    hint=advise("to drop them", "git", "update-ref", "-d", "CHECKPOINT_HEAD"),
)


def _plan_git_dirs(repository: Repository) -> list[SetupStep]:
    """Return the steps for our files in the git directories; backups stay."""
    refuse_links(repository.git_dir)
    steps = _plan_locks(repository.git_dir)
    kept: list[SetupStep] = []
    for git_dir in dict.fromkeys((repository.common_dir, repository.git_dir)):
        top = os.path.join(git_dir, _OWN_FOLDER)
        for folder, folders, names in os.walk(top):
            if folder == top and _BACKUPS in folders:
                folders.remove(_BACKUPS)
                text = "what `doctor --fix` replaced stays here until you delete it"
                kept.append(SetupStep("keep", f"{_OWN_FOLDER}/{_BACKUPS}", text))
            for name in sorted(names):
                path = os.path.join(folder, name)
                label = os.path.relpath(path, git_dir)
                if label in ("checkpoint/automatic/index", "checkpoint/automatic.index"):
                    kept.append(_DROP_POINTS)
                change = RemoveFile(path, folders=label.count(os.sep))
                steps.append(SetupStep("remove", label, "", change))

    return steps + kept


def _plan_exclusion(repository: Repository, env: Mapping[str, str]) -> list[SetupStep]:
    """Return the step for the lines that hide restore points from git: they are removed only after
    the last point.
    """
    name = "info/exclude"
    path = os.path.join(repository.common_dir, name)
    data = read_file(path).data or b""
    if not has_block(data):
        return []
    points = sum(count(repository.work_tree, env) for count in find_hooks("count_untracked"))
    if points:
        text = f"it hides restore points ({points} left): drop them first, then uninstall again"
        return [SetupStep("keep", name, text)]
    return [removal_step(name, path, take_block(data) or None)]


def _read_place(cwd: str) -> Place | None:
    try:
        return find_place(cwd)
    except CheckpointError:
        return None
