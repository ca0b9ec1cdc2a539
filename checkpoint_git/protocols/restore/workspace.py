"""Where restore points are kept and by whose leave: the workspace around a folder, its lock, what git leaves alone.

It knows no point. Chance comes from here.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.discover import find_place, find_repository, plan_place
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.registry import find_row
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.points import World

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def _make_mark() -> str:
    """Six letters and digits by chance."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(6))


def find_workspace(cwd: str) -> str:
    """The repository's root; outside git the folder that holds .checkpoints upward, else the folder itself."""
    repository = find_repository(cwd)
    if repository is not None:
        return repository[0]
    _refuse_inside_git(cwd)
    try:
        return find_place(cwd).root
    except CheckpointError:
        return plan_place(cwd).root


def _refuse_inside_git(cwd: str) -> None:
    """A bare repository, or the inside of one, holds nobody's files."""
    folder = os.path.abspath(cwd)
    while True:
        there = [os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")]
        if all(there):
            hint = "go to a work tree: restore points keep files that you work on"
            raise CheckpointError(f"{escape_controls(folder)} is a repository without a work tree", hint)
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


def open_world(
    root: str, cwd: str, now: int, env: Mapping[str, str], tell: Callable[[int], None] | None = None
) -> World:
    """The world for a workspace."""
    return World(root, cwd, now, _make_mark, env, tell or (lambda size: None))


def find_git_dir(root: str) -> str | None:
    """The git directory of a workspace, None outside git."""
    repository = find_repository(root)
    return repository[1] if repository else None


@contextmanager
def changing(world: World) -> Iterator[None]:
    """Holds the workspace's lock for restore points. It lies in the git directory, where git status does not see it."""
    folder = find_git_dir(world.root)
    if folder is None:
        folder = os.path.join(world.root, layout.FOLDER)
        os.makedirs(folder, exist_ok=True)
    with hold_lock(os.path.join(folder, "checkpoint-restore.lock")):
        yield


def exclude(world: World) -> None:
    """Tells git to leave our folders alone, in this clone's own list, which no commit takes along."""
    if find_git_dir(world.root) is None:
        return
    from checkpoint_git.core.managed_block import put_block
    from checkpoint_git.git.run import run_git

    words = ["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]
    path = os.fsdecode(run_git(words, world.root, env=private_objects.quiet_env(world.env)).out.rstrip(b"\n"))
    body = "".join(f"/{pattern}\n" for pattern in find_row("restore").local).encode()
    data = read_if_there(path) or b""
    after = put_block(data, body)
    if after == data:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_file(path, after)
