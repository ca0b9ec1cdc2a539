"""Writes that happen whole or not at all."""

import errno
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic, replace
from tests.support.descriptors import closing_all
from tests.support.hostile import put_odd
from tests.support.rows import rows

DEAD = 4194305  # above the largest number of a process


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_content_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    atomic.write_file(str(tmp_path / "a.json"), b"one")
    assert (tmp_path / "a.json").read_bytes() == b"one"
    assert names_in(tmp_path) == ["a.json"]


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    atomic.write_file(str(path), b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == b"new"


def test_a_new_file_or_folder_obeys_the_umask(tmp_path: Path) -> None:
    for mask, file_mode, folder_mode in ((0o027, 0o640, 0o750), (0, 0o666, 0o777)):
        folder = tmp_path / f"{mask}"
        before = os.umask(mask)
        try:
            atomic.make_folder(str(folder))
            atomic.make_new_folder(str(folder), ["inner"])
            atomic.write_file(str(folder / "written"), b"x")
            atomic.create_file(str(folder / "created"), b"x")
        finally:
            os.umask(before)
        for path, mode in (
            (folder, folder_mode),
            (folder / "inner", folder_mode),
            (folder / "written", file_mode),
            (folder / "created", file_mode),
        ):
            assert stat.S_IMODE(path.stat().st_mode) == mode, path


def test_only_what_is_as_it_was_read_is_replaced_or_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic.replace_known(str(path), None, b"one")
    atomic.replace_known(str(path), b"one", b"two")
    assert path.read_bytes() == b"two"
    for known in (None, b"one", b"", b"twos"):
        with pytest.raises(CheckpointError, match="was changed by another process meanwhile"):
            atomic.replace_known(str(path), known, b"three")
    with pytest.raises(CheckpointError, match="was changed"):
        atomic.remove_known(str(path), b"one")
    assert path.read_bytes() == b"two"
    atomic.remove_known(str(path), b"two")
    for change in (
        atomic.remove_known,
        lambda gone, known: atomic.replace_known(gone, known, b"three"),
    ):
        with pytest.raises(CheckpointError, match="was changed"):
            change(str(path), b"two")
    assert names_in(tmp_path) == []


def test_a_link_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(CheckpointError, match="symbolic link"):
        atomic.write_file(str(tmp_path / "link"), b"x")
    assert (tmp_path / "target").read_bytes() == b"precious"


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket"])
def test_what_is_no_file_is_an_error_with_a_hint_and_stays(tmp_path: Path, kind: str) -> None:
    put_odd(tmp_path / "a.json", kind)
    with pytest.raises(CheckpointError, match="is not a regular file") as caught:
        atomic.write_file(str(tmp_path / "a.json"), b"x")
    assert str(caught.value.hint) == "put a real file in its place"
    assert names_in(tmp_path) == ["a.json"]
    assert not (tmp_path / "a.json").is_file()


def test_a_missing_folder_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        atomic.write_file(str(tmp_path / "no/a.json"), b"x")
    assert str(caught.value.hint) == "its folder does not exist"


def test_a_full_disk_leaves_the_old_content_and_no_scrap(tmp_path: Path) -> None:
    """A limit on file sizes in a child process stands for the full disk: the write fails
    half-way.
    """
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    script = (
        "import resource, sys\n"
        "from checkpoint_git.core.errors import CheckpointError\n"
        "from checkpoint_git.disk.atomic import write_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    write_file(sys.argv[1], b'x' * 5000)\n"
        "except CheckpointError as error:\n    print(error.message, '|', error.hint)\n    sys.exit(2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "file sizes" in done.stdout
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.json"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_a_really_full_disk_is_named_as_such(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        (small / "a.json").write_bytes(b"old")
        with pytest.raises(CheckpointError) as caught:
            atomic.write_file(str(small / "a.json"), b"x" * 200_000)
        assert "full" in str(caught.value.hint)
        assert (small / "a.json").read_bytes() == b"old"
        assert names_in(small) == ["a.json"]
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_a_folder_that_may_not_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        folder = Path("/proc/self")  # root ignores modes; nobody can make files there
    with pytest.raises(CheckpointError) as caught:
        atomic.write_file(str(folder / "a.json"), b"x")
    assert str(caught.value.hint)


def test_creating_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert atomic.create_file(str(path), b"first")
    assert not atomic.create_file(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert names_in(tmp_path) == ["a.json"]


def test_scraps_of_dead_writers_are_cleared_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    scraps = {f".a.json.{DEAD}-0a1b2c3d.tmp", f"..a.{DEAD}-0a1b2c3d.tmp.lock"}
    others = {
        f".a.json.{os.getpid()}-0a1b2c3d.tmp",
        ".somebody-elses.tmp",
        f".a.json.{DEAD}.tmp",
        f".a.json.{DEAD}-0a1b2c3.tmp",
        f".a.json.{DEAD}-0a1b2c3d4.tmp",
        f".a.json.{DEAD}-0a1b2c3d",
        f"a.json.{DEAD}-0a1b2c3d.tmp",
        "a.json",
    }
    for name in scraps | others:
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "link").symlink_to(".")

    atomic.remove_stray_files(str(tmp_path / "missing"))
    atomic.remove_stray_files(str(tmp_path / "link"))  # what is behind it is not ours
    assert scraps < set(names_in(tmp_path))
    atomic.remove_stray_files(str(tmp_path))
    assert set(names_in(tmp_path)) == {*others, "link"}


@pytest.mark.parametrize("write", [atomic.write_file, atomic.create_file])
def test_a_write_clears_what_a_killed_one_left_beside_it(
    tmp_path: Path, write: Callable[[str, bytes], object]
) -> None:
    (tmp_path / f".other.json.{DEAD}-0a1b2c3d.tmp").write_bytes(b"half")
    write(str(tmp_path / "a.json"), b"whole")
    assert names_in(tmp_path) == ["a.json"]


def test_every_new_folder_survives_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(atomic, "sync_folder", flushed.append)
    atomic.make_folder(str(tmp_path / "a/b/c"))
    assert (tmp_path / "a/b/c").is_dir()
    assert flushed == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a/b")]


def test_the_longest_skill_name_still_fits_a_temporary_name(tmp_path: Path) -> None:
    path = tmp_path / f"{'é' * 64}.checkpoint.json"
    atomic.write_file(str(path), b"x")
    assert path.read_bytes() == b"x"


def test_a_new_file_has_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    assert atomic.create_file(str(tmp_path / "a"), b"", 0o600)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_new_file_comes_about_though_another_container_clears_what_it_takes_for_scraps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, cleared = os.link, list[str]()

    def clear_once_then_link(source: str, target: str) -> None:
        if not cleared:
            os.unlink(source)
            cleared.append(source)
        link(source, target)

    monkeypatch.setattr(os, "link", clear_once_then_link)
    assert atomic.create_file(str(tmp_path / "a"), b"one")
    assert cleared
    assert names_in(tmp_path) == ["a"]


def test_a_file_system_without_hard_links_never_overwrites_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert atomic.create_file(str(tmp_path / "a"), b"one", 0o600)
    assert not atomic.create_file(str(tmp_path / "a"), b"two", 0o600)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert names_in(tmp_path) == ["a"]


def test_a_new_folder_has_the_first_free_name_and_survives_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(atomic, "sync_folder", flushed.append)
    (tmp_path / "a").mkdir()
    made = atomic.make_new_folder(str(tmp_path), ["a", "b", "c"])
    assert made == str(tmp_path / "b")
    assert (tmp_path / "b").is_dir()
    assert not (tmp_path / "c").exists()
    assert flushed == [str(tmp_path)]
    with pytest.raises(CheckpointError, match="no free name"):
        atomic.make_new_folder(str(tmp_path), ["a", "b"])


def test_every_change_of_a_folder_survives_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(atomic, "sync_folder", flushed.append)
    path = str(tmp_path / "a")
    changes: list[Callable[[], object]] = [
        lambda: atomic.create_file(path, b"one"),
        lambda: atomic.write_file(path, b"two"),
        lambda: atomic.remove_file(path),
    ]
    for count, change in enumerate(changes, 1):
        change()
        assert flushed == [str(tmp_path)] * count


def test_copies_beside_a_file_are_numbered_from_the_second(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    assert [atomic.create_beside(path, ".old", b"x") for _ in range(3)] == [
        f"{path}{end}" for end in (".old", ".old-2", ".old-3")
    ]


def test_a_folder_that_another_process_makes_meanwhile_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.makedirs

    def make_late(path: str, mode: int, exist_ok: bool) -> None:
        os.mkdir(path)
        make(path, mode, exist_ok=exist_ok)

    monkeypatch.setattr(os, "makedirs", make_late)
    atomic.make_folder(str(tmp_path / "a/b"))
    assert (tmp_path / "a/b").is_dir()


def test_all_folders_that_are_made_have_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    atomic.make_folder(str(tmp_path / "a/b"), 0o700)
    made = atomic.make_new_folder(str(tmp_path / "a/b"), ["c"], 0o700)
    for path in (tmp_path / "a", tmp_path / "a/b", Path(made)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_folder_where_a_file_is_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for path in ("a", "a/b"):
        with pytest.raises(CheckpointError, match="could not be written") as caught:
            atomic.make_folder(str(tmp_path / path))
        assert str(caught.value.hint) == "expected a directory, found a file"


def test_a_file_has_its_name_once_the_disk_has_its_content_and_then_the_disk_gets_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    rename, link = os.replace, os.link

    def note_rename(source: str, target: str) -> None:
        events.append("name")
        rename(source, target)

    def note_link(source: str, target: str) -> None:
        events.append("name")
        link(source, target)

    monkeypatch.setattr(replace.system, "fsync", lambda descriptor: events.append("content"))
    monkeypatch.setattr(os, "replace", note_rename)
    monkeypatch.setattr(os, "link", note_link)
    monkeypatch.setattr(atomic, "sync_folder", lambda folder: events.append("folder"))

    path = str(tmp_path / "a")
    atomic.create_file(path, b"one")
    assert events == ["content", "name", "folder"]

    events.clear()
    atomic.write_file(path, b"two", lambda: events.append("noted"))
    assert events == ["content", "name", "noted", "folder"]

    events.clear()
    atomic.replace_known(path, b"two", b"three", lambda: events.append("noted"))
    assert events == ["content", "name", "noted", "folder"]

    events.clear()
    atomic.replace_known(f"{path}b", None, b"new", lambda: events.append("noted"))
    assert sorted(events) == ["content", "folder", "name", "noted"]


def test_a_name_without_a_folder_is_one_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f".other.{DEAD}-0a1b2c3d.tmp").write_bytes(b"half")
    atomic._clear_once.cache_clear()
    flushed: list[str] = []
    monkeypatch.setattr(atomic, "sync_folder", flushed.append)

    atomic.create_file("a", b"one")
    atomic.write_file("a", b"two")
    atomic.make_folder("folder")
    assert names_in(tmp_path) == ["a", "folder"]
    atomic.remove_file("a")
    assert names_in(tmp_path) == ["folder"]
    assert flushed == ["."] * 4


def test_a_folder_is_flushed_where_the_file_system_can_and_is_closed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []

    def refuse(descriptor: int) -> None:
        flushed.append(os.fstat(descriptor).st_ino)
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    with closing_all():
        atomic.sync_folder(str(tmp_path))
    assert flushed == [tmp_path.stat().st_ino]


def test_a_new_file_whose_temporary_one_is_cleared_each_time_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clear_then_link(source: str, target: str) -> None:
        os.unlink(source)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(os, "link", clear_then_link)
    with pytest.raises(CheckpointError, match="could not be written: No such file"):
        atomic.create_file(str(tmp_path / "a"), b"one")
    assert names_in(tmp_path) == []


def test_a_new_file_that_cannot_be_named_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(CheckpointError, match="No space left") as caught:
        atomic.create_file(str(tmp_path / "a"), b"one")
    assert str(caught.value.hint).startswith("the disk is full: make room")
    assert names_in(tmp_path) == []


def test_where_every_name_beside_a_file_is_taken_no_copy_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(atomic, "create_file", lambda path, data: False)
    with pytest.raises(CheckpointError, match="no free name for a copy beside /r/a") as caught:
        atomic.create_beside("/r/a", ".old", b"x")
    assert str(caught.value.hint) == "remove the old copies"


@rows(
    ("number", "hint"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "your quota is used up"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "mounted read-only"),
        (errno.EACCES, "owner and permissions"),
        (errno.EPERM, "owner and permissions"),
        (errno.ENOTDIR, "found a file"),
        (errno.EISDIR, "move it"),
        (errno.ENOENT, "its folder does not exist"),
        (errno.EIO, "nothing was changed"),
    ],
)
def test_an_error_of_writing_says_what_went_wrong_and_what_to_do(number: int, hint: str) -> None:
    error = atomic.write_error("/r/\x1b[31ma", OSError(number, os.strerror(number)))
    assert error.message.endswith(f"a could not be written: {os.strerror(number)}")
    assert "\x1b" not in error.message
    assert hint in str(error.hint)


def test_an_error_of_writing_without_a_number_is_shown_by_its_text() -> None:
    error = atomic.write_error("/r/a", OSError("cut off"))
    assert error.message == "/r/a could not be written: cut off"
    assert str(error.hint) == "nothing was changed"
