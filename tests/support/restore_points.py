"""Restore points in tests: a workspace at a fixed time, and everything about a tree that a point gives back."""

import os
import subprocess
from pathlib import Path

from checkpoint_git.protocols.restore import layout, rollback, store
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.points import CreatedPoint

NOW = 1_768_487_422
KINDS = ("git_stash", "file_backup")


def workspace_of(root: Path) -> Workspace:
    """A workspace at a fixed time."""
    return open_workspace(str(root), NOW, dict(os.environ))


def look(root: Path) -> str:
    """Everything about a tree that a restore point promises to give back."""
    lines = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", ".checkpoints", ".audit"))
        for name in sorted([*folders, *files]):
            path = Path(folder) / name
            status = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            lines.append(f"{path!a} {status.st_mode:o} {content!a}")
    return "\n".join(lines)


def load(root: Path, point: str) -> store.Manifest:
    """A point by its id."""
    manifest = store.load_manifest(str(root), point)
    assert manifest is not None
    return manifest


def roll_back(root: Path, point: str) -> rollback.RolledBack:
    """The rollback to a point by its id."""
    return rollback.roll_back(workspace_of(root), load(root, point))


def run_script(root: Path, made: CreatedPoint, shell: str = "/bin/sh") -> subprocess.CompletedProcess[bytes]:
    """The point's restore.sh, from elsewhere."""
    script = root / layout.FOLDER / made.manifest.id / layout.RESTORE_SCRIPT
    return subprocess.run([shell, str(script)], cwd="/", capture_output=True, check=False)
