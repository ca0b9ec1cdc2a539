import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore import script as restore_script
from checkpoint_git.protocols.restore.contents import ContentEntry, Part
from checkpoint_git.protocols.restore.script import write_script
from tests.support.repos import GitRepo
from tests.support.restore_points import KINDS, create, look, workspace_of


def run_script(
    work: GitRepo, point: str, *words: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """restore.sh as a user starts it, from the workspace."""
    path = f"{layout.FOLDER}/{point}/{layout.RESTORE_SCRIPT}"
    return subprocess.run(
        ["/bin/sh", path, *words],
        cwd=work.path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """Two files below a folder, captured by no point yet."""
    repo.write("src/a.py", "a\n")
    repo.write("src/b.py", "b\n")
    return repo


def test_a_quoted_text_is_one_word_of_sh() -> None:
    text = 'it\'s `x` $(y) "z" \\ \n -n'
    done = subprocess.run(
        ["/bin/sh", "-c", f"printf %s {quote_word(text)}"], capture_output=True, text=True
    )
    assert done.stdout == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_of_the_longest_length_comes_back(work: GitRepo, kind: str) -> None:
    work.write("src/" + "n" * 255, "x")
    before = look(work.path)
    made = create(workspace_of(work.path), ["src"], "", kind, None)
    shutil.rmtree(work.path / "src")
    done = run_script(work, made.manifest.id)
    assert (done.returncode, look(work.path)) == (0, before), done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_through_a_link_that_stands_in_the_way(
    work: GitRepo, tmp_path: Path, kind: str
) -> None:
    made = create(workspace_of(work.path), ["src/b.py"], "", kind, None)
    shutil.move(work.path / "src", tmp_path / "away")
    (work.path / "src").symlink_to(tmp_path / "away")
    (tmp_path / "away/b.py").write_text("outside\n")
    done = run_script(work, made.manifest.id)
    assert done.returncode == 1
    assert "./src is a symbolic link" in done.stderr
    assert (tmp_path / "away/b.py").read_text() == "outside\n"


def test_a_link_to_a_folder_in_a_files_place_is_replaced_and_not_entered(
    work: GitRepo, tmp_path: Path
) -> None:
    made = create(workspace_of(work.path), ["src/b.py"], "", "git_stash", None)
    (work.path / "src/b.py").unlink()
    (work.path / "src/b.py").symlink_to(tmp_path)
    before = sorted(os.listdir(tmp_path))
    assert run_script(work, made.manifest.id).returncode == 0
    assert work.read("src/b.py") == "b\n"
    assert sorted(os.listdir(tmp_path)) == before


def test_a_folder_in_a_files_place_is_left_and_said(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    (work.path / "src/b.py").unlink()
    work.write("src/b.py/inner", "mine")
    work.write("src/a.py", "changed")
    done = run_script(work, made.manifest.id)
    assert done.returncode == 1
    assert "not restored: ./src/b.py (a folder is there)" in done.stderr
    assert (work.read("src/b.py/inner"), work.read("src/a.py")) == ("mine", "a\n")


def test_damaged_content_is_not_put_anywhere(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "file_backup", None)
    (Path(made.location.folder) / layout.CONTENT / "src/b.py").write_text("evil\n")
    work.write("src/b.py", "mine\n")
    done = run_script(work, made.manifest.id)
    assert done.returncode == 1
    assert "not restored: ./src/b.py (its content is lost or damaged)" in done.stderr
    assert work.read("src/b.py") == "mine\n"


def test_it_is_read_from_git_alone_where_the_folder_was_taken_away(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.git("clean", "-qxffd")
    assert not (work.path / ".checkpoints").exists()
    command = f"git show {layout.ref_name(made.manifest.id)}:restore.sh | sh"
    (work.path / "deep").mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=work.path / "deep", capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert work.read("src/b.py") == "b\n"


def test_it_is_tried_itself_before_it_is_relied_on(
    work: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write("src/$(x) y", "odd\n")
    assert create(workspace_of(work.path), ["src"], "", "git_stash", None).proofs[
        "restore.sh rehearsed"
    ]
    template = read_own(restore_script.__file__, "restore.sh")
    for harm in (("put() {", "put() { return 0;"), ("set -u", "exit 1"), ("LC_ALL=C", "if")):
        harmed = template.replace(*harm, 1)
        monkeypatch.setattr(restore_script, "read_own", lambda *_, text=harmed: text)
        made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
        assert not made.proofs["restore.sh rehearsed"]
        assert "restore.sh failed its test run" in made.warnings[-1]


def test_of_many_files_those_with_odd_names_are_tried(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        work.write(f"src/{number}.py", f"{number}\n")
    work.write("src/$(x) y", "odd\n")
    tried = list[list[str]]()

    def note(
        root: str, point: str, kind: str, entries: Sequence[ContentEntry], parts: Sequence[Part]
    ) -> str:
        tried.append([entry.path for entry in entries])
        return write_script(root, point, kind, entries, parts)

    monkeypatch.setattr(restore_script, "write_script", note)
    create(workspace_of(work.path), ["src"], "", "git_stash", None)
    (rehearsal,) = [paths for paths in tried if len(paths) < 30]
    assert "src/$(x) y" in rehearsal


@pytest.mark.parametrize("kind", KINDS)
def test_it_restores_into_another_folder(work: GitRepo, tmp_path: Path, kind: str) -> None:
    made = create(workspace_of(work.path), ["src"], "", kind, None)
    (tmp_path / "there").mkdir()
    done = run_script(work, made.manifest.id, CHECKPOINT_WORKSPACE=str(tmp_path / "there"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there/src/b.py").read_text() == "b\n"


def test_a_copy_elsewhere_writes_nothing_unless_it_is_told_where(
    work: GitRepo, tmp_path: Path
) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    copy = tmp_path / "x/y/restore.sh"
    copy.parent.mkdir(parents=True)
    shutil.copy(Path(made.location.folder) / layout.RESTORE_SCRIPT, copy)
    shutil.rmtree(work.path / "src")
    lost = subprocess.run(
        ["/bin/sh", str(copy)], cwd=work.path, capture_output=True, text=True, check=False
    )
    assert lost.returncode == 1
    assert "CHECKPOINT_WORKSPACE=" in lost.stderr
    assert not (tmp_path / "src").exists()
    env = {**os.environ, "CHECKPOINT_WORKSPACE": str(work.path)}
    assert (
        subprocess.run(["/bin/sh", str(copy)], cwd="/", env=env, capture_output=True).returncode
        == 0
    )
    assert work.read("src/b.py") == "b\n"


def test_variables_of_a_hook_do_not_lead_it_to_another_repository(
    work: GitRepo, tmp_path: Path
) -> None:
    other = GitRepo.create(tmp_path / "other")
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    shutil.rmtree(work.path / "src")
    env = {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "CDPATH": "/",
    }
    done = run_script(work, made.manifest.id, **env)
    assert done.returncode == 0, done.stderr
    assert work.read("src/b.py") == "b\n"


def test_names_reach_the_terminal_without_their_control_characters(work: GitRepo) -> None:
    name = "src/\x1b[31mred"
    work.write(name, "x")
    made = create(workspace_of(work.path), ["src"], "", "file_backup", None)
    (Path(made.location.folder) / layout.CONTENT / name).write_text("evil\n")
    said = run_script(work, made.manifest.id).stderr
    assert "?[31mred" in said
    assert "\x1b" not in said


def test_it_leaves_nothing_of_its_own_behind(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    run_script(work, made.manifest.id)
    assert os.listdir(work.path / layout.FOLDER) == [made.manifest.id]


def test_it_needs_no_more_than_plain_tools(work: GitRepo, tmp_path: Path) -> None:
    made = create(workspace_of(work.path), ["src"], "", "file_backup", None)
    shutil.rmtree(work.path / "src")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cat", "chmod", "dirname", "ln", "mkdir", "mv", "rm", "tr"):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = run_script(work, made.manifest.id, PATH=str(tools))
    assert done.returncode == 0, done.stderr
    assert work.read("src/b.py") == "b\n"
