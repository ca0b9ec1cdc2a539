"""Adapt hints to the folder in which their commands are typed.

Paths of findings begin at the top of the repository, and `checkpoint` uses the nearest place.
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
_FROM_TOP = ("add", "checkout", "check-attr", "mv", "restore", "rm")  # git's commands with paths


def type_hints(findings: Sequence[Finding], cwd: str) -> list[Finding]:
    """Return the findings with hints that can be typed in a folder.

    If a finding's place is not the nearest to cwd, or cwd is not the top, its commands go there. No
    hint offers to bring back what git never had.
    """
    if not findings:
        return []
    repository = find_repository(cwd)
    if repository is None:
        return list(findings)

    top, git_dir = repository
    cwd = os.path.abspath(cwd)
    try:
        nearest = find_place(cwd).root
    except CheckpointError:
        nearest = ""

    offered = [finding.path for finding in findings if _restores(commands_of(finding.hint))]
    offered = [path for path in offered if path]
    unlisted: Sequence[str] = ()
    if offered:
        unlisted = find_unlisted(git_dir, offered)
    typed = list[Finding]()
    for finding in findings:
        hint = finding.hint
        if finding.path in unlisted and isinstance(hint, Hint):
            hint = Hint(*(step for step in hint.steps if not _restores(step.commands)))
        root = _find_root(finding.path, top) or nearest
        typed.append(finding._replace(hint=_type_hint(hint, root, top, nearest, cwd)))

    return typed


def _restores(commands: Sequence[Argv]) -> bool:
    """Whether a command brings a file back from git."""
    return any(argv[: len(RESTORE)] == RESTORE for argv in commands)


def _find_root(path: str, top: str) -> str:
    """Return the folder of the place that a file belongs to, "" for a file of none."""
    kind = find_kind(path or "")
    if not kind or not kind.folder:
        return ""
    start, found, _ = f"/{path}".rpartition(f"/{kind.folder}/")
    if not found:
        return ""
    return os.path.normpath(f"{top}{start}")


def _type_hint(hint: AnyHint, root: str, top: str, nearest: str, cwd: str) -> AnyHint:
    """Return a hint whose commands work in cwd.

    root: of the finding's place, "" for none. nearest: the root of the place nearest to cwd.
    """
    if not isinstance(hint, Hint):
        return hint

    def send(argv: Argv, *, is_at_top: bool) -> list[Argv]:
        if is_at_top and argv[0] == "checkpoint" and root not in ("", top):
            return [_enter(argv, root, top)]
        if is_at_top:
            return [argv]
        program = argv[0]
        verb = argv[1] if len(argv) > 1 else ""
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
