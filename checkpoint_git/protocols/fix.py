"""What `doctor --fix` changes in the files of a protocol that has a fixes.py."""

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
    """past: what goes to its history, None for nothing."""

    path: str
    skill: str
    before: bytes
    after: bytes
    past: bytes | None
    done: list[Done]


class FixPlan(NamedTuple):
    """refused: why what could be fixed is not. left: skills whose files belong to another
    session.
    """

    files: list[FileFix]
    refused: list[Finding]
    left: list[str]


class Fixer(Protocol):
    """fixes.py. The doctor holds the place's lock while the last two are called."""

    def check_owner(self, skill: str, env: Mapping[str, str]) -> None:
        """Raises CheckpointError if this session must not write the skill's file."""

    def plan_fixes(self, context: "Context", findings: Sequence[Finding]) -> FixPlan:
        """How those of the findings that it knows are fixed; nothing is changed."""

    def copy_to_history(self, place: Place, fixes: Sequence[FileFix], stamp: str) -> str:
        """Keeps the files as they were, where no git directory could; the folder, "" for no
        files.
        """

    def write_fixes(self, place: Place, fixes: Sequence[FileFix], now: int) -> list[str]:
        """Writes the files; the paths of the history files that took what was moved."""


def list_fixers() -> list[Fixer]:
    return [cast(Fixer, part) for row in PROTOCOLS if (part := load_part(row, "fixes"))]
