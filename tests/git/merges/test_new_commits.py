"""A commit that changes a few files and nothing else, in every kind of repository."""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.merges.new_commits import TRAILER, read_repaired, read_site, write_repair
from checkpoint_git.git.worktree import read_changed
from tests.support.repos import GitRepo

PATH = ".checkpoints/build.checkpoint.json"
ODD = 'sub "x"/.checkpoints/ä b.checkpoint.json'


@pytest.fixture
def filled(repo: GitRepo) -> GitRepo:
    repo.write(PATH, "old\n")
    repo.write(ODD, "old\n")
    repo.write("code", "code\n")
    repo.commit("begin")
    return repo


def repair(repo: GitRepo, *paths: str, message: str = "Repair") -> str:
    return write_repair(
        read_site(str(repo.path)), dict.fromkeys(paths or (PATH,), b"new\n"), message
    )


def test_index_files_and_branch_have_the_repair_and_nothing_else(filled: GitRepo) -> None:
    filled.write("code", "staged\n")
    filled.git("add", "code")
    filled.write("code", "edited\n")
    filled.write("new", "untracked\n")
    before = filled.git("status", "--porcelain")
    commit = repair(filled, PATH, ODD)
    assert filled.git("rev-parse", "main") == commit
    assert filled.git("status", "--porcelain") == before
    assert (filled.read(PATH), filled.read(ODD)) == ("new\n", "new\n")
    assert filled.git(
        "-c", "core.quotePath=false", "diff", "--name-only", "-z", "HEAD^", "HEAD"
    ).strip("\0").split("\0") == [PATH, ODD]
    assert "checkpoint audit: Repair" in filled.git("reflog", "-1")


def test_file_modes_stay(filled: GitRepo) -> None:
    filled.git("update-index", "--chmod=+x", PATH)
    filled.git("commit", "-q", "-m", "executable")
    filled.git("reset", "-q", "--hard")
    repair(filled)
    assert filled.git("ls-tree", "HEAD", PATH).startswith("100755")


def test_line_ends_of_the_work_tree_are_gits_business(filled: GitRepo) -> None:
    filled.write(".gitattributes", "*.json text eol=crlf\n")
    filled.commit("attributes")
    repair(filled)
    assert filled.read(PATH) == "new\r\n"
    assert filled.git("cat-file", "-p", f"HEAD:{PATH}") == "new"
    assert filled.git("status", "--porcelain") == ""


def test_a_linked_work_tree_gets_it_on_its_own_branch(filled: GitRepo, tmp_path: Path) -> None:
    filled.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = GitRepo(tmp_path / "linked")
    commit = repair(linked)
    assert (filled.git("rev-parse", "side"), filled.git("rev-parse", "main")) == (
        commit,
        filled.git("rev-parse", "side^"),
    )
    assert (linked.read(PATH), filled.read(PATH)) == ("new\n", "old\n")


def test_a_detached_head_moves_alone(filled: GitRepo) -> None:
    filled.git("checkout", "-q", "--detach")
    assert repair(filled) == filled.git("rev-parse", "HEAD")
    assert filled.git("rev-parse", "main") == filled.git("rev-parse", "HEAD^")


def test_where_head_moved_meanwhile_the_repair_stays_staged(filled: GitRepo) -> None:
    site = read_site(str(filled.path))
    filled.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
    with pytest.raises(CheckpointError, match="HEAD moved"):
        write_repair(site, {PATH: b"new\n"}, "Repair")
    assert filled.git("log", "-1", "--format=%s") == "meanwhile"
    assert filled.git("diff", "--cached", "--name-only") == PATH


def test_without_an_identity_nothing_is_changed(
    filled: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.delenv(name)
    filled.git("config", "user.useConfigOnly", "true")
    with pytest.raises(CheckpointError, match="commit-tree"):
        repair(filled)
    assert (filled.read(PATH), filled.git("status", "--porcelain")) == ("old\n", "")


def test_files_that_are_not_as_in_head_are_known(filled: GitRepo) -> None:
    top = str(filled.path)
    assert read_changed(top, [PATH, ODD]) == set()
    filled.write(ODD, "edited\n")
    filled.write(PATH, "staged\n")
    filled.git("add", PATH)
    filled.write(PATH, "old\n")
    assert read_changed(top, [PATH, ODD]) == {PATH, ODD}


def test_an_empty_repository_has_nothing_to_repair(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="no commit yet"):
        read_site(str(repo.path))


def test_only_trailers_say_what_was_repaired(filled: GitRepo) -> None:
    merge = filled.git("rev-parse", "HEAD")
    cwd = str(filled.path)
    assert read_repaired(
        cwd, repair(filled, message=f"Repair\n\n- a file\n\n{TRAILER}: {merge}\n")
    ) == [merge]
    for message in (
        f"{TRAILER}: {merge}\n\nand more",
        f"Repair\n\n{TRAILER}: --all",
        f"Repair {TRAILER}: {merge}",
    ):
        filled.git("commit", "-q", "--allow-empty", "-m", message)
        assert read_repaired(cwd, "HEAD") == []
