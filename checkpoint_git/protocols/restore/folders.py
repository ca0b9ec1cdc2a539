"""Make and remove the folders of restore points; a kill in between leaves nothing that counts."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import has_ended
from checkpoint_git.disk.atomic import make_folder, remove_stray_files, reporting, sync_folder
from checkpoint_git.disk.discover import check_way
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import layout, store
from checkpoint_git.protocols.restore.layout import Workspace

_BUILDING = ".new-"  # how the names of unfinished folders begin


@contextmanager
def build_folder(base: str, point: str) -> Iterator[str]:
    """Give a folder that gets the point's name after the block, and is removed if that fails."""
    check_way(os.path.basename(base), os.path.dirname(base))
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{layout.check_id(point)}")

    with reporting(folder):
        os.mkdir(folder, 0o700)
    try:
        yield folder
        target = layout.point_folder(base, point)
        if os.path.lexists(target):
            message = f"there is a restore point {point} already"
            raise CheckpointError(message, "run the same command again")
        with reporting(target):
            sync_folder(folder)
            os.rename(folder, target)
            sync_folder(base)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def scratch_folder(base: str, name: str) -> Iterator[str]:
    """Give a folder that is removed after the block.

    clear_unfinished removes what a killed process left of it.
    """
    check_way(os.path.basename(base), os.path.dirname(base))
    make_folder(base)
    folder = os.path.join(base, f"{_BUILDING}{os.getpid()}-{name}")
    shutil.rmtree(folder, ignore_errors=True)

    with reporting(folder):
        os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_folder(base: str, point: str) -> None:
    """Remove a point's folder: first its name, then its content, so that no half point stays."""
    folder = layout.point_folder(base, point)
    doomed = os.path.join(base, f"{_BUILDING}{os.getpid()}-{point}-dropped")
    with reporting(folder), suppress(FileNotFoundError):
        os.rename(folder, doomed)
        sync_folder(os.path.dirname(folder))
        shutil.rmtree(doomed)


def clear_unfinished(workspace: Workspace) -> None:
    """Remove what killed processes left.

    These are half-made points, and files beside those that they were about to replace.
    """
    for base in store.list_bases(workspace):
        if not os.path.islink(base):
            _remove_unfinished(workspace, base)
            remove_stray_files(base)
            for point in layout.list_ids(base):
                remove_stray_files(layout.point_folder(base, point))

    if not workspace.git_dir:
        return

    remove_stray_files(os.path.join(os.path.dirname(workspace.base), "info"))
    lock = os.path.join(workspace.git_dir, "index.lock")
    with suppress(OSError):
        if read_if_there(lock) == layout.LOCKED:
            remove_quietly(lock)  # of a rollback that was killed: we hold the lock of all others

    remove_stray_files(workspace.git_dir)


def _remove_unfinished(workspace: Workspace, base: str) -> None:
    """Remove the folders of points that a process began, if it has ended."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(base)

    for name in names:
        process, _, point = name.removeprefix(_BUILDING).partition("-")
        if not name.startswith(_BUILDING) or not has_ended(process):
            continue
        if workspace.git_dir and base == workspace.base and layout.is_id(point):
            _remove_ref(workspace, point)  # it is made before the folder gets its name
        shutil.rmtree(os.path.join(base, name), ignore_errors=True)


def _remove_ref(workspace: Workspace, point: str) -> None:
    ref = layout.ref_name(point)
    lock = os.path.join(os.path.dirname(workspace.base), f"{ref}.lock")
    remove_quietly(lock)  # of the git that made it
    commit = store.locate(workspace, point).commit
    private_objects.remove_ref(workspace.root, ref, commit, workspace.env)
