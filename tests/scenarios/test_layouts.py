"""Branches of both layouts meet in real merges of git, with the driver and without: no entry is lost."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.protocols.skill.verbs import migrate, rotate, show, update
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.merges import explain_merge
from checkpoint_git.tools.validate import verb as validate
from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

FILE = ".checkpoints/build.checkpoint.json"
PRS = [{"number": number} for number in range(3)]
FROM_A, FROM_B = {"number": 10}, {"number": 20}


@pytest.fixture(params=["driver", "text"])
def way(request: pytest.FixtureRequest, repo: GitRepo) -> str:
    """How git merges here: the base is committed on main."""
    state = {"mode": "x", "merged_prs": PRS}
    repo.write(FILE, checkpoint_text(protocol_version="1.1", skill_state=state, cost={"total_usd": 1.25}))
    if request.param == "driver":
        assert run_checkpoint("init", "--hooks", "none", cwd=repo.path).returncode == 0
    repo.commit("base")
    return str(request.param)


def append(repo: GitRepo, entry: dict[str, Any], now: str) -> None:
    words = f"--skill_state.merged_prs+:json={json.dumps(entry)}"
    assert run_verb(update, "build", words, cwd=repo.path, now=now).outcome.code == 0


def append_by_hand(repo: GitRepo, entry: dict[str, Any]) -> None:
    """As a tool that knows nothing of layouts does it."""
    value = json.loads(repo.read(FILE))
    value["skill_state"]["merged_prs"].append(entry)
    repo.write(FILE, json.dumps(value, indent=2) + "\n")


def move(repo: GitRepo, layout: str) -> Any:
    ran = run_verb(migrate, "--layout", layout, cwd=repo.path)
    assert ran.outcome.code == 0
    return ran.outcome.data["migrated"]


def whole(repo: GitRepo) -> dict[str, Any]:
    value: dict[str, Any] = run_verb(show, "build", cwd=repo.path).outcome.data["checkpoints"]["build"]
    return value


def prs(repo: GitRepo) -> list[int]:
    return [entry["number"] for entry in whole(repo)["skill_state"]["merged_prs"]]


def merge(repo: GitRepo, onto: str, other: str) -> int:
    repo.git("checkout", "-q", onto)
    return repo.exit_code("merge", "--no-edit", "-q", other)


def branch(repo: GitRepo, name: str, start: str = "main") -> None:
    repo.git("checkout", "-q", "-b", name, start)


def test_two_branches_that_append_to_a_sharded_checkpoint_merge_cleanly_without_a_driver(
    repo: GitRepo, way: str
) -> None:
    move(repo, "sharded")
    repo.commit("sharded")
    for name, entry, now in (("a", FROM_A, "2026-03-02T12:00:00Z"), ("b", FROM_B, "2026-03-02T13:00:00Z")):
        branch(repo, name)
        append(repo, entry, now)
        run_verb(update, "build", "--cost.total_usd:json=1.50", cwd=repo.path, now=now)
        repo.commit(name)
    assert merge(repo, "a", "b") == 0
    assert sorted(prs(repo)) == [0, 1, 2, 10, 20]
    assert whole(repo)["cost"]["total_usd"] == 1.75
    assert whole(repo)["updated_at"] == "2026-03-02T13:00:00Z"
    assert run_verb(validate, "--strict", cwd=repo.path).outcome.code == 0


def test_two_branches_that_migrate_each_for_itself_write_the_same_files(repo: GitRepo, way: str) -> None:
    for name, entry, now in (("a", FROM_A, "2026-03-02T12:00:00Z"), ("b", FROM_B, "2026-03-02T12:00:00Z")):
        branch(repo, name)
        move(repo, "sharded")
        append(repo, entry, now)
        repo.commit(name)
    assert merge(repo, "a", "b") == 0
    assert prs(repo)[:3] == [0, 1, 2]
    assert sorted(prs(repo)[3:]) == [10, 20]


@pytest.mark.parametrize("onto", ["a", "b"])
def test_a_branch_that_migrates_and_one_that_appends_to_the_file_lose_nothing(
    repo: GitRepo, way: str, onto: str
) -> None:
    branch(repo, "a")
    move(repo, "sharded")
    append(repo, FROM_A, "2026-03-02T12:00:00Z")
    repo.commit("a")
    branch(repo, "b")
    append_by_hand(repo, FROM_B)
    repo.commit("b")
    code = merge(repo, onto, "b" if onto == "a" else "a")
    if way == "text":  # a conflict, shown: whoever resolves it may take the whole list of the branch that appended
        assert code != 0
        assert "<<<<<<<" in repo.read(FILE)
        value = json.loads(repo.git("show", "b:" + FILE))
        repo.write(FILE, json.dumps({"layout": "sharded", **value}, indent=2) + "\n")
        repo.commit("resolved")
    else:
        assert code == 0
        assert run_verb(explain_merge, "HEAD", cwd=repo.path).outcome.code == 0
        assert not [code for code in run_verb(doctor, cwd=repo.path).codes if code.startswith("merge/")]
    assert prs(repo) == [0, 1, 2, 10, 20]
    assert run_verb(validate, cwd=repo.path).codes == ["layout/leftover"]
    assert move(repo, "sharded")[0]["written"] == 1
    assert prs(repo) == [0, 1, 2, 10, 20]
    assert run_verb(validate, "--strict", cwd=repo.path).outcome.code == 0
    move(repo, "single")
    assert prs(repo) == [0, 1, 2, 10, 20]


@pytest.mark.parametrize("onto", ["a", "b"])
def test_a_branch_that_goes_back_and_one_that_appends_a_file_lose_nothing(repo: GitRepo, way: str, onto: str) -> None:
    move(repo, "sharded")
    repo.commit("sharded")
    branch(repo, "a")
    move(repo, "single")
    repo.commit("a")
    branch(repo, "b")
    append(repo, FROM_B, "2026-03-02T12:00:00Z")
    repo.commit("b")
    assert merge(repo, onto, "b" if onto == "a" else "a") == 0
    assert run_verb(validate, cwd=repo.path).codes == ["layout/orphans"]
    assert prs(repo) == [0, 1, 2, 20]
    move(repo, "single")
    assert json.loads(repo.read(FILE))["skill_state"]["merged_prs"] == [*PRS, FROM_B]
    assert run_verb(validate, cwd=repo.path).codes == []


def test_a_branch_that_rotates_and_one_that_appends_merge_cleanly(repo: GitRepo, way: str) -> None:
    move(repo, "sharded")
    repo.commit("sharded")
    branch(repo, "a")
    run_verb(rotate, "build", cwd=repo.path)
    repo.commit("a")
    branch(repo, "b")
    append(repo, FROM_B, "2026-03-02T12:00:00Z")
    repo.commit("b")
    assert merge(repo, "a", "b") == 0
    assert prs(repo) == [20]


def test_two_branches_that_rotate_the_same_entries_merge_cleanly(repo: GitRepo, way: str) -> None:
    move(repo, "sharded")
    repo.commit("sharded")
    for name in ("a", "b"):
        branch(repo, name)
        run_verb(rotate, "build", cwd=repo.path)
        repo.commit(name)
    assert merge(repo, "a", "b") == 0
    assert prs(repo) == []
    assert len(list((repo.path / ".checkpoints/history").glob("build.*.json"))) == 1


def test_entries_of_one_shape_are_no_renames_of_each_other(repo: GitRepo, way: str) -> None:
    entries = [
        {"number": number, "title": f"feat: change {number} of many", "method": "squash", "at": "2026-03-01T00:00:00Z"}
        for number in range(100, 130)
    ]
    value = json.loads(repo.read(FILE))
    value["skill_state"]["merged_prs"] = entries[:10]
    repo.write(FILE, json.dumps(value, indent=2) + "\n")
    move(repo, "sharded")
    repo.commit("sharded")
    for name, mine in (("a", entries[10:20]), ("b", entries[20:])):
        branch(repo, name)
        run_verb(rotate, "build", cwd=repo.path)
        for entry in mine:
            append(repo, entry, "2026-03-02T12:00:00Z")
        repo.commit(name)
        renames = repo.git("diff", "--name-status", "-M50%", "--diff-filter=R", "main", "HEAD")
        assert renames == ""
    assert merge(repo, "a", "b") == 0
    assert sorted(prs(repo)) == list(range(110, 130))


def test_the_hooks_look_at_events(repo: GitRepo, tmp_path: Path) -> None:
    repo.write(FILE, checkpoint_text(skill_state={"merged_prs": PRS}))
    assert run_checkpoint("init", cwd=repo.path).returncode == 0
    move(repo, "sharded")
    repo.commit("sharded")
    event = min((repo.path / ".checkpoints/history/build").iterdir())
    event.write_text("{}", "utf-8")
    repo.git("add", "-A")
    done: subprocess.CompletedProcess[bytes] = repo.run("git", "commit", "-q", "-m", "broken")
    assert done.returncode != 0
    assert b"layout/broken-event" in done.stderr
