"""A hub with two clones."""

from pathlib import Path

import pytest

from tests.tools.sync.clones import Clone, Hub, create_hub


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """The bare repository that the clones share."""
    return create_hub(tmp_path)


@pytest.fixture
def ann(hub: Hub) -> Clone:
    """One clone."""
    return hub.clone("ann")


@pytest.fixture
def bob(hub: Hub) -> Clone:
    """Another one."""
    return hub.clone("bob")
