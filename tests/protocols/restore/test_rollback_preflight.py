from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import rollback_preflight
from checkpoint_git.protocols.restore.contents import Difference, Entry, ScopePath

OLD, NEW = Entry("a", "file", 0o644, 1, "1" * 64), Entry("a", "file", 0o644, 1, "2" * 64)
OTHER = Entry("a", "file", 0o644, 1, "3" * 64)


def test_a_state_is_half_way_when_each_path_is_as_before_or_after() -> None:
    assert rollback_preflight.is_half_way([OLD], [OLD], [NEW])
    assert rollback_preflight.is_half_way([NEW], [OLD], [NEW])
    assert rollback_preflight.is_half_way([Entry("a", "absent")], [OLD], [NEW])
    assert not rollback_preflight.is_half_way([OTHER], [OLD], [NEW])


def test_a_folder_that_was_opened_on_the_way_is_half_way() -> None:
    closed = Entry("d", "folder", 0o500)
    assert rollback_preflight.is_half_way([closed._replace(mode=0o700)], [closed], [])


def test_what_will_be_changed_must_be_in_the_safety_point() -> None:
    rollback_preflight.check_kept([NEW], ["a"], [NEW])
    rollback_preflight.check_kept([OTHER], [], [NEW])
    with pytest.raises(CheckpointError, match="a was changed during the rollback"):
        rollback_preflight.check_kept([OTHER], ["a"], [NEW])


def test_a_watched_file_that_is_written_to_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    watch = rollback_preflight.Watch(
        str(tmp_path), [ScopePath("a", "file", path.lstat()), ScopePath("b", "absent", None)]
    )
    watch.check("a")
    watch.check("b")
    path.write_text("longer")
    (tmp_path / "b").write_text("x")
    for name in ("a", "b"):
        with pytest.raises(CheckpointError, match="changed during the rollback"):
            watch.check(name)


def test_a_difference_behind_a_link_that_makes_way_is_no_hindrance() -> None:
    entries = [Entry("src", "link", 0o777, 1, "1" * 64)]
    rollback_preflight.check_ways("/nowhere", [], [Difference("src", "kind"), Difference("src/a", "missing")], entries)


def test_a_path_below_a_link_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "src").symlink_to("away")
    with pytest.raises(CheckpointError, match="src is a symbolic link now, and src/a lies behind it"):
        rollback_preflight.check_ways(str(tmp_path), [], [Difference("src/a", "missing")], [])


def test_a_folder_in_a_files_place_may_hold_what_will_be_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/made").write_text("x")
    present, restore = [Entry("a", "folder"), Entry("a/made", "file")], [Difference("a", "kind")]
    rollback_preflight.check_ways(str(tmp_path), ["a/made"], restore, present)
    (tmp_path / "a/.env").write_text("x")
    with pytest.raises(CheckpointError, match="a folder stands where a belongs") as caught:
        rollback_preflight.check_ways(str(tmp_path), ["a/made"], restore, present)
    assert "a/.env" in caught.value.hint


def test_a_folder_stays_for_what_no_point_keeps_and_not_for_what_could_not_be_removed(tmp_path: Path) -> None:
    for name in ("kept/.env", "left/made"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    (tmp_path / "empty").mkdir()
    assert rollback_preflight.find_staying(str(tmp_path), ["left/made", "left", "kept", "empty"]) == ["kept"]
