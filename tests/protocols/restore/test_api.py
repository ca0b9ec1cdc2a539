import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import checkpoint_git
from checkpoint_git import CheckpointError, RestorePoints
from tests.support.repos import GitRepo

NOW = 1_768_487_422


class Oops(Exception):  # noqa: N818 - what goes wrong in a block
    """Whatever may go wrong in a block."""


def make_bank(path: Path) -> None:
    """A database with one account of 500."""
    with closing(sqlite3.connect(path)) as bank, bank:
        bank.execute("CREATE TABLE account (money INTEGER)")
        bank.execute("INSERT INTO account VALUES (500)")


def money(path: Path, change: str = "") -> int:
    """What is in the account, after a change."""
    with closing(sqlite3.connect(path)) as bank, bank:
        if change:
            bank.execute(change)
        return int(bank.execute("SELECT sum(money) FROM account").fetchone()[0])


def run_guarded(
    points: RestorePoints, work: Callable[[], object], error: BaseException, **more: Any
) -> None:
    """Work under guard, which then fails."""
    with points.guarded(["src"], "try it", **more):
        work()
        raise error


def test_a_point_is_made_listed_verified_rolled_back_and_dropped(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    points = RestorePoints(repo.path, NOW)
    made = points.create("src", "before", expiry="1h")
    assert made["checkpoint_created"] is True
    point = made["checkpoint_id"]
    assert [one["id"] for one in points.list()] == [point]
    assert points.show(point)["reason"] == "before"
    assert points.verify(point) == []
    repo.write("src/a", "2")
    assert points.rollback(point, dry_run=True).result is None
    done = points.rollback(point)
    assert repo.read("src/a") == "1"
    assert done.result is not None
    points.rollback(done.result.safety)
    assert repo.read("src/a") == "2"
    later = RestorePoints(repo.path, NOW + 3601)
    assert later.gc(dry_run=True) == [point]
    assert later.gc() == [point]
    points.drop(done.result.safety)
    with pytest.raises(CheckpointError, match="no such restore point"):
        points.show(point)


def test_states_are_values_or_files_and_go_back_to_callbacks_and_files(repo: GitRepo) -> None:
    file = repo.write("run.json", '{"step": 1}')
    points = RestorePoints(repo.path)
    made = points.create(states={"live": {"pid": 7}, "run": file})
    file.write_text("{}")
    taken: dict[str, Any] = {}
    points.rollback(made["checkpoint_id"], on_state=taken.__setitem__)
    assert taken == {"live": {"pid": 7}, "run": {"step": 1}}
    points.rollback(made["checkpoint_id"], state_to={"live": repo.path / "live.json"})
    assert file.read_text() == '{"step": 1}'
    assert json.loads(repo.read("live.json")) == {"pid": 7}
    with pytest.raises(CheckpointError, match="cannot be JSON"):
        points.create(states={"live": {1, 2}})


def test_a_guarded_block_that_raises_is_undone_and_the_exception_goes_on(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    make_bank(repo.path / "app.db")
    live = {"step": 1}

    def work() -> None:
        repo.write("src/a", "2")
        repo.write("src/b", "2")
        live["step"] = 2
        money(repo.path / "app.db", "UPDATE account SET money = 0")

    more: dict[str, Any] = {"databases": ["sqlite:///app.db"], "states": {"live": live}}
    error = Oops()
    with pytest.raises(Oops) as caught:
        run_guarded(
            RestorePoints(repo.path),
            work,
            error,
            **more,
            on_state=lambda key, value: live.update(value),
        )
    assert caught.value is error
    assert "rolled back to restore point chk_" in error.__notes__[0]
    assert (repo.read("src/a"), (repo.path / "src/b").exists()) == ("1", False)
    assert live == {"step": 1}
    assert money(repo.path / "app.db") == 500


def test_a_guarded_block_is_undone_when_it_is_interrupted(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    with pytest.raises(KeyboardInterrupt):
        run_guarded(RestorePoints(repo.path), lambda: repo.write("src/a", "2"), KeyboardInterrupt())
    assert repo.read("src/a") == "1"


def test_a_guarded_block_that_succeeds_keeps_its_work_and_the_point(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    points = RestorePoints(repo.path)
    with points.guarded("src") as made:
        repo.write("src/a", "2")
    assert repo.read("src/a") == "2"
    points.rollback(made["checkpoint_id"])
    assert repo.read("src/a") == "1"


def test_a_way_back_that_fails_is_told_with_the_block_s_own_exception(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    make_bank(repo.path / "app.db")
    with closing(sqlite3.connect(repo.path / "app.db")) as held:
        held.execute("SELECT 1 FROM account").fetchall()
        with pytest.raises(
            CheckpointError, match=r"going back to chk_\w+ did too: app.db is in use"
        ) as caught:
            run_guarded(
                RestorePoints(repo.path), lambda: None, Oops(), databases=["sqlite:///app.db"]
            )
    assert isinstance(caught.value.__cause__, Oops)


def test_states_without_a_way_back_are_refused_before_the_block_runs(repo: GitRepo) -> None:
    repo.write("src/a", "1")
    ran: list[int] = []
    with pytest.raises(CheckpointError, match="somewhere to go back to"):
        run_guarded(RestorePoints(repo.path), lambda: ran.append(1), Oops(), states={"live": 1})
    assert ran == []


def test_a_scope_starts_from_the_folder_that_was_given(repo: GitRepo) -> None:
    repo.write("sub/a", "1")
    made = RestorePoints(repo.path / "sub").create("a")
    assert made["checkpoint"]["scope"]["files"] == ["sub/a"]


def test_a_savepoint_is_among_the_names_of_the_package(tmp_path: Path) -> None:
    make_bank(tmp_path / "app.db")
    with closing(sqlite3.connect(tmp_path / "app.db")) as bank:
        with checkpoint_git.savepoint(bank):
            bank.execute("UPDATE account SET money = 1")
        bank.rollback()
    assert money(tmp_path / "app.db") == 500
