"""Writes that happen whole or not at all."""

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic
from tests.support.hostile import put_odd


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


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic.write_file(str(tmp_path / "a.json"), b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o640


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
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".a.json.{dead.pid}-0a1b2c3d.tmp").write_bytes(b"half")
    (tmp_path / f".a.json.{os.getpid()}-0a1b2c3d.tmp").write_bytes(b"half")
    (tmp_path / ".somebody-elses.tmp").write_bytes(b"")
    (tmp_path / "a.json").write_bytes(b"")
    atomic.remove_stray_files(str(tmp_path / "missing"))
    atomic.remove_stray_files(str(tmp_path))
    assert names_in(tmp_path) == [
        f".a.json.{os.getpid()}-0a1b2c3d.tmp",
        ".somebody-elses.tmp",
        "a.json",
    ]


@pytest.mark.parametrize("write", [atomic.write_file, atomic.create_file])
def test_a_write_clears_what_a_killed_one_left_beside_it(
    tmp_path: Path, write: Callable[[str, bytes], object]
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".other.json.{dead.pid}-0a1b2c3d.tmp").write_bytes(b"half")
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
