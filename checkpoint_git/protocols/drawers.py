"""What the drawers that every protocol has must offer, see contract.py. Imported for its types
alone.
"""

from typing import Any, Protocol

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document


class Layout(Protocol):
    SUFFIX: str

    def find_skill(self, file_name: str) -> str:
        """The owner that a file's name says, "" if it is no name of the protocol's."""


class SkillLayout(Layout, Protocol):
    """The first protocol's, whose files belong to named skills. HISTORY: in DIRECTORY, for
    NAME.MARK.json.
    """

    DIRECTORY: str
    HISTORY: str

    def find_name_trouble(self, name: str) -> str:
        """Why a text cannot be a skill's name, "" if it can."""

    def check_skill_name(self, name: str) -> None:
        """Raises CheckpointError if find_name_trouble has an answer."""

    def checkpoint_path(self, place: Place, skill: str) -> str:
        """The absolute path of a skill's active file. Raises CheckpointError for an invalid
        name.
        """


class Rules(Protocol):
    """rules.py: what a document means. Findings come with `where` set, and later with path, line
    and column.
    """

    def describe(self, mismatch: Mismatch) -> Finding:
        """A break of the schema in the protocol's own words."""

    def check(self, value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
        """Everything beyond shape; the value may break the schema. skill: from the file's name.
        size: bytes.
        """


class CheckFile(Protocol):
    def __call__(self, path: str, data: bytes, *, now: int) -> Document:
        """The document in a file's bytes, with every finding located."""
