import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.contents import Artifact
from checkpoint_git.protocols.restore.postgresql import open_session, read_url, write_lines, write_url
from checkpoint_git.protocols.restore.rules import is_connection


@pytest.mark.parametrize(
    ("url", "name", "password"),
    [
        ("postgresql://u:hush@h:5433/d", "postgresql://u@h:5433/d", "hush"),
        ("postgresql+psycopg://u:hu%40sh@h/d", "postgresql://u@h/d", "hu@sh"),
        ("postgres://u@h/d?password=hush&sslmode=require", "postgresql://u@h/d", "hush"),
        ("postgresql:///d", "postgresql:///d", None),
        ("postgresql://u@/a%20b?host=/run/pg", "postgresql://u@/a%20b?host=/run/pg", None),
        ("postgresql://u@[::1]/d", "postgresql://u@[::1]/d", None),
    ],
)
def test_a_url_is_named_without_its_password(url: str, name: str, password: str | None) -> None:
    connection, found = read_url(url)
    assert (write_url(connection), found) == (name, password)
    assert read_url(name)[0].keys() <= connection.keys()
    assert is_connection(connection)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hush@h",
        "postgresql://u:hush@h:port/d",
        "postgresql://u:hush@h/d?options=-c%20x",
        "postgresql://u:hush@h/host=evil",
        "postgresql://u:hush@h/postgres:%2F%2Fevil",
        "postgresql://u:hush@a,b/d",
        "postgresql://u:hush@h/d#x",
        "postgresql://u:hush@h/d%0A",
        "postgresql://u:hush@[h/d",
    ],
)
def test_a_url_that_is_not_understood_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        read_url(url)
    assert "hush" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    "value", [None, {}, {"dbname": 1}, {"dbname": "d", "options": "x"}, {"dbname": "a=b"}, {"dbname": "d", "x": "y"}]
)
def test_a_stranger_s_connection_is_refused(value: object) -> None:
    assert not is_connection(value)


def test_options_hold_no_password() -> None:
    connection, _ = read_url("postgresql://u:hush@h:1/d?sslmode=require")
    artifact = Artifact("postgresql", "d", "parts/00.dump", 1, "ab", {"connection": connection})
    words = "PGSSLMODE=require postgresql ab parts/00.dump --host=h --port=1 --username=u --dbname=d\n"
    assert write_lines(artifact) == words


def test_a_client_program_that_is_gone_at_once_is_told_every_time(tmp_path: Path) -> None:
    psql = tmp_path / "psql"
    psql.write_text("#!/bin/sh\necho 'no such host' >&2\nexit 2\n")
    psql.chmod(0o755)
    for _ in range(20):
        with pytest.raises(CheckpointError, match="psql: no such host"):
            ask_late({"PATH": str(tmp_path)})


def ask_late(env: dict[str, str]) -> None:
    """A question when the program may be gone already."""
    with open_session(env) as ask:
        time.sleep(0.02)
        ask("SELECT 1")
