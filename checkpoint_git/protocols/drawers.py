"""The interfaces of the parts that every protocol has, see contract.py. Only types import it."""

from typing import Any, Protocol

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document


class Layout(Protocol):
    SUFFIX: str

    def find_skill(self, file_name: str) -> str:
        """Return the owner in a file's name, "" for a name that is not the protocol's."""


class SkillLayout(Layout, Protocol):
    """The layout of the first protocol, whose files belong to skills. HISTORY: in DIRECTORY, for
    NAME.MARK.json.
    """

    DIRECTORY: str
    HISTORY: str

    def find_name_trouble(self, name: str) -> str:
        """Return why a text cannot be a skill's name, "" if it can."""

    def check_skill_name(self, name: str) -> None:
        """Raise CheckpointError if find_name_trouble returns a reason."""

    def checkpoint_path(self, place: Place, skill: str) -> str:
        """Return the absolute path of a skill's file. Raises CheckpointError for a bad name."""


class Rules(Protocol):
    """rules.py: what a document means. Its findings have `where`; path and line come later."""

    def describe(self, mismatch: Mismatch) -> Finding:
        """Return a break of the schema as a finding of the protocol."""

    def check(self, value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
        """Return the findings beyond shape; the value may break the schema.

        skill: from the file's name. size: bytes.
        """


class CheckFile(Protocol):
    def __call__(self, path: str, data: bytes, *, now: int) -> Document:
        """Return the document in a file's bytes, with every finding located."""
