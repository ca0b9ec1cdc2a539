"""Backups: every copy on disk, under its own name, in a folder of its own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.backup import Copy, write_backup


def test_copies_lie_under_their_names_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    folder = Path(
        write_backup(
            str(tmp_path), "20260302T120000Z", [Copy("a/b.json", b"\xff1"), Copy("c", b"")]
        )
    )
    assert folder == tmp_path / "checkpoint/backups/20260302T120000Z"
    assert (folder / "a/b.json").read_bytes() == b"\xff1"
    assert (folder / "c").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_second_backup_of_one_second_never_touches_the_first(tmp_path: Path) -> None:
    contents = (b"1", b"2", b"3")
    folders = [Path(write_backup(str(tmp_path), "now", [Copy("a", data)])) for data in contents]
    assert [folder.name for folder in folders] == ["now", "now-1", "now-2"]
    assert [(folder / "a").read_bytes() for folder in folders] == list(contents)


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("a file")
    with pytest.raises(CheckpointError):
        write_backup(str(tmp_path), "now", [Copy("a", b"1")])


def test_a_backup_whose_writer_was_killed_is_finished_and_not_made_twice(tmp_path: Path) -> None:
    copies = [Copy("a/b.json", b"1"), Copy("c", b"2")]
    begun = Path(write_backup(str(tmp_path), "20260302T120000Z", copies))
    assert write_backup(str(tmp_path), "20260302T120001Z", copies) == str(begun)
    (begun / "a/b.json").unlink()
    (begun / "a/.b.json.4194305-00000000.tmp").write_bytes(b"half")
    assert write_backup(str(tmp_path), "20260302T120002Z", copies) == str(begun)
    assert [path.name for path in begun.parent.rglob("*") if path.is_file()] == ["c", "b.json"]
    assert (begun / "a/b.json").read_bytes() == b"1"


def test_the_last_part_of_a_backup_is_a_backup_of_its_own(tmp_path: Path) -> None:
    first = write_backup(str(tmp_path), "1", [Copy("a", b"1"), Copy("b", b"2")])
    assert write_backup(str(tmp_path), "2", [Copy("b", b"2")]) != first


def test_a_backup_is_never_finished_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "checkpoint/backups").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/.a.4194305-00000000.tmp").write_bytes(b"")
    (tmp_path / "checkpoint/backups/9").symlink_to(tmp_path / "elsewhere")
    assert write_backup(str(tmp_path), "1", [Copy("a", b"1")]) == str(
        tmp_path / "checkpoint/backups/1"
    )
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


def put_more_than_the_copies(folder: Path) -> None:
    folder.mkdir()
    (folder / "c").write_bytes(b"3")


def put_other_content(folder: Path) -> None:
    folder.mkdir()
    (folder / "a").write_bytes(b"2")


def put_what_cannot_be_read(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "a")


def put_a_link_to_a_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "a").symlink_to(folder.parent)


def put_a_file(folder: Path) -> None:
    folder.write_bytes(b"1")


@pytest.mark.parametrize(
    "put",
    [
        put_more_than_the_copies,
        put_other_content,
        put_what_cannot_be_read,
        put_a_link_to_a_folder,
        put_a_file,
    ],
)
def test_what_is_no_begun_backup_of_these_copies_stays_as_it_is(
    put: Callable[[Path], None], tmp_path: Path
) -> None:
    newest = tmp_path / "checkpoint/backups/9"
    newest.parent.mkdir(parents=True)
    put(newest)
    before = sorted(newest.rglob("*"))
    assert write_backup(str(tmp_path), "1", [Copy("a", b"1"), Copy("b", b"2")]) == str(
        newest.with_name("1")
    )
    assert sorted(newest.rglob("*")) == before
