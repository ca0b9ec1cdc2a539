"""Hints as they are typed in a folder: paths of findings begin at the top, and `checkpoint` takes the nearest place."""

import os
import re
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import quote_path
from checkpoint_git.disk.discover import find_place, find_repository
from checkpoint_git.git.own_files import find_unlisted
from checkpoint_git.protocols.registry import find_kind

# what is quoted is another's text, or a path
_COMMAND = re.compile(
    r"(?<![\w\\])'[^']*'|\"[^\"]*\"|(?:^|(?<=[ `(]))"
    r"(?:(checkpoint)(?= (?!resolve|init)[a-z])|(git)(?= (?:add|restore|mv|rm|checkout|check-attr) )|(mv -n) )"
)


_RESTORE = re.compile(r"[;,] or [^;:]+: git restore -- .*")  # what git never had, it cannot give back


def type_hints(findings: Sequence[Finding], cwd: str) -> list[Finding]:
    """Where a finding's place is not the nearest to cwd, or cwd not the top, its commands go there."""
    repository = find_repository(cwd) if findings else None
    if repository is None:
        return list(findings)
    top, cwd = repository[0], os.path.abspath(cwd)
    try:
        nearest = find_place(cwd).root
    except CheckpointError:
        nearest = ""
    offered = [finding.path for finding in findings if finding.path and _RESTORE.search(finding.hint)]
    unlisted = find_unlisted(repository[1], offered) if offered else []
    known = [each._replace(hint=_RESTORE.sub("", each.hint)) if each.path in unlisted else each for each in findings]
    return [_type_hint(finding, cwd, top, nearest) for finding in known]


def _type_hint(finding: Finding, cwd: str, top: str, nearest: str) -> Finding:
    kind = find_kind(finding.path or "")
    start, found, _ = f"/{finding.path}".rpartition(f"/{kind.folder}/" if kind and kind.folder else "\0")
    root = os.path.normpath(f"{top}{start}") if found else nearest

    def send(command: re.Match[str]) -> str:
        if command[1] and root not in (nearest, cwd):
            return f"checkpoint -C {quote_path(os.path.relpath(root, cwd))}"
        if command[2] and cwd != top:
            return f"git -C {quote_path(os.path.relpath(top, cwd))}"
        if command[3] and cwd != top:
            return f"cd {quote_path(os.path.relpath(top, cwd))} && mv -n "
        return command[0]

    return finding._replace(hint=_COMMAND.sub(send, finding.hint))
