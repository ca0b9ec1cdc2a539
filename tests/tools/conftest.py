"""A hub with two clones."""

from pathlib import Path

import pytest

from tests.tools.sync.clones import Clone, Hub, copy_clone, create_hub


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """The bare repository that the clones share."""
    return create_hub(tmp_path)


@pytest.fixture
def ann(hub: Hub) -> Clone:
    """One clone."""
    return copy_clone(hub, "ann")


@pytest.fixture
def bob(hub: Hub) -> Clone:
    """Another one."""
    return copy_clone(hub, "bob")
