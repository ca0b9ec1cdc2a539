import os
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.git.own_files import (
    find_common_dir,
    find_unlisted,
    find_unmerged,
    has_nested_folders,
    read_start,
    read_tag,
)
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"


def test_what_the_index_lists_needs_no_question_to_git(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.write("docs/page.md", "a page\n")
    repo.commit()
    paths = [PATH, "build.checkpoint.json", ".checkpoints/new.checkpoint.json", "docs/page.md"]
    assert find_unlisted(str(repo.path / ".git"), paths) == [paths[1], paths[2]]
    repo.git("rm", "-q", "--cached", PATH)
    assert find_unlisted(str(repo.path / ".git"), paths) == paths[:3]
    assert find_unlisted(str(repo.path / "nowhere"), paths) == paths
    long = ["a/" * 2_100 + "b", "a/" * 2_100 + "c"]  # their lengths do not fit into the index
    blob = repo.git("hash-object", "-w", str(repo.path / PATH))
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{long[0]}")
    assert find_unlisted(str(repo.path / ".git"), long) == long[1:]


def test_a_nul_in_the_name_of_the_common_folder_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "commondir").write_bytes(b"a\0b\n")
    assert find_common_dir(str(tmp_path)) == str(tmp_path / "ab")


@pytest.mark.parametrize("packing", [["--index-version", "4"], ["--split-index"]])
def test_an_index_that_holds_not_all_names_in_full_is_left_to_git(
    repo: GitRepo, packing: list[str]
) -> None:
    repo.write("app/.a", "")
    repo.write(PATH, checkpoint_text())
    repo.commit()
    assert not has_nested_folders(str(repo.path / ".git"))
    repo.write(f"app/{PATH}", checkpoint_text())
    repo.commit()
    assert has_nested_folders(str(repo.path / ".git"))
    repo.git("update-index", *packing)
    assert has_nested_folders(str(repo.path / ".git"))


def test_a_conflict_in_an_index_that_is_split_is_found(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit()
    repo.git("checkout", "-qb", "theirs")
    repo.write(PATH, checkpoint_text(step="theirs"))
    repo.commit()
    repo.git("checkout", "-q", "-")
    repo.write(PATH, checkpoint_text(step="ours"))
    repo.commit()
    repo.git("merge", "-q", "theirs", check=False)
    repo.git("update-index", "--split-index")
    assert find_unmerged(str(repo.path), str(repo.path / ".git"), os.environ) == [PATH]


def test_a_conflict_of_each_of_our_files_is_found_and_no_other(repo: GitRepo) -> None:
    # as a merge leaves it in the index
    blob = repo.git("hash-object", "-w", str(repo.write("x", "1")))
    git_dir = str(repo.path / ".git")

    def unmerged(*paths: str, stages: tuple[int, ...] = (1, 2, 3)) -> list[str]:
        repo.git("read-tree", "--empty")
        lines = "".join(f"100644 {blob} {stage}\t{path}\n" for path in paths for stage in stages)
        subprocess.run(
            ["git", "update-index", "--index-info"], cwd=repo.path, input=lines.encode(), check=True
        )
        return find_unmerged(str(repo.path), git_dir, os.environ)

    assert unmerged("docs/page.md", "build.checkpoint.txt") == []
    for path in (PATH, f"app/{PATH}", "memory/state/phase.json"):
        assert unmerged("docs/page.md", path) == [path]
        assert unmerged(path, stages=(2,)) == unmerged(path, stages=(1,)) == [path]
        repo.git("read-tree", "--empty")
        repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        assert find_unmerged(str(repo.path), git_dir, os.environ) == []


def test_the_letter_of_a_path_is_gits_own_where_the_index_is_packed(repo: GitRepo) -> None:
    for name in ("aa", "ab"):
        repo.write(name, "x\n")
    repo.commit()
    repo.git("update-index", "--index-version", "4")
    git_dir = str(repo.path / ".git")
    tags = [read_tag(str(repo.path), git_dir, name) for name in ("aa", "ab", "gone")]
    assert tags == ["H", "H", ""]
    assert read_tag(str(repo.path), None, "aa") == read_tag(None, git_dir, "aa") == ""


def test_the_letter_of_a_path_is_that_of_its_entry(repo: GitRepo, tmp_path: Path) -> None:
    repo.diverge({"a*": "0\n", "aa": "0\n", "ab": "0\n"}, {"a*": "1\n"}, {"a*": "2\n"})
    repo.git("merge", "-q", "right", check=False)
    repo.git("update-index", "--skip-worktree", "ab")
    repo.git("update-index", "--index-version", "4")
    git_dir = str(repo.path / ".git")
    tags = [read_tag(str(repo.path), git_dir, name) for name in ("a*", "aa", "ab", "ac")]
    assert tags == ["M", "H", "S", ""]
    assert read_tag(str(tmp_path), str(tmp_path), "aa") == ""  # git fails there


def test_git_is_not_asked_for_conflicts_if_its_index_shows_that_there_are_none(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 40):  # odd and even lengths, short and long
        repo.write(f"{'x' * number}/{PATH}", checkpoint_text())
    repo.commit()
    git_dir = str(repo.path / ".git")
    monkeypatch.setattr("checkpoint_git.git.worktree.read_unmerged", lambda *_: ["asked"])
    assert find_unmerged(str(repo.path), git_dir, os.environ) == []
    assert find_unmerged(str(repo.path), str(repo.path / "gone"), os.environ) == []
    repo.write(".git/index", b"DIRC\0\0\0\2 phase.json\0 phase.json\0x")
    assert find_unmerged(str(repo.path), git_dir, os.environ) == []
    repo.write(".git/index", b"phase.json\0 damaged")
    assert find_unmerged(str(repo.path), git_dir, os.environ) == []


def test_the_start_of_a_file_is_read_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    os.mkfifo(tmp_path / "pipe")
    assert read_start(str(tmp_path / "file"), 2) == b"ab"
    assert read_start(str(tmp_path / "file"), 4) == b"abc"
    for name in ("pipe", "gone", ".", "file/x"):
        assert read_start(str(tmp_path / name), 4) == b""


def test_the_common_folder_is_that_of_all_work_trees(tmp_path: Path) -> None:
    assert find_common_dir(str(tmp_path)) == str(tmp_path)
    (tmp_path / "commondir").write_text("../..\n")
    assert find_common_dir(str(tmp_path)) == str(tmp_path.parent.parent)
    (tmp_path / "commondir").write_text("/elsewhere\n")
    assert find_common_dir(str(tmp_path)) == "/elsewhere"
