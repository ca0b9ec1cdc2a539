import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout, points, rollback, store
from tests.support.repos import GitRepo
from tests.support.restore_points import KINDS, look, roll_back, workspace_of


def git_state(repo: GitRepo) -> tuple[bytes, str, str]:
    """What must not move when a point is made: the index's bytes, what status says, the stash."""
    return (repo.path / ".git/index").read_bytes(), repo.git("status", "--porcelain"), repo.git("stash", "list")


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """A repository with one of everything: changed, staged, untracked, binary, executable, odd names."""
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.write(".gitignore", "*.log\nbuild/\n.checkpoints/chk_*\n.checkpoints/.new-*\n")
    for name in ("src/a.txt", "src/b.py", "src/deep/c.py"):
        repo.write(name, f"{name}\n")
    repo.commit()
    repo.write("src/a.txt", b"changed\r\nmixed\n")
    repo.write("src/b.py", "staged\n")
    repo.git("add", "src/b.py")
    for name in ("new", "sp ace", "new\nline", 'qu"ote', "-dash", "it's", "back\\slash", "\udcff", "x" * 240):
        repo.write(f"src/odd/{name}", os.fsencode(name) + b"\0\xff")
    (repo.path / "src/odd/new").chmod(0o751)
    (repo.path / "src/link").symlink_to("nowhere/at all")
    (repo.path / "src/empty").mkdir(mode=0o750)
    repo.write("src/debug.log", "ignored")
    return repo


def damage(root: Path) -> None:
    """Everything that can go wrong with a scope."""
    shutil.rmtree(root / "src/deep")
    (root / "src/deep").write_text("a file now")
    (root / "src/a.txt").unlink()
    (root / "src/a.txt").mkdir()
    (root / "src/a.txt/inner").write_text("x")
    (root / "src/link").unlink()
    (root / "src/link").symlink_to("elsewhere")
    (root / "src/odd/new").chmod(0o600)
    (root / "src/added").mkdir()
    (root / "src/added/file").write_text("x")
    (root / "src/empty").rmdir()


@pytest.mark.parametrize("kind", KINDS)
def test_making_a_point_disturbs_nothing(work: GitRepo, kind: str) -> None:
    before, tree = git_state(work), look(work.path)
    points.create(workspace_of(work.path), ["src"], "", kind, None)
    assert git_state(work) == before
    assert look(work.path) == tree


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_gives_everything_back_and_can_be_taken_back(work: GitRepo, kind: str) -> None:
    before = look(work.path)
    made = points.create(workspace_of(work.path), ["src"], "", kind, None)
    damage(work.path)
    harmed = look(work.path)
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert look(work.path) == before
    roll_back(work.path, done.safety)
    assert look(work.path) == harmed


@pytest.mark.parametrize("kind", KINDS)
def test_restore_sh_gives_back_all_that_was_kept(work: GitRepo, kind: str) -> None:
    before = look(work.path)
    made = points.create(workspace_of(work.path), ["src"], "", kind, None)
    shutil.rmtree(work.path / "src")
    work.write("src/debug.log", "ignored")
    for folder in (work.path, work.path / "src", Path("/")):
        script = work.path / layout.FOLDER / made.manifest.id / layout.RESTORE_SCRIPT
        done = subprocess.run(["/bin/sh", str(script)], cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        if kind == "git_stash":
            assert look(work.path) == before
    plan = rollback.plan_rollback(workspace_of(work.path), made.manifest)
    assert (plan.remove, plan.restore) == ([], [])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_random_trees_come_back_whatever_was_done_to_them(repo: GitRepo, kind: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - it makes trees, no secrets
    grow(repo.path / "t", chance, 15)
    before = look(repo.path)
    made = points.create(workspace_of(repo.path), ["t"], "", kind, None)
    for _ in range(10):
        mutate(repo.path / "t", chance)
    harmed = look(repo.path)
    done = rollback.roll_back(workspace_of(repo.path), made.manifest)
    assert look(repo.path) == before
    roll_back(repo.path, done.safety)
    assert look(repo.path) == harmed


def grow(root: Path, chance: random.Random, count: int) -> None:
    """Some files, links and folders below a folder; what cannot be made is left out."""
    root.mkdir(exist_ok=True)
    for _ in range(count):
        path = root.joinpath(*(chance.choice("abc") for _ in range(chance.randint(1, 3))))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if chance.random() < 0.15:
                path.mkdir(mode=chance.choice([0o755, 0o700]), exist_ok=True)
            elif chance.random() < 0.15 and not path.is_symlink():
                path.symlink_to(chance.choice(["a", "../x", "/etc"]))
            elif not path.is_symlink():
                path.write_bytes(chance.randbytes(chance.randint(0, 50)))
                path.chmod(chance.choice([0o644, 0o755, 0o600]))
        except OSError:
            continue


def mutate(root: Path, chance: random.Random) -> None:
    """One deletion, renaming or addition."""
    there = [Path(folder) / name for folder, folders, files in os.walk(root) for name in sorted(folders + files)]
    what = chance.random()
    if not there or what > 0.6:
        grow(root, chance, 2)
        return
    path = chance.choice(sorted(there))
    try:
        if what > 0.3:
            path.rename(Path(f"{chance.choice(sorted(there))}{chance.choice(['', 'z'])}"))
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return


def test_what_git_ignores_is_left_out_unless_it_is_named(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    assert any("src/debug.log" in text for text in made.warnings)
    named = points.create(workspace_of(work.path), ["src/debug.log"], "", "git_stash", None)
    assert [entry.path for entry in named.entries] == ["src/debug.log"]
    work.write("src/debug.log", "more")
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/debug.log") == "more"


def test_the_folder_of_earlier_points_is_nothing_that_a_new_point_leaves_out(repo: GitRepo) -> None:
    repo.write("a", "1")
    repo.write(".gitignore", ".checkpoints/chk_*\n.audit/\n")
    first = points.create(workspace_of(repo.path), ["."], "", "git_stash", None)
    second = points.create(workspace_of(repo.path), ["."], "", "git_stash", None)
    assert (second.warnings, second.proofs) == (first.warnings, first.proofs) == ([], second.proofs)
    repo.write(".gitignore", ".checkpoints/\n.audit/\n")
    repo.write(".checkpoints/mine.json", "{}")
    third = points.create(workspace_of(repo.path), ["."], "", "git_stash", None)
    assert any(".checkpoints/mine.json" in text for text in third.warnings)


def test_a_file_that_was_not_there_is_gone_after_the_rollback(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src/later.py"], "", "git_stash", None)
    work.write("src/later.py", "x")
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert done.plan.remove == ["src/later.py"]
    assert not (work.path / "src/later.py").exists()


def test_the_content_outlives_a_pruning_gc_and_a_cleared_stash(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("stash", "clear")
    work.git("gc", "-q", "--prune=now")
    assert points.find_damage(made.location, made.manifest) == []


def test_a_repository_without_commits_has_points_too(repo: GitRepo) -> None:
    repo.write("a", "x")
    made = points.create(workspace_of(repo.path), ["a"], "", "git_stash", None)
    repo.write("a", "y")
    rollback.roll_back(workspace_of(repo.path), made.manifest)
    assert repo.read("a") == "x"


def test_a_linked_work_tree_has_points_of_its_own_files(work: GitRepo, tmp_path: Path) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = tmp_path / "other"
    (other / "src/b.py").write_text("other\n")
    made = points.create(workspace_of(other), ["src"], "", "git_stash", None)
    (other / "src/b.py").write_text("broken\n")
    rollback.roll_back(workspace_of(other), made.manifest)
    assert (other / "src/b.py").read_text() == "other\n"


def test_content_that_was_tampered_with_stops_the_rollback(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "file_backup", None)
    (Path(made.location.folder) / layout.CONTENT / "src/b.py").write_text("evil\n")
    work.write("src/b.py", "mine\n")
    with pytest.raises(CheckpointError, match=r"src/b\.py is lost or damaged"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/b.py") == "mine\n"


def test_a_manifest_that_was_edited_is_not_relied_on(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    path = Path(layout.manifest_path(str(work.path), made.manifest.id))
    path.write_text(path.read_text().replace("src/b.py", "src/x.py"))
    manifest = store.load_manifest(str(work.path), made.manifest.id)
    assert manifest is not None
    assert manifest.trouble == "its manifest was changed after it was made"


def test_a_manifest_of_a_stranger_leads_nowhere_else(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    value = {**made.manifest.value, "entries": [{**made.manifest.value["entries"][1], "path": "../../escape"}]}
    data = store.write_text({**value, "digest": store.find_digest(value)})
    assert "leads out of the workspace" in store.parse_manifest(made.manifest.id, data).trouble


def test_a_link_in_the_way_is_not_followed_out(work: GitRepo, tmp_path: Path) -> None:
    made = points.create(workspace_of(work.path), ["src/b.py"], "", "git_stash", None)
    shutil.move(work.path / "src", tmp_path / "away")
    (work.path / "src").symlink_to(tmp_path / "away")
    (tmp_path / "away/b.py").write_text("outside\n")
    with pytest.raises(CheckpointError, match="symbolic link"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert (tmp_path / "away/b.py").read_text() == "outside\n"


def test_a_scope_of_secrets_alone_is_an_error(work: GitRepo) -> None:
    work.write("src/.env", "TOKEN=1")
    with pytest.raises(CheckpointError, match="hold secrets"):
        points.create(workspace_of(work.path), ["src/.env"], "", "git_stash", None)


def test_a_secret_is_never_touched_by_a_rollback(work: GitRepo) -> None:
    work.write("src/.env", "TOKEN=1")
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/.env", "TOKEN=2")
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/.env") == "TOKEN=2"
    assert "TOKEN" not in work.git("log", "-p", "--all", "--glob=refs/checkpoints")
