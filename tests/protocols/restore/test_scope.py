import errno
import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.scope import read_file, read_scope


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A few files, a link, a secret, an empty folder."""
    root = tmp_path / "work"
    for name in (
        "src/a.py",
        "src/b.txt",
        "src/deep/c.py",
        "src/.hidden.py",
        "src/.env",
        "lib/d.py",
        ".git/config",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "src/empty").mkdir()
    (root / "src/link").symlink_to("/etc/passwd")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("x")
    return root


def test_a_copy_that_the_disk_has_no_room_for_is_no_fault_of_the_file(workspace: Path) -> None:
    def keep(chunk: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        read_file(str(workspace), "src/a.py", keep)


def names(root: Path, *scopes: str) -> list[str]:
    return [named.path for named in read_scope(str(root), scopes).found]


def test_a_folder_stands_for_all_below_it(workspace: Path) -> None:
    assert names(workspace, "src") == [
        "src", "src/.hidden.py", "src/a.py", "src/b.txt", "src/deep", "src/deep/c.py", "src/empty", "src/link"
    ]  # fmt: skip


def test_secrets_are_left_out_and_named(workspace: Path) -> None:
    assert [one.path for one in read_scope(str(workspace), ["src"]).secret] == ["src/.env"]
    assert read_scope(str(workspace), ["src/.env"]).found == []


def test_a_pattern_names_files(workspace: Path) -> None:
    assert names(workspace, "src/*.py") == ["src/a.py"]
    assert names(workspace, "**/*.py") == ["lib/d.py", "src/a.py", "src/deep/c.py"]


def test_a_pattern_reaches_into_hidden_folders(workspace: Path) -> None:
    (workspace / "lib/.cache").mkdir()
    (workspace / "lib/.cache/e.py").write_text("x")
    assert names(workspace, "**/*.py") == [
        "lib/.cache/e.py",
        "lib/d.py",
        "src/a.py",
        "src/deep/c.py",
    ]
    assert "lib/.cache/e.py" in names(workspace, "lib/**")
    assert "lib/.cache/e.py" in names(workspace, "**")


def test_a_pattern_leads_through_folders_alone(workspace: Path) -> None:
    (workspace / "README").write_text("x")
    (workspace / "away").symlink_to("../outside")
    assert names(workspace, "*/**/[cx]*") == ["src/deep/c.py"]


def test_the_whole_workspace_leaves_git_alone(workspace: Path) -> None:
    found = names(workspace, ".")
    assert "lib/d.py" in found
    assert not [path for path in found if path.startswith(".git")]


def test_locks_of_this_tool_are_left_alone(workspace: Path) -> None:
    for name in (".lock", ".lock.held", "checkpoint-restore.lock", "build.checkpoint.json"):
        (workspace / ".checkpoints").mkdir(exist_ok=True)
        (workspace / ".checkpoints" / name).write_text("")
    assert names(workspace, ".checkpoints") == [
        ".checkpoints",
        ".checkpoints/build.checkpoint.json",
    ]


def test_a_link_is_a_link_and_not_what_it_leads_to(workspace: Path) -> None:
    found = {named.path: named.kind for named in read_scope(str(workspace), ["src/link"]).found}
    assert found == {"src/link": "link"}


def test_a_path_that_is_not_there_is_absent(workspace: Path) -> None:
    assert [named.kind for named in read_scope(str(workspace), ["src/new.py"]).found] == ["absent"]


def test_a_name_with_brackets_is_itself_where_it_is_there(workspace: Path) -> None:
    (workspace / "src/[id].tsx").write_text("x")
    assert names(workspace, "src/[id].tsx") == ["src/[id].tsx"]


@pytest.mark.parametrize("scope", ["../outside", "/etc", "src/../../outside/x", "", "a\0b"])
def test_what_lies_outside_is_refused(workspace: Path, scope: str) -> None:
    with pytest.raises(CheckpointError):
        read_scope(str(workspace), [scope])


def test_a_way_through_a_link_is_refused(workspace: Path) -> None:
    (workspace / "src/way").symlink_to(workspace.parent / "outside")
    with pytest.raises(CheckpointError, match="behind the symbolic link"):
        read_scope(str(workspace), ["src/way/x"])
    assert names(workspace, "src/w*") == ["src/way"]


@pytest.mark.parametrize(
    "scope", [".git", ".git/config", ".checkpoints/chk_20260101_000000_aaaaaa"]
)
def test_git_and_the_points_themselves_are_refused(workspace: Path, scope: str) -> None:
    with pytest.raises(CheckpointError, match="belongs to git"):
        read_scope(str(workspace), [scope])


def test_a_pattern_that_matches_nothing_is_an_error(workspace: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing matches"):
        read_scope(str(workspace), ["*.rs"])


def test_pipes_are_left_out_and_named(workspace: Path) -> None:
    os.mkfifo(workspace / "src/pipe")
    assert read_scope(str(workspace), ["src"]).special == ["src/pipe"]


def test_a_loop_of_links_ends(workspace: Path) -> None:
    (workspace / "src/loop").symlink_to(".")
    assert "src/loop" in names(workspace, "src", "**/*.py")
