"""What .gitattributes gives to clones that have no settings of their own."""

import os

import pytest

from checkpoint_git.git.run import clean_env
from checkpoint_git.tools.setup.shared_attributes import read_shared_merge_attributes
from tests.support.repos import GitRepo

PATH = ".checkpoints/build.checkpoint.json"


def read(repo: GitRepo) -> dict[str, str]:
    return read_shared_merge_attributes(str(repo.path), [PATH], clean_env(os.environ))


def test_what_only_this_clone_has_does_not_count(repo: GitRepo) -> None:
    repo.write(".git/info/attributes", "*.json merge=mine\n")
    repo.git("config", "core.attributesFile", str(repo.write("mine", "*.json merge=mine\n")))
    assert read(repo) == {PATH: "unspecified"}


@pytest.mark.parametrize("file", [".gitattributes", ".checkpoints/.gitattributes"])
def test_the_files_of_the_work_tree_count(repo: GitRepo, file: str) -> None:
    repo.write(".git/info/attributes", "*.json merge=mine\n")
    repo.write(file, "*.json merge=union\n")
    assert read(repo) == {PATH: "union"}


def test_without_room_nothing_is_known(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(repo.path / "gone"))
    assert read(repo) == {}
