from pathlib import Path

from checkpoint_git.git.own_files import find_common_dir, find_unlisted
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


def test_a_nul_in_the_name_of_the_common_folder_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "commondir").write_bytes(b"a\0b\n")
    assert find_common_dir(str(tmp_path)) == str(tmp_path / "ab")
