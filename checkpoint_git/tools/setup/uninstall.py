"""`checkpoint uninstall`: what init added goes, every other byte stays, checkpoints included."""

import argparse
import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import has_block, take_block
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.repository import Repository, read_repository
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.agents.plan import read_agent_removal
from checkpoint_git.tools.setup import schema
from checkpoint_git.tools.setup.forge_files import plan_forges_removal
from checkpoint_git.tools.setup.plan import README, load_readme, plan_uninstall
from checkpoint_git.tools.setup.steps import (
    RemoveFile,
    RemoveLock,
    SetupStep,
    apply_steps,
    describe_steps,
    removal_step,
    setup_lock,
    steps_data,
)
from checkpoint_git.tools.setup.survey import read_file, read_survey

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
_BACKUPS = "backups"  # in it


class UninstallResult(NamedTuple):
    work_tree: str | None  # None outside git and in a bare repository
    steps: list[SetupStep]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be removed, and change nothing"
    )


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    # Schemas go first, while the folder around them is still there
    place = _read_place(invocation.cwd)
    schema_steps = (
        schema.remove_schemas(place, invocation.now, dry_run=args.dry_run) if place else []
    )
    result = uninstall(invocation.cwd, invocation.env, dry_run=args.dry_run)
    steps = [*schema_steps, *result.steps]
    data = {"work_tree": result.work_tree, "dry_run": args.dry_run, "steps": steps_data(steps)}
    lines = describe_steps(steps, dry_run=args.dry_run)
    return Outcome(data, lines or [Line("nothing of checkpoint-git is installed here")])


def uninstall(cwd: str, env: Mapping[str, str], *, dry_run: bool = False) -> UninstallResult:
    repository = read_repository(cwd, env)
    with setup_lock(None if dry_run else repository):
        steps = [] if repository and repository.bare else _plan_work_tree(repository, cwd)
        survey = read_survey(repository, env) if repository else None
        if repository and survey:
            steps += [*plan_uninstall(survey), *_plan_git_dirs(repository)]
            if not repository.bare:
                steps += [
                    *_plan_exclusion(repository, env),
                    *plan_forges_removal(repository.work_tree),
                ]
        if not dry_run:
            apply_steps(steps, repository)

    return UninstallResult(
        repository.work_tree if repository and not repository.bare else None, steps
    )


def _plan_work_tree(repository: Repository | None, cwd: str) -> list[SetupStep]:
    place, steps = _read_place(cwd), list[SetupStep]()
    if place:
        steps += [] if place.git_dir else _plan_locks(place.directory)
        path = os.path.join(place.directory, README)
        if (read_file(path).data or b"").replace(b"\r\n", b"\n") == load_readme():
            steps.append(
                SetupStep(
                    "remove", os.path.relpath(path, place.top), "", RemoveFile(path, folders=1)
                )
            )
    top = repository.work_tree if repository else place.root if place else os.path.abspath(cwd)
    inner = [place.root] if place and not os.path.samefile(place.root, top) else []
    return steps + read_agent_removal([*inner, top], top)


def _plan_locks(folder: str) -> list[SetupStep]:
    paths = [(name, os.path.join(folder, name)) for name in _LOCKS]
    return [
        SetupStep("remove", name, "", RemoveLock(path))
        for name, path in paths
        if os.path.lexists(path)
    ]


def _plan_git_dirs(repository: Repository) -> list[SetupStep]:
    steps, kept = _plan_locks(repository.git_dir), list[SetupStep]()
    for git_dir in dict.fromkeys((repository.common_dir, repository.git_dir)):
        top = os.path.join(git_dir, _OWN_FOLDER)
        for folder, folders, names in os.walk(top):
            if folder == top and _BACKUPS in folders:
                folders.remove(_BACKUPS)
                text = "what `doctor --fix` replaced stays here until you delete it"
                kept.append(SetupStep("keep", f"{_OWN_FOLDER}/{_BACKUPS}", text))
            for path in (os.path.join(folder, name) for name in sorted(names)):
                label = os.path.relpath(path, git_dir)
                if label in ("checkpoint/automatic/index", "checkpoint/automatic.index"):
                    text = (
                        "automatic restore points: `git update-ref -d CHECKPOINT_HEAD` drops them"
                    )
                    kept.append(SetupStep("keep", "CHECKPOINT_HEAD", text))
                steps.append(
                    SetupStep("remove", label, "", RemoveFile(path, folders=label.count(os.sep)))
                )

    return steps + kept


def _plan_exclusion(repository: Repository, env: Mapping[str, str]) -> list[SetupStep]:
    # The lines that hide restore points from git go with the last point, and not before
    name = "info/exclude"
    path = os.path.join(repository.common_dir, name)
    data = read_file(path).data or b""
    if not has_block(data):
        return []
    left = sum(count(repository.work_tree, env) for count in find_hooks("count_untracked"))
    if left:
        return [
            SetupStep(
                "keep",
                name,
                f"it hides restore points ({left} left): drop them first, then uninstall again",
            )
        ]

    return [removal_step(name, path, take_block(data) or None)]


def _read_place(cwd: str) -> Place | None:
    try:
        return find_place(cwd)
    except CheckpointError:
        return None
