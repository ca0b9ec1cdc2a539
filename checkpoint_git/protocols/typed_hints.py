"""Hints for the folder in which their commands are typed.

Paths of findings begin at the top of the repository, and `checkpoint` takes the nearest place.
"""

import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Argv, Hint, Step, commands_of
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.disk.discover import find_place, find_repository
from checkpoint_git.git.own_files import find_unlisted
from checkpoint_git.protocols.registry import find_kind
from checkpoint_git.protocols.validate import RESTORE

_ANYWHERE = ("resolve", "init")  # verbs whose words do not depend on the nearest place
# of git's commands, those with paths
_FROM_TOP = (
    "add",
    "checkout",
    "check-attr",
    "mv",
    "restore",
    "rm",
)


def type_hints(findings: Sequence[Finding], cwd: str) -> list[Finding]:
    """Return the findings with hints that can be typed in a folder.

    Where a finding's place is not the nearest to cwd, or cwd not the top, its commands go there.
    What git never had, no hint offers to bring back.
    """
    repository = find_repository(cwd) if findings else None
    if repository is None:
        return list(findings)

    top, cwd = repository[0], os.path.abspath(cwd)
    try:
        nearest = find_place(cwd).root
    except CheckpointError:
        nearest = ""

    offered = [
        finding.path
        for finding in findings
        if finding.path and _restores(commands_of(finding.hint))
    ]
    unlisted = find_unlisted(repository[1], offered) if offered else []
    typed = list[Finding]()
    for finding in findings:
        hint = finding.hint
        if finding.path in unlisted and isinstance(hint, Hint):
            hint = Hint(*(step for step in hint.steps if not _restores(step.commands)))
        root = _find_root(finding.path, top) or nearest
        typed.append(finding._replace(hint=_type_hint(hint, root, top, nearest, cwd)))

    return typed


def _restores(commands: Sequence[Argv]) -> bool:
    return any(argv[: len(RESTORE)] == RESTORE for argv in commands)


def _find_root(path: str, top: str) -> str:
    """Return the folder of the place that a file belongs to, "" for a file of none."""
    kind = find_kind(path or "")
    if not kind or not kind.folder:
        return ""
    start, found, _ = f"/{path}".rpartition(f"/{kind.folder}/")
    return os.path.normpath(f"{top}{start}") if found else ""


def _type_hint(hint: AnyHint, root: str, top: str, nearest: str, cwd: str) -> AnyHint:
    if not isinstance(hint, Hint):
        return hint

    def send(argv: Argv, *, is_at_top: bool) -> list[Argv]:
        if is_at_top:
            stays = argv[0] != "checkpoint" or root in ("", top)
            return [argv if stays else _enter(argv, root, top)]
        program, verb = argv[0], argv[1] if len(argv) > 1 else ""
        if program == "checkpoint" and verb not in _ANYWHERE and root not in (nearest, cwd):
            return [_enter(argv, root, cwd)]
        if program == "git" and verb in _FROM_TOP and cwd != top:
            return [_enter(argv, top, cwd)]
        if program == "mv" and cwd != top:
            return [("cd", plain_path(os.path.relpath(top, cwd))), argv]
        return [argv]

    steps = list[Step]()
    for step in hint.steps:
        commands = list[Argv]()
        for argv in step.commands:
            is_at_top = any(typed[0] == "cd" for typed in commands)
            commands += send(argv, is_at_top=is_at_top)
        steps.append(step._replace(commands=tuple(commands)))

    return Hint(*steps)


def _enter(argv: Argv, folder: str, cwd: str) -> Argv:
    """Return the command with the option that runs it in a folder."""
    return (argv[0], "-C", plain_path(os.path.relpath(folder, cwd)), *argv[1:])
