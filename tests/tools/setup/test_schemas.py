import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo

CHECKER = Path(sys.executable).parent / "check-jsonschema"
SCHEMA = ".checkpoints/schemas/skill.schema.json"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = GitRepo.create(tmp_path / "repo")
    run(repo, "init", "--hooks", "none")
    run(repo, "update", "build", "--step=one")
    return repo


def run(repo: GitRepo, *words: str) -> str:
    done = run_checkpoint(*words, cwd=repo.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_checkpoint(repo: GitRepo, skill: str = "build") -> str:
    return repo.read(f".checkpoints/{skill}.checkpoint.json")


def test_schemas_come_and_go_and_leave_every_byte_as_it_was(repo: GitRepo) -> None:
    before = read_checkpoint(repo)
    assert SCHEMA in run(repo, "init", "--hooks", "none", "--schemas")
    assert json.loads(read_checkpoint(repo))["$schema"] == "./schemas/skill.schema.json"
    assert json.loads(read_checkpoint(repo))["updated_at"] == json.loads(before)["updated_at"]
    run(repo, "validate")
    run(repo, "uninstall")
    assert read_checkpoint(repo) == before
    assert not (repo.path / ".checkpoints/schemas").exists()


def test_a_second_time_there_is_nothing_to_do(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    first = read_checkpoint(repo), repo.read(SCHEMA)
    told = json.loads(run(repo, "init", "--hooks", "none", "--schemas", "--json"))["steps"]
    assert {step["deed"] for step in told} == {"keep"}
    assert (read_checkpoint(repo), repo.read(SCHEMA)) == first


def test_a_dry_run_writes_nothing(repo: GitRepo) -> None:
    before = read_checkpoint(repo)
    assert "would add" in run(repo, "init", "--hooks", "none", "--schemas", "--dry-run")
    assert read_checkpoint(repo) == before
    assert not (repo.path / ".checkpoints/schemas").exists()


def test_a_new_checkpoint_names_the_schema_that_is_there(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    run(repo, "update", "other", "--step=one")
    assert json.loads(read_checkpoint(repo, "other"))["$schema"] == "./schemas/skill.schema.json"


def test_what_somebody_wrote_stays(repo: GitRepo) -> None:
    repo.write(SCHEMA, "{}\n")
    run(repo, "update", "build", "--$schema=https://example.org/mine.json")
    assert "left alone" in run(repo, "init", "--hooks", "none", "--schemas")
    run(repo, "uninstall")
    assert repo.read(SCHEMA) == "{}\n"
    assert json.loads(read_checkpoint(repo))["$schema"] == "https://example.org/mine.json"


def test_a_broken_checkpoint_stays_as_it_is(repo: GitRepo) -> None:
    repo.write(".checkpoints/broken.checkpoint.json", "{")
    run(repo, "init", "--hooks", "none", "--schemas")
    assert read_checkpoint(repo, "broken") == "{"


@pytest.mark.skipif(not CHECKER.exists(), reason="check-jsonschema is not installed")
def test_another_checker_takes_the_schemas_and_finds_the_same_fault(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    words = [str(CHECKER), "--schemafile", SCHEMA, ".checkpoints/build.checkpoint.json"]
    assert subprocess.run(words, cwd=repo.path, capture_output=True, check=False).returncode == 0
    repo.write(".checkpoints/build.checkpoint.json", read_checkpoint(repo).replace("in_progress", "odd"))
    done = subprocess.run(words, cwd=repo.path, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert "$.status" in done.stdout
