"""A project with one checkpoint, for agents to work on."""

from pathlib import Path

import pytest

from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text


@pytest.fixture
def project(repo: GitRepo) -> Path:
    """A repository whose .checkpoints holds the sample checkpoint "build"."""
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    return repo.path
