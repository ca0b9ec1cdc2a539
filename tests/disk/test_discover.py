"""Finding .checkpoints and the repository around it."""

import os
import shutil
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import (
    MissingPlaceError,
    Place,
    check_way,
    find_common_dir,
    find_link,
    find_or_plan_place,
    find_place,
    find_repository,
    find_siblings,
    is_git_name,
    is_inside,
    path_below,
    plan_place,
    relative_path,
    shared_path,
)
from tests.support.repos import GitRepo
from tests.support.rows import rows


def test_the_nearest_folder_upward_is_found(repo: GitRepo) -> None:
    repo.write(".checkpoints/README.md", "top")
    repo.write("packages/api/.checkpoints/README.md", "inner")
    repo.write("packages/api/src/deep/file.py", "")
    repo.write("packages/web/file.py", "")
    assert find_place(str(repo.path / "packages/api/src/deep")).root == str(
        repo.path / "packages/api"
    )
    assert find_place(str(repo.path / "packages/web")).root == str(repo.path)


def test_a_place_knows_its_repository(repo: GitRepo) -> None:
    repo.write("sub/.checkpoints/README.md", "")
    place = find_place(str(repo.path / "sub"))
    assert place.directory == str(repo.path / "sub/.checkpoints")
    assert place.work_tree == str(repo.path)
    assert place.git_dir == str(repo.path / ".git")
    assert place.top == str(repo.path)


def test_the_search_stops_at_the_repository_root(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    repo = GitRepo.create(tmp_path / "inner")
    with pytest.raises(
        MissingPlaceError, match=r"no \.checkpoints .* up to the repository"
    ) as caught:
        find_place(str(repo.path))
    assert "checkpoint init" in str(caught.value.hint)
    assert "sparse" not in str(caught.value.hint)

    repo.write(".git/info/sparse-checkout", "src\n")
    with pytest.raises(MissingPlaceError) as caught:
        find_place(str(repo.path))
    assert "git sparse-checkout add .checkpoints" in str(caught.value.hint)
    assert "checkpoint init" in str(caught.value.hint)


def test_outside_git_the_search_goes_upward_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    place = find_place(str(tmp_path / "a/b"))
    assert place == Place(str(tmp_path), str(tmp_path / ".checkpoints"), None, None)
    assert place.top == str(tmp_path)
    with pytest.raises(MissingPlaceError, match=r"no \.other .* upward") as caught:
        find_place(str(tmp_path / "a/b"), ".other")
    assert "sparse" not in str(caught.value.hint)


def test_a_linked_worktree_has_a_git_directory_of_its_own(repo: GitRepo) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "../linked tree", "-b", "other")
    linked = repo.path.parent / "linked tree"
    found = find_repository(str(linked))
    assert found == (str(linked), GitRepo(linked).git("rev-parse", "--absolute-git-dir"))


def test_a_submodule_is_a_repository_of_its_own(repo: GitRepo, tmp_path: Path) -> None:
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit()
    repo.add_submodule(inner.path, "lib")
    found = find_repository(str(repo.path / "lib"))
    assert found == (str(repo.path / "lib"), str(repo.path / ".git/modules/lib"))


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert find_repository(str(tmp_path)) is None


def test_a_git_file_that_names_nothing_is_no_repository(tmp_path: Path) -> None:
    for text in ("gitdir: /nowhere\n", "", "/nowhere\n", "a/.git\n"):
        (tmp_path / ".git").write_text(text)
        assert find_repository(str(tmp_path)) is None


def test_a_branch_that_head_leads_to_need_not_be_there(tmp_path: Path) -> None:
    """HEAD may be a symbolic link, as early versions of git made it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/HEAD").symlink_to("refs/heads/main")
    (tmp_path / ".git").write_text("gitdir:  real\r\n")
    assert find_repository(str(tmp_path)) == (str(tmp_path), str(tmp_path / "real"))


def test_a_file_that_all_work_trees_share_is_in_the_common_git_directory(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").touch()
    (tmp_path / "inner").mkdir()
    assert shared_path(str(tmp_path / "inner"), "notes") == str(tmp_path / ".git/notes")
    (tmp_path / ".git/commondir").write_text("../common\n")
    assert shared_path(str(tmp_path), "notes") == str(tmp_path / "common/notes")

    (tmp_path / ".git/HEAD").unlink()
    outside = shared_path(str(tmp_path), "notes")
    assert os.path.basename(outside) == "notes"
    with pytest.raises(NotADirectoryError):
        os.stat(outside)


def test_a_bare_repository_has_no_place(tmp_path: Path) -> None:
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    with pytest.raises(CheckpointError):
        find_place(str(bare.path))


@pytest.mark.parametrize("target", ["elsewhere", "../elsewhere", ".git", "gone"])
def test_a_link_is_no_place(repo: GitRepo, tmp_path: Path, target: str) -> None:
    for folder in (tmp_path / "elsewhere", repo.path / "elsewhere", repo.path / "gone"):
        folder.mkdir()
    (repo.path / ".checkpoints").symlink_to(target)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        find_place(str(repo.path))


def test_the_first_link_on_the_way_is_found(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("b")
    for top, paths in ((str(tmp_path), ("", f"{tmp_path}/")), ("/", (f"{tmp_path}/",))):
        for start in paths:
            prefix = "" if top != "/" else f"{str(tmp_path)[1:]}/"
            assert find_link(f"{start}a/link/x/y", top) == f"{prefix}a/link"
            assert find_link(f"{start}a/link", top) == f"{prefix}a/link"
            assert find_link(f"{start}a/b/c", top) == ""
    assert find_link("", str(tmp_path)) == ""


@rows(
    "name",
    [
        *(
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            "git~12",
            ".git.",
            ".git ",
            ".git . ",
            "git~1.",
            ".git::$DATA",
        ),
        *(
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u200cit",
            "\ufeff.git",
            ".gi\u206ft",
            ".git\\hooks",
            "git~1\\x",
        ),
    ],
)
def test_git_is_known_in_any_spelling(name: str) -> None:
    assert is_git_name(name)
    with pytest.raises(CheckpointError, match="git's own"):
        check_way(f"a/{name}/b", "/nowhere")


HIDDEN = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
SHOWN = "\u200b\u2010\u2029\u202f\u2069\u2070\ufefe\uff00"


def test_a_name_with_characters_that_hfs_leaves_out_is_gits_and_with_others_it_is_not() -> None:
    """As git has them, too: next_hfs_char in its utf8.c."""
    assert [letter for letter in HIDDEN if not is_git_name(f".g{letter}it")] == []
    assert [letter for letter in SHOWN if is_git_name(f".g{letter}it")] == []


@rows("name", [".github", ".gitignore", "git", "agit~1", ".git-x", "x.git", "..git", "git1"])
def test_a_name_like_gits_is_an_ordinary_one(name: str) -> None:
    assert not is_git_name(name)
    check_way(f"a/{name}/b", "/nowhere")


def test_a_new_place_is_the_repository_root_else_the_folder_itself(
    repo: GitRepo, tmp_path: Path
) -> None:
    (repo.path / "deep/er/.checkpoints").mkdir(parents=True)
    plain = tmp_path / "plain"
    plain.mkdir()
    top = str(repo.path)
    planned = Place(top, f"{top}/.checkpoints", top, f"{top}/.git")
    assert plan_place(f"{top}/deep/er") == planned
    assert plan_place(str(plain), ".other") == Place(str(plain), str(plain / ".other"), None, None)

    assert find_or_plan_place(f"{top}/deep") == planned
    assert find_or_plan_place(f"{top}/deep/er").root == f"{top}/deep/er"
    assert find_or_plan_place(str(plain)).root == str(plain)


@pytest.mark.parametrize("name", ["", "undo", "automatic.lock", "undo/build.before"])
def test_a_link_in_the_state_of_an_archives_own_git_is_refused_and_never_followed(
    repo: GitRepo, tmp_path: Path, name: str
) -> None:
    link = repo.path / ".git/checkpoint" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        find_repository(str(repo.path))


def test_a_common_folder_that_is_no_path_or_a_pipe_stops_nothing(repo: GitRepo) -> None:
    path = repo.path / ".git/commondir"
    path.write_bytes(b"a\0b\n")
    assert find_repository(str(repo.path))
    path.unlink()
    os.mkfifo(path)
    assert find_common_dir(str(repo.path / ".git")) == str(repo.path / ".git")


def test_a_backup_of_what_git_keeps_is_no_link(repo: GitRepo) -> None:
    (repo.path / ".git/checkpoint/backups/20260101/.git/info").mkdir(parents=True)
    (repo.path / ".git/checkpoint/backups/20260101/.git/info/exclude").write_text("x")
    assert find_repository(str(repo.path))


def test_a_linked_work_tree_minds_the_state_that_all_share(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit("start")
    repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    (repo.path / ".git/checkpoint").symlink_to(tmp_path)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        find_repository(str(tmp_path / "other"))


def test_inside_means_inside_once_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "wall").mkdir()
    (tmp_path / "wall-paper").mkdir()
    (tmp_path / "wall/out").symlink_to(tmp_path / "wall-paper")
    assert is_inside(str(tmp_path / "wall/file"), str(tmp_path / "wall"))
    assert not is_inside(str(tmp_path / "wall-paper"), str(tmp_path / "wall"))
    assert not is_inside(str(tmp_path / "wall/out"), str(tmp_path / "wall"))


def test_relative_paths_use_slashes_and_leave_strangers_alone() -> None:
    assert relative_path("/r/a/b", "/r") == "a/b"
    assert relative_path("/other/b", "/r") == "/other/b"
    assert relative_path("/a", "/") == "a"


def test_a_path_is_below_a_root_however_the_root_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "real/a").mkdir(parents=True)
    (tmp_path / "real/loop").symlink_to(".")
    for link in ("link", "other"):
        (tmp_path / link).symlink_to("real")
    for name in ("real", "link", "other"):
        for spelled in ("real", "link", "other"):
            root, path = str(tmp_path / name), str(tmp_path / spelled)
            assert path_below(root, path) == ""
            assert path_below(root, f"{path}/a/new") == "a/new"
            # which is refused later: it is behind a link
            assert path_below(root, f"{path}/loop/a") == "loop/a"
        assert path_below(root, f"{root}s/a") is None
        assert path_below(root, str(tmp_path)) is None
    assert path_below(str(tmp_path / "real/a"), str(tmp_path / "link/loop/a/b")) == "b"
    assert path_below("/", "/a") == "a"


def test_other_work_trees_are_known_by_their_branch_if_they_have_checkpoints(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write(".checkpoints/README.md", "")
    repo.write("sub/.checkpoints/README.md", "")
    repo.commit()
    assert find_siblings(find_place(str(repo.path))) == []

    for name in ("side", "empty", "replaced", "gone"):
        repo.git("worktree", "add", "-q", "-b", name, str(tmp_path / name))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "detached"))
    shutil.rmtree(tmp_path / "empty/sub")  # it has those of its top still
    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "replaced/.git").unlink()
    GitRepo.create(tmp_path / "replaced")

    here, side, detached = (
        find_place(str(top / "sub"))
        for top in (repo.path, tmp_path / "side", tmp_path / "detached")
    )
    assert find_siblings(here) == [("", detached), ("side", side)]
    assert find_siblings(side) == [("main", here), ("", detached)]
    assert find_siblings(Place("/r", "/r/.checkpoints", None, None)) == []


def test_a_folder_without_checkpoints_is_named_without_what_steers_a_terminal(
    tmp_path: Path,
) -> None:
    odd = tmp_path / "a\n\x1b[31mb"
    odd.mkdir()
    with pytest.raises(MissingPlaceError, match=r"a\\n\\x1b\[31mb upward"):
        find_place(str(odd))
