"""What is a repository, and settings that come and go without a trace."""

import os
from pathlib import Path

from checkpoint_git.git.repository import (
    may_be_bare,
    read_repository,
    read_settings,
    remove_settings,
    write_setting,
)
from tests.support.repos import GitRepo


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
