"""Restore points in tests: a workspace at a fixed time, and everything about a tree that a point
gives back.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkpoint_git.protocols.restore import layout, points, rollback, store
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms.contract import Means, PartRequest, WantedState
from checkpoint_git.protocols.restore.points import CreatedPoint
from tests.support.command import ask_json
from tests.support.repos import GitRepo

NOW = 1_768_487_422
KINDS = ("git_stash", "file_backup")


def workspace_of(root: Path) -> Workspace:
    """A workspace at a fixed time."""
    return open_workspace(str(root), NOW, dict(os.environ))


def fork(repo: GitRepo) -> None:
    """Two branches that changed one file: the one you are on, and topic."""
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("a", "topic\n")
    repo.commit()
    repo.git("checkout", "-q", "-")
    repo.write("a", "main\n")
    repo.commit()


def look(root: Path) -> str:
    """Everything about a tree that a restore point promises to give back."""
    lines, names = [], dict[int, Path]()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name for name in folders if name not in (".git", ".checkpoints", ".audit")
        )
        for name in sorted([*folders, *files]):
            path = Path(folder) / name
            status = path.lstat()
            content = (
                path.readlink()
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else ""
            )
            linked = (
                names.setdefault(status.st_ino, path)
                if path.is_file() and status.st_nlink > 1
                else ""
            )
            lines.append(f"{path!a} {status.st_mode:o} {content!a} {linked}")
    return "\n".join(lines)


def ask(work: GitRepo | Path, *words: str, code: int | None = 0) -> dict[str, Any]:
    """What `checkpoint rp WORDS` answers."""
    return ask_json(work if isinstance(work, Path) else work.path, "rp", *words, code=code)


def load(root: Path, point: str) -> store.Manifest:
    """A point by its id."""
    manifest = store.load_manifest(workspace_of(root), point)
    assert manifest is not None
    return manifest


def roll_back(root: Path, point: str) -> rollback.RolledBack:
    """The rollback to a point by its id."""
    return rollback.roll_back(workspace_of(root), load(root, point), WantedState())


def go_back(
    workspace: Workspace,
    manifest: store.Manifest,
    within: Sequence[str] | None = None,
    means: Means | None = None,
) -> rollback.RolledBack:
    return rollback.roll_back(workspace, manifest, WantedState(within, means or Means()))


def create(
    workspace: Workspace,
    asked: Sequence[str],
    reason: str,
    kind: str,
    expires: int | None,
    parts: Sequence[PartRequest] = (),
) -> CreatedPoint:
    return points.create(workspace, PointRequest(asked, reason, kind, expires, parts))


def folder_of(root: Path, point: str) -> Path:
    """Where a point is, and not the copy below .checkpoints."""
    return Path(layout.point_folder(workspace_of(root).base, point))


def manifest_file(root: Path, point: str) -> Path:
    return folder_of(root, point) / layout.MANIFEST


def run_script(
    root: Path, made: CreatedPoint, shell: str = "/bin/sh"
) -> subprocess.CompletedProcess[bytes]:
    """The point's restore.sh, from elsewhere."""
    script = root / layout.FOLDER / made.manifest.id / layout.RESTORE_SCRIPT
    return subprocess.run([shell, str(script)], cwd="/", capture_output=True, check=False)
