"""Which states and databases a restore point may be asked for."""

import io

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.mechanisms.parts import read_states, request_databases
from tests.support.repos import GitRepo
from tests.support.restore_points import workspace_of

ONE, OTHER = "postgresql://ada@host/shop", "postgres://host/other"


def test_databases_are_asked_for_by_their_urls(repo: GitRepo) -> None:
    repo.write("app.db", "x")
    workspace = workspace_of(repo.path)
    found = request_databases(workspace, [ONE, "sqlite:///app.db", OTHER])
    assert [one.kind for one in found] == ["postgresql", "sqlite", "postgresql"]
    assert request_databases(workspace, []) == []
    (tables,) = request_databases(workspace, [ONE], ["items"])
    assert tables.details["asked"] == ["items"]


def test_tables_belong_to_one_database_of_postgresql(repo: GitRepo) -> None:
    workspace = workspace_of(repo.path)
    for urls, trouble in (
        ([], "--table goes with one --database"),
        ([ONE, OTHER], "--table goes with one --database"),
        (["sqlite:///app.db"], "an SQLite database is kept whole"),
        (["mysql+x://host/shop"], 'databases of the kind "mysql" are not known'),
    ):
        with pytest.raises(CheckpointError, match=trouble):
            request_databases(workspace, urls, ["items"])


def test_states_are_read_from_files_and_one_from_standard_input(repo: GitRepo) -> None:
    repo.write("run.json", '{"step": 1}')
    workspace = workspace_of(repo.path)
    found = read_states(workspace, ["run=run.json", "other=-"], ["run"], io.StringIO("[2]"))
    assert [one.name for one in found] == ["state:run", "state:other"]
    (repo.path / "folder").mkdir()
    for given, trouble in (
        ([], "the state run is not given"),
        (["run=-", "other=-"], "standard input can give one state only"),
        (["run=missing.json"], "missing.json cannot be read: No such file or directory"),
        (["run=folder"], "folder cannot be read: it is not a regular file"),
    ):
        with pytest.raises(CheckpointError, match=trouble):
            read_states(workspace, given, ["run"], io.StringIO(""))
