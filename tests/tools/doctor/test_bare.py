"""`checkpoint doctor` in a bare repository: what it finds, with the real driver tried."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import run_here
from tests.support.repos import GitRepo, environ_in
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def bare(tmp_path: Path) -> GitRepo:
    """A bare repository without sample hooks."""
    return GitRepo.create(tmp_path / "served.git", "--bare", "--template=")


def examine(bare: GitRepo, *words: str) -> dict[str, Any]:
    """What the doctor says, as data."""
    done = run_here("doctor", "--json", *words, cwd=bare.path)
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def codes(said: dict[str, Any]) -> list[str]:
    """The codes of its findings."""
    return [finding["code"] for finding in said["findings"]]


@pytest.mark.parametrize("hooks", ["native", "update"])
def test_a_repository_that_is_set_up_is_well(bare: GitRepo, hooks: Any) -> None:
    init(str(bare.path), Options(hooks=hooks), environ_in(bare.path))
    before = take_snapshot(bare.path)
    said = examine(bare)
    assert codes(said) == []
    assert {"driver/proof", "hooks/unreachable", "schema"} <= set(said["checks"])
    assert take_snapshot(bare.path) == before


def test_one_that_is_not_says_so_and_nothing_of_a_work_tree(bare: GitRepo) -> None:
    assert codes(examine(bare)) == ["install/missing"]
    done = run_here("doctor", cwd=bare.path)
    assert done.returncode == 0
    assert "a bare repository, 0 checkpoints at HEAD: 1 warning" in done.stdout


def test_what_came_in_before_there_was_a_hook_is_told(bare: GitRepo, repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text(status="nearly"))
    repo.commit()
    repo.git("push", "-q", str(bare.path), "main")
    bare.git("symbolic-ref", "HEAD", "refs/heads/main")
    init(str(bare.path), Options(), environ_in(bare.path))
    said = examine(bare, "--check", "schema")
    assert [(finding["path"], finding["line"]) for finding in said["findings"]] == [(PATH, 10)]
    assert said["errors"] == said["documents"] == 1


def test_a_hook_that_does_not_check_is_found(bare: GitRepo) -> None:
    init(str(bare.path), Options(), environ_in(bare.path))
    python = bare.git("config", "checkpoint.install.python")
    bare.git("config", "checkpoint.install.python", "/bin/true")
    assert codes(examine(bare, "--check", "hooks")) == ["hooks/unreachable"]
    bare.git("config", "checkpoint.install.python", python)
    assert codes(examine(bare, "--check", "hooks")) == []
    hook = bare.path / "hooks/pre-receive"
    hook.chmod(0o644)
    assert codes(examine(bare, "--check", "hooks")) == ["hooks/unreachable"]


def test_a_driver_whose_python_is_gone_is_named(bare: GitRepo) -> None:
    init(str(bare.path), Options(), environ_in(bare.path))
    command = bare.git("config", "merge.checkpoint.driver")
    python = command.split("'")[1]
    bare.git("config", "merge.checkpoint.driver", command.replace(python, "/gone/python"))
    assert codes(examine(bare, "--check", "driver")) == ["driver/broken"]
    (bare.path / "info/attributes").unlink()
    assert "driver/inert" in codes(examine(bare, "--check", "driver"))


def test_that_no_hooks_were_wanted_is_no_finding(bare: GitRepo) -> None:
    init(str(bare.path), Options(hooks="none"), environ_in(bare.path))
    assert codes(examine(bare)) == []


def test_what_needs_a_work_tree_is_refused_with_a_hint(bare: GitRepo) -> None:
    done = run_here("doctor", "--fix", cwd=bare.path)
    assert done.returncode == 2
    assert "checkpoint init" in done.stderr


def test_a_commit_can_be_validated_in_a_bare_repository(bare: GitRepo, repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text(status="nearly"))
    repo.commit()
    repo.git("push", "-q", str(bare.path), "main")
    done = run_here("validate", "--rev", "main", cwd=bare.path)
    assert done.returncode == 1
    assert f"{PATH}:10" in done.stdout
    done = run_here("validate", "--staged", cwd=bare.path)
    assert done.returncode == 2
