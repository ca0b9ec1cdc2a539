"""What every mechanism shares: where a point's content lies, and what a mechanism must be able to do. No content."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.scope import Named

Chunks = Iterator[bytes]
Take = Callable[[int, Chunks | None], None]
Tell = Callable[[int], None]


class Held(NamedTuple):
    """Where a point is kept.

    root: the workspace, absolute. folder: the point's own, absolute; while a point is made it has another name. env:
    the environment in which git and other programs run. commit: what keeps the content in git, "".
    """

    root: str
    folder: str
    env: Mapping[str, str]
    commit: str = ""


class FileMechanism(Protocol):
    """A module that keeps files, links and folders."""

    TYPE: str

    def capture(self, held: Held, found: Sequence[Named], tell: Tell) -> list[Entry]:
        """Keeps the content of every path; the entries say what was kept. Raises CheckpointError.

        tell: called with the bytes kept so far.
        """

    def read_contents(self, held: Held, entries: Sequence[Entry], take: Take) -> None:
        """Hands over the kept content of files and links, one after another; None where it is lost."""
