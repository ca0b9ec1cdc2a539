"""A bare repository on this machine and clones of it, which sync with one another."""

import json
import os
from pathlib import Path
from typing import Any

from checkpoint_git.disk.discover import find_repository, plan_place
from checkpoint_git.tools.sync.context import Wish
from checkpoint_git.tools.sync.run import SyncResult, sync
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint

NOW = 1772452800  # 2026-03-02T12:00:00Z
BUILD = ".checkpoints/build.checkpoint.json"
QA = ".checkpoints/qa.checkpoint.json"


class Clone(GitRepo):
    """A clone with the verbs that these tests need."""

    def sync(self, **wish: Any) -> SyncResult:
        """`checkpoint sync`, in this process."""
        assert find_repository(str(self.path))
        return sync(plan_place(str(self.path)), Wish(**{"timeout": 30.0, **wish}), NOW, os.environ)

    def change(self, path: str = BUILD, **fields: Any) -> None:
        """Writes fields of a checkpoint, which is started where it is missing."""
        value = (
            self.load(path)
            if (self.path / path).exists()
            else checkpoint(skill=Path(path).name.split(".")[0])
        )
        value.update(fields)
        self.write(path, json.dumps(value, indent=2) + "\n")

    def load(self, path: str = BUILD) -> Any:
        """A checkpoint of the work tree."""
        return json.loads(self.read(path))

    def status(self) -> list[str]:
        """What `git status` says, without the branch."""
        return [
            line
            for line in self.git("status", "--porcelain", "--untracked-files=all").split("\n")
            if line
        ]

    def commit_code(self, content: str, name: str = "code.txt") -> None:
        """A commit of a file that is no checkpoint."""
        self.write(name, content)
        self.git("add", name)
        self.git("commit", "-q", "-m", f"Change {name}", "--", name)


class Hub(GitRepo):
    """The bare repository."""

    def load(self, path: str = BUILD, branch: str = "main") -> Any:
        """A checkpoint of a branch's tip."""
        return json.loads(self.git("show", f"{branch}:{path}"))

    def clone(self, name: str) -> Clone:
        """A new clone beside the hub."""
        path = self.path.parent / name
        self.git("clone", "-q", str(self.path), str(path))
        return Clone(path)

    def hook(self, name: str, script: str) -> None:
        """A hook of the hub."""
        add_hook(self.path / "hooks" / name, script)


def add_hook(path: Path, script: str) -> None:
    """An executable shell script."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def create_hub(folder: Path) -> Hub:
    """A hub whose main has one code file and two checkpoints."""
    hub = Hub(folder / "hub.git")
    copy_built(_build_hub, hub.path)
    return hub


def copy_clone(hub: Hub, name: str) -> Clone:
    """Return what hub.clone(name) would, of a hub from create_hub that nothing was pushed to yet:
    without a process.
    """
    clone = Clone(hub.path.parent / name)
    copy_built(_build_clone, clone.path)
    config = clone.path / ".git/config"
    config.write_text(config.read_text().replace(_NOWHERE, str(hub.path)))
    return clone


_NOWHERE = "nowhere.git"  # where a clone comes from until it is copied


def _build_hub(folder: Path) -> None:
    hub = Hub.create(folder / "0", "--bare")
    first = Clone(folder / "first")
    GitRepo.create(first.path)
    first.write("code.txt", "one\n")
    first.write("other.txt", "one\n")
    first.change(BUILD, cost={"total_usd": 1.0})
    first.change(QA)
    first.commit("Begin")
    first.git("push", "-q", str(hub.path), "main")
    hub.pack()


def _build_clone(folder: Path) -> None:
    hub = create_hub(folder)
    clone = hub.clone("0")
    clone.git("config", "remote.origin.url", _NOWHERE)
    clone.pack()
