"""A repository in which `checkpoint init` has run: made once in each process, then copied."""

import os
from pathlib import Path

from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo, copy_built


def copy_set_up(repo: GitRepo) -> None:
    """Make an empty repository one that is set up, with nothing committed."""
    copy_built(_build_set_up, repo.path)


def _build_set_up(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    init(str(repo.path), Options(), dict(os.environ))
