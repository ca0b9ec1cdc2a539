import os
from pathlib import Path

from checkpoint_git.tools.session.record import (
    FOLDER,
    read_started,
    read_told,
    remove_session,
    write_start,
    write_told,
)


def test_the_start_of_a_session_is_noted_once(tmp_path: Path) -> None:
    assert (read_started(str(tmp_path), "a"), read_told(str(tmp_path), "a")) == (None, None)
    write_start(str(tmp_path), "a", anew=False)
    os.utime(tmp_path / FOLDER / "a", ns=(5, 5 * 10**18))
    write_start(str(tmp_path), "a", anew=False)
    assert read_started(str(tmp_path), "a") == 5 * 10**18


def test_a_session_that_begins_afresh_was_not_reminded_yet(tmp_path: Path) -> None:
    write_start(str(tmp_path), "a", anew=True)
    write_told(str(tmp_path), "a")
    assert read_told(str(tmp_path), "a") is not None
    write_start(str(tmp_path), "a", anew=True)
    assert read_told(str(tmp_path), "a") is None


def test_an_ended_session_leaves_nothing(tmp_path: Path) -> None:
    write_start(str(tmp_path), "a", anew=True)
    write_told(str(tmp_path), "a")
    remove_session(str(tmp_path), "a")
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_old_sessions_and_more_than_a_few_are_forgotten(tmp_path: Path) -> None:
    for number in range(80):
        write_start(str(tmp_path), f"s{number}", anew=True)
    (tmp_path / FOLDER / "ancient").touch()
    os.utime(tmp_path / FOLDER / "ancient", (1, 1))
    write_start(str(tmp_path), "newest", anew=True)
    left = {file.name for file in (tmp_path / FOLDER).iterdir()}
    assert len(left) <= 64
    assert "newest" in left
    assert "ancient" not in left


def test_a_link_in_the_place_of_a_note_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "a").symlink_to(tmp_path / "elsewhere")
    write_start(str(tmp_path), "a", anew=True)
    assert not (tmp_path / "elsewhere").exists()
