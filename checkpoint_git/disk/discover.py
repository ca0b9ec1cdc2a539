"""Where checkpoints live: it finds folders by walking upward, and neither runs git nor reads a
checkpoint.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, join_hints
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_WAIT
from checkpoint_git.core.terminal_text import escape_controls

LONGEST_PATH = 4096  # characters; no system opens a longer one
_DIRECTORY = ".checkpoints"


class MissingPlaceError(CheckpointError):
    """No .checkpoints in a folder or above it."""


class Place(NamedTuple):
    """root: the absolute folder that holds the directory, .checkpoints or another protocol's.
    work_tree: the repository around it, None outside git. git_dir: that work tree's own git
    directory (a linked worktree has one of its own).
    """

    root: str
    directory: str
    work_tree: str | None
    git_dir: str | None

    @property
    def top(self) -> str:
        """What paths are relative to and what no symbolic link may leave: the work tree, or root
        outside git.
        """
        return self.work_tree or self.root


def find_place(start: str, directory: str = _DIRECTORY) -> Place:
    """The nearest of that name upward from a folder, no higher than its repository's root. Raises
    CheckpointError.
    """
    start = os.path.abspath(start)
    repository = find_repository(start)
    top = repository[0] if repository else None
    for folder in folders_upward(start, top):
        path = os.path.join(folder, directory)
        if os.path.isdir(path) or os.path.islink(path):
            place = Place(folder, path, *(repository or (None, None)))
            check_way(place.directory, place.top)
            return place

    is_sparse = repository is not None and os.path.isfile(
        os.path.join(repository[1], "info", "sparse-checkout")
    )
    hint = advise(
        "go to a folder that has one; in the folder that should have one", "checkpoint", "init"
    )
    if is_sparse:
        add = ("git", "sparse-checkout", "add", _DIRECTORY)
        hint = join_hints(advise("is it excluded from this sparse checkout", *add), hint)

    searched = "up to the repository root" if top else "upward"
    message = f"no {directory} folder found (searched from {escape_controls(start)} {searched})"
    raise MissingPlaceError(message, hint)


def plan_place(start: str, directory: str = _DIRECTORY) -> Place:
    """Where a new one belongs: the repository's root, else the folder itself."""
    work_tree, git_dir = find_repository(start) or (None, None)
    root = work_tree or os.path.abspath(start)
    return Place(root, os.path.join(root, directory), work_tree, git_dir)


def find_or_plan_place(start: str) -> Place:
    with suppress(CheckpointError):
        return find_place(start)
    return plan_place(start)


def find_repository(start: str) -> tuple[str, str] | None:
    """(work tree, git directory), both absolute; None outside git. Raises CheckpointError for links
    among our state.
    """
    for top in folders_upward(os.path.abspath(start)):
        if git_dir := _read_git_dir(top):
            refuse_links(git_dir)
            return top, git_dir

    return None


def refuse_links(git_dir: str) -> None:
    """Raise CheckpointError for a link among our state in a work tree's git directories.

    An unpacked archive brings a .git of its own.
    """
    for folder in {git_dir, find_common_dir(git_dir)}:
        for above, folders, files in os.walk(os.path.join(folder, "checkpoint")):
            for path in [above, *(os.path.join(above, name) for name in folders + files)]:
                if os.path.islink(path):
                    message = f"{escape_controls(path)} is a symbolic link"
                    raise CheckpointError(message, "remove that link")


def find_common_dir(git_dir: str) -> str:
    """Return the git directory that all work trees of a repository share."""
    common = _read_line(os.path.join(git_dir, "commondir")) or "."
    return os.path.normpath(os.path.join(git_dir, common))


def shared_path(cwd: str, name: str) -> str:
    """Return the path of a file in the git directory that all work trees share.

    Outside a repository it is one that cannot exist.
    """
    repository = find_repository(cwd)
    if not repository:
        return os.path.join(os.devnull, name)
    return os.path.join(find_common_dir(repository[1]), name)


def find_siblings(place: Place) -> list[tuple[str, Place]]:
    """Return the branch ("" for none) and the place of each other work tree of the repository.

    No process is started.
    """
    common = find_common_dir(place.git_dir or os.devnull)
    folder = os.path.join(common, "worktrees")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if not names:
        return []

    found = list[tuple[str, Place]]()
    for git_dir in (common, *(os.path.join(folder, name) for name in sorted(names))):
        git_file = os.path.join(git_dir, _read_line(os.path.join(git_dir, "gitdir")))
        top = os.path.dirname(os.path.normpath(git_file))
        root = os.path.normpath(os.path.join(top, os.path.relpath(place.root, place.top)))
        with suppress(CheckpointError, OSError):  # it has no checkpoints, or is not there any more
            other = find_place(root)
            is_whole = other.root == root and os.path.samefile(other.git_dir or "", git_dir)
            if is_whole and not os.path.samefile(git_dir, place.git_dir or ""):
                head = _read_line(os.path.join(git_dir, "HEAD"))
                found.append((head.partition("ref: refs/heads/")[2], other))

    return found


def folders_upward(start: str, top: str | None = None) -> Iterator[str]:
    """Yield the folders from an absolute one up to top, or to the root if top is not above it."""
    folder = start
    yield folder
    while folder != top and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        yield folder


def is_inside(path: str, boundary: str) -> bool:
    """Whether a path is in a folder, or is it, with all symbolic links followed."""
    return f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(boundary).rstrip('/')}/")


def path_below(root: str, path: str) -> str | None:
    """Return a normal absolute path relative to root, "" for root; None if it is elsewhere."""
    if not f"{path}/".startswith(f"{root.rstrip('/')}/"):
        # links above root are another spelling of it, as /tmp is on macOS; links below it count as
        # they are
        real = os.path.realpath(root)
        root = next(
            (
                above
                for above in reversed([*folders_upward(path)])
                if os.path.realpath(above) == real
            ),
            "",
        )
        if not root:
            return None

    return path[len(root.rstrip("/")) + 1 :]


_HIDDEN = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def is_git_name(name: str) -> bool:
    """Whether some file system takes a name for .git.

    In capitals, as its short name, or with what HFS+ and NTFS leave out.
    """
    plain = name.translate(_HIDDEN).replace("\\", ":").partition(":")[0].rstrip(" .").lower()
    return plain == ".git" or plain.startswith("git~")


def find_link(path: str, top: str) -> str:
    """Return the first symbolic link from top down to a path, or the path, relative to top.

    "" if there is none.
    """
    ways = accumulate(relative_path(path, top).split("/"), os.path.join)
    return next((way for way in ways if os.path.islink(os.path.join(top, way))), "")


def check_way(path: str, top: str) -> None:
    """Raise CheckpointError for a path that leads through a link or into git's folder."""
    path = os.path.normpath(path)
    if any(map(is_git_name, relative_path(path, top).split("/"))):
        message = f"{escape_controls(path)} is git's own"
        raise CheckpointError(message, "nothing else is kept there: name another path")

    if link := find_link(path, top):
        shown = escape_controls(os.path.join(top, link))
        message = f"{shown} is a symbolic link, and writing would follow it"
        hint = "put what it leads to in its place: it belongs to the project"
        raise CheckpointError(message, hint)


def relative_path(path: str, top: str) -> str:
    """Return a path relative to top, with "/" between its parts; unchanged if it is elsewhere."""
    return path.removeprefix(top.rstrip(os.sep) + os.sep).replace(os.sep, "/")


def _read_git_dir(folder: str) -> str | None:
    path = os.path.join(folder, ".git")
    if os.path.isfile(path):
        _, found, target = _read_line(path).partition("gitdir:")
        if not found:
            return None
        path = os.path.normpath(os.path.join(folder, target.strip(" ")))
    head = os.path.join(path, "HEAD")
    if os.path.isfile(head) or os.path.islink(head):
        return path
    return None


def _read_line(path: str) -> str:
    """Return the line of a file of git's that has one; "" if there is no such file."""
    flags = os.O_RDONLY | CLOSE_ON_EXEC | NO_WAIT  # a pipe is not waited for
    with suppress(OSError), open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        text = (file.read(4096) or b"").decode("utf-8", "surrogateescape")
        return text.strip("\r\n").replace("\0", "")
    return ""
