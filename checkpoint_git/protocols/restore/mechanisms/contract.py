"""The interface of mechanisms: each keeps one kind of content, and restores it in a rollback."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from checkpoint_git.protocols.restore import store
from checkpoint_git.protocols.restore.contents import (
    ContentDifference,
    ContentEntry,
    Location,
    Part,
    ScopePath,
)
from checkpoint_git.protocols.restore.layout import Workspace


class PartRequest(NamedTuple):
    """A state or database that a point is asked to keep."""

    kind: str
    name: str
    details: Mapping[str, Any] = {}  # only its mechanism reads them; they are never written down
    # before a rollback: it may be gone, and what cannot be understood is kept as it is
    may_lack: bool = False


class Means(NamedTuple):
    """The means that the caller of a rollback gives for states and databases."""

    state_to: Mapping[str, str] = {}  # key -> absolute path of the file that takes the state
    hand_over: Callable[[str, Any], object] | None = None  # takes (key, value) instead of files
    passwords: Mapping[str, str] = {}  # name of a database -> its password


class WantedState(NamedTuple):
    """The part of a point that a rollback restores."""

    within: Sequence[str] | None = None  # paths, `state:KEY` and URLs of databases; None for all
    means: Means = Means()
    staged: bool = False  # git's index
    operation: bool = False  # HEAD, its branch, and what was in progress


class MechanismPlan(NamedTuple):
    """The changes that a rollback makes."""

    remove: list[str]  # what was made since, deep paths first
    restore: list[ContentDifference]  # what is missing or differs
    entries: list[ContentEntry]
    parts: Sequence[Part] = ()  # states and databases that differ, in the order of restoring
    found: Sequence[ScopePath] = ()  # the scope as it was when the plan was made, as `present` is
    present: Sequence[ContentEntry] = ()


class Job(NamedTuple):
    """A rollback: the point, where it is, and what is wanted of it."""

    workspace: Workspace  # with cwd at its root
    manifest: store.Manifest
    location: Location
    wanted: WantedState
    entries: list[ContentEntry]  # all of the point
    parts: list[Part]  # those within

    def covers(self, path: str) -> bool:
        return self.wanted.within is None or is_below(path, self.wanted.within)

    def is_left_out(self, path: str) -> bool:
        """Return whether the point left it out when it was made: a rollback must not change it."""
        left_out = self.manifest.value.get("left_out", [])
        return any(is_below(path, [row["path"].rstrip("/")]) for row in left_out)


def is_below(path: str, places: Iterable[str]) -> bool:
    """Return whether a path is one of some places, or below one; "" is the workspace."""
    for place in places:
        if not place or path == place or path.startswith(f"{place.rstrip('/')}/"):
            return True
    return False


class Mechanism(Protocol):
    """One kind of content, as a rollback uses it: databases, files, states, git's own state.

    A rollback asks all of them whether they are ready, keeps what is there in a safety point, and
    then lets each restore what differs. It changes nothing before all are ready.
    """

    def check_ready(self, job: Job) -> None:
        """Raise CheckpointError if the content cannot be restored now."""

    def restore(self, job: Job, plan: MechanismPlan) -> list[str]:
        """Restore what differs, and return sentences on what the user should know."""


class PartMechanism(Protocol):
    """One kind of state or database: how it is kept in a file, and how it is restored."""

    def capture(self, location: Location, request: PartRequest, content: str) -> Part:
        """Keep it, and prove that it can be read. content: the file's path below the folder."""

    def check_ready(self, location: Location, part: Part, means: Means) -> None:
        """Raise CheckpointError if it cannot be restored now."""

    def is_as_kept(self, location: Location, part: Part, means: Means) -> bool:
        """Return whether what is there now is what the point holds."""

    def request_present(self, location: Location, part: Part, means: Means) -> PartRequest | None:
        """Return how to keep what is there now; None if that cannot be known."""

    def restore(self, location: Location, part: Part, means: Means) -> list[str]:
        """Restore it, and return sentences on what the user should know."""

    def write_lines(self, part: Part) -> str:
        """Return the lines of restore.sh that restore it."""

    def find_prerequisites(self, part: Part) -> list[str]:
        """Return what must be true before it can be restored, in sentences."""


def content_path(location: Location, part: Part) -> str:
    """Return the absolute path of the file that keeps a part."""
    return os.path.join(location.folder, part.content)
