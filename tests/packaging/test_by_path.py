"""Installations that a plain Python does not find by itself: `pip install --target`, PYTHONPATH,
shiv, a zip file.
"""

import os
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from tests.packaging.conftest import run
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

pytestmark = pytest.mark.wheel

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has nothing installed."""
    home = tmp_path_factory.mktemp("plain")
    run(sys.executable, "-m", "venv", home)
    return home / "bin/python"


@pytest.fixture(scope="module")
def target(wheel: Path, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("target")
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        folder,
        wheel,
    )
    return folder


def make_env(**values: str) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**env, "PATH": "/usr/bin:/bin", **values}


def assert_works(command: list[str | Path], folder: Path, env: dict[str, str]) -> None:
    """`init`, a commit, a refused commit, a merge and `git mergetool`, where git's processes have
    no PYTHONPATH.
    """
    repo = GitRepo.create(folder / "repo")
    run(*command, "init", cwd=repo.path, env=env)
    repo.write(PATH, checkpoint_text(step="one"))
    commit = ["git", "commit", "-q", "-m", "x"]
    for words in (["git", "add", "-A"], commit, ["git", "branch", "other"]):
        run(*words, cwd=repo.path, env=make_env())

    repo.write(PATH, "null\n")
    refused = subprocess.run(
        [*commit, "-a"], cwd=repo.path, env=make_env(), capture_output=True, text=True
    )
    assert refused.returncode == 1, refused.stderr
    assert PATH in refused.stderr

    for branch, step in (("other", "three"), ("main", "two")):
        run("git", "checkout", "-q", "-f", branch, cwd=repo.path, env=make_env())
        repo.write(PATH, checkpoint_text(step=step, project=branch))
        run(*commit, "-a", cwd=repo.path, env=make_env())
    merged = subprocess.run(
        ["git", "merge", "other"], cwd=repo.path, env=make_env(), capture_output=True, text=True
    )
    assert merged.returncode == 1
    assert "text merge" not in merged.stderr

    tool = ["git", "mergetool", "--tool=checkpoint", "--no-prompt", "--", PATH]
    done = subprocess.run(tool, cwd=repo.path, env=make_env(), capture_output=True, text=True)
    assert "undecided at /project" in done.stdout, done.stderr


def test_a_target_folder_on_pythonpath_has_hooks_driver_and_mergetool(
    target: Path, python: Path, tmp_path: Path
) -> None:
    assert_works([python, "-m", "checkpoint_git"], tmp_path, make_env(PYTHONPATH=str(target)))


def test_a_shiv_file_has_hooks_driver_and_mergetool(
    target: Path, python: Path, tmp_path: Path
) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "shiv")
    made = tmp_path / "checkpoint.pyz"
    run(
        python,
        "-m",
        "shiv.cli",
        "--site-packages",
        target,
        "-e",
        "checkpoint_git.cli:main",
        "-o",
        made,
    )
    assert_works([python, made], tmp_path, make_env(SHIV_ROOT=str(tmp_path / "shiv")))


def test_without_what_it_needs_init_refuses_and_changes_nothing(
    target: Path, python: Path, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("ours", "others")]
    for folder, is_ours in zip(folders, (True, False), strict=True):
        folder.mkdir()
        for entry in target.iterdir():
            if entry.name.startswith("checkpoint_git") is is_ours:
                (folder / entry.name).symlink_to(entry)
    repo = GitRepo.create(tmp_path / "repo")
    before = repo.read(".git/config")
    words: list[str | Path] = [python, "-m", "checkpoint_git", "init"]
    env = make_env(PYTHONPATH=os.pathsep.join(map(str, folders)))
    done = subprocess.run(words, cwd=repo.path, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "git's hooks cannot start checkpoint-git: ModuleNotFoundError" in done.stderr
    assert "uv tool install" in done.stderr
    assert (repo.read(".git/config"), repo.git("status", "--porcelain")) == (before, "")


def test_from_a_zip_file_one_sentence_names_what_to_install(
    target: Path, python: Path, tmp_path: Path
) -> None:
    made = tmp_path / "checkpoint.pyz"
    source = shutil.copytree(target, tmp_path / "source")
    zipapp.create_archive(source, made, main="checkpoint_git.cli:main")
    for words in (["init"], ["status"], ["--version"]):
        done = subprocess.run(
            [python, made, *words], cwd=tmp_path, env=make_env(), capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert "zip file" in line
        assert "uv tool install" in line
