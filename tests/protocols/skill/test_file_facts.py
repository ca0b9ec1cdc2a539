import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.run import read_names
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.facts import make_facts
from checkpoint_git.protocols.skill.file_facts import read_drift
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint

VALUE = {"context_primer": {"generated_files": ["gone.py", "never.py"]}}


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


def test_git_is_asked_about_few_of_many_listed_patterns(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    value = checkpoint(context_primer={"generated_files": [f"**/x{number}*" for number in range(20_000)]})
    repo.write(".checkpoints/build.checkpoint.json", json.dumps(value))
    repo.write("x1", "1")
    repo.commit("begin")
    asked: list[int] = []

    def count(words: list[str], *args: Any, **options: Any) -> list[str]:
        asked.append(len(words))
        return read_names(words, *args, **options)

    monkeypatch.setattr("checkpoint_git.protocols.skill.file_facts.read_names", count)
    document = Document(".checkpoints/build.checkpoint.json", "build", value, None, 0, [])
    read_drift(find_place(str(repo.path)), document, 1_790_000_000, os.environ)
    assert 200 <= max(asked) < 230
