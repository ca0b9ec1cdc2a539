import errno
import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.contents import ContentEntry
from checkpoint_git.protocols.restore.mechanisms import file_writes


def entry(path: str, kind: Any = "file", mode: int = 0o640) -> ContentEntry:
    return ContentEntry(path, kind, mode)


def write(root: Path, one: ContentEntry, data: bytes = b"new", **more: Any) -> None:
    with file_writes.workshop(str(root)) as folder:
        file_writes.write_path(str(root), one, iter([data[:1], data[1:]]), folder, **more)


def test_a_file_is_written_with_its_mode_and_its_folders(tmp_path: Path) -> None:
    write(tmp_path, entry("deep/er/a"))
    path = tmp_path / "deep/er/a"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert sorted(os.listdir(tmp_path)) == ["deep"]


def test_a_folder_that_is_closed_to_its_owner_is_closed_again(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    write(tmp_path, entry("closed/a"))
    assert (folder / "a").read_bytes() == b"new"
    assert folder.stat().st_mode & 0o777 == 0o500
    file_writes.remove_path(str(tmp_path), "closed/a")
    assert os.listdir(folder) == []
    assert folder.stat().st_mode & 0o777 == 0o500
    folder.chmod(0o700)


def test_a_file_is_flushed_unless_the_caller_does_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    write(tmp_path, entry("a"), sync=False)
    assert flushed == []
    write(tmp_path, entry("b"))
    assert len(flushed) == 1


def test_a_file_gets_the_owner_of_the_one_that_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fchown", lambda _, user, group: given.append((user, group)))
    write(tmp_path, entry("a"))
    write(tmp_path, entry("a"))
    assert given == []
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    write(tmp_path, entry("new"))
    write(tmp_path, entry("a"))
    assert given == [(os.getuid(), os.getgid())]


def test_a_link_takes_the_place_of_a_file_and_a_file_that_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    write(tmp_path, entry("a", "link"), b"elsewhere")
    assert os.readlink(tmp_path / "a") == "elsewhere"
    write(tmp_path, entry("a"))
    assert not (tmp_path / "a").is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    def refuse(path: str) -> None:
        raise CheckpointError(f"{path} was written meanwhile")

    with pytest.raises(CheckpointError, match="a was written meanwhile"):
        write(tmp_path, entry("a"), check=refuse)
    assert ((tmp_path / "a").read_text(), os.listdir(tmp_path)) == ("old", ["a"])


def test_nothing_is_written_through_a_link_or_over_a_folder(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "link").symlink_to("away")
    with pytest.raises(
        CheckpointError, match="link is a symbolic link, and writing would follow it"
    ):
        write(tmp_path, entry("link/a"))
    with pytest.raises(CheckpointError, match="a folder is in the place of away"):
        write(tmp_path, entry("away"))
    assert os.listdir(tmp_path / "away") == []


def test_what_a_killed_process_left_in_the_workshop_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".workshop").mkdir()
    (tmp_path / ".workshop/part-x").write_text("half")
    with file_writes.workshop(str(tmp_path)) as folder:
        assert os.listdir(folder) == []
    assert not (tmp_path / ".workshop").exists()


def test_a_workshop_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / ".workshop").symlink_to("away")
    with pytest.raises(CheckpointError, match="workshop could not be written"):
        write(tmp_path, entry("a"))


def test_a_place_on_another_file_system_is_reached_by_a_copy_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(source: str, target: str) -> None:
        if ".workshop" in source:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    write(tmp_path, entry("a"))
    write(tmp_path, entry("b", "link"), b"a")
    assert ((tmp_path / "a").read_text(), os.readlink(tmp_path / "b")) == ("new", "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_what_is_gone_already_is_removed_and_a_folder_with_content_stays(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").write_text("x")
    for name in ("gone", "full", "full/a", "full", "full"):
        file_writes.remove_path(str(tmp_path), name)
        assert (tmp_path / "full").exists() == (name != "full" or (tmp_path / "full/a").exists())
    assert os.listdir(tmp_path) == []


def test_folders_are_made_before_they_are_closed(tmp_path: Path) -> None:
    folders = [entry("a/b", "folder", 0o500), entry("a", "folder", 0o500)]
    file_writes.make_folders(str(tmp_path), folders)
    file_writes.set_modes(str(tmp_path), folders)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o500, 0o500]
    file_writes.set_modes(str(tmp_path), [one._replace(mode=0o700) for one in folders])


def test_a_file_where_a_folder_belongs_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(CheckpointError, match="something else is in the place of the folder a"):
        file_writes.make_folders(str(tmp_path), [entry("a", "folder")])


def test_an_unfinished_file_is_known_by_its_name() -> None:
    assert file_writes.is_part("src/.checkpoint-part-part-0123")
    assert not file_writes.is_part("src/checkpoint-part-a")
