"""What init and uninstall are going to do, as values: a step says it in words and may carry one change to make."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Deed = Literal["add", "update", "remove", "keep", "skip", "advise"]


class WriteFile(NamedTuple):
    """A file's whole new content; its folder is made. executable: git is to start it."""

    path: str
    data: bytes
    executable: bool = False


class RemoveFile(NamedTuple):
    """A file to delete. folder: how many of the folders above it were made for it and go too, once they are empty."""

    path: str
    folder: int = 0


class RemoveFolder(NamedTuple):
    """A folder to delete, once it is empty."""

    path: str


class RemoveLock(NamedTuple):
    """A lock file to delete, once no other process holds it."""

    path: str


class RemoveIndex(NamedTuple):
    """A folder with an index of the history, which is made again when it is next needed."""

    folder: str


class WriteSetting(NamedTuple):
    """A key of the repository's git configuration and its value."""

    key: str
    value: str


class RemoveSettings(NamedTuple):
    """Keys to take out of the repository's git configuration."""

    keys: Sequence[str]


Change = WriteFile | RemoveFile | RemoveFolder | RemoveLock | RemoveIndex | WriteSetting | RemoveSettings


class Step(NamedTuple):
    """One line of the report. what: a file or a key, relative to the work tree where it lies there."""

    deed: Deed
    what: str
    text: str = ""
    change: Change | None = None
