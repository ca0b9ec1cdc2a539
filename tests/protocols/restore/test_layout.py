from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout
from tests.support.repos import GitRepo
from tests.support.rows import rows


def test_an_id_is_made_of_time_and_chance() -> None:
    first, second = (layout.make_id(1_768_487_422) for _ in range(2))
    assert first.startswith("chk_20260115_143022_")
    assert layout.is_id(first)
    assert first != second
    assert layout.is_id("chk_20260115_143022_a7b3c9")


@rows("text", ["", "chk_1", "../chk_20260115_143022_a7b3c9", "chk_20260115_143022_a7b3c9/x", "-x"])
def test_what_is_no_id_becomes_no_path(text: str) -> None:
    with pytest.raises(CheckpointError, match="is not the name of a restore point"):
        layout.point_folder("/w", text)


def test_a_workspace_is_the_repository_or_the_folder_with_points(
    repo: GitRepo, tmp_path: Path
) -> None:
    def look(folder: Path) -> tuple[str, str | None]:
        workspace = layout.open_workspace(str(folder), 0, {})
        return workspace.root, workspace.git_dir

    (repo.path / "sub").mkdir()
    (tmp_path / "plain/.checkpoints").mkdir(parents=True)
    (tmp_path / "plain/sub").mkdir()
    (tmp_path / "empty").mkdir()
    assert look(repo.path / "sub") == (str(repo.path), str(repo.path / ".git"))
    assert look(tmp_path / "plain/sub") == (str(tmp_path / "plain"), None)
    assert look(tmp_path / "empty") == (str(tmp_path / "empty"), None)
    repo.git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    with pytest.raises(CheckpointError, match="without a work tree"):
        look(tmp_path / "bare.git/refs")
