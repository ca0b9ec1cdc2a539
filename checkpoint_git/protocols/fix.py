"""The interface of a protocol's fixes.py, which `doctor --fix` calls."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.check import Context
from checkpoint_git.protocols.contract import load_part
from checkpoint_git.protocols.registry import PROTOCOLS


class Done(NamedTuple):
    code: str
    where: str
    text: str


class FileFix(NamedTuple):
    """The fix of one file. past: the content of a new history file, None for none."""

    path: str
    skill: str
    before: bytes
    after: bytes
    past: bytes | None
    done: list[Done]


class FixPlan(NamedTuple):
    """The fixes of a protocol.

    refused: findings about fixes that would be errors. left: skills whose files belong to another
    session.
    """

    files: list[FileFix]
    refused: list[Finding]
    left: list[str]


class Fixer(Protocol):
    """fixes.py. The doctor holds the place's lock while the last two are called."""

    def check_owner(self, skill: str, env: Mapping[str, str]) -> None:
        """Raise CheckpointError if this session must not write the skill's file."""

    def plan_fixes(self, context: "Context", findings: Sequence[Finding]) -> FixPlan:
        """Return the fixes of the findings that have one, and write nothing."""

    def copy_to_history(self, place: Place, fixes: Sequence[FileFix], stamp: str) -> str:
        """Copy the files to their history if there is no git directory for a backup.

        Return the folder, "" for no files.
        """

    def write_fixes(self, place: Place, fixes: Sequence[FileFix], now: int) -> list[str]:
        """Write the files, and return the paths of the new history files."""


def list_fixers() -> list[Fixer]:
    return [cast(Fixer, part) for row in PROTOCOLS if (part := load_part(row, "fixes"))]
