"""A former state of this package, replaced in place in the middle of a repository's life; an
environment that moves.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.architecture.imports import ROOT
from tests.packaging.conftest import run
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

pytestmark = pytest.mark.wheel

FORMER = "5f93f689"  # before the driver's fallbacks and the hooks of today
PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture(scope="session")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a former commit, called 0.0.9."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", FORMER], capture_output=True)
    if archive.returncode:
        pytest.skip(f"this checkout has no commit {FORMER}: it is shallow, or no clone")
    folder = tmp_path_factory.mktemp("former")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder / "source", filter="data")
    module = folder / "source/checkpoint_git/__init__.py"  # where the version was then
    module.write_text(re.sub('__version__ = ".*"', '__version__ = "0.0.9"', module.read_text()))
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        folder,
        folder / "source",
    )
    return next(folder.glob("*.whl"))


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def make(home: Path, wheel: Path) -> dict[str, str]:
    run(sys.executable, "-m", "venv", home)
    run(
        home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel
    )
    return environment(home)


def begin(repo: GitRepo, env: dict[str, str]) -> None:
    """A repository set up, with two branches that both changed the checkpoint; left is checked
    out.
    """
    repo.commit("first")
    run("checkpoint", "init", cwd=repo.path, env=env)
    repo.write(PATH, checkpoint_text())
    run("git", "add", "-A", cwd=repo.path, env=env)
    run("git", "commit", "-q", "-m", "begin", cwd=repo.path, env=env)
    for name, change in (
        ("right", {"phase": "ship"}),
        ("left", {"next_actions": ["Write the notes API", "Ship"]}),
    ):
        run("git", "checkout", "-q", "-b", name, "main", cwd=repo.path, env=env)
        repo.write(
            PATH, checkpoint_text(updated_at=f"2026-03-0{3 + len(name) % 2}T09:30:00Z", **change)
        )
        run("git", "commit", "-q", "-a", "-m", name, cwd=repo.path, env=env)


def goes_on(repo: GitRepo, env: dict[str, str]) -> None:
    """Merges by meaning, refuses what is broken, and shows where things stand."""
    run("git", "merge", "-q", "--no-edit", "right", cwd=repo.path, env=env)
    value = json.loads(repo.read(PATH))
    assert value["phase"] == "ship"
    assert "Ship" in value["next_actions"]
    assert "build" in run("checkpoint", "status", cwd=repo.path, env=env)
    run("checkpoint", "update", "build", "--next+=Go on", cwd=repo.path, env=env)
    repo.write(PATH, "null\n")
    repo.git("add", "-A")
    refused = subprocess.run(
        ["git", "commit", "-q", "-m", "broken"], cwd=repo.path, env=env, capture_output=True
    )
    assert refused.returncode == 1
    assert PATH.encode() in refused.stderr
    repo.git("reset", "-q", "--hard")


def codes(repo: GitRepo, env: dict[str, str]) -> set[str]:
    done = subprocess.run(
        ["checkpoint", "doctor", "--json"],
        cwd=repo.path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    found = {one["code"] for one in json.loads(done.stdout)["findings"]}
    return {code for code in found if code.startswith(("install/", "driver/", "hooks/", "diff/"))}


def test_an_upgrade_in_place_goes_on_before_and_after_init_is_run_again(
    former: Path,
    wheel: Path,
    tmp_path: Path,
) -> None:
    repo = GitRepo.create(tmp_path / "repo")
    env = make(tmp_path / "an environment", former)
    assert run("checkpoint", "--version", env=env).split()[-1] == "0.0.9"
    begin(repo, env)
    python = tmp_path / "an environment/bin/python"
    run(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", wheel
    )
    assert run("checkpoint", "--version", env=env).split()[-1] != "0.0.9"
    merged = repo.git("rev-parse", "HEAD")
    goes_on(repo, env)
    run("checkpoint", "init", cwd=repo.path, env=env)
    assert codes(repo, env) == set()
    repo.git("reset", "-q", "--hard", merged)
    goes_on(repo, env)


def test_an_environment_that_was_moved_is_named_and_init_from_another_ends_it(
    wheel: Path,
    tmp_path: Path,
) -> None:
    repo = GitRepo.create(tmp_path / "repo")
    begin(repo, make(tmp_path / "one", wheel))
    shutil.move(tmp_path / "one", tmp_path / "moved")
    env = make(tmp_path / "two", wheel)
    assert codes(repo, env) & {"driver/broken", "hooks/unreachable"}
    run("checkpoint", "init", cwd=repo.path, env=env)
    assert codes(repo, env) == set()
    goes_on(repo, env)
