"""`doctor --fix`: plan the changes, show them or make them after a backup and under the lock, and
check again.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_stamp
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import command
from checkpoint_git.core.linediff import diff_lines, show_diff
from checkpoint_git.core.outcome import Block, Invocation, Line
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.backup import Copy, write_backup
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.read import read_content, read_if_there
from checkpoint_git.git.repository import Repository, config_path, read_repository
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.protocols.fix import FileFix, Fixer, FixPlan, list_fixers
from checkpoint_git.protocols.write import Tell, hold_place, say_waiting
from checkpoint_git.tools.doctor.catalog import SAFE, list_checks
from checkpoint_git.tools.doctor.diagnose import Diagnosis
from checkpoint_git.tools.setup.init import plan_repairs
from checkpoint_git.tools.setup.plan import plan_leftovers
from checkpoint_git.tools.setup.steps import (
    RemoveFile,
    RemoveSettings,
    SetupStep,
    WriteFile,
    WriteSetting,
    apply_steps,
    describe_steps,
    setup_lock,
    steps_data,
)

_MOST_ROUNDS = 3  # one fix can bring out what another hid


class Fixes(NamedTuple):
    data: dict[str, Any]
    blocks: list[Block]
    findings: list[Finding]


def choose_codes(words: Sequence[str], skill: str | None, env: Mapping[str, str]) -> set[str]:
    """Return the codes that the words ask for; SAFE stands for all safe ones. Raises
    CheckpointError for a code without a fix, and if a session that works for one skill is asked to
    fix another's checkpoint.
    """
    if skill:
        for fixer in list_fixers():
            fixer.check_owner(skill, env)

    codes: set[str] = set()
    for word in words:
        if word == SAFE:
            codes.update(check.code for check in list_checks() if check.fix == "safe")
        elif any(check.code == word and check.fix != "no" for check in list_checks()):
            codes.add(word)
        else:
            raise _no_fix(word)

    return codes


def _no_fix(word: str) -> CheckpointError:
    shown = escape_controls(shorten(word, 60))
    message = f'unknown check "{shown}"'
    if any(check.code == word for check in list_checks()):
        message = f'"{shown}" has no fix'
    elif any(check.matches(word) for check in list_checks()):
        message = f'"{shown}" is a group, and --fix= wants one code'
    hint = command("checkpoint", "doctor", "--list", more=" shows what can be fixed")
    return CheckpointError(message, hint)


class DoctorPlan(NamedTuple):
    """steps: of init, with the repository they belong to."""

    documents: list[tuple[Fixer, FixPlan]]
    steps: list[SetupStep]
    repository: Repository | None

    @property
    def files(self) -> list[FileFix]:
        return [file for _, plan in self.documents for file in plan.files]

    @property
    def refused(self) -> list[Finding]:
        return [finding for _, plan in self.documents for finding in plan.refused]

    def describe_owned(self) -> list[Line]:
        """Return a line about the checkpoints that only their owners may fix."""
        owners = [skill for _, plan in self.documents for skill in plan.left]
        if not owners:
            return []
        names = f"left to the owners of {', '.join(owners)}"
        return [Line(f"{names}: CHECKPOINT_SKILL names the only checkpoint to write", "warn")]


def plan_fix(found: Diagnosis, codes: set[str], env: Mapping[str, str]) -> DoctorPlan:
    """Return the changes that fix the findings of these codes."""
    wanted = [finding for finding in found.findings if finding.code in codes]
    documents = [(fixer, fixer.plan_fixes(found.context, wanted)) for fixer in list_fixers()]
    reported = {finding.code for finding in wanted}
    steps, repository = plan_repairs(found.context.place.root, reported, env)
    return DoctorPlan(documents, steps, repository)


def show(found: Diagnosis, codes: set[str], invocation: Invocation) -> Fixes:
    """Return what a fix would change, as diffs and commands."""
    plan = plan_fix(found, codes, invocation.env)
    place = found.context.place
    steps = list(plan.steps)
    repository = read_repository(place.root, invocation.env)
    if repository:
        steps += plan_leftovers(repository)

    changes: list[dict[str, Any]] = []
    for fix in plan.files:
        changes.append({"path": fix.path, "diff": diff_lines(fix.before, fix.after, fix.path)})
    for step in steps:
        change = _show_step(step, place)
        if change:
            changes.append(change)

    data = {
        "dry_run": True,
        "fixed": _files_data(plan.files),
        "steps": steps_data(steps),
        "changes": changes,
    }
    blocks: list[Block] = []
    for fix in plan.files:
        blocks += [Line(f"{fix.path}: would fix: {done.text}", "good") for done in fix.done]
    blocks += [*describe_steps(steps, dry_run=True), *plan.describe_owned()]
    blocks += show_diff(line for change in changes for line in change.get("diff", ()))
    for change in changes:
        if "command" in change:
            blocks.append(Line(str(change["command"]), "strong", hang=-1))
    return Fixes(data, blocks or [Line("there is nothing to fix", "dim")], plan.refused)


def _show_step(step: SetupStep, place: Place) -> dict[str, Any] | None:
    """Return the change of a step as a diff or a command; None for one that cannot be shown."""
    match step.change:
        case WriteFile(path, data, _):
            shown = relative_path(path, place.top).lstrip("/")
            return {"path": path, "diff": diff_lines(read_if_there(path) or b"", data, shown)}
        case RemoveFile(path, _):
            return {"command": shlex.join(["rm", path])}
        case WriteSetting(key, value):
            argv = ["git", "config", "--local", "--replace-all", key, value]
            return {"command": shlex.join(argv)}
        case RemoveSettings(keys):
            unset = ["git", "config", "--local", "--unset-all"]
            return {"command": "; ".join(shlex.join([*unset, key]) for key in keys)}
        case _:
            return None


def _files_data(files: Sequence[FileFix]) -> list[dict[str, Any]]:
    return [{"path": fix.path, "done": [done._asdict() for done in fix.done]} for fix in files]


class Applied(NamedTuple):
    """backup: "" if nothing had to be kept. changed: files that somebody wrote to meanwhile, and
    that were not touched.
    """

    files: list[FileFix]
    steps: list[SetupStep]
    backup: str
    changed: list[str]
    history: list[str]


def fix(
    found: Diagnosis, codes: set[str], invocation: Invocation, look: Callable[[], Diagnosis]
) -> tuple[Fixes, Diagnosis]:
    """Fix findings, and return what was done and what remains.

    look: checks again; it does so after each round, since one fix can bring out what another hid.
    """
    place = found.context.place
    rounds: list[Applied] = []
    leftovers: list[SetupStep] = []
    repository = read_repository(place.root, invocation.env)
    with setup_lock(repository):
        plan = plan_fix(found, codes, invocation.env)
        while (plan.files or plan.steps) and len(rounds) < _MOST_ROUNDS:
            rounds.append(apply_plan(place, plan, invocation.now, say_waiting(invocation.stderr)))
            found = look()
            plan = plan_fix(found, codes, invocation.env)
        if repository:
            # without a backup: they are caches
            leftovers = plan_leftovers(repository)
            apply_steps(leftovers, repository)

    steps = [step for applied in rounds for step in applied.steps] + leftovers
    return _describe_rounds(rounds, steps, plan, place), found


def _describe_rounds(
    rounds: Sequence[Applied], steps: Sequence[SetupStep], plan: DoctorPlan, place: Place
) -> Fixes:
    """Return what was done. plan: what remains after the last round."""
    files = [fix for applied in rounds for fix in applied.files]
    backups = [relative_path(applied.backup, place.top) for applied in rounds if applied.backup]
    changed = sorted({path for applied in rounds for path in applied.changed})
    data = {
        "dry_run": False,
        "fixed": _files_data(files),
        "steps": steps_data(steps),
        "history": [path for applied in rounds for path in applied.history],
        "backups": backups,
        "changed_meanwhile": changed,
    }
    meanwhile = "it changed meanwhile, so it was not touched; run it again"
    blocks: list[Block] = []
    for fix in files:
        blocks += [Line(f"{fix.path}: {done.text}", "good") for done in fix.done]
    blocks += [*describe_steps(steps, dry_run=False), *plan.describe_owned()]
    blocks += [Line(f"{path}: {meanwhile}", "warn") for path in changed]
    blocks += [Line(f"backup: {path}", "dim") for path in backups]
    return Fixes(data, blocks or [Line("there is nothing to fix", "dim")], plan.refused)


def apply_plan(place: Place, plan: DoctorPlan, now: int, on_wait: Tell) -> Applied:
    """Make the changes under the lock: first a copy of every file that changes, then each file
    whole or not at all.
    """
    stamp = write_stamp(now)
    folders = (place.directory, os.path.join(place.directory, skill_layout().HISTORY))
    with hold_place(place, folders, on_wait):
        files: list[FileFix] = []
        changed: list[str] = []
        for fix in plan.files:
            if read_content(os.path.join(place.top, fix.path), place.top) == fix.before:
                files.append(fix)
            else:
                changed.append(fix.path)

        ready: list[tuple[Fixer, list[FileFix]]] = []
        for fixer, fixes in plan.documents:
            ready.append((fixer, [fix for fix in fixes.files if fix in files]))
        backup = _write_backup(place, plan, ready, stamp)
        history: list[str] = []
        for fixer, ready_fixes in ready:
            history += fixer.write_fixes(place, ready_fixes, now)
        apply_steps(plan.steps, plan.repository)

    return Applied(files, plan.steps, backup, changed, history)


def _write_backup(
    place: Place,
    plan: DoctorPlan,
    ready: Sequence[tuple[Fixer, list[FileFix]]],
    stamp: str,
) -> str:
    """Copy every file that changes, and return the backup's path; "" if nothing had to be kept.

    Outside git the history of the checkpoints has the copies.
    """
    if place.git_dir is None:
        for fixer, fixes in ready:
            backup = fixer.copy_to_history(place, fixes, stamp)
            if backup:
                return backup
        return ""

    copies = [Copy(fix.path, fix.before) for _, fixes in ready for fix in fixes]
    copies += _copy_others(place, plan)
    if not copies:
        return ""
    return write_backup(place.git_dir, stamp, copies)


def _copy_others(place: Place, plan: DoctorPlan) -> list[Copy]:
    """Return copies of what the steps of init change: files of the work tree by their names,
    others as git/NAME.
    """
    if plan.repository is None or not plan.steps:
        return []

    paths = []
    changes_settings = False
    for step in plan.steps:
        if isinstance(step.change, WriteFile | RemoveFile):
            paths.append(step.change.path)
        elif step.change is not None:
            changes_settings = True
    if changes_settings:
        paths.append(config_path(plan.repository))

    copies = []
    common = plan.repository.common_dir
    for path in paths:
        data = read_if_there(path)
        if data is None:
            continue
        name = relative_path(path, place.top).lstrip("/")
        if path.startswith(common + os.sep):
            name = f"git/{relative_path(path, common)}"
        copies.append(Copy(name, data))

    return copies
