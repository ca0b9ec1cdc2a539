"""A repository in which init has installed the hooks."""

import os
from pathlib import Path

import pytest

from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
GOOD = checkpoint_text()
BAD = checkpoint_text(status="nearly")


@pytest.fixture
def guarded(repo: GitRepo) -> GitRepo:
    """Hooks installed, one valid checkpoint committed."""
    copy_built(build_guarded, repo.path)
    return repo


def build_guarded(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    init(str(repo.path), Options(), os.environ)
    repo.write(PATH, GOOD)
    repo.commit("first")


@pytest.fixture
def no_python(guarded: GitRepo, tmp_path: Path) -> Path:
    """The recorded interpreter replaced by one that leaves a mark: the file that is there once it
    was started.
    """
    mark = tmp_path / "python-was-started"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\ntouch "{mark}"\n')
    spy.chmod(0o755)
    guarded.git("config", "checkpoint.install.python", str(spy))
    return mark
