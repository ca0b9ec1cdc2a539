"""Names and places of restore points: the workspace, its lock, and everything in it."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import make_folder
from checkpoint_git.disk.discover import (
    check_way,
    find_common_dir,
    find_or_plan_place,
    find_repository,
)
from checkpoint_git.disk.read import read_plain
from checkpoint_git.git.repository import may_be_bare

FOLDER = ".checkpoints"
# in the common git directory, to which neither `git clean` nor a branch ever writes
STORE = "checkpoint-restore"
MANIFEST = "manifest.json"
RESTORE_SCRIPT = "restore.sh"
CONTENT = "content"  # copies of files, below a point's folder
PARTS = "parts"  # states and databases, below a point's folder
AUDIT_LOG = ".audit/checkpoint-operations.log"
# Lock files of this tool in the work tree (outside git, since the git directory has the others).
# No point has them: a rollback would take the lock from whoever holds it.
_LOCKS = (f"{FOLDER}/.lock", f"{FOLDER}/checkpoint-restore.lock", f"{AUDIT_LOG}.lock")
LOCKS = frozenset((*_LOCKS, *(f"{path}.held" for path in _LOCKS)))
REF_PREFIX = "refs/checkpoints/"
MAX_MANIFEST = 64 << 20  # bytes
# in the lock of the index: so what a killed rollback left is known
LOCKED = b"held by a rollback of checkpoint-git\n"
# what distinguishes one state of a path from another, None if nothing is there
Version = tuple[int, ...] | None


class Workspace(NamedTuple):
    root: str  # absolute
    cwd: str  # what relative paths start from
    now: int  # seconds since 1970
    env: Mapping[str, str]
    git_dir: str | None

    @property
    def base(self) -> str:
        return find_base(self.root, self.git_dir)


def find_base(root: str, git_dir: str | None) -> str:
    """Return the folder of the points that were made here.

    With git, nothing that a branch brings is in it.
    """
    if not git_dir:
        return os.path.join(root, FOLDER)
    return os.path.join(find_common_dir(git_dir), STORE)


def open_workspace(cwd: str, now: int, env: Mapping[str, str]) -> Workspace:
    """Return the workspace around a folder: the repository.

    Outside git, the nearest folder upward that has .checkpoints, else cwd itself.
    """
    repository = find_repository(cwd)
    if repository is not None:
        return Workspace(repository[0], cwd, now, env, repository[1])
    if may_be_bare(os.path.abspath(cwd)):
        message = f"{escape_controls(cwd)} is in a repository without a work tree"
        hint = "go to a work tree: restore points keep files that you work on"
        raise CheckpointError(message, hint)

    return Workspace(find_or_plan_place(cwd).root, cwd, now, env, None)


@contextmanager
def lock(workspace: Workspace) -> Iterator[None]:
    from checkpoint_git.disk.lock import hold_lock

    check_way(os.path.basename(workspace.base), os.path.dirname(workspace.base))
    make_folder(workspace.base)
    with hold_lock(os.path.join(workspace.base, "checkpoint-restore.lock")):
        yield


def make_id(now: int) -> str:
    digits = "".join(letter for letter in write_instant(now) if letter.isdigit())
    return f"chk_{digits[:8]}_{digits[8:14]}_{os.urandom(3).hex()}"


def is_id(text: str) -> bool:
    # nothing else ever becomes a path or a ref
    return re.fullmatch("chk_[0-9]{8}_[0-9]{6}_[a-z0-9]{6}", text) is not None


def check_id(text: str) -> str:
    if is_id(text):
        return text
    shown = escape_controls(shorten(text, 60))
    message = f'"{shown}" is not the name of a restore point'
    hint = command("checkpoint", "restore-point", "list", more=" shows them")
    raise CheckpointError(message, hint)


def point_folder(base: str, point: str) -> str:
    """Return the folder of a point. base: of the workspace, or its .checkpoints for the copy."""
    return os.path.join(base, check_id(point))


def ref_name(point: str) -> str:
    return REF_PREFIX + check_id(point)


def list_ids(base: str) -> list[str]:
    with suppress(OSError):
        return sorted(name for name in os.listdir(base) if is_id(name))
    return []


def is_folder(root: str, path: str) -> bool:
    full = os.path.join(root, path)
    return os.path.isdir(full) and not os.path.islink(full)


def read_status(path: str) -> os.stat_result | None:
    """Return the status of a link itself; None if nothing is there. Raises OSError."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.lstat(path)
    return None


def find_version(status: os.stat_result | None) -> Version:
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return status.st_ino, stat.S_IFDIR
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read_manifest(base: str, point: str) -> bytes:
    return read_plain(os.path.join(point_folder(base, point), MANIFEST), MAX_MANIFEST)
