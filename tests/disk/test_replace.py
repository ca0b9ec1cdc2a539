"""The step under every write: a temporary file, then a rename over the target."""

import os
import stat
from pathlib import Path

import pytest

from checkpoint_git.disk import replace


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


def test_a_temporary_file_names_its_process(tmp_path: Path) -> None:
    temporary = replace.write_temporary(str(tmp_path / "a"), b"new", None, sync=True, mode=0o600)
    name = os.path.basename(temporary)
    assert name.startswith(f".a.{os.getpid()}-")
    assert name.endswith(replace.TEMPORARY_ENDING)
    assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600
