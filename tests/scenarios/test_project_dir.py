"""project_dir is ".", so no file tells where a user's clone is; an absolute path stays valid, and
merges with it.
"""

import json
import shutil
from pathlib import Path

from checkpoint_git import Checkpoints
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.set_up import copy_set_up

FILE = ".checkpoints/build.checkpoint.json"


def read(folder: Path, file: str = FILE) -> dict[str, object]:
    value: dict[str, object] = json.loads((folder / file).read_text())
    return value


def test_no_file_of_ours_tells_where_the_clone_is(repo: GitRepo, tmp_path: Path) -> None:
    repo.write("src/a b.ts", "1\n")
    for words in (
        ["init", "--agent", "claude", "--ci", "github"],
        ["update", "build", "--step=one", f"--file={repo.path}/src/a b.ts", f"--file={repo.path}x"],
        ["note", "build", "SQLite"],
        ["done", "build", "--next", "Ship"],
        ["reset", "build"],
        ["update", "build", f"--files:json={json.dumps([])}", f"--files+={repo.path}/src/a b.ts"],
        ["workflow", "start", "login"],
        ["workflow", "task", "start", "T1", "--output", f"{repo.path}/src/a b.ts"],
    ):
        assert run_here(*words, cwd=repo.path).returncode == 0, words
    assert read(repo.path)["project_dir"] == "."
    assert read(repo.path)["context_primer"] == {
        "key_decisions": [],
        "generated_files": ["src/a b.ts"],
        "user_preferences": [],
    }

    repo.git("add", "-A")
    named = repo.git("grep", "--cached", "-l", "-F", str(repo.path), check=False).split()
    assert [name for name in named if "/history/" not in name] == []
    # the one path that is not in this project
    (archived,) = (name for name in named if "/history/" in name)
    assert f"{repo.path}x" in repo.read(archived)
    assert f"{repo.path}/" not in repo.read(archived)

    # another clone, elsewhere, has nothing to report of it
    repo.git("commit", "-q", "-m", "start", "--no-verify")
    repo.git("clone", "-q", ".", str(tmp_path / "other"))
    ran = run_here("doctor", "--check", "drift", "--json", cwd=tmp_path / "other")
    assert [one["code"] for one in json.loads(ran.stdout)["findings"]] == []


def test_whoever_needs_the_absolute_path_gets_it(repo: GitRepo) -> None:
    repo.write(f"app/{FILE}", checkpoint_text(project_dir="."))
    app = repo.path / "app"
    absolute = checkpoint_text(project_dir=str(app))
    shown = run_here("show", "build", "--absolute", cwd=app / ".checkpoints")
    assert shown.stdout == absolute
    assert run_here("show", "build", cwd=app).stdout == checkpoint_text(project_dir=".")
    public = json.loads(run_here("show", "--absolute", "--public", "--json", cwd=app).stdout)
    assert public["checkpoints"]["build"]["project_dir"] == str(app)
    assert json.loads(run_here("resume", "build", "--json", cwd=app).stdout)["project_dir"] == str(
        app
    )
    assert Checkpoints(app).show(absolute=True)["project_dir"] == str(app)
    assert Checkpoints(app).show()["project_dir"] == "."

    # and a path that a user gives stays, through other writes too
    assert run_here("update", "build", f"--project_dir={app}", cwd=app).returncode == 0
    assert run_here("note", "build", "SQLite", cwd=app).returncode == 0
    assert read(app)["project_dir"] == str(app)
    assert run_here("update", "build", "--project_dir=.", cwd=app).returncode == 0
    assert read(app)["project_dir"] == "."


def test_the_doctor_ends_with_another_machines_folder(repo: GitRepo) -> None:
    copy_set_up(repo)
    files = {
        "generated_files": ["/home/ada/app/src/a.ts"],
        "key_decisions": [],
        "user_preferences": [],
    }
    repo.write(FILE, checkpoint_text(project_dir="/home/ada/app", context_primer=files))
    repo.write("src/a.ts", "1\n")
    repo.commit("start", hooks=False)
    before = run_here("doctor", "--check", "drift/project-dir", cwd=repo.path)
    assert "project_dir is /home/ada/app" in before.stdout
    assert run_here("doctor", "--fix=drift/project-dir", cwd=repo.path).returncode == 0
    value = read(repo.path)
    assert value["project_dir"] == "."
    assert value["context_primer"] == {**files, "generated_files": ["src/a.ts"]}
    codes = [
        one["code"]
        for one in json.loads(run_here("doctor", "--json", cwd=repo.path).stdout)["findings"]
    ]
    assert not {"drift/project-dir", "drift/file-missing"}.intersection(codes)


def test_branches_with_different_folders_merge(repo: GitRepo) -> None:
    copy_set_up(repo)
    old = {"updated_at": "2026-03-02T09:30:00Z", "project_dir": "/home/ada/app"}
    new = {"updated_at": "2026-03-02T10:30:00Z", "project_dir": "/home/bob/app"}
    for sides in (
        (old, {**new, "project_dir": "."}),
        ({**old, "project_dir": "."}, new),
        (old, new),
    ):
        repo.write(
            FILE, checkpoint_text(project_dir="/home/eve/app", updated_at="2026-03-01T09:00:00Z")
        )
        repo.commit("base", hooks=False)
        repo.git("checkout", "-q", "-B", "theirs")
        repo.write(FILE, checkpoint_text(**sides[1], step="sprint-3"))
        repo.commit("theirs", hooks=False)
        repo.git("checkout", "-q", "main")
        repo.write(FILE, checkpoint_text(**sides[0], phase="review"))
        repo.commit("ours", hooks=False)
        repo.git("merge", "-q", "-m", "merge", "theirs")
        merged = read(repo.path)
        assert (merged["project_dir"], merged["step"], merged["phase"]) == (
            sides[1]["project_dir"],
            "sprint-3",
            "review",
        )


def test_a_clone_that_moves_is_the_same_project(repo: GitRepo, tmp_path: Path) -> None:
    repo.write("a.md", "1\n")
    run_here("init", cwd=repo.path)
    run_here("update", "build", "--file=a.md", cwd=repo.path)
    shutil.move(repo.path, tmp_path / "moved")
    ran = run_here("resume", "build", "--json", cwd=tmp_path / "moved")
    document = json.loads(ran.stdout)
    assert (document["project_dir"], document["findings"]) == (str(tmp_path / "moved"), [])
