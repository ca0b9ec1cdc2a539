"""A repository whose merges run the driver, set up by the same settings that `checkpoint init`
writes.
"""

import os
import sys
from pathlib import Path

import checkpoint_git
from checkpoint_git.git.driver_settings import Choices, plan_settings
from checkpoint_git.protocols.registry import attribute_patterns
from tests.support.repos import GitRepo

PACKAGE = os.path.dirname(checkpoint_git.__file__)
PATH = ".checkpoints/build.checkpoint.json"


def drive(
    repo: GitRepo,
    python: str = sys.executable,
    package: str = PACKAGE,
    choices: Choices | None = None,
) -> None:
    """Register the driver in the repository's configuration and attributes."""
    repo.configure(plan_settings(python, package, choices or Choices()))
    lines = [f"{pattern} merge=checkpoint\n" for pattern in attribute_patterns()]
    attributes = repo.path / ".git/info/attributes"
    if not (repo.path / ".git").is_dir():
        attributes = Path(
            repo.git("rev-parse", "--path-format=absolute", "--git-path", "info/attributes")
        )
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("".join(lines))


def branch_with(repo: GitRepo, name: str, text: str | bytes, start: str = "main") -> None:
    """A branch from start on which the checkpoint holds the text."""
    repo.git("checkout", "-q", "-b", name, start)
    repo.write(PATH, text)
    repo.commit(name)
