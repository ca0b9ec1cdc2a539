"""`checkpoint uninstall`: what init added goes, every other byte stays, checkpoints included."""

import argparse
import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import has_block, remove_block
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git import driver_settings, private_objects
from checkpoint_git.git.repository import Repository, config_path, read_repository, read_settings
from checkpoint_git.protocols.restore import layout
from checkpoint_git.tools.agents.setup import read_agent_removal
from checkpoint_git.tools.setup import readme, schemas
from checkpoint_git.tools.setup.apply import apply_steps, describe_steps, steps_data
from checkpoint_git.tools.setup.bare import read_bare
from checkpoint_git.tools.setup.forge_files import plan_forges_removal
from checkpoint_git.tools.setup.setup_lock import apply_in_turn, take_turn
from checkpoint_git.tools.setup.steps import RemoveFile, Step, WriteFile
from checkpoint_git.tools.setup.survey import read_bare_survey, read_file, read_survey
from checkpoint_git.tools.setup.uninstall_plan import (
    plan_left_files,
    plan_memory_removal,
    plan_uninstall,
    restored_config,
)

SUMMARY = "take away what init added to this repository; checkpoints stay"
EXAMPLES = """\
  checkpoint uninstall --dry-run         say what would be taken away
  checkpoint uninstall                   take it away"""


class UninstallResult(NamedTuple):
    """The repository's work tree (None outside git) and the steps."""

    work_tree: str | None
    steps: list[Step]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of uninstall."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken away, and do nothing")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb."""
    schema_steps = _remove_schemas(_read_place(invocation.cwd), invocation.now, dry_run=args.dry_run)
    result = uninstall(invocation.cwd, invocation.env, dry_run=args.dry_run)
    result.steps[:0] = schema_steps
    data = {"work_tree": result.work_tree, "dry_run": args.dry_run, "steps": steps_data(result.steps)}
    lines = describe_steps(result.steps, dry_run=args.dry_run)
    return Outcome(data, lines or [Line("nothing of checkpoint-git is installed here")])


def uninstall(cwd: str, env: Mapping[str, str], *, dry_run: bool = False) -> UninstallResult:
    """Takes init's additions out of the repository around a directory, a bare one too."""
    bare = read_bare(cwd, env)
    if bare is not None:
        return _uninstall_bare(bare, env, dry_run=dry_run)
    repository = read_repository(cwd, env)
    with take_turn(None if dry_run else repository):
        return _uninstall_here(repository, cwd, env, dry_run=dry_run)


def _uninstall_here(
    repository: Repository | None, cwd: str, env: Mapping[str, str], *, dry_run: bool
) -> UninstallResult:
    steps = plan_folder_removal(_read_place(cwd))
    place = _read_place(cwd)
    top = repository.work_tree if repository else place.root if place else os.path.abspath(cwd)
    inner = [place.root] if place and not os.path.samefile(place.root, top) else []
    steps += read_agent_removal([*inner, top], top)
    if repository is None:
        if not dry_run:
            apply_in_turn(steps, None)
        return UninstallResult(None, steps)
    own = read_settings(repository)
    steps += plan_uninstall(read_survey(repository, own, env, repository.work_tree))
    steps += plan_left_files(repository.git_dir, os.listdir(repository.git_dir))
    steps += plan_memory_removal(repository.common_dir, repository.git_dir)
    steps += plan_exclusion_removal(repository, env)
    steps += plan_forges_removal(repository.work_tree)
    if not dry_run:
        apply_in_turn(steps, repository)
        _restore_config(repository, own.get(driver_settings.UNENDED_SIZE, ""))
    return UninstallResult(repository.work_tree, steps)


def _remove_schemas(place: Place | None, now: int, *, dry_run: bool) -> list[Step]:
    """What `init --schemas` wrote goes first, while the folder around it is still there."""
    steps = schemas.plan_removal(place) if place else []
    if place and not dry_run:
        schemas.remove_references(place, now)
        apply_steps(steps, None)
    return steps


def _uninstall_bare(bare: Repository, env: Mapping[str, str], *, dry_run: bool) -> UninstallResult:
    own = read_settings(bare)
    steps = plan_uninstall(read_bare_survey(bare, own, env))
    steps += plan_left_files(bare.git_dir, os.listdir(bare.git_dir))
    steps += plan_memory_removal(bare.git_dir, bare.git_dir)
    if not dry_run:
        apply_steps(steps, bare)
        _restore_config(bare, own.get(driver_settings.UNENDED_SIZE, ""))
    return UninstallResult(None, steps)


def plan_folder_removal(place: Place | None) -> list[Step]:
    """The README of .checkpoints goes while it is as init wrote it, and an empty folder with it."""
    if place is None:
        return []
    locks = plan_left_files(place.directory, [] if place.git_dir else os.listdir(place.directory))
    path = os.path.join(place.directory, readme.FILE)
    if (read_file(path).data or b"").replace(b"\r\n", b"\n") != readme.TEXT.encode():
        return locks
    return [*locks, Step("remove", os.path.relpath(path, place.top), "", RemoveFile(path, folder=True))]


def plan_exclusion_removal(repository: Repository, env: Mapping[str, str]) -> list[Step]:
    """The lines that hide restore points from git go with the last point, and not before."""
    name = "info/exclude"
    path = os.path.join(repository.common_dir, name)
    data = read_file(path).data or b""
    if not has_block(data):
        return []
    refs = private_objects.read_refs(repository.work_tree, layout.REF_PREFIX, env)
    left = {*layout.list_ids(repository.work_tree), *refs}
    if left:
        told = f"it hides restore points ({len(left)} left): drop them first, then uninstall again"
        return [Step("keep", name, told)]
    after = remove_block(data)
    change: RemoveFile | WriteFile = WriteFile(path, after) if after else RemoveFile(path)
    return [Step("remove", name, "our lines; the rest stays", change)]


def _read_place(cwd: str) -> Place | None:
    try:
        return find_place(cwd)
    except CheckpointError:
        return None


def _restore_config(repository: Repository, unended: str) -> None:
    path = config_path(repository)
    before = restored_config(read_file(path).data or b"", unended)
    if before is not None:
        write_file(path, before)
