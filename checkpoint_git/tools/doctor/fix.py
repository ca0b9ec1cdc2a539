"""`doctor --fix`: plan what changes, show it or do it after a backup and under the lock, and look
again.
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
    """The codes that words ask for; SAFE stands for all safe ones. Raises CheckpointError for what
    has no fix, and where a session that works for one skill is asked to fix another's checkpoint.
    """
    for fixer in list_fixers() if skill else ():
        fixer.check_owner(str(skill), env)
    codes = {check.code for check in list_checks() if SAFE in words and check.fix == "safe"}
    for word in words:
        if word == SAFE:
            continue
        if not any(check.code == word and check.fix != "no" for check in list_checks()):
            shown = escape_controls(shorten(word, 60))
            message = f'unknown check "{shown}"'
            if any(check.code == word for check in list_checks()):
                message = f'"{shown}" has no fix'
            elif any(check.matches(word) for check in list_checks()):
                message = f'"{shown}" is a group, and --fix= wants one code'
            raise CheckpointError(
                message, command("checkpoint", "doctor", "--list", more=" shows what can be fixed")
            )
        codes.add(word)

    return codes


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

    def describe_left(self) -> list[Line]:
        left = ", ".join(skill for _, plan in self.documents for skill in plan.left)
        text = f"left to the owners of {left}: CHECKPOINT_SKILL names the only checkpoint to write"
        return [Line(text, "warn")] if left else []


def plan_fix(found: Diagnosis, codes: set[str], env: Mapping[str, str]) -> DoctorPlan:
    wanted = [finding for finding in found.findings if finding.code in codes]
    documents = [(fixer, fixer.plan_fixes(found.context, wanted)) for fixer in list_fixers()]
    return DoctorPlan(
        documents,
        *plan_repairs(found.context.place.root, {finding.code for finding in wanted}, env),
    )


def show(found: Diagnosis, codes: set[str], invocation: Invocation) -> Fixes:
    plan, place = plan_fix(found, codes, invocation.env), found.context.place
    repository = read_repository(place.root, invocation.env)
    steps = [*plan.steps, *(plan_leftovers(repository) if repository else [])]
    changes = [
        {"path": fix.path, "diff": diff_lines(fix.before, fix.after, fix.path)}
        for fix in plan.files
    ]
    changes += [change for step in steps if (change := _show_step(step, place))]
    data = {
        "dry_run": True,
        "fixed": _files_data(plan.files),
        "steps": steps_data(steps),
        "changes": changes,
    }
    blocks: list[Block] = [
        Line(f"{fix.path}: would fix: {one.text}", "good") for fix in plan.files for one in fix.done
    ]
    blocks += [*describe_steps(steps, dry_run=True), *plan.describe_left()]
    blocks += show_diff(line for change in changes for line in change.get("diff", ()))
    blocks += [
        Line(str(change["command"]), "strong", hang=-1) for change in changes if "command" in change
    ]
    return Fixes(data, blocks or [Line("there is nothing to fix", "dim")], plan.refused)


def _show_step(step: SetupStep, place: Place) -> dict[str, Any] | None:
    match step.change:
        case WriteFile(path, data, _):
            shown = relative_path(path, place.top).lstrip("/")
            return {"path": path, "diff": diff_lines(read_if_there(path) or b"", data, shown)}
        case RemoveFile(path, _):
            return {"command": shlex.join(["rm", path])}
        case WriteSetting(key, value):
            return {
                "command": shlex.join(["git", "config", "--local", "--replace-all", key, value])
            }
        case RemoveSettings(keys):
            return {
                "command": "; ".join(
                    shlex.join(["git", "config", "--local", "--unset-all", key]) for key in keys
                )
            }
        case _:
            return None


def _files_data(files: Sequence[FileFix]) -> list[dict[str, Any]]:
    return [{"path": fix.path, "done": [one._asdict() for one in fix.done]} for fix in files]


class Applied(NamedTuple):
    """backup: "" if nothing had to be kept. changed: files that somebody wrote to meanwhile, left
    as they are.
    """

    files: list[FileFix]
    steps: list[SetupStep]
    backup: str
    changed: list[str]
    history: list[str]


def fix(
    found: Diagnosis, codes: set[str], invocation: Invocation, look: Callable[[], Diagnosis]
) -> tuple[Fixes, Diagnosis]:
    # one fix can bring out what another hid, so it looks again after each round
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
            leftovers = plan_leftovers(repository)  # nobody wants a backup of a cache
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
    blocks: list[Block] = [
        Line(f"{fix.path}: {one.text}", "good") for fix in files for one in fix.done
    ]
    blocks += [*describe_steps(steps, dry_run=False), *plan.describe_left()]
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
        files = [
            one
            for one in plan.files
            if read_content(os.path.join(place.top, one.path), place.top) == one.before
        ]
        ready = [
            (fixer, [one for one in own.files if one in files]) for fixer, own in plan.documents
        ]
        if place.git_dir is None:
            backup = next(
                (
                    kept
                    for fixer, own in ready
                    if (kept := fixer.copy_to_history(place, own, stamp))
                ),
                "",
            )
        else:
            copies = [Copy(fix.path, fix.before) for fix in files] + _copy_others(place, plan)
            backup = write_backup(place.git_dir, stamp, copies) if copies else ""
        history = [path for fixer, own in ready for path in fixer.write_fixes(place, own, now)]
        apply_steps(plan.steps, plan.repository)

    return Applied(
        files, plan.steps, backup, [one.path for one in plan.files if one not in files], history
    )


def _copy_others(place: Place, plan: DoctorPlan) -> list[Copy]:
    """What the steps of init change: files of the work tree by their names, others as git/NAME."""
    if plan.repository is None or not plan.steps:
        return []
    changes = [step.change for step in plan.steps]
    paths = [change.path for change in changes if isinstance(change, WriteFile | RemoveFile)]
    if any(
        change is not None and not isinstance(change, WriteFile | RemoveFile) for change in changes
    ):
        paths.append(config_path(plan.repository))

    copies = []
    common = plan.repository.common_dir
    for path in paths:
        data = read_if_there(path)
        name = f"git/{relative_path(path, common)}" if path.startswith(common + os.sep) else ""
        if data is not None:
            copies.append(Copy(name or relative_path(path, place.top).lstrip("/"), data))

    return copies
