"""A server on the loopback."""

from collections.abc import Iterator

import pytest

from tests.net.servers import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """An HTTP server on 127.0.0.1."""
    with serving() as running:
        yield running
