"""What is a repository, and settings that come and go without a trace."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.repository import (
    Repository,
    may_be_bare,
    read_all_settings,
    read_repository,
    read_settings,
    remove_settings,
    write_setting,
)
from checkpoint_git.git.run import GitMissingError, clean_env
from tests.support.repos import BARE_MUST_BE_NAMED, GitRepo


def test_only_a_folder_with_a_head_and_objects_may_be_bare_and_what_is_in_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "bare/objects/pack").mkdir(parents=True)
    (tmp_path / "bare/HEAD").touch()
    (tmp_path / "bare/clone/.git").mkdir(parents=True)
    (tmp_path / "clone/.git").mkdir(parents=True)
    (tmp_path / "clone/objects").mkdir()
    (tmp_path / "no head/objects").mkdir(parents=True)
    (tmp_path / "no objects").mkdir()
    (tmp_path / "no objects/HEAD").touch()
    folders = (
        "bare",
        "bare/objects/pack",
        "bare/clone",
        "clone",
        "clone/objects",
        "no head",
        "no objects",
    )
    assert [name for name in folders if may_be_bare(str(tmp_path / name))] == [
        "bare",
        "bare/objects/pack",
    ]


def test_a_section_goes_with_the_last_of_its_settings(repo: GitRepo) -> None:
    place = read_repository(str(repo.path), os.environ)
    assert place is not None
    config = repo.path / ".git/config"
    with config.open("a") as stream:
        stream.write("# below which git itself leaves an empty section\n")
    before = config.read_bytes()
    write_setting(place, "mine.one", "1")
    write_setting(place, "mine.two", "2")

    remove_settings(place, ["mine.one", "core.missing"])
    settings = read_settings(place)
    assert settings["mine.two"] == "2"
    assert "mine.one" not in settings
    assert "core.bare" in settings

    remove_settings(place, ["mine.two"])
    assert config.read_bytes() == before


def test_a_repository_is_found_from_any_folder_of_it_and_none_outside(
    repo: GitRepo, tmp_path: Path
) -> None:
    env = clean_env(os.environ)
    top, git_dir = str(repo.path), str(repo.path / ".git")
    (repo.path / "sub").mkdir()
    whole = Repository(top, git_dir, git_dir, f"{git_dir}/hooks", False)
    assert read_repository(f"{top}/sub", env) == whole
    assert read_repository(str(tmp_path), env) is None
    message = f"{git_dir} is a git directory or the inside of one"
    if BARE_MUST_BE_NAMED:
        message = "cannot use bare repository"  # git itself refuses it
    with pytest.raises(CheckpointError, match=message):
        read_repository(f"{git_dir}/refs", env)

    repo.commit()
    repo.git("worktree", "add", "-q", "../beside")
    beside = str(repo.path.parent / "beside")
    linked = Repository(beside, f"{git_dir}/worktrees/beside", git_dir, f"{git_dir}/hooks", False)
    assert read_repository(beside, env) == linked

    bare = str(tmp_path / "bare.git")
    GitRepo.create(Path(bare), "--bare")
    named = {**env, "GIT_DIR": bare}
    assert read_repository(bare, named) == Repository(bare, bare, bare, f"{bare}/hooks", True)

    repo.configure({"core.hooksPath": ""})
    assert read_repository(top, env) == whole._replace(hooks="")
    (repo.path / ".git/config").write_text("[core\n")
    with pytest.raises(CheckpointError, match=r"git rev-parse failed in .* bad config line 1"):
        read_repository(top, env)


def test_of_two_repositories_that_may_be_meant_none_is_chosen(
    repo: GitRepo, tmp_path: Path
) -> None:
    other = GitRepo.create(tmp_path / "other")
    top = str(repo.path)
    for named in (".git", f"{top}/.git"):
        place = read_repository(top, {**os.environ, "GIT_DIR": named})
        assert place
        assert place.git_dir == f"{top}/.git"
    env = {**os.environ, "GIT_DIR": str(other.path / ".git")}
    with pytest.raises(CheckpointError) as caught:
        read_repository(top, env)
    found = f"GIT_DIR names the repository {other.path}/.git, but this directory"
    assert str(caught.value) == f"{found} belongs to {top}/.git"
    with pytest.raises(CheckpointError) as caught:
        read_repository(str(tmp_path), env)
    assert str(caught.value) == f"{found} is in none"


def test_a_git_that_is_too_old_is_not_asked_for_a_repository(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.30.9\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(CheckpointError, match=r"2\.30\.9 is too old"):
        read_repository(str(repo.path), os.environ)


def test_a_line_break_in_the_path_is_refused_with_the_way_out(tmp_path: Path) -> None:
    odd = GitRepo.create(tmp_path / "a\nb")
    with pytest.raises(CheckpointError, match=r"a\\nb has a line break") as caught:
        read_repository(str(odd.path), os.environ)
    assert caught.value.hint == "rename that folder"


def test_settings_are_those_of_the_place_whatever_repository_is_named(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = read_repository(str(repo.path), os.environ)
    assert place
    other = GitRepo.create(tmp_path / "other")
    before = (other.path / ".git/config").read_bytes()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    write_setting(place, "mine.one", "two\nlines\n")
    assert read_settings(place)["mine.one"] == "two\nlines\n"
    assert (other.path / ".git/config").read_bytes() == before
    assert "user.name" not in read_settings(place)

    with pytest.raises(CheckpointError, match=r"git config failed: .*section: nodot") as caught:
        write_setting(place, "nodot", "1")
    assert caught.value.hint == "is the configuration read-only?"


def test_the_settings_of_every_scope_are_read_or_the_reason_is_shown(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(os.environ["HOME"], ".gitconfig").write_text("[a]\n\tb = 1\n\tc = 1\n")
    repo.configure({"a.b": "2"})
    env = clean_env(os.environ)
    settings = read_all_settings(str(repo.path), env)
    assert (settings["a.b"], settings["a.c"]) == ("2", "1")
    (repo.path / ".git/config").write_text("[core\n")
    with pytest.raises(CheckpointError, match="bad config line 1"):
        read_all_settings(str(repo.path), env)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissingError):
        read_all_settings(str(repo.path), {**env, "PATH": str(tmp_path)})
