import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import file_writes, points, rollback, rollback_preflight
from checkpoint_git.protocols.restore.contents import Difference, Entry, ScopePath
from tests.support.repos import GitRepo
from tests.support.restore_points import KINDS, look, roll_back, workspace_of

OLD, NEW = Entry("a", "file", 0o644, 1, "1" * 64), Entry("a", "file", 0o644, 1, "2" * 64)
OTHER = Entry("a", "file", 0o644, 1, "3" * 64)


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """Two files and a rule about what git ignores."""
    repo.write(".gitignore", "*.log\n.checkpoints/chk_*\n")
    repo.write("src/a.py", "a\n")
    repo.write("src/b.py", "b\n")
    return repo


def test_a_state_is_half_way_when_each_path_is_as_before_or_after() -> None:
    assert rollback_preflight.is_half_way([OLD], [OLD], [NEW])
    assert rollback_preflight.is_half_way([NEW], [OLD], [NEW])
    assert rollback_preflight.is_half_way([Entry("a", "absent")], [OLD], [NEW])
    assert not rollback_preflight.is_half_way([OTHER], [OLD], [NEW])


def test_a_folder_that_was_opened_on_the_way_is_half_way() -> None:
    closed = Entry("d", "folder", 0o500)
    assert rollback_preflight.is_half_way([closed._replace(mode=0o700)], [closed], [])


def test_what_will_be_changed_must_be_in_the_safety_point() -> None:
    rollback_preflight.check_kept([NEW], ["a"], [NEW])
    rollback_preflight.check_kept([OTHER], [], [NEW])
    with pytest.raises(CheckpointError, match="a was changed during the rollback"):
        rollback_preflight.check_kept([OTHER], ["a"], [NEW])


def test_a_watched_file_that_is_written_to_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    watch = rollback_preflight.Watch(
        str(tmp_path), [ScopePath("a", "file", path.lstat()), ScopePath("b", "absent", None)]
    )
    watch.check("a")
    watch.check("b")
    path.write_text("longer")
    (tmp_path / "b").write_text("x")
    for name in ("a", "b"):
        with pytest.raises(CheckpointError, match="changed during the rollback"):
            watch.check(name)


def test_a_writer_between_the_plan_and_the_change_keeps_what_it_wrote(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    real = file_writes.write_path

    def write_late(root: str, entry: Entry, *rest: object, **more: object) -> None:
        if entry.path == "src/b.py":
            work.write("src/b.py", "precious\n")
        real(root, entry, *rest, **more)  # type: ignore[arg-type]  # passed through as it came

    monkeypatch.setattr(file_writes, "write_path", write_late)
    with pytest.raises(CheckpointError, match=r"src/b\.py was changed during the rollback"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/b.py") == "precious\n"


def cut_off(
    work: GitRepo, made: points.CreatedPoint, monkeypatch: pytest.MonkeyPatch, within: list[str] | None = None
) -> None:
    """A rollback that ends after its first file."""
    real, written = file_writes.write_path, list[str]()

    def write_one(root: str, entry: Entry, *rest: object, **more: object) -> None:
        if written and root == str(work.path):
            raise KeyboardInterrupt
        real(root, entry, *rest, **more)  # type: ignore[arg-type]  # passed through as it came
        written.extend([entry.path] if root == str(work.path) else [])

    with monkeypatch.context() as patch:
        patch.setattr(file_writes, "write_path", write_one)
        with pytest.raises(KeyboardInterrupt):
            rollback.roll_back(workspace_of(work.path), made.manifest, within)


def test_a_rollback_that_was_cut_off_is_finished_with_the_first_safety_point(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look(work.path)
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    harmed = look(work.path)
    cut_off(work, made, monkeypatch)
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert done.resumed
    assert look(work.path) == before
    roll_back(work.path, done.safety)
    assert look(work.path) == harmed


def test_work_done_after_a_rollback_was_cut_off_gets_a_safety_point_of_its_own(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    cut_off(work, made, monkeypatch)
    work.write("src/b.py", "new work\n")
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert not done.resumed
    roll_back(work.path, done.safety)
    assert work.read("src/b.py") == "new work\n"


def test_a_cut_off_rollback_of_a_part_does_not_stand_for_the_whole(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write("src/c.py", "c\n")
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    for name in ("a", "b", "c"):
        work.write(f"src/{name}.py", "changed\n")
    cut_off(work, made, monkeypatch, ["src/a.py", "src/b.py"])
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert not done.resumed
    roll_back(work.path, done.safety)
    assert work.read("src/c.py") == "changed\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_made_since_stays_when_it_holds_a_secret(work: GitRepo, kind: str) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", kind, None)
    work.write("src/new/deep/.env", "TOKEN=1")
    work.write("src/new/code.py", "x")
    done = rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/new/deep/.env") == "TOKEN=1"
    assert not (work.path / "src/new/code.py").exists()
    assert any(text.startswith("src/new stays") for text in done.told)


def test_an_ignored_file_made_since_stays(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/run/debug.log", "kept")
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/run/debug.log") == "kept"


def test_what_git_ignores_only_by_now_stays_too(work: GitRepo) -> None:
    work.write("src/gen/x.py", "x\n")
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write(".gitignore", "gen/\n")
    work.write("src/gen/y.py", "mine")
    work.write("src/gen/x.py", "changed\n")
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert (work.read("src/gen/x.py"), work.read("src/gen/y.py")) == ("x\n", "mine")


@pytest.mark.parametrize("kind", KINDS)
def test_the_history_of_a_repository_cloned_since_stays(work: GitRepo, kind: str) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", kind, None)
    inner = GitRepo.create(work.path / "src/vendor")
    inner.write("x", "x")
    commit = inner.commit()
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert inner.git("rev-parse", "HEAD") == commit


def test_a_folder_in_a_files_place_stops_everything_when_no_point_keeps_what_it_holds(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    (work.path / "src/b.py").unlink()
    work.write("src/b.py/.env", "TOKEN=1")
    harmed = look(work.path)
    with pytest.raises(CheckpointError, match=r"a folder stands where src/b\.py belongs"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert look(work.path) == harmed


def test_a_link_in_the_way_of_one_file_stops_it_before_any_is_changed(work: GitRepo, tmp_path: Path) -> None:
    work.write("lib/c.py", "c\n")
    made = points.create(workspace_of(work.path), ["src/a.py", "lib/c.py"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("lib/c.py", "changed\n")
    shutil.move(work.path / "lib", tmp_path / "away")
    (work.path / "lib").symlink_to(tmp_path / "away")
    with pytest.raises(CheckpointError, match="symbolic link"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert work.read("src/a.py") == "changed\n"
    assert (tmp_path / "away/c.py").read_text() == "changed\n"


def test_a_pipe_in_a_files_place_stops_everything(work: GitRepo) -> None:
    made = points.create(workspace_of(work.path), ["src"], "", "git_stash", None)
    (work.path / "src/b.py").unlink()
    os.mkfifo(work.path / "src/b.py")
    with pytest.raises(CheckpointError, match=r"what stands where src/b\.py belongs is no file"):
        rollback.roll_back(workspace_of(work.path), made.manifest)
    assert (work.path / "src/b.py").is_fifo()


def test_a_difference_behind_a_link_that_makes_way_is_no_hindrance() -> None:
    entries = [Entry("src", "link", 0o777, 1, "1" * 64)]
    rollback_preflight.check_ways("/nowhere", [], [Difference("src", "kind"), Difference("src/a", "missing")], entries)


@pytest.mark.parametrize("kind", KINDS)
def test_folders_closed_to_their_owner_are_opened_and_closed_again(work: GitRepo, kind: str) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root passes every mode, and there is no setpriv to become another user")
    (work.path / "src").chmod(0o555)
    made = points.create(workspace_of(work.path), ["src"], "", kind, None)
    (work.path / "src").chmod(0o755)
    work.write("src/a.py", "changed\n")
    work.write("src/new.py", "x\n")
    (work.path / "src").chmod(0o555)
    rollback.roll_back(workspace_of(work.path), made.manifest)
    assert (work.read("src/a.py"), sorted(os.listdir(work.path / "src"))) == ("a\n", ["a.py", "b.py"])
    assert (work.path / "src").stat().st_mode & 0o777 == 0o555
    subprocess.run(["chmod", "-R", "u+w", str(work.path)], check=True)
