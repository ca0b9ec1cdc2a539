"""Which databases a restore point may be asked for."""

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.mechanisms.parts import request_databases
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
