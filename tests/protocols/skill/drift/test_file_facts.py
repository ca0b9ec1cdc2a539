import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.run import read_names
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.drift.checks import find_changed_documents
from checkpoint_git.protocols.skill.drift.facts import make_facts
from checkpoint_git.protocols.skill.drift.file_facts import read_drift
from checkpoint_git.protocols.validate import check_document
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint

VALUE = {"context_primer": {"generated_files": ["gone.py", "never.py"]}}


def test_missing_files_have_the_fate_that_git_knows(repo: GitRepo, tmp_path: Path) -> None:
    def read_fates(work_tree: Path) -> list[str]:
        document = Document("build", "build.checkpoint.json", VALUE, None, 0, [])
        facts = make_facts(find_place(str(work_tree)), [document], 0, os.environ)
        return [file.fate for files in facts.files.values() for file in files]

    repo.write(".checkpoints/README.md", "")
    repo.write("gone.py", "1")
    repo.commit("begin")
    (repo.path / "gone.py").unlink()
    assert read_fates(repo.path) == ["uncommitted", "unknown"]
    repo.commit("remove it")
    assert read_fates(repo.path) == ["deleted", "unknown"]
    clone = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{repo.path}", str(clone)], check=True
    )
    assert read_fates(clone) == ["cut", "cut"]
    subprocess.run(["git", "fetch", "-q", "--unshallow"], cwd=clone, check=True)
    assert read_fates(clone) == ["deleted", "unknown"]


def test_git_is_asked_about_few_of_many_listed_patterns(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = checkpoint(
        context_primer={"generated_files": [f"**/x{number}*" for number in range(20_000)]}
    )
    repo.write(".checkpoints/build.checkpoint.json", json.dumps(value))
    repo.write("x1", "1")
    repo.commit("begin")
    asked: list[int] = []

    def count(words: list[str], *args: Any, **options: Any) -> list[str]:
        asked.append(len(words))
        return read_names(words, *args, **options)

    monkeypatch.setattr("checkpoint_git.protocols.skill.drift.file_facts.read_names", count)
    document = Document(".checkpoints/build.checkpoint.json", "build", value, None, 0, [])
    read_drift(find_place(str(repo.path)), document, 1_790_000_000, os.environ)
    assert 200 <= max(asked) < 230


BODY = "long enough to be recognised\n" * 9


def change(repo: GitRepo, how: str) -> str:
    """The path that the checkpoint lists from then on."""
    if how == "moved":
        repo.git("mv", "lib/a.py", "lib/b.py")
    elif how == "moved and edited":
        repo.git("mv", "lib/a.py", "lib/b.py")
        repo.write("lib/b.py", f"{BODY}more\n")
    elif how == "edited and back":
        repo.write("lib/a.py", "other\n")
        repo.commit("edit")
        repo.write("lib/a.py", BODY)
    elif how == "removed and back":
        (repo.path / "lib/a.py").unlink()
        repo.commit("remove")
        repo.write("lib/a.py", BODY)
    else:
        (repo.path / "lib/a.py").chmod(0o755)
    repo.commit(how)
    return "lib/b.py" if how.startswith("moved") else "lib/a.py"


@pytest.mark.parametrize(
    "how", ["moved", "moved and edited", "edited and back", "removed and back", "executable"]
)
def test_a_listed_file_changed_if_its_content_did_for_doctor_and_resume(
    repo: GitRepo, how: str
) -> None:
    path, env = (
        ".checkpoints/build.checkpoint.json",
        {**os.environ, "GIT_COMMITTER_DATE": "@1772400000 +0000"},
    )

    def list_file(name: str) -> str:
        text = json.dumps(
            checkpoint(
                updated_at="2026-03-01T00:00:00Z", context_primer={"generated_files": [name]}
            )
        )
        repo.write(path, text)
        return text

    repo.write("lib/a.py", BODY)
    list_file("lib/a.py")
    repo.git("add", "-A")
    assert repo.run("git", "commit", "-q", "-m", "begin", env=env).returncode == 0
    text = list_file(change(repo, how))
    document = check_document(path, text.encode(), now=1_790_000_000)
    place = find_place(str(repo.path))
    expected = ["drift/file-changed"] * (how == "moved and edited")
    facts = make_facts(place, [document], 1_790_000_000, os.environ)
    assert [one.code for one in find_changed_documents(facts)] == expected
    found = read_drift(place, document, 1_790_000_000, os.environ)
    assert [one.code for one in found if one.code == "drift/file-changed"] == expected


def test_what_removed_a_file_is_looked_for_since_the_oldest_checkpoint_began(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, day in (("old.py", "2026-03-01"), ("new.py", "2026-03-20")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00Z")
        repo.write(name, "1")
        repo.commit("add")
        (repo.path / name).unlink()
        repo.commit("remove")
    repo.write(".checkpoints/README.md", "")

    def read_fates(*begun: str) -> set[tuple[str, str]]:
        primer = {"generated_files": ["old.py", "new.py"]}
        documents = [
            Document(
                f"{at}.checkpoint.json",
                "build",
                checkpoint(created_at=when, context_primer=primer),
                None,
                0,
                [],
            )
            for at, when in enumerate(begun)
        ]
        facts = make_facts(find_place(str(repo.path)), documents, 0, os.environ)
        return {(file.path, file.fate) for files in facts.files.values() for file in files}

    assert read_fates("2026-03-10T12:00:00Z") == {("old.py", "unknown"), ("new.py", "deleted")}
    assert read_fates("2026-03-10T12:00:00Z", "2026-03-02T11:00:00Z") == {
        ("old.py", "deleted"),
        ("new.py", "deleted"),
    }
