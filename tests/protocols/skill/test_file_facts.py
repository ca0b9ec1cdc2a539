import os
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.facts import make_facts
from checkpoint_git.protocols.skill.file_facts import is_covered
from tests.support.repos import GitRepo

VALUE = {"context_primer": {"generated_files": ["gone.py", "never.py"]}}


@pytest.mark.parametrize(
    ("path", "name", "covered"),
    [
        ("src/a.ts", "src/a.ts", True),
        ("src/x/a.ts", "src", True),
        ("src/x/a.ts", "src/", True),
        ("srcs/a.ts", "src", False),
        ("src/a.ts", "src/*.ts", True),
        ("src/x/a.ts", "src/*.ts", False),
        ("src/x/a.ts", "src/**/*.ts", True),
        ("src/a.ts", "src/b.ts", False),
    ],
)
def test_a_listed_name_stands_for_a_file_a_folder_or_a_pattern(path: str, name: str, covered: bool) -> None:
    assert is_covered(path, name) == covered


def test_what_is_remembered_of_missing_files_changes_no_answer(repo: GitRepo, tmp_path: Path) -> None:
    def read_fates(work_tree: Path) -> list[str]:
        document = Document("build", "build.checkpoint.json", VALUE, None, 0, [])
        facts = make_facts(find_place(str(work_tree)), [document], 0, os.environ)
        return [file.fate for files in facts.files.values() for file in files]

    memory = repo.path / ".git/checkpoint/removed.json"
    repo.write(".checkpoints/README.md", "")
    repo.write("gone.py", "1")
    repo.commit("begin")
    (repo.path / "gone.py").unlink()
    assert read_fates(repo.path) == ["uncommitted", "unknown"]
    repo.commit("remove it")
    for _ in range(2):
        assert read_fates(repo.path) == ["deleted", "unknown"]
    memory.write_bytes(memory.read_bytes().replace(b"never", b"fever"))
    assert read_fates(repo.path) == ["deleted", "unknown"]
    assert b"never" in memory.read_bytes()
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.path}", str(clone)], check=True)
    assert read_fates(clone) == ["cut", "cut"]
    subprocess.run(["git", "fetch", "-q", "--unshallow"], cwd=clone, check=True)
    assert read_fates(clone) == ["deleted", "unknown"]
