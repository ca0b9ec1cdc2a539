"""What makes a folder in memory one that the tests work in."""

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.scratch import work_in_memory


def test_the_tests_work_in_memory_only_where_there_is_room_and_nobody_named_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_folder(free: int, folder: Path = tmp_path, named: str = "") -> str:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", "usual")
            patch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
            patch.delenv("TMPDIR", raising=False)
            if named:
                patch.setenv("TMPDIR", named)
            work_in_memory(folder)
            return tempfile.gettempdir()

    assert find_folder(2**30) == str(tmp_path)
    assert find_folder(2**26) == "usual"
    assert find_folder(2**30, tmp_path / "missing") == "usual"
    assert find_folder(2**30, named="/another") == "usual"
