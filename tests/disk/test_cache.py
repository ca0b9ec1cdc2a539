"""A file of what was found out: useful when it is whole, and never in the way."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.cache import load_cache, write_cache

VALUE: dict[str, Any] = {"a": [1, "x\udc80\n"], "b": {}}


def test_what_was_written_is_read_again_under_the_same_rules(tmp_path: Path) -> None:
    file = str(tmp_path / "folder" / "cache")
    write_cache(file, "1", VALUE)
    assert load_cache(file, "1") == VALUE
    assert load_cache(file, "2") is None
    write_cache(file, "2", [])
    assert (load_cache(file, "1"), load_cache(file, "2")) == (None, [])
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["cache"]


def test_a_file_that_was_changed_in_one_bit_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "cache"
    write_cache(str(file), "1", VALUE)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert load_cache(str(file), "1") is None
        file.write_bytes(whole[:at])
        assert load_cache(str(file), "1") is None


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "pipe"])
def test_what_is_no_file_is_nothing(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "cache"
    if kind == "folder":
        file.mkdir()
    elif kind == "link":
        write_cache(str(tmp_path / "real"), "1", VALUE)
        file.symlink_to("real")
    elif kind == "pipe":
        os.mkfifo(file)
    assert load_cache(str(file), "1") is None


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    write_cache(str(tmp_path / "file" / "cache"), "1", VALUE)
    (tmp_path / "folder").mkdir()
    write_cache(str(tmp_path / "folder"), "1", VALUE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_new_file_is_as_open_as_the_umask_says(tmp_path: Path) -> None:
    write_cache(str(tmp_path / "cache"), "1", VALUE)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) & 0o111 == 0
