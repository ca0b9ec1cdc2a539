"""The step under every write: a temporary file, then a rename over the target."""

import os
import stat
from pathlib import Path

import pytest

from checkpoint_git.disk import replace
from tests.support.descriptors import closing_all


def test_a_replaced_file_keeps_its_mode_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace.replace_file(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("step", ["fchmod", "write", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no")

    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(replace.system, step, fail)
    with pytest.raises(OSError, match="no"):
        replace.replace_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_is_missing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace.replace_file(str(tmp_path / "a"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_temporary_file_names_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = replace.write_temporary(str(tmp_path / "a"), b"new", None, sync=True, mode=0o600)
    name = os.path.basename(temporary)
    assert name.startswith(f".a.{os.getpid()}-")
    assert name.endswith(replace.TEMPORARY_ENDING)
    assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600

    odd = replace.write_temporary(str(tmp_path / "b\\c"), b"new", None, sync=False)
    assert os.path.basename(odd).startswith(f".b\\c.{os.getpid()}-")  # a letter like others
    os.unlink(odd)

    monkeypatch.chdir(tmp_path)
    second = replace.write_temporary("a", b"newer", None, sync=False)
    assert second.startswith(f".a.{os.getpid()}-")
    assert sorted(os.listdir(tmp_path)) == sorted([name, second])


def test_a_file_gets_the_mode_of_the_one_that_it_replaces_before_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may write less than it was given."""
    modes: list[int] = []
    write = os.write

    def write_two(descriptor: int, data: memoryview) -> int:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return write(descriptor, data[:2])

    monkeypatch.setattr(replace.system, "write", write_two)
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o600)
    replace.replace_file(str(path), b"12345")
    assert path.read_bytes() == b"12345"
    assert modes == [0o600] * 3


def test_a_file_gets_the_owner_of_the_one_that_it_replaces_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[tuple[int, int]] = []

    def give(descriptor: int, user: int, group: int) -> None:
        owners.append((user, group))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(replace.system, "fchown", give)
    user, group = os.geteuid(), os.getegid()
    for owner in ((user, group), (user + 1, group), (user, group + 1)):
        like = os.stat_result((0o100640, 0, 0, 1, *owner, 0, 0, 0, 0))
        temporary = replace.write_temporary(str(tmp_path / "a"), b"new", like, sync=False)
        assert Path(temporary).read_bytes() == b"new"
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o640
    assert owners == [(user + 1, group), (user, group + 1)]


def test_a_system_with_neither_modes_nor_owners_takes_backslashes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    like = path.stat()
    monkeypatch.delattr(replace.system, "fchmod")
    monkeypatch.delattr(replace.system, "fchown")
    monkeypatch.setattr(replace, "_IS_WINDOWS", True)
    temporary = replace.write_temporary(f"{tmp_path}\\a", b"new", like, sync=False)
    assert Path(temporary).parent == tmp_path
    assert Path(temporary).read_bytes() == b"new"


def test_what_was_written_is_flushed_where_it_has_to_last_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(
        replace.system, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino)
    )
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with closing_all():
        replace.replace_file(str(path), b"new")
        assert flushed == []
        temporary = replace.write_temporary(str(path), b"newer", None, sync=True)
    assert flushed == [os.stat(temporary).st_ino]


def test_a_file_that_is_gone_is_removed_quietly(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for _ in range(2):
        replace.remove_quietly(str(tmp_path / "a"))
        assert os.listdir(tmp_path) == []
